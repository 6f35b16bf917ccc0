/* softmax_f32.c -- softmax_f32 in the words of a level. */
#include "math/float_math.h"
#include "simd/portable/exp_f32.h"
#include "simd/words.h"

#define INLINE __attribute__((always_inline)) static inline
#define LOWEST (-3.40282347e38f)
enum { MOST_SHORT = 4 };

/* NaN is never the largest, but makes the sum NaN. */
static inline float largest(const float *x, int64_t n) {
    const VECTOR lowest = SPLAT(LOWEST);
    VECTOR most = lowest, other = lowest;
    int64_t i = 0;
    for (; i + 2 * LANES <= n; i += 2 * LANES) {
        most = MAX(LOAD(x + i), most);
        other = MAX(LOAD(x + i + LANES), other);
    }
    for (; i + LANES <= n; i += LANES) most = MAX(LOAD(x + i), most);
    if (i < n) other = MAX(LOAD_PART_OR(x + i, n - i, lowest), other);
    return MAX_OF(MAX(most, other));
}

#define LEAST_POWER (-87.3f) /* e to this power is hardly more than the least normal number */

/* The beta of a row: any number, one above 0, or 1, by which nothing is multiplied. */
enum { ANY, FALLS, ONE };

/* The lanes beyond a row's end, whose exponentials are 0 if beta is above 0. */
#define BEYOND SPLAT(-__builtin_inff())

/* Differences to the largest value are <= 0, and so are their products with beta if it is above 0.
 * Then results that are subnormal are 0: where a mask takes 10,000 from a score, each product with
 * one would take a hundred times as long. */
INLINE VECTOR exp_below(VECTOR x, VECTOR top, VECTOR beta, const int known) {
    const VECTOR less = SUB(x, top), v = known == ONE ? less : MUL(less, beta);
    if (known == ANY) return exp_of(v);
    return PICK(LESS(v, SPLAT(LEAST_POWER)), SPLAT(0.0f), exp_roughly(MAX(SPLAT(LEAST_POWER), v)));
}

/* Computes exponentials and returns their sum; y may be NULL, for the sum only. */
INLINE float exps_of(const ml_softmax_f32_args *p, float high, float *y, const int known) {
    const VECTOR beta = SPLAT(p->beta), top = SPLAT(high);
    VECTOR sum = SPLAT(0.0f), other = SPLAT(0.0f);
    int64_t i = 0;
    for (; i + 2 * LANES <= p->n; i += 2 * LANES) {
        const VECTOR e = exp_below(LOAD(p->x + i), top, beta, known);
        const VECTOR f = exp_below(LOAD(p->x + i + LANES), top, beta, known);
        if (y) STORE(y + i, e);
        if (y) STORE(y + i + LANES, f);
        sum = ADD(sum, e);
        other = ADD(other, f);
    }
    if (i + LANES <= p->n) {
        const VECTOR e = exp_below(LOAD(p->x + i), top, beta, known);
        if (y) STORE(y + i, e);
        sum = ADD(sum, e);
        i += LANES;
    }
    if (i < p->n) {
        VECTOR e = exp_below(LOAD_PART_OR(p->x + i, p->n - i, BEYOND), top, beta, known);
        if (y) STORE_PART(y + i, e, p->n - i);
        if (known == ANY) {
            float lanes[LANES] = {0};
            STORE_PART(lanes, e, p->n - i);
            e = LOAD(lanes);
        }
        other = ADD(other, e);
    }
    return SUM_OF(ADD(sum, other));
}

static inline float exps(const ml_softmax_f32_args *p, float high, float *y) {
    if (p->beta == 1.0f) return exps_of(p, high, y, ONE);
    return p->beta > 0.0f ? exps_of(p, high, y, FALLS) : exps_of(p, high, y, ANY);
}

/* y times a number. The last vector ends where the row does, since stores of parts take long. */
static inline void scale(float *y, int64_t n, VECTOR by) {
    int64_t i = 0;
    if (n < LANES) {
        STORE_PART(y, MUL(LOAD_PART(y, n), by), n);
        return;
    }
    const VECTOR last = MUL(LOAD(y + n - LANES), by);
    for (; i + LANES <= n; i += LANES) STORE(y + i, MUL(LOAD(y + i), by));
    STORE(y + n - LANES, last);
}

/* A row of at most `count` vectors, which stays in registers. */
INLINE void short_row(const ml_softmax_f32_args *p, const int count, const int known) {
    const float *end = p->x + (count - 1) * LANES;
    const int64_t left = p->n - (count - 1) * LANES;
    VECTOR v[MOST_SHORT], e[MOST_SHORT], most = SPLAT(LOWEST), sum = SPLAT(0.0f);
    ML_UNROLL(4)
    for (int i = 0; i < count - 1; i++) v[i] = LOAD(p->x + i * LANES);
    v[count - 1] = left == LANES ? LOAD(end) : LOAD_PART_OR(end, left, BEYOND);
    ML_UNROLL(4)
    for (int i = 0; i < count; i++) most = MAX(v[i], most);
    const VECTOR top = SPLAT(MAX_OF(most));
    ML_UNROLL(4)
    for (int i = 0; i < count; i++) {
        e[i] = exp_below(v[i], top, SPLAT(p->beta), known);
        sum = ADD(sum, e[i]);
    }
    const float all = SUM_OF(sum);
    const VECTOR part = SPLAT(p->logs ? ml_log_f32(all) : 1.0f / all);
    ML_UNROLL(4)
    for (int i = 0; i < count; i++) {
        const VECTOR y = p->logs ? SUB(SUB(v[i], top), part) : MUL(e[i], part);
        if (i < count - 1 || left == LANES) STORE(p->y + i * LANES, y);
        else STORE_PART(p->y + i * LANES, y, left);
    }
}

/* False if the row is not short. */
INLINE bool in_registers(const ml_softmax_f32_args *p, const int known) {
    switch ((p->n + LANES - 1) / LANES) {
    case 1: short_row(p, 1, known); return true;
    case 2: short_row(p, 2, known); return true;
    case 3: short_row(p, 3, known); return true;
    case 4: short_row(p, 4, known); return true;
    default: return false;
    }
}

void ML_VARIANT(softmax_f32)(const ml_softmax_f32_args *p) {
    if (p->beta == 1.0f ? in_registers(p, ONE) : p->beta > 0.0f && in_registers(p, FALLS)) return;
    const float high = largest(p->x, p->n);
    int64_t i = 0;
    if (p->logs) {
        const VECTOR top = SPLAT(high), less = SPLAT(ml_log_f32(exps(p, high, NULL)));
        for (; i + LANES <= p->n; i += LANES) STORE(p->y + i, SUB(SUB(LOAD(p->x + i), top), less));
        if (i < p->n)
            STORE_PART(p->y + i, SUB(SUB(LOAD_PART(p->x + i, p->n - i), top), less), p->n - i);
        return;
    }
    const float sum = exps(p, high, p->y);
    scale(p->y, p->n, SPLAT(1.0f / sum));
}
