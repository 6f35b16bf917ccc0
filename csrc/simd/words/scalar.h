/* scalar.h -- the words of scalar, as simd/words.h explains them: one float. Loops over bytes have
 * scalar variants of their own. */
#ifndef ML_SIMD_WORDS_SCALAR_H
#define ML_SIMD_WORDS_SCALAR_H

#include "math/float_math.h"

enum { LANES = 1, PANEL_F32 = 1, ROWS_F32 = 1 };
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
#define LESS_EQUAL(a, b) ((a) <= (b))
#define EQUAL(a, b) ((a) == (b))
#define NOT_EQUAL(a, b) ((a) != (b))
#define PICK(mask, a, b) ((mask) ? (a) : (b))
#define ANY(mask) (mask)
#define ABS(a) __builtin_fabsf(a)
static inline float XOR(float a, float b) {
    return ml_float_of_bits(ml_bits_of_float(a) ^ ml_bits_of_float(b));
}
static inline float SIGN(float a) { return ml_float_of_bits(ml_bits_of_float(a) & 0x80000000u); }

#define VECTOR_S32 int32_t
#define SPLAT_S32(x) (x)
#define ADD_S32(a, b) ((int32_t)((uint32_t)(a) + (uint32_t)(b)))
#define SUB_S32(a, b) ((int32_t)((uint32_t)(a) - (uint32_t)(b)))
#define AND_S32(a, b) ((a) & (b))
#define SHIFT_LEFT_S32(a, bits) ((int32_t)((uint32_t)(a) << (bits)))
#define SHIFT_RIGHT_S32(a, bits) ((a) >> (bits))
#define FLOATS(a) ((float)(a))
#define NEAREST_S32(a) (BITS_OF((a) + 12582912.0f) - 0x4B400000)
#define BITS_OF(a) ((int32_t)ml_bits_of_float(a))
#define OF_BITS(a) ml_float_of_bits((uint32_t)(a))

#define LOAD_S32(p) (*(p))
#define STORE_S32(p, v) (*(p) = (v))
#define MUL_S32(a, b) ((int32_t)((uint32_t)(a) * (uint32_t)(b)))

#define VECTOR_S16 int16_t
#define SPLAT_S16(x) ((int16_t)(x))
enum { LANES_S16 = 1 };
#define ADD_S16(a, b) ((int16_t)((a) + (b)))
#define SUB_S16(a, b) ((int16_t)((a) - (b)))
#define SHIFT_LEFT_S16(a, bits) ((int16_t)((a) * (1 << (bits))))
#define WIDEN_S16(p) ((int16_t)*(p))
#define STORE_S16(p, v) (*(p) = (v))

#define LOAD_PART_OR(p, count, other) (*(p))
#define SUM_OF(v) (v)
#define MAX_OF(v) (v)
#define MIN_OF(v) (v)
#define STORE_ONES(p, mask) (*(p) = (mask))
#define STORE_ONES_PART(p, mask, count) (*(p) = (mask))

#endif
