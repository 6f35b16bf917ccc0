/* matmul_f32.c -- tiles of 14 rows times two panels: registers hold 28 sums, 2 vectors of weights
 * and a value of a row. There are also tiles of a panel and a half, for the last panels, and of
 * half a panel, if that holds all outputs. */
#include <immintrin.h>

#include "simd/avx512/matmul_f32_half.h"

#define TILES(X)                                                                              \
    X(1, 8) X(1, 4) X(1, 2) X(1, 1) X(2, 4) X(2, 2) X(2, 1) X(3, 4) X(3, 2) X(3, 1)           \
    X(4, 2) X(4, 1) X(5, 2) X(5, 1) X(6, 2) X(6, 1) X(7, 2) X(7, 1) X(8, 2) X(8, 1)           \
    X(9, 2) X(9, 1) X(10, 2) X(10, 1) X(11, 2) X(11, 1) X(12, 2) X(12, 1) X(13, 2) X(13, 1)   \
    X(14, 2) X(14, 1)

#define LOWER(v) _mm512_castps512_ps256(v)
#define FMA_HALF(a, b, sum) \
    _mm512_castps256_ps512(_mm256_fmadd_ps(LOWER(a), LOWER(b), LOWER(sum)))
#define NARROWS(X) X(10) X(11) X(12) X(13) X(14)
#define FEW(p) ml_matmul_half_avx512(p)
#include "simd/tiles/matmul_f32.h"

void ml_matmul_f32_avx512(const ml_matmul_f32_args *p) { multiply(p); }
