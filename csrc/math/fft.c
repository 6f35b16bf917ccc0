/* fft.c -- Stockham's transform: each pass writes in order what it reads a half apart, so nothing
 * is ever permuted, and a batch is but a longer innermost loop. */
#include "math/fft.h"

#include <math.h>
#include <string.h>

void ml_fft_roots(int64_t n, ml_complex *roots) {
    roots[0] = (ml_complex){1.0, 0.0};
    for (int64_t k = 1; k < n / 2; k++) {
        const double angle = -6.283185307179586476925 * (double)k / (double)n;
        roots[k] = (ml_complex){cos(angle), sin(angle)};
    }
}

static inline ml_complex times(ml_complex a, ml_complex b) {
    return (ml_complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Pairs of runs of `run` numbers, half of all apart, to pairs side by side. */
static void pass(const ml_complex *x, ml_complex *y, int64_t pairs, int64_t run,
                 const ml_complex *roots, int64_t every) {
    for (int64_t j = 0; j < pairs; j++, x += run, y += 2 * run) {
        const ml_complex *far = x + pairs * run, root = roots[j * every];
        _Pragma("GCC ivdep") for (int64_t k = 0; k < run; k++) {
            const ml_complex a = x[k], b = far[k];
            y[k] = (ml_complex){a.re + b.re, a.im + b.im};
            y[run + k] = times((ml_complex){a.re - b.re, a.im - b.im}, root);
        }
    }
}

void ml_fft(ml_complex *x, ml_complex *beside, int64_t n, int64_t batch, const ml_complex *roots,
            int64_t every) {
    ml_complex *from = x, *to = beside;
    for (int64_t pairs = n / 2, run = batch; pairs > 0; pairs /= 2, run *= 2, every *= 2) {
        pass(from, to, pairs, run, roots, every);
        ml_complex *swap = from;
        from = to;
        to = swap;
    }
    if (from != x) memcpy(x, from, (size_t)(n * batch) * sizeof *x);
}

/* Neighbours are taken as one complex number, and what that mixed is told apart by symmetry. */
void ml_fft_real(ml_complex *y, ml_complex *beside, int64_t n, const ml_complex *roots,
                 int64_t every) {
    const int64_t half = n / 2;
    if (half == 0) {
        y[0].im = 0.0;
        return;
    }
    ml_fft(y, beside, half, 1, roots, 2 * every);
    y[half] = y[0];
    for (int64_t k = 0; k <= half - k; k++) {
        const ml_complex a = y[k], b = y[half - k];
        const ml_complex even = {0.5 * (a.re + b.re), 0.5 * (a.im - b.im)};
        const ml_complex odd = {0.5 * (a.im + b.im), 0.5 * (b.re - a.re)};
        const ml_complex root = k < half ? roots[k * every] : (ml_complex){-1.0, 0.0};
        const ml_complex turned = times(odd, root);
        y[k] = (ml_complex){even.re + turned.re, even.im + turned.im};
        y[half - k] = (ml_complex){even.re - turned.re, turned.im - even.im};
    }
}
