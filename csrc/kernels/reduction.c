/* reduction.c -- MEAN over any set of dimensions.
 *
 * f32: sums in float32, eight side by side along a reduced last dimension, and one division. s32, s64: sums wrap in int64,
 * divided towards 0. 8 and 16 bits: TFLite's QuantizedMeanOrSum: int32 sum less zero points, one requantization (double
 * rounding) by a multiplier that holds 1 / count.
 */
#include "rules/quantized.h"
#include "rules/reduce.h"

ML_PARAMS(reduce_params, ML_REDUCE_FIELDS)

/* Scratch holds the sums that outputs are too narrow for. */
static ml_status prepare_mean(const ml_call *c, ml_wish *wish) {
    const int32_t type = ml_input(c, 0)->type;
    const int64_t bytes = type == ML_F32 ? 0 : type == ML_S32 || type == ML_S64 ? 8 : 4;
    return ml_prepare_reduce(c, wish, c->blob, ((const reduce_params *)c->params)->keep_dims,
                             bytes);
}

#define ADD(sum, x) ((sum) + (x))
static inline uint32_t add_u32(uint32_t sum, int32_t x) { return sum + (uint32_t)x; }
static inline uint64_t add_u64(uint64_t sum, int64_t x) { return sum + (uint64_t)x; }
ML_REDUCE(sum_f32, float, float, 0.0f, ADD, ADD)
ML_REDUCE(sum_s32, int32_t, uint64_t, 0, add_u64, ADD)
ML_REDUCE(sum_s64, int64_t, uint64_t, 0, add_u64, ADD)
ML_REDUCE(sum_s8, int8_t, uint32_t, 0, add_u32, ADD)
ML_REDUCE(sum_u8, uint8_t, uint32_t, 0, add_u32, ADD)
ML_REDUCE(sum_s16, int16_t, uint32_t, 0, add_u32, ADD)

/* The mean of no elements is NaN. */
static ml_status mean_f32(const ml_call *c) {
    const ml_reduce *r = c->blob;
    float *y = ml_out(c, 0), count = (float)r->count;
    sum_f32(ml_in(c, 0), y, r);
    for (int64_t i = 0; i < r->outputs; i++) y[i] /= count;
    return ML_OK;
}

/* Of no elements 0, as LiteRT's. */
#define MEAN_INT(suffix, type)                                                   \
    static ml_status mean_##suffix(const ml_call *c) {                           \
        const ml_reduce *r = c->blob;                                            \
        type *y = ml_out(c, 0);                                                  \
        uint64_t *sums = c->scratch;                                             \
        sum_##suffix(ml_in(c, 0), sums, r);                                      \
        for (int64_t i = 0; i < r->outputs; i++)                                 \
            y[i] = r->count ? (type)((int64_t)sums[i] / r->count) : 0;           \
        return ML_OK;                                                            \
    }
MEAN_INT(s32, int32_t)
MEAN_INT(s64, int64_t)

static int64_t derive_mean(const ml_call *c, void *to) {
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    if (to) *(ml_rescale *)to = ml_rescale_of(in, out, (double)in.scale / (double)out.scale);
    return (int64_t)sizeof(ml_rescale);
}

/* The multiplier by `count`, as QuantizedMeanOrSum derives it; for sums, whose zero point is count times the input's. */
static ml_rescale divided(const ml_rescale *p, int64_t count) {
    ml_rescale of_sum = *p;
    int32_t bits = 63 - __builtin_clzll((uint64_t)count);
    bits = bits > 32 ? 32 : bits;
    bits = bits > 31 + p->shift ? 31 + p->shift : bits;
    of_sum.mantissa = (int32_t)(((int64_t)p->mantissa << bits) / count);
    of_sum.shift = p->shift - bits;
    of_sum.input_zero_point = (int32_t)((uint32_t)p->input_zero_point * (uint32_t)count);
    return of_sum;
}

#define MEAN_QUANTIZED(suffix, type)                                             \
    static ml_status mean_##suffix(const ml_call *c) {                           \
        const ml_reduce *r = c->blob;                                            \
        type *y = ml_out(c, 0);                                                  \
        uint32_t *sums = c->scratch;                                             \
        if (r->count == 0) {                                                     \
            memset(y, 0, (size_t)r->outputs * sizeof *y);                        \
            return ML_OK;                                                        \
        }                                                                        \
        sum_##suffix(ml_in(c, 0), sums, r);                                      \
        const ml_rescale p = divided(c->derived, r->count);                      \
        for (int64_t i = 0; i < r->outputs; i++)                                 \
            y[i] = (type)ml_rescale_one((int32_t)sums[i], &p);                   \
        return ML_OK;                                                            \
    }
MEAN_QUANTIZED(s8, int8_t)
MEAN_QUANTIZED(u8, uint8_t)
MEAN_QUANTIZED(s16, int16_t)

ML_KERNELS(reduction) = {
    {.abi = ML_KERNEL_ABI,
     .name = "mean",
     ML_PARAMS_OF(reduce_params),
     .blob_bytes = (int32_t)sizeof(ml_reduce),
     .prepare = prepare_mean,
     .typed =
         (const ml_typed[]){
             {"f32 s32 -> f32", NULL, NULL, mean_f32},
             {"s32 s32 -> s32", NULL, NULL, mean_s32},
             {"s64 s32 -> s64", NULL, NULL, mean_s64},
             {"s8 s32 -> s8", derive_mean, NULL, mean_s8},
             {"u8 s32 -> u8", derive_mean, NULL, mean_u8},
             {"s16 s32 -> s16", derive_mean, NULL, mean_s16},
             {NULL, NULL, NULL, NULL},
         }},
    ML_KERNELS_END,
};
