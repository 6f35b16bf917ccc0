/* interleave_s8.c -- interleaves as sse2/interleave_s8.c does, two vectors at a time; the last
 * vector overwrites some elements with the same values. */
#include <immintrin.h>
#include <stdbool.h>

#include "simd/variants.h"

#define INLINE __attribute__((always_inline)) static inline

enum { LANES = 16 };

INLINE void put(__m128i a, __m128i b, int16_t *y) {
    __m256i *to = (__m256i *)(void *)y;
    _mm256_storeu_si256(to, _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b)));
    _mm256_storeu_si256(to + 1, _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b)));
}

INLINE __m128i load(const uint8_t *from, __m128i flip, const bool is_there, __m128i pad) {
    return is_there ? _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)from), flip)
                    : pad;
}

/* Interleaves at least a vector of both lines; `first` and `second` are true for those that
 * exist. */
INLINE void interleave(const ml_interleave_s8_args *p, const bool first, const bool second) {
    const __m128i flip = _mm_set1_epi8((char)p->flip), pad = _mm_set1_epi8((char)p->pad);
    const uint8_t *a = p->lines[0], *b = p->lines[1];
    const int64_t last = p->count - LANES;
    int16_t *y = p->y;
    for (int64_t at = 0; at < last; at += LANES)
        put(load(a + at, flip, first, pad), load(b + at, flip, second, pad), y + 2 * at);
    put(load(a + last, flip, first, pad), load(b + last, flip, second, pad), y + 2 * last);
}

void ml_interleave_s8_avx2(const ml_interleave_s8_args *p) {
    const bool first = p->lines[0] != NULL, second = p->lines[1] != NULL;
    int16_t *y = p->y;
    if (p->count < LANES)
        for (int64_t at = 0; at < 2 * p->count; at++) {
            const uint8_t *line = p->lines[at % 2];
            y[at] = (int16_t)(line ? line[at / 2] ^ p->flip : p->pad);
        }
    else if (first && second) interleave(p, true, true);
    else if (first) interleave(p, true, false);
    else if (second) interleave(p, false, true);
    else interleave(p, false, false);
}
