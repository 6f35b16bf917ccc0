/* map_f32.c -- map_f32 in the words of a level: functions of one float by polynomials, branchless.
 * */
#include <math.h>

#include "simd/portable/exp_f32.h"
#include "simd/words.h"

static inline VECTOR log_of(VECTOR x) {
    VECTOR m, e;
    SPLIT(x, &m, &e);
    const VECTOR f = SUB(m, SPLAT(1.0f)), square = MUL(f, f);
#if SPLIT_IS_TOTAL
    VECTOR p = SPLAT(5.559585795e-2f);
    p = FMA(p, f, SPLAT(-1.211394631e-1f));
    p = FMA(p, f, SPLAT(1.490437527e-1f));
    p = FMA(p, f, SPLAT(-1.678882579e-1f));
    p = FMA(p, f, SPLAT(1.998232594e-1f));
    p = FMA(p, f, SPLAT(-2.499636079e-1f));
    p = FMA(p, f, SPLAT(3.333347059e-1f));
#else
    VECTOR p = SPLAT(-7.634533611e-2f);
    p = FMA(p, f, SPLAT(1.276169158e-1f));
    p = FMA(p, f, SPLAT(-1.316022541e-1f));
    p = FMA(p, f, SPLAT(1.420174764e-1f));
    p = FMA(p, f, SPLAT(-1.662335230e-1f));
    p = FMA(p, f, SPLAT(2.000122705e-1f));
    p = FMA(p, f, SPLAT(-2.500082116e-1f));
    p = FMA(p, f, SPLAT(3.333333171e-1f));
#endif
#ifdef FUSED
    VECTOR y = FMA(square, FMA(f, p, SPLAT(-0.5f)), f);
    y = FMA(e, SPLAT(0.693147182f), y);
#else
    VECTOR y = FMA(MUL(f, square), p, MUL(e, SPLAT(-2.12194440e-4f)));
    y = ADD(f, FNMA(SPLAT(0.5f), square, y));
    y = FMA(e, SPLAT(0.693359375f), y);
#endif
#if !SPLIT_IS_TOTAL
    y = PICK(LESS(x, SPLAT(__builtin_inff())), y, x);
    y = PICK(LESS(ABS(x), SPLAT(1e-45f)), SPLAT(-__builtin_inff()), y);
    y = PICK(LESS(x, SPLAT(0.0f)), SPLAT(__builtin_nanf("")), y);
#endif
    return y;
}

/* A polynomial, coefficients from the last to the first. */
static inline __attribute__((always_inline)) VECTOR horner(VECTOR x, int terms, const float *c) {
    VECTOR y = SPLAT(c[0]);
    ML_UNROLL(8)
    for (int k = 1; k < terms; k++) y = FMA(y, x, SPLAT(c[k]));
    return y;
}

/* x P(x^2) / Q(x^2); from |x| = `end` on the result is 1, because it rounds to 1. */
static inline __attribute__((always_inline)) VECTOR quotient(VECTOR x, float end, int terms,
                                                             const float *p, const float *q) {
    x = cut(x, -end, end);
    const VECTOR t = MUL(x, x);
    return DIV(MUL(x, horner(t, terms, p)), horner(t, terms, q));
}
#ifdef FUSED
#define END(fused, apart) fused
#else
#define END(fused, apart) apart
#endif

static inline VECTOR tanh_of(VECTOR x) {
    static const float p[] = {1.331996864e-8f, 2.058419237e-5f, 3.494080377e-3f, 1.337975737e-1f,
                              1.0f};
    static const float q[] = {7.762405668e-7f, 3.283165963e-4f, 2.587125014e-2f, 4.671307267e-1f,
                              1.0f};
    return quotient(x, END(8.202306f, 8.013662f), 5, p, q);
}

/* x - n pi, for |n| < 2^14 with at most one fraction bit; pi is in parts, so that r is as exact as
 * x. */
static inline VECTOR less_pi(VECTOR x, VECTOR n) {
#ifdef FUSED
    VECTOR r = FNMA(n, SPLAT(3.1415927410125732f), x);
    r = FNMA(n, SPLAT(-8.742277657347586e-8f), r);
    return FNMA(n, SPLAT(-3.4302490200117637e-15f), r);
#else
    VECTOR r = FNMA(n, SPLAT(3.140625f), x);
    r = FNMA(n, SPLAT(0.0009679794311523438f), r);
    r = FNMA(n, SPLAT(-3.259629011154175e-7f), r);
    return FNMA(n, SPLAT(1.215420125655342e-10f), r);
#endif
}

