/* arithmetic.c -- ADD, SUB, MUL, SQUARED_DIFFERENCE: elementwise with numpy's broadcasting and a
 * fused clamp; output 0 may be either input.
 *
 * Floats: one rounding per operation. Without an activation nothing is clamped, so infinities stay.
 * NaN passes every clamp. Integers wrap. Quantized integers follow TFLite's reference kernels bit
 * for bit (double rounding, fixed_point.h). 8 bits: see bytes.c. 16 bits: the same, but with << 15;
 * with power-of-two scales, one operand is shifted and the sum saturates; without scales they are
 * plain integers. */
#include "kernels/arithmetic/arithmetic.h"

#include <math.h>

#include "rules/checks.h"
#include "rules/half.h"

ML_FIELDS(clamp_params, ML_CLAMP_FIELDS)
ML_FIELDS(add_params, ADD_FIELDS)

/* Floats --------------------------------------------------------------------------------------- */

/* Defines the evals `op`_f32 and `op`_f16. Sums and products of halves are so exact in float that
 * they are rounded only once. */
#define FLOATS(op, context, FUNCTION, OPERATION)                                   \
    ML_BINARY_F32(op##_f32, FUNCTION, ML_PARAMS_AS(context), p.minimum, p.maximum, \
                  OPERATION(u, v))
