/* transpose_conv.h -- types and functions that the files of TRANSPOSE_CONV share. */
#ifndef ML_KERNELS_TRANSPOSE_CONV_H
#define ML_KERNELS_TRANSPOSE_CONV_H

#include "rules/bytes.h"
#include "rules/matmul.h"

/* cut: if no output shape is given, the number of elements by which the output is smaller than the
 * area that its windows cover. fits_file: the output's shape is a constant that fits the input's
 * shape in the file. out_h: of a part of a node that is computed patch by patch the height of the
 * output, else 0; with out_w, and the outputs that are cut off before it. */
#define TRANSPOSE_CONV_FIELDS(X, S)                                                                \
    X(S, i32, same, ML_SAME_PADDING) X(S, i32, stride_h, ML_POSITIVE("stride_h")) X(S, i32, stride_w, ML_POSITIVE("stride_w")) X(S, i32, cut_h, ML_IS(0)) X(S, i32, cut_w, ML_IS(0)) \
    X(S, i32, fits_file, ML_BY_CHECK) TRANSPOSE_CONV_PART(X, S) ML_CLAMP_FIELDS(X, S)
#define TRANSPOSE_CONV_PART(X, S)                            \
    X(S, i32, out_h, ML_IS(0)) X(S, i32, out_w, ML_IS(0))    \
    X(S, i32, before_h, ML_IS(0)) X(S, i32, before_w, ML_IS(0))
ML_GROUP(transpose_conv_params, TRANSPOSE_CONV_FIELDS)

typedef struct transpose_conv_blob {
    int32_t in[2];
    int32_t out[2];
    int32_t taps[2];
    int32_t before[2]; /* outputs cut off */
    int64_t batches;
    int64_t depth;
    int64_t outputs;
    int64_t block; /* pixels at a time */
    /* Offsets in scratch: pixels as bytes, their factors, products of planes, products, sums of
     * outputs. */
    int64_t rows;
    int64_t factors;
    int64_t planes;
    int64_t products;
    int64_t sums;
    int64_t slices; /* quantized floats, each batch by itself */
} transpose_conv_blob;

/* The call with its operands in another order. */
typedef struct reordered_call {
    int32_t operands[5];
    ml_call call;
} reordered_call;
static inline const ml_call *reordered(const ml_call *c, reordered_call *to, int32_t n_inputs) {
    to->operands[n_inputs] = c->inputs[c->n_inputs];
    to->call = *c;
    to->call.inputs = to->operands;
    to->call.n_inputs = (uint16_t)n_inputs;
    return &to->call;
}

/* The order of other operators with weights: input, weights, bias. */
static inline const ml_call *weighted(const ml_call *c, reordered_call *w) {
    w->operands[0] = c->inputs[2];
    w->operands[1] = c->inputs[1];
    w->operands[2] = c->n_inputs > 3 ? c->inputs[3] : -1;
    return reordered(c, w, 3);
}

static inline bool is_wide(const ml_call *c) { return ml_input(c, 2)->type == ML_S16; }
static inline bool is_hybrid(const ml_call *c) {
    return ml_input(c, 2)->type == ML_F32 && ml_input(c, 1)->type != ML_F32;
}
static inline int64_t pixels_of_batch(const transpose_conv_blob *b) {
    return (int64_t)b->in[0] * b->in[1];
}

/* Products of pixels first .. first + count - 1, which are added to the outputs they belong to. */
typedef struct scattering {
    const void *products;
    void *y;
    int64_t first;
    int64_t count;
    int64_t line; /* the first line of the output that they reach, counted over all batches */
} scattering;

/* Defines a body that adds products to lines of the output, to each line in the order of pixels. */
#define SCATTER(name, type) \
    static ml_status name(const ml_call *c, int64_t begin, int64_t end, int32_t worker, void *args) { \
        const scattering *of = args; \
        const transpose_conv_blob *b = c->blob; \
        const transpose_conv_params *p = c->params; \
        const int64_t window = b->taps[1] * b->outputs; \
        for (int64_t line = of->line + begin; line < of->line + end; line++) { \
            type *to = (type *)of->y + line * b->out[1] * b->outputs; \
            const int64_t at = line % b->out[0] + b->before[0]; \
            const int64_t above = at - b->taps[0] + 1; \
            const int64_t most = ml_min_s64(at / p->stride_h, b->in[0] - 1); \
            for (int64_t iy = above > 0 ? ml_ceil_div(above, p->stride_h) : 0; iy <= most; iy++) { \
                const int64_t start = (line / b->out[0] * b->in[0] + iy) * b->in[1]; \
                const int64_t tap = at - iy * p->stride_h; \
                const int64_t stop = ml_min_s64(start + b->in[1], of->first + of->count); \
                for (int64_t i = ml_max_s64(start, of->first); i < stop; i++) { \
                    const int64_t ox = (i - start) * p->stride_w - b->before[1]; \
                    const int64_t skip = ox < 0 ? -ox * b->outputs : 0; \
                    const int64_t n = ml_min_s64(window, (b->out[1] - ox) * b->outputs); \
                    const type *from = (const type *)of->products + \
                                       ((i - of->first) * b->taps[0] + tap) * window; \
                    for (int64_t k = skip; k < n; k++) to[ox * b->outputs + k] += from[k]; \
                } \
            } \
        } \
        return ML_OK; \
    }

/* Divides lines of the output among threads; `scatter` is a body defined by SCATTER. */
ml_status ml_transpose_conv_scatter(const ml_call *c, ml_body scatter, scattering of);

int64_t ml_transpose_conv_pack_s8(const ml_call *c, void *to);
int64_t ml_transpose_conv_derive_s8(const ml_call *c, void *to);
int64_t ml_transpose_conv_derive_u8(const ml_call *c, void *to);
int64_t ml_transpose_conv_derive_s16(const ml_call *c, void *to);
int64_t ml_transpose_conv_derive_hybrid(const ml_call *c, void *to);
ml_status ml_transpose_conv_integers(const ml_call *c);
ml_status ml_transpose_conv_hybrid(const ml_call *c);

#endif
