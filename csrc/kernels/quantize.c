/* quantize.c -- QUANTIZE (float to integers, and integers to integers of another scale) and
 * DEQUANTIZE.
 *
 * From float: round(x / scale) + zero_point, ties away from zero, saturating; NaN gives the lowest
 * value. Between integers: TFLite's Requantize (double rounding); 8 bits to 8 bits by a table. To
 * float: scale * (x - zero_point), one rounding. All are elementwise, so output 0 may be exactly
 * the input. */
#include "rules/checks.h"
#include "rules/half.h"
#include "simd/simd.h"

typedef struct quantize_blob {
    ml_elementwise all; /* first: requantization is elementwise */
    int64_t run; /* elements in a row that share scale and zero point */
} quantize_blob;

static ml_status prepare(const ml_call *c, ml_wish *wish, const ml_quantization *q) {
    quantize_blob *blob = c->blob;
    ml_status status = ml_prepare_elementwise(c, wish);
    return status == ML_OK ? ml_channel_run(c, q, &ml_input(c, 0)->shape, &blob->run) : status;
}
static ml_status prepare_quantize(const ml_call *c, ml_wish *wish) {
    return prepare(c, wish, ml_input(c, 0)->type == ML_F32 ? ml_output_quantization(c, 0) : NULL);
}
static ml_status prepare_dequantize(const ml_call *c, ml_wish *wish) {
    return prepare(c, wish, ml_input_quantization(c, 0));
}

/* Rows and columns with scales of their own are not cut. */
static bool window_of_scaled(const ml_call *c, const ml_quantization *q, ml_rectangle *out,
                             ml_rectangle *in) {
    if (q && q->n_scales > 1 && (q->dimension == 1 || q->dimension == 2)) return false;
    in[0] = *out;
    return true;
}
static bool window_of_quantize(const ml_call *c, ml_rectangle *out, ml_rectangle *in,
                               void *params) {
    return window_of_scaled(c, ml_output_quantization(c, 0), out, in);
}
static bool window_of_dequantize(const ml_call *c, ml_rectangle *out, ml_rectangle *in,
                                 void *params) {
    return window_of_scaled(c, ml_input_quantization(c, 0), out, in);
}

static int64_t derive_quantize(const ml_call *c, void *to) {
    return ml_derive_channels(ml_output_quantization(c, 0), ml_output(c, 0)->type, to);
}
static int64_t derive_dequantize(const ml_call *c, void *to) {
    return ml_derive_channels(ml_input_quantization(c, 0), ml_input(c, 0)->type, to);
}

/* Defines eval `name`, which passes every run of elements to name##_run(c, x, y, n, &affine). */
#define BY_CHANNEL(name, in_type, out_type)                                                  \
    static ml_status name##_block(const ml_call *c, int64_t first, int64_t end,              \
                                  int32_t worker, void *args) {                              \
        const int64_t run = ((const quantize_blob *)c->blob)->run;                           \
        const ml_channels *channels = c->derived;                                            \
        const in_type *x = ml_in(c, 0);                                                      \
        out_type *y = ml_out(c, 0);                                                          \
        for (int64_t at = first, n; at < end; at += n) {                                     \
            n = ml_min_s64(end - at, run - at % run);                                        \
            name##_run(c, x + at, y + at, n, &channels->each[at / run % channels->n]);          \
        }                                                                                    \
        return ML_OK;                                                                        \
    }                                                                                        \
    ML_ELEMENTWISE(name, name##_block)

/* The arguments of the primitives, which convert bytes. */
static inline ml_quantize_s8_args bytes_of(const float *x, const void *y, int64_t n,
                                           const ml_affine *p) {
    return (ml_quantize_s8_args){(float *)(uintptr_t)x, (uint8_t *)(uintptr_t)y, n, p->scale,
                                 p->zero_point,         p->type == ML_S8};
}
#define BYTES(suffix, type)                                                                       \
    static void quantize_f32_##suffix##_run(const ml_call *c, const float *x, type *y, int64_t n, \
                                            const ml_affine *p) {                                 \
        const ml_quantize_s8_args args = bytes_of(x, y, n, p);                                    \
        c->env->simd->quantize_s8(&args);                                                         \
    }                                                                                             \
    static void dequantize_##suffix##_run(const ml_call *c, const type *x, float *y, int64_t n,   \
                                          const ml_affine *p) {                                   \
        const ml_quantize_s8_args args = bytes_of(y, x, n, p);                                    \
        c->env->simd->dequantize_s8(&args);                                                       \
    }                                                                                             \
    BY_CHANNEL(quantize_f32_##suffix, float, type)                                                \
    BY_CHANNEL(dequantize_##suffix, type, float)
BYTES(s8, int8_t)
BYTES(u8, uint8_t)

static void quantize_f32_s16_run(const ml_call *c, const float *x, int16_t *y, int64_t n,
                                 const ml_affine *p) {
    const ml_quantize_s16_args args = {x, y, n, p->scale, p->zero_point};
    c->env->simd->quantize_s16(&args);
}
BY_CHANNEL(quantize_f32_s16, float, int16_t)

#define DEQUANTIZE(name, type) \
    static inline void name##_run(const ml_call *c, const type *x, float *y, int64_t n, const ml_affine *p) { \
        const float scale = p->scale; \
        const int32_t zero_point = p->zero_point; \
        for (int64_t i = 0; i < n; i++) y[i] = scale * (float)(x[i] - zero_point); \
    } \
    BY_CHANNEL(name, type, float)
DEQUANTIZE(dequantize_s16, int16_t)

static void fill_requantize(const ml_call *c, ml_rescale *p) {
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    *p = ml_rescale_of(in, out, (double)in.scale / (double)out.scale);
}
static int64_t derive_requantize(const ml_call *c, void *to) {
    if (to) fill_requantize(c, to);
    return (int64_t)sizeof(ml_rescale);
}
static int32_t rescale_byte(int32_t x, const void *p) { return ml_rescale_one(x, p); }
static int64_t derive_bytes(const ml_call *c, void *to) {
    ml_rescale p;
    fill_requantize(c, &p);
    return ml_derive_lookup(c, to, rescale_byte, &p);
}
#define REQUANTIZE(name, from, to) ML_UNARY(name, from, to, ML_DERIVED_AS(ml_rescale), (to)ml_rescale_one(x, &p))
REQUANTIZE(requantize_s8_s16, int8_t, int16_t)
REQUANTIZE(requantize_u8_s16, uint8_t, int16_t)
REQUANTIZE(requantize_s16_s8, int16_t, int8_t)
REQUANTIZE(requantize_s16_s16, int16_t, int16_t)
REQUANTIZE(requantize_s32_s8, int32_t, int8_t)
REQUANTIZE(requantize_s32_s16, int32_t, int16_t)

static inline int32_t to_s32(int32_t x, const ml_rescale *p) {
    int64_t y = (int64_t)ml_multiply_quantized(x - p->input_zero_point, p->mantissa, p->shift) +
                p->zero_point;
    return (int32_t)(y < INT32_MIN ? INT32_MIN : y > INT32_MAX ? INT32_MAX : y);
}
ML_UNARY(requantize_s16_s32, int16_t, int32_t, ML_DERIVED_AS(ml_rescale), to_s32(x, &p))

/* Only floats may be quantized with scales per channel. */
static ml_status check_quantize(const ml_call *c, void *params) {
    if (ml_input(c, 0)->type == ML_F32) return ml_check_channels(c, ml_output_tensor(c, 0));
    ml_status status = ml_check_quantized(c, c->inputs[0]);
    return status == ML_OK ? ml_check_quantized(c, ml_output_tensor(c, 0)) : status;
}
static ml_status check_dequantize(const ml_call *c, void *params) {
    return ml_input(c, 0)->type == ML_F16 ? ML_OK : ml_check_channels(c, c->inputs[0]);
}
static ml_status check_densify(const ml_call *c, void *params) {
    const ml_tensor_row *x = c->env->core->tensor_row(c, c->inputs[0]);
    if (x->data && x->sparsity_at) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED, "tensor '%s' must be a sparse constant", ml_input_name(c, 0));
}

