/* depthwise_f32.c -- tiles of 8 pixels times 16 channels. */
#include <immintrin.h>
#include <stdbool.h>

#include "simd/variants.h"

#define VECTOR __m512
#define ELEMENT float
#define REGISTER "v"
#define LANES 16
#define MASKS true

#define FIRST(count) ((__mmask16)((1u << (count)) - 1))
#define ZERO() _mm512_setzero_ps()
#define LOAD(p) _mm512_loadu_ps(p)
#define LOAD_PART(p, count) _mm512_maskz_loadu_ps(FIRST(count), p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define STORE_PART(p, v, count) _mm512_mask_storeu_ps(p, FIRST(count), v)
#define MULTIPLY_ADD(x, w, sum) _mm512_fmadd_ps(x, w, sum)
#define ADD(a, b) _mm512_add_ps(a, b)
#define FINISH(p, v) \
    _mm512_min_ps(_mm512_set1_ps((p)->high), _mm512_max_ps(_mm512_set1_ps((p)->low), v))
#include "simd/tiles/depthwise.h"

void ml_depthwise_f32_avx512(const ml_depthwise_args *p) { run_tiles(p, NULL); }
