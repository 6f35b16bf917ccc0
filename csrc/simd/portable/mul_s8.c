/* mul_s8.c -- mul_s8 in the words of a level, requantized by a float, or in 64 bits.
 *
 * The upper half of (the mantissa times twice a product, plus 2^31) is the high product. One
 * constant adds the zero point and what the right shift needs to round half away from zero: half,
 * minus 1 if the product is negative. */
#include "simd/words.h"

enum { MOST_RIGHT = 20 }; /* largest shift at which the zero point can be added */

typedef struct constants {
    VECTOR_S32 a_zero, b_zero, negative;
    VECTOR_S32 mantissa, add; /* of 64 bits */
    BITS shift;
    VECTOR real, real_zero, nudge;
} constants;

static inline constants prepare(const ml_mul_s8_args *p) {
    const int32_t right = p->shift < 0 ? -p->shift : 0;
    const int64_t half = right > 0 ? (int64_t)1 << (right - 1) : 0;
    const int64_t upper = half + (int64_t)p->zero * ((int64_t)1 << right);
    return (constants){SPLAT_S32(p->a_zero),
                       SPLAT_S32(p->b_zero),
                       SPLAT_S32(right > 0 ? 0 : INT32_MIN),
                       SPLAT_S64(p->mantissa),
                       SPLAT_S64(((int64_t)1 << 31) + upper * ((int64_t)1 << 32)),
                       SPLAT_BITS(right),
                       SPLAT(p->real),
                       SPLAT((float)p->zero),
                       SPLAT(p->nudge)};
}

__attribute__((always_inline)) static inline VECTOR_S32 multiply(const constants *k, VECTOR_S32 a,
                                                                 VECTOR_S32 b) {
    const VECTOR_S32 product = MUL_S32(SUB_S32(a, k->a_zero), SUB_S32(b, k->b_zero));
    const VECTOR_S32 high = HIGH_MUL_ADD(ADD_S32(product, product), k->mantissa, k->add);
    return SHIFT_RIGHT_BY(LESS_ONE(high, product, k->negative), k->shift);
}

#ifdef FUSED
__attribute__((always_inline)) static inline VECTOR_S32 multiply_real(const constants *k,
                                                                      VECTOR_S32 a, VECTOR_S32 b) {
    const VECTOR_S32 product = MUL_S32(SUB_S32(a, k->a_zero), SUB_S32(b, k->b_zero));
    const VECTOR real = FLOATS(product), zero = ADD(k->real_zero, XOR(k->nudge, SIGN(real)));
    return NEAREST_S32(FMA(real, k->real, zero));
}
#endif

#define ARGS ml_mul_s8_args
#include "simd/portable/bytes.h"

static bool is_byte(int32_t x) { return x >= INT8_MIN && x <= UINT8_MAX; }

void ML_VARIANT(mul_s8)(const ml_mul_s8_args *p) {
    const bool near = is_byte(p->a_zero) && is_byte(p->b_zero) && is_byte(p->zero);
#ifdef FUSED
    if (near && p->real > 0.0f) {
        run_any(p, multiply_real);
        return;
    }
#endif
    if (!near || p->shift > 0 || p->shift < -MOST_RIGHT) ml_mul_s8_scalar(p);
    else run_any(p, multiply);
}
