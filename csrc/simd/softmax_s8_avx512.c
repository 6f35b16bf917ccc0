/* softmax_s8_avx512.c -- 64 bytes at a time; the table of exponentials lies in four planes of bytes, each in four vectors.
 *
 * What planes give is unpacked within lanes to 16 numbers a vector, and results are packed the same way, so that no order has to
 * be restored. */
#include <immintrin.h>

#include "simd.h"

enum { LANES = 64, VECTORS = 4, PLANES = 4, FLUSH = 512 /* vectors whose sums 32 bits hold */ };

typedef struct planes {
    __m512i parts[PLANES][VECTORS];
} planes;

static planes split(const int32_t *exps) {
    uint8_t bytes[PLANES][256];
    planes p;
    for (int k = 0; k < PLANES; k++)
        for (int i = 0; i < 256; i++) bytes[k][i] = (uint8_t)((uint32_t)exps[i] >> 8 * k);
    for (int k = 0; k < PLANES; k++)
        for (int v = 0; v < VECTORS; v++) p.parts[k][v] = _mm512_loadu_si512(bytes[k] + v * LANES);
    return p;
}

static inline __m512i plane(const __m512i parts[VECTORS], __m512i index, __mmask64 upper) {
    const __m512i low = _mm512_permutex2var_epi8(parts[0], index, parts[1]);
    const __m512i high = _mm512_permutex2var_epi8(parts[2], index, parts[3]);
    return _mm512_mask_blend_epi8(upper, low, high);
}

/* The exponentials by index, those of lanes that are not there 0. */
static inline void look_up(const planes *p, __m512i index, __mmask64 there, __m512i e[VECTORS]) {
    const __mmask64 upper = _mm512_movepi8_mask(index);
    __m512i bytes[PLANES];
#pragma GCC unroll 4
    for (int k = 0; k < PLANES; k++)
        bytes[k] = _mm512_maskz_mov_epi8(there, plane(p->parts[k], index, upper));
    const __m512i low = _mm512_unpacklo_epi8(bytes[0], bytes[1]);
    const __m512i low_high = _mm512_unpackhi_epi8(bytes[0], bytes[1]);
    const __m512i high = _mm512_unpacklo_epi8(bytes[2], bytes[3]);
    const __m512i high_high = _mm512_unpackhi_epi8(bytes[2], bytes[3]);
    e[0] = _mm512_unpacklo_epi16(low, high);
    e[1] = _mm512_unpackhi_epi16(low, high);
    e[2] = _mm512_unpacklo_epi16(low_high, high_high);
    e[3] = _mm512_unpackhi_epi16(low_high, high_high);
}

static inline __mmask64 first(int64_t count) {
    return count < LANES ? ((__mmask64)1 << count) - 1 : ~(__mmask64)0;
}

/* max - x, bytes in the order of u8. */
static inline __m512i below(__m512i most, const uint8_t *x, __mmask64 there, __m512i flip) {
    return _mm512_sub_epi8(most, _mm512_xor_si512(_mm512_maskz_loadu_epi8(there, x), flip));
}

static __m512i find_most(const uint8_t *x, int64_t n, __m512i flip) {
    __m512i most = _mm512_setzero_si512();
    for (int64_t at = 0; at < n; at += LANES) {
        const __mmask64 there = first(n - at);
        const __m512i v = _mm512_maskz_loadu_epi8(there, x + at);
        most = _mm512_max_epu8(most, _mm512_maskz_mov_epi8(there, _mm512_xor_si512(v, flip)));
    }
    __m256i half =
        _mm256_max_epu8(_mm512_castsi512_si256(most), _mm512_extracti64x4_epi64(most, 1));
    __m128i v = _mm_max_epu8(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
    v = _mm_max_epu8(v, _mm_srli_si128(v, 8));
    /* The least of 255 - x among bytes next to each other, then of words. */
    v = _mm_xor_si128(v, _mm_set1_epi8(-1));
    v = _mm_minpos_epu16(_mm_min_epu8(_mm_unpacklo_epi8(v, _mm_setzero_si128()),
                                      _mm_unpacklo_epi8(v, _mm_setzero_si128())));
    return _mm512_set1_epi8((char)~_mm_cvtsi128_si32(v));
}

static int64_t sum_row(const planes *p, const uint8_t *x, int64_t n, __m512i most, __m512i flip) {
    const __m512i half = _mm512_set1_epi32(1 << 11);
    int64_t sum = 0;
    for (int64_t at = 0; at < n;) {
        __m512i sums = _mm512_setzero_si512();
        for (int i = 0; i < FLUSH && at < n; i++, at += LANES) {
            const __mmask64 there = first(n - at);
            __m512i e[VECTORS];
            look_up(p, below(most, x + at, there, flip), there, e);
#pragma GCC unroll 4
            for (int v = 0; v < VECTORS; v++)
                sums = _mm512_add_epi32(sums, _mm512_srli_epi32(_mm512_add_epi32(e[v], half), 12));
        }
        sum += (uint32_t)_mm512_reduce_add_epi32(_mm512_and_si512(sums, _mm512_set1_epi32(0xFFFF)));
        sum += (int64_t)(uint32_t)_mm512_reduce_add_epi32(_mm512_srli_epi32(sums, 16)) << 16;
    }
    return sum;
}

/* ml_rounding_shift_right(ml_doubling_high_mul(e, reciprocal), shift) of numbers that are not negative: the product with twice the
 * reciprocal, plus 2^31, has the high product in its upper half. */
static inline __m512i scale(__m512i e, __m512i twice, __m512i half, __m128i shift) {
    const __m512i nudge = _mm512_set1_epi64(INT64_C(1) << 31);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epu32(e, twice), nudge);
    const __m512i odd = _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(e, 32), twice), nudge);
    const __m512i v = _mm512_castps_si512(
        _mm512_mask_movehdup_ps(_mm512_castsi512_ps(odd), 0x5555, _mm512_castsi512_ps(even)));
    return _mm512_srl_epi32(_mm512_add_epi32(v, half), shift);
}

static void softmax_row(const ml_softmax_s8_args *args, const planes *p, const uint8_t *x,
                        uint8_t *y) {
    const __m512i flip = _mm512_set1_epi8(args->is_signed ? (char)128 : 0);
    const __m512i most = find_most(x, args->n, flip);
    const ml_softmax_scale s = ml_softmax_scale_of(sum_row(p, x, args->n, most, flip));
    const __m512i twice = _mm512_set1_epi64((int64_t)s.reciprocal * 2);
    const __m512i half = _mm512_set1_epi32((int32_t)(((int64_t)1 << s.shift) >> 1));
    const __m128i shift = _mm_cvtsi32_si128(s.shift);
    for (int64_t at = 0; at < args->n; at += LANES) {
        const __mmask64 there = first(args->n - at);
        __m512i v[VECTORS];
        look_up(p, below(most, x + at, there, flip), there, v);
#pragma GCC unroll 4
        for (int i = 0; i < VECTORS; i++) v[i] = scale(v[i], twice, half, shift);
        const __m512i bytes =
            _mm512_packus_epi16(_mm512_packs_epi32(v[0], v[1]), _mm512_packs_epi32(v[2], v[3]));
        _mm512_mask_storeu_epi8(y + at, there, _mm512_xor_si512(bytes, flip));
    }
}

void ml_softmax_s8_avx512(const ml_softmax_s8_args *args) {
    const planes p = split(args->exps);
    for (int64_t row = 0; row < args->rows; row++)
        if (args->n > 0) softmax_row(args, &p, args->x + row * args->n, args->y + row * args->n);
}
