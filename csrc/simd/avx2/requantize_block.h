/* requantize_block.h -- turns sums of eight columns into bytes, in registers: for requantize,
 * product_s8 and depthwise_product_s8.
 *
 * Even and odd lanes are multiplied separately, in 64 bits. Sums that are known to be small take
 * about half the steps of others: avx512/requantize_small.h says how. */
#ifndef ML_SIMD_AVX2_REQUANTIZE_BLOCK_H
#define ML_SIMD_AVX2_REQUANTIZE_BLOCK_H

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "simd/simd.h"

enum { COLUMNS = 8, TOGETHER = 4 /* vectors that become one of bytes */ };

#define INLINE __attribute__((always_inline)) static inline

/* The constants that scale small sums. */
typedef struct small_block {
    __m256i even, odd, even_rest, odd_rest, right;
    __m256i
        up; /* shifts that leave the 1 to add to sums that are not negative, or 0: see load_small */
} small_block;

/* The constants that scale sums of any size. */
typedef struct any_block {
    __m256i left, mantissas, odd_mantissas, right, below, half;
} any_block;

typedef struct byte_block {
    union {
        small_block small;
        any_block any;
    } by;
    bool is_small;
} byte_block;

/* The constants that all columns share. Unsigned bytes are computed minus 128, and flipped at the
 * end. */
typedef struct ends {
    __m256i zero, low, high, flip;
    const ml_requantize_args *args;
    bool one_sided; /* negative numbers are clamped to the zero point or above */
} ends;

static inline __m256i first_lanes(int64_t count) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count < COLUMNS ? (int)count : COLUMNS), lanes);
}

/* Loads columns from `column` on; lane i gets column order[i], or 0 if that is beyond the last of
 * n. */
INLINE __m256i load_columns(const int32_t *p, int64_t column, int64_t n, __m256i order) {
    const __m256i v = n - column >= COLUMNS
                          ? _mm256_loadu_si256((const __m256i *)(const void *)(p + column))
                          : _mm256_maskload_epi32(p + column, first_lanes(n - column));
    return _mm256_permutevar8x32_epi32(v, order);
}

static inline ends ends_of(const ml_requantize_args *p) {
    const int32_t less = p->low < 0 ? 0 : 128;
    return (ends){.zero = _mm256_set1_epi16((int16_t)(p->zero - less)),
                  .low = _mm256_set1_epi8((char)(p->low - less)),
                  .high = _mm256_set1_epi8((char)(p->high - less)),
                  .flip = _mm256_set1_epi8((char)less),
                  .args = p,
                  .one_sided = p->low >= p->zero};
}

/* The rule that finds blocks of small sums, apart from the blocks, so that the compiler need not
 * load it again after each store to a block. */
typedef struct block_rule {
    __m256i most; /* mantissa at the least shift */
    __m256i order; /* of a block's columns */
    const int32_t *mantissas;
    const int32_t *shifts;
    int64_t n;
    bool may_be_small;
    bool one_sided;
} block_rule;

INLINE block_rule rule_of(const ml_requantize_args *p, __m256i order) {
    block_rule rule = {.order = order,
                       .mantissas = p->mantissas,
                       .shifts = p->shifts,
                       .n = p->n,
                       .one_sided = p->low >= p->zero};
    rule.may_be_small = ml_may_be_small(p);
    if (rule.may_be_small) rule.most = _mm256_set1_epi32(ml_most_mantissa(p->limit));
    return rule;
}

/* True if these columns have small sums: nothing is shifted to the left, and adding half of the
 * bits that are shifted out cannot overflow. */
INLINE bool are_small(const block_rule *rule, __m256i mantissas, __m256i shifts) {
    const __m256i large = _mm256_and_si256(_mm256_cmpgt_epi32(mantissas, rule->most),
                                           _mm256_cmpeq_epi32(shifts, _mm256_set1_epi32(-31)));
    const __m256i beyond =
        _mm256_or_si256(_mm256_cmpgt_epi32(shifts, _mm256_setzero_si256()), large);
    return rule->may_be_small && _mm256_testz_si256(beyond, beyond);
}

INLINE void load_small(__m256i m, __m256i shifts, bool one_sided, small_block *b) {
    const __m256i nothing = _mm256_setzero_si256(), one = _mm256_set1_epi32(1);
    b->right = _mm256_sub_epi32(nothing, shifts);
    const __m256i rounds = _mm256_cmpgt_epi32(b->right, nothing);
    /* half (or half - 1) if anything is shifted out; minus m */
    __m256i rest = _mm256_srli_epi32(_mm256_sllv_epi32(one, b->right), 1);
    if (!one_sided) rest = _mm256_add_epi32(rest, rounds);
    rest = _mm256_sub_epi32(rest, m);
    b->up = _mm256_add_epi32(_mm256_set1_epi32(32), rounds); /* by 31, or by 32: nothing is left */
    b->even = _mm256_slli_epi32(m, 1);
    b->odd = _mm256_srli_epi64(b->even, 32);
    const __m256i nudge = _mm256_set1_epi64x(INT64_C(1) << 31);
    b->even_rest = _mm256_add_epi64(_mm256_slli_epi64(rest, 32), nudge);
    b->odd_rest = _mm256_add_epi64(_mm256_blend_epi32(nothing, rest, 0xAA), nudge);
}

