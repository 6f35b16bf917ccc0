/* dot.h -- the vectors of tiles/matmul_s8_tile.h at avx_vnni: tiles of 6 rows times two vectors of
 * 8 outputs. */
#include <immintrin.h>
#include <stdint.h>
#include <string.h>

#define VECTOR __m256i
#define LANES 8
#define MOST_ROWS 6
#define MOST_VECTORS 4
#define MOST_SUMS 12
#define TILES(X) \
    X(1, 4) X(1, 2) X(2, 4) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2)

#define ZERO() _mm256_setzero_si256()
#define SET(x) _mm256_set1_epi32(x)
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define DOT(sum, bytes, weights) _mm256_dpbusd_avx_epi32(sum, bytes, weights)
#define ADD(a, b) _mm256_add_epi32(a, b)
#define XOR(a, b) _mm256_xor_si256(a, b)
#define LOAD_BYTES(p, count) load_bytes(p, count)
#define STORE_BYTES(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)

static inline __m256i load_bytes(const uint8_t *p, int64_t count) {
    uint8_t some[32] = {0};
    memcpy(some, p, (size_t)count);
    return LOAD(some);
}
