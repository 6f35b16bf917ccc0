/* row_s8.h -- one row of bytes times packed weights, by products of bytes: for matmul_s8 and
 * product_s8.
 *
 * Reading the weights decides the speed of a single row, so these are not widened. Each byte of the
 * row is split in halves of four bits: the products of two halves with weights, and eight such
 * sums, fit into 16 bits. The file that includes it defines FINISH_ROW(own, output, vectors, sums),
 * which writes the outputs of the sums of some vectors of eight, from `output` on. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#include "simd/simd.h"

enum {
    ROW_GROUP = 4,
    ROW_OUTPUTS = 8, /* outputs in a vector of weights */
    ROW_VECTORS = 4, /* vectors of a tile */
    ROW_GROUPS = 8, /* groups whose sums fit into 16 bits */
    ROW_AHEAD = 4096, /* bytes by which weights are fetched ahead */
    ROW_BYTES = 8192, /* the longest row, filled up to whole groups */
    ROW_STEP = 32 /* bytes that are split at a time */
};

/* The low halves of a row's bytes, and the high halves. */
typedef struct split_row {
    uint8_t low[ROW_BYTES + ROW_STEP];
    uint8_t high[ROW_BYTES + ROW_STEP];
} split_row;

static inline void split_bytes(__m256i bytes, split_row *row, int64_t at) {
    const __m256i half = _mm256_set1_epi8(15);
    _mm256_storeu_si256((__m256i *)(void *)(row->low + at), _mm256_and_si256(bytes, half));
    _mm256_storeu_si256((__m256i *)(void *)(row->high + at),
                        _mm256_and_si256(_mm256_srli_epi16(bytes, 4), half));
}

/* Splits `count` bytes, fewer than a vector has. */
static inline void split_rest(const uint8_t *from, int64_t count, __m256i flip, split_row *row,
                              int64_t at) {
    uint8_t rest[ROW_STEP] = {0};
    memcpy(rest, from, (size_t)count);
    split_bytes(_mm256_xor_si256(flip, _mm256_loadu_si256((const __m256i *)(void *)rest)), row, at);
}

/* Splits all groups of the row. If a piece is not a multiple of four bytes, its last group is its
 * last four bytes; the weights of those that the group before has too are zeros. */
static inline void split(const ml_matmul_s8_args *p, split_row *row) {
    const __m256i flip = _mm256_set1_epi8((char)p->flip);
    const uint8_t *from = p->a;
    const int64_t whole = p->k & -ROW_GROUP;
    int64_t at = 0;
    for (int64_t piece = p->pieces; piece > 0; piece--, from += p->piece_stride) {
        int64_t i = 0;
        for (; i + ROW_STEP <= whole; i += ROW_STEP) {
            const __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(from + i));
            split_bytes(_mm256_xor_si256(flip, bytes), row, at + i);
        }
        if (i < whole) split_rest(from + i, whole - i, flip, row, at + i);
        at += whole;
        if (whole == p->k) continue;
        if (whole) split_rest(from + p->k - ROW_GROUP, ROW_GROUP, flip, row, at);
        else split_rest(from, p->k, flip, row, at);
        at += ROW_GROUP;
    }
}

typedef const int8_t row_weights[ROW_OUTPUTS * ROW_GROUP];

/* Begins sums of two products, in 16 bits, with weights read from memory. The next function adds in
 * the register of a sum; compilers would add in other registers, of which there are not enough. */
static inline __m256i begin_products(__m256i half, const int8_t *w) {
    __m256i sums;
    __asm__("vpmaddubsw %2, %1, %0" : "=x"(sums) : "x"(half), "m"(*(row_weights *)w));
    return sums;
}
static inline __m256i add_products(__m256i half, const int8_t *w, __m256i sums) {
    __m256i products;
    __asm__("vpmaddubsw %3, %2, %1\n\tvpaddw %1, %0, %0"
            : "+x"(sums), "=&x"(products)
            : "x"(half), "m"(*(row_weights *)w));
    return sums;
}

