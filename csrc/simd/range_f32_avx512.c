/* range_f32_avx512.c -- vectors of sixteen. */
#include <immintrin.h>

#define FUNCTION ml_range_f32_avx512
#define LANES 16
#define VECTOR __m512
#define ZERO() _mm512_setzero_ps()
#define LOAD(p) _mm512_loadu_ps(p)
#define STORE(p, v) _mm512_storeu_ps(p, v)
#define MIN _mm512_min_ps
#define MAX _mm512_max_ps
#include "range_f32_wide.h"
