/* add_s16.c -- eight sums per vector, like avx512/add_s16.c. */
#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "simd/variants.h"

enum { LANES = 8 };

#define INLINE __attribute__((always_inline)) static inline

typedef struct scale {
    __m256i twice, rest; /* of 64 bits */
    __m256i zero;
    __m128i most; /* the right shift, minus one bit */
    bool shifts;
} scale;

static scale scale_of(const ml_add_s16_scale *s) {
    return (scale){
        _mm256_set1_epi64x((int64_t)s->mantissa * 2),
        _mm256_set1_epi64x((INT64_C(1) << 31) - (int64_t)s->mantissa * (INT64_C(1) << 32)),
        _mm256_set1_epi32(s->zero), _mm_cvtsi32_si128(-s->shift - 1), s->shift < 0};
}

/* ml_multiply_quantized for shifts <= 0. */
INLINE __m256i multiply(__m256i v, const scale *s) {
    const __m256i x = _mm256_xor_si256(v, _mm256_set1_epi32(INT32_MIN));
    const __m256i even = _mm256_add_epi64(_mm256_mul_epu32(x, s->twice), s->rest);
    const __m256i odd =
        _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(x, 32), s->twice), s->rest);
    const __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    if (!s->shifts) return high;
    const __m256i less = _mm256_add_epi32(high, _mm256_srai_epi32(high, 31));
    const __m256i halves = _mm256_sra_epi32(less, s->most);
    return _mm256_srai_epi32(_mm256_add_epi32(halves, _mm256_set1_epi32(1)), 1);
}

INLINE __m256i term(__m128i words, const scale *s) {
    const __m256i x = _mm256_sub_epi32(_mm256_cvtepi16_epi32(words), s->zero);
    return multiply(_mm256_slli_epi32(x, ML_LEFT_S16), s);
}

INLINE __m128i load(const int16_t *x, int64_t at, int32_t step, int64_t count) {
    if (!step) return _mm_set1_epi16(*x);
    __m128i words = _mm_setzero_si128();
    memcpy(&words, x + at, (size_t)count * sizeof *x);
    return words;
}

typedef struct constants {
    scale of_a, of_b, of_y;
    __m256i low, high;
} constants;

INLINE __m128i some(const ml_add_s16_args *p, const constants *k, int64_t at, int64_t count) {
    const __m256i a = term(load(p->a, at, p->a_step, count), &k->of_a);
    const __m256i b = term(load(p->b, at, p->b_step, count), &k->of_b);
    const __m256i sum = p->subtracts ? _mm256_sub_epi32(a, b) : _mm256_add_epi32(a, b);
    const __m256i v = _mm256_add_epi32(multiply(sum, &k->of_y), k->of_y.zero);
    const __m256i y = _mm256_min_epi32(k->high, _mm256_max_epi32(k->low, v));
    return _mm_packs_epi32(_mm256_castsi256_si128(y), _mm256_extracti128_si256(y, 1));
}

static void add(const ml_add_s16_args *args) {
    const ml_add_s16_args p = *args; /* a copy, not read again after each store */
    const constants k = {scale_of(&p.of_a), scale_of(&p.of_b), scale_of(&p.of_y),
                         _mm256_set1_epi32(p.low), _mm256_set1_epi32(p.high)};
    int64_t at = 0;
    for (; at + LANES <= p.n; at += LANES)
        _mm_storeu_si128((__m128i *)(void *)(p.y + at), some(&p, &k, at, LANES));
    if (at >= p.n) return;
    const __m128i rest = some(&p, &k, at, p.n - at);
    memcpy(p.y + at, &rest, (size_t)(p.n - at) * sizeof *p.y);
}

void ml_add_s16_avx2(const ml_add_s16_args *p) {
    if (p->of_a.shift > 0 || p->of_b.shift > 0 || p->of_y.shift > 0) ml_add_s16_scalar(p);
    else add(p);
}