static inline __m256i four_bytes(const uint8_t *p) {
    int32_t bytes;
    memcpy(&bytes, p, sizeof bytes);
    return _mm256_set1_epi32(bytes);
}

/* total += products of some groups, at most ROW_GROUPS. */
INLINE void add_row_groups(const uint8_t *low, const uint8_t *high, const int8_t *w, int64_t step,
                           const int groups, const int vectors, __m256i *total) {
    const __m256i ones = _mm256_set1_epi16(1), sixteens = _mm256_set1_epi16(16);
    __m256i of_low[ROW_VECTORS], of_high[ROW_VECTORS];
    ML_UNROLL(8)
    for (int j = 0; j < groups; j++, w += step) {
        __asm__("" : "+r"(w)); /* keeps the compiler from making further addresses beforehand */
        const __m256i a = four_bytes(low + j * ROW_GROUP), b = four_bytes(high + j * ROW_GROUP);
        if (vectors == ROW_VECTORS) __builtin_prefetch(w + ROW_AHEAD);
        ML_UNROLL(4)
        for (int v = 0; v < vectors; v++) {
            const int8_t *weights = w + v * ROW_OUTPUTS * ROW_GROUP;
            of_low[v] = j ? add_products(a, weights, of_low[v]) : begin_products(a, weights);
            of_high[v] = j ? add_products(b, weights, of_high[v]) : begin_products(b, weights);
        }
    }
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) {
        total[v] = _mm256_add_epi32(total[v], _mm256_madd_epi16(of_low[v], ones));
        total[v] = _mm256_add_epi32(total[v], _mm256_madd_epi16(of_high[v], sixteens));
    }
}

INLINE void row_tile(const void *own, const split_row *row, int64_t groups, const int8_t *w,
                     int64_t step, int64_t output, const int vectors) {
    __m256i total[ROW_VECTORS];
    const uint8_t *low = row->low, *high = row->high;
    int64_t left = groups;
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) total[v] = _mm256_setzero_si256();
    for (; left >= ROW_GROUPS; left -= ROW_GROUPS) {
        add_row_groups(low, high, w, step, ROW_GROUPS, vectors, total);
        low += ROW_GROUPS * ROW_GROUP, high += ROW_GROUPS * ROW_GROUP, w += ROW_GROUPS * step;
    }
    if (left & 4) {
        add_row_groups(low, high, w, step, 4, vectors, total);
        low += 4 * ROW_GROUP, high += 4 * ROW_GROUP, w += 4 * step;
    }
    for (left &= 3; left > 0; left--) {
        add_row_groups(low, high, w, step, 1, vectors, total);
        low += ROW_GROUP, high += ROW_GROUP, w += step;
    }
    FINISH_ROW(own, output, vectors, total);
}

/* Computes all outputs of a row of at most ROW_BYTES. */
static void multiply_row(const ml_matmul_s8_args *p, const void *own, int64_t groups) {
    split_row row;
    split(p, &row);
    const int8_t *packed = p->packed;
    for (int64_t panel = 0; panel < p->n; panel += ML_PANEL_S8) {
        const int64_t width = ml_width_s8(p->n, panel), step = ROW_GROUP * width;
        const int64_t end = panel + width < p->n ? panel + width : p->n;
        const int8_t *w = packed;
        for (int64_t output = panel; output < end; output += ROW_VECTORS * ROW_OUTPUTS) {
            if (end - output > ROW_VECTORS / 2 * ROW_OUTPUTS)
                row_tile(own, &row, groups, w, step, output, ROW_VECTORS);
            else row_tile(own, &row, groups, w, step, output, ROW_VECTORS / 2);
            w += ROW_VECTORS * ROW_OUTPUTS * ROW_GROUP;
        }
        packed += groups * step;
    }
}

static inline int64_t row_groups(const ml_matmul_s8_args *p) {
    return p->pieces * ml_ceil_div(p->k, ROW_GROUP);
}
