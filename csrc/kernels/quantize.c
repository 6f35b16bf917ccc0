/* quantize.c -- QUANTIZE (float to integers, and integers to integers of another scale) and DEQUANTIZE.
 *
 * From float: round(x / scale) + zero_point, ties away from zero, saturating; NaN gives the lowest value. Between integers:
 * TFLite's Requantize (double rounding); 8 bits to 8 bits goes through the table kernel of activation.c.
 * To float: scale * (x - zero_point), one rounding. All run element by element, so output 0 may be exactly the input.
 */
#include "math/fixed_point.h"
#include "math/float_math.h"
#include "kernel.h"

#define QUANTIZE_FIELDS(X, S) X(S, f32, scale) X(S, i32, zero_point)
ML_PARAMS(quantize_params, QUANTIZE_FIELDS)

#define REQUANTIZE_FIELDS(X, S) \
    X(S, i32, mantissa) X(S, i32, shift) X(S, i32, input_zero_point) X(S, i32, zero_point)
ML_PARAMS(requantize_params, REQUANTIZE_FIELDS)

/* scales: f32, zero_points: s32, one for all or one per index of dimension `axis`. */
#define DEQUANTIZE_FIELDS(X, S) X(S, array, scales) X(S, array, zero_points) X(S, i32, axis)
ML_PARAMS(dequantize_params, DEQUANTIZE_FIELDS)

typedef struct quantize_blob {
    int64_t count;
    int64_t channels; /* per-channel: the input is [count / (channels * inner), channels, inner] */
    int64_t inner;
} quantize_blob;

static ml_status prepare_quantize(const ml_call *c, ml_wish *wish) {
    quantize_blob *blob = c->blob;
    blob->count = ml_elements(&ml_input(c, 0)->shape);
    return ml_set_output(c, 0, &ml_input(c, 0)->shape);
}

static ml_status prepare_dequantize(const ml_call *c, ml_wish *wish) {
    const dequantize_params *params = c->params;
    quantize_blob *blob = c->blob;
    const ml_shape *x = &ml_input(c, 0)->shape;
    blob->channels = params->scales.bytes / (int64_t)sizeof(float);
    blob->count = ml_elements(x);
    blob->inner = blob->count;
    if (blob->channels > 1) {
        if (params->axis < 0 || params->axis >= x->rank)
            return ml_fail(c, ML_SHAPE_ERROR, "quantized dimension %d is outside rank %d",
                           params->axis, x->rank);
        if (x->dims[params->axis] != blob->channels)
            return ml_fail(c, ML_SHAPE_ERROR, "%d scales do not match dimension %d of size %d",
                           (int)blob->channels, params->axis, x->dims[params->axis]);
        blob->inner = 1;
        for (int32_t d = params->axis + 1; d < x->rank; d++) blob->inner *= x->dims[d];
    }
    return ml_set_output(c, 0, x);
}

/* Clamping before the conversion keeps it defined, and changes nothing: the limits are integers. */
#define QUANTIZE_KERNEL(name, type, low, high)                                                        \
    static ml_status name(const ml_call *c) {                                                         \
        const quantize_params *p = c->params;                                                         \
        const float scale = p->scale;                                                                 \
        const int32_t zero_point = p->zero_point;                                                     \
        const float least = (float)((low) - zero_point), most = (float)((high) - zero_point);         \
        const float *x = ml_in(c, 0);                                                                 \
        type *y = ml_out(c, 0);                                                                       \
        const int64_t n = ((const quantize_blob *)c->blob)->count;                                    \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) {                                        \
            float v = x[i] / scale;                                                                   \
            v = v > least ? v : least;                                                                \
            v = v < most ? v : most;                                                                  \
            v += v < 0.0f ? -0.49999997f : 0.49999997f;                                               \
            y[i] = (type)((int32_t)v + zero_point);                                                   \
        }                                                                                             \
        return ML_OK;                                                                                 \
    }
QUANTIZE_KERNEL(quantize_f32_s8, int8_t, -128, 127)
QUANTIZE_KERNEL(quantize_f32_u8, uint8_t, 0, 255)
QUANTIZE_KERNEL(quantize_f32_s16, int16_t, -32768, 32767)

