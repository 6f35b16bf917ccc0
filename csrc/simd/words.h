/* words.h -- the words in which a loop is written once for all levels. portable/ uses them, and
 * words/<level>.h defines them for a level. The build names that header ML_WORDS.
 *
 * Constants: LANES; PANEL_F32 and ROWS_F32, the columns of a panel and the most rows of a tile of
 * matmul_f32; MOST_PIXELS, the most pixels of a depthwise tile, if they are not 8; NARROWER, a
 * level whose vectors are half as wide, where such vectors may be better
 *
 * Vectors of LANES floats, VECTOR
 *   LOAD(p)  STORE(p, v)          LANES neighbours at p, which need not be aligned
 *   LOAD_PART(p, count)  LOAD_PART_OR(p, count, other)  STORE_PART(p, v, count)
 *                                 the first `count` of them, 1 <= count < LANES; nothing else is
 *                                 read or written; the other lanes load as 0, or as `other` has
 *                                 them. Where MASKED is 0 they take longer than a few elements;
 *                                 where FREE_MASKS is 1, no longer than LOAD and STORE
 *   LOAD_REST(p, count)           the lanes after them, from p + count on; those load as 0
 *   SPLAT(x)                      x in every lane
 *   REGISTER                      the constraint of an asm for a vector, also of int32
 *   ADD SUB MUL DIV(a, b)  SQRT ABS(a)
 *   RSQRT(a)                      1 / sqrt(a), within 2 ULP
 *   FMA(a, b, c)  FNMA(a, b, c)   a b + c and c - a b, rounded once where FUSED is defined
 *   MAX(a, b)  MIN(a, b)          b where one is NaN, or where both are zeros of any sign
 *   CLAMP(v, low, high)           v where it is NaN; the limits are not
 *   XOR(a, b)  SIGN(a)            of the bits; the sign bit alone
 *   ROUND(a)  FLOOR(a)  CEIL(a)   to whole numbers; ROUND to nearest, ties to even
 *   NEAREST(a)                    ROUND of numbers of less than 2^22 in size
 *   SCALE(v, n)                   v 2^n, rounded once; n is whole, or is rounded down
 *   SPLIT(x, &m, &e)              x = m 2^e; m from 3/4 to 3/2, or from sqrt(1/2) to sqrt(2).
 *                                 Where SPLIT_IS_TOTAL is 0 x has to be positive and finite; else
 *                                 0 has e = -infinity, infinity has e = infinity, and m is NaN for
 *                                 numbers below 0
 *   ROOT_OF_2(i)                  2^(i / 32) of the last five bits of int32 lanes; not at every
 *                                 level: #ifdef
 *   SUM_OF MAX_OF MIN_OF(v)       all lanes combined; for MAX_OF and MIN_OF none is NaN
 *
 * Masks of lanes, MASK
 *   LESS LESS_EQUAL EQUAL NOT_EQUAL(a, b)  false where one is NaN, but for NOT_EQUAL
 *   PICK(mask, a, b)              a where the mask is set, else b
 *   ANY(mask)                     true if one lane is set
 *   STORE_ONES(p, mask)  STORE_ONES_PART(p, mask, count)   bytes of 1 where the mask is set, else 0
 *
 * Vectors of as many int32, VECTOR_S32; sums, differences and products wrap
 *   SPLAT_S32(x)  ADD_S32 SUB_S32 AND_S32(a, b)  SHIFT_LEFT_S32 SHIFT_RIGHT_S32(a, bits)
 *                                 by a constant number of bits, the sign is kept
 *   FLOATS(a)  NEAREST_S32(v)  TRUNCATED(v)                int32 to floats, and floats to int32
 *   NEAREST_OR_LEAST(v)           NEAREST_S32, but NaN becomes the least int32
 *   BITS_OF(v)  OF_BITS(a)        the same bits
 *
 * The rest is what loops over bytes need, and scalar has none of it
 *   LOAD_S32 STORE_S32 LOAD_PART_S32 STORE_PART_S32, MASKED_S32: as above
 *   MUL_S32 MIN_S32 MAX_S32(a, b)
 *   ADD_PRODUCTS(sum, x, w)       sum plus, in each lane, the products of what the level multiplies
 *                                 at a time: two int16 of x and w, or four bytes of x, unsigned,
 *                                 and of w. Not at neon
 *   SHIFT_RIGHT_BY(v, bits)       bits known at run time: a BITS, made by SPLAT_BITS(bits)
 *   LESS_ONE(v, x, limit)         v, less 1 where x is below the limit
 *   HIGH_MUL_ADD(v, factor, add)  the upper halves of v * factor + add in 64 bits. The factor has 32
 *                                 bits and is not negative; SPLAT_S64(x) makes both
 *   SUM_OF_S32(v)                 the sum of all lanes
 *   WIDEN(p, is_signed)  WIDEN_PART(p, count, is_signed)  WIDEN_BYTE(p, is_signed)
 *                                 LANES bytes, the first few, or one for all lanes, as int32
 *   OF_LOW_HALF OF_HIGH_HALF(v)   the signed number in the low, or the high, 4 bits of a byte that
 *                                 was widened with its sign, as a float
 *   NARROW(p, v)  NARROW_PART(p, v, count)                 writes the low bytes of lanes
 *   ADD_GROUPS(sum, p, is_signed) sum plus, in each lane, four of the 4 LANES bytes at p
 *   JOIN(v, is_signed)            JOINED vectors as the bytes of one, VECTOR_U8, saturated
 *   JOIN_UPPER(v, words, is_signed)
 *                                 the same of their upper halves plus words, a VECTOR_S16 made by
 *                                 SPLAT_S16(x)
 *   LANES_S16 int16 of a VECTOR_S16: ADD_S16 SUB_S16(a, b)  SHIFT_LEFT_S16(a, bits), which wrap;
 *   WIDEN_S16(p)  STORE_S16(p, v) as many signed bytes, and int16
 *   WIDEN_PART_S16(p, count)  STORE_PART_S16(p, v, count)  the first few
 *   ADD_PAIRS(sum, a, w)          sum plus, in each lane, the products of two int16; PAIR_ROWS rows
 *                                 of sums of 16 outputs stay in registers, PAIR_ROW_COUNTS(X) is
 *                                 X(1) .. X(PAIR_ROWS). Not at scalar and neon
 *   ANY_LOWER_BELOW(v, bits)      true if a lane of JOINED vectors has a lower half below a power of
 *                                 2; `bits` are all bits from that power on
 *   SPLAT_U8(x)  LOAD_U8(p)  STORE_U8(p, v)  LOAD_PART_U8(p, count)
 *   XOR_U8(a, b)  MAX_U8(a, b, is_signed)  CLAMP_U8(v, low, high, is_signed)
 *                                 of all LANES_U8 bytes of a vector
 *
 * and loops at avx2 and above, the last two also at neon
 *   EQUAL_S32(a, b)               a MASK
 *   LOOKUP_OR(other, mask, v, i)  the lanes of v that int32 lanes name where the mask is set, else
 *                                 other
 *   FOURS(p, step)                the four floats at p, at p + step bytes, and so on
 *   UNPACK_LOW UNPACK_HIGH(a, b)  SHUFFLE(a, b, lanes)     within fours
 *   LOAD_F16(p)  STORE_F16(p, v)  LANES floats of 16 bits as floats, and back, where a NaN keeps
 *                                 only its sign; LOAD_PART_F16 and STORE_PART_F16, too */
