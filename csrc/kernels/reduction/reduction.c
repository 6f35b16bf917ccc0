/* reduction.c -- MEAN, SUM, REDUCE_MAX, _MIN, _PROD, _ANY, _ALL over any set of dimensions.
 *
 * f32: sums in float32, and one division; along a reduced last dimension, as many partial sums as
 * the SIMD level has lanes. s32, s64: sums wrap in int64, and are divided towards 0. 8 and 16 bits:
 * TFLite's QuantizedMeanOrSum: int32 sum less zero points, one requantization (double rounding) by
 * a multiplier that holds 1 / count; SUM scales in float32, as LiteRT's optimized kernel. */
#include <math.h>

#include "rules/checks.h"
#include "kernels/reduction/reduction.h"

ML_PARAMS(reduce_params, ML_REDUCE_FIELDS)

/* Scratch holds the sums, because outputs are too narrow for them. */
static ml_status prepare_mean(const ml_call *c, ml_wish *wish) {
    const int32_t type = ml_input(c, 0)->type;
    const int64_t bytes = type == ML_F32 ? 0 : type == ML_S32 || type == ML_S64 ? 8 : 4;
    return ml_prepare_reduce(c, wish, c->blob, ((const reduce_params *)c->params)->keep_dims,
                             bytes);
}

#define ADD(sum, x) ((sum) + (x))
static inline uint32_t add_u32(uint32_t sum, int32_t x) { return sum + (uint32_t)x; }
static inline uint64_t add_u64(uint64_t sum, int64_t x) { return sum + (uint64_t)x; }
static ml_status sum_f32(const ml_call *c, const float *x, float *sums, const ml_reduce *r) {
    const reduce_params *p = c->params;
    return ml_reduce_f32(c, x, sums, r, p->squares ? ML_FOLD_SQUARES : ML_FOLD_SUM, 0.0f);
}
ML_REDUCE(sum_s32, int32_t, uint64_t, 0, add_u64, ADD)
ML_REDUCE(sum_low_s32, int32_t, uint32_t, 0, add_u32, ADD)
ML_REDUCE(sum_s64, int64_t, uint64_t, 0, add_u64, ADD)
static ml_status sum_s8(const ml_call *c, const uint8_t *x, int32_t *sums, const ml_reduce *r) {
    return ml_sum_bytes(c, x, sums, r, true);
}
static ml_status sum_u8(const ml_call *c, const uint8_t *x, int32_t *sums, const ml_reduce *r) {
    return ml_sum_bytes(c, x, sums, r, false);
}
ML_REDUCE(sum_s16, int16_t, uint32_t, 0, add_u32, ADD)

/* Defines eval `name`: `reduce` from input 0 into `sums`, then outputs y[i] = FINISH of the sum
 * `s`, and of what BEFORE declares. */
