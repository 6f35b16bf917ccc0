/* blockwise.c -- reads the scales of constants that are quantized in blocks. */
#include "rules/blockwise.h"

#include "math/float_math.h"

ml_status ml_read_blocks(const ml_call *c, int i, int32_t *block, ml_array *scales) {
    const ml_core *core = c->env->core;
    const ml_tensor_row *row = core->tensor_row(c, c->inputs[i]);
    *block = 0;
    *scales = (ml_array){0};
    if (row->scales_tensor < 0) return ML_OK;
    const ml_tensor_row *from = core->tensor_row(c, row->scales_tensor);
    if ((from->type != ML_F16 && from->type != ML_F32) || !from->data)
        return ml_fail(c, ML_UNSUPPORTED,
                       "tensor '%s', the scales of '%s', must be a constant of f16 or f32",
                       core->tensor_name(c, row->scales_tensor), ml_input_name(c, i));
    if (row->zero_points_tensor >= 0 || row->quantization.block_size < 1)
        return ml_fail(
            c, ML_UNSUPPORTED,
            "tensor '%s' is quantized in blocks of %d with zero points, must have no zero points",
            ml_input_name(c, i), row->quantization.block_size);
    const int64_t count = from->bytes / (from->type == ML_F16 ? 2 : 4);
    float *values = ml_keep(c, count * (int64_t)sizeof *values);
    if (!values) return c->env->error->status;
    const uint16_t *halves = from->data;
    for (int64_t k = 0; k < count && from->type == ML_F16; k++)
        values[k] = ml_float_of_half(halves[k]);
    if (from->type == ML_F32 && count) memcpy(values, from->data, (size_t)count * sizeof *values);
    *scales = (ml_array){values, count * (int64_t)sizeof *values};
    *block = count ? row->quantization.block_size : 0;
    return ML_OK;
}
