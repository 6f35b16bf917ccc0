/* requantize.c -- requantize in plain C that the compiler turns into vector code: sse2 has no
 * signed 32-bit product.
 *
 * SaturatingRoundingDoublingHighMul(a, m), floor((a m + 2^30) / 2^31), is computed unsigned: with a
 * + 2^31 in place of a it is m larger. RoundingDivideByPOT(h, e) is h * 2^-e rounded half away from
 * zero; in double every step is exact. */
#include <stdbool.h>
#include <string.h>

#include "math/fixed_point.h"
#include "simd/variants.h"

enum { CHUNK = 64 };

static bool any_left_shift(const int32_t *shifts, int n) {
    int32_t most = 0;
    for (int i = 0; i < n; i++) most = shifts[i] > most ? shifts[i] : most;
    return most > 0;
}

static void scale(const int32_t *restrict mantissas, const int32_t *restrict shifts, int n,
                  int32_t *restrict v) {
    for (int i = 0; i < n; i++) {
        uint64_t product = (uint64_t)((uint32_t)v[i] ^ 0x80000000u) * (uint32_t)mantissas[i];
        v[i] = (int32_t)((uint32_t)((product + (1u << 30)) >> 31) - (uint32_t)mantissas[i]);
    }
    for (int i = 0; i < n; i++) {
        int32_t bits = (127 + shifts[i]) * (1 << 23); /* of the float 2^shift */
        float power;
        memcpy(&power, &bits, sizeof power);
        double x = (double)v[i] * (double)power;
        v[i] = (int32_t)(x + (x < 0 ? -0.5 : 0.5));
    }
}

/* At most CHUNK columns, from `first` on, of one row. */
static void requantize_chunk(const ml_requantize_args *p, int64_t row, int64_t first, int n,
                             bool left_shifts) {
    const int32_t *sums = p->sums + row * p->sums_stride + first;
    const int32_t *mantissas = p->mantissas + first, *shifts = p->shifts + first;
    int32_t v[CHUNK], zero = p->zero, low = p->low, high = p->high;
    int8_t *y = p->y + row * p->y_stride + first;
    if (p->bias) {
        const int32_t *bias = p->bias + first;
        for (int i = 0; i < n; i++) v[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)bias[i]);
    } else {
        memcpy(v, sums, (size_t)n * sizeof *v);
    }
    if (left_shifts)
        for (int i = 0; i < n; i++) v[i] = ml_multiply_quantized(v[i], mantissas[i], shifts[i]);
    else scale(mantissas, shifts, n, v);
    for (int i = 0; i < n; i++)
        y[i] = (int8_t)ml_clamp_s32((int32_t)((uint32_t)v[i] + (uint32_t)zero), low, high);
}

void ml_requantize_sse2(const ml_requantize_args *p) {
    for (int64_t first = 0; first < p->n; first += CHUNK) {
        int n = (int)(p->n - first < CHUNK ? p->n - first : CHUNK);
        bool left_shifts = any_left_shift(p->shifts + first, n);
        for (int64_t row = 0; row < p->rows; row++) requantize_chunk(p, row, first, n, left_shifts);
    }
}
