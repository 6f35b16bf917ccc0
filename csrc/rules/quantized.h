/* quantized.h -- values that depend on the quantization of operands, for the derive of kernels. */
#ifndef ML_RULES_QUANTIZED_H
#define ML_RULES_QUANTIZED_H

#include "kernel.h"
#include "math/fixed_point.h"

/* Scale and zero point of a tensor quantized as a whole: real = scale * (integer - zero_point).
 * This is ml_quantization in its simplest form. */
typedef struct ml_affine {
    float scale; /* 0 = not quantized */
    int32_t zero_point;
    int32_t type;
} ml_affine;
ml_affine ml_input_affine(const ml_call *c, int i);
ml_affine ml_output_affine(const ml_call *c, int i);

/* Refuses operand `i` (inputs, then outputs) in derive, for what the file says about it; the text
 * continues after the tensor's name. */
ml_status ml_refuse_operand(const ml_call *c, int i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The scale of operand `i`, which must have exactly one, positive and finite; 0 after a refusal. */
float ml_one_scale(const ml_call *c, int i);

/* The scales of a tensor that may have one per index of a dimension, as a derived block. */
typedef struct ml_channels {
    int32_t n; /* 1: one scale for all */
    int32_t dimension;
    ml_affine each[];
} ml_channels;
/* Writes them to `to`, unless that is NULL; returns their bytes. */
int64_t ml_derive_channels(const ml_quantization *q, int32_t type, void *to);
/* The number of consecutive elements of `shape` that share a scale. ML_SHAPE_ERROR if the scales do
 * not fit the shape. */
ml_status ml_channel_run(const ml_call *c, const ml_quantization *q, const ml_shape *shape,
                         int64_t *run);

/* The limits of a fused activation as reals; infinite if it has none. Kernels with one include
 * ML_CLAMP_FIELDS in their fields. */
#define ML_CLAMP_FIELDS(X, S) \
    X(S, f32, minimum, ML_ACTIVATION_LEAST) X(S, f32, maximum, ML_ACTIVATION_MOST)

/* The same as integers of a quantized type: zero_point + round(real / scale) in float, ties away
 * from zero, clamped to the type's range (TFLite's CalculateActivationRangeQuantized). */
void ml_quantized_clamp(float minimum, float maximum, ml_affine output, int32_t *least,
                        int32_t *most);
/* The range of an integer type of at most 32 bits. */
int32_t ml_type_least(int32_t type);
int32_t ml_type_most(int32_t type);
/* Converts integers from one scale to another: y = zero_point + clamp((x - input_zero_point) *
 * multiplier, least, most). Clamping before the zero point is added gives the same result, and
 * cannot overflow. */
typedef struct ml_rescale {
    int32_t input_zero_point;
    int32_t mantissa;
    int32_t shift;
    int32_t zero_point;
    int32_t least; /* minus the zero point */
    int32_t most;
} ml_rescale;
/* Clamps to the range of the output's type (at most 16 bits; for 32 bits the zero point must be
 * 0). */
ml_rescale ml_rescale_of(ml_affine in, ml_affine out, double multiplier);
/* From input 0 to output 0, by input scale * factor / output scale in float. */
ml_rescale ml_rescale_by(const ml_call *c, float factor);
/* Clamps to [minimum, maximum]. */
ml_rescale ml_rescale_clamped(ml_affine in, ml_affine out, double multiplier, float minimum,
                              float maximum);
static inline int32_t ml_rescale_one(int32_t x, const ml_rescale *r) {
    int32_t centered = (int32_t)((uint32_t)x - (uint32_t)r->input_zero_point);
    int32_t scaled = ml_multiply_quantized(centered, r->mantissa, r->shift);
    return ml_clamp_s32(scaled, r->least, r->most) + r->zero_point;
}
/* The same, with the sign of the rounded product reversed. */
static inline int32_t ml_rescale_negated(int32_t x, const ml_rescale *r) {
    int32_t centered = (int32_t)((uint32_t)x - (uint32_t)r->input_zero_point);
    int64_t scaled = -(int64_t)ml_multiply_quantized(centered, r->mantissa, r->shift);
    scaled = scaled < r->least ? r->least : scaled > r->most ? r->most : scaled;
    return (int32_t)scaled + r->zero_point;
}

/* round(x), ties away from zero: TfLiteRound. */
static inline float ml_round_half_away(float x) {
    return __builtin_truncf(x + (x < 0.0f ? -0.49999997f : 0.49999997f));
}

#endif
