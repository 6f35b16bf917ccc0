/* child.c -- the subgraphs that a node calls: checks them, computes their shapes and places their
 * tensors while planning; in a run, copies inputs in and runs them. */
#include <stdlib.h>

#include "control/control.h"

ml_child ml_child_of(const ml_call *c, int32_t k) {
    const struct ml_frame_engine *fe = c->env->engine;
    const ml_graph *g = fe->engine->graph;
    int32_t frame = ml_child_frame(g, fe->frame, c->node, k);
    const ml_subgraph *sub = ml_frame_subgraph(g, frame);
    const ml_residence *r = fe->engine->residence;
    return (ml_child){frame, &sub->io, sub, fe->engine->rows, r ? ml_now_data(r, frame) : NULL};
}

/* "body", or "branch 2". Called only for messages: prepare comes here for each new size. */
static const char *name_of(const char *what, int32_t number, char text[32]) {
    snprintf(text, 32, number < 0 ? "%s" : "%s %d", what, number);
    return text;
}

ml_status ml_child_check(const ml_call *c, const ml_child *child, int32_t first, int32_t n_outputs,
                         const char *what, int32_t number) {
    char name[32];
    if (child->io->n_inputs != c->n_inputs - first)
        return ml_fail(c, ML_SHAPE_ERROR, "the %s takes %d inputs, the node gives %d",
                       name_of(what, number, name), child->io->n_inputs, c->n_inputs - first);
    if (child->io->n_outputs != n_outputs)
        return ml_fail(c, ML_SHAPE_ERROR, "the %s has %d outputs, must have %d",
                       name_of(what, number, name), child->io->n_outputs, n_outputs);
    for (int32_t i = 0; i < child->io->n_inputs; i++) {
        const ml_tensor *operand = ml_input(c, first + i), *input = ml_child_input(c, child, i);
        if (child->subgraph->slots[child->io->inputs[i]] < 0)
            return ml_fail(c, ML_SHAPE_ERROR, "input %d of the %s is a constant", i,
                           name_of(what, number, name));
        if (input->type != operand->type)
            return ml_fail(c, ML_SHAPE_ERROR, "input %d of the %s has type %s, the node gives %s",
                           i, name_of(what, number, name), ml_type_name(input->type),
                           ml_type_name(operand->type));
    }
    return ML_OK;
}

ml_status ml_child_sweep(const ml_call *c, const ml_child *child, bool open, bool values) {
    ml_engine *engine = c->env->engine->engine;
    ml_sweep_reset(engine, child->frame);
    ml_tensor *tensors = engine->rows->tensors + engine->graph->frames[child->frame].slot_base;
    int32_t first = c->n_inputs - child->io->n_inputs;
    for (int32_t i = 0; i < child->io->n_inputs && !open; i++) {
        ml_tensor *t = &tensors[child->subgraph->slots[child->io->inputs[i]]];
        const ml_tensor *operand = ml_input(c, first + i);
        t->dynamic = 0;
        t->shaped = 1;
        t->shape = operand->shape;
        t->bytes = operand->bytes;
        t->known = values ? ml_known(operand) : NULL;
    }
    return ml_sweep_frame(engine, child->frame);
}

static ml_tensor *slot_row(const ml_engine *engine, const ml_child *child, int32_t tensor) {
    return &engine->rows->tensors[engine->graph->frames[child->frame].slot_base +
                                  child->subgraph->slots[tensor]];
}

void ml_child_place_output(const ml_call *c, const ml_child *child, int32_t i) {
    if (child->subgraph->slots[child->io->outputs[i]] < 0) return;
    ml_tensor *t = slot_row(c->env->engine->engine, child, child->io->outputs[i]);
    if (t->storage != ML_STORAGE_ARENA) return;
    t->storage = ML_STORAGE_SLOT;
    t->known = NULL;
    t->root = ~i;
}

void ml_child_set_input(const ml_call *c, const ml_child *child, int32_t i, const ml_shape *shape,
                        void *data, int64_t bytes) {
    ml_engine *engine = c->env->engine->engine;
    int32_t number = child->io->inputs[i];
    child->data[number] = data;
    ml_tensor *t = slot_row(engine, child, number);
    bool same = t->shaped && ml_same_shape(&t->shape, shape);
    if (same && t->bytes == bytes) return;
    /* Only tensors left open while planning can differ; then the rows belong to the residence and
     * may be written. */
    t->bytes = bytes;
    if (same) return;
    t->shape = *shape;
    t->shaped = 1;
    ml_mark_readers(engine->residence, child->subgraph, &engine->graph->frames[child->frame],
                    child->subgraph->slots[number]);
    engine->state->run_changed = true;
}

ml_status ml_child_run(const ml_call *c, const ml_child *child) {
    ml_engine *engine = c->env->engine->engine;
    return ml_run_frame(engine->state, engine->residence, child->frame);
}

ml_value_now ml_child_value(const ml_call *c, const ml_child *child, int32_t i) {
    const ml_engine *engine = c->env->engine->engine;
    int32_t number = child->io->outputs[i];
    const ml_tensor *t = ml_child_output(c, child, i);
    int64_t bytes = t->bytes;
    if (t->storage == ML_STORAGE_HEAP)
        bytes = engine->state
                    ->heap[engine->graph->frames[child->frame].slot_base +
                           child->subgraph->slots[number]]
                    .bytes;
    return (ml_value_now){t, child->data[number], bytes};
}

void ml_child_writes(const ml_call *c, const ml_child *child, int32_t block) {
    c->env->engine->engine->residence->frames[child->frame].writes = (uint8_t)block;
}

ml_block *ml_carry_blocks(const ml_call *c, const ml_child *child, int32_t i) {
    ml_state *s = c->env->engine->engine->state;
    if (!s->carries) s->carries = calloc(2 * (size_t)s->graph->total_slots + 1, sizeof *s->carries);
    if (s->carries) return ml_state_carries(s, child->frame, i);
    ml_fail(c, ML_ARENA_ERROR, "no memory for the carried values of a loop");
    return NULL;
}