#define HALVES(op, context, FUNCTION) \
    ML_BINARY_F16(op##_f16, FUNCTION, ML_PARAMS_AS(context), p.minimum, p.maximum)
#define ADD(u, v) ((u) + (v))
#define SUB(u, v) ((u) - (v))
#define MUL(u, v) ((u) * (v))
#define SQUARE(u, v) (((u) - (v)) * ((u) - (v)))
FLOATS(add, add_params, ML_ZIP_ADD, ADD)
FLOATS(sub, add_params, ML_ZIP_SUB, SUB)
FLOATS(mul, clamp_params, ML_ZIP_MUL, MUL)
HALVES(add, add_params, ML_ZIP_ADD)
HALVES(mul, clamp_params, ML_ZIP_MUL)
ML_BINARY_F32(squared_difference_f32, ML_ZIP_SQUARED_DIFFERENCE, ML_NO_CONTEXT, -__builtin_inff(),
              __builtin_inff(), SQUARE(u, v))

typedef struct complex_f32 {
    float re, im;
} complex_f32;
ML_BINARY(mul_c64, complex_f32, complex_f32, ML_NO_CONTEXT,
          ((complex_f32){u.re * v.re - u.im * v.im, u.re * v.im + u.im * v.re}))

/* Integers ------------------------------------------------------------------------------------- */

/* Limits of a type of any size, u64 left out. */
typedef struct limits {
    int64_t least;
    int64_t most;
} limits;
static void fill_limits(const ml_call *c, limits *p) {
    const clamp_params *real = c->params; /* the first fields of add_params */
    const int32_t type = ml_output(c, 0)->type;
    p->least = type == ML_S64 ? INT64_MIN : ml_type_least(type);
    p->most = type == ML_S64   ? INT64_MAX
              : type == ML_U32 ? (int64_t)UINT32_MAX
                               : ml_type_most(type);
    if ((double)real->minimum > (double)p->least) p->least = (int64_t)real->minimum;
    if ((double)real->maximum < (double)p->most) p->most = (int64_t)real->maximum;
}
static int64_t derive_limits(const ml_call *c, void *to) {
    if (to) fill_limits(c, to);
    return (int64_t)sizeof(limits);
}

#define CLAMP(type, x) ((type)(x) < (type)p.least ? (type)p.least : (type)(x) > (type)p.most ? (type)p.most : (type)(x))
/* Computed in `wide`, unsigned, where sums and products wrap. */
#define WRAPPING(op, suffix, type, wide, OPERATION)             \
    ML_BINARY(op##_##suffix, type, type, ML_DERIVED_AS(limits),       \
              CLAMP(type, (type)OPERATION((wide)u, (wide)v)))
ML_BINARY_S32(add_s32, ML_ZIP_S32_ADD, ML_DERIVED_AS(limits), (int32_t)p.least, (int32_t)p.most)
WRAPPING(add, s64, int64_t, uint64_t, ADD)
ML_BINARY_S32(sub_s32, ML_ZIP_S32_SUB, ML_DERIVED_AS(limits), (int32_t)p.least, (int32_t)p.most)
WRAPPING(sub, s64, int64_t, uint64_t, SUB)
ML_BINARY_S32(mul_s32, ML_ZIP_S32_MUL, ML_DERIVED_AS(limits), (int32_t)p.least, (int32_t)p.most)
WRAPPING(mul, u32, uint32_t, uint32_t, MUL)
WRAPPING(mul, s64, int64_t, uint64_t, MUL)
ML_BINARY(squared_difference_s32, int32_t, int32_t, ML_NO_CONTEXT,
          (int32_t)SQUARE((uint32_t)u, (uint32_t)v))

/* 16 bits -------------------------------------------------------------------------------------- */

/* Kinds of 16-bit arithmetic: plain integers, without scales; ADD by shifts, for scales that are
 * powers of two; the general case. */
typedef enum { PLAIN, SHIFTED, GENERAL } word_kind;
typedef struct words {
    limits plain;
    arithmetic_terms q;
    word_kind kind;
    bool subtracts;
} words;

/* True if scales are powers of two and zero points 0. If so, sets by how many bits a and b are
 * shifted right. */
static bool powers_of_two(const ml_call *c, arithmetic_terms *p) {
    const ml_affine t[3] = {ml_input_affine(c, 0), ml_input_affine(c, 1), ml_output_affine(c, 0)};
    int exponents[3];
    if (!((const add_params *)c->params)->pot_scale_int16) return false;
    for (int i = 0; i < 3; i++)
        if (t[i].zero_point != 0 || frexpf(t[i].scale, &exponents[i]) != 0.5f) return false;
    p->a.shift = exponents[2] - exponents[0];
    p->b.shift = exponents[2] - exponents[1];
    return true;
}
static int64_t derive_sum_s16(const ml_call *c, void *to, bool subtracts) {
    words *p = to;
    if (!p) return (int64_t)sizeof *p;
    fill_limits(c, &p->plain);
    ml_fill_sum(c, &p->q, 15);
    p->kind = ml_output_affine(c, 0).scale == 0.0f ? PLAIN
              : powers_of_two(c, &p->q)            ? SHIFTED
                                                   : GENERAL;
    p->subtracts = subtracts;
    return (int64_t)sizeof *p;
}
static int64_t derive_add_s16(const ml_call *c, void *to) { return derive_sum_s16(c, to, false); }
static int64_t derive_sub_s16(const ml_call *c, void *to) { return derive_sum_s16(c, to, true); }
static int64_t derive_mul_s16(const ml_call *c, void *to) {
    words *p = to;
    if (!p) return (int64_t)sizeof *p;
    fill_limits(c, &p->plain);
    ml_fill_product(c, &p->q);
    p->kind = ml_output_affine(c, 0).scale == 0.0f ? PLAIN : GENERAL;
    return (int64_t)sizeof *p;
}

WRAPPING(add_plain, s16, int16_t, uint32_t, ADD)
WRAPPING(mul_plain, s16, int16_t, uint32_t, MUL)
static inline int32_t product(int32_t a, int32_t b, const arithmetic_terms *p) {
    return (int32_t)((uint32_t)(a - p->a.input_zero_point) * (uint32_t)(b - p->b.input_zero_point));
}
ML_BINARY(add_shifted_s16, int16_t, int16_t, ML_DERIVED_AS(words),
          (int16_t)ml_clamp_s32(ml_rounding_shift_right(u, p.q.a.shift) +
                                    ml_rounding_shift_right(v, p.q.b.shift),
                                p.q.out.least, p.q.out.most))
ML_BINARY(sub_shifted_s16, int16_t, int16_t, ML_DERIVED_AS(words),
          (int16_t)ml_clamp_s32(ml_rounding_shift_right(u, p.q.a.shift) -
                                    ml_rounding_shift_right(v, p.q.b.shift),
                                p.q.out.least, p.q.out.most))
static ml_add_s16_scale scale_of(const ml_rescale *p, int32_t zero) {
    return (ml_add_s16_scale){zero, p->mantissa, p->shift};
}
static void general_row(const ml_call *c, const int16_t *a, const int16_t *b, int16_t *y, int64_t n,
                        int32_t kind) {
    const arithmetic_terms *q = &((const words *)c->derived)->q;
    const ml_add_s16_args args = {
        .a = a,
        .b = b,
        .y = y,
        .n = n,
        .a_step = kind != ML_ROW_SCALAR_A,
        .b_step = kind != ML_ROW_SCALAR_B,
        .of_a = scale_of(&q->a, q->a.input_zero_point),
        .of_b = scale_of(&q->b, q->b.input_zero_point),
        .of_y = scale_of(&q->out, q->out.zero_point),
        .subtracts = ((const words *)c->derived)->subtracts,
        .low = q->out.least + q->out.zero_point,
        .high = q->out.most + q->out.zero_point,
    };
    c->env->simd->add_s16(&args);
}
ML_BINARY_ROWS(general, int16_t, int16_t)
ML_BINARY(mul_general_s16, int16_t, int16_t, ML_DERIVED_AS(words),
          (int16_t)ml_rescale_one(product(u, v, &p.q), &p.q.out))
static ml_status add_s16(const ml_call *c) {
    const word_kind kind = ((const words *)c->derived)->kind;
    return kind == PLAIN ? add_plain_s16(c) : kind == SHIFTED ? add_shifted_s16(c) : general(c);
}
static ml_status sub_s16(const ml_call *c) {
    return ((const words *)c->derived)->kind == SHIFTED ? sub_shifted_s16(c) : general(c);
}
static ml_status mul_s16(const ml_call *c) {
    return ((const words *)c->derived)->kind == PLAIN ? mul_plain_s16(c) : mul_general_s16(c);
}

/* Checks --------------------------------------------------------------------------------------- */

/* The multiplier of sums in the common scale that are shifted left by `left` bits. */
static double sum_multiplier(const ml_call *c, int32_t left) {
    const double a = ml_scale_of(c, c->inputs[0]), b = ml_scale_of(c, c->inputs[1]);
    return 2 * (a > b ? a : b) / ((double)(1 << left) * ml_scale_of(c, ml_output_tensor(c, 0)));
}
/* Sets *are: whether the options want scales that are powers of two (with zero points 0), and the
 * tensors have them. */
static ml_status check_powers_of_two(const ml_call *c, const add_params *params, bool *are) {
    int exponents[3];
    *are = params->pot_scale_int16 != 0;
    for (int i = 0; i < 3 && *are; i++)
        *are = frexp(ml_scale_of(c, c->inputs[i]), &exponents[i]) == 0.5 &&
               ml_zero_point_of(c, c->inputs[i]) == 0;
    const int a = exponents[0], b = exponents[1], y = exponents[2];
    if (!*are || (a <= y && b <= y && (a == y || b == y))) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "power-of-two scales 2^%d and 2^%d with the output's 2^%d: no input scale may "
                   "exceed the output's, and one must equal it",
                   a - 1, b - 1, y - 1);
}
static ml_status check_add(const ml_call *c, void *params) {
    const int32_t type = ml_output(c, 0)->type;
    ml_status status = ml_check_all_quantized(c, type == ML_S16);
    const bool is_quantized = type == ML_S8 || type == ML_U8 ||
                              (type == ML_S16 && ml_output_quantization(c, 0)->n_scales > 0);
    if (status != ML_OK || !is_quantized) return status;
    bool shifts = false;
    if (type == ML_S16) status = check_powers_of_two(c, params, &shifts);
    const double multiplier = sum_multiplier(c, type == ML_S16 ? 15 : 20);
    if (status != ML_OK || shifts || multiplier < 1.0) return status;
    return ml_fail(
        c, ML_UNSUPPORTED,
        "output scale is too small: the sum would be scaled by %g, which must be below 1",
        multiplier);
}
static ml_status check_sub(const ml_call *c, void *params) {
    if (ml_output(c, 0)->type != ML_S16) return ML_OK;
    ml_status status = ML_OK;
    for (int i = 0; i < 3 && status == ML_OK; i++) status = ml_check_symmetric(c, c->inputs[i]);
    bool shifts;
    return status == ML_OK ? check_powers_of_two(c, params, &shifts) : status;
}
static ml_status check_squared_difference(const ml_call *c, void *params) {
    if (ml_output(c, 0)->type != ML_S8) return ML_OK;
    const double a = ml_scale_of(c, c->inputs[0]), b = ml_scale_of(c, c->inputs[1]);
    const double common = 2 * (a > b ? a : b);
    const double multiplier =
        common * common / ((1 << 14) * ml_scale_of(c, ml_output_tensor(c, 0)));
    if (multiplier < 1.0) return ML_OK;
    return ml_fail(
        c, ML_UNSUPPORTED,
        "output scale is too small: squares would be scaled by %g, which must be below 1",
        multiplier);
}

