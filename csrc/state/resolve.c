/* resolve.c -- resolving a plan: the table of pointers, and the steps that a run goes through. */
#include "run/engine.h"

#include <stdlib.h>

static uint8_t nothing[64]; /* where tensors of no bytes point: never read, never written */

void ml_bind_buffers(ml_state *s) {
    void **data = s->data + s->graph->frames[0].tensor_base;
    for (int32_t i = 0; i < s->n_bound; i++) data[s->bound[i].tensor] = s->bound[i].data;
}

void ml_bind_pointers(ml_state *s, int32_t frame) {
    const ml_frame *f = &s->graph->frames[frame];
    const ml_tensor *tensors = ml_frame_tensors(s->plan, frame);
    void **data = s->data + f->tensor_base;
    uint8_t *region = s->frames[frame].region;
    int32_t count = s->graph->subgraphs[f->subgraph].io.n_tensors;
    int64_t persistent = s->plan->frames[frame].persistent_start;
    for (int32_t t = 0; t < count; t++) {
        const ml_tensor *tensor = &tensors[t];
        switch ((ml_storage)tensor->storage) {
        case ML_STORAGE_CONSTANT:
        case ML_STORAGE_FOLDED: data[t] = (void *)(uintptr_t)tensor->known; break;
        case ML_STORAGE_PERSISTENT:
            data[t] = tensor->offset >= 0 ? s->persistent + persistent + tensor->offset : nothing;
            break;
        case ML_STORAGE_BOUND:
        case ML_STORAGE_SLOT: break;
        default:
            data[t] = region && tensor->offset >= 0 ? region + tensor->offset
                      : tensor->bytes > 0           ? NULL
                                                    : nothing;
        }
    }
    if (frame == 0) ml_bind_buffers(s);
    s->generation++;
    s->counters.resolves++;
}

static int32_t ticks_of(const ml_node_io *io, const ml_tensor *tensors) {
    int64_t bytes = 0;
    for (int32_t i = 0; i < io->n_inputs; i++)
        bytes += io->inputs[i] >= 0 ? tensors[io->inputs[i]].bytes : 0;
    for (int32_t i = 0; i < io->n_outputs; i++) bytes += tensors[io->outputs[i]].bytes;
    return 1 + (int32_t)(bytes >> 12 > 1 << 20 ? 1 << 20 : bytes >> 12);
}

void ml_bind_steps(ml_state *s, int32_t frame, int32_t step, int32_t first) {
    const ml_frame *f = &s->graph->frames[frame];
    const ml_subgraph *sub = &s->graph->subgraphs[f->subgraph];
    ml_tensor *tensors = ml_frame_tensors(s->plan, frame);
    ml_step *steps = s->steps + f->node_base;
    uint8_t *region = s->frames[frame].region;
    s->engines[frame] = (struct ml_frame_engine){s->graph, s->plan, s, frame, f->subgraph};
    s->envs[frame] = (ml_env){.tensors = tensors,
                              .error = s->error,
                              .core = &ml_core_table,
                              .engine = &s->engines[frame]};
    for (int32_t n = first; n < sub->io.n_nodes; n++) {
        const ml_node *node = &sub->nodes[n];
        const ml_node_plan *np = &s->plan->nodes[f->node_base + n];
        if (np->status == ML_NODE_FOLDED || np->status == ML_NODE_IS_VIEW) continue;
        bool in_arena = ml_scratch_in_arena(node, np);
        int64_t scratch =
            in_arena ? ml_planner_offsets(s->plan->frames[frame].planner)[sub->io.n_tensors + n]
                     : -1;
        bool python = (node->io->flags & ML_NODE_PYTHON) || !node->typed;
        ml_step *to = &steps[step++];
        to->eval = np->dynamic || np->status == ML_NODE_WAITS ? ml_run_dynamic
                   : python                                   ? ml_run_python
                   : np->pack_offset >= 0                     ? ml_run_packing
                                                              : node->typed->eval;
        to->ticks = ticks_of(node->io, tensors);
        to->call = (ml_call){.params = node->params,
                             .derived = node->derived,
                             .packed = np->packed,
                             .blob = s->plan->blobs + f->blob_base + node->blob_start,
                             .scratch = scratch >= 0            ? region + scratch
                                        : np->scratch_bytes > 0 ? s->work
                                                                : NULL,
                             .inputs = node->io->inputs,
                             .data = s->data + f->tensor_base,
                             .env = &s->envs[frame],
                             .n_inputs = node->io->n_inputs,
                             .n_outputs = node->io->n_outputs,
                             .node = n};
        for (int k = 0; k < 2; k++) {
            int32_t child = s->graph->children[f->node_base + n][k];
            if (child >= 0 && s->plan->frames[child].planner)
                ml_bind_frame(s, child,
                              ml_outgrew_room(s->plan, child) ? s->frames[child].spill
                                                              : (uint8_t *)to->call.scratch);
        }
    }
    s->frames[frame].n_steps = step;
    if (frame == 0) s->plan->n_steps = step;
}

void ml_bind_frame(ml_state *s, int32_t frame, uint8_t *region) {
    s->frames[frame].region = region;
    ml_bind_pointers(s, frame);
    ml_bind_steps(s, frame, 0, 0);
}

void ml_relocate(ml_state *s, int32_t frame, uint8_t *from, int64_t bytes, uint8_t *to) {
    const ml_graph *g = s->graph;
    uintptr_t start = (uintptr_t)from, end = start + (uintptr_t)bytes;
    int32_t below = frame + 1; /* frames are numbered callers first: those below follow */
    while (below < g->n_frames && g->frames[below].parent >= frame) below++;
    int32_t tensors = below < g->n_frames ? g->frames[below].tensor_base : g->total_tensors + 1;
    int32_t nodes = below < g->n_frames ? g->frames[below].node_base : g->total_nodes;
#define MOVED(p) ((uintptr_t)(p) >= start && (uintptr_t)(p) < end ? to + ((uintptr_t)(p) - start) : (uint8_t *)(p))
    for (int32_t t = g->frames[frame].tensor_base; t < tensors - 1; t++)
        s->data[t] = MOVED(s->data[t]);
    for (int32_t n = g->frames[frame].node_base; n < nodes; n++)
        s->steps[n].call.scratch = MOVED(s->steps[n].call.scratch);
    for (int32_t f = frame; f < below; f++) s->frames[f].region = MOVED(s->frames[f].region);
#undef MOVED
    s->generation++;
    s->counters.resolves++;
}

ml_status ml_reserve_spill(ml_state *s, int32_t frame, int64_t bytes, ml_error *error) {
    ml_frame_state *fs = &s->frames[frame];
    if (bytes <= fs->spill_bytes) return ML_OK;
    uint8_t *spill = aligned_alloc(64, (size_t)((bytes + 63) & ~(int64_t)63));
    if (!spill) {
        error->needed = bytes;
        error->available = fs->spill_bytes;
        return ml_error_set(error, ML_ARENA_ERROR,
                            "a loop body needs %lld bytes, has %lld, and the system gives no more",
                            (long long)bytes, (long long)fs->spill_bytes);
    }
    free(fs->spill);
    fs->spill = spill;
    fs->spill_bytes = bytes;
    return ML_OK;
}
