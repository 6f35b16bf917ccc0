/* lookup_u8.c -- lines where the table has them, else sixteen shuffles of sixteen entries each.
 *
 * A shuffle gives 0 if the index is negative. An index below 128 is reduced by 16 in each step,
 * until it is negative: up to there, each step finds an entry of the next part of the table. Each
 * entry is stored exclusive-ored with the entry 16 before it, so that the exclusive or of all that
 * are found is the wanted one. The second half of the table does the same for indices from 128 on,
 * minus 128. */
#include <immintrin.h>

#include "simd/variants.h"

#define ALWAYS __attribute__((always_inline)) static inline
#define LOAD(p) _mm256_loadu_si256((const __m256i *)(const void *)(p))
#define STORE(p, v) _mm256_storeu_si256((__m256i *)(void *)(p), v)

enum { LANES = 32, PARTS = 16, TOGETHER = 3 };

/* Adds the entries of half the table to y, of `count` vectors, so that a part is read once for
 * them. The empty asm keeps the compiler from adding in another order, for which it would need more
 * registers than there are. */
ALWAYS void look_up_half(const __m256i *parts, __m256i *x, __m256i *y, const int count) {
    const __m256i step = _mm256_set1_epi8(16);
    ML_UNROLL(8)
    for (int i = 0; i < PARTS / 2; i++) {
        ML_UNROLL(4)
        for (int j = 0; j < count; j++) {
            y[j] = _mm256_xor_si256(y[j], _mm256_shuffle_epi8(parts[i], x[j]));
            __asm__("" : "+x"(y[j]));
            if (i < PARTS / 2 - 1) x[j] = _mm256_subs_epi8(x[j], step);
        }
    }
}

ALWAYS void look_up(const __m256i *parts, const uint8_t *from, uint8_t *to, const int count) {
    const __m256i half = _mm256_set1_epi8((char)0x80);
    __m256i low[TOGETHER], high[TOGETHER], y[TOGETHER];
    ML_UNROLL(4)
    for (int j = 0; j < count; j++) {
        low[j] = LOAD(from + j * LANES);
        high[j] = _mm256_xor_si256(low[j], half);
        y[j] = _mm256_setzero_si256();
    }
    look_up_half(parts, low, y, count);
    look_up_half(parts + PARTS / 2, high, y, count);
    ML_UNROLL(4)
    for (int j = 0; j < count; j++) STORE(to + j * LANES, y[j]);
}

/* A line in 16 bits: x is a byte in the upper half of a lane, so 256 times as large, and the upper
 * half of a product is what the rule shifts right by 8. */
ALWAYS __m256i line_at(const ml_byte_lines *p, __m256i x, const int i) {
    const __m256i value = _mm256_mulhi_epi16(x, _mm256_set1_epi16(p->factors[i]));
    return _mm256_adds_epi16(value, _mm256_set1_epi16(p->terms[i]));
}
ALWAYS __m256i lines_at(const ml_byte_lines *p, __m256i x, const int count) {
    __m256i y = line_at(p, x, 0);
    if (count > 1) {
        const __m256i other = line_at(p, x, 1);
        y = count > 2 ? _mm256_min_epi16(y, other) : _mm256_max_epi16(y, other);
    }
    return _mm256_sra_epi16(y, _mm_cvtsi32_si128(p->shift));
}

/* Returns the number of bytes done. `count` is 3 for the smaller value of two lines; `plain` lines
 * are of signed bytes, and have no limits but those of the type. */
ALWAYS int64_t on_lines(const ml_byte_lines *p, const uint8_t *x, int64_t n, uint8_t *y,
                        const int count, const bool plain) {
    const __m256i flip_x = _mm256_set1_epi8((char)p->flip_x), zero = _mm256_setzero_si256();
    const __m256i flip_y = _mm256_set1_epi8((char)p->flip_y);
    const __m256i low = _mm256_set1_epi8(p->low), high = _mm256_set1_epi8(p->high);
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) {
        __m256i v = LOAD(x + at);
        if (!plain) v = _mm256_xor_si256(v, flip_x);
        __m256i bytes = _mm256_packs_epi16(lines_at(p, _mm256_unpacklo_epi8(zero, v), count),
                                           lines_at(p, _mm256_unpackhi_epi8(zero, v), count));
        if (!plain) {
            bytes = _mm256_min_epi8(_mm256_max_epi8(bytes, low), high);
            bytes = _mm256_xor_si256(bytes, flip_y);
        }
        STORE(y + at, bytes);
    }
    return at;
}

static void draw_lines(const uint8_t *table, const ml_byte_lines *lines, const uint8_t *x,
                       int64_t n, uint8_t *y) {
    const ml_byte_lines copy = *lines, *p = &copy; /* a copy, not read again after each store */
    const bool plain = !p->flip_x && !p->flip_y && p->low == INT8_MIN && p->high == INT8_MAX;
    int64_t at;
    if (p->count == 1 && plain) at = on_lines(p, x, n, y, 1, true);
    else if (p->count == 1) at = on_lines(p, x, n, y, 1, false);
    else if (p->smaller) at = on_lines(p, x, n, y, 3, false);
    else if (plain) at = on_lines(p, x, n, y, 2, true);
    else at = on_lines(p, x, n, y, 2, false);
    for (; at < n; at++) y[at] = table[x[at]];
}

void ml_lookup_u8_avx2(const uint8_t *table, const ml_byte_lines *lines, const uint8_t *x,
                       int64_t n, uint8_t *y) {
    if (lines) {
        draw_lines(table, lines, x, n, y);
        return;
    }
    __m256i parts[PARTS];
    for (int i = 0; i < PARTS; i++) {
        const __m128i *part = (const __m128i *)(const void *)(table + 16 * i);
        const __m128i entries = _mm_loadu_si128(part);
        const bool first = i % (PARTS / 2) == 0;
        const __m128i before = first ? _mm_setzero_si128() : _mm_loadu_si128(part - 1);
        parts[i] = _mm256_broadcastsi128_si256(_mm_xor_si128(entries, before));
    }
    int64_t at = 0;
    for (; at + TOGETHER * LANES <= n; at += TOGETHER * LANES)
        look_up(parts, x + at, y + at, TOGETHER);
    for (; at + LANES <= n; at += LANES) look_up(parts, x + at, y + at, 1);
    for (; at < n; at++) y[at] = table[x[at]];
}
