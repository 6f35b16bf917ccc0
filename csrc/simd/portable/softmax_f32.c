/* softmax_f32.c -- softmax_f32 in the words of a level. */
#include "math/float_math.h"
#include "simd/portable/exp_f32.h"
#include "simd/words.h"

#define LOWEST (-3.40282347e38f)

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

/* Differences to the largest value are <= 0, and so are their products with beta if beta >= 0
 * (`falls`). Then results that are subnormal are 0: where a mask takes 10,000 from a score, each
 * product with one would take a hundred times as long. */
static inline VECTOR exp_below(VECTOR x, VECTOR top, VECTOR beta, const int falls) {
    const VECTOR v = MUL(SUB(x, top), beta);
    if (!falls) return exp_of(v);
    return PICK(LESS(v, SPLAT(LEAST_POWER)), SPLAT(0.0f),
                exp_once(MAX(SPLAT(LEAST_POWER), v), 1.0f));
}

/* Computes exponentials and returns their sum; y may be NULL, for the sum only. */
__attribute__((always_inline)) static inline float exps_of(const ml_softmax_f32_args *p, float high,
                                                           float *y, const int falls) {
    const VECTOR beta = SPLAT(p->beta), top = SPLAT(high);
    VECTOR sum = SPLAT(0.0f), other = SPLAT(0.0f);
    int64_t i = 0;
    for (; i + 2 * LANES <= p->n; i += 2 * LANES) {
        const VECTOR e = exp_below(LOAD(p->x + i), top, beta, falls);
        const VECTOR f = exp_below(LOAD(p->x + i + LANES), top, beta, falls);
        if (y) STORE(y + i, e);
        if (y) STORE(y + i + LANES, f);
        sum = ADD(sum, e);
        other = ADD(other, f);
    }
    if (i + LANES <= p->n) {
        const VECTOR e = exp_below(LOAD(p->x + i), top, beta, falls);
        if (y) STORE(y + i, e);
        sum = ADD(sum, e);
        i += LANES;
    }
    if (i < p->n) {
        const VECTOR e = exp_below(LOAD_PART(p->x + i, p->n - i), top, beta, falls);
        float lanes[LANES] = {0};
        if (y) STORE_PART(y + i, e, p->n - i);
        STORE_PART(lanes, e, p->n - i);
        other = ADD(other, LOAD(lanes));
    }
    return SUM_OF(ADD(sum, other));
}

static inline float exps(const ml_softmax_f32_args *p, float high, float *y) {
    return p->beta >= 0.0f ? exps_of(p, high, y, 1) : exps_of(p, high, y, 0);
}

void ML_VARIANT(softmax_f32)(const ml_softmax_f32_args *p) {
    const float high = largest(p->x, p->n);
    int64_t i = 0;
    if (p->logs) {
        const VECTOR top = SPLAT(high), less = SPLAT(ml_log_f32(exps(p, high, NULL)));
        for (; i + LANES <= p->n; i += LANES) STORE(p->y + i, SUB(SUB(LOAD(p->x + i), top), less));
        if (i < p->n)
            STORE_PART(p->y + i, SUB(SUB(LOAD_PART(p->x + i, p->n - i), top), less), p->n - i);
        return;
    }
    const VECTOR part = SPLAT(1.0f / exps(p, high, p->y));
    for (; i + LANES <= p->n; i += LANES) STORE(p->y + i, MUL(LOAD(p->y + i), part));
    if (i < p->n) STORE_PART(p->y + i, MUL(LOAD_PART(p->y + i, p->n - i), part), p->n - i);
}