/* Above this, libm is used lane by lane, because multiples of pi have too many bits. */
#define FAR 20000.0f

/* sin(r) for |r| <= pi / 2, with the sign reversed if `n` is odd. */
static inline VECTOR sine(VECTOR r, VECTOR n) {
    const VECTOR t = MUL(r, r);
    VECTOR p = SPLAT(2.601892674647388e-6f);
    p = FMA(p, t, SPLAT(-0.0001980741653824225f));
    p = FMA(p, t, SPLAT(0.008333025500178337f));
    p = FMA(p, t, SPLAT(-0.16666656732559204f));
    return XOR(FMA(MUL(p, t), r, r), ODD_SIGN(n));
}

static inline VECTOR sin_of(VECTOR x) {
    const VECTOR n = NEAREST(MUL(x, SPLAT(0.318309886f)));
    return sine(less_pi(x, n), n);
}

static inline VECTOR cos_of(VECTOR x) {
    const VECTOR n = NEAREST(FMA(x, SPLAT(0.318309886f), SPLAT(0.5f)));
    return sine(less_pi(x, SUB(n, SPLAT(0.5f))), n);
}

static inline VECTOR logistic_of(VECTOR x) {
    const VECTOR one = SPLAT(1.0f);
    return DIV(one, ADD(one, exp_once(cut(x, -89.0f, 87.0f), -1.0f)));
}

/* e^x - 1 below 0: 2^n (e^r - 1) + (2^n - 1), |r| <= log(2) / 2. */
static inline VECTOR elu_of(VECTOR x) {
    const VECTOR whole = SPLAT(12582912.0f), below = MAX(SPLAT(-30.0f), MIN(SPLAT(0.0f), x));
    const VECTOR sum = FMA(below, SPLAT(1.44269504f), whole), n = SUB(sum, whole);
    const VECTOR r = FNMA(n, SPLAT(-2.12194440e-4f), FNMA(n, SPLAT(0.693359375f), below));
    VECTOR p = SPLAT(1.395052199e-3f);
    p = FMA(p, r, SPLAT(8.368903498e-3f));
    p = FMA(p, r, SPLAT(4.166620538e-2f));
    p = FMA(p, r, SPLAT(1.666651873e-1f));
    p = FMA(p, r, SPLAT(5.000000095e-1f));
    const VECTOR scale = POWER_OF_SUM(sum), rest = FMA(p, MUL(r, r), r);
    return PICK(LESS(x, SPLAT(0.0f)), FMA(scale, rest, SUB(scale, SPLAT(1.0f))), x);
}

static inline VECTOR hard_swish_of(VECTOR x) {
    const VECTOR gate = MIN(SPLAT(6.0f), MAX(ADD(x, SPLAT(3.0f)), SPLAT(0.0f)));
    const VECTOR product = MUL(x, gate);
#ifdef FUSED /* the product with 1/6, then with its remainder: the same bits as a division */
    const VECTOR sixth = SPLAT(1.0f / 6.0f), near = MUL(product, sixth);
    const VECTOR lack =
        MIN(FNMA(near, SPLAT(6.0f), product), SPLAT(__FLT_MAX__)); /* for infinity: NaN */
    return FMA(lack, sixth, near);
#else
    return DIV(product, SPLAT(6.0f));
#endif
}

/* exp_roughly of -t^2 / 2 is 0 from here on. */
#ifdef ROOT_OF_2
#define FAR_TAIL 14.42f
#else
#define FAR_TAIL 13.25f
#endif

/* erfc(t / sqrt(2)) / 2 of t >= 0: e^(-t^2 / 2) times a quotient of polynomials, within 1e-8 and
 * 2e-6 of itself. */
static inline VECTOR erfc_of(VECTOR t) {
    static const float p[] = {1.285913943e-2f, 1.011748630e-1f, 3.289269985e-1f, 4.999999953e-1f};
    static const float q[] = {3.225322207e-2f, 2.530283524e-1f, 8.638708732e-1f, 1.455737764f,
                              1.000000000f};
    t = MIN(t, SPLAT(FAR_TAIL));
    const VECTOR power = exp_roughly(MUL(MUL(t, SPLAT(-0.5f)), t));
    return MUL(power, DIV(horner(t, 4, p), horner(t, 5, q)));
}

