/* product_bytes.h -- product_s8 in tiles of product_tiles.h, whose sums become bytes in registers:
 * the constants of outputs are prepared once for all rows. A single row is left to
 * product_row.h. */
/* The constants of a tile's outputs. */
typedef struct output_block {
    int32x4_t start[TOGETHER];
    int32x4_t columns[TOGETHER];
    union {
        scale_block scales[TOGETHER];
        float64x2_t reals[2 * TOGETHER];
    } by;
    bool is_plain; /* true if scale_plain can scale by all of `scales` */
} output_block;

enum { MOST_BLOCKS = 4 * ML_PANEL_S8 / ML_PART_S8 };

/* The place that tiles write to, and the constants by which they scale. */
typedef struct bytes_place {
    const output_block *blocks;
    const int32_t *factors; /* one per row; NULL if there are none */
    ends ends;
    bool real;
    int8_t *y;
    int64_t y_stride;
    int64_t n;
} bytes_place;

INLINE float64x2_t load_reals(const double *p, int64_t count) {
    double lanes[2] = {0};
    if (__builtin_expect(count >= 2, 1)) return vld1q_f64(p);
    if (count == 1) lanes[0] = *p;
    return vld1q_f64(lanes);
}

/* Loads the constants of a vector of columns from `column` on, of which `left` exist; true if its
 * shifts are plain. */
INLINE bool load_vector(const ml_matmul_s8_args *p, const ml_requantize_args *bytes,
                        const int32_t *sums, int64_t column, int64_t left, int v, output_block *b) {
    b->start[v] = vdupq_n_s32(0);
    if (IS_LESS(p)) b->start[v] = vshlq_n_s32(load_columns(sums, left, 0), 7);
    if (p->bias) b->start[v] = vaddq_s32(b->start[v], load_columns(p->bias + column, left, 0));
    if (p->factors) b->columns[v] = load_columns(p->columns + column, left, 0);
    if (bytes->reals) {
        b->by.reals[2 * v] = load_reals(bytes->reals + column, left);
        b->by.reals[2 * v + 1] = load_reals(bytes->reals + column + 2, left - 2);
        return true;
    }
    b->by.scales[v].mantissas = load_columns(bytes->mantissas + column, left, 0);
    b->by.scales[v].shifts = load_columns(bytes->shifts + column, left, -1);
    return are_plain(b->by.scales[v].shifts, bytes->low >= bytes->zero);
}

/* Loads the constants of a tile. */
INLINE void load_block(const ml_matmul_s8_args *p, const ml_requantize_args *bytes,
                       const int32_t *sums, int64_t column, int64_t left, output_block *b) {
    b->is_plain = true;
    ML_UNROLL(4)
    for (int v = 0; v < TOGETHER; v++)
        b->is_plain &=
            load_vector(p, bytes, sums + v * LANES, column + v * LANES, left - v * LANES, v, b);
}

/* Loads the constants of `n` outputs from `column` on. Never inlined, so that tiles have its
 * registers. */
__attribute__((noinline)) static void load_outputs(const ml_matmul_s8_args *args,
                                                   const ml_requantize_args *to, int64_t column,
                                                   int64_t n, output_block *b) {
    const ml_matmul_s8_args p = *args; /* copies, not read again after each store */
    const ml_requantize_args bytes = *to;
    int32_t made[ML_PANEL_S8];
    for (int64_t i = column; i < column + n; i += ML_PART_S8, b++) {
        const int64_t within = i % ML_PANEL_S8;
        if (!p.sums && within == 0) sum_weights(&p, i, made);
        const int32_t *sums = p.sums ? p.sums + i : made + within;
        if (p.n - i >= ML_PART_S8) load_block(&p, &bytes, sums, i, ML_PART_S8, b);
        else load_block(&p, &bytes, sums, i, p.n - i, b);
    }
}

/* Scales sums of some rows that scale_plain cannot scale. Never inlined, so that the code for
 * others keeps its registers. */
__attribute__((noinline)) static void scale_others(const output_block *b, bool real, int rows,
                                                   int32x4_t *v) {
    for (int r = 0; r < rows; r++) ML_UNROLL(4)
    for (int i = 0; i < TOGETHER; i++, v++)
        *v = real ? scale_real(*v, b->by.reals[2 * i], b->by.reals[2 * i + 1])
                  : scale_any(*v, &b->by.scales[i]);
}

