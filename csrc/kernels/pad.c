/* pad.c -- PAD, PADV2: a value around the input. The output is walked from front to back: runs of the input, values between. */
#include "rules/nest.h"
#include "rules/values.h"

/* value: the padding's bytes, for PAD; from_tensor: they are input 2's, for PADV2. */
#define PAD_FIELDS(X, S) X(S, i64, value) X(S, i32, from_tensor)
ML_PARAMS(pad_params, PAD_FIELDS)

static bool read_padding(const ml_tensor *tensor, const void *value, int64_t index, int64_t *out) {
    if (ml_read_index(tensor, value, index, out)) return true;
    if (index >= ml_elements(&tensor->shape)) return false;
    if (tensor->type == ML_S8) *out = ((const int8_t *)value)[index];
    else if (tensor->type == ML_S16) *out = ((const int16_t *)value)[index];
    else return false;
    return true;
}

/* The padded shape and, per dimension, how much goes before. */
static ml_status read_paddings(const ml_call *c, const void *value, ml_shape *shape,
                               int64_t before[]) {
    const ml_tensor *paddings = ml_input(c, 1);
    for (int32_t d = 0; d < shape->rank; d++) {
        int64_t b = -1, a = -1;
        if (!read_padding(paddings, value, 2 * d, &b) ||
            !read_padding(paddings, value, 2 * d + 1, &a) || b < 0 || a < 0)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "dimension %d is padded by %lld and %lld, expected 0 or more", d,
                           (long long)b, (long long)a);
        if (b > INT32_MAX || a > INT32_MAX || shape->dims[d] + b + a > INT32_MAX)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "dimension %d of size %d padded by %lld and %lld exceeds %d", d,
                           shape->dims[d], (long long)b, (long long)a, INT32_MAX);
        before[d] = b;
        shape->dims[d] += (int32_t)(b + a);
    }
    return ML_OK;
}

/* The input within the output. */
static void build(ml_nest *nest, const ml_shape *from, const ml_shape *to, const int64_t before[],
                  int64_t element) {
    int64_t pitches[ML_MAX_RANK], pitch = element, start = 0;
    for (int32_t d = to->rank - 1; d >= 0; d--) {
        start += before[d] * pitch;
        pitches[d] = pitch;
        pitch *= to->dims[d];
    }
    ml_nest_begin(nest, ml_elements(from) > 0 ? element : 0);
    for (int32_t d = 0; d < to->rank && nest->run > 0; d++) ml_nest_add(nest, from->dims[d], pitches[d]);
    ml_nest_end(nest);
    nest->start = start;
}

static ml_status prepare_pad(const ml_call *c, ml_wish *wish) {
    const pad_params *params = c->params;
    const ml_tensor *x = ml_input(c, 0);
    const ml_shape *paddings = &ml_input(c, 1)->shape;
    char text[96];
    if (paddings->rank != 2 || paddings->dims[0] != x->shape.rank || paddings->dims[1] != 2)
        return ml_fail(c, ML_SHAPE_ERROR, "paddings have the shape %s, expected (%d, 2)",
                       ml_shape_text(paddings, text), x->shape.rank);
    if (params->from_tensor && ml_elements(&ml_input(c, 2)->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "the padding value has the shape %s, expected one element",
                       ml_shape_text(&ml_input(c, 2)->shape, text));
    const void *value = ml_value(c, 1);
    if (!value && x->shape.rank > 0) return ml_open(wish, 0);
    ml_shape shape = x->shape;
    int64_t before[ML_MAX_RANK] = {0};
    ml_status status = read_paddings(c, value, &shape, before);
    if (status == ML_OK) status = ml_set_output(c, 0, &shape);
    if (status == ML_OK && ml_elements(&shape) > 0)
        build(c->blob, &x->shape, &shape, before, ml_type_bytes(x->type));
    return status;
}

static ml_status pad(const ml_call *c) {
    const pad_params *params = c->params;
    const ml_tensor *y = ml_out_tensor(c, 0);
    uint8_t fill[16];
    if (y->bytes == 0) return ML_OK;
    const void *value = params->from_tensor
                            ? ml_in(c, 2)
                            : &params->value; /* little-endian: the low bytes come first */
    memcpy(fill, value, (size_t)ml_type_bytes(y->type));
    ml_repeat(fill, ml_type_bytes(y->type), 16 / ml_type_bytes(y->type) - 1);
    ml_nest_pad(c->blob, ml_in(c, 0), ml_out(c, 0), y->bytes, fill);
    return ML_OK;
}

ML_KERNELS(pad) = {
    ML_KERNEL("pad", pad_params, sizeof(ml_nest), 0, prepare_pad, pad),
    ML_KERNELS_END,
};
