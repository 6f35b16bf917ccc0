/* fake_quant.c -- FAKE_QUANT: to the nearest of 2^bits equally spaced numbers between two ends that
 * are moved so that 0 is one. */
#include "rules/elementwise.h"

#define FAKE_QUANT_FIELDS(X, S) X(S, f32, minimum) X(S, f32, maximum) X(S, i32, bits)
ML_PARAMS(fake_quant_params, FAKE_QUANT_FIELDS)

typedef struct grid {
    float low;
    float high;
    float step;
    float per_step;
} grid;

static int64_t derive_grid(const ml_call *c, void *to) {
    const fake_quant_params *p = c->params;
    grid *g = to;
    if (!g) return (int64_t)sizeof *g;
    const float most = (float)((1 << p->bits) - 1);
    g->step = (p->maximum - p->minimum) / most;
    const float zero = 0.0f - p->minimum / g->step;
    const float nudged = zero < 0.0f ? 0.0f : zero > most ? most : ml_round_half_away(zero);
    g->low = (0.0f - nudged) * g->step;
    g->high = (most - nudged) * g->step;
    g->per_step = 1.0f / g->step;
    return (int64_t)sizeof *g;
}

/* NaN is the low end. */
static inline float snap(float x, const grid *g) {
    float v = g->low < x ? x : g->low;
    v = v < g->high ? v : g->high;
    const float steps =
        (v - g->low) * g->per_step; /* from 0 to 65535: to the nearest of them as an integer */
    const int32_t whole = (int32_t)((steps < 65536.0f ? steps : 65536.0f) + 0.49999997f);
    return (float)whole * g->step + g->low;
}
ML_UNARY(fake_quant, float, float, ML_DERIVED_AS(grid), snap(x, &p))

ML_KERNELS(fake_quant) = {
    ML_UNARY_KERNEL("fake_quant", fake_quant_params, {"f32 -> f32", derive_grid, NULL, fake_quant}),
    ML_KERNELS_END,
};
