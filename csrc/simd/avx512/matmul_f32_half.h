/* matmul_f32_half.h -- multiplies rows with at most eight outputs, half a vector, taking two values
 * of a row at a time.
 *
 * Lane 2i of a sum has the products of output i with even-numbered values, lane 2i + 1 those with
 * odd-numbered ones; both are added at the end. Values are numbered on from piece to piece, so a
 * piece may begin with an odd number, and sums do not depend on how a row is cut. */
#ifndef ML_SIMD_MATMUL_F32_HALF_AVX512_H
#define ML_SIMD_MATMUL_F32_HALF_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <string.h>

#include "simd/simd.h"

enum { ML_HALF_ROWS = 14, ML_HALF_PANEL = 16, ML_HALF_EVEN = 0x5555, ML_HALF_ODD = 0xaaaa };

#define ML_HALF_INLINE __attribute__((always_inline)) static inline

/* Adds the products of one value of each row, in the even or odd lanes by its number. */
ML_HALF_INLINE void ml_half_one(const float *const *group, int64_t a_stride, const float *w,
                                __mmask16 lanes, const int rows, __m512 *sums) {
    const __m512i spread = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
    const __m512 weights = _mm512_maskz_permutexvar_ps(lanes, spread, _mm512_loadu_ps(w));
    ML_UNROLL(14)
    for (int r = 0; r < rows; r++) {
        const __m128 x = _mm_load_ss(group[r / 4] + r % 4 * a_stride);
        sums[r] = _mm512_fmadd_ps(_mm512_maskz_broadcastss_ps(lanes, x), weights, sums[r]);
    }
}

/* sums += `count` steps of k, of which the first has an odd number or an even one. */
ML_HALF_INLINE void ml_half_add(const float *a, int64_t a_stride, const float *w, int64_t count,
                                bool odd, const int rows, __m512 *sums) {
    const __m512i both = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    const float *group[(ML_HALF_ROWS + 3) / 4];
    int64_t left = count;
    ML_UNROLL(4)
    for (int g = 0; g < (rows + 3) / 4;
         g++) { /* few registers hold addresses: tiles/matmul_f32.h */
        group[g] = a + 4 * g * a_stride;
        __asm__("" : "+r"(group[g]));
    }
#define ML_HALF_NEXT(steps) \
    do { \
        ML_UNROLL(4) for (int g = 0; g < (rows + 3) / 4; g++) group[g] += (steps); \
        w += (steps) * ML_HALF_PANEL; \
        left -= (steps); \
    } while (0)
    if (odd && left > 0) {
        ml_half_one(group, a_stride, w, ML_HALF_ODD, rows, sums);
        ML_HALF_NEXT(1);
    }
    while (left > 1) {
        const __m512 weights =
            _mm512_permutex2var_ps(_mm512_loadu_ps(w), both, _mm512_loadu_ps(w + ML_HALF_PANEL));
        ML_UNROLL(14)
        for (int r = 0; r < rows; r++) {
            double pair;
            memcpy(&pair, group[r / 4] + r % 4 * a_stride, sizeof pair);
            sums[r] = _mm512_fmadd_ps(_mm512_castpd_ps(_mm512_set1_pd(pair)), weights, sums[r]);
        }
        ML_HALF_NEXT(2);
    }
    if (left > 0) ml_half_one(group, a_stride, w, ML_HALF_EVEN, rows, sums);
#undef ML_HALF_NEXT
}

/* Adds even and odd lanes and the bias, clamps, and writes the outputs that exist. */
ML_HALF_INLINE void ml_half_store(const ml_matmul_f32_args *p, int64_t row, const __m512 *total,
                                  const int rows) {
    const __m512i apart = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15);
    const __mmask8 there = (__mmask8)((1u << p->n) - 1);
    const __m256 low = _mm256_set1_ps(p->low), high = _mm256_set1_ps(p->high);
    const __m256 bias = p->bias ? _mm256_maskz_loadu_ps(there, p->bias) : _mm256_setzero_ps();
    float *y = p->y + row * p->y_stride;
    ML_UNROLL(14)
    for (int r = 0; r < rows; r++, y += p->y_stride) {
        const __m512 v = _mm512_permutexvar_ps(apart, total[r]);
        const __m256 sum = _mm256_add_ps(_mm512_castps512_ps256(v), _mm512_extractf32x8_ps(v, 1));
        _mm256_mask_storeu_ps(y, there,
                              _mm256_min_ps(high, _mm256_max_ps(low, _mm256_add_ps(sum, bias))));
    }
}

/* Sums of ML_CHUNK_F32 products, an even number, are added up in turn, in memory, as in
 * tiles/matmul_f32.h. */
ML_HALF_INLINE void ml_half_tile(const ml_matmul_f32_args *p, int64_t row, const int rows) {
    __m512 total[ML_HALF_ROWS], sums[ML_HALF_ROWS];
    const float *w = p->packed;
    int64_t room = ML_CHUNK_F32;
    bool whole = false;
    __asm__("" : "=m"(total));
    ML_UNROLL(14)
    for (int r = 0; r < rows; r++) sums[r] = _mm512_setzero_ps();
    for (int64_t piece = 0; piece < p->pieces; piece++) {
        const float *a = p->a + row * p->a_stride + piece * p->piece_stride;
        for (int64_t left = p->k; left > 0;) {
            const int64_t steps = left < room ? left : room;
            ml_half_add(a, p->a_stride, w, steps, room % 2, rows, sums);
            a += steps;
            w += steps * ML_HALF_PANEL;
            left -= steps;
            room -= steps;
            if (room > 0) continue;
            room = ML_CHUNK_F32;
            ML_UNROLL(14)
            for (int r = 0; r < rows; r++) {
                total[r] = whole ? _mm512_add_ps(total[r], sums[r]) : sums[r];
                sums[r] = _mm512_setzero_ps();
            }
            __asm__("" : "+m"(total));
            whole = true;
        }
    }
    ML_UNROLL(14)
    for (int r = 0; whole && r < rows; r++) sums[r] = _mm512_add_ps(total[r], sums[r]);
    ml_half_store(p, row, sums, rows);
}

typedef void ml_half_fn(const ml_matmul_f32_args *p, int64_t row);

#define ML_HALF_DEFINE(rows) \
    static void ml_half_##rows(const ml_matmul_f32_args *p, int64_t row) { ml_half_tile(p, row, rows); }
#define ML_HALF_ENTRY(rows) [rows] = ml_half_##rows,
#define ML_HALF_EACH(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
ML_HALF_EACH(ML_HALF_DEFINE)

/* For at most half a panel of outputs. Divides the rows evenly among as few tiles as possible. */
static inline void ml_matmul_half_avx512(const ml_matmul_f32_args *p) {
    static ml_half_fn *const tiles[] = {ML_HALF_EACH(ML_HALF_ENTRY)};
    for (int64_t row = 0, rows; row < p->rows; row += rows) {
        rows = ml_even_part(p->rows - row, ML_HALF_ROWS);
        tiles[rows](p, row);
    }
}

#endif
