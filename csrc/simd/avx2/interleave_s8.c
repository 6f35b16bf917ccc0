/* interleave_s8.c -- as sse2/interleave_s8.c, two vectors at a time. */
#include <immintrin.h>

#include "simd/variants.h"

enum { LANES = 16 };

static inline __m128i load(const uint8_t *line, int64_t at, __m128i flip, __m128i pad) {
    if (!line) return pad;
    return _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(line + at)), flip);
}

void ml_interleave_s8_avx2(const ml_interleave_s8_args *p) {
    const __m128i flip = _mm_set1_epi8((char)p->flip), pad = _mm_set1_epi8((char)p->pad);
    int16_t *y = p->y;
    int64_t at = 0;
    for (; at + LANES <= p->count; at += LANES) {
        const __m128i a = load(p->lines[0], at, flip, pad), b = load(p->lines[1], at, flip, pad);
        __m256i *to = (__m256i *)(void *)(y + 2 * at);
        _mm256_storeu_si256(to, _mm256_cvtepu8_epi16(_mm_unpacklo_epi8(a, b)));
        _mm256_storeu_si256(to + 1, _mm256_cvtepu8_epi16(_mm_unpackhi_epi8(a, b)));
    }
    for (; at < p->count; at++)
        for (int line = 0; line < 2; line++)
            y[2 * at + line] = (int16_t)(p->lines[line] ? p->lines[line][at] ^ p->flip : p->pad);
}
