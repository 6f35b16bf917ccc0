/* requantize_small.h -- requantizes sums that are known to be small to bytes, in about half the
 * steps that other sums need; for requantize and product_s8.
 *
 * Small sums cannot overflow. A sum x is taken as the unsigned number x + 2^31, so that the high
 * half of its product with 2 m is m too large. One 64-bit constant per column rounds the product,
 * subtracts m, and adds half of the last bit that the shift keeps, minus 1. That 1 is added again
 * if x is not negative; or always, if negative results are clamped to the zero point or above
 * anyway. The zero point is added to 16-bit words, which saturate. */
#include <immintrin.h>
#include <stdbool.h>

#include "simd/simd.h"

enum { COLUMNS = 16, MOST_VECTORS = 4 };

typedef struct small_block {
    __m512i bias, even, odd, even_rest, odd_rest, right;
    /* A shift that leaves 1 if the sum is not negative, or 0 if nothing is shifted out. */
    __m512i up;
    __mmask16 there;
} small_block;

/* The first `left` lanes. */
static inline __mmask16 first(int64_t left) {
    return left < COLUMNS ? (__mmask16)((1u << (left > 0 ? left : 0)) - 1) : 0xFFFF;
}

/* Loads the constants of a block. If `one_sided`, the 1 is always added again. */
static inline void load_small(const ml_requantize_args *p, int64_t column, bool one_sided,
                              small_block *b) {
    const __m512i ones = _mm512_set1_epi32(-1), nothing = _mm512_setzero_si512();
    b->there = first(p->n - column);
    const __m512i m = _mm512_maskz_loadu_epi32(b->there, p->mantissas + column);
    b->right = _mm512_sub_epi32(nothing, _mm512_maskz_loadu_epi32(b->there, p->shifts + column));
    const __mmask16 rounds = _mm512_test_epi32_mask(b->right, b->right);
    b->up = _mm512_mask_add_epi32(_mm512_set1_epi32(32), rounds, _mm512_set1_epi32(32), ones);
    b->bias = _mm512_set1_epi32(INT32_MIN);
    if (p->bias)
        b->bias = _mm512_add_epi32(b->bias, _mm512_maskz_loadu_epi32(b->there, p->bias + column));
    /* half (or half - 1) if anything is shifted out; minus m */
    __m512i rest = _mm512_srli_epi32(_mm512_sllv_epi32(_mm512_set1_epi32(1), b->right), 1);
    if (!one_sided) rest = _mm512_mask_add_epi32(rest, rounds, rest, ones);
    rest = _mm512_sub_epi32(rest, m);
    b->even = _mm512_slli_epi32(m, 1);
    b->odd = _mm512_srli_epi64(b->even, 32);
    const __m512i nudge = _mm512_set1_epi64(INT64_C(1) << 31);
    b->even_rest = _mm512_add_epi64(_mm512_slli_epi64(rest, 32), nudge);
    b->odd_rest = _mm512_add_epi64(_mm512_mask_mov_epi32(nothing, 0xAAAA, rest), nudge);
}

/* Scales sums that include the block's bias. */
static inline __m512i scale_small(__m512i x, const small_block *b, const bool one_sided) {
    const __m512i even = _mm512_add_epi64(_mm512_mul_epu32(x, b->even), b->even_rest);
    const __m512i odd =
        _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(x, 32), b->odd), b->odd_rest);
    const __m512i v = _mm512_castps_si512(
        _mm512_mask_movehdup_ps(_mm512_castsi512_ps(odd), 0x5555, _mm512_castsi512_ps(even)));
    if (one_sided) return _mm512_srav_epi32(v, b->right);
    return _mm512_srav_epi32(_mm512_add_epi32(v, _mm512_srlv_epi32(x, b->up)), b->right);
}

static inline bool is_one_sided(const ml_requantize_args *p) { return p->low >= p->zero; }

