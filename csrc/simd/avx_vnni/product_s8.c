/* product_s8.c -- tiles of matmul_s8 whose sums become bytes in registers. */
#include "simd/avx_vnni/dot.h"

#define ORDER _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)
#define OF_ROWS(bytes) (bytes)
#include "simd/avx2/product_blocks.h"
#include "simd/avx2/row_place.h"

#include "simd/tiles/matmul_s8_tile.h"

/* A product, and the place that tiles write to. */
typedef struct product {
    ml_matmul_s8_args sums; /* the first member, because tiles get a pointer to it */
    bytes_place to;
} product;

INLINE void tile(const ml_matmul_s8_args *p, const tile_place *at, const int rows,
                 const int vectors) {
    const product *q = (const product *)(const void *)p;
    const output_block *b = &q->to.blocks[(uint64_t)at->output / LANES];
    VECTOR_S32 sums[MOST_SUMS], start[MOST_VECTORS], column[MOST_ROWS];
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) start[v] = b[v].start;
    sum_tile(p, at, rows, vectors, start, sums);
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) {
        if (p->n - at->output <= v * LANES) return;
        ML_UNROLL(6)
        for (int r = 0; r < rows; r++) column[r] = sums[r * vectors + v];
        write_rows(&q->to, at->row, at->output + v * LANES, rows, column);
    }
}

#define ROWS_OF(p) most_rows(p)
#define BEGIN_ROWS(p, at, rows) \
    row_copy copy;              \
    begin_rows(p, at, rows, &copy);
#include "simd/tiles/matmul_s8_meet.h"

static void multiply_tiles(const ml_matmul_s8_args *part, const bytes_place *to, int64_t lines,
                           int64_t line_stride) {
    product q = {.sums = *part, .to = *to};
    for (int64_t line = 0; line < lines; line++) {
        multiply(&q.sums);
        q.sums.a += line_stride;
        if (q.to.factors) q.to.factors += part->rows;
        q.to.y += part->rows * q.to.y_stride;
    }
}

INLINE void single_tile(const row_place *r, tile_place *at, const int vectors) {
    VECTOR_S32 sums[MOST_SUMS], start[MOST_VECTORS];
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) start[v] = SPLAT_S32(0);
    sum_tile(r->p, at, 1, vectors, start, sums);
    finish_row(r, at->output, vectors, sums);
    at->output += vectors * LANES;
    at->w += vectors * LANES * GROUP;
}

/* Multiplies a single row, for which the constants of an output are used once. */
static void multiply_single(const ml_matmul_s8_args *p, const ml_requantize_args *to) {
    const row_place r = row_place_of(p, to);
    tile_place at = {.a = p->a, .a_stride = p->a_stride, .piece_stride = p->piece_stride};
    for (int64_t panel = 0; panel < p->n; panel += ML_PANEL_S8) {
        const int64_t width = ml_width_s8(p->n, panel);
        at.output = panel;
        at.w = p->packed + ml_packed_s8(panel, p->pieces, p->k);
        at.step = GROUP * width;
        for (int64_t left = width / LANES; left >= 4; left -= 4) single_tile(&r, &at, 4);
        if (width / LANES % 4) single_tile(&r, &at, 2);
    }
}

void ml_product_s8_avx_vnni(const ml_simd *simd, const ml_matmul_s8_args *p,
                            const ml_requantize_args *bytes, int64_t lines, int64_t line_stride) {
    if (!ml_has_byte_ends(bytes)) ml_product_s8_scalar(simd, p, bytes, lines, line_stride);
    else if (lines * p->rows == 1) multiply_single(p, bytes);
    else multiply_blocks(p, bytes, lines, line_stride, multiply_tiles);
}
