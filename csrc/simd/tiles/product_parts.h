/* product_parts.h -- products by the level's matmul_s8, part by part; each part's sums are finished
 * while they are in the cache: those of PRODUCT_ROWS rows of one panel, or of fewer rows of more
 * panels. The file that includes it may define PRODUCT_ROWS, by default the rows of two tiles. */
#ifndef ML_TILES_PRODUCT_PARTS_H
#define ML_TILES_PRODUCT_PARTS_H

#include "simd/simd.h"

#ifndef PRODUCT_ROWS
#define PRODUCT_ROWS (2 * ML_ROWS_S8)
#endif

/* A part: `rows` rows from `row` on, numbered on from line to line, n outputs from `column` on. */
typedef struct product_part {
    const int32_t *sums; /* `rows` rows of n sums */
    int64_t row;
    int64_t rows;
    int64_t column;
    int64_t n;
} product_part;

/* A product, and the function that makes outputs of a part's sums. */
typedef struct whole_product {
    const ml_simd *simd;
    const ml_matmul_s8_args *sums;
    const void *outputs; /* the argument of `finish` */
    void (*finish)(const ml_simd *simd, const void *outputs, const product_part *part);
    int64_t lines;
    int64_t line_stride;
} whole_product;

/* Computes a part of a line. */
static inline void multiply_part(const whole_product *w, int64_t line, product_part part) {
    int32_t sums[PRODUCT_ROWS * ML_PANEL_S8];
    ml_matmul_s8_args p = *w->sums;
    p.a += line * w->line_stride + part.row * p.a_stride;
    part.row += line * p.rows;
    p.rows = part.rows;
    p.packed += ml_packed_s8(part.column, p.pieces, p.k);
    p.n = p.y_stride = part.n;
    if (p.bias) p.bias += part.column;
    if (p.factors) p.factors += part.row, p.columns += part.column;
    if (p.sums) p.sums += part.column;
    p.y = sums;
    part.sums = sums;
    w->simd->matmul_s8(&p);
    w->finish(w->simd, w->outputs, &part);
}

/* Computes the outputs of some panels, n from `column` on, in all lines. */
static inline void multiply_panels(const whole_product *w, int64_t column, int64_t n) {
    product_part part = {.column = column, .n = n};
    const int64_t rows = w->sums->rows;
    for (int64_t line = 0; line < w->lines; line++)
        for (part.row = 0; part.row < rows; part.row += part.rows) {
            part.rows = rows - part.row < PRODUCT_ROWS ? rows - part.row : PRODUCT_ROWS;
            multiply_part(w, line, part);
        }
}

static inline void multiply_all(const whole_product *w) {
    const int64_t rows = w->sums->rows, n = w->sums->n;
    const int64_t once = rows < 1 ? 1 : rows < PRODUCT_ROWS ? rows : PRODUCT_ROWS;
    const int64_t most = PRODUCT_ROWS / once * ML_PANEL_S8;
    for (int64_t column = 0; column < n; column += most)
        multiply_panels(w, column, n - column < most ? n - column : most);
}

#endif
