/* bytes_avx512.h -- a function of bytes in 32 bits, for 64 bytes at a time: who includes it names its ARGS, whose members a, b, y,
 * n, steps and limits are those of ml_add_s8_args, and CONSTANTS, what is made of them once; and has
 *
 *     CONSTANTS prepare(const ARGS *args);
 *     __m512i compute(const CONSTANTS *k, __m512i a, __m512i b);
 */
#include <immintrin.h>
#include <stdbool.h>

#include "simd.h"

enum { LANES = 16, WIDE = 64 };

#define INLINE __attribute__((always_inline)) static inline

INLINE __m512i widen(__m128i bytes, const bool is_signed) {
    return is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
}

INLINE __m512i load(const uint8_t *x, int64_t at, const bool steps, const bool is_signed) {
    if (!steps) return widen(_mm_set1_epi8((char)*x), is_signed);
    return widen(_mm_loadu_si128((const __m128i *)(const void *)(x + at)), is_signed);
}

/* Four vectors to bytes in their order, saturated, then clamped. */
INLINE __m512i narrow(const __m512i v[4], __m512i low, __m512i high, const bool is_signed) {
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    const __m512i first = _mm512_packs_epi32(v[0], v[1]), second = _mm512_packs_epi32(v[2], v[3]);
    __m512i y = is_signed ? _mm512_packs_epi16(first, second) : _mm512_packus_epi16(first, second);
    y = is_signed ? _mm512_min_epi8(_mm512_max_epi8(y, low), high)
                  : _mm512_min_epu8(_mm512_max_epu8(y, low), high);
    return _mm512_permutexvar_epi32(order, y);
}

INLINE void run(const ARGS *args, const bool a_steps, const bool b_steps, const bool is_signed) {
    const ARGS copy = *args, *p = &copy; /* which stores do not change */
    const CONSTANTS constants_of = prepare(p), *k = &constants_of;
    const __m512i low = _mm512_set1_epi8((char)p->low), high = _mm512_set1_epi8((char)p->high);
    int64_t at = 0;
    for (; at + WIDE <= p->n; at += WIDE) {
        __m512i v[WIDE / LANES];
#pragma GCC unroll 4
        for (int i = 0; i < WIDE / LANES; i++)
            v[i] = compute(k, load(p->a, at + i * LANES, a_steps, is_signed),
                           load(p->b, at + i * LANES, b_steps, is_signed));
        _mm512_storeu_si512(p->y + at, narrow(v, low, high, is_signed));
    }
    for (; at < p->n; at += LANES) {
        const int64_t left = p->n - at;
        const __mmask16 there = left < LANES ? (__mmask16)((1u << left) - 1) : 0xFFFF;
        const __m128i a =
            a_steps ? _mm_maskz_loadu_epi8(there, p->a + at) : _mm_set1_epi8((char)*p->a);
        const __m128i b =
            b_steps ? _mm_maskz_loadu_epi8(there, p->b + at) : _mm_set1_epi8((char)*p->b);
        const __m512i v = compute(k, widen(a, is_signed), widen(b, is_signed));
        const __m512i y = _mm512_max_epi32(_mm512_min_epi32(v, _mm512_set1_epi32(p->high)),
                                           _mm512_set1_epi32(p->low));
        _mm_mask_storeu_epi8(p->y + at, there, _mm512_cvtepi32_epi8(y));
    }
}

/* One of the operands' kinds for each. */
INLINE void run_any(const ARGS *p) {
    if (p->a_step && p->b_step) p->is_signed ? run(p, true, true, true) : run(p, true, true, false);
    else if (p->a_step) p->is_signed ? run(p, true, false, true) : run(p, true, false, false);
    else p->is_signed ? run(p, false, p->b_step, true) : run(p, false, p->b_step, false);
}
