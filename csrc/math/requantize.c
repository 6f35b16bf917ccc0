/* requantize.c -- ml_multiply_quantized for whole rows, in a form that compilers turn into vector code: the same bits.
 *
 * SaturatingRoundingDoublingHighMul(a, m), floor((a m + 2^30) / 2^31), is computed unsigned: with a + 2^31 in place of a
 * it is m larger. RoundingDivideByPOT(h, e) is h * 2^-e rounded half away from zero; in double every step is exact.
 */
#include "math/fixed_point.h"

#include <stdbool.h>
#include <string.h>

enum { CHUNK = 64 };

static bool any_left_shift(const int32_t *shifts, int n) {
    int32_t most = 0;
    for (int i = 0; i < n; i++) most = shifts[i] > most ? shifts[i] : most;
    return most > 0;
}

static void scale_chunk(const int32_t *restrict mantissas, const int32_t *restrict shifts, int n,
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

void ml_requantize(const ml_requantizer *r, const int32_t *sums, int64_t first, int64_t n,
                   int8_t *y) {
    int32_t v[CHUNK], zero = r->zero, low = r->low, high = r->high;
    for (int64_t start = 0; start < n; start += CHUNK) {
        int count = (int)(n - start < CHUNK ? n - start : CHUNK);
        const int32_t *mantissas = r->mantissas + first + start,
                      *shifts = r->shifts + first + start;
        if (r->bias) {
            const int32_t *bias = r->bias + first + start;
            for (int i = 0; i < count; i++)
                v[i] = (int32_t)((uint32_t)sums[start + i] + (uint32_t)bias[i]);
        } else {
            memcpy(v, sums + start, (size_t)count * sizeof *v);
        }
        if (any_left_shift(shifts, count))
            for (int i = 0; i < count; i++)
                v[i] = ml_multiply_quantized(v[i], mantissas[i], shifts[i]);
        else scale_chunk(mantissas, shifts, count, v);
        for (int i = 0; i < count; i++)
            y[start + i] =
                (int8_t)ml_clamp_s32((int32_t)((uint32_t)v[i] + (uint32_t)zero), low, high);
    }
}
