/* interleave_s8.c -- 64 bytes of four lines at a time, interleaved by permutations of two
 * vectors. */
#include <immintrin.h>

#include "simd/variants.h"

enum { LANES = 16, WIDE = 64 };

static inline __m512i load_wide(const uint8_t *line, int64_t at, __mmask64 there, __m512i flip,
                                __m512i pad) {
    if (!line) return pad;
    return _mm512_xor_si512(_mm512_maskz_loadu_epi8(there, line + at), flip);
}

/* The permutation that interleaves bytes (even) or words of the first halves of two vectors, or of
 * the last halves. */
static inline __m512i turns_of_bytes(const int half) {
    uint8_t at[WIDE];
    for (int i = 0; i < WIDE; i++) at[i] = (uint8_t)(half * 32 + i / 2 + i % 2 * WIDE);
    return _mm512_loadu_si512(at);
}
static inline __m512i turns_of_words(const int half) {
    uint16_t at[WIDE / 2];
    for (int i = 0; i < WIDE / 2; i++) at[i] = (uint16_t)(half * 16 + i / 2 + i % 2 * (WIDE / 2));
    return _mm512_loadu_si512(at);
}

static inline void store_part(uint32_t *y, int64_t left, __m512i v) {
    const uint32_t there = left >= LANES ? 0xFFFF : left > 0 ? (1u << left) - 1 : 0;
    _mm512_mask_storeu_epi32(y, (__mmask16)there, v);
}

/* Interleaves WIDE elements at a time, while more are left than one narrow step does. Returns how
 * many. */
static int64_t interleave_wide(const ml_interleave_s8_args *p) {
    const __m512i flip = _mm512_set1_epi8((char)p->flip), pad = _mm512_set1_epi8((char)p->pad);
    const __m512i bytes[2] = {turns_of_bytes(0), turns_of_bytes(1)};
    const __m512i words[2] = {turns_of_words(0), turns_of_words(1)};
    int64_t at = 0;
    for (int64_t left; (left = p->count - at) > LANES; at += WIDE) {
        const __mmask64 there = left < WIDE ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
        const __m512i a = load_wide(p->lines[0], at, there, flip, pad);
        const __m512i b = load_wide(p->lines[1], at, there, flip, pad);
        const __m512i c = load_wide(p->lines[2], at, there, flip, pad);
        const __m512i d = load_wide(p->lines[3], at, there, flip, pad);
        const __m512i ab[2] = {_mm512_permutex2var_epi8(a, bytes[0], b),
                               _mm512_permutex2var_epi8(a, bytes[1], b)};
        const __m512i cd[2] = {_mm512_permutex2var_epi8(c, bytes[0], d),
                               _mm512_permutex2var_epi8(c, bytes[1], d)};
        const __m512i v[4] = {_mm512_permutex2var_epi16(ab[0], words[0], cd[0]),
                              _mm512_permutex2var_epi16(ab[0], words[1], cd[0]),
                              _mm512_permutex2var_epi16(ab[1], words[0], cd[1]),
                              _mm512_permutex2var_epi16(ab[1], words[1], cd[1])};
        uint32_t *y = (uint32_t *)p->y + at;
        ML_UNROLL(4)
        for (int i = 0; i < 4; i++)
            if (left >= WIDE) _mm512_storeu_si512(y + i * LANES, v[i]);
            else store_part(y + i * LANES, left - i * LANES, v[i]);
    }
    return at;
}

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
    for (int64_t at = interleave_wide(p); at < p->count; at += LANES) {
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
