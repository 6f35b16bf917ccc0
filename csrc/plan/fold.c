/* fold.c -- folding: computes nodes while planning, if all values that they read are known.
 *
 * A folded value belongs to the plan: its row points at it (`known`), prepare of later nodes reads
 * it like a constant, and its node gets no step. It is never written again, so copies of the plan
 * share it (ml_plan.source), and residences point at it.
 *
 * Folding calls eval without a residence: there is no scratch, there are no workers, no table of
 * pointers, and no polling for signals. A node that needs one of these waits for the run. Folding
 * is meant for arithmetic on shapes, which many models contain, so only small outputs are worth the
 * plan's memory. */
#include <stdlib.h>

#include "plan/fold.h"

enum { POOL_BYTES = 1008, MOST_OPERANDS = 64 };

/* Room for `bytes` in the plan's pool. A chunk never moves, because rows (also those of copies)
 * point into it; a value larger than a chunk gets a chunk of its own. */
static void *take_from_pool(ml_folded **pools, int64_t bytes) {
    int64_t rounded = ml_round_up(bytes, 16), size = rounded > POOL_BYTES ? rounded : POOL_BYTES;
    if (!*pools || (*pools)->used + rounded > POOL_BYTES) {
        ml_folded *pool = malloc(sizeof *pool + (size_t)size);
        if (!pool) return NULL;
        pool->next = *pools;
        pool->used = 0;
        *pools = pool;
    }
    void *place = (*pools)->bytes + (*pools)->used;
    (*pools)->used += rounded;
    return place;
}

/* True if the node's outputs can be computed now: everything it reads is known, and they are small.
 * Not folded are nodes with effects, which have to happen in each run; kernels that set shapes in
 * eval, which need a residence; kernels with memory of their own, which is in a state; and nodes
 * whose weights have to be packed, because that is not arithmetic on shapes. */
static bool can_fold(const ml_call *c, const ml_wish *wish, const ml_node *node) {
    if (node->kernel->flags & (ML_KERNEL_HAS_EFFECTS | ML_KERNEL_SETS_SHAPES) || !node->typed ||
        node->typed->pack || node->kernel->memory_bytes > 0)
        return false;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        const ml_tensor *t = ml_input(c, i);
        if (t && !ml_known(t) && !(node->kernel->flags & ML_KERNEL_NEEDS_SHAPES_ONLY)) return false;
    }
    for (int32_t i = 0; i < c->n_outputs; i++) {
        const ml_tensor *t = ml_output(c, i);
        bool takes = t->storage == ML_STORAGE_ARENA ||
                     t->storage == ML_STORAGE_BOUND; /* ml_bound_check refuses a bound one later */
        if (!takes || ml_elements(&t->shape) > ML_FOLD_ELEMENTS) return false;
    }
    return wish->scratch_bytes == 0 && wish->worker_bytes == 0 &&
           c->n_inputs + c->n_outputs <= MOST_OPERANDS;
}

bool ml_writes_nothing(const ml_node *node, const ml_call *c) {
    const ml_kernel *kernel = node->kernel;
    const int32_t calls = ML_KERNEL_HAS_EFFECTS | ML_KERNEL_SETS_SHAPES | ML_KERNEL_REFUSES_VALUES;
    if (kernel->flags & calls || kernel->memory_bytes > 0) return false;
    for (int32_t i = 0; i < c->n_outputs; i++) {
        const ml_tensor *t = ml_output(c, i);
        /* A string tensor without elements has bytes, too: their number. */
        if (ml_elements(&t->shape) > 0 || t->type == ML_STRING) return false;
    }
    return true;
}

ml_status ml_fold(ml_engine *engine, const ml_call *c, const ml_wish *wish, int32_t frame,
                  bool *folded) {
    const ml_node *node = &ml_frame_subgraph(engine->graph, frame)->nodes[c->node];
    *folded = false;
    if (!engine->folded || !can_fold(c, wish, node)) return ML_OK;
    /* A plan has no pointers, but eval looks them up by tensor. So it gets a small frame on the
     * stack, with pointers and rows of the operands only, in which operand i is tensor i. Entry 0
     * is for absent tensors. */
    void *data[MOST_OPERANDS + 1] = {NULL};
    ml_tensor tensors[MOST_OPERANDS];
    int32_t places[MOST_OPERANDS], slots[MOST_OPERANDS + 1], count = c->n_inputs + c->n_outputs;
    slots[0] = ~0;
    for (int32_t i = 0; i < count; i++) {
        int32_t t = c->inputs[i];
        places[i] = t < 0 ? -1 : i;
        slots[i + 1] = i;
        if (t < 0) continue;
        tensors[i] = *ml_tensor_of(c, t);
        data[i + 1] = i < c->n_inputs ? (void *)(uintptr_t)ml_known(&tensors[i])
                                      : take_from_pool(engine->folded, tensors[i].bytes);
        if (i >= c->n_inputs && !data[i + 1])
            return ml_error_memory(c->env->error, "folding", tensors[i].bytes, 0);
    }
    struct ml_frame_engine here = *c->env->engine;
    here.numbers = c->inputs;
    ml_env env = *c->env;
    env.engine = &here;
    env.slots = slots + 1;
    env.tensors = tensors;
    env.data = data + 1;
    ml_call call = *c;
    call.inputs = places;
    call.env = &env;
    ml_status status = ml_writes_nothing(node, &call) ? ML_OK : node->typed->eval(&call);
    if (status != ML_OK) return status;
    for (int32_t i = 0; i < c->n_outputs; i++) {
        ml_tensor *t = ml_output_row(c, i);
        t->known = data[c->n_inputs + i + 1];
        t->storage = ML_STORAGE_FOLDED;
    }
    *folded = true;
    return ML_OK;
}
