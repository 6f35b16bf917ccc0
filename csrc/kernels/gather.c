/* gather.c -- GATHER: takes slices of an axis by index; with batch_dims, each batch has its own
 * indices. GATHER_ND: takes slices by several axes; each row of indices has one index per axis. */
#include "rules/checks.h"
#include "rules/take.h"
#include "rules/values.h"

#define GATHER_FIELDS(X, S) X(S, i32, axis) X(S, i32, batch_dims)
ML_PARAMS(gather_params, GATHER_FIELDS)

static ml_status prepare_gather(const ml_call *c, ml_wish *wish) {
    const gather_params *params = c->params;
    int32_t rank = ml_input(c, 1)->shape.rank, axis;
    ml_status status = ml_axis(c, params->axis, ml_input(c, 0)->shape.rank, &axis);
    return status == ML_OK ? ml_prepare_take(c, params->batch_dims, rank, axis, 1) : status;
}

static ml_status prepare_gather_nd(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape, *indices = &ml_input(c, 1)->shape;
    if (x->rank < 1 || indices->rank < 1)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "input of rank %d, indices of rank %d, expected 1 or more", x->rank,
                       indices->rank);
    int32_t depth = indices->dims[indices->rank - 1];
    if (depth > x->rank)
        return ml_fail(c, ML_SHAPE_ERROR, "rows of indices have %d numbers, the input has rank %d",
                       depth, x->rank);
    return ml_prepare_take(c, 0, indices->rank - 1, 0, depth);
}

ML_KERNELS(gather) = {
    {ML_OP(GATHER, 1, 8), .name = "gather", .flags = ML_KERNEL_REFUSES_VALUES,
     .takes = "x indices -> y", .follows = ML_INPUT(0), ML_PARAMS_OF(gather_params),
     .blob_bytes = sizeof(ml_take), .prepare = prepare_gather,
     ML_TYPED({"T s16|s32|s64 -> T: " ML_WHOLE_BYTES " s4 u4 string", NULL, NULL, ml_take_slices})},
    {ML_OP(GATHER_ND, 1, 6), .name = "gather_nd", .flags = ML_KERNEL_REFUSES_VALUES,
     .takes = "x indices -> y", .follows = ML_INPUT(0), .blob_bytes = sizeof(ml_take),
     .prepare = prepare_gather_nd,
     ML_TYPED({"T s16|s32|s64 -> T: " ML_WHOLE_BYTES " string", NULL, NULL, ml_take_slices})},
    ML_KERNELS_END,
};
