/* softmax_s8.c -- exponentials are looked up one by one, which takes less time than gathers; all
 * else is done for eight at a time.
 *
 * Eight short rows are taken together, so that their reciprocals are computed at once; and if rows
 * are shorter than a vector, all of it. The exponentials of long rows are not kept until their sum
 * is known, but looked up again. In rows of 512 and more values sums may be so large that all
 * results are 0: such rows are long ones. */
#include <immintrin.h>
#include <string.h>

#include "simd/simd.h"
#include "simd/variants.h"

enum { LANES = 8, TINY = 8, SHORT = 256, TOGETHER = 8 };

#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)

/* The greatest byte of a row, ^ flip. */
static uint8_t greatest(const uint8_t *x, int64_t n, uint8_t flip) {
    uint8_t most = 0;
    int64_t i = 0;
    if (n >= 32) {
        const __m256i flips = _mm256_set1_epi8((char)flip);
        __m256i all = _mm256_setzero_si256();
        uint8_t lanes[32];
        for (; i + 32 <= n; i += 32) {
            const __m256i v = LOAD(x + i);
            all = _mm256_max_epu8(all, _mm256_xor_si256(v, flips));
        }
        const __m128i half =
            _mm_max_epu8(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
        _mm_storeu_si128((__m128i *)(void *)lanes, half);
        for (int j = 0; j < 16; j++) most = lanes[j] > most ? lanes[j] : most;
    }
    for (; i < n; i++) most = (x[i] ^ flip) > most ? x[i] ^ flip : most;
    return most;
}

/* e[i] is the exponential of x[i]; `most` is the greatest byte as it is in memory. Up to the next
 * multiple of LANES there are zeros. */
static void look_up(const int32_t *exps, uint8_t most, const uint8_t *x, int64_t n, int32_t *e) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4) {
        uint32_t bytes;
        memcpy(&bytes, x + i, sizeof bytes);
        e[i] = exps[(uint8_t)(most - bytes)];
        e[i + 1] = exps[(uint8_t)(most - (bytes >> 8))];
        e[i + 2] = exps[(uint8_t)(most - (bytes >> 16))];
        e[i + 3] = exps[(uint8_t)(most - (bytes >> 24))];
    }
    for (; i < n; i++) e[i] = exps[(uint8_t)(most - x[i])];
    for (; i % LANES; i++) e[i] = 0;
}

/* The sum of up to SHORT exponentials in Q12.19. */
static uint32_t sum_of(const int32_t *e, int64_t n) {
    const __m256i half = _mm256_set1_epi32(1 << 11);
    __m256i sums = _mm256_setzero_si256();
    for (int64_t i = 0; i < n; i += LANES) {
        const __m256i v = LOAD(e + i);
        sums = _mm256_add_epi32(sums, _mm256_srli_epi32(_mm256_add_epi32(v, half), 12));
    }
    __m128i v = _mm_add_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0x4E));
    v = _mm_add_epi32(v, _mm_shuffle_epi32(v, 0xB1));
    return (uint32_t)_mm_cvtsi128_si32(v);
}

/* ml_doubling_high_mul. */
static inline __m256i high_mul(__m256i a, __m256i b) {
    const __m256i nudge = _mm256_set1_epi64x(INT64_C(1) << 30);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(a, b), nudge);
    const __m256i odd = _mm256_add_epi64(
        _mm256_mul_epi32(_mm256_srli_epi64(a, 32), _mm256_srli_epi64(b, 32)), nudge);
    return _mm256_blend_epi32(_mm256_srli_epi64(even, 31), _mm256_slli_epi64(odd, 1), 0xAA);
}

