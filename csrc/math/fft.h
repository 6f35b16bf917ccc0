/* fft.h -- discrete Fourier transforms of lengths that are powers of two, in double. */
#ifndef ML_MATH_FFT_H
#define ML_MATH_FFT_H

#include <stdint.h>

typedef struct ml_complex {
    double re;
    double im;
} ml_complex;

/* exp(-2 pi i k / n) for k = 0 ... n / 2 - 1 (one for n = 1). */
void ml_fft_roots(int64_t n, ml_complex *roots);
/* Transforms the first index of an array of (n, batch) in place, with as much memory again beside
 * it. `roots` are those of n * every, a power of two too. */
void ml_fft(ml_complex *x, ml_complex *beside, int64_t n, int64_t batch, const ml_complex *roots,
            int64_t every);
/* The first n / 2 + 1 numbers of the transform of n reals, in the place of these: real k stands in
 * y[k / 2], as its real part where k is even. There is as much memory beside it. */
void ml_fft_real(ml_complex *y, ml_complex *beside, int64_t n, const ml_complex *roots,
                 int64_t every);

#endif