#ifndef ML_SIMD_WORDS_H
#define ML_SIMD_WORDS_H

#include ML_WORDS
#include "simd/variants.h"

#if defined(VECTOR_U8) && !defined(LOAD_PART_U8)
static inline VECTOR_U8 LOAD_PART_U8(const uint8_t *p, int64_t count) {
    uint8_t bytes[LANES_U8] = {0};
    memcpy(bytes, p, (size_t)count);
    return LOAD_U8(bytes);
}
#endif

#if defined(LOAD_F16) && !defined(LOAD_PART_F16)
static inline VECTOR LOAD_PART_F16(const uint16_t *p, int64_t count) {
    uint16_t lanes[LANES] = {0};
    memcpy(lanes, p, (size_t)count * sizeof *p);
    return LOAD_F16(lanes);
}
static inline void STORE_PART_F16(uint16_t *p, VECTOR v, int64_t count) {
    uint16_t lanes[LANES];
    STORE_F16(lanes, v);
    memcpy(p, lanes, (size_t)count * sizeof *p);
}
#endif

/* Turns the last bit of a whole number below 2^22 in size into a sign. */
static inline VECTOR ODD_SIGN(VECTOR n) {
    return OF_BITS(SHIFT_LEFT_S32(BITS_OF(ADD(n, SPLAT(12582912.0f))), 31));
}

