/* product_s8.c -- tiles of matmul_s8. Sums become bytes in their registers if they are known to be
 * small, or by doubles, tile by tile.
 *
 * Tiles are smaller than matmul_s8's, because the constants that requantize a column need registers
 * too. */
#include "simd/words.h"
#include "simd/avx512/requantize_real.h"

#define ROW_AHEAD 4096
#define MOST_ROWS 12
#define MOST_SUMS 21
#include "simd/tiles/matmul_s8_tile.h"

#include "simd/tiles/product_s8.h"

enum {
    FEW_ROWS = 4,
    HALF = LANES / 2,
    LEAST_HALVES = 7, /* rows from which on half vectors are scaled two at a time */
    FEW_BYTES = 16 << 10 /* of flipped rows that stay in the first-level cache */
};

/* The arguments and constants of a panel's tiles, line by line. */
typedef struct panel_place {
    const ml_matmul_s8_args *args; /* of the line */
    const ml_requantize_args *bytes;
    const ml_requantize_args *constants; /* with the bias that sums begin with */
    const small_block
        *blocks; /* one per vector of the tile; a tile of a single row loads its own */
    const ends *ends;
    bool one_sided; /* negative results are clamped to the zero point or above */
    int8_t *y; /* of the line */
    row_copy *copy; /* room for copies of a tile's rows */
    int64_t most; /* the most rows that it holds */
} panel_place;

INLINE void add_factors(const ml_matmul_s8_args *p, const tile_place *at, const small_block *blocks,
                        const int rows, const int vectors, __m512i *sums) {
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) {
        const __m512i columns =
            _mm512_maskz_loadu_epi32(blocks[v].there, p->columns + at->output + v * LANES);
        ML_UNROLL(12)
        for (int r = 0; r < rows; r++) {
            const __m512i factor = _mm512_set1_epi32(p->factors[at->row + r]);
            __m512i *sum = &sums[r * vectors + v];
            *sum = _mm512_add_epi32(*sum, _mm512_mullo_epi32(factor, columns));
        }
    }
}

/* Scales sums to steps of the output, `count` vectors of outputs one after the other, so that the
 * constants of one vector stay in registers. */
INLINE void scale_tile(const small_block *blocks, const int rows, const int vectors,
                       const int count, const bool one_sided, __m512i *sums) {
    ML_UNROLL(4)
    for (int v = 0; v < count; v++) {
        const small_block b = blocks[v];
        ML_UNROLL(12)
        for (int r = 0; r < rows; r++)
            sums[r * vectors + v] = scale_small(sums[r * vectors + v], &b, one_sided);
    }
}

/* Copies the constants of the first half of a vector to the second: if the last vector of a tile
 * has at most half its outputs, the last vectors of two rows are scaled as one. */
static void double_block(small_block *b) {
    __m512i *const all[] = {&b->even, &b->odd, &b->even_rest, &b->odd_rest, &b->right, &b->up};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        *all[i] = _mm512_shuffle_i64x2(*all[i], *all[i], 0x44);
}

/* Scales a tile whose last vectors are half ones: those of two rows together, in place of the first
 * row's. */
INLINE void scale_halves(const small_block *blocks, const int rows, const int vectors,
                         const bool one_sided, __m512i *sums) {
    const small_block b = blocks[vectors - 1];
    scale_tile(blocks, rows, vectors, vectors - 1, one_sided, sums);
    ML_UNROLL(6)
    for (int r = 0; r < rows; r += 2) {
        __m512i *v = &sums[r * vectors + vectors - 1];
        if (r + 1 < rows) *v = _mm512_inserti64x4(*v, _mm512_castsi512_si256(v[vectors]), 1);
        *v = scale_small(*v, &b, one_sided);
    }
}

/* Stores the bytes of two rows that were scaled as one vector, `left` of each. */
INLINE void store_halves(int8_t *y, int64_t stride, __m128i bytes, const int rows, int64_t left) {
    const __mmask16 there = (__mmask16)((1u << left) - 1);
    _mm_mask_storeu_epi8(y, there, bytes);
    if (rows > 1) _mm_mask_storeu_epi8(y + stride - HALF, (__mmask16)(there << HALF), bytes);
}

