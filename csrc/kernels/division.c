/* division.c -- DIV, FLOOR_DIV, FLOOR_MOD: quotients and remainders with numpy's broadcasting.
 * Integers wrap; their divisors must not be 0.
 *
 * Quantized DIV: the divisor's reciprocal by Newton steps in fixed point, both products rounded. */
#include <math.h>

#include "math/float_math.h"
#include "rules/broadcast.h"
#include "rules/quantized.h"

ML_PARAMS(clamp_params, ML_CLAMP_FIELDS)

/* Defines eval `name`: `eval`, after checking that no element of input 1 is the integer for 0. */
#define NON_ZERO(name, type, eval, ZERO)                                                        \
    static ml_status name##_check(const ml_call *c, int64_t first, int64_t end, int32_t worker, \
                                  void *args) {                                                 \
        const type *divisor = ml_in(c, 1), zero = (type)(ZERO);                                 \
        for (int64_t i = first; i < end; i++)                                                   \
            if (divisor[i] == zero)                                                             \
                return ml_fail(c, ML_KERNEL_ERROR, "division by 0: element %lld of the divisor", \
                               (long long)i);                                                   \
        return ML_OK;                                                                           \
    }                                                                                           \
    static ml_status name(const ml_call *c) {                                                   \
        const int64_t n = ml_elements(&ml_in_tensor(c, 1)->shape);                              \
        const ml_status status = ml_in_blocks(c, n, 1, name##_check, NULL);                     \
        return status == ML_OK ? eval(c) : status;                                              \
    }

/* DIV ------------------------------------------------------------------------------------------ */

ML_BINARY_F32(div_f32, ML_ZIP_DIV, ML_PARAMS_AS(clamp_params), p.minimum, p.maximum, u / v)

/* No divisor is 0, as was checked. But another thread may change it meanwhile (a bound buffer, a
 * view): then the answer is any, and the process goes on. */
static inline int32_t divisor_of(int32_t b) { return b == 0 ? 1 : b; }
/* Rounds towards zero; -1 is treated separately, because the lowest integer has no negative. */
static inline int32_t quotient(int32_t a, int32_t b) {
    return b == -1 ? (int32_t)(0u - (uint32_t)a) : a / divisor_of(b);
}
static inline int32_t clamp_quotient(int32_t x, const clamp_params *p) {
    const double y = (double)x;
    return y<(double)p->minimum ? (int32_t)p->minimum : y>(double) p->maximum ? (int32_t)p->maximum
                                                                              : x;
}
ML_BINARY(div_any_s32, int32_t, int32_t, ML_PARAMS_AS(clamp_params),
          clamp_quotient(quotient(u, v), &p))
NON_ZERO(div_s32, int32_t, div_any_s32, 0)

typedef struct division {
    ml_rescale out;
    int32_t a_zero_point, b_zero_point;
} division;
static int64_t derive_div(const ml_call *c, void *to) {
    division *p = to;
    if (!p) return (int64_t)sizeof *p;
    const clamp_params *limits = c->params;
    const ml_affine a = ml_input_affine(c, 0), b = ml_input_affine(c, 1),
                    y = ml_output_affine(c, 0);
    p->out = ml_rescale_clamped((ml_affine){0}, y, (double)(a.scale / (b.scale * y.scale)),
                                limits->minimum, limits->maximum);
    p->a_zero_point = a.zero_point;
    p->b_zero_point = b.zero_point;
    return (int64_t)sizeof *p;
}
/* Right shifts by 32 or more, undefined in TFLite's C++, give 0; left shifts saturate. */
static inline int32_t divide_one(int32_t a, int32_t b, const division *p) {
    a -= p->a_zero_point;
    b = divisor_of(b - p->b_zero_point);
    if (b < 0) a = -a, b = -b;
    const int32_t leading = __builtin_clz((uint32_t)b);
    const int32_t inverse = ml_one_over_one_plus((int32_t)(((uint32_t)b << leading) - (1u << 31)));
    const int32_t headroom = a ? __builtin_clrsb(a) : 31;
    int32_t y = ml_doubling_high_mul((int32_t)((uint32_t)a << headroom), inverse);
    y = ml_doubling_high_mul(y, p->out.mantissa);
    const int32_t shift = p->out.shift - (31 - leading) - headroom;
    if (shift > 0) {
        const int64_t wide = (int64_t)y * ((int64_t)1 << (shift < 31 ? shift : 31));
        y = (int32_t)(wide < p->out.least ? p->out.least : wide > p->out.most ? p->out.most : wide);
    } else {
        y = shift < -31 ? 0 : ml_rounding_shift_right(y, -shift);
    }
    return ml_clamp_s32(y, p->out.least, p->out.most) + p->out.zero_point;
}
#define DIVIDE(kind, type)                                                                 \
    ML_BINARY(div_any_##kind, type, type, ML_DERIVED_AS(division), (type)divide_one(u, v, &p)) \
    NON_ZERO(div_##kind, type, div_any_##kind, ((const division *)c->derived)->b_zero_point)
DIVIDE(s8, int8_t)
DIVIDE(u8, uint8_t)
DIVIDE(s16, int16_t)

/* FLOOR_DIV, FLOOR_MOD ------------------------------------------------------------------------- */

#define FLOOR(a, b) ((a) / (b) - ((a) % (b) != 0 && ((a) % (b) < 0) != ((b) < 0)))
static inline int32_t floor_quotient(int32_t a, int32_t b) {
    b = divisor_of(b);
    return b == -1 ? (int32_t)(0u - (uint32_t)a) : FLOOR(a, b);
}
ML_BINARY(floor_div_any_f32, float, float, ML_NO_CONTEXT, (float)floor((double)u / (double)v))
ML_BINARY(floor_div_any_s8, int8_t, int8_t, ML_NO_CONTEXT, (int8_t)floor_quotient(u, v))
ML_BINARY(floor_div_any_s16, int16_t, int16_t, ML_NO_CONTEXT, (int16_t)floor_quotient(u, v))
ML_BINARY(floor_div_any_s32, int32_t, int32_t, ML_NO_CONTEXT, floor_quotient(u, v))
NON_ZERO(floor_div_f32, float, floor_div_any_f32, 0)
NON_ZERO(floor_div_s8, int8_t, floor_div_any_s8, 0)
NON_ZERO(floor_div_s16, int16_t, floor_div_any_s16, 0)
NON_ZERO(floor_div_s32, int32_t, floor_div_any_s32, 0)

static inline float floor_remainder_f32(float a, float b) {
    const float r = fmodf(a, b);
    return r != 0.0f && (b < 0.0f) != (r < 0.0f) ? r + b : r;
}
static inline int64_t floor_remainder(int64_t a, int64_t b) {
    const int64_t r = b == -1 || b == 0 ? 0 : a % b;
    return r != 0 && (b < 0) != (r < 0) ? r + b : r;
}
ML_BINARY(floor_mod_f32, float, float, ML_NO_CONTEXT, floor_remainder_f32(u, v))
ML_BINARY(floor_mod_any_s8, int8_t, int8_t, ML_NO_CONTEXT, (int8_t)floor_remainder(u, v))
ML_BINARY(floor_mod_any_s16, int16_t, int16_t, ML_NO_CONTEXT, (int16_t)floor_remainder(u, v))
ML_BINARY(floor_mod_any_s32, int32_t, int32_t, ML_NO_CONTEXT, (int32_t)floor_remainder(u, v))
ML_BINARY(floor_mod_any_s64, int64_t, int64_t, ML_NO_CONTEXT, floor_remainder(u, v))
NON_ZERO(floor_mod_s8, int8_t, floor_mod_any_s8, 0)
NON_ZERO(floor_mod_s16, int16_t, floor_mod_any_s16, 0)
NON_ZERO(floor_mod_s32, int32_t, floor_mod_any_s32, 0)
NON_ZERO(floor_mod_s64, int64_t, floor_mod_any_s64, 0)

#define BINARY .takes = "a b -> y", .in_place = ML_INPUT(0) | ML_INPUT(1), ML_PREPARED_BROADCAST
ML_KERNELS(division) = {
    {ML_OP(DIV, 1, 2), .name = "div", .flags = ML_KERNEL_CLAMPS | ML_KERNEL_REFUSES_VALUES, BINARY,
     .quantization = ML_TAKES_QUANTIZED, ML_PARAMS_OF(clamp_params),
     ML_TYPED({"f32 f32 -> f32", NULL, NULL, div_f32}, {"s32 s32 -> s32", NULL, NULL, div_s32},
              {"s8 s8 -> s8", derive_div, NULL, div_s8}, {"u8 u8 -> u8", derive_div, NULL, div_u8},
              {"s16 s16 -> s16", derive_div, NULL, div_s16})},
    {ML_OP(FLOOR_DIV, 1, 3), .name = "floor_div", .flags = ML_KERNEL_REFUSES_VALUES, BINARY,
     ML_TYPED({"f32 f32 -> f32", NULL, NULL, floor_div_f32},
              {"s8 s8 -> s8", NULL, NULL, floor_div_s8},
              {"s16 s16 -> s16", NULL, NULL, floor_div_s16},
              {"s32 s32 -> s32", NULL, NULL, floor_div_s32})},
    {ML_OP(FLOOR_MOD, 1, 2), .name = "floor_mod", .flags = ML_KERNEL_REFUSES_VALUES, BINARY,
     ML_TYPED({"f32 f32 -> f32", NULL, NULL, floor_mod_f32},
              {"s8 s8 -> s8", NULL, NULL, floor_mod_s8},
              {"s16 s16 -> s16", NULL, NULL, floor_mod_s16},
              {"s32 s32 -> s32", NULL, NULL, floor_mod_s32},
              {"s64 s64 -> s64", NULL, NULL, floor_mod_s64})},
    ML_KERNELS_END,
};
