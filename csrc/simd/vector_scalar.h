/* vector_scalar.h -- vectors of one float, in the words of vector_avx512.h. */
#ifndef ML_SIMD_VECTOR_SCALAR_H
#define ML_SIMD_VECTOR_SCALAR_H

#include "math/float_math.h"

enum { LANES = 1 };
#define VECTOR float
#define MASK int
#define LOAD(p) (*(p))
#define LOAD_PART(p, count) (*(p))
#define STORE(p, v) (*(p) = (v))
#define STORE_PART(p, v, count) (*(p) = (v))
#define SPLAT(x) (x)
#define ADD(a, b) ((a) + (b))
#define SUB(a, b) ((a) - (b))
#define MUL(a, b) ((a) * (b))
#define DIV(a, b) ((a) / (b))
#define SQRT(a) __builtin_sqrtf(a)
#define RSQRT(a) DIV(SPLAT(1.0f), SQRT(a))
#define FMA(a, b, c) ((a) * (b) + (c))
#define FNMA(a, b, c) ((c) - (a) * (b))
static inline float MAX(float a, float b) { return a > b ? a : b; }
static inline float MIN(float a, float b) { return a < b ? a : b; }
#define LESS(a, b) ((a) < (b))
#define PICK(mask, a, b) ((mask) ? (a) : (b))
#define ANY(mask) (mask)
#define ABS(a) __builtin_fabsf(a)
static inline float XOR(float a, float b) {
    return ml_float_of_bits(ml_bits_of_float(a) ^ ml_bits_of_float(b));
}
static inline float SIGN(float a) { return ml_float_of_bits(ml_bits_of_float(a) & 0x80000000u); }
static inline float ROUND(float a) {
    float whole = ABS(a) + 8388608.0f - 8388608.0f;
    return ABS(a) < 8388608.0f ? XOR(whole, SIGN(a)) : a;
}
static inline float FLOOR(float a) {
    float near = ROUND(a);
    return a < near ? near - 1.0f : near;
}
static inline float CEIL(float a) {
    float near = ROUND(a);
    return near < a ? XOR(ABS(near + 1.0f), SIGN(a)) : near;
}
/* The same below 2^22 in size. */
#define NEAREST(a) SUB(ADD(a, SPLAT(12582912.0f)), SPLAT(12582912.0f))
/* The last bit of a whole number of less than 2^22, as a sign. */
static inline float ODD_SIGN(float n) {
    return ml_float_of_bits(ml_bits_of_float(n + 12582912.0f) << 31);
}
/* v * 2^n, rounded once, of whole n. */
static inline float SCALE(float v, float n) {
    const int32_t power = (int32_t)(ml_bits_of_float(n + 12582912.0f) - 0x4B400000u),
                  half = power >> 1;
    return v * ml_float_of_bits((uint32_t)(half + 127) << 23) *
           ml_float_of_bits((uint32_t)(power - half + 127) << 23);
}
/* v = m * 2^e of a positive normal number, sqrt(1/2) <= m < sqrt(2). */
static inline float EXPONENT(float v) {
    return (float)((int32_t)((ml_bits_of_float(v) + (0x3F800000u - 0x3F3504F3u)) >> 23) - 127);
}
static inline float MANTISSA(float v) {
    const uint32_t bits = ml_bits_of_float(v) + (0x3F800000u - 0x3F3504F3u);
    return ml_float_of_bits((bits & 0x007FFFFFu) + 0x3F3504F3u);
}

/* x = m * 2^e of a positive number, sqrt(1/2) <= m < sqrt(2); of others what comes out is replaced. */
#define SPLIT_IS_TOTAL 0
static inline void SPLIT(float x, float *m, float *e) {
    const MASK tiny = LESS(x, SPLAT(1.17549435e-38f));
    const float normal = PICK(tiny, MUL(x, SPLAT(8388608.0f)), x);
    *m = MANTISSA(normal);
    *e = SUB(EXPONENT(normal), PICK(tiny, SPLAT(23.0f), SPLAT(0.0f)));
}

#define LOAD_PART_OR(p, count, other) (*(p))
#define SUM_OF(v) (v)
#define MAX_OF(v) (v)
#define MIN_OF(v) (v)

#endif
