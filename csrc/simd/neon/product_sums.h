/* product_sums.h -- matmul_s8 in tiles of product_tiles.h, whose sums are
 * stored. */
#include "simd/neon/sum_weights.h"

/* What the weights' bytes add to a sum, taken as signed ones, and the bias. */
INLINE int32x4_t start_of(const ml_matmul_s8_args *p, int64_t output) {
    const int64_t left = p->n - output;
    int32x4_t start = vshlq_n_s32(load_columns(p->sums + output, left, 0), 7);
    if (p->bias) start = vaddq_s32(start, load_columns(p->bias + output, left, 0));
    return start;
}

INLINE void put_sums(int32_t *y, int32x4_t v, int64_t count) {
    if (__builtin_expect(count >= LANES, 1)) vst1q_s32(y, v);
    else
        for (int64_t i = 0; i < count; i++) y[i] = ((int32_t *)&v)[i];
}

INLINE void store_tile(const ml_matmul_s8_args *p, int64_t row, int64_t output, const int rows,
                       const int vectors, const int32x4_t *sums) {
    int32_t *y = p->y + row * p->y_stride + output;
    ML_UNROLL(16)
    for (int v = 0; v < vectors; v++, y += LANES) {
        const int64_t left = p->n - output - v * LANES;
        int32_t *to = y;
        if (left <= 0) return;
        const int32x4_t columns =
            p->factors ? load_columns(p->columns + output + v * LANES, left, 0) : vdupq_n_s32(0);
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++, to += p->y_stride) {
            int32x4_t sum = sums[r * vectors + v];
            if (p->factors) sum = vmlaq_n_s32(sum, columns, p->factors[row + r]);
            put_sums(to, sum, left);
        }
    }
}

#define BEGIN(own, output, v) start_of(own, (output) + (v) * LANES)
#define FINISH_TILE(own, row, output, rows, vectors, sums)                     \
  store_tile(own, row, output, rows, vectors, sums)
#define ONE_ROW(X) X(1)
#include "simd/neon/product_tiles.h"

static void multiply_to_sums(const ml_matmul_s8_args *p) {
    int32_t sums[ML_PANEL_S8];
    ml_matmul_s8_args part = *p;
    if (p->sums) {
        multiply(p, p, 1, 0);
        return;
    }
    part.sums = sums;
    for (int64_t output = 0; output < p->n; output += part.n) {
        part.n = p->n - output < ML_PANEL_S8 ? p->n - output : ML_PANEL_S8;
        part.packed = p->packed + ml_packed_s8(output, p->pieces, p->k);
        if (p->bias) part.bias = p->bias + output;
        if (p->columns) part.columns = p->columns + output;
        part.y = p->y + output;
        sum_weights(p, output, sums);
        multiply(&part, &part, 1, 0);
    }
}
