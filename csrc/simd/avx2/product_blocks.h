/* product_blocks.h -- product_s8 by tiles whose sums become bytes in registers: loads the constants
 * of eight outputs at a time, once for all rows, and turns rows of sums into bytes.
 *
 * The file that includes it defines ORDER, the outputs of a vector of sums lane by lane, and
 * OF_ROWS(bytes), four such vectors as bytes, in the order of outputs. */
#include "simd/avx2/real_block.h"

enum { MOST_BLOCKS = 32 /* eight outputs each, whole panels */ };

typedef struct output_block {
    union {
        byte_block bytes;
        real_block reals;
    } by;
    __m256i start; /* the biases in the order of outputs; less 2^31, unless scaled by reals */
    __m256i columns;
} output_block;

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

/* Loads the constants of a part's outputs, and of all outputs packed with them, because tiles run
 * past the part's end. Never inlined, so that the constants of all outputs stay in registers. */
__attribute__((noinline)) static void load_outputs(const ml_matmul_s8_args *p,
                                                   const block_rule *all_rule, const double *reals,
                                                   int64_t column, int64_t n, output_block *b) {
    const block_rule rule = *all_rule; /* a copy, not read again after each store */
    const int32_t *const bias = p->bias, *const columns = p->factors ? p->columns : NULL;
    const __m256i in_turn = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const __m256i base = _mm256_set1_epi32(reals ? 0 : INT32_MIN);
    const int64_t end = column + ml_round_up(n, ML_PART_S8);
    for (; column < end; column += COLUMNS, b++) {
        if (reals) load_reals(reals, column, rule.n, rule.order, &b->by.reals);
        else load_block(&rule, column, &b->by.bytes);
        b->start = base;
        if (bias) b->start = _mm256_add_epi32(base, load_columns(bias, column, rule.n, in_turn));
        if (columns) b->columns = load_columns(columns, column, rule.n, rule.order);
    }
}

/* Writes eight outputs of some rows. */
INLINE void write_rows(const bytes_place *to, int64_t row, int64_t output, const int rows,
                       __m256i *v) {
    const output_block *b = &to->blocks[(uint64_t)output / COLUMNS];
    int8_t *y = to->y + row * to->y_stride + output;
    const int32_t *factors = to->factors ? to->factors + row : NULL;
    if (factors) ML_UNROLL(8)
    for (int r = 0; r < rows; r++) {
        const __m256i factor = _mm256_set1_epi32(factors[r]);
        v[r] = _mm256_add_epi32(v[r], _mm256_mullo_epi32(factor, b->columns));
    }
    if (__builtin_expect(to->real, 0)) {
        __m256i some[COLUMNS];
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++) some[r] = v[r];
        scale_reals(some, rows, &b->by.reals, &to->ends);
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++) v[r] = some[r];
    } else {
        scale_sums(v, rows, &b->by.bytes, &to->ends);
    }
    ML_UNROLL(2)
    for (int r = 0; r < rows; r += TOGETHER, y += TOGETHER * to->y_stride) {
        const int some = rows - r < TOGETHER ? rows - r : TOGETHER;
        const __m256i bytes = to_bytes(&v[r], some, &to->ends);
        put_rows(y, to->y_stride, OF_ROWS(bytes), some, to->n - output);
    }
}

/* Multiplies the rows of some lines with weights of part->n outputs; sums go to write_rows. */
typedef void multiply_fn(const ml_matmul_s8_args *part, const bytes_place *to, int64_t lines,
                         int64_t line_stride);

/* Computes all outputs, MOST_BLOCKS blocks at a time. */
INLINE void multiply_blocks(const ml_matmul_s8_args *p, const ml_requantize_args *bytes,
                            int64_t lines, int64_t line_stride, multiply_fn *multiply) {
    output_block blocks[MOST_BLOCKS];
    ml_matmul_s8_args part = *p;
    ml_requantize_args constants = *bytes;
    bytes_place to = {.blocks = blocks,
                      .factors = p->factors,
                      .ends = ends_of(bytes),
                      .real = bytes->reals != NULL,
                      .y_stride = bytes->y_stride};
    constants.n = p->n;
    const block_rule rule = rule_of(&constants, ORDER);
    for (int64_t column = 0; column < p->n; column += part.n) {
        part.n = p->n - column < MOST_BLOCKS * COLUMNS ? p->n - column : MOST_BLOCKS * COLUMNS;
        load_outputs(p, &rule, bytes->reals, column, part.n, blocks);
        part.packed = p->packed + ml_packed_s8(column, p->pieces, p->k);
        to.y = bytes->y + column;
        to.n = part.n;
        multiply(&part, &to, lines, line_stride);
    }
}