/* ml_softmax_scale_of eight sums, each from 1 to 2^28: twice the reciprocals, and shifts. */
static inline __m256i scales_of(__m256i sum, __m256i *shift) {
    /* Without a 1 after a 1 no conversion rounds up to the next power of two. */
    const __m256i rounds_down = _mm256_andnot_si256(_mm256_srli_epi32(sum, 1), sum);
    const __m256i exponent =
        _mm256_srli_epi32(_mm256_castps_si256(_mm256_cvtepi32_ps(rounds_down)), 23);
    const __m256i headroom = _mm256_sub_epi32(_mm256_set1_epi32(127 + 31), exponent);
    const __m256i half_denominator = _mm256_srli_epi32(_mm256_sllv_epi32(sum, headroom), 1);
    __m256i r = _mm256_add_epi32(_mm256_set1_epi32(1515870810),
                                 high_mul(_mm256_set1_epi32(-1010580540), half_denominator));
    ML_UNROLL(3)
    for (int step = 0; step < 3; step++) {
        const __m256i error =
            _mm256_sub_epi32(_mm256_set1_epi32(1 << 29), high_mul(half_denominator, r));
        r = _mm256_add_epi32(r, _mm256_slli_epi32(high_mul(error, r), 2));
    }
    const __m256i reciprocal =
        _mm256_min_epu32(_mm256_slli_epi32(r, 1), _mm256_set1_epi32(INT32_MAX));
    *shift = _mm256_sub_epi32(_mm256_set1_epi32(12 + 31 - 8), headroom);
    return _mm256_slli_epi32(reciprocal, 1);
}

/* ml_rounding_shift_right(ml_doubling_high_mul(e, reciprocal), shift) of numbers that are not
 * negative: the product with twice the reciprocal, plus 2^31, has the high product in its upper
 * half. */
static inline __m256i scaled(__m256i e, __m256i twice, __m256i shift) {
    const __m256i nudge = _mm256_set1_epi64x(INT64_C(1) << 31);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epu32(e, twice), nudge);
    const __m256i odd = _mm256_add_epi64(
        _mm256_mul_epu32(_mm256_srli_epi64(e, 32), _mm256_srli_epi64(twice, 32)), nudge);
    const __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    const __m256i half = _mm256_srli_epi32(_mm256_sllv_epi32(_mm256_set1_epi32(1), shift), 1);
    return _mm256_srlv_epi32(_mm256_add_epi32(high, half), shift);
}

/* Writes a row's bytes; e has the numbers up to the next multiple of LANES. */
static void scale_row(const int32_t *e, int64_t n, int32_t twice, int32_t shift, uint8_t flip,
                      uint8_t *y) {
    const __m256i factor = _mm256_set1_epi32(twice), by = _mm256_set1_epi32(shift);
    const __m128i flips = _mm_set1_epi8((char)flip);
    for (int64_t i = 0; i < n; i += 2 * LANES) {
        const __m256i low = scaled(LOAD(e + i), factor, by);
        const __m256i high = i + LANES < n ? scaled(LOAD(e + i + LANES), factor, by) : low;
        const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8);
        const __m128i bytes = _mm_xor_si128(
            _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)),
            flips);
        if (n - i >= 2 * LANES) {
            _mm_storeu_si128((__m128i *)(void *)(y + i), bytes);
        } else {
            uint8_t last[2 * LANES];
            _mm_storeu_si128((__m128i *)(void *)last, bytes);
            memcpy(y + i, last, (size_t)(n - i));
        }
    }
}

/* Rows of at most SHORT bytes, up to TOGETHER of them. */
static void softmax_rows(const ml_softmax_s8_args *p, int64_t first, int64_t rows, uint8_t flip) {
    const int64_t step = (p->n + LANES - 1) & -LANES;
    int32_t e[TOGETHER * SHORT], sums[TOGETHER], twice[TOGETHER], shifts[TOGETHER];
    for (int64_t r = 0; r < TOGETHER; r++) sums[r] = 1;
    for (int64_t r = 0; r < rows; r++) {
        const uint8_t *x = p->x + (first + r) * p->n;
        look_up(p->exps, greatest(x, p->n, flip) ^ flip, x, p->n, e + r * step);
        sums[r] = (int32_t)sum_of(e + r * step, p->n);
    }
    __m256i shift;
    STORE(twice, scales_of(LOAD(sums), &shift));
    STORE(shifts, shift);
    for (int64_t r = 0; r < rows; r++)
        scale_row(e + r * step, p->n, twice[r], shifts[r], flip, p->y + (first + r) * p->n);
}

