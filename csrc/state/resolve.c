/* resolve.c -- resolves a residence: fills its table of pointers, and the steps that runs go
 * through.
 *
 * Offsets become pointers only here (except for places that runs give), once each time the arena or
 * the variables have moved. A run resolves nothing, and if memory has not moved, a size that comes
 * back uses its tables as they are.
 *
 * Bound buffers and blocks of strings may change independently, so their pointers are set whenever
 * the residence is put into use (ml_resolve_outside_arena). Pointers to a subgraph's operands are
 * set in each run by the node that calls it. */
#include <stdlib.h>

#include "plan/inputs.h"
#include "state/state.h"

/* The address of tensors without bytes; never read, never written. */
static uint8_t nothing[64];

static uint8_t *region_of(const ml_state *s) {
    return ml_shares_arena(s) ? s->shared_base : s->own.base;
}

void ml_resolve_inputs(ml_state *s, ml_residence *r) {
    const ml_planner_graph *io = &ml_frame_subgraph(s->graph, 0)->io;
    const int64_t end = ml_min_s64(ml_inputs_needed(s, r), s->inputs.capacity);
    bool lacks = false;
    for (int32_t i = 0; i < io->n_inputs && r->rows->frames[0].input_bytes > 0; i++) {
        const ml_tensor *row = ml_input_row(s->graph, r->rows, i);
        if (!row) continue;
        const bool lent = i < ML_MOST_LENT && s->lent >> i & 1;
        const bool there = row->offset + row->bytes <= end && !lent;
        ml_now_data(r, 0)[io->inputs[i]] = there ? s->inputs.base + row->offset : NULL;
        lacks |= !there;
    }
    atomic_store_explicit(&s->lacks_inputs, lacks, memory_order_relaxed);
}

void ml_inputs_follow(ml_state *s) {
    if (!s->now) return;
    ml_resolve_inputs(s, s->now);
    if (s->now->at_inputs == s->inputs.base) return;
    s->now->at_inputs = s->inputs.base;
    ml_changed(s);
}

void ml_resolve_outside_arena(ml_state *s, ml_residence *r) {
    for (int32_t i = 0; i < s->n_bound; i++)
        ml_now_data(r, 0)[s->bound[i].tensor] = s->bound[i].data;
    ml_resolve_inputs(s, r);
    if (s->graph->n_heap == 0) return;
    for (int32_t frame = 0; frame < s->graph->n_frames; frame++) {
        const ml_subgraph *sub = ml_frame_subgraph(s->graph, frame);
        const ml_frame *f = &s->graph->frames[frame];
        for (int32_t slot = 0; slot < sub->n_slots; slot++)
            if (r->rows->tensors[f->slot_base + slot].storage == ML_STORAGE_HEAP)
                ml_now_data(r, frame)[sub->numbers[slot]] = s->heap[f->slot_base + slot].data;
    }
}

/* A tensor without bytes gets a valid pointer too, because kernels pass pointers to memcpy, which
 * requires one even for 0 bytes. A tensor with bytes but without a place gets NULL; a run gives it
 * a place before it is used. */
static void resolve_slots(ml_state *s, ml_residence *r, int32_t frame) {
    const ml_frame *f = &s->graph->frames[frame];
    const ml_subgraph *sub = &s->graph->subgraphs[f->subgraph];
    const ml_tensor *tensors = r->rows->tensors + f->slot_base;
    void **data = ml_now_data(r, frame);
    uint8_t *region = r->frames[frame].region,
            *persistent =
                s->persistent ? s->persistent + r->rows->frames[frame].persistent_start : NULL;
    for (int32_t slot = 0; slot < sub->n_slots; slot++) {
        const ml_tensor *tensor = &tensors[slot];
        void **at = &data[sub->numbers[slot]];
        switch ((ml_storage)tensor->storage) {
        case ML_STORAGE_FOLDED: *at = (void *)(uintptr_t)tensor->known; break;
        case ML_STORAGE_PERSISTENT:
            *at = persistent && tensor->offset >= 0 ? persistent + tensor->offset : nothing;
            break;
        case ML_STORAGE_ARENA:
            *at = region && tensor->offset >= 0 ? region + tensor->offset
                  : tensor->bytes > 0           ? NULL
                                                : nothing;
            break;
        /* bound, input, heap: ml_resolve_outside_arena; slots: the node that calls */
        default: *at = NULL;
        }
    }
}

