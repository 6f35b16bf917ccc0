/* checks.c -- checks of quantization and options, for the `check` of kernels' rows. */
#include "rules/checks.h"

#include <math.h>

static const char *name_of(const ml_call *c, int32_t tensor) {
    return c->env->core->tensor_name(c, tensor);
}

static const ml_quantization *quantization_of(const ml_call *c, int32_t tensor) {
    return c->env->core->quantization(c, tensor);
}

/* The scales of a tensor, of which there is at least one, are positive and finite. */
static ml_status check_scales(const ml_call *c, int32_t tensor) {
    const ml_quantization *q = quantization_of(c, tensor);
    if (!q->n_scales)
        return ml_fail(c, ML_UNSUPPORTED, "tensor '%s' must have a scale", name_of(c, tensor));
    for (int32_t i = 0; i < q->n_scales; i++)
        if (!(q->scales[i] > 0.0f && isfinite(q->scales[i])))
            return ml_fail(c, ML_UNSUPPORTED, "tensor '%s' must have a positive scale, it has %g",
                           name_of(c, tensor), (double)q->scales[i]);
    return ML_OK;
}

/* The least and the most integer of a type of at most 64 bits; below 8 bits those of
 * the byte that a value is unpacked to. */
static void range_of(int32_t type, int64_t *least, int64_t *most) {
    const bool is_unsigned = type == ML_U8 || type == ML_U16 || type == ML_U32 || type == ML_U4;
    const int64_t bits = ml_type_bits(type) < 8 ? 8 : ml_type_bits(type);
    if (bits >= 64) {
        *least = INT64_MIN;
        *most = INT64_MAX;
    } else if (is_unsigned) {
        *least = 0;
        *most = (INT64_C(1) << bits) - 1;
    } else {
        *least = -(INT64_C(1) << (bits - 1));
        *most = (INT64_C(1) << (bits - 1)) - 1;
    }
}

ml_status ml_check_zero_points(const ml_call *c, int32_t tensor) {
    const ml_quantization *q = quantization_of(c, tensor);
    const int32_t type = ml_tensor_of(c, tensor)->type;
    int64_t least, most;
    range_of(type, &least, &most);
    for (int32_t i = 0; i < q->n_zero_points; i++)
        if (q->zero_points[i] < least || q->zero_points[i] > most)
            return ml_fail(c, ML_UNSUPPORTED,
                           "tensor '%s' has the zero point %lld, must be %lld to %lld (%s)",
                           name_of(c, tensor), (long long)q->zero_points[i], (long long)least,
                           (long long)most, ml_type_name(type));
    return ML_OK;
}

ml_status ml_check_quantized(const ml_call *c, int32_t tensor) {
    ml_status status = check_scales(c, tensor);
    if (status != ML_OK) return status;
    const ml_quantization *q = quantization_of(c, tensor);
    if (q->n_scales != 1)
        return ml_fail(c, ML_UNSUPPORTED, "tensor '%s' must have one scale, it has %d",
                       name_of(c, tensor), q->n_scales);
    return ml_check_zero_points(c, tensor);
}

static bool is_quantized_type(int32_t type) {
    return type == ML_S8 || type == ML_U8 || type == ML_S16;
}

ml_status ml_check_all_quantized(const ml_call *c, bool or_bare) {
    const int32_t n = c->n_inputs + c->n_outputs;
    bool any = !or_bare;
    for (int32_t i = 0; i < n && !any; i++)
        any = c->inputs[i] >= 0 && is_quantized_type(ml_tensor_of(c, c->inputs[i])->type) &&
              quantization_of(c, c->inputs[i])->n_scales > 0;
    ml_status status = ML_OK;
    for (int32_t i = 0; i < n && any && status == ML_OK; i++)
        if (c->inputs[i] >= 0 && is_quantized_type(ml_tensor_of(c, c->inputs[i])->type))
            status = ml_check_quantized(c, c->inputs[i]);
    return status;
}

ml_status ml_check_channels(const ml_call *c, int32_t tensor) {
    ml_status status = check_scales(c, tensor);
    if (status == ML_OK) status = ml_check_zero_points(c, tensor);
    if (status != ML_OK) return status;
    const ml_quantization *q = quantization_of(c, tensor);
    const ml_tensor *t = ml_tensor_of(c, tensor);
    if (q->n_scales == 1 || !ml_known(t)) return ML_OK;
    char text[96];
    /* The reader has compared them with the file's shape; a folded constant may have another. */
    if (q->dimension >= t->shape.rank || t->shape.dims[q->dimension] != q->n_scales)
        return ml_fail(
            c, ML_UNSUPPORTED, "tensor '%s' has %d scales along dimension %d of shape %s",
            name_of(c, tensor), q->n_scales, q->dimension, ml_shape_text(&t->shape, text));
    return ML_OK;
}

ml_status ml_check_symmetric(const ml_call *c, int32_t tensor) {
    const int64_t zero_point = ml_zero_point_of(c, tensor);
    if (zero_point == 0) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED, "tensor '%s' has the zero point %lld, it must be 0",
                   name_of(c, tensor), (long long)zero_point);
}

ml_status ml_check_output(const ml_call *c, double scale, int64_t zero_point) {
    const int32_t y = ml_output_tensor(c, 0);
    const double is = ml_scale_of(c, y);
    const int64_t zero = ml_zero_point_of(c, y);
    if (fabs(is - scale) <= 1e-3 * scale && zero == zero_point) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED, "output scale %g and zero point %lld must be 1/%g and %lld",
                   is, (long long)zero, 1.0 / scale, (long long)zero_point);
}

ml_status ml_check_same_scale(const ml_call *c, int32_t tensor, const char *name) {
    const int32_t y = ml_output_tensor(c, 0);
    const double one = ml_scale_of(c, tensor), other = ml_scale_of(c, y);
    const int64_t zero = ml_zero_point_of(c, tensor), other_zero = ml_zero_point_of(c, y);
    if (one == other && zero == other_zero) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "scale and zero point (%g, %lld) of %s do not match (%g, %lld) of the output",
                   one, (long long)zero, name, other, (long long)other_zero);
}

static bool is_known(double value, const double *known, int n_known) {
    for (int i = 0; i < n_known; i++)
        if (fabs(value - known[i]) <= 1e-6 * fabs(known[i])) return true;
    return false;
}

ml_status ml_check_decomposition(const ml_call *c, const double *known, int n_known) {
    const ml_node_option at = ml_option_of_node(c, "decomposition_subgraph_index");
    const int64_t number = at.integer;
    const ml_subgraph_row *body = c->env->core->subgraph_row(c, (int32_t)number);
    if (!at.kind) return ML_OK; /* a custom operator of that name has no decomposition */
    if (!body) return ml_fail(c, ML_UNSUPPORTED, "there is no subgraph %lld", (long long)number);
    for (int32_t i = 0; i < body->n_tensors; i++) {
        const ml_tensor_row *t = &body->tensors[i];
        const float *values = t->data;
        if (!values || t->type != ML_F32) continue;
        for (int64_t j = 0; j < t->bytes / (int64_t)sizeof *values; j++)
            if (!is_known((double)values[j], known, n_known))
                return ml_fail(
                    c, ML_UNSUPPORTED,
                    "constant %d of its decomposition holds %g, which is not part of the operator",
                    i, (double)values[j]);
    }
    return ML_OK;
}