#define REQUANTIZE_KERNEL(name, from, to, low, high)                                                             \
    static ml_status name(const ml_call *c) {                                                                    \
        const requantize_params *p = c->params;                                                                  \
        const from *x = ml_in(c, 0);                                                                             \
        to *y = ml_out(c, 0);                                                                                    \
        const int64_t n = ((const quantize_blob *)c->blob)->count;                                               \
        for (int64_t i = 0; i < n; i++) {                                                                        \
            int32_t v = (int32_t)((uint32_t)(int32_t)x[i] - (uint32_t)p->input_zero_point);                      \
            int64_t scaled = (int64_t)ml_multiply_quantized(v, p->mantissa, p->shift) + p->zero_point;           \
            y[i] = (to)(scaled < (low) ? (low) : scaled > (high) ? (high) : scaled);                             \
        }                                                                                                        \
        return ML_OK;                                                                                            \
    }
REQUANTIZE_KERNEL(requantize_s8_s16, int8_t, int16_t, -32768, 32767)
REQUANTIZE_KERNEL(requantize_u8_s16, uint8_t, int16_t, -32768, 32767)
REQUANTIZE_KERNEL(requantize_s16_s8, int16_t, int8_t, -128, 127)
REQUANTIZE_KERNEL(requantize_s16_s16, int16_t, int16_t, -32768, 32767)
REQUANTIZE_KERNEL(requantize_s16_s32, int16_t, int32_t, INT32_MIN, INT32_MAX)
REQUANTIZE_KERNEL(requantize_s32_s8, int32_t, int8_t, -128, 127)
REQUANTIZE_KERNEL(requantize_s32_s16, int32_t, int16_t, -32768, 32767)

#define DEQUANTIZE_KERNEL(name, from)                                                                              \
    static ml_status name(const ml_call *c) {                                                                      \
        const dequantize_params *p = c->params;                                                                    \
        const quantize_blob *blob = c->blob;                                                                       \
        const float *scales = p->scales.data;                                                                      \
        const int32_t *zero_points = p->zero_points.data;                                                          \
        const from *x = ml_in(c, 0);                                                                               \
        float *y = ml_out(c, 0);                                                                                   \
        for (int64_t at = 0, channel = 0; at < blob->count; at += blob->inner) {                                   \
            const float scale = scales[channel];                                                                   \
            const int32_t zero_point = zero_points[channel];                                                       \
            for (int64_t i = 0; i < blob->inner; i++) y[at + i] = scale * (float)((int32_t)x[at + i] - zero_point);  \
            if (++channel == blob->channels) channel = 0;                                                          \
        }                                                                                                          \
        return ML_OK;                                                                                              \
    }
DEQUANTIZE_KERNEL(dequantize_s8, int8_t)
DEQUANTIZE_KERNEL(dequantize_u8, uint8_t)
DEQUANTIZE_KERNEL(dequantize_s16, int16_t)

static ml_status dequantize_f16(const ml_call *c) {
    const uint16_t *x = ml_in(c, 0);
    float *y = ml_out(c, 0);
    const int64_t n = ((const quantize_blob *)c->blob)->count;
    for (int64_t i = 0; i < n; i++) y[i] = ml_float_of_half(x[i]);
    return ML_OK;
}

#define QUANTIZE_ROW(name) ML_KERNEL(#name, quantize_params, sizeof(quantize_blob), 0, prepare_quantize, name)
#define REQUANTIZE_ROW(name) ML_KERNEL(#name, requantize_params, sizeof(quantize_blob), 0, prepare_quantize, name)
#define DEQUANTIZE_ROW(name) ML_KERNEL(#name, dequantize_params, sizeof(quantize_blob), 0, prepare_dequantize, name)
ML_KERNELS(quantize) = {
    QUANTIZE_ROW(quantize_f32_s8),
    QUANTIZE_ROW(quantize_f32_u8),
    QUANTIZE_ROW(quantize_f32_s16),
    REQUANTIZE_ROW(requantize_s8_s16),
    REQUANTIZE_ROW(requantize_u8_s16),
    REQUANTIZE_ROW(requantize_s16_s8),
    REQUANTIZE_ROW(requantize_s16_s16),
    REQUANTIZE_ROW(requantize_s16_s32),
    REQUANTIZE_ROW(requantize_s32_s8),
    REQUANTIZE_ROW(requantize_s32_s16),
    DEQUANTIZE_ROW(dequantize_s8),
    DEQUANTIZE_ROW(dequantize_u8),
    DEQUANTIZE_ROW(dequantize_s16),
    ML_KERNEL_NO_PARAMS("dequantize_f16", sizeof(quantize_blob), 0, prepare_quantize,
                        dequantize_f16),
    ML_KERNELS_END,
};