static void resolve_constants(ml_state *s, ml_residence *r, int32_t frame) {
    const ml_subgraph *sub = ml_frame_subgraph(s->graph, frame);
    void **data = ml_now_data(r, frame);
    for (int32_t t = 0; t < sub->io.n_tensors; t++)
        if (sub->slots[t] < 0) data[t] = (void *)(uintptr_t)sub->constants[~sub->slots[t]].known;
}

static void resolve_frame(ml_state *s, ml_residence *r, const ml_residence *like, int32_t frame);

/* Frames of a node's subgraphs lie before its own scratch, or in memory of their own. */
static void resolve_children(ml_state *s, ml_residence *r, const ml_residence *like, int32_t frame,
                             int32_t n, uint8_t *room) {
    for (int32_t k = 0; k < ml_frame_subgraph(s->graph, frame)->nodes[n].n_children; k++) {
        int32_t child = ml_child_frame(s->graph, frame, n, k);
        r->frames[child].region = r->frames[child].spilled ? s->spills[child].base : room;
        resolve_frame(s, r, like, child);
    }
}

/* While memory is released there is no region: pointers into it are NULL, and the state refuses to
 * run. */
static uint8_t *scratch_of(const ml_state *s, const uint8_t *region, const ml_node_plan *row) {
    if (row->scratch_block < 0) return s->work;
    return region ? (uint8_t *)(uintptr_t)region + ml_scratch_offset(row) : NULL;
}

static void resolve_step(ml_state *s, ml_residence *r, const ml_residence *like, int32_t frame,
                         int32_t n, ml_step *to) {
    const ml_frame *f = &s->graph->frames[frame];
    const ml_node *node = &s->graph->subgraphs[f->subgraph].nodes[n];
    const ml_node_plan *row = &r->rows->nodes[f->node_base + n];
    uint8_t *scratch = scratch_of(s, r->frames[frame].region, row);
    if (node->n_children > 0) resolve_children(s, r, like, frame, n, scratch);
    if (scratch && node->n_children > 0)
        scratch += ml_children_room(r->plan->graph, r->rows, frame, n);
    bool unsettled = row->stale || (row->open && !(node->io->flags & ML_NODE_BORROWS));
    to->call = ml_call_of(&s->engine, &s->envs[frame], n);
    to->call.scratch = scratch;
    to->call.packed = ml_constant_weights(s->graph, r->rows, frame, n);
    to->eval = unsettled ? s->runner->unsettled : s->runner->eval_of(node, row);
    to->call.ticks = row->ticks;
}

/* The steps of two sizes differ only in blob, ticks, and the addresses of scratch and packed
 * weights. */
static void resolve_like(ml_state *s, ml_residence *r, const ml_residence *like, int32_t frame) {
    const ml_frame *f = &s->graph->frames[frame];
    const ml_node *nodes = s->graph->subgraphs[f->subgraph].nodes;
    const ml_node_plan *rows = r->rows->nodes + f->node_base;
    const ml_packed *packed = r->rows->packed + f->pack_base;
    const uint8_t *region = r->frames[frame].region;
    const ptrdiff_t further = r->rows->blobs - like->rows->blobs;
    const int32_t first = r->frames[frame].first_step, end = first + r->frames[frame].n_steps;
    for (int32_t k = first; k < end; k++) {
        ml_step *step = &r->steps[k];
        *step = like->steps[k];
        const int32_t n = (int32_t)step->call.node;
        if (nodes[n].n_children > 0) {
            resolve_step(s, r, like, frame, n, step);
            continue;
        }
        step->call.blob = (uint8_t *)step->call.blob + further;
        step->call.scratch = scratch_of(s, region, &rows[n]);
        step->call.ticks = rows[n].ticks;
        if (nodes[n].pack_start >= 0) step->call.packed = packed[nodes[n].pack_start].weights;
    }
}

/* Steps have no gaps, so the loop needs no tests. If runs change steps, `learnt` has the step of
 * each node. With `like`, constants and steps are as in that residence. */
