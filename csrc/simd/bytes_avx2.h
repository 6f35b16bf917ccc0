/* bytes_avx2.h -- a function of bytes in 32 bits, for 32 bytes at a time: who includes it names its ARGS, whose members a, b, y,
 * n, steps and limits are those of ml_add_s8_args, SCALAR, the variant that does the rest, and CONSTANTS,
 * what is made of them once; and has
 *
 *     CONSTANTS prepare(const ARGS *args);
 *     __m256i compute(const CONSTANTS *k, __m256i a, __m256i b);
 */
#include <immintrin.h>
#include <stdbool.h>

#include "simd.h"

enum { LANES = 8, WIDE = 32 };

#define INLINE __attribute__((always_inline)) static inline

INLINE __m256i load(const uint8_t *x, int64_t at, const bool steps, const bool is_signed) {
    const __m128i bytes =
        steps ? _mm_loadl_epi64((const __m128i *)(const void *)(x + at)) : _mm_set1_epi8((char)*x);
    return is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
}

/* Four vectors to bytes in their order, saturated, then clamped. */
INLINE __m256i narrow(const __m256i v[4], __m256i low, __m256i high, const bool is_signed) {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i first = _mm256_packs_epi32(v[0], v[1]), second = _mm256_packs_epi32(v[2], v[3]);
    __m256i y = is_signed ? _mm256_packs_epi16(first, second) : _mm256_packus_epi16(first, second);
    y = is_signed ? _mm256_min_epi8(_mm256_max_epi8(y, low), high)
                  : _mm256_min_epu8(_mm256_max_epu8(y, low), high);
    return _mm256_permutevar8x32_epi32(y, order);
}

INLINE void run(const ARGS *args, const bool a_steps, const bool b_steps, const bool is_signed) {
    const ARGS copy = *args, *p = &copy; /* which stores do not change */
    const CONSTANTS constants_of = prepare(p), *k = &constants_of;
    const __m256i low = _mm256_set1_epi8((char)p->low), high = _mm256_set1_epi8((char)p->high);
    int64_t at = 0;
    for (; at + WIDE <= p->n; at += WIDE) {
        __m256i v[WIDE / LANES];
#pragma GCC unroll 4
        for (int i = 0; i < WIDE / LANES; i++)
            v[i] = compute(k, load(p->a, at + i * LANES, a_steps, is_signed),
                           load(p->b, at + i * LANES, b_steps, is_signed));
        _mm256_storeu_si256((__m256i *)(void *)(p->y + at), narrow(v, low, high, is_signed));
    }
    if (at == p->n) return;
    ARGS rest = *p;
    rest.a += at * p->a_step;
    rest.b += at * p->b_step;
    rest.y += at;
    rest.n -= at;
    SCALAR(&rest);
}

/* One of the operands' kinds for each. */
INLINE void run_any(const ARGS *p) {
    if (p->a_step && p->b_step) p->is_signed ? run(p, true, true, true) : run(p, true, true, false);
    else if (p->a_step) p->is_signed ? run(p, true, false, true) : run(p, true, false, false);
    else p->is_signed ? run(p, false, p->b_step, true) : run(p, false, p->b_step, false);
}