#ifndef LOAD_REST
static inline VECTOR LOAD_REST(const float *p, int64_t count) {
    float lanes[LANES] = {0};
    for (int64_t i = count; i < LANES; i++) lanes[i] = p[i];
    return LOAD(lanes);
}
#endif

/* `own`, or, for pixels of at most half a vector of `lanes`, the variant of a primitive at the
 * narrower level, whose vectors reach less far beyond them. */
#ifdef NARROWER
#define NARROWER_OR(name, args, lanes, own)                                                \
    do {                                                                                \
        ml_##name##_fn ML_JOINED(ml_##name##_, NARROWER);                               \
        if (2 * (args)->n <= (lanes)) ML_JOINED(ml_##name##_, NARROWER)(args);          \
        else own;                                                                       \
    } while (0)
#else
#define NARROWER_OR(name, args, lanes, own) own
#endif

#ifndef FREE_MASKS
#define FREE_MASKS 0
#endif

#ifndef CLAMP
#define CLAMP(v, low, high) MIN(high, MAX(low, v))
#endif

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
/* ROUND for numbers below 2^22 in size. */
#define NEAREST(a) SUB(ADD(a, SPLAT(12582912.0f)), SPLAT(12582912.0f))
#endif

#ifndef SCALE
static inline VECTOR POWER_OF_2(VECTOR_S32 n) {
    return OF_BITS(SHIFT_LEFT_S32(ADD_S32(n, SPLAT_S32(127)), 23));
}
/* v * 2^n, rounded once, for whole n. */
static inline VECTOR SCALE(VECTOR v, VECTOR n) {
    const VECTOR_S32 power = NEAREST_S32(n), half = SHIFT_RIGHT_S32(power, 1);
    return MUL(MUL(v, POWER_OF_2(half)), POWER_OF_2(SUB_S32(power, half)));
}
#endif

#ifndef OF_LOW_HALF
#define OF_LOW_HALF(v) FLOATS(SHIFT_RIGHT_S32(SHIFT_LEFT_S32(v, 28), 28))
#define OF_HIGH_HALF(v) FLOATS(SHIFT_RIGHT_S32(v, 4))
#endif

#ifndef WIDEN_PART_S16
static inline VECTOR_S16 WIDEN_PART_S16(const int8_t *p, int64_t count) {
    int8_t bytes[LANES_S16] = {0};
    for (int64_t i = 0; i < count; i++) bytes[i] = p[i];
    return WIDEN_S16(bytes);
}
static inline void STORE_PART_S16(int16_t *p, VECTOR_S16 v, int64_t count) {
    int16_t lanes[LANES_S16];
    STORE_S16(lanes, v);
    for (int64_t i = 0; i < count; i++) p[i] = lanes[i];
}
#endif

#ifndef NEAREST_OR_LEAST
#define NEAREST_OR_LEAST(v) NEAREST_S32(v)
#endif

#ifndef SPLIT_IS_TOTAL
/* v = m * 2^e for a positive normal v, sqrt(1/2) <= m < sqrt(2). */
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

/* x = m * 2^e for positive x, sqrt(1/2) <= m < sqrt(2); results for other x are replaced later. */
#define SPLIT_IS_TOTAL 0
static inline void SPLIT(VECTOR x, VECTOR *m, VECTOR *e) {
    const MASK tiny = LESS(x, SPLAT(1.17549435e-38f));
    const VECTOR normal = PICK(tiny, MUL(x, SPLAT(8388608.0f)), x);
    *m = MANTISSA(normal);
    *e = SUB(EXPONENT(normal), PICK(tiny, SPLAT(23.0f), SPLAT(0.0f)));
}
#endif

#endif
