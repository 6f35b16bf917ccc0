/* matmul_s8_dot.h -- matmul_s8 and product_f32 in tiles of matmul_s8_tile.h.
 *
 * The file that includes it defines the sizes of that header's tiles, and TILES, their list. */
#include "simd/tiles/matmul_s8_tile.h"

#include "simd/tiles/scale_column.h"

/* A product. If its sums become floats, `floats` has the constants for that, and y room for floats.
 * */
typedef struct product {
    ml_matmul_s8_args sums; /* the first member, because tiles get a pointer to it */
    const ml_scale_s32_args *floats; /* NULL if sums are stored as integers */
    const float *scales; /* one per row of the line */
} product;

/* Makes floats of the sums of a vector of outputs. */
INLINE void scale_outputs(const product *q, const tile_place *at, int64_t output, int part,
                          const int rows, const int vectors, VECTOR_S32 *sums) {
    const ml_scale_s32_args *f = q->floats;
    const float_column column = {
        .weights = LOAD_PART(f->weights + output, part),
        .bias = f->bias ? LOAD_PART(f->bias + output, part) : SPLAT(0.0f),
        .low = SPLAT(f->low),
        .high = SPLAT(f->high),
    };
    scale_rows(&column, q->scales + at->row, f->weights_first, rows, vectors, sums);
}

INLINE VECTOR_S32 bias_of(const ml_matmul_s8_args *p, int64_t output) {
    const int64_t left = p->n - output;
    if (!p->bias || left <= 0) return SPLAT_S32(0);
    return LOAD_PART_S32(p->bias + output, left < LANES ? (int)left : LANES);
}

/* Adds the factors, and writes the outputs that exist. */
INLINE void store_tile(const ml_matmul_s8_args *p, const tile_place *at, VECTOR_S32 *sums,
                       const int rows, const int vectors) {
    const product *q = (const product *)(const void *)p;
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) {
        const int64_t output = at->output + v * LANES, left = p->n - output;
        if (left <= 0) return;
        const int part = left < LANES ? (int)left : LANES;
        const VECTOR_S32 columns =
            p->factors ? LOAD_PART_S32(p->columns + output, part) : SPLAT_S32(0);
        int32_t *y = p->y + at->row * p->y_stride + output;
        if (p->factors) ML_UNROLL(14)
        for (int r = 0; r < rows; r++) {
            VECTOR_S32 *sum = &sums[r * vectors + v];
            *sum = ADD_S32(*sum, MUL_S32(SPLAT_S32(p->factors[at->row + r]), columns));
        }
        if (q->floats) scale_outputs(q, at, output, part, rows, vectors, sums + v);
        ML_UNROLL(14)
        for (int r = 0; r < rows; r++, y += p->y_stride) {
            const VECTOR_S32 sum = sums[r * vectors + v];
            if (!FREE_MASKS && left >= LANES) STORE_S32(y, sum);
            else STORE_PART_S32(y, sum, part);
        }
    }
}

INLINE void tile(const ml_matmul_s8_args *p, const tile_place *at, const int rows,
                 const int vectors) {
    VECTOR_S32 sums[MOST_SUMS], start[MOST_VECTORS];
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) start[v] = bias_of(p, at->output + v * LANES);
    sum_tile(p, at, rows, vectors, start, sums);
    store_tile(p, at, sums, rows, vectors);
}

#define ROWS_OF(p) most_rows(p)
#define BEGIN_ROWS(p, at, rows) \
    row_copy copy;              \
    begin_rows(p, at, rows, &copy);
#include "simd/tiles/matmul_s8_meet.h"

/* Multiplies lines, line_stride bytes apart; sums become floats if `floats` is not NULL. */
INLINE void multiply_lines(const ml_matmul_s8_args *p, const ml_scale_s32_args *floats,
                           int64_t lines, int64_t line_stride) {
    product q = {.sums = *p, .floats = floats, .scales = floats ? floats->scales : NULL};
    if (floats) {
        q.sums.y = (int32_t *)(void *)floats->y;
        q.sums.y_stride = floats->y_stride;
    }
    for (int64_t line = 0; line < lines; line++) {
        multiply(&q.sums);
        q.sums.a += line_stride;
        q.sums.y += p->rows * q.sums.y_stride;
        if (p->factors) q.sums.factors += p->rows;
        if (floats) q.scales += p->rows;
    }
}
