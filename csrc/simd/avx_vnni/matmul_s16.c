/* matmul_s16.c -- matmul_s16 by vpdpwssd. */
#undef ML_WORDS
#define ML_WORDS "simd/words/avx2.h"
#include "simd/words.h"
#undef ADD_PAIRS
#define ADD_PAIRS(sum, a, w) _mm256_dpwssd_avx_epi32(sum, a, w)
#include "simd/tiles/matmul_s16.h"

void ml_matmul_s16_avx_vnni(const ml_matmul_s16_args *p) { multiply_all(p); }
