/* fold_u8.c -- extremes of bytes, 32 at a time; the rest of a row is read with bytes before it,
 * which count twice. */
#include "simd/portable/fold_u8.h"

enum { HALF = 16 };

static inline __m256i load(const uint8_t *x, __m256i flip) {
    return _mm256_xor_si256(_mm256_loadu_si256((const __m256i *)(const void *)x), flip);
}

static inline __m128i load_half(const uint8_t *x, __m128i flip) {
    return _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)x), flip);
}

/* Returns the largest of sixteen bytes: minpos finds the smallest of words, here of their
 * complements. */
static inline uint8_t most_of(__m128i v) {
    const __m128i less = _mm_xor_si128(v, _mm_set1_epi8(-1));
    const __m128i words = _mm_min_epu8(less, _mm_srli_epi16(less, 8));
    return (uint8_t)~_mm_cvtsi128_si32(_mm_minpos_epu16(words));
}

/* Folds rows of 16 bytes or more, to one result each. */
static void fold_rows(const ml_fold_u8_args *p) {
    const __m256i flip = _mm256_set1_epi8((char)p->flip);
    const __m128i half = _mm256_castsi256_si128(flip);
    const uint8_t *x = p->x;
    for (int64_t r = 0; r < p->rows; r++, x += p->stride) {
        __m128i most;
        if (p->n >= LANES_U8) {
            __m256i v = load(x + p->n - LANES_U8, flip);
            for (int64_t i = 0; i + LANES_U8 <= p->n; i += LANES_U8)
                v = _mm256_max_epu8(v, load(x + i, flip));
            most = _mm_max_epu8(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        } else {
            most = _mm_max_epu8(load_half(x, half), load_half(x + p->n - HALF, half));
        }
        const uint8_t found = most_of(most), was = p->y[r] ^ p->flip;
        p->y[r] = (found > was ? found : was) ^ p->flip;
    }
}

void ml_fold_u8_avx2(const ml_fold_u8_args *args) {
    if (args->across && args->n >= LANES_U8) fold_across(args);
    else if (!args->across && args->n >= HALF) fold_rows(args);
    else ml_fold_u8_scalar(args);
}