static void resolve_frame(ml_state *s, ml_residence *r, const ml_residence *like, int32_t frame) {
    resolve_slots(s, r, frame);
    if (like) {
        resolve_like(s, r, like, frame);
        return;
    }
    const ml_frame *f = &s->graph->frames[frame];
    const ml_subgraph *sub = &s->graph->subgraphs[f->subgraph];
    const ml_node_plan *rows = r->rows->nodes + f->node_base;
    resolve_constants(s, r, frame);
    int32_t step = r->frames[frame].first_step;
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        bool runs = ml_has_step(&rows[n], r->learnt != NULL);
        if (r->learnt) r->learnt->steps[f->node_base + n] = runs ? step : -1;
        if (runs) resolve_step(s, r, NULL, frame, n, &r->steps[step]);
        step += runs;
    }
}

/* Calls point at the state's environments; entering a residence sets the rows and pointers
 * there. */
void ml_enter_residence(ml_state *s, ml_residence *r) {
    s->engine.rows = r->rows;
    s->engine.residence = r;
    for (int32_t frame = 0; frame < s->graph->n_frames; frame++) {
        s->envs[frame].tensors = s->shape_envs[frame].tensors = ml_now_tensors(r, frame);
        s->frame_engines[frame].data = ml_now_data(r, frame);
        s->envs[frame].data = s->frame_engines[frame].data;
    }
}

/* If addresses are reserved, neither arena nor spills ever move; else another residence may have
 * moved them. */
bool ml_stands(const ml_state *s, const ml_residence *r) {
    bool stands = r->resolved && r->frames[0].region == region_of(s) &&
                  r->at_persistent == s->persistent && r->at_inputs == s->inputs.base;
    for (int32_t frame = 1; stands && r->learnt && frame < s->graph->n_frames; frame++)
        stands = !r->frames[frame].spilled || r->frames[frame].region == s->spills[frame].base;
    return stands;
}

/* True if the same nodes have steps, of the same kind, in both residences. Their plans have no
 * dynamic tensors. */
static bool have_same_steps(const ml_residence *r, const ml_residence *like) {
    if (!like || like == r || !like->resolved || r->learnt || like->learnt) return false;
    const ml_node_plan *a = r->rows->nodes, *b = like->rows->nodes;
    for (int32_t n = 0; n < r->plan->graph->total_nodes; n++)
        if (a[n].status != b[n].status || a[n].packs_in_run != b[n].packs_in_run) return false;
    return true;
}

void ml_resolve(ml_state *s, ml_residence *r, const ml_residence *like) {
    r->frames[0].region = region_of(s);
    if (have_same_steps(r, like)) ml_residence_copy_pointers(r, like);
    else like = NULL;
    resolve_frame(s, r, like, 0);
    ml_resolve_outside_arena(s, r);
    r->at_persistent = s->persistent;
    r->at_inputs = s->inputs.base;
    r->resolved = true;
    s->counters.resolves++;
}

/* Used when memory grows during a run. Values have moved together with the memory, so pointers into
 * it move by the same distance, and other pointers stay. (Resolving would lose the pointers that
 * loops and branches have set.) */
void ml_relocate(ml_state *s, ml_residence *r, int32_t frame, const uint8_t *from, int64_t bytes,
                 uint8_t *to) {
    const ml_graph *g = s->graph;
    uintptr_t start = (uintptr_t)from, end = start + (uintptr_t)bytes;
    int32_t below = frame + 1; /* frames are numbered callers first, so child frames follow */
    while (below < g->n_frames && g->frames[below].parent >= frame) below++;
#define MOVED(p) ((uintptr_t)(p) >= start && (uintptr_t)(p) < end ? to + ((uintptr_t)(p) - start) : (uint8_t *)(p))
    for (int32_t f = frame; f < below; f++) {
        ml_frame_now *now = &r->frames[f];
        void **data = ml_now_data(r, f);
        for (int32_t t = 0; t < ml_frame_subgraph(g, f)->io.n_tensors; t++)
            data[t] = MOVED(data[t]);
        now->region = MOVED(now->region);
        for (int32_t k = now->first_step; k < now->first_step + now->n_steps; k++)
            r->steps[k].call.scratch = MOVED(r->steps[k].call.scratch);
    }
#undef MOVED
    s->counters.resolves++;
}
