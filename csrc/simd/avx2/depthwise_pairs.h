/* depthwise_pairs.h -- the vectors of tiles/depthwise.h at avx2: pairs of int16, eight channels at
 * a time. */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define VECTOR __m256i
#define ELEMENT int32_t
#define REGISTER "x"
#define MASKS true
#define WHOLES(width) ((width) == 3) /* as in depthwise_f32; code for other widths would be long */

#define ZERO() _mm256_setzero_si256()
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define LOAD_PART(p, count) _mm256_maskload_epi32((const int *)(const void *)(p), first_of(count))
#define MULTIPLY_ADD(x, w, sum) _mm256_add_epi32(sum, _mm256_madd_epi16(x, w))
#define ADD(a, b) _mm256_add_epi32(a, b)

static inline __m256i first_of(int count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
