/* sum_rows_s8_avx512.c -- some vectors of sixteen sums stay in registers for all rows. */
#include <immintrin.h>
#include <stdbool.h>

#include "simd.h"

enum { LANES = 16, MOST_VECTORS = 4 };

#define INLINE __attribute__((always_inline)) static inline

INLINE __m512i load(const uint8_t *x, const bool is_signed) {
    const __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)x);
    return is_signed ? _mm512_cvtepi8_epi32(bytes) : _mm512_cvtepu8_epi32(bytes);
}
INLINE __m512i load_sums(const int32_t *p) { return _mm512_loadu_si512(p); }
INLINE void store_sums(int32_t *sums, __m512i v) { _mm512_storeu_si512(sums, v); }

INLINE void add_rows(const ml_sum_rows_s8_args *p, int64_t column, const int vectors,
                     const bool is_signed) {
    __m512i sums[MOST_VECTORS];
    const uint8_t *x = p->x + column;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) sums[v] = load_sums(p->sums + column + v * LANES);
    for (int64_t r = 0; r < p->rows; r++, x += p->stride)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sums[v] = _mm512_add_epi32(sums[v], load(x + v * LANES, is_signed));
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++) store_sums(p->sums + column + v * LANES, sums[v]);
}

INLINE void run(const ml_sum_rows_s8_args *args, const bool is_signed) {
    ml_sum_rows_s8_args p = *args; /* a copy, which stores do not change */
    int64_t column = 0;
    for (; column + MOST_VECTORS * LANES <= p.n; column += MOST_VECTORS * LANES)
        add_rows(&p, column, MOST_VECTORS, is_signed);
    for (; column + LANES <= p.n; column += LANES) add_rows(&p, column, 1, is_signed);
    if (column == p.n) return;
    p.x += column;
    p.sums += column;
    p.n -= column;
    ml_sum_rows_s8_scalar(&p);
}

void ml_sum_rows_s8_avx512(const ml_sum_rows_s8_args *p) {
    if (p->is_signed) run(p, true);
    else run(p, false);
}
