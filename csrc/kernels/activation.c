/* activation.c -- RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1, LEAKY_RELU, LOGISTIC: one input, element by element. */
#include "rules/elementwise.h"

#include <math.h>

/* RELU and its like: y = min(max(x, minimum), maximum); NaN stays NaN. */
ML_PARAMS(clamp_params, ML_CLAMP_FIELDS)

static inline float clamp_one(float x, const clamp_params *p) {
    x = x < p->minimum ? p->minimum : x;
    return x > p->maximum ? p->maximum : x;
}
ML_UNARY(relu_f32, float, float, ML_PARAMS_AS(clamp_params), clamp_one(x, &p))

/* TFLite's ReluX: requantize with double rounding, the multiplier formed in float; then clamp. */
static void fill_relu(const ml_call *c, ml_rescale *p) {
    const clamp_params *limits = c->params;
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    *p = ml_rescale_clamped(in, out, (double)(in.scale / out.scale), limits->minimum,
                            limits->maximum);
}
ML_UNARY_QUANTIZED(relu, ml_rescale, fill_relu, ml_rescale_one)

/* LEAKY_RELU. Quantized: one multiplier for x >= zero point, one below. */
#define LEAKY_FIELDS(X, S) X(S, f32, alpha)
ML_PARAMS(leaky_params, LEAKY_FIELDS)
typedef struct leaky {
    ml_rescale above, below;
} leaky;
static void fill_leaky(const ml_call *c, leaky *p) {
    p->above = ml_rescale_by(c, 1.0f);
    p->below = ml_rescale_by(c, ((const leaky_params *)c->params)->alpha);
}
static inline int32_t leaky_one(int32_t x, const leaky *p) {
    return ml_rescale_one(x, x >= p->above.input_zero_point ? &p->above : &p->below);
}
ML_UNARY(leaky_relu_f32, float, float, ML_PARAMS_AS(leaky_params), x > 0.0f ? x : p.alpha * x)
ML_UNARY_QUANTIZED(leaky_relu, leaky, fill_leaky, leaky_one)

/* LOGISTIC: y = 1 / (1 + exp(-x)), within 4 ULP; exp of a negative number, so that nothing overflows. */
static inline float logistic_one(float x) {
    float e = ml_exp_f32(x > 0.0f ? -x : x);
    return (x > 0.0f ? 1.0f : e) / (1.0f + e);
}
ML_UNARY(logistic_f32, float, float, ML_NO_CONTEXT, logistic_one(x))
ML_UNARY(logistic_f16, uint16_t, uint16_t, ML_NO_CONTEXT,
         ml_half_of_float(logistic_one(ml_float_of_half(x))))

/* 8 bits: through float. */
static int32_t logistic_of_byte(int32_t x, const void *affines) {
    const ml_affine *in = affines, *out = in + 1;
    const float real = in->scale * (float)(x - in->zero_point);
    const float y =
        1.0f / (1.0f + (float)exp(-(double)real)); /* exp in double: the same on every libm */
    const float step = ml_round_half_away(y * (1.0f / out->scale)) + (float)out->zero_point;
    const float least = (float)ml_type_least(out->type), most = (float)ml_type_most(out->type);
    return (int32_t)(step < least ? least : step > most ? most : step);
}
static int64_t logistic_table(const ml_call *c, void *to) {
    const ml_affine affines[2] = {ml_input_affine(c, 0), ml_output_affine(c, 0)};
    return ml_derive_lookup(c, to, logistic_of_byte, affines);
}

/* 16 bits: |x| in steps of 1 / (3 * 4096), and lines between 256 values, 512 steps apart; each is raised by half of what the line
 * to the next one lacks in its middle. */
static double sigmoid_of(double i) { return 65536.0 / (1.0 + exp(-i / 24.0)); }
typedef struct logistic_table_s16 {
    int32_t multiplier;
    int32_t shift;
    uint16_t table[256];
} logistic_table_s16;
static int64_t derive_logistic_s16(const ml_call *c, void *to) {
    logistic_table_s16 *p = to;
    if (!p) return (int64_t)sizeof *p;
    double multiplier = (double)ml_input_affine(c, 0).scale * 4096.0 * 3.0;
    for (; multiplier <= 32767.0 / 2.0 && p->shift <= 30; p->shift++) multiplier *= 2.0;
    p->multiplier = (int32_t)fmin(multiplier, 32767.0);
    for (int i = 0; i < 256; i++) {
        const double y = sigmoid_of(i), middle = (y + sigmoid_of(i + 1)) / 2;
        p->table[i] = (uint16_t)floor(y + (sigmoid_of(i + 0.5) - middle) / 2 + 0.5);
    }
    return (int64_t)sizeof *p;
}
static inline int16_t logistic_one_s16(int32_t x, const logistic_table_s16 *p) {
    const int32_t half = p->shift > 0 ? 1 << (p->shift - 1) : 0;
    const int32_t scaled = (x * p->multiplier + half) >> p->shift;
    const uint32_t size = (uint32_t)(scaled < 0 ? -scaled : scaled), at = size >> 9;
    uint32_t y = 0x7FFF << 10;
    if (at < 255)
        y = ((uint32_t)p->table[at] << 9) +
            (size & 0x1FF) * (uint32_t)(p->table[at + 1] - p->table[at]);
    y = scaled >= 0 ? y + (1 << 9) : (1u << 25) - y + (1 << 9) - 1;
    return (int16_t)(y >> 10);
}
ML_UNARY(logistic_s16, int16_t, int16_t, const logistic_table_s16 *p = c->derived;
         , logistic_one_s16(x, p))

ML_KERNELS(activation) = {
    ML_UNARY_KERNEL("relu", clamp_params, {"f32 -> f32", NULL, NULL, relu_f32},
                    ML_QUANTIZED_ROWS(relu)),
    ML_UNARY_KERNEL("leaky_relu", leaky_params, {"f32 -> f32", NULL, NULL, leaky_relu_f32},
                    ML_QUANTIZED_ROWS(leaky_relu)),
    ML_UNARY_KERNEL_NO_PARAMS("logistic", {"f32 -> f32", NULL, NULL, logistic_f32},
                              {"f16 -> f16", NULL, NULL, logistic_f16},
                              {"s8 -> s8", logistic_table, NULL, ml_lookup},
                              {"u8 -> u8", logistic_table, NULL, ml_lookup},
                              {"s16 -> s16", derive_logistic_s16, NULL, logistic_s16}),
    ML_KERNELS_END,
};
