/* depthwise_s8.c -- groups of four bytes, u8 times s8, sixteen channels at a time. */
#include <immintrin.h>
#include <stdbool.h>

#include "simd/variants.h"

#define VECTOR __m512i
#define ELEMENT int32_t
#define REGISTER "v"
#define LANES 16
#define MASKS true

#define FIRST(count) ((__mmask16)((1u << (count)) - 1))
#define ZERO() _mm512_setzero_si512()
#define LOAD(p) _mm512_loadu_si512(p)
#define LOAD_PART(p, count) _mm512_maskz_loadu_epi32(FIRST(count), p)
#define STORE(p, v) _mm512_storeu_si512(p, v)
#define STORE_PART(p, v, count) _mm512_mask_storeu_epi32(p, FIRST(count), v)
#define MULTIPLY_ADD(x, w, sum) _mm512_dpbusd_epi32(sum, x, w)
#define ADD(a, b) _mm512_add_epi32(a, b)
#define FINISH(p, v) (v)
#include "simd/tiles/depthwise.h"

void ml_depthwise_s8_avx512(const ml_depthwise_args *p) { run_tiles(p, NULL); }
