/* blend_s8_avx2.c -- eight channels a vector. */
#include <immintrin.h>
#include <string.h>
#include "simd.h"

#define FUNCTION ml_blend_s8_avx2
#define VECTOR __m256i
#define ELEMENT int8_t
#define LANES 8

#define LOAD(p) _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)(p)))
#define LOAD_PART(p, count) _mm256_cvtepi8_epi32(load_part(p, count))
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
    __m256i nw, sw, ne, se;
} constants;

static inline constants begin(ml_blend_part down, ml_blend_part across) {
    const uint32_t d = (uint32_t)down.fixed, a = (uint32_t)across.fixed;
    return (constants){_mm256_set1_epi32((int32_t)((1024 - d) * (1024 - a))),
                       _mm256_set1_epi32((int32_t)(d * (1024 - a))),
                       _mm256_set1_epi32((int32_t)((1024 - d) * a)),
                       _mm256_set1_epi32((int32_t)(d * a))};
}

/* Rounded half away from zero: half is added, less 1 of a sum that is not above 0, and the shift rounds down. */
static inline __m256i blend(const constants *k, __m256i nw, __m256i sw, __m256i ne, __m256i se) {
    const __m256i left =
        _mm256_add_epi32(_mm256_mullo_epi32(nw, k->nw), _mm256_mullo_epi32(sw, k->sw));
    const __m256i right =
        _mm256_add_epi32(_mm256_mullo_epi32(ne, k->ne), _mm256_mullo_epi32(se, k->se));
    const __m256i sum = _mm256_add_epi32(left, right);
    const __m256i half = _mm256_add_epi32(_mm256_set1_epi32(1 << 19), _mm256_srai_epi32(sum, 31));
    return _mm256_srai_epi32(_mm256_add_epi32(sum, half), 20);
}

#include "blend_tile.h"
