/* blend_s8_avx512.c -- sixteen channels a vector. */
#include <immintrin.h>

#include "simd.h"

#define FUNCTION ml_blend_s8_avx512
#define VECTOR __m512i
#define ELEMENT int8_t
#define LANES 16

#define FIRST(count) ((__mmask16)((1u << (count)) - 1))
#define LOAD(p) _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)(const void *)(p)))
#define LOAD_PART(p, count) _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(FIRST(count), p))
#define STORE(p, v) _mm_storeu_si128((__m128i *)(void *)(p), _mm512_cvtepi32_epi8(v))
#define STORE_PART(p, v, count) _mm512_mask_cvtepi32_storeu_epi8(p, FIRST(count), v)

typedef struct constants {
    __m512i nw, sw, ne, se;
} constants;

static inline constants begin(ml_blend_part down, ml_blend_part across) {
    const uint32_t d = (uint32_t)down.fixed, a = (uint32_t)across.fixed;
    return (constants){_mm512_set1_epi32((int32_t)((1024 - d) * (1024 - a))),
                       _mm512_set1_epi32((int32_t)(d * (1024 - a))),
                       _mm512_set1_epi32((int32_t)((1024 - d) * a)),
                       _mm512_set1_epi32((int32_t)(d * a))};
}

/* Rounded half away from zero: half is added, less 1 of a sum that is not above 0, and the shift rounds down. */
static inline __m512i blend(const constants *k, __m512i nw, __m512i sw, __m512i ne, __m512i se) {
    const __m512i left =
        _mm512_add_epi32(_mm512_mullo_epi32(nw, k->nw), _mm512_mullo_epi32(sw, k->sw));
    const __m512i right =
        _mm512_add_epi32(_mm512_mullo_epi32(ne, k->ne), _mm512_mullo_epi32(se, k->se));
    const __m512i sum = _mm512_add_epi32(left, right);
    const __m512i half = _mm512_add_epi32(_mm512_set1_epi32(1 << 19), _mm512_srai_epi32(sum, 31));
    return _mm512_srai_epi32(_mm512_add_epi32(sum, half), 20);
}

#include "blend_tile.h"
