/* exp_f32.h -- e to the power of each lane, in the words of a level. */
#ifndef ML_SIMD_EXP_F32_H
#define ML_SIMD_EXP_F32_H

#include "simd/words.h"

/* 2 to the power of the last bits of `sum`; infinity at 128. */
static inline VECTOR POWER_OF_SUM(VECTOR sum) {
    return OF_BITS(SHIFT_LEFT_S32(ADD_S32(BITS_OF(sum), SPLAT_S32(127)), 23));
}

/* e^x, or e^-x if `sign` is -1, for x from -104 to 104; 0 or infinity if the result is too small or
 * too large. */
#ifdef ROOT_OF_2 /* e^x = 2^whole 2^(i / 32) e^r, |r| <= log(2) / 64; i: last bits of the sum */
static inline VECTOR exp_near(VECTOR x, float sign) {
    const VECTOR grid = SPLAT(393216.0f);
    const VECTOR sum = FMA(x, SPLAT(sign * 1.44269504f), grid), n = SUB(sum, grid);
    const VECTOR root = ROOT_OF_2(BITS_OF(sum));
    const VECTOR r = FMA(n, SPLAT(sign * 2.12194440e-4f), FMA(n, SPLAT(sign * -0.693359375f), x));
    const VECTOR p = FMA(r, SPLAT(0.5000006f), SPLAT(sign * 1.0000147f));
    return SCALE(FMA(p, MUL(root, r), root), n);
}
#define exp_once(x, sign) exp_near(x, sign)
#define exp_roughly(x) exp_near(x, 1.0f)
#else
/* e^(sign x) without its power of two, whose exponent is in the last bits of `sum`. */
static inline VECTOR exp_rest(VECTOR x, float sign, VECTOR *sum) {
    const VECTOR whole = SPLAT(12582912.0f), one = SPLAT(1.0f), s = SPLAT(sign);
    *sum = FMA(x, SPLAT(sign * 1.44269504f), whole);
    const VECTOR n = SUB(*sum, whole);
    const VECTOR r = FMA(n, SPLAT(sign * 2.12194440e-4f), FMA(n, SPLAT(sign * -0.693359375f), x));
    VECTOR p = SPLAT(1.395052199e-3f);
    p = FMA(p, r, SPLAT(sign * 8.368903498e-3f));
    p = FMA(p, r, SPLAT(4.166620538e-2f));
    p = FMA(p, r, SPLAT(sign * 1.666651873e-1f));
    p = FMA(p, r, SPLAT(5.000000095e-1f));
    p = FMA(p, r, s);
    return FMA(p, r, one);
}

static inline VECTOR exp_near(VECTOR x, float sign) {
    VECTOR sum;
    const VECTOR rest = exp_rest(x, sign, &sum);
    return SCALE(rest, SUB(sum, SPLAT(12582912.0f)));
}

/* The same in fewer steps if sign * x is from -87 to 89; infinite if the power of two is. */
static inline VECTOR exp_once(VECTOR x, float sign) {
    VECTOR sum;
    const VECTOR rest = exp_rest(x, sign, &sum);
    return MUL(rest, POWER_OF_SUM(sum));
}

/* e^x for x from -87.3 to 89, within 4 ULP and |x| / 32 more: the polynomial is shorter, and log(2)
 * is one float where products are fused. */
static inline VECTOR exp_roughly(VECTOR x) {
    const VECTOR whole = SPLAT(12582912.0f), sum = FMA(x, SPLAT(1.44269504f), whole);
    const VECTOR n = SUB(sum, whole);
#ifdef FUSED
    const VECTOR r = FMA(n, SPLAT(-0.693147182f), x);
#else
    const VECTOR r = FMA(n, SPLAT(2.12194440e-4f), FMA(n, SPLAT(-0.693359375f), x));
#endif
    VECTOR p = SPLAT(8.290272143e-3f);
    p = FMA(p, r, SPLAT(4.189815983e-2f));
    p = FMA(p, r, SPLAT(1.666763813e-1f));
    p = FMA(p, r, SPLAT(4.999914784e-1f));
    p = FMA(p, r, SPLAT(1.0f));
    return MUL(FMA(p, r, SPLAT(1.0f)), POWER_OF_SUM(sum));
}
#endif

static inline VECTOR cut(VECTOR x, float low, float high) {
    return MIN(SPLAT(high), MAX(SPLAT(low), x));
}

static inline VECTOR exp_of(VECTOR x) { return exp_near(cut(x, -104.0f, 89.0f), 1.0f); }

#endif
