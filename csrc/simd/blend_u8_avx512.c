/* blend_u8_avx512.c -- sixteen channels a vector. */
#include <immintrin.h>

#include "simd.h"

#define FUNCTION ml_blend_u8_avx512
#define VECTOR __m512i
#define ELEMENT uint8_t
#define LANES 16

#define FIRST(count) ((__mmask16)((1u << (count)) - 1))
#define LOAD(p) _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define LOAD_PART(p, count) _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(FIRST(count), p))
#define STORE(p, v) _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8(v))
#define STORE_PART(p, v, count) _mm512_mask_cvtepi32_storeu_epi8(p, FIRST(count), v)

typedef struct constants {
    __m512 upper, lower, left, right;
} constants;

static inline constants begin(ml_blend_part down, ml_blend_part across) {
    return (constants){_mm512_set1_ps(1.0f - down.real), _mm512_set1_ps(down.real),
                       _mm512_set1_ps(1.0f - across.real), _mm512_set1_ps(across.real)};
}

/* In the order of blend_plain.h. */
static inline __m512 blend_real(const constants *k, __m512 nw, __m512 sw, __m512 ne, __m512 se) {
    const __m512 a = _mm512_mul_ps(_mm512_mul_ps(nw, k->upper), k->left);
    const __m512 b = _mm512_mul_ps(_mm512_mul_ps(sw, k->lower), k->left);
    const __m512 d = _mm512_mul_ps(_mm512_mul_ps(ne, k->upper), k->right);
    const __m512 e = _mm512_mul_ps(_mm512_mul_ps(se, k->lower), k->right);
    return _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(a, b), d), e);
}

static inline __m512i blend(const constants *k, __m512i nw, __m512i sw, __m512i ne, __m512i se) {
    const __m512 real = blend_real(k, _mm512_cvtepi32_ps(nw), _mm512_cvtepi32_ps(sw),
                                   _mm512_cvtepi32_ps(ne), _mm512_cvtepi32_ps(se));
    return _mm512_cvttps_epi32(_mm512_add_ps(real, _mm512_set1_ps(0.5f)));
}

#include "blend_tile.h"
