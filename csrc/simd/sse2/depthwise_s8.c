/* depthwise_s8.c -- pairs of int16, four channels at a time. */
#include <emmintrin.h>
#include <stdbool.h>
#include <string.h>

#include "simd/variants.h"

#define VECTOR __m128i
#define ELEMENT int32_t
#define REGISTER "x"
#define LANES 4
#define MASKS false
#define MOST_PIXELS 4

#define ZERO() _mm_setzero_si128()
#define LOAD(p) _mm_loadu_si128((const __m128i *)(const void *)(p))
#define LOAD_PART(p, count) load_part(p, count)
#define STORE(p, v) _mm_storeu_si128((__m128i *)(void *)(p), v)
#define STORE_PART(p, v, count) store_part(p, v, count)
#define MULTIPLY_ADD(x, w, sum) _mm_add_epi32(sum, _mm_madd_epi16(x, w))
#define ADD(a, b) _mm_add_epi32(a, b)
#define FINISH(p, v) (v)

static inline __m128i load_part(const void *p, int count) {
    char bytes[16] = {0};
    memcpy(bytes, p, (size_t)count * 4);
    return LOAD(bytes);
}

static inline void store_part(void *p, __m128i v, int count) {
    char bytes[16];
    STORE(bytes, v);
    memcpy(p, bytes, (size_t)count * 4);
}

#include "simd/tiles/depthwise.h"

void ml_depthwise_s8_sse2(const ml_depthwise_args *p) { run_tiles(p, NULL); }
