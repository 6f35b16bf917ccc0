/* checks.h -- checks of quantization and options, for the `check` of kernels' rows, once per node
 * when a model is lowered. Each refuses with ML_UNSUPPORTED; the error names the tensor and both
 * values. */
#ifndef ML_RULES_CHECKS_H
#define ML_RULES_CHECKS_H

#include "kernel.h"

/* One scale, positive and finite, and a zero point that the tensor's type has. */
ml_status ml_check_quantized(const ml_call *c, int32_t tensor);
/* The same for all operands of the types s8, u8 and s16. With `or_bare` none of them needs a scale;
 * TFLite reads a missing scale as 0. */
ml_status ml_check_all_quantized(const ml_call *c, bool or_bare);
/* Positive, finite scales: one, or one per index of a dimension; zero points of the type. */
ml_status ml_check_channels(const ml_call *c, int32_t tensor);
/* Every zero point is within the range of the tensor's type. */
ml_status ml_check_zero_points(const ml_call *c, int32_t tensor);
/* The tensor's zero point is 0, which the operator's arithmetic requires. */
ml_status ml_check_symmetric(const ml_call *c, int32_t tensor);
/* Output 0 has this scale and zero point, which the operator's arithmetic requires. */
ml_status ml_check_output(const ml_call *c, double scale, int64_t zero_point);

/* A tensor and output 0 have the same scale and zero point, because the operator only moves
 * elements; `name` names the tensor in the error. */
ml_status ml_check_same_scale(const ml_call *c, int32_t tensor, const char *name);

/* For a composite: each float constant in its decomposition is one of these numbers. Converters put
 * factors there that are neither operands nor attributes. */
ml_status ml_check_decomposition(const ml_call *c, const double *known, int n_known);

/* The types whose elements are whole bytes, for "T -> T: " ML_WHOLE_BYTES. */
#define ML_WHOLE_BYTES "f32 f16 bf16 f64 s8 u8 b8 s16 u16 s32 u32 s64 u64 c64 c128"

/* An option that is a flag; `absent` if the operator has no option of that name. */
static inline bool ml_flag_option(const ml_call *c, const char *name, bool absent) {
    const ml_node_option o = ml_option_of(c, name);
    return o.kind ? o.integer != 0 : absent;
}

/* The tensor number of input or output `i`; -1 if absent. */
static inline int32_t ml_input_tensor(const ml_call *c, int i) {
    return i < c->n_inputs ? c->inputs[i] : -1;
}
static inline int32_t ml_output_tensor(const ml_call *c, int i) {
    return c->inputs[c->n_inputs + i];
}
/* The single scale and zero point of a tensor; 0 if it has none, or several. */
static inline double ml_scale_of(const ml_call *c, int32_t tensor) {
    const ml_quantization *q = c->env->core->quantization(c, tensor);
    return q->n_scales == 1 ? (double)q->scales[0] : 0.0;
}
static inline int64_t ml_zero_point_of(const ml_call *c, int32_t tensor) {
    const ml_quantization *q = c->env->core->quantization(c, tensor);
    return q->n_zero_points == 1 ? q->zero_points[0] : 0;
}

#endif
