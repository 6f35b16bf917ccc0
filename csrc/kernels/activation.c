/* activation.c -- RELU, RELU6, RELU_N1_TO_1, RELU_0_TO_1, LEAKY_RELU, LOGISTIC, TANH, ELU,
 * HARD_SWISH, GELU: one input, element by element. */
#include <math.h>

#include "rules/checks.h"
#include "rules/half.h"
#include "rules/real_table.h"

/* RELU and similar ones: y = min(max(x, minimum), maximum); NaN stays NaN. */
typedef struct clamp_params {
    float minimum;
    float maximum;
} clamp_params;

ML_UNARY_F32(relu_f32, ML_MAP_CLAMP, ML_PARAMS_AS(clamp_params), p.minimum, p.maximum)

/* TFLite's ReluX: requantize with double rounding, the multiplier formed in float; then clamp. */
static void fill_relu(const ml_call *c, ml_rescale *p) {
    const clamp_params *limits = c->params;
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    *p = ml_rescale_clamped(in, out, (double)(in.scale / out.scale), limits->minimum,
                            limits->maximum);
}
ML_UNARY_QUANTIZED(relu, ml_rescale, fill_relu, ml_rescale_one)

/* LEAKY_RELU. Quantized: one multiplier for x >= zero point, another below it, whose sign is
 * applied after rounding. */
#define LEAKY_FIELDS(X, S) X(S, f32, alpha)
ML_PARAMS(leaky_params, LEAKY_FIELDS)
typedef struct leaky {
    ml_rescale above, below;
    bool falls;
} leaky;
static void fill_leaky(const ml_call *c, leaky *p) {
    p->above = ml_rescale_by(c, 1.0f);
    const float alpha = ((const leaky_params *)c->params)->alpha;
    p->below = ml_rescale_by(c, fabsf(alpha));
    p->falls = alpha < 0.0f;
}
static inline int32_t leaky_one(int32_t x, const leaky *p) {
    const ml_rescale *r = x >= p->above.input_zero_point ? &p->above : &p->below;
    return r == &p->below && p->falls ? ml_rescale_negated(x, r) : ml_rescale_one(x, r);
}
ML_UNARY_F32(leaky_relu_f32, ML_MAP_LEAKY, ML_PARAMS_AS(leaky_params), p.alpha, 0.0f)
ML_UNARY_QUANTIZED(leaky_relu, leaky, fill_leaky, leaky_one)

