/* transpose.c -- TRANSPOSE: dimension d of the output is dimension perm[d] of the input. */
#include "rules/nest.h"
#include "rules/pick.h"
#include "rules/values.h"

static ml_status prepare_transpose(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0), *perm = ml_input(c, 1);
    const void *value = ml_value(c, 1);
    int64_t pitches[ML_MAX_RANK], pitch = ml_unit(x), p = 0;
    ml_shape shape = {.rank = 0};
    char text[96];
    if (perm->shape.rank != 1 || perm->shape.dims[0] != x->shape.rank)
        return ml_fail(c, ML_SHAPE_ERROR, "perm has the shape %s, the input rank %d",
                       ml_shape_text(&perm->shape, text), x->shape.rank);
    if (!value && x->shape.rank > 0) return ml_open(wish, 0);
    ml_nest_begin(c->blob, pitch);
    for (int32_t d = x->shape.rank; d-- > 0; pitch *= x->shape.dims[d]) pitches[d] = pitch;
    for (int32_t d = 0, axis = 0, seen = 0; d < x->shape.rank; d++, seen |= 1 << axis) {
        ml_read_index(perm, value, d, &p);
        ml_status status = ml_axis(c, p, x->shape.rank, &axis);
        if (status != ML_OK) return status;
        if (seen >> axis & 1)
            return ml_fail(c, ML_SHAPE_ERROR, "perm has dimension %d twice", axis);
        ml_append_dim(c, &shape, x->shape.dims[axis]);
        ml_nest_add(c->blob, x->shape.dims[axis], pitches[axis]);
    }
    ml_nest_end(c->blob);
    return ml_set_output(c, 0, &shape);
}

ML_KERNELS(transpose) = {
    {.abi = ML_KERNEL_ABI,
     .name = "transpose",
     .blob_bytes = sizeof(ml_nest),
     .prepare = prepare_transpose,
     ML_TYPED({"any s32 -> any", NULL, NULL, ml_nest_move})},
    ML_KERNELS_END,
};
