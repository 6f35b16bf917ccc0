/* quantized.c -- values that depend on the quantization of operands, for the derive of kernels. */
#include "rules/quantized.h"

#include <stdarg.h>

#include "core/error.h"

static ml_affine affine(const ml_quantization *q, int32_t type) {
    if (!q || q->n_scales < 1) return (ml_affine){0.0f, 0, type};
    return (ml_affine){q->scales[0], q->n_zero_points > 0 ? (int32_t)q->zero_points[0] : 0, type};
}

ml_affine ml_input_affine(const ml_call *c, int i) {
    return affine(ml_input_quantization(c, i), ml_input(c, i)->type);
}
ml_affine ml_output_affine(const ml_call *c, int i) {
    return affine(ml_output_quantization(c, i), ml_output(c, i)->type);
}

ml_status ml_refuse_operand(const ml_call *c, int i, const char *format, ...) {
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (c->env->error->status == ML_OK) ml_error_about(c->env->error, c->inputs[i], NULL);
    return ml_fail(c, ML_UNSUPPORTED, ML_FIRST " %s", text);
}

float ml_one_scale(const ml_call *c, int i) {
    const ml_quantization *q = ml_input_quantization(c, i);
    int32_t count = q ? q->n_scales : 0;
    if (count != 1) ml_refuse_operand(c, i, "must have one scale, it has %d", count);
    else if (q->scales[0] > 0.0f && q->scales[0] <= __FLT_MAX__) return q->scales[0];
    else ml_refuse_operand(c, i, "must have a positive scale, it has %g", (double)q->scales[0]);
    return 0.0f;
}

int64_t ml_derive_channels(const ml_quantization *q, int32_t type, void *to) {
    ml_channels *channels = to;
    const int32_t n = q && q->n_scales > 1 ? q->n_scales : 1;
    if (channels) {
        channels->n = n;
        channels->dimension = q ? q->dimension : 0;
        channels->each[0] = affine(q, type);
        for (int32_t i = 1; i < n; i++) {
            const int64_t zero_point = q->n_zero_points == n  ? q->zero_points[i]
                                       : q->n_zero_points > 0 ? q->zero_points[0]
                                                              : 0;
            channels->each[i] = (ml_affine){q->scales[i], (int32_t)zero_point, type};
        }
    }
    return (int64_t)sizeof *channels + n * (int64_t)sizeof(ml_affine);
}

ml_status ml_channel_run(const ml_call *c, const ml_quantization *q, const ml_shape *shape,
                         int64_t *run) {
    *run = ml_elements(shape);
    if (!q || q->n_scales <= 1) return ML_OK;
    const int32_t d = q->dimension;
    if (d < 0 || d >= shape->rank)
        return ml_fail(c, ML_SHAPE_ERROR, "quantized dimension %d is outside rank %d", d,
                       shape->rank);
    if (shape->dims[d] != q->n_scales)
        return ml_fail(c, ML_SHAPE_ERROR, "%d scales do not match dimension %d of size %d",
                       q->n_scales, d, shape->dims[d]);
    *run = 1;
    for (int32_t i = d + 1; i < shape->rank; i++) *run *= shape->dims[i];
    return ML_OK;
}

int32_t ml_type_least(int32_t type) {
    return type == ML_S8 ? INT8_MIN : type == ML_S16 ? INT16_MIN : type == ML_S32 ? INT32_MIN : 0;
}

int32_t ml_type_most(int32_t type) {
    return type == ML_S8    ? INT8_MAX
           : type == ML_U8  ? UINT8_MAX
           : type == ML_S16 ? INT16_MAX
           : type == ML_U16 ? UINT16_MAX
                            : INT32_MAX;
}

/* `limit` in steps of the output, clamped to the type's range; infinite limits, and all limits
 * without a scale, become the ends of the range. */
static int32_t step_of(float limit, ml_affine output) {
    if (!(output.scale > 0.0f))
        return limit > 0 ? ml_type_most(output.type) : ml_type_least(output.type);
    double step = (double)ml_round_half_away(limit / output.scale) + output.zero_point;
    int32_t least = ml_type_least(output.type), most = ml_type_most(output.type);
    return step <= least ? least : step >= most ? most : (int32_t)step;
}

void ml_quantized_clamp(float minimum, float maximum, ml_affine output, int32_t *least,
                        int32_t *most) {
    *least = step_of(minimum, output);
    *most = step_of(maximum, output);
}

ml_rescale ml_rescale_clamped(ml_affine in, ml_affine out, double multiplier, float minimum,
                              float maximum) {
    ml_rescale r = {.input_zero_point = in.zero_point, .zero_point = out.zero_point};
    ml_quantize_multiplier(multiplier, &r.mantissa, &r.shift);
    ml_quantized_clamp(minimum, maximum, out, &r.least, &r.most);
    r.least = (int32_t)((uint32_t)r.least - (uint32_t)out.zero_point);
    r.most = (int32_t)((uint32_t)r.most - (uint32_t)out.zero_point);
    return r;
}

ml_rescale ml_rescale_of(ml_affine in, ml_affine out, double multiplier) {
    return ml_rescale_clamped(in, out, multiplier, -__builtin_inff(), __builtin_inff());
}

ml_rescale ml_rescale_by(const ml_call *c, float factor) {
    const ml_affine in = ml_input_affine(c, 0), out = ml_output_affine(c, 0);
    return ml_rescale_of(in, out, (double)(in.scale * factor / out.scale));
}
