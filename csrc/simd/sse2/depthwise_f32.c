/* depthwise_f32.c -- tiles of 4 pixels times 4 channels, for any x86-64. */
#include <emmintrin.h>
#include <stdbool.h>
#include <string.h>

#include "simd/variants.h"

#define VECTOR __m128
#define ELEMENT float
#define REGISTER "x"
#define LANES 4
#define MASKS false
#define MOST_PIXELS 4

#define ZERO() _mm_setzero_ps()
#define LOAD(p) _mm_loadu_ps((const float *)(const void *)(p))
#define LOAD_PART(p, count) load_part(p, count)
#define STORE(p, v) _mm_storeu_ps(p, v)
#define STORE_PART(p, v, count) store_part(p, v, count)
#define MULTIPLY_ADD(x, w, sum) _mm_add_ps(_mm_mul_ps(x, w), sum)
#define ADD(a, b) _mm_add_ps(a, b)
#define FINISH(p, v) _mm_min_ps(_mm_set1_ps((p)->high), _mm_max_ps(_mm_set1_ps((p)->low), v))

static inline __m128 load_part(const void *p, int count) {
    float values[LANES] = {0};
    memcpy(values, p, (size_t)count * sizeof *values);
    return _mm_loadu_ps(values);
}

static inline void store_part(float *p, __m128 v, int count) {
    float values[LANES];
    _mm_storeu_ps(values, v);
    memcpy(p, values, (size_t)count * sizeof *values);
}

#include "simd/tiles/depthwise.h"

void ml_depthwise_f32_sse2(const ml_depthwise_args *p) { run_tiles(p, NULL); }
