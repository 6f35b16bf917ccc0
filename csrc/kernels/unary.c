/* unary.c -- ABS, NEG, EXP, LOG, SQRT, RSQRT, SQUARE, SIN, COS, FLOOR, CEIL, ROUND, SIGN: functions
 * of one number.
 *
 * 8 bits: a table of 256 entries; EXP, LOG and RSQRT of 16 bits: lines between 513 values. */
#include <math.h>

#include "rules/checks.h"
#include "rules/half.h"
#include "rules/real_table.h"

/* ABS, NEG ------------------------------------------------------------------------------------- */

ML_UNARY_F32(abs_f32, ML_MAP_ABS, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY(abs_s32, int32_t, int32_t, ML_NO_CONTEXT,
         (int32_t)(x < 0 ? 0u - (uint32_t)x : (uint32_t)x))

/* Quantized: |x - zero_point|, rescaled. Without scales (16 bits): |x|, except that -32768
 * stays. */
typedef struct absolute {
    ml_rescale rescale;
    int32_t plain;
} absolute;
static void fill_abs(const ml_call *c, absolute *p) {
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    p->rescale = ml_rescale_of(in, out, (double)(in.scale / out.scale));
    p->plain = in.scale == 0.0f;
}
static inline int32_t abs_one(int32_t x, const absolute *p) {
    const int32_t zero = p->rescale.input_zero_point, size = x < zero ? zero - x : x - zero;
    return p->plain ? (int16_t)size : ml_rescale_one(zero + size, &p->rescale);
}
ML_UNARY_QUANTIZED(abs, absolute, fill_abs, abs_one)

ML_UNARY_F32(neg_f32, ML_MAP_NEG, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY(neg_x2, uint16_t, uint16_t, ML_NO_CONTEXT,
         (uint16_t)(x ^ 0x8000)) /* of floats of 16 bits */
ML_UNARY(neg_s8, uint8_t, uint8_t, ML_NO_CONTEXT, (uint8_t)(0u - x))
ML_UNARY(neg_s16, uint16_t, uint16_t, ML_NO_CONTEXT, (uint16_t)(0u - x))
ML_UNARY(neg_s32, uint32_t, uint32_t, ML_NO_CONTEXT, 0u - x)
ML_UNARY(neg_s64, uint64_t, uint64_t, ML_NO_CONTEXT, 0u - x)

/* EXP, LOG ------------------------------------------------------------------------------------- */

ML_UNARY_F32(exp_f32, ML_MAP_EXP, ML_NO_CONTEXT, 0.0f, 0.0f)
static float exp_of(float x, const void *p) { return (float)exp((double)x); }
ML_REAL_TABLES(exp, exp_of)

ML_UNARY_F32(log_f32, ML_MAP_LOG, ML_NO_CONTEXT, 0.0f, 0.0f)
/* Numbers without a logarithm give the lowest output. */
static float log_of(float x, const void *lowest) {
    return x <= 0.0f ? *(const float *)lowest : (float)log((double)x);
}
static float lowest_output(const ml_call *c) {
    const ml_affine out = ml_output_affine(c, 0);
    return (float)(ml_type_least(out.type) - out.zero_point) * out.scale;
}
static int64_t log_bytes(const ml_call *c, void *to) {
    const float lowest = lowest_output(c);
    return ml_derive_real_bytes(c, to, log_of, &lowest);
}
static int64_t log_lines(const ml_call *c, void *to) {
    const float lowest = lowest_output(c);
    return ml_derive_real_lines(c, to, log_of, &lowest);
}

/* SQRT, RSQRT ---------------------------------------------------------------------------------- */

/* Checks that no element of a quantized input is a negative real number. */
#define ALL_POSITIVE(name, type, eval)                                                           \
    static ml_status name##_block(const ml_call *c, int64_t first, int64_t end, int32_t worker,  \
                                  void *args) {                                                  \
        const type *x = ml_in(c, 0);                                                             \
        const ml_affine in = ml_input_affine(c, 0);                                              \
        for (int64_t i = first; i < end; i++)                                                    \
            if (x[i] < in.zero_point)                                                            \
                return ml_fail(c, ML_KERNEL_ERROR,                                               \
                               "element %lld is %d, below the zero point %d: it has no square root",    \
                               (long long)i, x[i], in.zero_point);                               \
        return ML_OK;                                                                            \
    }                                                                                            \
    ML_ELEMENTWISE(name##_check, name##_block)                                                   \
    static ml_status name(const ml_call *c) {                                                    \
        const ml_status status = name##_check(c);                                                \
        return status == ML_OK ? eval(c) : status;                                               \
    }

ML_UNARY_F32(sqrt_f32, ML_MAP_SQRT, ML_NO_CONTEXT, 0.0f, 0.0f)
typedef struct affines {
    ml_affine in, out;
} affines;
static void fill_affines(const ml_call *c, affines *p) {
    *p = (affines){ml_input_affine(c, 0), ml_output_affine(c, 0)};
}
/* sqrt(real) / scale in float, truncated. */
static inline int32_t sqrt_one(int32_t x, const affines *p) {
    const float real = p->in.scale * (float)(x - p->in.zero_point);
    const float step = __builtin_sqrtf(real > 0.0f ? real : 0.0f) / p->out.scale;
    const int32_t most = ml_type_most(p->out.type);
    const int32_t y = (step < 65536.0f ? (int32_t)step : 65536) + p->out.zero_point;
    return y > most ? most : y;
}
ML_UNARY_QUANTIZED(sqrt, affines, fill_affines, sqrt_one)
ALL_POSITIVE(sqrt_positive_s8, int8_t, ml_lookup)
ALL_POSITIVE(sqrt_positive_s16, int16_t, sqrt_s16)

ML_UNARY_F32(rsqrt_f32, ML_MAP_RSQRT, ML_NO_CONTEXT, 0.0f, 0.0f)
/* 8 bits: an inverse root in fixed point, with 20 fractional bits until it is scaled to the
 * output. */
enum { RSQRT_BITS = 20 };
typedef struct rsqrt_rule {
    ml_affine in, out;
    int32_t mantissa, shift;
} rsqrt_rule;
static int32_t rsqrt_of_byte(int32_t x, const void *rule) {
    const rsqrt_rule *p = rule;
    if (x <= p->in.zero_point) return ml_type_most(p->out.type);
    int32_t mantissa, shift;
    ml_inverse_sqrt(x - p->in.zero_point, &mantissa, &shift);
    const int32_t root = ml_multiply_quantized(1, mantissa, shift + RSQRT_BITS);
    const int32_t y = ml_multiply_quantized(root, p->mantissa, p->shift - RSQRT_BITS);
    const int32_t least = INT8_MIN - p->out.zero_point, most = INT8_MAX - p->out.zero_point;
    return ml_clamp_s32(y, least, most) + p->out.zero_point;
}
static int64_t rsqrt_bytes(const ml_call *c, void *to) {
    rsqrt_rule p = {.in = ml_input_affine(c, 0), .out = ml_output_affine(c, 0)};
    ml_quantize_multiplier(1.0 / (double)(__builtin_sqrtf(p.in.scale) * p.out.scale), &p.mantissa,
                           &p.shift);
    /* Every root is below half a step of such an output. TFLite shifts by more than 31 there, which
     * is undefined in C. */
    if (p.shift < RSQRT_BITS - 31) p.mantissa = p.shift = 0;
    return ml_derive_lookup(c, to, rsqrt_of_byte, &p);
}
static float rsqrt_of(float x, const void *highest) {
    return x <= 0.0f ? *(const float *)highest : 1.0f / __builtin_sqrtf(x);
}
static int64_t rsqrt_lines(const ml_call *c, void *to) {
    const float highest = 32767.0f * ml_output_affine(c, 0).scale;
    return ml_derive_real_lines(c, to, rsqrt_of, &highest);
}
ALL_POSITIVE(rsqrt_positive_s8, int8_t, ml_lookup)
ALL_POSITIVE(rsqrt_positive_s16, int16_t, ml_eval_lines)

/* SQUARE, SIN, COS, FLOOR, CEIL, ROUND, SIGN --------------------------------------------------- */

ML_UNARY_F32(square_f32, ML_MAP_SQUARE, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY_F32(sin_f32, ML_MAP_SIN, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY_F16(sin_f16, ML_MAP_SIN, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY_F32(cos_f32, ML_MAP_COS, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY_F16(cos_f16, ML_MAP_COS, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY_F32(floor_f32, ML_MAP_FLOOR, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY_F16(floor_f16, ML_MAP_FLOOR, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY_F32(ceil_f32, ML_MAP_CEIL, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY_F32(round_f32, ML_MAP_ROUND, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY_F16(round_f16, ML_MAP_ROUND, ML_NO_CONTEXT, 0.0f, 0.0f)
ML_UNARY(sign_f32, float, float, ML_NO_CONTEXT, x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x)
ML_UNARY(sign_f64, double, double, ML_NO_CONTEXT, x > 0.0 ? 1.0 : x < 0.0 ? -1.0 : x)
ML_UNARY(sign_s32, int32_t, int32_t, ML_NO_CONTEXT, x > 0 ? 1 : x < 0 ? -1 : 0)

/* Zero points of 16 bits are 0. */
static ml_status check_symmetric(const ml_call *c, void *params) {
    if (ml_input(c, 0)->type != ML_S16) return ML_OK;
    ml_status status = ml_check_symmetric(c, c->inputs[0]);
    return status == ML_OK ? ml_check_symmetric(c, ml_output_tensor(c, 0)) : status;
}
static ml_status check_abs(const ml_call *c, void *params) {
    return ml_check_all_quantized(c, ml_input(c, 0)->type == ML_S16);
}

#define UNARY .takes = "x -> y", .in_place = ML_INPUT(0), ML_PREPARED_ELEMENTWISE
#define QUANTIZED .quantization = ML_TAKES_QUANTIZED, .check = check_symmetric
ML_KERNELS(unary) = {
    {ML_OP(ABS, 1, 5), .name = "abs", UNARY, .check = check_abs,
     ML_TYPED({"f32 -> f32", NULL, NULL, abs_f32}, {"s32 -> s32", NULL, NULL, abs_s32},
              {"s8 -> s8", abs_table, NULL, ml_lookup}, {"s16 -> s16", abs_derive, NULL, abs_s16})},
    {ML_OP(NEG, 1, 1), .name = "neg", UNARY,
     ML_TYPED({"f32 -> f32", NULL, NULL, neg_f32}, {"f16 -> f16", NULL, NULL, neg_x2},
              {"s8 -> s8", NULL, NULL, neg_s8}, {"s16 -> s16", NULL, NULL, neg_s16},
              {"s32 -> s32", NULL, NULL, neg_s32}, {"s64 -> s64", NULL, NULL, neg_s64},
              {"bf16 -> bf16", NULL, NULL, NULL})},
    {ML_OP(EXP, 1, 2), .name = "exp", UNARY, QUANTIZED,
     ML_TYPED({"f32 -> f32", NULL, NULL, exp_f32}, ML_REAL_BYTES_ROW("s8", exp),
              ML_REAL_LINES_ROW(exp))},
    {ML_OP(LOG, 1, 2), .name = "log", UNARY, QUANTIZED,
     ML_TYPED({"f32 -> f32", NULL, NULL, log_f32}, ML_REAL_BYTES_ROW("s8", log),
              ML_REAL_LINES_ROW(log))},
    {ML_OP(SQRT, 1, 2), .name = "sqrt", UNARY, QUANTIZED,
     ML_TYPED({"f32 -> f32", NULL, NULL, sqrt_f32},
              {"s8 -> s8", sqrt_table, NULL, sqrt_positive_s8},
              {"s16 -> s16", sqrt_derive, NULL, sqrt_positive_s16})},
    {ML_OP(RSQRT, 1, 3), .name = "rsqrt", UNARY, QUANTIZED,
     ML_TYPED({"f32 -> f32", NULL, NULL, rsqrt_f32},
              {"s8 -> s8", rsqrt_bytes, NULL, rsqrt_positive_s8},
              {"s16 -> s16", rsqrt_lines, NULL, rsqrt_positive_s16})},
    {ML_OP(SQUARE, 1, 1), .name = "square", UNARY,
     ML_TYPED({"f32 -> f32", NULL, NULL, square_f32})},
    {ML_OP(SIN, 1, 2), .name = "sin", UNARY,
     ML_TYPED({"f32 -> f32", NULL, NULL, sin_f32}, {"f16 -> f16", NULL, NULL, sin_f16})},
    {ML_OP(COS, 1, 2), .name = "cos", UNARY,
     ML_TYPED({"f32 -> f32", NULL, NULL, cos_f32}, {"f16 -> f16", NULL, NULL, cos_f16})},
    {ML_OP(FLOOR, 1, 1), .name = "floor", UNARY,
     ML_TYPED({"f32 -> f32", NULL, NULL, floor_f32}, {"f16 -> f16", NULL, NULL, floor_f16},
              {"bf16 -> bf16", NULL, NULL, NULL})},
    {ML_OP(CEIL, 1, 1), .name = "ceil", UNARY, ML_TYPED({"f32 -> f32", NULL, NULL, ceil_f32})},
    {ML_OP(ROUND, 1, 1), .name = "round", UNARY,
     ML_TYPED({"f32 -> f32", NULL, NULL, round_f32}, {"f16 -> f16", NULL, NULL, round_f16},
              {"bf16 -> bf16", NULL, NULL, NULL})},
    {ML_OP(SIGN, 1, 2), .name = "sign", UNARY,
     ML_TYPED({"f32 -> f32", NULL, NULL, sign_f32}, {"f64 -> f64", NULL, NULL, sign_f64},
              {"s32 -> s32", NULL, NULL, sign_s32})},
    ML_KERNELS_END,
};