/* Rows of at most TINY bytes: a vector has a byte of each of eight rows. Reads up to three bytes
 * after them. */
static void softmax_tiny_rows(const ml_softmax_s8_args *p, int64_t first, uint8_t flip) {
    const uint8_t *x = p->x + first * p->n;
    uint8_t *y = p->y + first * p->n;
    const __m256i rows = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7),
                                            _mm256_set1_epi32((int32_t)p->n));
    const __m256i flips = _mm256_set1_epi32(flip), byte = _mm256_set1_epi32(255);
    const __m256i half = _mm256_set1_epi32(1 << 11);
    __m256i v[TINY], most = _mm256_setzero_si256(), sum = _mm256_setzero_si256(), shift;
    for (int64_t j = 0; j < p->n; j++) {
        const __m256i four = _mm256_i32gather_epi32((const int *)(const void *)(x + j), rows, 1);
        v[j] = _mm256_xor_si256(_mm256_and_si256(four, byte), flips);
        most = _mm256_max_epi32(most, v[j]);
    }
    for (int64_t j = 0; j < p->n; j++) {
        v[j] = _mm256_i32gather_epi32(p->exps, _mm256_sub_epi32(most, v[j]), 4);
        sum = _mm256_add_epi32(sum, _mm256_srli_epi32(_mm256_add_epi32(v[j], half), 12));
    }
    const __m256i twice = scales_of(sum, &shift);
    for (int64_t j = 0; j < p->n; j++) {
        int32_t outputs[LANES];
        const __m256i wide = scaled(v[j], twice, shift);
        STORE(outputs, _mm256_xor_si256(_mm256_min_epi32(wide, byte), flips));
        for (int r = 0; r < LANES; r++) y[r * p->n + j] = (uint8_t)outputs[r];
    }
}

static void softmax_long_row(const ml_softmax_s8_args *p, const uint8_t *x, uint8_t *y,
                             uint8_t flip) {
    const uint8_t most = greatest(x, p->n, flip) ^ flip;
    int32_t e[SHORT];
    int64_t sum = 0;
    for (int64_t at = 0, n; at < p->n; at += n) {
        n = p->n - at < SHORT ? p->n - at : SHORT;
        look_up(p->exps, most, x + at, n, e);
        sum += sum_of(e, n);
    }
    const ml_softmax_scale scale = ml_softmax_scale_of(sum);
    for (int64_t at = 0, n; at < p->n; at += n) {
        n = p->n - at < SHORT ? p->n - at : SHORT;
        look_up(p->exps, most, x + at, n, e);
        scale_row(e, n, (int32_t)((uint32_t)scale.reciprocal * 2), scale.shift, flip, y + at);
    }
}

void ml_softmax_s8_avx2(const ml_softmax_s8_args *p) {
    const uint8_t flip = p->is_signed ? 128 : 0;
    int64_t row = 0;
    if (p->n <= 0) return;
    if (p->n <= TINY) /* the last rows have no bytes after them */
        for (; (p->rows - row) * p->n >= LANES * p->n + 3; row += LANES)
            softmax_tiny_rows(p, row, flip);
    for (; p->n <= SHORT && row < p->rows; row += TOGETHER)
        softmax_rows(p, row, p->rows - row < TOGETHER ? p->rows - row : TOGETHER, flip);
    for (; row < p->rows; row++) softmax_long_row(p, p->x + row * p->n, p->y + row * p->n, flip);
}
