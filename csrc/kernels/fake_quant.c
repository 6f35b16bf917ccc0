/* fake_quant.c -- FAKE_QUANT: rounds to the nearest of 2^bits equally spaced numbers between two
 * ends, which are moved so that 0 is one of the numbers. */
#include "rules/elementwise.h"

#define FAKE_QUANT_FIELDS(X, S) \
    X(S, f32, minimum, ML_OPTION("min")) X(S, f32, maximum, ML_OPTION("max")) X(S, i32, bits, ML_OPTION("num_bits"))
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

/* NaN becomes the lower end. */
static inline float snap(float x, const grid *g) {
    float v = g->low < x ? x : g->low;
    v = v < g->high ? v : g->high;
    const float steps =
        (v - g->low) * g->per_step; /* from 0 to 65535: to the nearest of them as an integer */
    const int32_t whole = (int32_t)((steps < 65536.0f ? steps : 65536.0f) + 0.49999997f);
    return (float)whole * g->step + g->low;
}
ML_UNARY(fake_quant, float, float, ML_DERIVED_AS(grid), snap(x, &p))

static ml_status check_fake_quant(const ml_call *c, void *params) {
    const fake_quant_params *p = params;
    if (ml_option_of(c, "narrow_range").integer)
        return ml_fail(c, ML_UNSUPPORTED, "narrow_range is not supported");
    if (!(p->minimum <= 0.0f && p->maximum >= 0.0f && p->minimum < p->maximum))
        return ml_fail(c, ML_UNSUPPORTED, "the range %g to %g must contain 0 and more",
                       (double)p->minimum, (double)p->maximum);
    if (p->bits < 1 || p->bits > 16)
        return ml_fail(c, ML_UNSUPPORTED, "num_bits is %d, expected 1 to 16", p->bits);
    return ML_OK;
}

ML_KERNELS(fake_quant) = {
    {ML_OP(FAKE_QUANT, 1, 2), .name = "fake_quant", .takes = "x -> y", .in_place = ML_INPUT(0),
     .check = check_fake_quant, ML_PARAMS_OF(fake_quant_params), ML_PREPARED_ELEMENTWISE,
     ML_TYPED({"f32 -> f32", derive_grid, NULL, fake_quant})},
    ML_KERNELS_END,
};
