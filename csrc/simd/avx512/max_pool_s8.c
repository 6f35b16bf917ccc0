/* max_pool_s8.c -- sixty-four channels per vector. */
#include <immintrin.h>
#include <stdbool.h>

#include "simd/variants.h"

#define CHANNELS __m512i
#define ELEMENT uint8_t
#define LANES 64

#define FIRST(count) (((__mmask64)1 << (count)) - 1)
#define READ(p, sign) _mm512_loadu_si512(p)
#define READ_PART(p, count, sign) _mm512_maskz_loadu_epi8(FIRST(count), p)
#define WRITE(p, v) _mm512_storeu_si512(p, v)
#define WRITE_PART(p, v, count) _mm512_mask_storeu_epi8(p, FIRST(count), v)
#define INITIAL(sign) _mm512_set1_epi8((sign) ? INT8_MIN : 0)
#define MERGE(a, b, sign) ((sign) ? _mm512_max_epi8(a, b) : _mm512_max_epu8(a, b))
#define LESSER(a, b, sign) ((sign) ? _mm512_min_epi8(a, b) : _mm512_min_epu8(a, b))
#define FINISH(k, v, sign) LESSER((k)->high, MERGE((k)->low, v, sign), sign)

typedef struct constants {
    __m512i low, high;
} constants;

static inline constants begin(const ml_pool_args *p) {
    return (constants){_mm512_set1_epi8((char)p->low), _mm512_set1_epi8((char)p->high)};
}

#include "simd/tiles/pool.h"

void ml_max_pool_s8_avx512(const ml_pool_args *p) {
    if (p->is_signed) pool(p, true);
    else pool(p, false);
}
