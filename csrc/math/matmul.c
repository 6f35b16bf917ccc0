/* matmul.c -- register tiles of rows times weights, in plain C that the compiler turns into vector code. */
#include "math/matmul.h"

#include <string.h>

#include "api/minilite.h"

enum { WIDE_CHUNK = 256 };

#define ALWAYS_INLINE __attribute__((always_inline)) static inline

/* Integer rows: up to two rows times four outputs, eight dot products in one loop, which the compiler turns into pairwise
 * multiply-adds. */
#define MAC(sum, a, w) sum += (uint32_t)((a)[j] * (w)[j])
static void dot_2x4(const int16_t *restrict a, const int8_t *restrict w, int64_t k, int64_t count,
                    int32_t *y0, int32_t *y1) {
    const int16_t *a0 = a, *a1 = a + k;
    const int8_t *w0 = w, *w1 = w + k, *w2 = w + 2 * k, *w3 = w + 3 * k;
    uint32_t s00 = 0, s01 = 0, s02 = 0, s03 = 0, s10 = 0, s11 = 0, s12 = 0, s13 = 0;
    for (int64_t j = 0; j < count; j++) {
        MAC(s00, a0, w0), MAC(s01, a0, w1), MAC(s02, a0, w2), MAC(s03, a0, w3);
        MAC(s10, a1, w0), MAC(s11, a1, w1), MAC(s12, a1, w2), MAC(s13, a1, w3);
    }
    y0[0] = (int32_t)s00, y0[1] = (int32_t)s01, y0[2] = (int32_t)s02, y0[3] = (int32_t)s03;
    y1[0] = (int32_t)s10, y1[1] = (int32_t)s11, y1[2] = (int32_t)s12, y1[3] = (int32_t)s13;
}

static void dot_1x4(const int16_t *restrict a, const int8_t *restrict w, int64_t k, int64_t count,
                    int32_t *y) {
    const int8_t *w0 = w, *w1 = w + k, *w2 = w + 2 * k, *w3 = w + 3 * k;
    uint32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (int64_t j = 0; j < count; j++)
        MAC(s0, a, w0), MAC(s1, a, w1), MAC(s2, a, w2), MAC(s3, a, w3);
    y[0] = (int32_t)s0, y[1] = (int32_t)s1, y[2] = (int32_t)s2, y[3] = (int32_t)s3;
}

static void dot_1x1(const int16_t *restrict a, const int8_t *restrict w, int64_t count,
                    int32_t *y) {
    uint32_t sum = 0;
    for (int64_t j = 0; j < count; j++) MAC(sum, a, w);
    *y = (int32_t)sum;
}

/* `rows` rows (1 or 2) times `outputs` outputs (1 or 4) from row r, output i on. */
typedef struct product {
    const int16_t *a;
    const int8_t *w;
    int64_t k;
    int64_t n;
    void *y;
} product;

ALWAYS_INLINE void tile_s32(const product *p, int64_t r, int64_t i, const int rows,
                            const int outputs) {
    int32_t *y = (int32_t *)p->y + r * p->n + i;
    const int16_t *a = p->a + r * p->k;
    const int8_t *w = p->w + i * p->k;
    if (outputs == 1) dot_1x1(a, w, p->k, y);
    else if (rows == 2) dot_2x4(a, w, p->k, p->k, y, y + p->n);
    else dot_1x4(a, w, p->k, p->k, y);
}

/* Products of s16 and s8 are at most 2^22: WIDE_CHUNK of them fit into 32 bits. */
ALWAYS_INLINE void tile_s64(const product *p, int64_t r, int64_t i, const int rows,
                            const int outputs) {
    int64_t *y = (int64_t *)p->y + r * p->n + i;
    for (int q = 0; q < rows; q++) memset(y + q * p->n, 0, (size_t)outputs * sizeof *y);
    for (int64_t start = 0; start < p->k; start += WIDE_CHUNK) {
        int32_t sums[8];
        int64_t count = p->k - start < WIDE_CHUNK ? p->k - start : WIDE_CHUNK;
        const int16_t *a = p->a + r * p->k + start;
        const int8_t *w = p->w + i * p->k + start;
        if (outputs == 1) dot_1x1(a, w, count, sums);
        else if (rows == 2) dot_2x4(a, w, p->k, count, sums, sums + 4);
        else dot_1x4(a, w, p->k, count, sums);
        for (int q = 0; q < rows; q++)
            for (int o = 0; o < outputs; o++) y[q * p->n + o] += sums[4 * q + o];
    }
}

ALWAYS_INLINE void multiply(const product *p, int64_t rows, const bool wide) {
    int64_t i = 0;
    for (; i + 4 <= p->n; i += 4) {
        int64_t r = 0;
        for (; r + 2 <= rows; r += 2) (wide ? tile_s64 : tile_s32)(p, r, i, 2, 4);
        if (r < rows) (wide ? tile_s64 : tile_s32)(p, r, i, 1, 4);
    }
    for (; i < p->n; i++)
        for (int64_t r = 0; r < rows; r++) (wide ? tile_s64 : tile_s32)(p, r, i, 1, 1);
}

void ml_matmul_s16s8(const int16_t *a, int64_t rows, const int8_t *w, int64_t k, int64_t n, void *y,
                     bool wide) {
    product p = {a, w, k, n, y};
    if (wide) multiply(&p, rows, true);
    else multiply(&p, rows, false);
}

void ml_pad_rows(int32_t type, const void *w, int64_t n, int64_t k, int8_t *padded) {
    int64_t stride = ml_padded_row(k);
    memset(padded, 0, (size_t)(n * stride));
    for (int64_t i = 0; i < n; i++, padded += stride) {
        const uint8_t *from = (const uint8_t *)w + i * k;
        if (type == ML_S4)
            for (int64_t j = 0; j < k; j++) padded[j] = (int8_t)ml_nibble(w, i * k + j);
        else if (type == ML_U8)
            for (int64_t j = 0; j < k; j++) padded[j] = (int8_t)(from[j] ^ 0x80);
        else if (k > 0) memcpy(padded, from, (size_t)k);
    }
}

void ml_widen_s8(const int8_t *x, int64_t count, int16_t *rows) {
    for (int64_t i = 0; i < count; i++) rows[i] = x[i];
}

void ml_widen_u8(const uint8_t *x, int64_t count, int16_t *rows) {
    for (int64_t i = 0; i < count; i++) rows[i] = x[i];
}
