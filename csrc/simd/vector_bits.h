/* vector_bits.h -- what the vectors of a level, which include it, make of the bits of floats.
 *
 * Where there are instructions for them a level has of its own: ROUND, NEAREST, FLOOR and CEIL;
 * SCALE; SPLIT and SPLIT_IS_TOTAL. */
#ifndef ML_SIMD_VECTOR_BITS_H
#define ML_SIMD_VECTOR_BITS_H

/* The last bit of a whole number of less than 2^22, as a sign. */
static inline VECTOR ODD_SIGN(VECTOR n) {
    return OF_BITS(SHIFT_LEFT_S32(BITS_OF(ADD(n, SPLAT(12582912.0f))), 31));
}

#ifndef ROUND
static inline VECTOR ROUND(VECTOR a) {
    const VECTOR most = SPLAT(8388608.0f), whole = SUB(ADD(ABS(a), most), most);
    return PICK(LESS(ABS(a), most), XOR(whole, SIGN(a)), a);
}
/* 1 where a is below b, else 0. */
static inline VECTOR STEP_UP(VECTOR a, VECTOR b) {
    return PICK(LESS(a, b), SPLAT(1.0f), SPLAT(0.0f));
}
static inline VECTOR FLOOR(VECTOR a) {
    const VECTOR near = ROUND(a);
    return SUB(near, STEP_UP(a, near));
}
static inline VECTOR CEIL(VECTOR a) {
    const VECTOR near = ROUND(a);
    return XOR(ABS(ADD(near, STEP_UP(near, a))), SIGN(a));
}
/* The same below 2^22 in size. */
#define NEAREST(a) SUB(ADD(a, SPLAT(12582912.0f)), SPLAT(12582912.0f))
#endif

#ifndef SCALE
static inline VECTOR POWER_OF_2(VECTOR_S32 n) {
    return OF_BITS(SHIFT_LEFT_S32(ADD_S32(n, SPLAT_S32(127)), 23));
}
/* v * 2^n, rounded once, of whole n. */
static inline VECTOR SCALE(VECTOR v, VECTOR n) {
    const VECTOR_S32 power = NEAREST_S32(n), half = SHIFT_RIGHT_S32(power, 1);
    return MUL(MUL(v, POWER_OF_2(half)), POWER_OF_2(SUB_S32(power, half)));
}
#endif

#ifndef SPLIT_IS_TOTAL
/* v = m * 2^e of a positive normal number, sqrt(1/2) <= m < sqrt(2). */
static inline VECTOR_S32 MOVED_BITS(VECTOR v) {
    return ADD_S32(BITS_OF(v), SPLAT_S32(0x3F800000 - 0x3F3504F3));
}
static inline VECTOR EXPONENT(VECTOR v) {
    return FLOATS(SUB_S32(SHIFT_RIGHT_S32(MOVED_BITS(v), 23), SPLAT_S32(127)));
}
static inline VECTOR MANTISSA(VECTOR v) {
    const VECTOR_S32 fraction = AND_S32(MOVED_BITS(v), SPLAT_S32(0x007FFFFF));
    return OF_BITS(ADD_S32(fraction, SPLAT_S32(0x3F3504F3)));
}

/* x = m * 2^e of a positive number, sqrt(1/2) <= m < sqrt(2); of others what comes out is
 * replaced. */
#define SPLIT_IS_TOTAL 0
static inline void SPLIT(VECTOR x, VECTOR *m, VECTOR *e) {
    const MASK tiny = LESS(x, SPLAT(1.17549435e-38f));
    const VECTOR normal = PICK(tiny, MUL(x, SPLAT(8388608.0f)), x);
    *m = MANTISSA(normal);
    *e = SUB(EXPONENT(normal), PICK(tiny, SPLAT(23.0f), SPLAT(0.0f)));
}
#endif

#endif
