/* blend_u8_avx2.c -- eight channels a vector. */
#include <immintrin.h>
#include <string.h>
#include "simd.h"

#define FUNCTION ml_blend_u8_avx2
#define VECTOR __m256i
#define ELEMENT uint8_t
#define LANES 8

#define LOAD(p) _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
#define LOAD_PART(p, count) _mm256_cvtepu8_epi32(load_part(p, count))
#define STORE(p, v) store_part(p, v, LANES)
#define STORE_PART(p, v, count) store_part(p, v, count)

static inline __m128i load_part(const void *p, int count) {
    int64_t bytes = 0;
    memcpy(&bytes, p, (size_t)count);
    return _mm_cvtsi64_si128(bytes);
}

static inline void store_part(void *p, __m256i v, int count) {
    v = _mm256_shuffle_epi8(v, _mm256_set1_epi32(0x0C080400));
    const __m128i eight =
        _mm_unpacklo_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    const int64_t bytes = _mm_cvtsi128_si64(eight);
    memcpy(p, &bytes, (size_t)count);
}

typedef struct constants {
    __m256 upper, lower, left, right;
} constants;

static inline constants begin(ml_blend_part down, ml_blend_part across) {
    return (constants){_mm256_set1_ps(1.0f - down.real), _mm256_set1_ps(down.real),
                       _mm256_set1_ps(1.0f - across.real), _mm256_set1_ps(across.real)};
}

/* In the order of blend_plain.h. */
static inline __m256 blend_real(const constants *k, __m256 nw, __m256 sw, __m256 ne, __m256 se) {
    const __m256 a = _mm256_mul_ps(_mm256_mul_ps(nw, k->upper), k->left);
    const __m256 b = _mm256_mul_ps(_mm256_mul_ps(sw, k->lower), k->left);
    const __m256 d = _mm256_mul_ps(_mm256_mul_ps(ne, k->upper), k->right);
    const __m256 e = _mm256_mul_ps(_mm256_mul_ps(se, k->lower), k->right);
    return _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(a, b), d), e);
}

static inline __m256i blend(const constants *k, __m256i nw, __m256i sw, __m256i ne, __m256i se) {
    const __m256 real = blend_real(k, _mm256_cvtepi32_ps(nw), _mm256_cvtepi32_ps(sw),
                                   _mm256_cvtepi32_ps(ne), _mm256_cvtepi32_ps(se));
    return _mm256_cvttps_epi32(_mm256_add_ps(real, _mm256_set1_ps(0.5f)));
}

#include "blend_tile.h"
