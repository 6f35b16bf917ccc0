/* scale_s32_avx512.c -- sixteen columns at a time. */
#include <immintrin.h>
#include <stdint.h>

#define FUNCTION ml_scale_s32_avx512
#define LANES 16
#define VECTOR __m512
#define MASK __mmask16
#define FIRST(count) ((__mmask16)((1u << (count)) - 1))
#define LOAD(p, there) _mm512_maskz_loadu_ps(there, p)
#define SUMS(p, there) _mm512_cvtepi32_ps(_mm512_maskz_loadu_epi32(there, p))
#define STORE(p, there, v) _mm512_mask_storeu_ps(p, there, v)
#define SET(x) _mm512_set1_ps(x)
#define ADD _mm512_add_ps
#define MULTIPLY _mm512_mul_ps
#define MIN _mm512_min_ps
#define MAX _mm512_max_ps
#include "scale_s32_wide.h"