INLINE void scale_vectors(const output_block *b, const int rows, const bool one_sided,
                          int32x4_t *v) {
    ML_UNROLL(4)
    for (int i = 0; i < TOGETHER; i++) {
        const scale_block s = b->by.scales[i];
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++)
            v[r * TOGETHER + i] = scale_plain(v[r * TOGETHER + i], &s, one_sided);
    }
}

/* Writes sixteen outputs of some rows. */
INLINE void write_rows(const bytes_place *to, int64_t row, int64_t output, const int rows,
                       int32x4_t *v) {
    const output_block *b = &to->blocks[(uint64_t)output / ML_PART_S8];
    const int64_t left = to->n - output, stride = to->y_stride;
    int8_t *y = to->y + row * stride + output;
    if (to->factors) ML_UNROLL(24)
    for (int i = 0; i < rows * TOGETHER; i++)
        v[i] = vmlaq_n_s32(v[i], b->columns[i % TOGETHER], to->factors[row + i / TOGETHER]);
    if (__builtin_expect(to->real || !b->is_plain, 0)) {
        int32x4_t stored[MOST_ROWS * TOGETHER];
        ML_UNROLL(24)
        for (int i = 0; i < rows * TOGETHER; i++) stored[i] = v[i];
        scale_others(b, to->real, rows, stored);
        ML_UNROLL(24)
        for (int i = 0; i < rows * TOGETHER; i++) v[i] = stored[i];
    } else if (to->ends.one_sided) {
        scale_vectors(b, rows, true, v);
    } else {
        scale_vectors(b, rows, false, v);
    }
    ML_UNROLL(8)
    for (int r = 0; r < rows; r++, y += stride) {
        const int32x4_t *of_row = v + r * TOGETHER;
        put(y, to_bytes(of_row[0], of_row[1], of_row[2], of_row[3], &to->ends), left);
    }
}

/* Writes outputs of any number of vectors. */
INLINE void write_tile(const bytes_place *to, int64_t row, int64_t output, const int rows,
                       const int vectors, int32x4_t *v) {
    ML_UNROLL(4)
    for (int i = 0; i < vectors; i += TOGETHER)
        write_rows(to, row, output + i * LANES, rows, v + i);
}

#define BEGIN(own, output, v) begin_of(own, output, v)
#define FINISH_TILE(own, row, output, rows, vectors, sums)                     \
  write_tile(own, row, output, rows, vectors, sums)
/* product_row.h multiplies a single row. More rows are divided evenly among tiles: three into two
 * and one. */
#if MOST_ROWS <= 2
#define ONE_ROW(X) X(1)
#else
#define ONE_ROW(X)
#endif

INLINE int32x4_t begin_of(const bytes_place *to, int64_t output, const int v) {
    const output_block *b = &to->blocks[(uint64_t)output / ML_PART_S8];
    return b[v / TOGETHER].start[v % TOGETHER];
}

#include "simd/neon/product_tiles.h"
#include "simd/neon/product_row.h"

/* Computes all outputs of several rows, MOST_BLOCKS blocks at a time. */
static void multiply_by_blocks(const ml_matmul_s8_args *p, const ml_requantize_args *bytes,
                               int64_t lines, int64_t line_stride) {
    output_block blocks[MOST_BLOCKS];
    ml_matmul_s8_args part = *p;
    bytes_place to = {.blocks = blocks,
                      .factors = p->factors,
                      .ends = ends_of(bytes),
                      .real = bytes->reals != NULL,
                      .y_stride = bytes->y_stride};
    for (int64_t column = 0; column < p->n; column += part.n) {
        part.n =
            p->n - column < MOST_BLOCKS * ML_PART_S8 ? p->n - column : MOST_BLOCKS * ML_PART_S8;
        load_outputs(p, bytes, column, part.n, blocks);
        part.packed = p->packed + ml_packed_s8(column, p->pieces, p->k);
        to.y = bytes->y + column;
        to.n = part.n;
        multiply(&part, &to, lines, line_stride);
    }
}

static void multiply_to_bytes(const ml_simd *simd, const ml_matmul_s8_args *p,
                              const ml_requantize_args *bytes, int64_t lines, int64_t line_stride) {
    if (!ml_has_byte_ends(bytes)) ml_product_s8_scalar(simd, p, bytes, lines, line_stride);
    else if (lines * p->rows == 1) multiply_row(p, bytes);
    else multiply_by_blocks(p, bytes, lines, line_stride);
}
