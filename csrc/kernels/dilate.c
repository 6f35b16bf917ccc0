/* dilate.c -- DILATE: inserts `value` between the elements of each dimension. */
#include "rules/checks.h"
#include "rules/nest.h"
#include "rules/values.h"

static ml_status prepare_dilate(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0), *dilations = ml_input(c, 1), *value = ml_input(c, 2);
    char text[96];
    if (x->shape.rank < 1) return ml_fail(c, ML_SHAPE_ERROR, "the input is a scalar");
    if (dilations->shape.rank != 1 || dilations->shape.dims[0] != x->shape.rank)
        return ml_fail(c, ML_SHAPE_ERROR, "dilations have the shape %s, expected (%d,)",
                       ml_shape_text(&dilations->shape, text), x->shape.rank);
    if (ml_elements(&value->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the padding value must be one number, it has %lld",
                       (long long)ml_elements(&value->shape));
    const int32_t *by = ml_value(c, 1);
    if (!by) return ml_open(wish, 0);
    ml_shape y = {.rank = 0};
    ml_status status = ML_OK;
    for (int32_t d = 0; d < x->shape.rank && status == ML_OK; d++) {
        if (by[d] < 1)
            return ml_fail(c, ML_SHAPE_ERROR, "dilation %d is %d, expected 1 or more", d, by[d]);
        const int64_t size = x->shape.dims[d];
        status = ml_append_dim(c, &y, size > 0 ? (size - 1) * by[d] + 1 : 0);
    }
    if (status == ML_OK) status = ml_set_output(c, 0, &y);
    if (status != ML_OK || ml_elements(&y) == 0)
        return status; /* a step between no elements may overflow */
    ml_nest *nest = c->blob;
    int64_t pitches[ML_MAX_RANK], pitch = ml_type_bytes(x->type);
    ml_nest_begin(nest, pitch);
    for (int32_t d = y.rank - 1; d >= 0; pitch *= y.dims[d--]) pitches[d] = pitch;
    for (int32_t d = 0; d < y.rank; d++) ml_nest_add(nest, x->shape.dims[d], pitches[d] * by[d]);
    ml_nest_end(nest);
    return ML_OK;
}

static ml_status dilate(const ml_call *c) {
    const ml_tensor *y = ml_out_tensor(c, 0);
    const int64_t element = ml_type_bytes(y->type);
    uint8_t between[16];
    memcpy(between, ml_in(c, 2), (size_t)element);
    ml_repeat(between, element, 16 / element - 1);
    return ml_nest_pad(c, c->blob, ml_in(c, 0), ml_out(c, 0), y->bytes, between);
}

ML_KERNELS(dilate) = {
    {ML_OP(DILATE, 1, 1), .name = "dilate", .takes = "x dilations value -> y",
     .blob_bytes = sizeof(ml_nest), .prepare = prepare_dilate,
     ML_TYPED({"T s32 T -> T: " ML_WHOLE_BYTES, NULL, NULL, dilate})},
    ML_KERNELS_END,
};
