/* scale.h -- the vectors of tiles/scale_column.h at avx2 and avx_vnni. */
#include <immintrin.h>

#define REALS __m256
#define SET_REAL(x) _mm256_set1_ps(x)
#define REALS_OF_SUMS(v) _mm256_cvtepi32_ps(v)
#define MULTIPLY_REALS(a, b) _mm256_mul_ps(a, b)
#define CLAMPED(v, bias, low, high) clamped(v, bias, low, high)

static inline __m256i clamped(__m256 v, __m256 bias, __m256 low, __m256 high) {
    const __m256 above = _mm256_max_ps(low, _mm256_add_ps(bias, v));
    return _mm256_castps_si256(_mm256_min_ps(high, above));
}
