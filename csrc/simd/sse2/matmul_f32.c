/* matmul_f32.c -- tiles of 6 rows times one panel of two vectors, for any x86-64. */
#include <emmintrin.h>
#include <stdbool.h>

#include "simd/variants.h"

#define VECTOR __m128
#define LANES 4
#define ROWS 6
#define PANEL 8
#define TILES(X) \
    X(1, 4) X(1, 2) X(1, 1) X(2, 2) X(2, 1) X(3, 2) X(3, 1) X(4, 1) X(5, 1) X(6, 1)

#define ZERO() _mm_setzero_ps()
#define BROADCAST(x) _mm_set1_ps(x)
#define LOAD(p) _mm_loadu_ps(p)
#define LOAD_PART(p, count) load_part(p, count)
#define STORE(p, v) _mm_storeu_ps(p, v)
#define STORE_PART(p, v, count) store_part(p, v, count)
#define MULTIPLY_ADD(a, b, sum) _mm_add_ps(_mm_mul_ps(a, b), sum)
#define ADD(a, b) _mm_add_ps(a, b)
#define MAX(limit, v) _mm_max_ps(limit, v)
#define MIN(limit, v) _mm_min_ps(limit, v)

static inline __m128 load_part(const float *p, int count) {
    return _mm_setr_ps(p[0], count > 1 ? p[1] : 0, count > 2 ? p[2] : 0, 0);
}

static inline void store_part(float *p, __m128 v, int count) {
    _mm_store_ss(p, v);
    if (count > 1) _mm_store_ss(p + 1, _mm_shuffle_ps(v, v, 1));
    if (count > 2) _mm_store_ss(p + 2, _mm_shuffle_ps(v, v, 2));
}

#include "simd/tiles/matmul_f32.h"

void ml_matmul_f32_sse2(const ml_matmul_f32_args *p) { multiply(p); }
