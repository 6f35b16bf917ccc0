/* product_sums.h -- matmul_s8 and product_f32 in tiles of product_tiles.h, whose sums are stored,
 * or become floats in their registers. */
/* A product. If its sums become floats, `floats` has the constants for that, and y room for floats.
 * */
typedef struct product {
    ml_matmul_s8_args sums;
    const ml_scale_s32_args *floats; /* NULL if sums are stored as integers */
} product;

/* Returns the start of a sum: the bias, plus 128 times the sum of the weights if bytes are taken as
 * signed. */
INLINE int32x4_t start_of(const product *q, int64_t output) {
    const ml_matmul_s8_args *p = &q->sums;
    const int64_t left = p->n - output;
    int32x4_t start = vdupq_n_s32(0);
    if (IS_LESS(p)) start = vshlq_n_s32(load_columns(p->sums + output, left, 0), 7);
    if (p->bias) start = vaddq_s32(start, load_columns(p->bias + output, left, 0));
    return start;
}

INLINE void put_sums(int32_t *y, int32x4_t v, int64_t count) {
    if (__builtin_expect(count >= LANES, 1)) vst1q_s32(y, v);
    else
        for (int64_t i = 0; i < count; i++) y[i] = ((int32_t *)&v)[i];
}

INLINE float32x4_t load_floats(const float *p, int64_t left) {
    return vreinterpretq_f32_s32(load_columns((const int32_t *)(const void *)p, left, 0));
}

/* Returns the bits of min(max(v, low), high), as scale_s32 computes them. */
INLINE int32x4_t clamped(float32x4_t v, float32x4_t low, float32x4_t high) {
    const float32x4_t above = vbslq_f32(vcltq_f32(v, low), low, v);
    return vreinterpretq_s32_f32(vbslq_f32(vcgtq_f32(above, high), high, above));
}

/* Makes floats of a column of sums, `step` vectors apart, bit for bit as scale_s32 does. */
INLINE void scale_column(const ml_scale_s32_args *f, int64_t row, int64_t output, int64_t left,
                         const int rows, const int step, int32x4_t *sums) {
    const float32x4_t weights = load_floats(f->weights + output, left);
    const float32x4_t bias = f->bias ? load_floats(f->bias + output, left) : vdupq_n_f32(0.0f);
    const float32x4_t low = vdupq_n_f32(f->low), high = vdupq_n_f32(f->high);
    const float *scales = f->scales + row;
    if (f->weights_first) ML_UNROLL(8)
    for (int r = 0; r < rows; r++) {
        const float32x4_t v = vmulq_f32(vcvtq_f32_s32(sums[r * step]), weights);
        sums[r * step] = clamped(vaddq_f32(bias, vmulq_n_f32(v, scales[r])), low, high);
    }
    else ML_UNROLL(8)
    for (int r = 0; r < rows; r++) {
        const float32x4_t weight = vmulq_n_f32(weights, scales[r]);
        const float32x4_t v = vmulq_f32(vcvtq_f32_s32(sums[r * step]), weight);
        sums[r * step] = clamped(vaddq_f32(bias, v), low, high);
    }
}

/* Writes the sums of some rows; only `left` of their outputs exist. */
INLINE void store_outputs(const product *q, int64_t row, int64_t output, int64_t left,
                          const int rows, const int vectors, int32x4_t *sums) {
    const ml_matmul_s8_args *p = &q->sums;
    const int64_t stride = p->y_stride;
    int32_t *const y = p->y + row * stride + output;
    if (p->factors) ML_UNROLL(16)
    for (int v = 0; v < vectors; v++) {
        const int32x4_t columns =
            load_columns(p->columns + output + v * LANES, left - v * LANES, 0);
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++) {
            int32x4_t *sum = &sums[r * vectors + v];
            *sum = vmlaq_n_s32(*sum, columns, p->factors[row + r]);
        }
    }
    if (q->floats) ML_UNROLL(16)
    for (int v = 0; v < vectors; v++)
        scale_column(q->floats, row, output + v * LANES, left - v * LANES, rows, vectors, sums + v);
    ML_UNROLL(16)
    for (int v = 0; v < vectors; v++) ML_UNROLL(8)
    for (int r = 0; r < rows; r++)
        put_sums(y + r * stride + v * LANES, sums[r * vectors + v], left - v * LANES);
}

/* Stores the sums of a tile with more outputs than are left. Never inlined, because there are few
 * such tiles. */
__attribute__((noinline)) static void store_part(const product *q, int64_t row, int64_t output,
                                                 int rows, int vectors, int32x4_t *sums) {
    const int64_t left = q->sums.n - output;
    for (int r = 0; r < rows; r++)
        for (int v = 0; v * LANES < left; v++)
            store_outputs(q, row + r, output + v * LANES, left - v * LANES, 1, 1,
                          &sums[r * vectors + v]);
}

INLINE void store_tile(const product *q, int64_t row, int64_t output, const int rows,
                       const int vectors, int32x4_t *sums) {
    if (__builtin_expect(q->sums.n - output >= vectors * LANES, 1)) {
        store_outputs(q, row, output, vectors * LANES, rows, vectors, sums);
        return;
    }
    int32x4_t stored[MOST_ROWS * TOGETHER + ALONE_VECTORS];
    ML_UNROLL(24)
    for (int i = 0; i < rows * vectors; i++) stored[i] = sums[i];
    store_part(q, row, output, rows, vectors, stored);
}

#define BEGIN(own, output, v) start_of(own, (output) + (v) * LANES)
#define FINISH_TILE(own, row, output, rows, vectors, sums)                     \
  store_tile(own, row, output, rows, vectors, sums)
#define ONE_ROW(X) X(1)
#include "simd/neon/product_tiles.h"

/* Multiplies lines, line_stride bytes apart; sums become floats if `floats` is not NULL. */
static void multiply_lines(const ml_matmul_s8_args *p, const ml_scale_s32_args *floats,
                           int64_t lines, int64_t line_stride) {
    int32_t sums[ML_PANEL_S8];
    ml_scale_s32_args to;
    product q = {.sums = *p, .floats = floats};
    int32_t *const y = floats ? (int32_t *)(void *)floats->y : p->y;
    if (floats) {
        q.sums.y_stride = floats->y_stride;
        to = *floats;
    }
    q.sums.y = y;
    if (p->sums) {
        multiply(&q.sums, &q, lines, line_stride);
        return;
    }
    q.sums.sums = sums;
    if (floats) q.floats = &to;
    for (int64_t output = 0; output < p->n; output += q.sums.n) {
        q.sums.n = p->n - output < ML_PANEL_S8 ? p->n - output : ML_PANEL_S8;
        q.sums.packed = p->packed + ml_packed_s8(output, p->pieces, p->k);
        if (p->bias) q.sums.bias = p->bias + output;
        if (p->columns) q.sums.columns = p->columns + output;
        q.sums.y = y + output;
        if (floats) to.weights = floats->weights + output;
        if (floats && floats->bias) to.bias = floats->bias + output;
        sum_weights(p, output, sums);
        multiply(&q.sums, &q, lines, line_stride);
    }
}
