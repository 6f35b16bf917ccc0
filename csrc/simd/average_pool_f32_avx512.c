/* average_pool_f32_avx512.c -- sixteen channels a vector. */
#include <immintrin.h>
#include <stdbool.h>

#include "api/minilite.h"
#include "api/simd.h"

#define FUNCTION ml_average_pool_f32_avx512
#define VECTOR __m512
#define ELEMENT float
#define LANES 16

#define FIRST(count) ((__mmask16)((1u << (count)) - 1))
#define LOAD(p, sign) _mm512_loadu_ps(p)
#define LOAD_PART(p, count, sign) _mm512_maskz_loadu_ps(FIRST(count), p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define STORE_PART(p, v, count) _mm512_mask_storeu_ps(p, FIRST(count), v)
#define INITIAL(sign) _mm512_setzero_ps()
/* Limits leave NaN as it is. */
#define MERGE(total, x, sign) _mm512_add_ps(total, x)
#define FINISH(k, v, sign) finish(k, v)

typedef struct constants {
    __m512 low, high, count;
} constants;

static inline constants begin(const ml_pool_args *p) {
    return (constants){_mm512_set1_ps(p->minimum), _mm512_set1_ps(p->maximum),
                       _mm512_set1_ps((float)(p->height * p->width))};
}

static inline __m512 finish(const constants *k, __m512 v) {
    return _mm512_min_ps(k->high, _mm512_max_ps(k->low, _mm512_div_ps(v, k->count)));
}

#include "pool_tile.h"
