/* records.c -- makes usage records: finds what every tensor and every node's scratch needs, and in
 * which memory.
 *
 * Frames are numbered callers first. The scratch record of a node with subgraphs is
 *
 *     | room: the largest region of its frames | the kernel's own scratch |
 *
 * and is live at that node only. So the peak of a loop is a record like others, and one lower bound
 * covers the model. */
#include "plan/records.h"

#include <stdlib.h>

static bool grows(const ml_graph *g, const ml_rows *rows, int32_t frame) {
    const ml_tensor *tensors = rows->tensors + g->frames[frame].slot_base;
    for (int32_t slot = 0; slot < ml_frame_subgraph(g, frame)->n_slots; slot++)
        if (tensors[slot].dynamic && tensors[slot].storage == ML_STORAGE_ARENA) return true;
    return false;
}

/* The bytes of a node's scratch that its children need: the largest of their regions, because they
 * run one after the other. An eighth more if the frame has dynamic tensors, so that one that
 * outgrows its place still fits. */
int64_t ml_records_room(const ml_demand *x, int32_t frame, int32_t n) {
    const ml_graph *g = x->graph;
    const ml_rows *rows = x->rows;
    if (x->as_placed) return ml_children_room(g, rows, frame, n);
    int64_t room = 0;
    for (int32_t k = 0; k < ml_frame_subgraph(g, frame)->nodes[n].n_children; k++) {
        int32_t child = ml_child_frame(g, frame, n, k);
        int64_t region = rows->frames[child].region_bytes;
        if (grows(g, rows, child)) region += region / 8;
        room = region > room ? region : room;
    }
    return ml_round_up(room, ML_ALIGNMENT);
}

/* Gives views the bytes of their input, whatever either needed in the past: the planner lets
 * tensors share memory only if their sizes are equal, and a view with another place would have to
 * be copied. Goes from front to back, so chains of views become equal too. */
static void level_views(const ml_subgraph *sub, const ml_tensor *tensors, int64_t *bytes) {
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        const ml_node_io *io = sub->nodes[n].io;
        if (!(io->flags & ML_NODE_VIEW)) continue;
        int32_t from = io->inputs[0], to = io->outputs[0];
        if (sub->slots[from] < 0 || !tensors[sub->slots[to]].dynamic) continue;
        if (tensors[sub->slots[from]].dynamic && bytes[to] > bytes[from]) bytes[from] = bytes[to];
        bytes[to] = bytes[from];
    }
}

/* Stores a fact; false if it has changed in a way on which lifetimes may depend. */
static bool note(int64_t *bytes, uint8_t *memory, int64_t bytes_now, ml_memory_kind memory_now) {
    bool same = *memory == memory_now && (*bytes > 0) == (bytes_now > 0);
    *bytes = bytes_now;
    *memory = (uint8_t)memory_now;
    return same;
}

static ml_memory_kind memory_of(const ml_tensor *t) {
    if (t->storage == ML_STORAGE_ARENA) return ML_MEMORY_ARENA;
    return t->storage == ML_STORAGE_PERSISTENT ? ML_MEMORY_PERSISTENT : ML_MEMORY_NONE;
}

static void fix(ml_tensor_usage *u, int32_t tensor, int64_t offset) {
    u->n_fixed += (offset >= 0) - (u->fixed[tensor] >= 0);
    u->fixed[tensor] = offset;
}

/* True if a dynamic tensor may be computed in place. In a plan its size is unknown and cannot be
 * compared. In a residence, runs move it if sizes differ (run/dynamic.c). */
static uint8_t pin_of(const ml_demand *x, const ml_tensor *t) {
    return t->dynamic && !x->needs && !x->as_placed ? ML_PINNED : ML_NOT_PINNED;
}

/* The known size, or what earlier runs needed if that is larger; 0 for tensors that a plan leaves
 * open. */
static int64_t bytes_of(const ml_demand *x, int32_t slot, const ml_tensor *t) {
    int64_t bytes = t->shaped ? t->bytes : 0;
    if (!t->dynamic) return bytes;
    if (x->needs) bytes = ml_max_s64(bytes, ml_need_capacity(&x->needs[slot], x->now));
    return x->as_placed ? ml_max_s64(bytes, x->rows->reserved[slot].bytes) : bytes;
}

/* Placing again does not prepare settled nodes again. So it pins outputs whose size now differs
 * from their input's, whatever was needed before: they are not computed in place. True if no pin
 * has changed. */
static bool pin_unequal(const ml_subgraph *sub, const ml_tensor *tensors, uint8_t *pinned) {
    bool stand = true;
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        const ml_node_io *io = sub->nodes[n].io;
        int32_t out = io->n_outputs > 0 ? io->outputs[0] : -1;
        if (out < 0 || io->flags & ML_NODE_VIEW || !tensors[sub->slots[out]].dynamic) continue;
        uint8_t pin = ML_NOT_PINNED;
        for (int32_t i = 0; i < io->n_inputs && i < 8; i++) {
            int32_t slot = io->inputs[i] < 0 ? -1 : sub->slots[io->inputs[i]];
            if (io->flags & (ML_NODE_IN_PLACE << i) && slot >= 0 &&
                tensors[slot].bytes != tensors[sub->slots[out]].bytes)
                pin = ML_PINNED_AS_OUTPUT;
        }
        stand &= pinned[out] == pin;
        pinned[out] = pin;
    }
    return stand;
}

