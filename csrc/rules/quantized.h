/* quantized.h -- what hangs on the quantization of a node's operands, for a kernel's derive. */
#ifndef ML_RULES_QUANTIZED_H
#define ML_RULES_QUANTIZED_H

#include "kernel.h"
#include "math/fixed_point.h"

/* Scale and zero point of a tensor quantized as a whole: real = scale * (integer - zero_point). */
typedef struct ml_affine {
    float scale; /* 0 when there is none */
    int32_t zero_point;
} ml_affine;
ml_affine ml_input_affine(const ml_call *c, int i);
ml_affine ml_output_affine(const ml_call *c, int i);

/* What a fused activation clamps to, as reals; infinities where it does not. ML_CLAMP_FIELDS stand in the fields of a
 * kernel that has one; Python fills them in by minilite/ops_shared/options.py's CLAMP. */
#define ML_CLAMP_FIELDS(X, S) X(S, f32, minimum) X(S, f32, maximum)

/* The same in integers of a quantized type: zero_point + round(real / scale) in float, ties away from zero, cut to the type
 * (TFLite's CalculateActivationRangeQuantized). */
void ml_quantized_clamp(float minimum, float maximum, ml_affine output, int32_t type,
                        int32_t *least, int32_t *most);
/* The numbers an integer type of at most 32 bits has. */
int32_t ml_type_least(int32_t type);
int32_t ml_type_most(int32_t type);
/* round(x), ties away from zero: TfLiteRound. */
static inline float ml_round_half_away(float x) {
    return __builtin_truncf(x + (x < 0.0f ? -0.49999997f : 0.49999997f));
}

#endif
