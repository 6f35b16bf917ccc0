/* blend_f32_avx512.c -- sixteen channels a vector. */
#include <immintrin.h>

#include "simd.h"

#define FUNCTION ml_blend_f32_avx512
#define VECTOR __m512
#define ELEMENT float
#define LANES 16

#define FIRST(count) ((__mmask16)((1u << (count)) - 1))
#define LOAD(p) _mm512_loadu_ps(p)
#define LOAD_PART(p, count) _mm512_maskz_loadu_ps(FIRST(count), p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define STORE_PART(p, v, count) _mm512_mask_storeu_ps(p, FIRST(count), v)

typedef struct constants {
    __m512 upper, lower, left, right;
} constants;

static inline constants begin(ml_blend_part down, ml_blend_part across) {
    return (constants){_mm512_set1_ps(1.0f - down.real), _mm512_set1_ps(down.real),
                       _mm512_set1_ps(1.0f - across.real), _mm512_set1_ps(across.real)};
}

/* In the order of blend_plain.h. */
static inline __m512 blend(const constants *k, __m512 nw, __m512 sw, __m512 ne, __m512 se) {
    const __m512 a = _mm512_mul_ps(_mm512_mul_ps(nw, k->upper), k->left);
    const __m512 b = _mm512_mul_ps(_mm512_mul_ps(sw, k->lower), k->left);
    const __m512 d = _mm512_mul_ps(_mm512_mul_ps(ne, k->upper), k->right);
    const __m512 e = _mm512_mul_ps(_mm512_mul_ps(se, k->lower), k->right);
    return _mm512_add_ps(_mm512_add_ps(_mm512_add_ps(a, b), d), e);
}

#include "blend_tile.h"
