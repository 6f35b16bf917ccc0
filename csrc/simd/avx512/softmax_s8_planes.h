/* softmax_s8_planes.h -- exponentials of 64 bytes at a time: their table lies in four planes
 * of bytes, each in four vectors.
 *
 * Values from planes are unpacked within lanes to 16 numbers per vector, and results are packed in
 * the same way, so no order has to be restored. */
#ifndef ML_SIMD_SOFTMAX_S8_PLANES_AVX512_H
#define ML_SIMD_SOFTMAX_S8_PLANES_AVX512_H

#include <immintrin.h>

#include "simd/simd.h"

enum { LANES = 64, VECTORS = 4, PLANES = 4 };

typedef struct planes {
    __m512i parts[PLANES][VECTORS];
} planes;

static planes split(const int32_t *exps) {
    uint8_t bytes[PLANES][256];
    planes p;
    for (int k = 0; k < PLANES; k++)
        for (int i = 0; i < 256; i++) bytes[k][i] = (uint8_t)((uint32_t)exps[i] >> 8 * k);
    for (int k = 0; k < PLANES; k++)
        for (int v = 0; v < VECTORS; v++) p.parts[k][v] = _mm512_loadu_si512(bytes[k] + v * LANES);
    return p;
}

static inline __m512i plane(const __m512i parts[VECTORS], __m512i index, __mmask64 upper) {
    const __m512i low = _mm512_permutex2var_epi8(parts[0], index, parts[1]);
    const __m512i high = _mm512_permutex2var_epi8(parts[2], index, parts[3]);
    return _mm512_mask_blend_epi8(upper, low, high);
}

/* The exponentials by index; 0 for lanes not in `there`. */
static inline void look_up(const planes *p, __m512i index, __mmask64 there, __m512i e[VECTORS]) {
    const __mmask64 upper = _mm512_movepi8_mask(index);
    __m512i bytes[PLANES];
    ML_UNROLL(4)
    for (int k = 0; k < PLANES; k++)
        bytes[k] = _mm512_maskz_mov_epi8(there, plane(p->parts[k], index, upper));
    const __m512i low = _mm512_unpacklo_epi8(bytes[0], bytes[1]);
    const __m512i low_high = _mm512_unpackhi_epi8(bytes[0], bytes[1]);
    const __m512i high = _mm512_unpacklo_epi8(bytes[2], bytes[3]);
    const __m512i high_high = _mm512_unpackhi_epi8(bytes[2], bytes[3]);
    e[0] = _mm512_unpacklo_epi16(low, high);
    e[1] = _mm512_unpackhi_epi16(low, high);
    e[2] = _mm512_unpacklo_epi16(low_high, high_high);
    e[3] = _mm512_unpackhi_epi16(low_high, high_high);
}

static inline __mmask64 first(int64_t count) {
    return count < LANES ? ((__mmask64)1 << count) - 1 : ~(__mmask64)0;
}

/* ml_rounding_shift_right(ml_doubling_high_mul(e, reciprocal), shift) of numbers that are not
 * negative: the product with `twice` the reciprocal, plus 2^31, has the high product in its upper
 * half. */
static inline __m512i scale(__m512i e, __m512i twice, __m512i shift) {
    const __m512i nudge = _mm512_set1_epi64(INT64_C(1) << 31);
    const __m512i half = _mm512_srli_epi32(_mm512_sllv_epi32(_mm512_set1_epi32(1), shift), 1);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epu32(e, twice), nudge);
    const __m512i odd = _mm512_add_epi64(
        _mm512_mul_epu32(_mm512_srli_epi64(e, 32), _mm512_srli_epi64(twice, 32)), nudge);
    const __m512i v = _mm512_castps_si512(
        _mm512_mask_movehdup_ps(_mm512_castsi512_ps(odd), 0x5555, _mm512_castsi512_ps(even)));
    return _mm512_srlv_epi32(_mm512_add_epi32(v, half), shift);
}

/* Packs numbers, in the order of look_up, to bytes from 0 to 255. */
static inline __m512i join(const __m512i v[VECTORS]) {
    return _mm512_packus_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
}

#endif
