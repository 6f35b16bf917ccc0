/* dequantize.c -- makes floats of integer constants that a DEQUANTIZE reads, as the numpy reference
 * of that operator does. */
#include "graph/lower.h"

/* A constant as lines: `n` elements of one scale and zero point, and so on through the channels. */
typedef struct lines {
    int64_t channels; /* 1: one scale for all */
    int64_t n;
} lines;

/* False if the scales do not belong to a dimension. */
static bool find_lines(const ml_quantization *q, const ml_shape *shape, lines *found) {
    if (q->block_size || q->n_scales < 1 ||
        (q->n_zero_points != 1 && q->n_zero_points != q->n_scales))
        return false;
    *found = (lines){1, ml_elements(shape)};
    if (q->n_scales == 1) return true;
    const int32_t d = q->dimension;
    if (d < 0 || d >= shape->rank || shape->dims[d] != q->n_scales) return false;
    *found = (lines){q->n_scales, 1};
    for (int32_t i = d + 1; i < shape->rank; i++) found->n *= shape->dims[i];
    return true;
}

#define SCALED(type)                                                     \
    for (int64_t i = 0; i < n; i++)                                      \
        to[i] = scale * (float)((int32_t)((const type *)from)[at + i] - zero)

static void scale_line(const void *from, int32_t type, int64_t at, int64_t n, float scale,
                       int32_t zero, float *to) {
    if (type == ML_S8) SCALED(int8_t);
    else if (type == ML_U8) SCALED(uint8_t);
    else SCALED(int16_t);
}

ml_status ml_lowering_dequantize(lowering *l, const ml_tensor_def *x, ml_tensor_def *y, bool *done,
                                 ml_error *error) {
    *done = false;
    if ((x->type != ML_S8 && x->type != ML_U8 && x->type != ML_S16) || y->type != ML_F32 ||
        x->quantization < 0 || x->flags & ML_TENSOR_SPARSE)
        return ML_OK;
    const ml_quantization *q = &l->quantizations[x->quantization];
    const int64_t count = ml_elements(&x->shape);
    lines all;
    if (!find_lines(q, &x->shape, &all)) return ML_OK;
    float *values = ml_lowering_keep(l, 4 * count, error);
    if (!values) return error->status;
    for (int64_t at = 0, line = 0; at < count; at += all.n, line++) {
        const int64_t c = line % all.channels;
        const int64_t zero = q->zero_points[q->n_zero_points == 1 ? 0 : c];
        scale_line(x->data, x->type, at, all.n, q->scales[c], (int32_t)zero, values + at);
    }
    y->data = values;
    y->bytes = 4 * count;
    y->shape = x->shape;
    y->flags &= ~ML_TENSOR_OF_FILE;
    *done = true;
    return ML_OK;
}
