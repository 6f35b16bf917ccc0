/* add_s16.c -- sixteen sums per vector; each operand and then the sum is scaled in 64 bits.
 *
 * The upper half of (x + 2^31, unsigned, times twice the mantissa, plus 2^31) is the high product
 * plus the mantissa. Shifting right by all bits but one, and then by the last one, rounds half away
 * from zero, if 1 is subtracted from negative numbers. */
#include <immintrin.h>
#include <stdbool.h>

#include "simd/variants.h"

enum { LANES = 16 };

#define INLINE __attribute__((always_inline)) static inline

typedef struct scale {
    __m512i twice, rest; /* of 64 bits */
    __m512i zero;
    __m128i most; /* the right shift, minus one bit */
    bool shifts;
} scale;

static scale scale_of(const ml_add_s16_scale *s) {
    return (scale){
        _mm512_set1_epi64((int64_t)s->mantissa * 2),
        _mm512_set1_epi64((INT64_C(1) << 31) - (int64_t)s->mantissa * (INT64_C(1) << 32)),
        _mm512_set1_epi32(s->zero), _mm_cvtsi32_si128(-s->shift - 1), s->shift < 0};
}

/* ml_multiply_quantized for shifts <= 0. */
INLINE __m512i multiply(__m512i v, const scale *s) {
    const __m512i x = _mm512_xor_si512(v, _mm512_set1_epi32(INT32_MIN));
    const __m512i even = _mm512_add_epi64(_mm512_mul_epu32(x, s->twice), s->rest);
    const __m512i odd =
        _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(x, 32), s->twice), s->rest);
    const __m512i high = _mm512_castps_si512(
        _mm512_mask_movehdup_ps(_mm512_castsi512_ps(odd), 0x5555, _mm512_castsi512_ps(even)));
    if (!s->shifts) return high;
    const __m512i less = _mm512_add_epi32(high, _mm512_srai_epi32(high, 31));
    const __m512i halves = _mm512_sra_epi32(less, s->most);
    return _mm512_srai_epi32(_mm512_add_epi32(halves, _mm512_set1_epi32(1)), 1);
}

INLINE __m512i term(__m256i words, const scale *s) {
    const __m512i x = _mm512_sub_epi32(_mm512_cvtepi16_epi32(words), s->zero);
    return multiply(_mm512_slli_epi32(x, ML_LEFT_S16), s);
}

INLINE __m256i load(const int16_t *x, int64_t at, int32_t step, __mmask16 there) {
    return step ? _mm256_maskz_loadu_epi16(there, x + at) : _mm256_set1_epi16(*x);
}

static void add(const ml_add_s16_args *args) {
    const ml_add_s16_args p = *args; /* a copy, not read again after each store */
    const scale of_a = scale_of(&p.of_a), of_b = scale_of(&p.of_b), of_y = scale_of(&p.of_y);
    const __m512i low = _mm512_set1_epi32(p.low), high = _mm512_set1_epi32(p.high);
    for (int64_t at = 0; at < p.n; at += LANES) {
        const int64_t left = p.n - at;
        const __mmask16 there = left < LANES ? (__mmask16)((1u << left) - 1) : 0xFFFF;
        const __m512i a = term(load(p.a, at, p.a_step, there), &of_a);
        const __m512i b = term(load(p.b, at, p.b_step, there), &of_b);
        const __m512i sum = p.subtracts ? _mm512_sub_epi32(a, b) : _mm512_add_epi32(a, b);
        const __m512i v = _mm512_add_epi32(multiply(sum, &of_y), of_y.zero);
        const __m512i y = _mm512_min_epi32(high, _mm512_max_epi32(low, v));
        if (left >= LANES)
            _mm256_storeu_si256((__m256i *)(void *)(p.y + at), _mm512_cvtepi32_epi16(y));
        else _mm512_mask_cvtepi32_storeu_epi16(p.y + at, there, y);
    }
}

void ml_add_s16_avx512(const ml_add_s16_args *p) {
    if (p->of_a.shift > 0 || p->of_b.shift > 0 || p->of_y.shift > 0) ml_add_s16_scalar(p);
    else add(p);
}
