/* resources.c -- what an interpreter keeps from run to run, taken out and put back: for copies and
 * pickles of it. */
#include "state/interpreter.h"

ml_status ml_interpreter_resource(ml_interpreter *p, int32_t number, ml_resource *found, void *to,
                                  int64_t room) {
    ml_status status = ml_enter_copy(p);
    if (status != ML_OK) return status;
    const ml_block *b = number >= 0 && number < p->n_resources ? &p->resources[number] : NULL;
    *found = (ml_resource){.there = b != NULL};
    if (b && b->assigned) {
        *found = (ml_resource){b->shape, b->type, true, true, b->bytes};
        if (b->bytes > 0 && b->bytes <= room) memcpy(to, b->data, (size_t)b->bytes);
    }
    ml_leave(p);
    return ML_OK;
}

ml_status ml_interpreter_set_resource(ml_interpreter *p, int32_t number, const ml_resource *value,
                                      const void *from, ml_error *error) {
    ml_status status = ml_enter(p);
    if (status != ML_OK) return status;
    if (number < 0 || number >= p->n_resources)
        status = ml_error_set(error, ML_GRAPH_ERROR, "there is no resource %d", number);
    else
        status = ml_block_set(&p->account, &p->resources[number], &value->shape, value->type, from,
                              value->bytes, error);
    ml_leave(p);
    return status;
}

ml_status ml_interpreter_called_once(ml_interpreter *p, int32_t subgraph, int32_t *done, bool set) {
    ml_status status = ml_enter(p);
    if (status != ML_OK) return status;
    const bool there = subgraph >= 0 && subgraph < p->n_subgraphs;
    if (there && set) p->called_once[subgraph] = *done != 0;
    *done = there && p->called_once[subgraph];
    ml_leave(p);
    return ML_OK;
}