/* Constants that all columns share. */
typedef struct ends {
    __m512i zero, low, high, flip;
} ends;

/* Unsigned bytes are computed minus 128. */
static inline ends ends_of(int32_t zero, int32_t low, int32_t high) {
    const int32_t less = low < 0 ? 0 : 128;
    return (ends){_mm512_set1_epi16((int16_t)(zero - less)), _mm512_set1_epi8((char)(low - less)),
                  _mm512_set1_epi8((char)(high - less)), _mm512_set1_epi8((char)less)};
}

/* Four vectors as saturated bytes, in the order of the vectors. */
static inline __m512i to_bytes(const __m512i v[MOST_VECTORS], const ends *e) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i first = _mm512_adds_epi16(_mm512_packs_epi32(v[0], v[1]), e->zero);
    const __m512i second = _mm512_adds_epi16(_mm512_packs_epi32(v[2], v[3]), e->zero);
    __m512i bytes = _mm512_packs_epi16(first, second);
    bytes = _mm512_min_epi8(e->high, _mm512_max_epi8(e->low, bytes));
    return _mm512_permutexvar_epi32(order, _mm512_xor_si512(bytes, e->flip));
}

/* Stores rows of 16, 32 or 64 bytes of a vector, in full or in part. */
__attribute__((always_inline)) static inline void store_rows(int8_t *y, int64_t stride,
                                                             __m512i bytes, const int vectors,
                                                             const int rows, int64_t left) {
    const bool whole = left >= vectors * COLUMNS && vectors != 3;
    const __mmask64 there = left < vectors * COLUMNS
                                ? ((__mmask64)1 << left) - 1
                                : ((__mmask64)1 << (vectors & 3) * COLUMNS) - 1;
    ML_UNROLL(4)
    for (int row = 0; row < rows; row++, y += stride) {
        const __m256i half =
            row * vectors < 2 ? _mm512_castsi512_si256(bytes) : _mm512_extracti64x4_epi64(bytes, 1);
        const __m128i quarter =
            row % 2 ? _mm256_extracti128_si256(half, 1) : _mm256_castsi256_si128(half);
        if (vectors == 1 && whole) _mm_storeu_si128((__m128i *)(void *)y, quarter);
        else if (vectors == 1) _mm_mask_storeu_epi8(y, (__mmask16)there, quarter);
        else if (vectors == 2 && whole) _mm256_storeu_si256((__m256i *)(void *)y, half);
        else if (vectors == 2) _mm256_mask_storeu_epi8(y, (__mmask32)there, half);
        else if (whole) _mm512_storeu_si512(y, bytes);
        else _mm512_mask_storeu_epi8(y, there, bytes);
    }
}

/* True if these columns' sums are small: nothing is shifted to the left, and rounding cannot
 * overflow. */
static inline bool is_small(const ml_requantize_args *p, int64_t column, int64_t count) {
    if (!ml_may_be_small(p)) return false;
    const __m512i most = _mm512_set1_epi32(ml_most_mantissa(p->limit));
    const __m512i last = _mm512_set1_epi32(31);
    __mmask16 beyond = 0;
    for (int64_t i = 0; i < count; i += COLUMNS) {
        const int64_t left = count - i;
        const __mmask16 there = left < COLUMNS ? (__mmask16)((1u << left) - 1) : 0xFFFF;
        const __m512i shifts = _mm512_maskz_loadu_epi32(there, p->shifts + column + i);
        const __m512i right = _mm512_sub_epi32(_mm512_setzero_si512(), shifts);
        beyond |= _mm512_cmpgt_epu32_mask(right, last);
        if (p->limit <= ML_LIMIT) continue;
        const __m512i m = _mm512_maskz_loadu_epi32(there, p->mantissas + column + i);
        beyond |= _mm512_mask_cmpgt_epi32_mask(_mm512_cmpeq_epi32_mask(right, last), m, most);
    }
    return !beyond;
}