/* Scales and stores a tile of one or two vectors, whose last vector is a half one. */
INLINE void write_halves(const panel_place *panel, int8_t *y, const int rows, const int vectors,
                         int64_t left, __m512i *sums) {
    const int together = vectors == 1 ? 4 * 2 : 2; /* rows */
    const int64_t stride = panel->bytes->y_stride;
    if (panel->one_sided) scale_halves(panel->blocks, rows, vectors, true, sums);
    else scale_halves(panel->blocks, rows, vectors, false, sums);
    ML_UNROLL(6)
    for (int row = 0; row < rows; row += together, y += together * stride) {
        const __m512i *of = &sums[row * vectors];
        const int some = rows - row < together ? rows - row : together;
        __m512i v[MOST_VECTORS];
        ML_UNROLL(4)
        for (int i = 0; i < MOST_VECTORS; i++)
            v[i] = of[vectors == 1 ? (2 * i < some ? 2 * i : 0) : i > 1 ? 1 : i < some ? 2 * i : 0];
        const __m512i bytes = to_bytes(v, panel->ends);
        const __m128i quarters[] = {
            _mm512_castsi512_si128(bytes), _mm512_extracti32x4_epi32(bytes, 1),
            _mm512_extracti32x4_epi32(bytes, 2), _mm512_extracti32x4_epi32(bytes, 3)};
        ML_UNROLL(4)
        for (int i = 0; i < some; i += vectors == 1 ? 2 : 1) {
            int8_t *to = y + i * stride;
            if (vectors == 1) store_halves(to, stride, quarters[i / 2], some - i, left);
            else _mm_storeu_si128((__m128i *)(void *)to, quarters[i]);
        }
        if (vectors == 2) store_halves(y + LANES, stride, quarters[2], some, left - LANES);
    }
}

/* Loads the constants of a vector of outputs; if it is scaled by doubles, only the bias. */
static inline void load_block(const ml_requantize_args *constants, int64_t column, bool one_sided,
                              small_block *b) {
    if (!constants->reals) {
        load_small(constants, column, one_sided, b);
        return;
    }
    *b = (small_block){.there = first(constants->n - column)};
    if (constants->bias) b->bias = _mm512_maskz_loadu_epi32(b->there, constants->bias + column);
}

/* Scales a tile's sums to bytes by doubles, one vector of outputs after the other, so that its
 * doubles stay in registers. */
INLINE void scale_by_reals(const panel_place *panel, const tile_place *at, int rows,
                           const int vectors, const __m512i *sums) {
    const ml_requantize_args *bytes = panel->bytes;
    const int together = vectors > 2 ? 1 : MOST_VECTORS / vectors; /* rows */
    const int64_t stride = bytes->y_stride, left = panel->args->n - at->output;
    const __m512d high = _mm512_set1_pd((double)bytes->high - bytes->zero);
    const ends e = *panel->ends;
    int8_t *y = panel->y + at->row * stride + at->output;
    __m512d reals[2 * MOST_VECTORS];
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) {
        const double *from = bytes->reals + at->output + v * LANES;
        const __mmask16 there = first(left - v * LANES);
        reals[2 * v] = _mm512_maskz_loadu_pd((__mmask8)there, from);
        reals[2 * v + 1] = _mm512_maskz_loadu_pd((__mmask8)(there >> 8), from + 8);
    }
    for (int row = 0; row < rows; row += together, y += together * stride) {
        const int some = rows - row < together ? rows - row : together;
        __m512i v[MOST_VECTORS];
        ML_UNROLL(4)
        for (int i = 0; i < MOST_VECTORS; i++) {
            const int of = i % vectors;
            v[i] = i < together * vectors && i < some * vectors
                       ? scale_real(sums[row * vectors + i], reals[2 * of], reals[2 * of + 1], high)
                       : v[0];
        }
        store_rows(y, stride, to_bytes(v, &e), vectors, some, left);
    }
}

#define DEFINE_REALS(vectors)                                                                   \
    __attribute__((noinline)) static void reals_##vectors(                                      \
        const panel_place *panel, const tile_place *at, int rows, const __m512i *sums) {        \
        scale_by_reals(panel, at, rows, vectors, sums);                                         \
    }
DEFINE_REALS(1)
DEFINE_REALS(2)
DEFINE_REALS(3)
DEFINE_REALS(4)

/* Scales and stores by functions that are not inlined, because each of the many kinds of tiles
 * would repeat the code. */
INLINE void store_reals(const panel_place *panel, const tile_place *at, const int rows,
                        const int vectors, const __m512i *sums) {
    __m512i stored[MOST_SUMS];
    ML_UNROLL(28)
    for (int i = 0; i < rows * vectors; i++) stored[i] = sums[i];
    if (vectors == 1) reals_1(panel, at, rows, stored);
    if (vectors == 2) reals_2(panel, at, rows, stored);
    if (vectors == 3) reals_3(panel, at, rows, stored);
    if (vectors == 4) reals_4(panel, at, rows, stored);
}

