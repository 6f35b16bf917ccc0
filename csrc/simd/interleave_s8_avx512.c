/* interleave_s8_avx512.c -- sixteen bytes of four lines side by side in one vector, which a permutation interleaves. */
#include <immintrin.h>

#include "simd.h"

enum { LANES = 16 };

static inline __m128i load(const uint8_t *line, int64_t at, __mmask16 there, __m128i pad) {
    return line ? _mm_maskz_loadu_epi8(there, line + at) : pad;
}

/* Byte 4 i + k of the result is byte 16 k + i. */
static inline __m512i transposed(void) {
    const __m512i each = _mm512_set1_epi32(0x30201000);
    const __m512i i = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_add_epi8(each, _mm512_mullo_epi32(i, _mm512_set1_epi32(0x01010101)));
}

void ml_interleave_s8_avx512(const ml_interleave_s8_args *p) {
    const __m512i order = transposed(), flip = _mm512_set1_epi8((char)p->flip);
    const __m128i pad = _mm_set1_epi8((char)(p->pad ^ p->flip));
    uint32_t *y = p->y;
    for (int64_t at = 0; at < p->count; at += LANES) {
        const int64_t left = p->count - at;
        const __mmask16 there = left < LANES ? (__mmask16)((1u << left) - 1) : 0xFFFF;
        __m512i v = _mm512_castsi128_si512(load(p->lines[0], at, there, pad));
        v = _mm512_inserti32x4(v, load(p->lines[1], at, there, pad), 1);
        v = _mm512_inserti32x4(v, load(p->lines[2], at, there, pad), 2);
        v = _mm512_inserti32x4(v, load(p->lines[3], at, there, pad), 3);
        v = _mm512_permutexvar_epi8(order, _mm512_xor_si512(v, flip));
        _mm512_mask_storeu_epi32(y + at, there, v);
    }
}
