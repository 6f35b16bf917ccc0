/* matmul_s8_sums.h -- matmul_s8 and product_f32 in tiles of matmul_s8_wide.h.
 *
 * The file that includes it defines the words of that header, and IN_TURN(v), which puts joined
 * sums in the order of outputs. */
#include <string.h>

#include "simd/words.h"

#define INLINE __attribute__((always_inline)) static inline
#include "simd/tiles/scale_column.h"

enum {
    SUMS = 2 * OUTPUTS, /* outputs in a joined vector */
    MOST_JOINED = 4 /* vectors of a single row */
};

INLINE VECTOR_S32 load_sums(const int32_t *p, int64_t count) {
    if (count >= SUMS) return LOAD_S32(p);
    int32_t part[SUMS] = {0};
    memcpy(part, p, (size_t)count * sizeof *p);
    return LOAD_S32(part);
}

INLINE void store_sums(int32_t *p, VECTOR_S32 v, int64_t count) {
    if (count >= SUMS) {
        STORE_S32(p, v);
        return;
    }
    int32_t part[SUMS];
    STORE_S32(part, v);
    memcpy(p, part, (size_t)count * sizeof *p);
}

/* A product. If its sums become floats, `floats` has the constants for that, and y room for floats.
 * */
typedef struct product {
    ml_matmul_s8_args sums;
    const ml_scale_s32_args *floats; /* NULL if sums are stored as integers */
} product;

INLINE float_column column_of(const ml_scale_s32_args *f, int64_t output, int64_t count) {
    const int32_t *weights = (const int32_t *)(const void *)(f->weights + output);
    const int32_t *bias = f->bias ? (const int32_t *)(const void *)(f->bias + output) : NULL;
    return (float_column){
        .weights = OF_BITS(load_sums(weights, count)),
        .bias = bias ? OF_BITS(load_sums(bias, count)) : SPLAT(0.0f),
        .low = SPLAT(f->low),
        .high = SPLAT(f->high),
    };
}

/* Writes the sums of some rows, `joined` vectors of each, the last of them perhaps in part. The
 * first stretch of k adds the bias and the factors; the others add to the sums in y; after the last
 * one they may become floats. */
INLINE void store_outputs(const product *q, bool begin, bool end, int64_t row, int64_t output,
                          int64_t left, const int rows, const int joined, VECTOR_S32 *sums) {
    const ml_matmul_s8_args *p = &q->sums;
    const ml_scale_s32_args *f = q->floats;
    const int64_t stride = p->y_stride;
    int32_t *const y = p->y + row * stride + output;
    if (begin && p->bias) ML_UNROLL(4)
    for (int v = 0; v < joined; v++) {
        const VECTOR_S32 bias = load_sums(p->bias + output + v * SUMS, left - v * SUMS);
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++) sums[r * joined + v] = ADD_S32(sums[r * joined + v], bias);
    }
    if (begin && p->factors) ML_UNROLL(4)
    for (int v = 0; v < joined; v++) {
        const VECTOR_S32 columns = load_sums(p->columns + output + v * SUMS, left - v * SUMS);
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++) {
            VECTOR_S32 *sum = &sums[r * joined + v];
            *sum = ADD_S32(*sum, MUL_S32(SPLAT_S32(p->factors[row + r]), columns));
        }
    }
    if (!begin) ML_UNROLL(4)
    for (int v = 0; v < joined; v++) ML_UNROLL(8)
    for (int r = 0; r < rows; r++) {
        VECTOR_S32 *sum = &sums[r * joined + v];
        *sum = ADD_S32(*sum, load_sums(y + r * stride + v * SUMS, left - v * SUMS));
    }
    if (f && end) ML_UNROLL(4)
    for (int v = 0; v < joined; v++) {
        const float_column column = column_of(f, output + v * SUMS, left - v * SUMS);
        scale_rows(&column, f->scales + row, f->weights_first, rows, joined, sums + v);
    }
    ML_UNROLL(4)
    for (int v = 0; v < joined; v++) ML_UNROLL(8)
    for (int r = 0; r < rows; r++)
        store_sums(y + r * stride + v * SUMS, sums[r * joined + v], left - v * SUMS);
}

/* Stores the last vectors of a single row, in which outputs may end. */
__attribute__((noinline)) static void store_rest(const product *q, bool begin, bool end,
                                                 int64_t row, int64_t output, VECTOR_S32 *sums) {
    for (; output < q->sums.n; output += SUMS, sums++)
        store_outputs(q, begin, end, row, output, q->sums.n - output, 1, 1, sums);
}

/* Stores a tile: several vectors of a single row, in which outputs may end, or one vector of each
 * row. */
INLINE void store_tile(const product *q, bool begin, bool end, int64_t row, int64_t output,
                       const int rows, const int joined, VECTOR_S32 *sums) {
    const int64_t left = q->sums.n - output;
    if (rows > 1) {
        store_outputs(q, begin, end, row, output, left, rows, joined, sums);
    } else if (left >= joined * SUMS) {
        store_outputs(q, begin, end, row, output, joined * SUMS, rows, joined, sums);
    } else {
        VECTOR_S32 rest[MOST_JOINED];
        ML_UNROLL(4)
        for (int v = 0; v < joined; v++) rest[v] = sums[v];
        store_rest(q, begin, end, row, output, rest);
    }
}

#define NEAR 512
#define BEGIN(own, at, v) SPLAT_S32(0)
#define FINISH_TILE(own, at, rows, joined, sums)                                              \
    ML_UNROLL(8)                                                                              \
    for (int i = 0; i < rows * (joined); i++) sums[i] = IN_TURN(sums[i]);                     \
    store_tile(own, (at)->s->first == 0, (at)->s->last, (at)->row, (at)->output, rows, joined, sums)
#include "simd/tiles/matmul_s8_wide.h"

INLINE product product_of(const ml_matmul_s8_args *p, const ml_scale_s32_args *floats) {
    product q = {.sums = *p, .floats = floats};
    if (floats) {
        q.sums.y = (int32_t *)(void *)floats->y;
        q.sums.y_stride = floats->y_stride;
    }
    return q;
}