INLINE void tile(const panel_place *panel, const tile_place *at, const int rows,
                 const int vectors) {
    const ml_matmul_s8_args *args = panel->args;
    const ml_requantize_args *bytes = panel->bytes;
    const int together = vectors > 2 ? 1 : MOST_VECTORS / vectors; /* rows */
    const int64_t stride = bytes->y_stride, left = args->n - at->output;
    int8_t *y = panel->y + at->row * stride + at->output;
    const small_block *blocks = panel->blocks;
    small_block own[MOST_VECTORS];
    __m512i sums[MOST_SUMS], start[MOST_VECTORS];
    ML_UNROLL(4)
    for (int v = 0; v < vectors && rows == 1; v++)
        load_block(panel->constants, at->output + v * LANES, panel->one_sided, &own[v]);
    if (rows == 1) blocks = own;
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) start[v] = blocks[v].bias;
    sum_tile(args, at, rows, vectors, start, sums);
    if (args->factors) add_factors(args, at, blocks, rows, vectors, sums);
    if (bytes->reals) {
        if (rows == 1) scale_by_reals(panel, at, rows, vectors, sums);
        else store_reals(panel, at, rows, vectors, sums);
        return;
    }
    if (rows >= LEAST_HALVES && vectors <= 2 && left <= vectors * LANES - HALF) {
        write_halves(panel, y, rows, vectors, left, sums);
        return;
    }
    if (panel->one_sided) scale_tile(blocks, rows, vectors, vectors, true, sums);
    else scale_tile(blocks, rows, vectors, vectors, false, sums);
    ML_UNROLL(12)
    for (int row = 0; row < rows; row += together, y += together * stride) {
        const int some = rows - row < together ? rows - row : together;
        __m512i v[MOST_VECTORS];
        ML_UNROLL(4)
        for (int i = 0; i < MOST_VECTORS; i++)
            v[i] = i < some * vectors ? sums[row * vectors + i] : v[0];
        store_rows(y, stride, to_bytes(v, panel->ends), vectors, some, left);
    }
}

#define TILES(X) \
    X(1, 4) X(1, 3) X(1, 2) X(1, 1) X(2, 4) X(2, 3) X(2, 2) X(2, 1) X(3, 4) X(3, 3) X(3, 2) \
    X(3, 1) X(4, 4) X(4, 3) X(4, 2) X(4, 1) X(5, 3) X(5, 2) X(5, 1) X(6, 3) X(6, 2) X(6, 1) X(7, 3) X(7, 2) X(7, 1) \
    X(8, 2) X(8, 1) X(9, 2) X(9, 1) X(10, 2) X(10, 1) X(11, 1) X(12, 1)
#define DEFINE(rows, vectors)                                                               \
    static void tile_##rows##x##vectors(const panel_place *panel, const tile_place *at) {   \
        tile(panel, at, rows, vectors);                                                     \
    }
TILES(DEFINE)

typedef void tile_fn(const panel_place *panel, const tile_place *at);

#define ENTRY(rows, vectors) [rows][vectors] = tile_##rows##x##vectors,
static tile_fn *const tiles[MOST_ROWS + 1][MOST_VECTORS + 1] = {TILES(ENTRY)};

/* The most rows of a tile, by its vectors. */
static const int8_t rows_of[MOST_VECTORS + 1] = {0, MOST_ROWS, 10, 7, FEW_ROWS};

/* Divides the rows of a line evenly among as few tiles as possible. */
static void multiply_line(const panel_place *panel, tile_place *at, int64_t vectors) {
    const int64_t rows = panel->args->rows;
    const int64_t whole = rows <= FEW_ROWS ? FEW_ROWS : rows_of[vectors];
    const int64_t most = panel->most < whole ? panel->most : whole;
    at->row = 0;
    for (int64_t some; at->row < rows; at->row += some) {
        some = ml_even_part(rows - at->row, most);
        begin_rows(panel->args, at, some, panel->copy);
        tiles[some][vectors](panel, at);
    }
}

static void multiply_lines(panel_place *panel, const ml_matmul_s8_args *args, tile_place *at,
                           int64_t vectors, int64_t lines, int64_t line_stride) {
    ml_matmul_s8_args p;
    panel->args = args;
    panel->y = panel->bytes->y;
    multiply_line(panel, at, vectors);
    if (lines == 1) return;
    p = *args;
    panel->args = &p;
    for (int64_t line = 1; line < lines; line++) {
        p.a += line_stride;
        if (p.factors) p.factors += p.rows;
        panel->y += p.rows * panel->bytes->y_stride;
        multiply_line(panel, at, vectors);
    }
    panel->args = args;
}

