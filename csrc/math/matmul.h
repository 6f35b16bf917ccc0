/* matmul.h -- rows of integers times weights, the inner loops of convolution and fully connected layers.
 *
 * Weights (n outputs, k inputs) lie in rows of whole vectors. k is never split among threads, and a row's result does not
 * depend on which rows are computed with it. */
#ifndef ML_MATMUL_H
#define ML_MATMUL_H

#include <stdbool.h>
#include <stdint.h>

enum { ML_TILE_ROWS = 2 }; /* that share a load of weights */

/* y[r][i] = sum of a[r][j] * w[i][j] in int32 (wrapping), or, when `wide`, in int64; y has rows of n, k whole vectors. */
void ml_matmul_s16s8(const int16_t *a, int64_t rows, const int8_t *w, int64_t k, int64_t n, void *y,
                     bool wide);

/* Integer dot products run fastest over whole vectors: the length a row of k has, and w[n][k] (s8, u8 less 128, or packed
 * s4) made that long, with zeros in excess. */
static inline int64_t ml_padded_row(int64_t k) { return (k + 15) / 16 * 16; }
void ml_pad_rows(int32_t type, const void *w, int64_t n, int64_t k, int8_t *padded);
/* Element `i` of packed s4. */
static inline int32_t ml_nibble(const void *packed, int64_t i) {
    uint32_t bits = (uint32_t)((const uint8_t *)packed)[i / 2] >> (i % 2 * 4) & 15;
    return (int32_t)(bits ^ 8) - 8;
}

/* rows[i] = x[i]. */
void ml_widen_s8(const int8_t *x, int64_t count, int16_t *rows);
void ml_widen_u8(const uint8_t *x, int64_t count, int16_t *rows);

#endif