ML_KERNELS(quantize) = {
    /* Lowering makes the constant dense, so no DENSIFY node is left to run. */
    {ML_OP(DENSIFY, 1, 1), .name = "densify", .takes = "x -> y",
     .flags = ML_KERNEL_TAKES_SPARSE | ML_KERNEL_FOLDS, .check = check_densify,
     .blob_bytes = (int32_t)sizeof(ml_elementwise), .prepare = ml_prepare_elementwise,
     ML_TYPED({"T -> T: f32 f16 s8", NULL, NULL, NULL})},
    {ML_OP(QUANTIZE, 1, 6), .name = "quantize", .takes = "x -> y", .in_place = ML_INPUT(0),
     .check = check_quantize, .blob_bytes = (int32_t)sizeof(quantize_blob),
     .prepare = prepare_quantize, .window = window_of_quantize,
     ML_TYPED({"f32 -> s8", derive_quantize, NULL, quantize_f32_s8},
              {"f32 -> u8", derive_quantize, NULL, quantize_f32_u8},
              {"f32 -> s16", derive_quantize, NULL, quantize_f32_s16},
              {"f32 -> s4", NULL, NULL, NULL}, {"s8|u8 -> s8|u8", derive_bytes, NULL, ml_lookup},
              {"s8 -> s16", derive_requantize, NULL, requantize_s8_s16},
              {"u8 -> s16", derive_requantize, NULL, requantize_u8_s16},
              {"s16 -> s8", derive_requantize, NULL, requantize_s16_s8},
              {"s16 -> s16", derive_requantize, NULL, requantize_s16_s16},
              {"s16 -> s32", derive_requantize, NULL, requantize_s16_s32},
              {"s32 -> s8", derive_requantize, NULL, requantize_s32_s8},
              {"s32 -> s16", derive_requantize, NULL, requantize_s32_s16})},
    {ML_OP(DEQUANTIZE, 1, 9), .name = "dequantize", .takes = "x -> y", .in_place = ML_INPUT(0),
     .flags = ML_KERNEL_FOLDS, .check = check_dequantize,
     .blob_bytes = (int32_t)sizeof(quantize_blob), .prepare = prepare_dequantize,
     .window = window_of_dequantize,
     ML_TYPED({"s8 -> f32", derive_dequantize, NULL, dequantize_s8},
              {"u8 -> f32", derive_dequantize, NULL, dequantize_u8},
              {"s16 -> f32", derive_dequantize, NULL, dequantize_s16},
              {"f16 -> f32", NULL, NULL, ml_widen_f16}, {"s4|s2|u4 -> f32", NULL, NULL, NULL})},
    ML_KERNELS_END,
};
