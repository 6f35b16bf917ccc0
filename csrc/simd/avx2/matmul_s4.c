/* matmul_s4.c -- products of bytes with nibbles, in 16 bits.
 *
 * Reading the weights decides the speed, so nibbles are taken apart in registers. They are 0 to 15,
 * and so the unsigned factor of vpmaddubsw; bytes of the row are its signed one, x - 128. The sum
 * of (w + 8) (x - 128) is the wanted one plus 8 times the sum of x - 128, less 128 times the sum of
 * w, which are taken back. Eight sums of two products fit in 16 bits: 8 * 2 * 15 * 128 < 2^15. */
#include <immintrin.h>
#include <string.h>

#include "simd/simd.h"
#include "simd/variants.h"

enum {
    VECTORS = ML_PANEL_S4 / 8, /* of eight outputs */
    GROUP = 8, /* inputs */
    GROUPS = 4, /* whose sums fit in 16 bits */
    AHEAD = 4096 /* bytes by which weights are fetched ahead */
};

#define INLINE __attribute__((always_inline)) static inline

INLINE __m256i four(const uint8_t *x, __m256i flip) {
    int32_t bytes;
    memcpy(&bytes, x, sizeof bytes);
    return _mm256_xor_si256(_mm256_set1_epi32(bytes), flip);
}

/* The sum of a row's bytes less 128; `flip` turns them into those. */
static int32_t sum_of_row(const uint8_t *x, int64_t k, __m256i flip) {
    const __m256i ones8 = _mm256_set1_epi8(1), ones16 = _mm256_set1_epi16(1);
    __m256i sums = _mm256_setzero_si256();
    int64_t j = 0;
    for (; j + 32 <= k; j += 32) {
        const __m256i bytes =
            _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)(x + j)), flip);
        sums =
            _mm256_add_epi32(sums, _mm256_madd_epi16(_mm256_maddubs_epi16(ones8, bytes), ones16));
    }
    __m128i v = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4E));
    v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0xB1));
    int32_t sum = _mm_cvtsi128_si32(v);
    const uint8_t one = (uint8_t)_mm256_extract_epi8(flip, 0);
    for (; j < k; j++) sum += (int8_t)(x[j] ^ one);
    return sum;
}

/* total += `groups` groups of inputs. */
INLINE void add_groups(const uint8_t *x, const uint8_t *w, __m256i flip, const int groups,
                       __m256i *total) {
    const __m256i low = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
    __m256i sums[VECTORS];
    ML_UNROLL(4)
    for (int g = 0; g < groups; g++, x += GROUP, w += 4 * ML_PANEL_S4) {
        const __m256i first = four(x, flip), second = four(x + 4, flip);
        ML_UNROLL(4)
        for (int v = 0; v < VECTORS; v++) {
            const __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(w + 32 * v));
            __builtin_prefetch(w + 32 * v + AHEAD);
            const __m256i high = _mm256_and_si256(_mm256_srli_epi16(b, 4), low);
            const __m256i both =
                _mm256_add_epi16(_mm256_maddubs_epi16(_mm256_and_si256(b, low), first),
                                 _mm256_maddubs_epi16(high, second));
            sums[v] = g ? _mm256_add_epi16(sums[v], both) : both;
        }
    }
    ML_UNROLL(4)
    for (int v = 0; v < VECTORS; v++)
        total[v] = _mm256_add_epi32(total[v], _mm256_madd_epi16(sums[v], ones));
}

static void multiply_panel(const ml_matmul_s8_args *p, int64_t row, int64_t column, int32_t less) {
    const uint8_t *x = p->a + row * p->a_stride;
    const uint8_t *w = (const uint8_t *)p->packed + column / 2 * p->k;
    const __m256i flip = _mm256_set1_epi8((char)(p->flip ^ 128));
    const int64_t n = p->n - column < ML_PANEL_S4 ? p->n - column : ML_PANEL_S4;
    __m256i total[VECTORS];
    int32_t sums[ML_PANEL_S4], *y = p->y + row * p->y_stride + column;
    for (int v = 0; v < VECTORS; v++) total[v] = _mm256_setzero_si256();
    int64_t j = 0;
    for (; j + GROUPS * GROUP <= p->k; j += GROUPS * GROUP)
        add_groups(x + j, w + j * ML_PANEL_S4 / 2, flip, GROUPS, total);
    for (; j < p->k; j += GROUP) add_groups(x + j, w + j * ML_PANEL_S4 / 2, flip, 1, total);
    for (int v = 0; v < VECTORS; v++)
        _mm256_storeu_si256((__m256i *)(void *)(sums + 8 * v), total[v]);
    const uint32_t factor = p->factors ? (uint32_t)p->factors[row] : 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t sum = (uint32_t)sums[i] - (uint32_t)less + ((uint32_t)p->sums[column + i] << 7);
        if (p->bias) sum += (uint32_t)p->bias[column + i];
        if (factor) sum += factor * (uint32_t)p->columns[column + i];
        y[i] = (int32_t)sum;
    }
}

void ml_matmul_s4_avx2(const ml_matmul_s8_args *p) {
    const __m256i flip = _mm256_set1_epi8((char)(p->flip ^ 128));
    for (int64_t row = 0; row < p->rows; row++) {
        const int32_t less = 8 * sum_of_row(p->a + row * p->a_stride, p->k, flip);
        for (int64_t column = 0; column < p->n; column += ML_PANEL_S4)
            multiply_panel(p, row, column, less);
    }
}
