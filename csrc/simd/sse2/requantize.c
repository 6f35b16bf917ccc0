/* requantize.c -- sums that are known to be small, four columns and four rows at a time; others in
 * plain C that the compiler turns into vector code, because sse2 has no signed product of 32 bits.
 *
 * Small sums are scaled as avx512/requantize_small.h says, but for the last step: a shift to the
 * right by another number of bits in each column, which sse2 does not have. In its place 2^31 is
 * added, which makes the number unsigned, the high half of its product with 2^(32 - shift) is
 * taken, and 2^31 >> shift is subtracted.
 *
 * For other sums, SaturatingRoundingDoublingHighMul(a, m), which is floor((a m + 2^30) / 2^31), is
 * computed unsigned, with a + 2^31 in place of a; the result is m larger. RoundingDivideByPOT(h, e)
 * is h * 2^-e rounded half away from zero; in double every step is exact. */
#include <emmintrin.h>
#include <stdbool.h>
#include <string.h>

#include "math/fixed_point.h"
#include "simd/variants.h"

enum { CHUNK = 64, LANES = 4 /* columns of a block, and rows at a time */ };

static bool any_left_shift(const int32_t *shifts, int n) {
    int32_t most = 0;
    for (int i = 0; i < n; i++) most = shifts[i] > most ? shifts[i] : most;
    return most > 0;
}

static void scale(const int32_t *restrict mantissas, const int32_t *restrict shifts, int n,
                  int32_t *restrict v) {
    for (int i = 0; i < n; i++) {
        uint64_t product = (uint64_t)((uint32_t)v[i] ^ 0x80000000u) * (uint32_t)mantissas[i];
        v[i] = (int32_t)((uint32_t)((product + (1u << 30)) >> 31) - (uint32_t)mantissas[i]);
    }
    for (int i = 0; i < n; i++) {
        int32_t bits = (127 + shifts[i]) * (1 << 23); /* the bits of the float 2^shift */
        float power;
        memcpy(&power, &bits, sizeof power);
        double x = (double)v[i] * (double)power;
        v[i] = (int32_t)(x + (x < 0 ? -0.5 : 0.5));
    }
}

/* Requantizes at most CHUNK columns of one row, from `first` on. */
static void requantize_chunk(const ml_requantize_args *p, int64_t row, int64_t first, int n,
                             bool left_shifts) {
    const int32_t *sums = p->sums + row * p->sums_stride + first;
    const int32_t *mantissas = p->mantissas + first, *shifts = p->shifts + first;
    int32_t v[CHUNK], zero = p->zero, low = p->low, high = p->high;
    int8_t *y = p->y + row * p->y_stride + first;
    if (p->bias) {
        const int32_t *bias = p->bias + first;
        for (int i = 0; i < n; i++) v[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)bias[i]);
    } else {
        memcpy(v, sums, (size_t)n * sizeof *v);
    }
    if (left_shifts)
        for (int i = 0; i < n; i++) v[i] = ml_multiply_quantized(v[i], mantissas[i], shifts[i]);
    else scale(mantissas, shifts, n, v);
    for (int i = 0; i < n; i++)
        y[i] = (int8_t)ml_clamp_s32((int32_t)((uint32_t)v[i] + (uint32_t)zero), low, high);
}

/* The constants that scale four columns of small sums; `even` columns and `odd` ones have 64 bits
 * each. */
typedef struct small_block {
    __m128i bias;
    __m128i even, odd;           /* twice the mantissas */
    __m128i even_rest, odd_rest; /* added to products: rounds both steps, and sets 2^31 */
    __m128i even_right, odd_right; /* 2^(32 - shift) */
    __m128i above;                 /* 2^31, shifted */
} small_block;

/* True if the columns from `column` on are a block of small sums, all of which are shifted. */
static bool are_small(const ml_requantize_args *p, int64_t column) {
    if (!ml_may_be_small(p) || p->n - column < LANES) return false;
    const int32_t most = ml_most_mantissa(p->limit);
    for (int64_t i = column; i < column + LANES; i++) {
        const int32_t shift = p->shifts[i];
        if (shift >= 0 || shift < -31 || (shift == -31 && p->mantissas[i] > most)) return false;
    }
    return true;
}