#define FINISHED(name, reduce, sum_type, type, SUMS, BEFORE, FINISH)          \
    static ml_status name##_outputs(const ml_call *c, int64_t first, int64_t end,        \
                                    int32_t worker, void *args) {                        \
        const ml_reduce *r = c->blob;                                                    \
        const sum_type *sums = (SUMS);                                                   \
        type *y = ml_out(c, 0);                                                          \
        BEFORE                                                                           \
        (void)r;                                                                         \
        for (int64_t i = first; i < end; i++) {                                          \
            const sum_type s = sums[i];                                                  \
            y[i] = (FINISH);                                                             \
        }                                                                                \
        return ML_OK;                                                                    \
    }                                                                                    \
    static ml_status name(const ml_call *c) {                                            \
        const ml_reduce *r = c->blob;                                                    \
        ml_status status = reduce(c, ml_in(c, 0), (SUMS), r);                            \
        return status == ML_OK ? ml_in_blocks(c, r->outputs, 1, name##_outputs, NULL) : status; \
    }

/* The mean of no elements is NaN. */
static ml_status mean_f32(const ml_call *c) {
    const ml_reduce *r = c->blob;
    const float count = (float)r->count, most = __builtin_inff();
    float *y = ml_out(c, 0);
    const ml_status status = sum_f32(c, ml_in(c, 0), y, r);
    const ml_zip_f32_args divided = {.a = y,
                                     .b = &count,
                                     .y = y,
                                     .n = r->outputs,
                                     .rows = 1,
                                     .function = ML_ZIP_DIV,
                                     .kind = ML_ZIP_SCALAR_B,
                                     .low = -most,
                                     .high = most};
    if (status == ML_OK) c->env->simd->zip_f32(&divided);
    return status;
}

/* The mean of no elements is 0, as in LiteRT. */
FINISHED(mean_s32, sum_s32, uint64_t, int32_t, c->scratch, ,
         r->count ? (int32_t)((int64_t)s / r->count) : 0)
FINISHED(mean_s64, sum_s64, uint64_t, int64_t, c->scratch, , r->count ? (int64_t)s / r->count : 0)

#define MEAN_QUANTIZED(suffix, type)                                                     \
    FINISHED(mean_some_##suffix, sum_##suffix, uint32_t, type, c->scratch,         \
             const ml_rescale p = ml_mean_rescale(c);                         \
             , (type)ml_rescale_one((int32_t)s, &p))                                     \
    static ml_status mean_##suffix(const ml_call *c) {                                   \
        const ml_reduce *r = c->blob;                                                    \
        if (ml_can_requantize_mean(c)) return ml_requantized_mean(c);                    \
        if (r->count > 0) return mean_some_##suffix(c);                                  \
        memset(ml_out(c, 0), 0, (size_t)r->outputs * sizeof(type));                      \
        return ML_OK;                                                                    \
    }
MEAN_QUANTIZED(s8, int8_t)
MEAN_QUANTIZED(u8, uint8_t)
MEAN_QUANTIZED(s16, int16_t)

/* Sums: outputs that are narrower than the type of the sums need scratch. */
static ml_status prepare_sum(const ml_call *c, ml_wish *wish) {
    const int32_t type = ml_input(c, 0)->type;
    const int64_t bytes = type == ML_F32 || type == ML_S32 || type == ML_S64 ? 0 : 4;
    return ml_prepare_reduce(c, wish, c->blob, ((const reduce_params *)c->params)->keep_dims,
                             bytes);
}

static ml_status prepare_plain(const ml_call *c, ml_wish *wish) {
    return ml_prepare_reduce(c, wish, c->blob, ((const reduce_params *)c->params)->keep_dims, 0);
}

static ml_status reduce_sum_f32(const ml_call *c) {
    return sum_f32(c, ml_in(c, 0), ml_out(c, 0), c->blob);
}

static ml_status reduce_sum_s64(const ml_call *c) {
    return sum_s64(c, ml_in(c, 0), ml_out(c, 0), c->blob);
}

/* The low halves of sums are what outputs have. */
static ml_status reduce_sum_s32(const ml_call *c) {
    return sum_low_s32(c, ml_in(c, 0), ml_out(c, 0), c->blob);
}

typedef struct sum_scale {
    float scale;
    float bias; /* per element, for its zero point */
    float zero_point;
    float least;
    float most;
} sum_scale;

static int64_t derive_sum(const ml_call *c, void *to) {
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    sum_scale *made = to;
    if (made) {
        made->scale = out.scale > 0.0f ? in.scale / out.scale : 0.0f;
        made->bias = (float)-in.zero_point * made->scale;
        made->zero_point = (float)out.zero_point;
        made->least = (float)ml_type_least(out.type);
        made->most = (float)ml_type_most(out.type);
    }
    return (int64_t)sizeof(sum_scale);
}

/* Rounds as ml_round_half_away does. What is limited first is out of every type's range anyway. */
static inline int32_t scaled_sum(const sum_scale *p, uint32_t sum, float biases) {
    const float most = 1 << 20, scaled = (float)(int32_t)sum * p->scale + biases;
    float v = scaled + (scaled < 0.0f ? -0.49999997f : 0.49999997f);
    v = v < -most ? -most : v > most ? most : v;
    v = (float)(int32_t)v + p->zero_point;
    v = v < p->least ? p->least : v;
    return (int32_t)(v > p->most ? p->most : v);
}

