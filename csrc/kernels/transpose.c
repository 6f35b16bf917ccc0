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
        ml_append_dims(c, &shape, &x->shape, axis, axis + 1);
        ml_nest_add(c->blob, x->shape.dims[axis], pitches[axis]);
    }
    ml_nest_end(c->blob);
    return ml_set_output(c, 0, &shape);
}

static ml_status transpose(const ml_call *c) {
    if (ml_out_tensor(c, 0)->bytes > 0) ml_nest_gather(c->blob, ml_in(c, 0), ml_out(c, 0));
    return ML_OK;
}

static ml_status pick(const ml_call *c, int64_t k, int64_t *index) {
    *index = ml_nest_at(c->blob, k);
    return ML_OK;
}

static ml_status transpose_picked(const ml_call *c) { return ml_pick_elements(c, pick); }

ML_KERNELS(transpose) = {
    {.abi = ML_KERNEL_ABI,
     .name = "transpose",
     .blob_bytes = sizeof(ml_nest),
     .prepare = prepare_transpose,
     ML_TYPED({"x1|x2|x4|x8|x16 s32 -> any", NULL, NULL, transpose},
              {"s4|u4 s32 -> any", NULL, NULL, transpose_picked})},
    ML_KERNELS_END,
};
