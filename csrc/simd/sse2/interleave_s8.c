/* interleave_s8.c -- pairs of int16, sixteen bytes of each line at a time. */
#include <emmintrin.h>

#include "simd/variants.h"

enum { LANES = 16 };

static inline __m128i load(const uint8_t *line, int64_t at, __m128i flip, __m128i pad) {
    if (!line) return pad;
    return _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(line + at)), flip);
}

void ml_interleave_s8_sse2(const ml_interleave_s8_args *p) {
    const __m128i nothing = _mm_setzero_si128(), pad = _mm_set1_epi8((char)p->pad);
    const __m128i flip = _mm_set1_epi8((char)p->flip);
    int16_t *y = p->y;
    int64_t at = 0;
    for (; at + LANES <= p->count; at += LANES) {
        const __m128i a = load(p->lines[0], at, flip, pad), b = load(p->lines[1], at, flip, pad);
        const __m128i low = _mm_unpacklo_epi8(a, b), high = _mm_unpackhi_epi8(a, b);
        __m128i *to = (__m128i *)(void *)(y + 2 * at);
        _mm_storeu_si128(to, _mm_unpacklo_epi8(low, nothing));
        _mm_storeu_si128(to + 1, _mm_unpackhi_epi8(low, nothing));
        _mm_storeu_si128(to + 2, _mm_unpacklo_epi8(high, nothing));
        _mm_storeu_si128(to + 3, _mm_unpackhi_epi8(high, nothing));
    }
    for (; at < p->count; at++)
        for (int line = 0; line < 2; line++)
            y[2 * at + line] = (int16_t)(p->lines[line] ? p->lines[line][at] ^ p->flip : p->pad);
}
