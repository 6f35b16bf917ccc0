/* matmul.h -- rows times weights, the inner loops of convolution and fully connected layers.
 *
 * Float weights (n outputs, k inputs) are packed in panels of ML_PANEL outputs, [panel][k][ML_PANEL], the last one filled
 * up with zeros; integer weights in rows of whole vectors.
 * k is never split among threads, and a row's result does not depend on which rows are computed with it. */
#ifndef ML_MATMUL_H
#define ML_MATMUL_H

#include <stdbool.h>
#include <stdint.h>

enum {
    ML_PANEL = 8,
    ML_TILE_ROWS = 6,              /* rows that share a load of float weights */
    ML_BLOCK_BYTES = 32 * 1024 /* rows gathered at a time, and their sums, should take about this */
};

static inline int64_t ml_panels_count(int64_t n) { return (n + ML_PANEL - 1) / ML_PANEL; }

/* Packs w[n][k]; `panels` has ml_panels_count(n) * k * ML_PANEL floats. */
void ml_pack_panels_f32(const float *w, int64_t n, int64_t k, float *panels);

typedef struct ml_matmul_f32_args {
    const float *a; /* rows of k */
    int64_t rows;
    const float *panels;
    int64_t k;
    int64_t n;
    const float *bias; /* n, or NULL */
    float *y;
    int64_t y_stride; /* from row to row */
    float low;
    float high;
} ml_matmul_f32_args;

/* y = min(max(a w + bias, low), high), summed over at most 128 k at a time, so that errors stay below 8 eps of sum |a w|. */
void ml_matmul_f32(const ml_matmul_f32_args *args);

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

/* How many rows of `row_bytes` to work on at a time: whole tiles, at most `rows`. */
int64_t ml_block_rows(int64_t rows, int64_t row_bytes);

#endif
