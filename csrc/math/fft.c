/* fft.c -- Stockham's transform: each pass reads numbers that are half the length apart, and writes
 * them in order. So nothing has to be permuted, and a batch only makes the innermost loop
 * longer. */
#include "math/fft.h"

#include <math.h>
#include <string.h>

#include "math/loops.h"

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

/* One pass: reads pairs of runs of `run` numbers, half of the length apart, and writes each pair
 * side by side. */
static void pass(const ml_complex *x, ml_complex *y, int64_t pairs, int64_t run,
                 const ml_complex *roots, int64_t every) {
    for (int64_t j = 0; j < pairs; j++, x += run, y += 2 * run) {
        const ml_complex *far = x + pairs * run, root = roots[j * every];
        ML_IVDEP
        for (int64_t k = 0; k < run; k++) {
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

/* Neighbours are transformed as one complex number; symmetry separates them afterwards. */
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
