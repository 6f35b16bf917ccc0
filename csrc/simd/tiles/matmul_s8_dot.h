/* matmul_s8_dot.h -- matmul_s8 and product_f32 in tiles of matmul_s8_tile.h.
 *
 * The file that includes it defines the words of that header and of scale_column.h; MULTIPLY(a, b);
 * MASK, FIRST(count), LOAD_PART(there, p), STORE_PART(p, there, v), and STORE(p, v) if whole
 * vectors are stored faster; TILES, the list of tiles; and LOAD_REALS(there, p), which is LOAD_PART
 * for floats. */
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
INLINE void scale_outputs(const product *q, const tile_place *at, int64_t output, MASK there,
                          const int rows, const int vectors, VECTOR *sums) {
    const ml_scale_s32_args *f = q->floats;
    const float_column column = {
        .weights = LOAD_REALS(there, f->weights + output),
        .bias = f->bias ? LOAD_REALS(there, f->bias + output) : SET_REAL(0.0f),
        .low = SET_REAL(f->low),
        .high = SET_REAL(f->high),
    };
    scale_rows(&column, q->scales + at->row, f->weights_first, rows, vectors, sums);
}

INLINE VECTOR bias_of(const ml_matmul_s8_args *p, int64_t output) {
    const int64_t left = p->n - output;
    if (!p->bias || left <= 0) return ZERO();
    return LOAD_PART(FIRST(left < LANES ? (int)left : LANES), p->bias + output);
}

/* Adds the factors, and writes the outputs that exist. */
INLINE void store_tile(const ml_matmul_s8_args *p, const tile_place *at, VECTOR *sums,
                       const int rows, const int vectors) {
    const product *q = (const product *)(const void *)p;
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) {
        const int64_t output = at->output + v * LANES, left = p->n - output;
        if (left <= 0) return;
        const MASK there = FIRST(left < LANES ? (int)left : LANES);
        const VECTOR columns = p->factors ? LOAD_PART(there, p->columns + output) : ZERO();
        int32_t *y = p->y + at->row * p->y_stride + output;
        if (p->factors) ML_UNROLL(14)
        for (int r = 0; r < rows; r++) {
            VECTOR *sum = &sums[r * vectors + v];
            *sum = ADD(*sum, MULTIPLY(SET(p->factors[at->row + r]), columns));
        }
        if (q->floats) scale_outputs(q, at, output, there, rows, vectors, sums + v);
        ML_UNROLL(14)
        for (int r = 0; r < rows; r++, y += p->y_stride) {
            const VECTOR sum = sums[r * vectors + v];
#ifdef STORE
            if (left >= LANES) {
                STORE(y, sum);
                continue;
            }
#endif
            STORE_PART(y, there, sum);
        }
    }
}

INLINE void tile(const ml_matmul_s8_args *p, const tile_place *at, const int rows,
                 const int vectors) {
    VECTOR sums[MOST_SUMS], start[MOST_VECTORS];
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
