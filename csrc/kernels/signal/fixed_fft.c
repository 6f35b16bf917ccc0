/* fixed_fft.c -- decimation in time, by 4 as often as possible, the last pass by 2. Sums wrap at 16
 * or 32 bits. */
#include "kernels/signal/fixed_fft.h"

#include <math.h>

static ml_fixed root_of(double phase, int32_t bits) {
    const double one = (double)((INT64_C(1) << bits) - 1);
    return (ml_fixed){(int32_t)floor(0.5 + one * cos(phase)),
                      (int32_t)floor(0.5 + one * sin(phase))};
}

void ml_fixed_roots(const ml_fixed_fft *f, ml_fixed *roots) {
    const double pi = 3.14159265358979323846, sign = f->inverse ? -1.0 : 1.0;
    const int64_t half = f->n / 2;
    for (int64_t k = 0; k < half; k++)
        roots[k] = root_of(sign * (-2.0 * pi * (double)k / (double)half), f->bits);
    for (int64_t k = 0; k < half / 2; k++)
        roots[half + k] = root_of(sign * (-pi * ((double)(k + 1) / (double)half + 0.5)), f->bits);
}

static inline int32_t wrap(int64_t value, int32_t bits) {
    return bits == 15 ? (int16_t)(uint16_t)value : (int32_t)(uint32_t)value;
}
static inline int32_t rounded(int64_t product, int32_t bits) {
    return wrap((product + (INT64_C(1) << (bits - 1))) >> bits, bits);
}
static inline ml_fixed times(ml_fixed a, ml_fixed b, int32_t bits) {
    return (ml_fixed){rounded((int64_t)a.re * b.re - (int64_t)a.im * b.im, bits),
                      rounded((int64_t)a.re * b.im + (int64_t)a.im * b.re, bits)};
}
static inline ml_fixed parted(ml_fixed a, int64_t by, int32_t bits) {
    const int64_t part = ((INT64_C(1) << bits) - 1) / by;
    return (ml_fixed){rounded(a.re * part, bits), rounded(a.im * part, bits)};
}
static inline ml_fixed plus(ml_fixed a, ml_fixed b, int32_t bits) {
    return (ml_fixed){wrap((int64_t)a.re + b.re, bits), wrap((int64_t)a.im + b.im, bits)};
}
static inline ml_fixed minus(ml_fixed a, ml_fixed b, int32_t bits) {
    return (ml_fixed){wrap((int64_t)a.re - b.re, bits), wrap((int64_t)a.im - b.im, bits)};
}
/* a - i b. */
static inline ml_fixed minus_turned(ml_fixed a, ml_fixed b, int32_t bits) {
    return (ml_fixed){wrap((int64_t)a.re + b.im, bits), wrap((int64_t)a.im - b.re, bits)};
}

static void pass_by_2(const ml_fixed_fft *f, ml_fixed *y, int64_t m, const ml_fixed *roots,
                      int64_t step) {
    const int32_t bits = f->bits;
    for (int64_t j = 0; j < m; j++) {
        const ml_fixed even = parted(y[j], 2, bits);
        const ml_fixed odd = times(parted(y[m + j], 2, bits), roots[j * step], bits);
        y[j] = plus(even, odd, bits);
        y[m + j] = minus(even, odd, bits);
    }
}

static void pass_by_4(const ml_fixed_fft *f, ml_fixed *y, int64_t m, const ml_fixed *roots,
                      int64_t step) {
    const int32_t bits = f->bits;
    for (int64_t j = 0; j < m; j++) {
        ml_fixed part[4];
        for (int64_t k = 0; k < 4; k++) {
            part[k] = parted(y[k * m + j], 4, bits);
            if (k > 0) part[k] = times(part[k], roots[k * j * step], bits);
        }
        const ml_fixed even = plus(part[0], part[2], bits), odd = minus(part[0], part[2], bits);
        const ml_fixed sum = plus(part[1], part[3], bits);
        const ml_fixed gap = minus(part[1], part[3], bits), back = minus(part[3], part[1], bits);
        y[j] = plus(even, sum, bits);
        y[2 * m + j] = minus(even, sum, bits);
        y[m + j] = minus_turned(odd, f->inverse ? back : gap, bits);
        y[3 * m + j] = minus_turned(odd, f->inverse ? gap : back, bits);
    }
}

/* Transforms n numbers, `step` apart in `x`, to `y`. */
static void transform(const ml_fixed_fft *f, const ml_fixed *roots, const ml_fixed *x, int64_t step,
                      int64_t n, ml_fixed *y) {
    const int64_t radix = n % 4 == 0 ? 4 : 2, m = n / radix;
    for (int64_t k = 0; k < radix; k++) {
        if (m == 1) y[k] = x[k * step];
        else transform(f, roots, x + k * step, step * radix, m, y + k * m);
    }
    if (radix == 4) pass_by_4(f, y, m, roots, step);
    else pass_by_2(f, y, m, roots, step);
}

static ml_fixed conjugate(ml_fixed a, int32_t bits) {
    return (ml_fixed){a.re, wrap(-(int64_t)a.im, bits)};
}

void ml_fixed_real(const ml_fixed_fft *f, const ml_fixed *roots, ml_fixed *x, ml_fixed *y) {
    const int64_t half = f->n / 2;
    const int32_t bits = f->bits;
    transform(f, roots, x, 1, half, y);
    for (int64_t k = 0; k < half; k++) x[k] = y[k];
    const ml_fixed first = parted(x[0], 2, bits);
    y[0] = (ml_fixed){wrap((int64_t)first.re + first.im, bits), 0};
    y[half] = (ml_fixed){wrap((int64_t)first.re - first.im, bits), 0};
    for (int64_t k = 1; k <= half / 2; k++) {
        const ml_fixed a = parted(x[k], 2, bits);
        const ml_fixed b = parted(conjugate(x[half - k], bits), 2, bits);
        const ml_fixed even = plus(a, b, bits);
        const ml_fixed odd = times(minus(a, b, bits), roots[half + k - 1], bits);
        y[k] = (ml_fixed){wrap(((int64_t)even.re + odd.re) >> 1, bits),
                          wrap(((int64_t)even.im + odd.im) >> 1, bits)};
        y[half - k] = (ml_fixed){wrap(((int64_t)even.re - odd.re) >> 1, bits),
                                 wrap(((int64_t)odd.im - even.im) >> 1, bits)};
    }
}

void ml_fixed_real_inverse(const ml_fixed_fft *f, const ml_fixed *roots, ml_fixed *x, ml_fixed *y) {
    const int64_t half = f->n / 2;
    const int32_t bits = f->bits;
    const ml_fixed ends = {wrap((int64_t)x[0].re + x[half].re, bits),
                           wrap((int64_t)x[0].re - x[half].re, bits)};
    x[0] = parted(ends, 2, bits);
    for (int64_t k = 1; k <= half / 2; k++) {
        const ml_fixed a = parted(x[k], 2, bits);
        const ml_fixed b = parted(conjugate(x[half - k], bits), 2, bits);
        const ml_fixed even = plus(a, b, bits);
        const ml_fixed odd = times(minus(a, b, bits), roots[half + k - 1], bits);
        x[k] = plus(even, odd, bits);
        x[half - k] = conjugate(minus(even, odd, bits), bits);
    }
    transform(f, roots, x, 1, half, y);
}
