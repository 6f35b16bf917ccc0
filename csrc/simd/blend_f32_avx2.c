/* blend_f32_avx2.c -- eight channels a vector. */
#include <immintrin.h>

#include "simd.h"

#define FUNCTION ml_blend_f32_avx2
#define VECTOR __m256
#define ELEMENT float
#define LANES 8

#define LOAD(p) _mm256_loadu_ps(p)
#define LOAD_PART(p, count) _mm256_maskload_ps(p, first(count))
#define STORE(p, v) _mm256_storeu_ps(p, v)
#define STORE_PART(p, v, count) _mm256_maskstore_ps(p, first(count), v)

static inline __m256i first(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

typedef struct constants {
    __m256 upper, lower, left, right;
} constants;

static inline constants begin(ml_blend_part down, ml_blend_part across) {
    return (constants){_mm256_set1_ps(1.0f - down.real), _mm256_set1_ps(down.real),
                       _mm256_set1_ps(1.0f - across.real), _mm256_set1_ps(across.real)};
}

/* In the order of blend_plain.h. */
static inline __m256 blend(const constants *k, __m256 nw, __m256 sw, __m256 ne, __m256 se) {
    const __m256 a = _mm256_mul_ps(_mm256_mul_ps(nw, k->upper), k->left);
    const __m256 b = _mm256_mul_ps(_mm256_mul_ps(sw, k->lower), k->left);
    const __m256 d = _mm256_mul_ps(_mm256_mul_ps(ne, k->upper), k->right);
    const __m256 e = _mm256_mul_ps(_mm256_mul_ps(se, k->lower), k->right);
    return _mm256_add_ps(_mm256_add_ps(_mm256_add_ps(a, b), d), e);
}

#include "blend_tile.h"
