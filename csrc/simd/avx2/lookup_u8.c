/* lookup_u8.c -- sixteen shuffles of sixteen entries each.
 *
 * A shuffle gives 0 if the index is negative. An index below 128 is reduced by 16 in each step,
 * until it is negative: up to there, each step finds an entry of the next part of the table. Each
 * entry is stored exclusive-ored with the entry 16 before it, so that the exclusive or of all that
 * are found is the wanted one. The second half of the table does the same for indices from 128 on,
 * minus 128. */
#include <immintrin.h>

#include "simd/variants.h"

enum { LANES = 32, PARTS = 16 };

static inline __m256i look_up(__m256i x, const __m256i *parts) {
    const __m256i step = _mm256_set1_epi8(16);
    __m256i y = _mm256_setzero_si256();
    __m256i low = x, high = _mm256_xor_si256(x, _mm256_set1_epi8((char)0x80));
    ML_UNROLL(8)
    for (int i = 0; i < PARTS / 2; i++) {
        const __m256i a = _mm256_shuffle_epi8(parts[i], low);
        const __m256i b = _mm256_shuffle_epi8(parts[PARTS / 2 + i], high);
        y = _mm256_xor_si256(y, _mm256_xor_si256(a, b));
        low = _mm256_subs_epi8(low, step);
        high = _mm256_subs_epi8(high, step);
    }
    return y;
}

void ml_lookup_u8_avx2(const uint8_t *table, const uint8_t *x, int64_t n, uint8_t *y) {
    __m256i parts[PARTS];
    for (int i = 0; i < PARTS; i++) {
        const __m128i *part = (const __m128i *)(const void *)(table + 16 * i);
        const __m128i entries = _mm_loadu_si128(part);
        const bool first = i % (PARTS / 2) == 0;
        const __m128i before = first ? _mm_setzero_si128() : _mm_loadu_si128(part - 1);
        parts[i] = _mm256_broadcastsi128_si256(_mm_xor_si128(entries, before));
    }
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) {
        const __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)(x + at));
        _mm256_storeu_si256((__m256i *)(void *)(y + at), look_up(v, parts));
    }
    for (; at < n; at++) y[at] = table[x[at]];
}