__attribute__((noinline)) static void load_any(__m256i m, __m256i shifts, any_block *b) {
    const __m256i nothing = _mm256_setzero_si256(), ones = _mm256_set1_epi32(-1);
    b->left = _mm256_max_epi32(shifts, nothing);
    b->right = _mm256_sub_epi32(nothing, _mm256_min_epi32(shifts, nothing));
    b->mantissas = m;
    b->odd_mantissas = _mm256_srli_epi64(m, 32);
    b->below = _mm256_andnot_si256(_mm256_sllv_epi32(ones, b->right), ones);
    b->half = _mm256_srli_epi32(b->below, 1);
}

/* Loads the constants of the columns from `column` on. */
static inline void load_block(const block_rule *rule, int64_t column, byte_block *b) {
    const __m256i m = load_columns(rule->mantissas, column, rule->n, rule->order);
    const __m256i shifts = load_columns(rule->shifts, column, rule->n, rule->order);
    b->is_small = are_small(rule, m, shifts);
    if (__builtin_expect(b->is_small, 1)) load_small(m, shifts, rule->one_sided, &b->by.small);
    else load_any(m, shifts, &b->by.any);
}

/* Loads the constants of `n` columns. Never inlined, so that those which all columns share stay in
 * registers. */
__attribute__((noinline, unused)) static void load_blocks(const block_rule *rule, int64_t column,
                                                          int64_t n, byte_block *b) {
    const block_rule own = *rule; /* a copy, not read again after each store */
    for (int64_t i = 0; i < n; i += COLUMNS) load_block(&own, column + i, b++);
}

/* Scales small sums; x is the sum plus 2^31. */
INLINE __m256i scale_small(__m256i x, const small_block *b, const bool one_sided) {
    const __m256i even = _mm256_add_epi64(_mm256_mul_epu32(x, b->even), b->even_rest);
    const __m256i odd =
        _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), b->odd), b->odd_rest);
    const __m256i v = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    if (one_sided) return _mm256_srav_epi32(v, b->right);
    return _mm256_srav_epi32(_mm256_add_epi32(v, _mm256_srlv_epi32(x, b->up)), b->right);
}

/* Scales sums of any size: (v m + 2^30) / 2^31 is a shift of 64 bits, right for the even lanes,
 * left for the odd ones, whose result is wanted in the high half. The shift right then rounds half
 * away from zero: up where the bits that are shifted out, less 1 for a negative value, are above
 * half. Every step is exact for all int32. The zero point is added, and the result clamped. */
static inline __m256i scale_any(__m256i v, const any_block *b, const ml_requantize_args *p) {
    const __m256i nudge = _mm256_set1_epi64x(1 << 30);
    v = _mm256_sllv_epi32(v, b->left);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(v, b->mantissas), nudge);
    const __m256i odd =
        _mm256_add_epi64(_mm256_mul_epi32(_mm256_srli_epi64(v, 32), b->odd_mantissas), nudge);
    v = _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xAA);
    const __m256i rest = _mm256_add_epi32(_mm256_and_si256(v, b->below), _mm256_srai_epi32(v, 31));
    v = _mm256_sub_epi32(_mm256_srav_epi32(v, b->right), _mm256_cmpgt_epi32(rest, b->half));
    v = _mm256_add_epi32(v, _mm256_set1_epi32(p->zero));
    v = _mm256_max_epi32(_mm256_set1_epi32(p->low), v);
    return _mm256_min_epi32(_mm256_set1_epi32(p->high), v);
}

/* Scales sums plus 2^31 in place, for to_bytes. Never inlined, because it is rarely used. */
__attribute__((noinline, unused)) static void scale_any_sums(__m256i *v, int count,
                                                             const byte_block *b, const ends *e) {
    for (int i = 0; i < count; i++) {
        const __m256i sums = _mm256_xor_si256(v[i], _mm256_set1_epi32(INT32_MIN));
        const __m256i scaled = scale_any(sums, &b->by.any, e->args);
        v[i] = _mm256_sub_epi32(scaled, _mm256_set1_epi32(e->args->zero));
    }
}

/* Scales `count` vectors of the same columns' sums, 2^31 more each, to lanes for to_bytes. The
 * constants for sums of any size are in memory, so that those for small ones stay in registers. */
