/* debug.c -- checks that debug builds (ML_DEBUG) make around each node. Tensors that are dead after
 * it are overwritten, so that wrong lifetimes or wrong sharing show. The bytes after its outputs
 * and its scratch must not change. */
#ifdef ML_DEBUG
#include "run/debug.h"

enum { DEAD = 0xA5, GUARD = 0x5A };

/* From the end of `bytes` at `data` to the next multiple of the alignment: these bytes belong to
 * nothing else, unless the memory plan of the file packs tensors closer. Scratch consists of whole
 * blocks, and gets one more for this. */
static ml_guard guard(void *data, int64_t bytes, int32_t output) {
    uint8_t *end = data && bytes > 0 ? (uint8_t *)data + bytes : NULL;
    return (ml_guard){end, end ? ml_round_up(bytes, ML_ALIGNMENT) - bytes : 0, output};
}

static ml_guard guard_of(const ml_residence *r, int32_t frame, const ml_step *step, int32_t i) {
    const ml_call *c = &step->call;
    if (i == c->n_outputs) {
        const ml_node_plan *row =
            &r->rows->nodes[r->plan->graph->frames[frame].node_base + c->node];
        bool known = !row->open && !row->stale && row->scratch_blocks > 0;
        uint8_t *last = (uint8_t *)c->scratch + ml_scratch_bytes(row) - ML_ALIGNMENT;
        return known ? (ml_guard){last, ML_ALIGNMENT, -1} : guard(NULL, 0, -1);
    }
    int32_t tensor = c->inputs[c->n_inputs + i];
    const ml_tensor *t = ml_row_of(r->plan->graph, r->rows, frame, tensor);
    bool own = tensor >= 0 && t && t->storage == ML_STORAGE_ARENA && t->root == tensor &&
               t->offset >= 0 && t->shaped;
    return own ? guard(c->env->data[tensor], t->bytes, i) : guard(NULL, 0, i);
}

void ml_debug_guard(const ml_residence *r, int32_t frame, const ml_step *step, ml_guards *guards) {
    int32_t outputs = step->call.n_outputs;
    guards->count = 0;
    if (ml_frame_subgraph(r->plan->graph, frame)->planned_offline) return;
    for (int32_t i = 0; i <= outputs && guards->count < ML_GUARDS; i++) {
        ml_guard found = guard_of(r, frame, step, i);
        if (found.bytes == 0) continue;
        memset(found.at, GUARD, (size_t)found.bytes);
        guards->all[guards->count++] = found;
    }
}

ml_status ml_debug_check(const ml_residence *r, int32_t frame, const ml_step *step,
                         const ml_guards *guards, ml_error *error) {
    for (int32_t g = 0; g < guards->count; g++) {
        const ml_guard *was = &guards->all[g];
        int32_t i = was->output < 0 ? step->call.n_outputs : was->output;
        ml_guard now = guard_of(r, frame, step, i);
        if (now.at != was->at || now.bytes != was->bytes) continue; /* it moved in the run */
        for (int64_t b = 0; b < was->bytes; b++)
            if (was->at[b] != GUARD)
                return ml_error_set(error, ML_KERNEL_ERROR,
                                    was->output < 0
                                        ? "byte %lld after its scratch was written"
                                        : "byte %lld after the end of output %d was written",
                                    (long long)b, was->output);
    }
    return ML_OK;
}

void ml_debug_poison(const ml_residence *r, int32_t frame, int32_t node) {
    const ml_graph *g = r->plan->graph;
    const ml_subgraph *sub = ml_frame_subgraph(g, frame);
    int32_t base = g->frames[frame].slot_base;
    for (int32_t slot = 0; slot < sub->n_slots; slot++) {
        const ml_tensor *t = &ml_now_tensors(r, frame)[slot];
        int32_t number = sub->numbers[slot];
        bool dies = r->rows->reserved[base + slot].last == node && t->storage == ML_STORAGE_ARENA &&
                    t->root == number;
        if (dies && t->offset >= 0 && t->shaped && t->bytes > 0)
            memset(ml_now_data(r, frame)[number], DEAD, (size_t)t->bytes);
    }
}
#endif
