/* transpose_x4.c -- squares of sixteen rows; see transpose_x4.h. */
#include "simd/words.h"

#define EQUAL_S32(a, b) _mm512_cmpeq_epi32_mask(a, b)
#define LOOKUP_OR(other, mask, v, index) _mm512_mask_permutexvar_ps(other, mask, index, v)
#define UNPACK_LOW(a, b) _mm512_unpacklo_ps(a, b)
#define UNPACK_HIGH(a, b) _mm512_unpackhi_ps(a, b)
#define SHUFFLE(a, b, lanes) _mm512_shuffle_ps(a, b, lanes)
__attribute__((always_inline)) static inline __m512 FOURS(const uint8_t *p, int64_t step) {
    const float *first = (const float *)(const void *)p;
    const float *second = (const float *)(const void *)(p + step);
    const float *third = (const float *)(const void *)(p + 2 * step);
    const float *fourth = (const float *)(const void *)(p + 3 * step);
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(first));
    v = _mm512_mask_broadcast_f32x4(v, 0x00F0, _mm_loadu_ps(second));
    v = _mm512_mask_broadcast_f32x4(v, 0x0F00, _mm_loadu_ps(third));
    return _mm512_mask_broadcast_f32x4(v, 0xF000, _mm_loadu_ps(fourth));
}

#include "simd/tiles/transpose_x4.h"

void ml_transpose_x4_avx512(const ml_transpose_args *p) { transpose(p); }
