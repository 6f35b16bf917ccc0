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
/* Transforms the first index of an array of (n, batch) in place; `beside` is as much memory again.
 * `roots` are those of n * every, which must be a power of two too. */
void ml_fft(ml_complex *x, ml_complex *beside, int64_t n, int64_t batch, const ml_complex *roots,
            int64_t every);
/* Computes the first n / 2 + 1 numbers of the transform of n reals, in place. On entry, real k is
 * in y[k / 2]: as the real part if k is even, else as the imaginary part. `beside` is as much
 * memory again. */
void ml_fft_real(ml_complex *y, ml_complex *beside, int64_t n, const ml_complex *roots,
                 int64_t every);

#endif
