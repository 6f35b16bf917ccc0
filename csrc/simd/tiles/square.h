/* square.h -- transposes squares of 4 x 4 elements of 32 bits, floats or groups of bytes. */
#ifndef ML_SIMD_SQUARE_H
#define ML_SIMD_SQUARE_H

#include <stdint.h>

#if defined(__ARM_NEON)
#include "simd/neon/intrinsics.h"
#else
#include <emmintrin.h>
#endif

/* Elements of `to` are columns of four lines, `column` elements apart. */
static inline void transpose_lines(const float *first, const float *second, const float *third,
                                   const float *fourth, float *to, int64_t column) {
#if defined(__ARM_NEON)
    const float32x4_t a = vld1q_f32(first), b = vld1q_f32(second), c = vld1q_f32(third),
                      d = vld1q_f32(fourth);
    const float32x4_t ac = vzip1q_f32(a, c), bd = vzip1q_f32(b, d);
    const float32x4_t ac_high = vzip2q_f32(a, c), bd_high = vzip2q_f32(b, d);
    vst1q_f32(to, vzip1q_f32(ac, bd));
    vst1q_f32(to + column, vzip2q_f32(ac, bd));
    vst1q_f32(to + 2 * column, vzip1q_f32(ac_high, bd_high));
    vst1q_f32(to + 3 * column, vzip2q_f32(ac_high, bd_high));
#else
    __m128 a = _mm_loadu_ps(first), b = _mm_loadu_ps(second), c = _mm_loadu_ps(third),
           d = _mm_loadu_ps(fourth);
    _MM_TRANSPOSE4_PS(a, b, c, d);
    _mm_storeu_ps(to, a);
    _mm_storeu_ps(to + column, b);
    _mm_storeu_ps(to + 2 * column, c);
    _mm_storeu_ps(to + 3 * column, d);
#endif
}

/* Lines of `from` are `line` elements apart, those of `to` are `column`. */
static inline void transpose_square(const float *from, int64_t line, float *to, int64_t column) {
    transpose_lines(from, from + line, from + 2 * line, from + 3 * line, to, column);
}

#endif