/* Rows ----------------------------------------------------------------------------------------- */

#define BINARY                                                                                 \
    .takes = "a b -> y", .in_place = ML_INPUT(0) | ML_INPUT(1), .follows = ML_INPUT(1), \
    ML_PREPARED_BROADCAST
ML_KERNELS(arithmetic) = {
    {ML_OP(ADD, 1, 6), .name = "add",
     .flags = ML_KERNEL_TFLITE_SHARES | ML_KERNEL_CLAMPS | ML_KERNEL_ADDS, BINARY,
     .check = check_add, ML_PARAMS_OF(add_params),
     ML_TYPED({"f32 f32 -> f32", NULL, NULL, add_f32}, {"f16 f16 -> f16", NULL, NULL, add_f16},
              {"s32 s32 -> s32", derive_limits, NULL, add_s32},
              {"s64 s64 -> s64", derive_limits, NULL, add_s64},
              {"s8 s8 -> s8", ml_derive_add_bytes, NULL, ml_add_bytes},
              {"u8 u8 -> u8", ml_derive_add_bytes, NULL, ml_add_bytes},
              {"s16 s16 -> s16", derive_add_s16, NULL, add_s16})},
    {ML_OP(SUB, 1, 5), .name = "sub", .flags = ML_KERNEL_TFLITE_SHARES | ML_KERNEL_CLAMPS, BINARY,
     .quantization = ML_TAKES_QUANTIZED, .check = check_sub, ML_PARAMS_OF(add_params),
     ML_TYPED({"f32 f32 -> f32", NULL, NULL, sub_f32},
              {"s32 s32 -> s32", derive_limits, NULL, sub_s32},
              {"s64 s64 -> s64", derive_limits, NULL, sub_s64},
              {"s8 s8 -> s8", ml_derive_sub_bytes, NULL, ml_add_bytes},
              {"u8 u8 -> u8", ml_derive_sub_bytes, NULL, ml_add_bytes},
              {"s16 s16 -> s16", derive_sub_s16, NULL, sub_s16})},
    {ML_OP(MUL, 1, 8), .name = "mul",
     .flags = ML_KERNEL_TFLITE_SHARES | ML_KERNEL_CLAMPS | ML_KERNEL_MULTIPLIES, BINARY,
     .quantization = ML_TAKES_QUANTIZED_OR_BARE, ML_PARAMS_OF(clamp_params),
     ML_TYPED({"f32 f32 -> f32", NULL, NULL, mul_f32}, {"f16 f16 -> f16", NULL, NULL, mul_f16},
              {"s32 s32 -> s32", derive_limits, NULL, mul_s32},
              {"u32 u32 -> u32", derive_limits, NULL, mul_u32},
              {"s64 s64 -> s64", derive_limits, NULL, mul_s64},
              {"c64 c64 -> c64", NULL, NULL, mul_c64},
              {"s8 s8 -> s8", ml_derive_mul_bytes, NULL, ml_mul_bytes},
              {"u8 u8 -> u8", ml_derive_mul_bytes, NULL, ml_mul_bytes},
              {"s16 s16 -> s16", derive_mul_s16, NULL, mul_s16})},
    {ML_OP(SQUARED_DIFFERENCE, 1, 2), .name = "squared_difference",
     .flags = ML_KERNEL_TFLITE_SHARES, BINARY, .quantization = ML_TAKES_QUANTIZED,
     .check = check_squared_difference,
     ML_TYPED({"f32 f32 -> f32", NULL, NULL, squared_difference_f32},
              {"s32 s32 -> s32", NULL, NULL, squared_difference_s32},
              {"s8 s8 -> s8", ml_derive_squared_difference_bytes, NULL,
               ml_squared_difference_bytes})},
    ML_KERNELS_END,
};
