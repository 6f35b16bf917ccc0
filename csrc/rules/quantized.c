/* quantized.c -- what hangs on the quantization of a node's operands. */
#include "rules/quantized.h"

static ml_affine affine(const ml_quantization *q) {
    if (!q || q->n_scales < 1) return (ml_affine){0.0f, 0};
    return (ml_affine){q->scales[0], q->n_zero_points > 0 ? (int32_t)q->zero_points[0] : 0};
}

ml_affine ml_input_affine(const ml_call *c, int i) { return affine(ml_input_quantization(c, i)); }
ml_affine ml_output_affine(const ml_call *c, int i) { return affine(ml_output_quantization(c, i)); }

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

/* `limit` in steps of the output, cut to the type; infinities are its ends. */
static int32_t step_of(float limit, ml_affine output, int32_t type) {
    double step = (double)ml_round_half_away(limit / output.scale) + output.zero_point;
    int32_t least = ml_type_least(type), most = ml_type_most(type);
    return step <= least ? least : step >= most ? most : (int32_t)step;
}

void ml_quantized_clamp(float minimum, float maximum, ml_affine output, int32_t type,
                        int32_t *least, int32_t *most) {
    *least = step_of(minimum, output, type);
    *most = step_of(maximum, output, type);
}
