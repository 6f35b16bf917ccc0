/* fixed_fft.h -- Fourier transforms of fixed-point numbers, of lengths that are powers of two: each
 * pass divides by its radix, so that nothing overflows, and rounds. So the result is the transform
 * divided by its length. */
#ifndef ML_KERNELS_SIGNAL_FIXED_FFT_H
#define ML_KERNELS_SIGNAL_FIXED_FFT_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ml_fixed {
    int32_t re;
    int32_t im;
} ml_fixed;

/* A transform of n reals: as n / 2 complex numbers, whose two halves are separated afterwards. */
typedef struct ml_fixed_fft {
    int64_t n; /* 4 or more */
    int32_t bits; /* fraction bits: 15 or 31 */
    bool inverse;
} ml_fixed_fft;

/* Computes n / 2 roots for the transform, then n / 4 that separate the halves. */
void ml_fixed_roots(const ml_fixed_fft *f, ml_fixed *roots);
/* From n reals to n / 2 + 1 numbers. `x` has n / 2 pairs of neighbours, and is overwritten. */
void ml_fixed_real(const ml_fixed_fft *f, const ml_fixed *roots, ml_fixed *x, ml_fixed *y);
/* And back: from n / 2 + 1 numbers, which are overwritten, to n / 2 pairs of neighbours. */
void ml_fixed_real_inverse(const ml_fixed_fft *f, const ml_fixed *roots, ml_fixed *x, ml_fixed *y);

#endif
