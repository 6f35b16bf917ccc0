/* range_f32_avx512.c -- vectors of sixteen. */
#include <immintrin.h>

#define FUNCTION ml_range_f32_avx512
#define LANES 16
#define VECTOR __m512
#define ZERO() _mm512_setzero_ps()
#define LOAD(p) _mm512_loadu_ps(p)
#define MIN _mm512_min_ps
#define MAX _mm512_max_ps
#define LEAST(v) _mm512_reduce_min_ps(v)
#define MOST(v) _mm512_reduce_max_ps(v)
#include "range_f32_wide.h"