static bool describe_tensors(const ml_demand *x, int32_t frame, ml_tensor_usage *u) {
    const ml_frame *f = &x->graph->frames[frame];
    const ml_subgraph *sub = &x->graph->subgraphs[f->subgraph];
    const ml_tensor *tensors = x->rows->tensors + f->slot_base;
    bool offline = ml_follows_file(x, frame), stand = true, levels = false;
    for (int32_t slot = 0; slot < sub->n_slots; slot++) {
        const ml_tensor *t = &tensors[slot];
        int32_t number = sub->numbers[slot];
        int64_t now = bytes_of(x, f->slot_base + slot, t);
        uint8_t pin = pin_of(x, t);
        if (t->dynamic && pin == ML_NOT_PINNED && u->pinned[number] == ML_PINNED_AS_OUTPUT)
            pin = ML_PINNED_AS_OUTPUT; /* pin_unequal looks at it again */
        stand &= note(&u->bytes[number], &u->memory[number], now, memory_of(t)) &&
                 u->pinned[number] == pin;
        u->pinned[number] = pin;
        levels |= t->dynamic;
        if (offline && !t->dynamic && t->storage == ML_STORAGE_ARENA &&
            sub->tensors[number].offline_offset >= 0)
            fix(u, number, sub->tensors[number].offline_offset);
    }
    if (levels) level_views(sub, tensors, u->bytes);
    if (levels && (x->needs || x->as_placed)) stand &= pin_unequal(sub, tensors, u->pinned);
    return stand;
}

/* The bytes of a node's own scratch, in whole blocks. */
static int64_t scratch_of(const ml_demand *x, int32_t node) {
    const ml_node_plan *row = &x->rows->nodes[node];
    int64_t bytes = ml_scratch_bytes(row);
    if (x->needs) {
        const ml_need *need = &x->needs[x->graph->total_slots + node];
        bytes = ml_max_s64(bytes, ml_round_up(ml_need_capacity(need, x->now), ML_ALIGNMENT));
    }
    return x->as_placed ? ml_max_s64(bytes, ml_scratch_reserved(row)) : bytes;
}

/* Scratch by node. Small scratch is in the work block, because nodes run one at a time. But a node
 * with effects may run others while its scratch is in use, so its scratch always gets a record.
 * Scratch that had a record at another size keeps one where it lies in the block: one of no bytes,
 * which conflicts with nothing. So sizes that come and go around that of the block do not change
 * the set of records, and what was found for it holds. */
static bool describe_nodes(const ml_demand *x, int32_t frame, ml_tensor_usage *u) {
    const ml_frame *f = &x->graph->frames[frame];
    const ml_subgraph *sub = &x->graph->subgraphs[f->subgraph];
    int64_t *bytes = u->bytes + sub->io.n_tensors;
    uint8_t *memory = u->memory + sub->io.n_tensors;
    const ml_node_plan *rows = x->rows->nodes + f->node_base;
    const bool any = x->needs || x->as_placed; /* more may be wanted than the rows say */
    bool stand = true;
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        const ml_node_plan *row = &rows[n];
        const ml_node *node = &sub->nodes[n];
        const bool folded = row->status == ML_NODE_FOLDED;
        int64_t wants = 0;
        if (any || row->scratch_blocks > 0 || node->n_children > 0) {
            const int64_t own = scratch_of(x, f->node_base + n);
            const bool runs_patches = row->status == ML_NODE_RUNS_PATCHES; /* own: their region */
            if ((own > 0 || node->n_children > 0) &&
                (runs_patches || ml_scratch_in_arena(node, own)))
                wants = ml_records_room(x, frame, n) + own;
        }
        if (wants > 0 && memory[n] != ML_MEMORY_ARENA) {
            memory[n] = ML_MEMORY_ARENA;
            stand = false;
        }
        bytes[n] = wants;
        stand &= u->skipped[n] == folded;
        u->skipped[n] = folded;
    }
    return stand;
}

bool ml_records_describe(const ml_demand *x, int32_t frame, ml_planner *p) {
    const bool stand = describe_tensors(x, frame, &p->usage);
    return describe_nodes(x, frame, &p->usage) && stand;
}

/* A pass over the nodes that adds what begins and subtracts what has ended. */
int64_t ml_records_bound(const ml_planner *p, int32_t *peaks) {
    *peaks = 0;
    const ml_schedule *s = &p->schedule;
    int64_t live = 0, most = 0;
    int32_t nodes = s->graph->n_nodes > 0 ? s->graph->n_nodes : 1;
    int64_t *ending = calloc((size_t)nodes + 1, sizeof *ending);
    if (!ending) return -1;
    for (int32_t n = 0; n < nodes; n++) {
        for (int32_t k = s->group[n]; k < s->group[n + 1]; k++) {
            int32_t t = s->by_first[k];
            bool lives = s->last[t] >= s->first[t];
            if (p->usage.memory[t] != ML_MEMORY_ARENA || s->root[t] != t || !lives) continue;
            int64_t size = ml_round_up(p->usage.bytes[t], p->alignment);
            live += size;
            if (s->last[t] < nodes) ending[s->last[t] + 1] += size;
        }
        live -= n > 0 ? ending[n] : 0;
        if (live > most) *peaks = 0;
        if (live >= most) {
            most = live;
            ++*peaks;
        }
    }
    free(ending);
    return most;
}

int32_t ml_planner_records(const ml_planner *p, ml_record *records, int32_t room) {
    int32_t count = 0;
    for (int32_t t = 0; t < p->schedule.count; t++) {
        if (p->usage.memory[t] != ML_MEMORY_ARENA || p->placed[t] == 0 || p->schedule.root[t] != t)
            continue;
        if (count < room) records[count] = ml_record_of(p, t, p->placed[t], p->offset[t]);
        count++;
    }
    return count;
}