INLINE void scale_sums(__m256i *v, const int count, const byte_block *block, const ends *e) {
    const small_block *b = &block->by.small;
    if (__builtin_expect(!block->is_small, 0)) {
        __m256i any[COLUMNS];
        ML_UNROLL(8)
        for (int i = 0; i < count; i++) any[i] = v[i];
        scale_any_sums(any, count, block, e);
        ML_UNROLL(8)
        for (int i = 0; i < count; i++) v[i] = any[i];
    } else if (e->one_sided) {
        ML_UNROLL(8)
        for (int i = 0; i < count; i++) v[i] = scale_small(v[i], b, true);
    } else {
        ML_UNROLL(8)
        for (int i = 0; i < count; i++) v[i] = scale_small(v[i], b, false);
    }
}

/* Loads eight columns from p on, or the first `count` of them. */
INLINE __m256i some_columns(const int32_t *p, int64_t count, const bool whole) {
    return whole ? _mm256_loadu_si256((const __m256i *)(const void *)p)
                 : _mm256_maskload_epi32(p, first_lanes(count));
}

/* Scales sums plus 2^31, of any size. Never inlined, because it is rarely used. */
__attribute__((noinline, unused)) static __m256i scale_any_alone(__m256i sums, __m256i m,
                                                                 __m256i shifts, const ends *e) {
    byte_block b = {.is_small = false};
    load_any(m, shifts, &b.by.any);
    scale_any_sums(&sums, 1, &b, e);
    return sums;
}

/* Scales one vector of columns' sums to lanes for to_bytes, with constants that no other row
 * needs. */
INLINE __m256i scale_alone(const block_rule *rule, const ends *e, __m256i m, __m256i shifts,
                           __m256i sums) {
    small_block b;
    sums = _mm256_add_epi32(sums, _mm256_set1_epi32(INT32_MIN));
    if (__builtin_expect(!are_small(rule, m, shifts), 0))
        return scale_any_alone(sums, m, shifts, e);
    load_small(m, shifts, false, &b);
    return scale_small(sums, &b, false);
}

/* Converts up to four vectors of eight numbers to bytes, in their order: adds the zero point, and
 * clamps. */
INLINE __m256i to_bytes(const __m256i *v, const int count, const ends *e) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i front =
        _mm256_adds_epi16(_mm256_packs_epi32(v[0], v[count > 1 ? 1 : 0]), e->zero);
    __m256i back = front;
    if (count > 2)
        back = _mm256_adds_epi16(_mm256_packs_epi32(v[2], v[count > 3 ? 3 : 2]), e->zero);
    const __m256i bytes =
        _mm256_min_epi8(e->high, _mm256_max_epi8(e->low, _mm256_packs_epi16(front, back)));
    return _mm256_permutevar8x32_epi32(_mm256_xor_si256(bytes, e->flip), order);
}

/* Writes the first `count` of the low eight bytes. */
static inline void put(int8_t *y, __m128i bytes, int64_t count) {
    int64_t low = _mm_cvtsi128_si64(bytes);
    if (count >= COLUMNS) {
        memcpy(y, &low, COLUMNS);
        return;
    }
    if (count & 4) memcpy(y, &low, 4), y += 4, low >>= 32;
    if (count & 2) memcpy(y, &low, 2), y += 2, low >>= 16;
    if (count & 1) *y = (int8_t)low;
}

/* Writes `count` bytes of each of `rows` quarters of a vector, each to a row of its own. Never
 * inlined, because it is rarely used. */
__attribute__((noinline)) static void put_parts(int8_t *y, int64_t stride, __m256i bytes, int rows,
                                                int64_t count) {
    int8_t all[TOGETHER][COLUMNS];
    _mm256_storeu_si256((__m256i *)(void *)all, bytes);
    for (int r = 0; r < rows; r++) memcpy(y + r * stride, all[r], (size_t)count);
}

/* Writes the upper eight bytes to any address; _mm_storeh_pd wants the address of a double. */
INLINE void put_upper(int8_t *y, __m128i bytes) {
    const int64_t upper = _mm_extract_epi64(bytes, 1);
    memcpy(y, &upper, sizeof upper);
}

INLINE void put_rows(int8_t *y, int64_t stride, __m256i bytes, const int rows, int64_t count) {
    const __m128i two = _mm256_castsi256_si128(bytes), more = _mm256_extracti128_si256(bytes, 1);
    if (__builtin_expect(count < COLUMNS, 0)) {
        put_parts(y, stride, bytes, rows, count);
        return;
    }
    _mm_storel_epi64((__m128i *)(void *)y, two);
    if (rows > 1) put_upper(y + stride, two);
    if (rows > 2) _mm_storel_epi64((__m128i *)(void *)(y + 2 * stride), more);
    if (rows > 3) put_upper(y + 3 * stride, more);
}

#endif
