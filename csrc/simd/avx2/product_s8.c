/* product_s8.c -- tiles of pairs whose sums become bytes in registers. */
#include "simd/avx2/requantize_block.h"
#include "simd/avx2/pairs.h"
#include "simd/variants.h"

enum { MOST_BLOCKS = 32 /* eight outputs each, whole panels */ };

/* What eight outputs need, in the order in which sums are joined. */
typedef struct output_block {
    byte_block bytes;
    __m256i start[2]; /* biases and -2^31, each in the first of its output's two sums */
    __m256i columns;
} output_block;

/* What tiles write to. */
typedef struct bytes_place {
    const output_block *blocks;
    const int32_t *factors; /* of each row, or NULL */
    ends ends;
    int8_t *y;
    int64_t y_stride;
    int64_t n;
} bytes_place;

INLINE void load_outputs(const ml_matmul_s8_args *p, const block_rule *rule, int64_t column,
                         output_block *b) {
    const __m256i in_turn = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    load_block(rule, column, &b->bytes);
    __m256i bias = _mm256_set1_epi32(INT32_MIN);
    if (p->bias) bias = _mm256_add_epi32(bias, load_columns(p->bias, column, p->n, in_turn));
    b->start[0] = _mm256_cvtepu32_epi64(_mm256_castsi256_si128(bias));
    b->start[1] = _mm256_cvtepu32_epi64(_mm256_extracti128_si256(bias, 1));
    if (p->factors) b->columns = load_columns(p->columns, column, p->n, rule->order);
}

/* A row's 8 * count outputs, which lie side by side. */
INLINE void write_row(const bytes_place *to, const output_block *b, int64_t row, int64_t output,
                      const int count, __m256i *v) {
    const __m256i inside = _mm256_set_epi64x(0x0F0E0B0A0D0C0908, 0x0706030205040100,
                                             0x0F0E0B0A0D0C0908, 0x0706030205040100);
    const int64_t left = to->n - output;
    int8_t *y = to->y + row * to->y_stride + output;
#pragma GCC unroll 4
    for (int i = 0; i < count; i++) {
        if (to->factors) {
            const __m256i factor = _mm256_set1_epi32(to->factors[row]);
            v[i] = _mm256_add_epi32(v[i], _mm256_mullo_epi32(factor, b[i].columns));
        }
        scale_sums(&v[i], 1, &b[i].bytes, &to->ends);
    }
    const __m256i bytes = _mm256_shuffle_epi8(to_bytes(v, count, &to->ends), inside);
    if (count == TOGETHER && left >= TOGETHER * LANES) {
        _mm256_storeu_si256((__m256i *)(void *)y, bytes);
        return;
    }
    int64_t parts[TOGETHER];
    _mm256_storeu_si256((__m256i *)(void *)parts, bytes);
    memcpy(y, parts, (size_t)(left < count * LANES ? left : count * LANES));
}

/* Eight outputs of some rows. */
INLINE void write_rows(const bytes_place *to, const output_block *b, int64_t row, int64_t output,
                       const int rows, __m256i *v) {
    const __m256i inside = _mm256_set_epi64x(0x0F0E0B0A0D0C0908, 0x0706030205040100,
                                             0x0F0E0B0A0D0C0908, 0x0706030205040100);
    int8_t *y = to->y + row * to->y_stride + output;
    const int32_t *factors = to->factors ? to->factors + row : NULL;
    if (factors)
#pragma GCC unroll 8
        for (int r = 0; r < rows; r++) {
            const __m256i factor = _mm256_set1_epi32(factors[r]);
            v[r] = _mm256_add_epi32(v[r], _mm256_mullo_epi32(factor, b->columns));
        }
    scale_sums(v, rows, &b->bytes, &to->ends);
#pragma GCC unroll 2
    for (int r = 0; r < rows; r += TOGETHER, y += TOGETHER * to->y_stride) {
        const int some = rows - r < TOGETHER ? rows - r : TOGETHER;
        const __m256i bytes = to_bytes(&v[r], some, &to->ends);
        put_rows(y, to->y_stride, _mm256_shuffle_epi8(bytes, inside), some, to->n - output);
    }
}

INLINE void write_tile(const bytes_place *to, int64_t row, int64_t output, const int rows,
                       const int joined, __m256i *sums) {
    const output_block *b = &to->blocks[(uint64_t)output / LANES];
    if (rows == 1) write_row(to, b, row, output, joined, sums);
    else write_rows(to, b, row, output, rows, sums);
}

#define NEAR 4640 /* 3 x 3 windows of 512 channels, and rows that do not lie powers of two apart */
#define BEGIN(own, at, v) \
    (((const bytes_place *)(own))->blocks[(uint64_t)(at)->output / LANES + (uint64_t)(v) / 2].start[(v) % 2])
#define FINISH_TILE(own, at, rows, joined, sums) \
    write_tile(own, (at)->row, (at)->output, rows, joined, sums)
#include "simd/tiles/matmul_s8_wide.h"

void ml_product_s8_avx2(const ml_simd *simd, const ml_matmul_s8_args *p,
                        const ml_requantize_args *bytes, int64_t lines, int64_t line_stride) {
    const int64_t groups = p->pieces * ((p->k + GROUP - 1) / GROUP);
    if (groups * GROUP > NEAR || !has_byte_ends(bytes)) {
        ml_product_s8_scalar(simd, p, bytes, lines, line_stride);
        return;
    }
    output_block blocks[MOST_BLOCKS];
    ml_matmul_s8_args part = *p;
    ml_requantize_args constants = *bytes;
    bytes_place to = {.blocks = blocks,
                      .factors = p->factors,
                      .ends = ends_of(bytes),
                      .y_stride = bytes->y_stride};
    constants.n = p->n;
    const block_rule rule = rule_of(&constants, _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7));
    for (int64_t column = 0; column < p->n; column += part.n) {
        part.n = p->n - column < MOST_BLOCKS * LANES ? p->n - column : MOST_BLOCKS * LANES;
        /* a tile of one row goes on to the last packed output, which may be none of n */
        for (int64_t i = 0; i < (part.n + ML_PART_S8 - 1) / ML_PART_S8 * ML_PART_S8; i += LANES)
            load_outputs(p, &rule, column + i, &blocks[i / LANES]);
        part.packed = p->packed + column * groups * GROUP;
        to.y = bytes->y + column;
        to.n = part.n;
        multiply(&part, &to, lines, line_stride);
    }
}
