/* exp_f32.h -- e to the power of each lane, for files that have included the vectors of their level. */
#ifndef ML_SIMD_EXP_F32_H
#define ML_SIMD_EXP_F32_H

/* e^x, or with a `sign` of -1 e^-x, of x from -104 to 104; 0 and infinity where it is too small or large. */
static inline VECTOR exp_near(VECTOR x, float sign) {
    const VECTOR n = NEAREST(MUL(x, SPLAT(sign * 1.44269504f)));
    const VECTOR one = SPLAT(1.0f), s = SPLAT(sign);
    const VECTOR r = FMA(n, SPLAT(sign * 2.12194440e-4f), FMA(n, SPLAT(sign * -0.693359375f), x));
    VECTOR p = SPLAT(1.395052199e-3f);
    p = FMA(p, r, SPLAT(sign * 8.368903498e-3f));
    p = FMA(p, r, SPLAT(4.166620538e-2f));
    p = FMA(p, r, SPLAT(sign * 1.666651873e-1f));
    p = FMA(p, r, SPLAT(5.000000095e-1f));
    p = FMA(p, r, s);
    return SCALE(FMA(p, r, one), n);
}

static inline VECTOR cut(VECTOR x, float low, float high) {
    return MIN(SPLAT(high), MAX(SPLAT(low), x));
}

static inline VECTOR exp_of(VECTOR x) { return exp_near(cut(x, -104.0f, 89.0f), 1.0f); }

#endif
