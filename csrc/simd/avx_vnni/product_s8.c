/* product_s8.c -- tiles of matmul_s8 whose sums become bytes in registers. */
#include "simd/avx2/requantize_block.h"
#include "simd/avx_vnni/dot.h"
#include "simd/variants.h"

#include "simd/tiles/matmul_s8_tile.h"

enum { MOST_BLOCKS = 32 /* eight outputs each, whole panels */ };

/* What eight outputs need. */
typedef struct output_block {
    byte_block bytes;
    __m256i start; /* bias and -2^31 */
    __m256i columns;
} output_block;

/* A product, and what tiles write to. */
typedef struct product {
    ml_matmul_s8_args sums; /* first: tiles are given it */
    const output_block *blocks;
    ends ends;
    int8_t *y;
    int64_t y_stride;
} product;

/* Eight outputs of some rows, 2^31 more. */
INLINE void write_rows(const product *q, const output_block *b, int64_t row, int64_t output,
                       const int rows, __m256i *v) {
    const int32_t *factors = q->sums.factors ? q->sums.factors + row : NULL;
    int8_t *y = q->y + row * q->y_stride + output;
    if (factors)
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const __m256i factor = _mm256_set1_epi32(factors[r]);
            v[r] = _mm256_add_epi32(v[r], _mm256_mullo_epi32(factor, b->columns));
        }
    scale_sums(v, rows, &b->bytes, &q->ends);
#pragma GCC unroll 2
    for (int r = 0; r < rows; r += TOGETHER, y += TOGETHER * q->y_stride) {
        const int some = rows - r < TOGETHER ? rows - r : TOGETHER;
        put_rows(y, q->y_stride, to_bytes(&v[r], some, &q->ends), some, q->sums.n - output);
    }
}

INLINE void tile(const ml_matmul_s8_args *p, const tile_place *at, const int rows,
                 const int vectors) {
    const product *q = (const product *)(const void *)p;
    const output_block *b = &q->blocks[(uint64_t)at->output / LANES];
    VECTOR sums[MOST_SUMS], start[MOST_VECTORS], column[MOST_ROWS];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) start[v] = b[v].start;
    sum_tile(p, at, rows, vectors, start, sums);
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) {
        if (p->n - at->output <= v * LANES) return;
#pragma GCC unroll 6
        for (int r = 0; r < rows; r++) column[r] = sums[r * vectors + v];
        write_rows(q, &b[v], at->row, at->output + v * LANES, rows, column);
    }
}

#define BEGIN_ROWS(p, at, rows)
#include "simd/tiles/matmul_s8_meet.h"

static void load_outputs(const ml_matmul_s8_args *p, const block_rule *rule, int64_t column,
                         output_block *b) {
    const __m256i least = _mm256_set1_epi32(INT32_MIN);
    load_block(rule, column, &b->bytes);
    b->start = least;
    if (p->bias)
        b->start = _mm256_add_epi32(least, load_columns(p->bias, column, p->n, rule->order));
    if (p->factors) b->columns = load_columns(p->columns, column, p->n, rule->order);
}

void ml_product_s8_avx_vnni(const ml_simd *simd, const ml_matmul_s8_args *p,
                            const ml_requantize_args *bytes, int64_t lines, int64_t line_stride) {
    if (!has_byte_ends(bytes)) {
        ml_product_s8_scalar(simd, p, bytes, lines, line_stride);
        return;
    }
    output_block blocks[MOST_BLOCKS];
    product q = {.sums = *p, .blocks = blocks, .ends = ends_of(bytes), .y_stride = bytes->y_stride};
    ml_requantize_args constants = *bytes;
    constants.n = p->n;
    const block_rule rule = rule_of(&constants, _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    for (int64_t column = 0; column < p->n; column += q.sums.n) {
        q.sums.n = p->n - column < MOST_BLOCKS * LANES ? p->n - column : MOST_BLOCKS * LANES;
        /* tiles go on to the last packed output, which may be none of n */
        for (int64_t i = 0; i < (q.sums.n + ML_PART_S8 - 1) / ML_PART_S8 * ML_PART_S8; i += LANES)
            load_outputs(p, &rule, column + i, &blocks[i / LANES]);
        q.sums.packed = p->packed + ml_packed_s8(column, p->pieces, p->k);
        q.sums.a = p->a;
        q.sums.factors = p->factors;
        q.y = bytes->y + column;
        for (int64_t line = 0; line < lines; line++) {
            multiply(&q.sums);
            q.sums.a += line_stride;
            if (q.sums.factors) q.sums.factors += p->rows;
            q.y += p->rows * q.y_stride;
        }
    }
}
