/* quantized.h -- what depends on the quantization of a node's operands, for a kernel's derive. */
#ifndef ML_RULES_QUANTIZED_H
#define ML_RULES_QUANTIZED_H

#include "kernel.h"
#include "math/fixed_point.h"

/* Scale and zero point of a tensor quantized as a whole: real = scale * (integer - zero_point).
 * ml_quantization in its simplest form. */
typedef struct ml_affine {
    float scale; /* 0 when there is none */
    int32_t zero_point;
    int32_t type;
} ml_affine;
ml_affine ml_input_affine(const ml_call *c, int i);
ml_affine ml_output_affine(const ml_call *c, int i);

/* In derive. Refuses what the file says of operand `i`, outputs after inputs; the text goes on
 * from the tensor's name. */
ml_status ml_refuse_operand(const ml_call *c, int i, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The scale of operand `i`, which must have one for all of it, positive and finite; 0 after a
 * refusal. */
float ml_one_scale(const ml_call *c, int i);

/* The same of a tensor that may have one for each index of a dimension: a derived block. */
typedef struct ml_channels {
    int32_t n; /* 1: one for all */
    int32_t dimension;
    ml_affine each[];
} ml_channels;
/* Writes them, unless `to` is NULL; their bytes. */
int64_t ml_derive_channels(const ml_quantization *q, int32_t type, void *to);
/* How often they change: elements in a row of `shape` that share one. ML_SHAPE_ERROR where they do
 * not fit it. */
ml_status ml_channel_run(const ml_call *c, const ml_quantization *q, const ml_shape *shape,
                         int64_t *run);

/* What a fused activation clamps to, as reals; infinities where it does not. ML_CLAMP_FIELDS stand
 * in the fields of a kernel that has one. */
#define ML_CLAMP_FIELDS(X, S) \
    X(S, f32, minimum, ML_ACTIVATION_LEAST) X(S, f32, maximum, ML_ACTIVATION_MOST)

/* The same in integers of a quantized type: zero_point + round(real / scale) in float, ties away
 * from zero, cut to the type (TFLite's CalculateActivationRangeQuantized). */
void ml_quantized_clamp(float minimum, float maximum, ml_affine output, int32_t *least,
                        int32_t *most);
/* The numbers an integer type of at most 32 bits has. */
int32_t ml_type_least(int32_t type);
int32_t ml_type_most(int32_t type);
/* Integers of one scale in another: y = zero_point + clamp((x - input_zero_point) * multiplier,
 * least, most). Clamping before the zero point is added gives the same, and cannot overflow. */
typedef struct ml_rescale {
    int32_t input_zero_point;
    int32_t mantissa;
    int32_t shift;
    int32_t zero_point;
    int32_t least; /* less the zero point */
    int32_t most;
} ml_rescale;
/* To all numbers of the output's type (of 16 bits at most; to 32, the zero point must be 0). */
ml_rescale ml_rescale_of(ml_affine in, ml_affine out, double multiplier);
/* Input 0 to output 0, by input scale * factor / output scale in float. */
ml_rescale ml_rescale_by(const ml_call *c, float factor);
/* To what a clamp leaves of them. */
ml_rescale ml_rescale_clamped(ml_affine in, ml_affine out, double multiplier, float minimum,
                              float maximum);
static inline int32_t ml_rescale_one(int32_t x, const ml_rescale *r) {
    int32_t centered = (int32_t)((uint32_t)x - (uint32_t)r->input_zero_point);
    int32_t scaled = ml_multiply_quantized(centered, r->mantissa, r->shift);
    return ml_clamp_s32(scaled, r->least, r->most) + r->zero_point;
}
/* With the sign of what was rounded turned over. */
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