static small_block load_small(const ml_requantize_args *p, int64_t column) {
    uint64_t twice[LANES], rest[LANES], right[LANES];
    int32_t bias[LANES], above[LANES];
    for (int i = 0; i < LANES; i++) {
        const uint32_t m = (uint32_t)p->mantissas[column + i];
        const int shift = -p->shifts[column + i];
        const uint32_t half = (1u << shift >> 1) - 1;
        twice[i] = 2ull * m;
        rest[i] = ((uint64_t)(half - m + (1u << 31)) << 32) + (1ull << 31);
        right[i] = 1ull << (32 - shift);
        above[i] = (int32_t)(1u << (31 - shift));
        bias[i] = (int32_t)((p->bias ? (uint32_t)p->bias[column + i] : 0) + (1u << 31));
    }
    return (small_block){
        .bias = _mm_setr_epi32(bias[0], bias[1], bias[2], bias[3]),
        .even = _mm_set_epi64x((int64_t)twice[2], (int64_t)twice[0]),
        .odd = _mm_set_epi64x((int64_t)twice[3], (int64_t)twice[1]),
        .even_rest = _mm_set_epi64x((int64_t)rest[2], (int64_t)rest[0]),
        .odd_rest = _mm_set_epi64x((int64_t)rest[3], (int64_t)rest[1]),
        .even_right = _mm_set_epi64x((int64_t)right[2], (int64_t)right[0]),
        .odd_right = _mm_set_epi64x((int64_t)right[3], (int64_t)right[1]),
        .above = _mm_setr_epi32(above[0], above[1], above[2], above[3]),
    };
}

static inline __m128i scale_small(const int32_t *sums, const small_block *b) {
    const __m128i x = _mm_add_epi32(_mm_loadu_si128((const __m128i *)(const void *)sums), b->bias);
    const __m128i y = _mm_srli_epi64(x, 32);
    const __m128i even = _mm_add_epi64(_mm_mul_epu32(x, b->even), b->even_rest);
    const __m128i odd = _mm_add_epi64(_mm_mul_epu32(y, b->odd), b->odd_rest);
    /* 1 more if the sum is not negative */
    const __m128i u = _mm_add_epi32(_mm_srli_epi64(even, 32), _mm_srli_epi32(x, 31));
    const __m128i v = _mm_add_epi32(_mm_srli_epi64(odd, 32), _mm_srli_epi64(x, 63));
    const __m128i high = _mm_set_epi32(-1, 0, -1, 0);
    const __m128i to_right = _mm_or_si128(_mm_srli_epi64(_mm_mul_epu32(u, b->even_right), 32),
                                          _mm_and_si128(_mm_mul_epu32(v, b->odd_right), high));
    return _mm_sub_epi32(to_right, b->above);
}

/* Requantizes four columns of all rows, four rows at a time, then one at a time by the same steps.
 * */
static void small_columns(const ml_requantize_args *p, int64_t column) {
    const small_block b = load_small(p, column);
    const __m128i zero = _mm_set1_epi16((int16_t)p->zero), low = _mm_set1_epi16((int16_t)p->low),
                  high = _mm_set1_epi16((int16_t)p->high);
    const int32_t *sums = p->sums + column;
    int8_t *y = p->y + column;
    for (int64_t row = 0, step; row < p->rows; row += step) {
        step = row + LANES <= p->rows ? LANES : 1;
        __m128i v[LANES], words[2];
        for (int i = 0; i < LANES; i++)
            v[i] = scale_small(sums + (i < step ? i * p->sums_stride : 0), &b);
        for (int i = 0; i < 2; i++) {
            words[i] = _mm_adds_epi16(_mm_packs_epi32(v[2 * i], v[2 * i + 1]), zero);
            words[i] = _mm_min_epi16(_mm_max_epi16(words[i], low), high);
        }
        uint32_t bytes[LANES];
        _mm_storeu_si128((__m128i *)(void *)bytes, p->low < 0
                                                       ? _mm_packs_epi16(words[0], words[1])
                                                       : _mm_packus_epi16(words[0], words[1]));
        for (int i = 0; i < step; i++, y += p->y_stride) memcpy(y, &bytes[i], sizeof bytes[i]);
        sums += step * p->sums_stride;
    }
}

static void any_columns(const ml_requantize_args *p, int64_t first, int n) {
    const bool left_shifts = any_left_shift(p->shifts + first, n);
    for (int64_t row = 0; row < p->rows; row++) requantize_chunk(p, row, first, n, left_shifts);
}

void ml_requantize_sse2(const ml_requantize_args *p) {
    for (int64_t first = 0, n; first < p->n; first += n) {
        n = LANES;
        if (are_small(p, first)) {
            small_columns(p, first);
            continue;
        }
        while (n < CHUNK && first + n < p->n && !are_small(p, first + n)) n += LANES;
        if (n > p->n - first) n = p->n - first;
        any_columns(p, first, (int)n);
    }
}
