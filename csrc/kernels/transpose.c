/* transpose.c -- TRANSPOSE: dimension d of the output is dimension perm[d] of the input. */
#include "rules/checks.h"
#include "rules/nest.h"
#include "rules/values.h"

static ml_status prepare_transpose(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape, *perm = &ml_input(c, 1)->shape;
    int64_t pitches[ML_MAX_RANK];
    int32_t axes[ML_MAX_RANK];
    ml_shape y = *x;
    char text[96];
    if (perm->rank != 1 || perm->dims[0] != x->rank)
        return ml_fail(c, ML_SHAPE_ERROR, "perm has the shape %s, the input rank %d",
                       ml_shape_text(perm, text), x->rank);
    if (!ml_value(c, 1) && x->rank > 0) return ml_open(wish, 0);
    ml_status status = ml_read_axes(c, 1, "perm", x->rank, axes);
    if (status != ML_OK) return status;
    ml_pitches(ml_input(c, 0), pitches);
    ml_nest_begin(c->blob, ml_unit(ml_input(c, 0)));
    for (int32_t d = 0; d < x->rank; d++) {
        y.dims[d] = x->dims[axes[d]];
        ml_nest_add(c->blob, y.dims[d], pitches[axes[d]]);
    }
    ml_nest_end(c->blob);
    return ml_set_output(c, 0, &y);
}

ML_KERNELS(transpose) = {
    {ML_OP(TRANSPOSE, 1, 9), .name = "transpose", .takes = "x perm -> y",
     .blob_bytes = sizeof(ml_nest), .prepare = prepare_transpose,
     ML_TYPED({"T s32 -> T: " ML_WHOLE_BYTES " s4 u4", NULL, NULL, ml_nest_move})},
    ML_KERNELS_END,
};
