/* exp_f32.h -- e to the power of each lane, for files that have included the vectors of their level. */
#ifndef ML_SIMD_EXP_F32_H
#define ML_SIMD_EXP_F32_H

/* e^x, or with a `sign` of -1 e^-x, of x from -104 to 104; 0 and infinity where it is too small or large. */
#ifdef ROOT_OF_2 /* e^x = 2^whole 2^(i / 32) e^r, |r| <= log(2) / 64; the sum's last bits are i */
static inline VECTOR exp_near(VECTOR x, float sign) {
    const VECTOR grid = SPLAT(393216.0f);
    const VECTOR sum = FMA(x, SPLAT(sign * 1.44269504f), grid), n = SUB(sum, grid);
    const VECTOR root = ROOT_OF_2(BITS_OF(sum));
    const VECTOR r = FMA(n, SPLAT(sign * 2.12194440e-4f), FMA(n, SPLAT(sign * -0.693359375f), x));
    const VECTOR p = FMA(r, SPLAT(0.5000006f), SPLAT(sign * 1.0000147f));
    return SCALE(FMA(p, MUL(root, r), root), n);
}
#else
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
#endif

static inline VECTOR cut(VECTOR x, float low, float high) {
    return MIN(SPLAT(high), MAX(SPLAT(low), x));
}

static inline VECTOR exp_of(VECTOR x) { return exp_near(cut(x, -104.0f, 89.0f), 1.0f); }

#endif
