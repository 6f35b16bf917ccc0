/* patch.h -- patches: rectangles of a node's output, and what computing one needs. */
#ifndef ML_PLAN_PATCH_H
#define ML_PLAN_PATCH_H

#include "graph/engine.h"

/* Calls the window of the node's kernel (kernel.h). `in` has room for all inputs, `params` for the
 * node's parameters. Ranges of `in` end where their tensors end. False if the node cannot be cut
 * there, or not at all. */
bool ml_patch_needs(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params);
/* The whole of a tensor. */
static inline ml_rectangle ml_patch_whole(const ml_tensor *t) {
    const bool has = t->shape.rank == 3 || t->shape.rank == 4;
    return (ml_rectangle){{{0, has ? t->shape.dims[1] : 1}, {0, has ? t->shape.dims[2] : 1}}};
}
static inline bool ml_patch_same(const ml_rectangle *a, const ml_rectangle *b) {
    return memcmp(a, b, sizeof *a) == 0;
}

#endif