/* LOGISTIC: y = 1 / (1 + exp(-x)). */
ML_UNARY_F32(logistic_f32, ML_MAP_LOGISTIC, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY_F16(logistic_f16, ML_MAP_LOGISTIC, ML_NO_CONTEXT, 0.0f, 0.0f)

/* 8 bits: in float, but exp in double, so that every libm gives the same. */
static float logistic_of(float x, const void *p) { return 1.0f / (1.0f + (float)exp(-(double)x)); }
ML_REAL_TABLES(logistic, logistic_of)

/* 16 bits: |x| in steps of 1 / (3 * 4096), and lines between 256 values, 512 steps apart; each is
 * raised by half of the error that the line to the next one has in its middle. */
static double sigmoid_of(double i) { return 65536.0 / (1.0 + exp(-i / 24.0)); }
typedef struct logistic_table_s16 {
    int32_t multiplier;
    int32_t shift;
    uint16_t table[257]; /* the last one is never looked up */
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
    p->table[255] = UINT16_MAX; /* the only entry of TFLite's table that is not rounded */
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

/* TANH: 8 bits through float; 16 bits by the table of LOGISTIC, for tanh(x) = 2 sigmoid(2 x) -
 * 1. */
ML_UNARY_F32(tanh_f32, ML_MAP_TANH, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY_F16(tanh_f16, ML_MAP_TANH, ML_NO_CONTEXT, 0.0f, 0.0f)
static float tanh_of(float x, const void *p) { return (float)tanh((double)x); }
ML_REAL_TABLES(tanh, tanh_of)
/* Without branches: numbers beyond the table get its last entry, and the sign takes two operations
 * on all bits. */
static inline int16_t tanh_one_s16(int32_t x, const logistic_table_s16 *p) {
    const int32_t half = p->shift > 0 ? 1 << (p->shift - 1) : 0;
    const int32_t scaled = (x * p->multiplier + half) >> p->shift, sign = scaled >> 31;
    const int32_t above = (scaled ^ sign) - sign;
    const int32_t size = above < 255 << 8 ? above : 255 << 8, at = size >> 8;
    const int32_t y = (p->table[at] << 8) + (size & 0xFF) * (p->table[at + 1] - p->table[at]);
    return (int16_t)((((y - (1 << 23)) ^ sign) + (1 << 7)) >> 8);
}
ML_UNARY(tanh_s16, int16_t, int16_t, const logistic_table_s16 *p = c->derived;, tanh_one_s16(x, p))

/* ELU: y = x, below 0 exp(x) - 1. */
ML_UNARY_F32(elu_f32, ML_MAP_ELU, ML_NO_CONTEXT, 0.0f, 0.0f)
static float elu_of(float x, const void *p) { return x < 0.0f ? (float)expm1((double)x) : x; }
ML_REAL_TABLES(elu, elu_of)

/* HARD_SWISH: y = x * min(max(x + 3, 0), 6) / 6. */
ML_UNARY_F32(hard_swish_f32, ML_MAP_HARD_SWISH, ML_NO_CONTEXT, 0.0f, 0.0f)
/* 8 bits: (x - zero_point) * 128 times a gate in [0, 1], each in 16 bits; TFLite's own
 * roundings. */
typedef struct hard_swish {
    int32_t zero_point, output_zero_point, least, most;
    int32_t mantissa, right; /* 128th parts of input steps to output steps: 16 bits, a shift */
    int32_t gate_mantissa, gate_shift; /* the same to the gate's 3 / 32768 */
} hard_swish;
static int32_t of_16_bits(int32_t mantissa) {
    return mantissa >= INT32_MAX - (1 << 15) ? INT16_MAX : (mantissa + (1 << 15)) >> 16;
}
static inline int32_t high_mul_s16(int32_t a, int32_t b) { return (a * b + (1 << 14)) >> 15; }
static inline int32_t cut_s16(int32_t x) { return ml_clamp_s32(x, INT16_MIN, INT16_MAX); }
static int32_t hard_swish_of_byte(int32_t x, const void *context) {
    const hard_swish *p = context;
    const int32_t fine = (x - p->zero_point) * 128, up = p->gate_shift > 0 ? p->gate_shift : 0;
    int32_t gate =
        up > 15 ? (fine > 0) - (fine < 0) : fine; /* beyond 15 bits all but 0 saturates */
    gate = up > 0 ? cut_s16(gate * (1 << (up > 15 ? 15 : up - 1))) : gate;
    gate = high_mul_s16(gate, p->gate_mantissa);
    gate = up > 0 ? cut_s16(gate * 2) : ml_rounding_shift_right(gate, -p->gate_shift);
    gate = (gate + (1 << 15)) >> 1;
    const int32_t y = gate * high_mul_s16(fine, p->mantissa) / (1 << 15);
    return ml_clamp_s32(ml_rounding_shift_right(y, p->right) + p->output_zero_point, p->least,
                        p->most);
}
static int64_t derive_hard_swish(const ml_call *c, void *to) {
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    const float fine = (1.0f / 128.0f) * in.scale;
    int32_t mantissa, shift, gate_mantissa, gate_shift;
    ml_quantize_multiplier((double)(fine / out.scale), &mantissa, &shift);
    ml_quantize_multiplier((double)(fine / (3.0f / 32768.0f)), &gate_mantissa, &gate_shift);
    const hard_swish p = {in.zero_point,
                          out.zero_point,
                          ml_type_least(out.type),
                          ml_type_most(out.type),
                          of_16_bits(mantissa),
                          shift < 0 ? -shift : 0,
                          of_16_bits(gate_mantissa),
                          gate_shift};
    return ml_derive_lookup(c, to, hard_swish_of_byte, &p);
}

/* GELU: y = x / 2 * erfc(-x / sqrt(2)), or with tanh(sqrt(2 / pi) * (x + 0.044715 x^3)) + 1 in
 * erfc's place. */
#define GELU_FIELDS(X, S) X(S, i32, approximate)
ML_PARAMS(gelu_params, GELU_FIELDS)
static inline float gelu_argument(float x) { return 0.797884561f * (x + 0.044715f * x * x * x); }
ML_UNARY_F32(gelu_f32, p.approximate ? ML_MAP_GELU_TANH : ML_MAP_GELU, ML_PARAMS_AS(gelu_params),
             0.0f, 0.0f)
static float gelu_of(float x, const void *params) {
    const float factor = ((const gelu_params *)params)->approximate
                             ? 1.0f + (float)tanh((double)gelu_argument(x))
                             : (float)erfc((double)(x * -0.707106769f));
    return 0.5f * x * factor;
}
ML_UNARY(gelu_f16, uint16_t, uint16_t, const void *p = c->params;
         , ml_half_of_float(gelu_of(ml_float_of_half(x), p)))
static int64_t gelu_bytes(const ml_call *c, void *to) {
    return ml_derive_real_bytes(c, to, gelu_of, c->params);
}
static int64_t gelu_lines(const ml_call *c, void *to) {
    return ml_derive_real_lines(c, to, gelu_of, c->params);
}

/* Checks --------------------------------------------------------------------------------------- */

/* s16 inputs must have the zero point 0. */
static ml_status check_s16_input(const ml_call *c) {
    if (ml_input(c, 0)->type != ML_S16 || ml_zero_point_of(c, ml_input_tensor(c, 0)) == 0)
        return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED, "input zero point %lld must be 0",
                   (long long)ml_zero_point_of(c, ml_input_tensor(c, 0)));
}
static ml_status check_logistic(const ml_call *c, void *params) {
    const int32_t type = ml_output(c, 0)->type;
    ml_status status = ML_OK;
    if (type == ML_S16) status = ml_check_output(c, 1.0 / 32768, 0);
    if (type == ML_S8 || type == ML_U8)
        status = ml_check_output(c, 1.0 / 256, type == ML_S8 ? -128 : 0);
    return status == ML_OK ? check_s16_input(c) : status;
}
static ml_status check_tanh(const ml_call *c, void *params) {
    ml_status status = ml_output(c, 0)->type == ML_S16 ? ml_check_output(c, 1.0 / 32768, 0) : ML_OK;
    return status == ML_OK ? check_s16_input(c) : status;
}
/* The multiplier to steps of the output must be below 1, so that its shift goes to the right. */
static ml_status check_hard_swish(const ml_call *c, void *params) {
    if (ml_output(c, 0)->type == ML_F32) return ML_OK;
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    int32_t mantissa, shift;
    ml_quantize_multiplier((double)((1.0f / 128.0f) * in.scale / out.scale), &mantissa, &shift);
    if (shift <= 0) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "output scale %g is too small: it must exceed a 128th of the input scale, %g",
                   (double)out.scale, (double)in.scale);
}
static ml_status check_gelu(const ml_call *c, void *params) {
    if (ml_input(c, 0)->type != ML_S16) return ML_OK;
    ml_status status = ml_check_symmetric(c, ml_input_tensor(c, 0));
    return status == ML_OK ? ml_check_symmetric(c, ml_output_tensor(c, 0)) : status;
}

/* Rows ----------------------------------------------------------------------------------------- */

#define RELU_FIELDS(X, S) X(S, f32, minimum, ML_IS(0)) X(S, f32, maximum, ML_IS(INFINITY))
#define RELU6_FIELDS(X, S) X(S, f32, minimum, ML_IS(0)) X(S, f32, maximum, ML_IS(6))
#define RELU_N1_TO_1_FIELDS(X, S) X(S, f32, minimum, ML_IS(-1)) X(S, f32, maximum, ML_IS(1))
#define RELU_0_TO_1_FIELDS(X, S) X(S, f32, minimum, ML_IS(0)) X(S, f32, maximum, ML_IS(1))
ML_FIELDS_AS(relu, clamp_params, RELU_FIELDS)
ML_FIELDS_AS(relu6, clamp_params, RELU6_FIELDS)
ML_FIELDS_AS(relu_n1_to_1, clamp_params, RELU_N1_TO_1_FIELDS)
ML_FIELDS_AS(relu_0_to_1, clamp_params, RELU_0_TO_1_FIELDS)
/* The common part of all rows of the family. */
#define UNARY .takes = "x -> y", .in_place = ML_INPUT(0), ML_PREPARED_ELEMENTWISE
#define RELU(operator, last, fields)                                                               \
    {ML_OP(operator, 1, last), .name = "relu", .flags = ML_KERNEL_IS_CLAMP, UNARY,                 \
     .quantization = ML_TAKES_QUANTIZED_OR_BARE, ML_PARAMS_AS_IN(fields, clamp_params),            \
     ML_TYPED({"f32 -> f32", NULL, NULL, relu_f32}, ML_QUANTIZED_ROWS(relu))}

ML_KERNELS(activation) = {
    RELU(RELU, 3, relu),
    RELU(RELU6, 3, relu6),
    RELU(RELU_N1_TO_1, 1, relu_n1_to_1),
    RELU(RELU_0_TO_1, 1, relu_0_to_1),
    {ML_OP(LEAKY_RELU, 1, 2), .name = "leaky_relu", UNARY,
     .quantization = ML_TAKES_QUANTIZED_OR_BARE, ML_PARAMS_OF(leaky_params),
     ML_TYPED({"f32 -> f32", NULL, NULL, leaky_relu_f32}, ML_QUANTIZED_ROWS(leaky_relu))},
    {ML_OP(LOGISTIC, 1, 3), .name = "logistic", UNARY, .quantization = ML_TAKES_QUANTIZED,
     .check = check_logistic,
     ML_TYPED({"f32 -> f32", NULL, NULL, logistic_f32}, {"f16 -> f16", NULL, NULL, logistic_f16},
              {"bf16 -> bf16", NULL, NULL, NULL}, ML_REAL_BYTES_ROW("s8", logistic),
              ML_REAL_BYTES_ROW("u8", logistic),
              {"s16 -> s16", derive_logistic_s16, NULL, logistic_s16})},
    {ML_OP(TANH, 1, 3), .name = "tanh", UNARY, .quantization = ML_TAKES_QUANTIZED,
     .check = check_tanh,
     ML_TYPED({"f32 -> f32", NULL, NULL, tanh_f32}, {"f16 -> f16", NULL, NULL, tanh_f16},
              {"bf16 -> bf16", NULL, NULL, NULL}, ML_REAL_BYTES_ROW("s8", tanh),
              ML_REAL_BYTES_ROW("u8", tanh), {"s16 -> s16", derive_logistic_s16, NULL, tanh_s16})},
    {ML_OP(ELU, 1, 1), .name = "elu", UNARY, .quantization = ML_TAKES_QUANTIZED,
     ML_TYPED({"f32 -> f32", NULL, NULL, elu_f32}, ML_REAL_BYTES_ROW("s8", elu))},
    {ML_OP(HARD_SWISH, 1, 1), .name = "hard_swish", UNARY, .quantization = ML_TAKES_QUANTIZED,
     .check = check_hard_swish,
     ML_TYPED({"f32 -> f32", NULL, NULL, hard_swish_f32},
              {"s8 -> s8", derive_hard_swish, NULL, ml_lookup},
              {"u8 -> u8", derive_hard_swish, NULL, ml_lookup})},
    {ML_OP(GELU, 1, 3), .name = "gelu", UNARY, .quantization = ML_TAKES_QUANTIZED,
     .check = check_gelu, ML_PARAMS_OF(gelu_params),
     ML_TYPED({"f32 -> f32", NULL, NULL, gelu_f32}, {"f16 -> f16", NULL, NULL, gelu_f16},
              ML_REAL_BYTES_ROW("s8", gelu), ML_REAL_BYTES_ROW("u8", gelu),
              ML_REAL_LINES_ROW(gelu))},
    ML_KERNELS_END,
};