#define SUM_QUANTIZED(suffix, type)                                                      \
    FINISHED(reduce_sum_##suffix, sum_##suffix, uint32_t, type, c->scratch,        \
             const sum_scale p = *(const sum_scale *)c->derived;                   \
             const float biases = p.bias * (float)r->count;                        \
             , (type)scaled_sum(&p, s, biases))
SUM_QUANTIZED(s8, int8_t)
SUM_QUANTIZED(u8, uint8_t)
SUM_QUANTIZED(s16, int16_t)

/* Defines an eval that reduces in the type of the elements, directly into the output. */
#define PLAIN(name, type, START, STEP)                                           \
    ML_REDUCE(name##_all, type, type, START, STEP, STEP)                         \
    static ml_status name(const ml_call *c) {                                    \
        return name##_all(c, ml_in(c, 0), ml_out(c, 0), c->blob);                \
    }
#define GREATER(a, b) ((b) > (a) ? (b) : (a))
#define LESS(a, b) ((b) < (a) ? (b) : (a))
#define LIMITS(suffix, type, LEAST, MOST)                                        \
    PLAIN(max_##suffix, type, LEAST, GREATER)                                    \
    PLAIN(min_##suffix, type, MOST, LESS)
static ml_status max_f32(const ml_call *c) {
    return ml_reduce_f32(c, ml_in(c, 0), ml_out(c, 0), c->blob, ML_FOLD_MAX, -__FLT_MAX__);
}
static ml_status min_f32(const ml_call *c) {
    return ml_reduce_f32(c, ml_in(c, 0), ml_out(c, 0), c->blob, ML_FOLD_MIN, __FLT_MAX__);
}
#define BYTES(name, flip)                                                        \
    static ml_status name(const ml_call *c) {                                    \
        return ml_reduce_u8(c, ml_in(c, 0), ml_out(c, 0), c->blob, flip);        \
    }
BYTES(max_u8, 0)
BYTES(max_s8, 0x80)
BYTES(min_u8, 0xFF)
BYTES(min_s8, 0x7F)
LIMITS(s16, int16_t, INT16_MIN, INT16_MAX)
LIMITS(s32, int32_t, INT32_MIN, INT32_MAX)
LIMITS(s64, int64_t, INT64_MIN, INT64_MAX)

#define TIMES(a, b) ((a) * (b))
PLAIN(prod_f32, float, 1.0f, TIMES)
PLAIN(prod_s32, uint32_t, 1, TIMES)
PLAIN(prod_s64, uint64_t, 1, TIMES)

/* Quantized products: each factor from the second on is scaled, and so is the product, such that
 * the last product has the output's scale. Multipliers have 16 bits, as in TFLite. Without scales,
 * products wrap. */
static double factor_of(const ml_call *c, int64_t count) {
    const double out = (double)ml_output_affine(c, 0).scale;
    return (double)ml_input_affine(c, 0).scale / pow(out, 1.0 / (double)count);
}

static ml_status prepare_prod(const ml_call *c, ml_wish *wish) {
    const int32_t type = ml_input(c, 0)->type;
    const bool scaled = (type == ML_S8 || type == ML_S16) && ml_input_affine(c, 0).scale > 0.0f;
    const ml_reduce *r = c->blob;
    ml_status status = ml_prepare_reduce(
        c, wish, c->blob, ((const reduce_params *)c->params)->keep_dims, scaled ? 8 : 0);
    if (status != ML_OK || !scaled || wish->open || r->count == 0) return status;
    const double factor = factor_of(c, r->count);
    return factor < 16384.0
               ? ML_OK
               : ml_fail(c, ML_SHAPE_ERROR,
                         "the scales give a multiplier of %g per element, must be less than 16384",
                         factor);
}

/* The product of no factors is 1. */
static int64_t one_of(const ml_affine out) { return (int64_t)ml_round_half_away(1.0f / out.scale); }

static int32_t finished(int64_t product, int64_t count, int32_t mantissa, int32_t shift,
                        ml_affine out) {
    int64_t v = count > 0 ? ml_multiply_quantized_s64(product, mantissa, shift) : one_of(out);
    v += out.zero_point;
    v = v < ml_type_least(out.type) ? ml_type_least(out.type) : v;
    return (int32_t)(v > ml_type_most(out.type) ? ml_type_most(out.type) : v);
}

#define NO_FACTOR INT64_MIN
#define PROD_QUANTIZED(suffix, element)                                                         \
    PLAIN(prod_##suffix##_bare, element, 1, WRAP_##suffix)                                      \
    static ml_status prod_##suffix(const ml_call *c) {                                          \
        const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);               \
        const ml_reduce *r = c->blob;                                                           \
        const element *x = ml_in(c, 0);                                                         \
        element *y = ml_out(c, 0);                                                              \
        int64_t *products = c->scratch, at = 0, work = 0;                                       \
        ml_status status = ML_OK;                                                               \
        int32_t index[ML_MAX_RANK] = {0}, mantissa = 0, shift = 0;                              \
        if (!(in.scale > 0.0f)) return prod_##suffix##_bare(c);                                 \
        if (r->count > 0) ml_quantize_multiplier(factor_of(c, r->count), &mantissa, &shift);    \
        for (int64_t i = 0; i < r->outputs; i++) products[i] = NO_FACTOR;                       \
        for (int64_t row = 0; row < r->rows; row++, at = ml_reduce_next(r, at, index))          \
            for (int64_t i = 0; i < r->row && status == ML_OK; i++) {                           \
                int64_t *product = &products[r->row_reduced ? at : at + i];                     \
                const int64_t factor = *x++ - in.zero_point;                                    \
                *product = *product == NO_FACTOR                                                \
                               ? factor                                                         \
                               : ml_multiply_quantized_s64(*product * factor, mantissa, shift); \
                status = ml_count_work(c, 1, &work);                                            \
            }                                                                                   \
        for (int64_t i = 0; i < r->outputs && status == ML_OK; i++)                             \
            y[i] = (element)finished(products[i], r->count, mantissa, shift, out);              \
        return status;                                                                          \
    }
#define WRAP_s8(a, b) ((int8_t)((a) * (b)))
#define WRAP_s16(a, b) ((int16_t)((a) * (b)))
PROD_QUANTIZED(s8, int8_t)
PROD_QUANTIZED(s16, int16_t)

/* Truth values (every byte except 0 is true): their largest, or their smallest. */
static ml_status bytes_to_truth(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                void *args) {
    uint8_t *y = ml_out(c, 0);
    for (int64_t i = first; i < end; i++) y[i] = y[i] != 0;
    return ML_OK;
}
#define TRUTH(name, bytes)                                                                  \
    static ml_status name(const ml_call *c) {                                               \
        const ml_status status = bytes(c);                                                  \
        if (status != ML_OK) return status;                                                 \
        return ml_in_blocks(c, ((const ml_reduce *)c->blob)->outputs, 1, bytes_to_truth, NULL); \
    }
TRUTH(any_b8, max_u8)
TRUTH(all_b8, min_u8)

/* Checks --------------------------------------------------------------------------------------- */

/* Integers are compared as they are, so both sides must have the same scale and zero point. */
static ml_status check_limit(const ml_call *c, void *params) {
    const int32_t type = ml_input(c, 0)->type;
    if (type != ML_S8 && type != ML_U8 && type != ML_S16) return ML_OK;
    return ml_check_same_scale(c, c->inputs[0], "the input");
}
static ml_status check_prod(const ml_call *c, void *params) {
    if (ml_input(c, 0)->type != ML_S16) return ML_OK;
    ml_status status = ml_check_symmetric(c, c->inputs[0]);
    return status == ML_OK ? ml_check_symmetric(c, ml_output_tensor(c, 0)) : status;
}

/* Rows ----------------------------------------------------------------------------------------- */

#define REDUCTION(operator, last, kernel_name, prepare_fn, ...)                                  \
    {ML_OP(operator, 1, last), .name = (kernel_name), .takes = "x axes -> y",                   \
     ML_PARAMS_OF(reduce_params), .blob_bytes = (int32_t)sizeof(ml_reduce),                     \
     .prepare = (prepare_fn), __VA_ARGS__}
#define BARE .quantization = ML_TAKES_QUANTIZED_OR_BARE
#define LIMIT_ROWS(name)                                                         \
    {"f32 s32 -> f32", NULL, NULL, name##_f32}, {"s8 s32 -> s8", NULL, NULL, name##_s8}, \
        {"u8 s32 -> u8", NULL, NULL, name##_u8}, {"s16 s32 -> s16", NULL, NULL, name##_s16}, \
        {"s32 s32 -> s32", NULL, NULL, name##_s32}, {"s64 s32 -> s64", NULL, NULL, name##_s64}

ML_KERNELS(reduction) = {
    REDUCTION(SUM, 2, "sum", prepare_sum, BARE, .flags = ML_KERNEL_TAKES_SQUARES,
              ML_TYPED({"f32 s32 -> f32", NULL, NULL, reduce_sum_f32},
                       {"s32 s32 -> s32", NULL, NULL, reduce_sum_s32},
                       {"s64 s32 -> s64", NULL, NULL, reduce_sum_s64},
                       {"s8 s32 -> s8", derive_sum, NULL, reduce_sum_s8},
                       {"u8 s32 -> u8", derive_sum, NULL, reduce_sum_u8},
                       {"s16 s32 -> s16", derive_sum, NULL, reduce_sum_s16},
                       {"b8 s32 -> b8", NULL, NULL, any_b8})),
    REDUCTION(REDUCE_MAX, 3, "reduce_max", prepare_plain, BARE, .check = check_limit,
              ML_TYPED(LIMIT_ROWS(max), {"b8 s32 -> b8", NULL, NULL, any_b8})),
    REDUCTION(REDUCE_MIN, 3, "reduce_min", prepare_plain, BARE, .check = check_limit,
              ML_TYPED(LIMIT_ROWS(min), {"b8 s32 -> b8", NULL, NULL, all_b8})),
    REDUCTION(
        REDUCE_PROD, 2, "reduce_prod", prepare_prod, BARE, .check = check_prod,
        ML_TYPED({"f32 s32 -> f32", NULL, NULL, prod_f32}, {"s8 s32 -> s8", NULL, NULL, prod_s8},
                 {"s16 s32 -> s16", NULL, NULL, prod_s16}, {"s32 s32 -> s32", NULL, NULL, prod_s32},
                 {"s64 s32 -> s64", NULL, NULL, prod_s64}, {"b8 s32 -> b8", NULL, NULL, all_b8})),
    REDUCTION(REDUCE_ANY, 1, "reduce_any", prepare_plain,
              ML_TYPED({"b8 s32 -> b8", NULL, NULL, any_b8})),
    REDUCTION(REDUCE_ALL, 1, "reduce_all", prepare_plain,
              ML_TYPED({"b8 s32 -> b8", NULL, NULL, all_b8})),
    REDUCTION(MEAN, 3, "mean", prepare_mean, BARE, .flags = ML_KERNEL_TAKES_SQUARES,
              ML_TYPED({"f32 s32 -> f32", NULL, NULL, mean_f32},
                       {"s32 s32 -> s32", NULL, NULL, mean_s32},
                       {"s64 s32 -> s64", NULL, NULL, mean_s64},
                       {"s8 s32 -> s8", ml_derive_mean, NULL, mean_s8},
                       {"u8 s32 -> u8", ml_derive_mean, NULL, mean_u8},
                       {"s16 s32 -> s16", ml_derive_mean, NULL, mean_s16})),
    ML_KERNELS_END,
};