/* x times the share of a normal distribution below x, which small results keep the digits of. */
static inline VECTOR gelu_of(VECTOR x) {
    const VECTOR tail = erfc_of(ABS(x));
    return MUL(x, PICK(LESS(x, SPLAT(0.0f)), tail, SUB(SPLAT(1.0f), tail)));
}

/* x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2 = x / (1 + e^(-2 ...)). */
static inline VECTOR gelu_tanh_of(VECTOR x) {
    const VECTOR twice = MUL(x, FMA(MUL(x, x), SPLAT(-7.13548163e-2f), SPLAT(-1.59576912f)));
    return DIV(x, ADD(SPLAT(1.0f), exp_roughly(cut(twice, -87.0f, 89.0f))));
}

/* True if one of n numbers is too large to be reduced. */
static bool any_far(const float *x, int64_t n) {
    VECTOR most = SPLAT(0.0f);
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) most = MAX(ABS(LOAD(x + i)), most);
    if (i < n) most = MAX(ABS(LOAD_PART(x + i, n - i)), most);
    return ANY(LESS(SPLAT(FAR), most));
}

static void by_libm(const ml_map_f32_args *p, float (*function)(float)) {
    for (int64_t i = 0; i < p->n; i++) p->y[i] = function(p->x[i]);
}

/* A stretch at a time; by libm if a number in it is too large. */
static void turn(const ml_map_f32_args *p, void (*near)(const ml_map_f32_args *p),
                 float (*function)(float)) {
    enum { STRETCH = 512 };
    for (int64_t i = 0; i < p->n; i += STRETCH) {
        const int64_t n = p->n - i < STRETCH ? p->n - i : STRETCH;
        const ml_map_f32_args part = {.x = p->x + i, .y = p->y + i, .n = n};
        if (any_far(part.x, n)) by_libm(&part, function);
        else near(&part);
    }
}

/* Each vector is read before it is written, so that y may be x. */
#define LOOP(EXPRESSION)                                         \
    ML_IVDEP for (; i + LANES <= n; i += LANES) {                \
        const VECTOR x = LOAD(p->x + i);                         \
        STORE(p->y + i, EXPRESSION);                             \
    }                                                            \
    if (i < n) {                                                 \
        const VECTOR x = LOAD_PART(p->x + i, n - i);             \
        STORE_PART(p->y + i, EXPRESSION, n - i);                 \
    }
#define MAP(number, EXPRESSION) \
    case number: LOOP(EXPRESSION) return;

static void near_sin(const ml_map_f32_args *p) {
    const int64_t n = p->n;
    int64_t i = 0;
    LOOP(sin_of(x))
}

static void near_cos(const ml_map_f32_args *p) {
    const int64_t n = p->n;
    int64_t i = 0;
    LOOP(cos_of(x))
}

void ML_VARIANT(map_f32)(const ml_map_f32_args *args) {
    const ml_map_f32_args copy = *args, *p = &copy; /* a copy, not read again after each store */
    const VECTOR a = SPLAT(p->a), b = SPLAT(p->b);
    const int64_t n = p->n;
    int64_t i = 0;
    switch (p->function) {
        MAP(ML_MAP_CLAMP, MIN(b, MAX(a, x)))
        MAP(ML_MAP_LEAKY, PICK(LESS(SPLAT(0.0f), x), x, MUL(a, x)))
        MAP(ML_MAP_ABS, ABS(x))
        MAP(ML_MAP_NEG, XOR(x, SPLAT(-0.0f)))
        MAP(ML_MAP_SQUARE, MUL(x, x))
        MAP(ML_MAP_SQRT, SQRT(x))
        MAP(ML_MAP_RSQRT, RSQRT(x))
        MAP(ML_MAP_FLOOR, FLOOR(x))
        MAP(ML_MAP_CEIL, CEIL(x))
        MAP(ML_MAP_ROUND, ROUND(x))
        MAP(ML_MAP_EXP, exp_of(x))
        MAP(ML_MAP_LOG, log_of(x))
    case ML_MAP_SIN: turn(p, near_sin, sinf); return;
    case ML_MAP_COS:
        turn(p, near_cos, cosf);
        return;
        MAP(ML_MAP_LOGISTIC, logistic_of(x))
        MAP(ML_MAP_TANH, tanh_of(x))
        MAP(ML_MAP_ELU, elu_of(x))
        MAP(ML_MAP_HARD_SWISH, hard_swish_of(x))
        MAP(ML_MAP_GELU, gelu_of(x))
        MAP(ML_MAP_GELU_TANH, gelu_tanh_of(x))
    default: return;
    }
}