/* Computes a panel whose sums are small, or are scaled by doubles. */
static void multiply_panel(panel_place *panel, const ml_matmul_s8_args *p, int64_t lines,
                           int64_t line_stride, int64_t column) {
    const int64_t width = ml_width_s8(p->n, column);
    small_block blocks[MOST_VECTORS];
    tile_place at = {.output = column, .step = GROUP * width};
    at.w = p->packed + ml_packed_s8(column, p->pieces, p->k);
    panel->blocks = blocks;
    for (int64_t v = 0; v < width / LANES && p->rows > 1; v++) {
        load_block(panel->constants, column + v * LANES, panel->one_sided, &blocks[v]);
        if (p->n - column - v * LANES <= HALF) double_block(&blocks[v]);
    }
    for (int64_t left = width / LANES, vectors; left > 0; left -= vectors) {
        vectors = p->rows <= FEW_ROWS || left == 3 ? left : left < 2 ? left : 2;
        multiply_lines(panel, p, &at, vectors, lines, line_stride);
        at.output += vectors * LANES;
        at.w += vectors * LANES * GROUP;
        panel->blocks += vectors;
    }
    panel->blocks = NULL;
}

/* True if the rows of a line are flipped once for all tiles: several tiles of outputs meet them, or
 * they stay in the first cache. */
static bool flips_line(const ml_matmul_s8_args *p) {
    if (!p->flip || p->rows <= 1 || !holds_rows(p, p->rows)) return false;
    return p->n > 2 * LANES || p->pieces * copy_bytes(p, p->rows) <= FEW_BYTES;
}

static ml_matmul_s8_args flip_line(const ml_matmul_s8_args *p, row_copy *copy) {
    ml_matmul_s8_args flipped = *p;
    tile_place all = {.row = 0};
    begin_rows(p, &all, p->rows, copy);
    flipped.a = all.a;
    flipped.a_stride = all.a_stride;
    flipped.piece_stride = all.piece_stride;
    flipped.flip = 0;
    return flipped;
}

/* Multiplies a single row, panel after panel. */
static void multiply_single(const panel_place *panel, const ml_matmul_s8_args *p) {
    tile_place at = {
        .w = p->packed, .a = p->a, .a_stride = p->a_stride, .piece_stride = p->piece_stride};
    for (; at.output < p->n; at.output += ML_PANEL_S8) {
        const int64_t width = ml_width_s8(p->n, at.output);
        at.step = GROUP * width;
        at.w = p->packed + ml_packed_s8(at.output, p->pieces, p->k);
        tiles[1][width / LANES](panel, &at);
    }
}

/* Multiplies all panels. */
static void multiply_columns(const ml_simd *simd, panel_place *panel, const ml_matmul_s8_args *p,
                             int64_t lines, int64_t line_stride) {
    const whole_product whole = product_of_bytes(simd, p, panel->bytes, lines, line_stride);
    for (int64_t column = 0; column < p->n; column += ML_PANEL_S8) {
        const int64_t left = p->n - column, n = left < ML_PANEL_S8 ? left : ML_PANEL_S8;
        if (panel->bytes->reals || is_small(panel->bytes, column, n))
            multiply_panel(panel, p, lines, line_stride, column);
        else multiply_panels(&whole, column, n);
    }
}

/* Multiplies rows that are flipped in copies. */
__attribute__((noinline)) static void multiply_copies(const ml_simd *simd, panel_place *panel,
                                                      const ml_matmul_s8_args *p, int64_t lines,
                                                      int64_t line_stride) {
    row_copy copy;
    ml_matmul_s8_args flipped;
    if (lines == 1 && flips_line(p)) {
        flipped = flip_line(p, &copy);
        p = &flipped;
    }
    panel->copy = &copy;
    panel->most = most_rows(p);
    multiply_columns(simd, panel, p, lines, line_stride);
}

void ml_product_s8_avx512(const ml_simd *simd, const ml_matmul_s8_args *p,
                          const ml_requantize_args *bytes, int64_t lines, int64_t line_stride) {
    const ml_requantize_args constants = {.n = p->n,
                                          .bias = p->bias,
                                          .mantissas = bytes->mantissas,
                                          .shifts = bytes->shifts,
                                          .reals = bytes->reals};
    const ends e = ends_of(bytes->zero, bytes->low, bytes->high);
    panel_place panel = {.bytes = bytes,
                         .constants = &constants,
                         .ends = &e,
                         .one_sided = is_one_sided(bytes),
                         .args = p,
                         .y = bytes->y,
                         .most = MOST_ROWS};
    if (p->rows == 1 && lines == 1 && (bytes->reals || is_small(bytes, 0, p->n)))
        multiply_single(&panel, p);
    else if (p->flip && p->rows > 1) multiply_copies(simd, &panel, p, lines, line_stride);
    else multiply_columns(simd, &panel, p, lines, line_stride);
}
