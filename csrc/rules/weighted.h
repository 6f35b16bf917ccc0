/* weighted.h -- quantization of operators that multiply input 0 with weights (input 1) and add a
 * bias (input 2). */
#ifndef ML_RULES_WEIGHTED_H
#define ML_RULES_WEIGHTED_H

#include "math/nibble.h"
#include "rules/quantized.h"
#include "simd/simd.h"

/* The form of the multiplier of an output's sum, scale_x * scale_w / scale_y, one per output. */
typedef enum ml_multiplier {
    ML_MULTIPLIER_FIXED, /* as mantissa and shift, from a quotient in double */
    /* The same, but scale_x * scale_w is rounded to float, as in TFLite's uint8 convolutions. */
    ML_MULTIPLIER_SINGLE,
    ML_MULTIPLIER_DOUBLE, /* as a double */
    ML_MULTIPLIER_SCALE /* scale_w only, a float: the input is quantized at run time */
} ml_multiplier;

typedef struct ml_weighted_rule {
    ml_multiplier multiplier;
    int32_t axis; /* the axis of the weights that counts outputs */
    bool symmetric_weights; /* their zero points must be 0 */
    bool symmetric; /* all zero points must be 0 */
    /* The number of products in an output's sum, to compute `limit`; 0: no limit is needed. */
    int32_t sums;
} ml_weighted_rule;

/* The derived block; its arrays have `outputs` elements and lie after it. */
typedef struct ml_weighted {
    int32_t outputs; /* of the weights in the file */
    int32_t x_zero;
    int32_t w_zero; /* zero point; for u8, minus 128, because weights are packed as s8 */
    int32_t y_zero;
    int32_t low;
    int32_t high;
    int32_t limit; /* ml_limit_of the sums, with bias; 0: unknown */
    int32_t winograd; /* CONV_2D: the side of tiles that `larger` was granted; 0: none */
    int32_t narrow; /* DEPTHWISE_CONV_2D: the level's depthwise_narrow_s8 takes it */
    /* The weights' scales are not all equal: several equal ones count as one, as in TFLite. */
    int32_t scales_differ;
    const int32_t *mantissas; /* FIXED, SINGLE */
    const int32_t *shifts;
    const double *reals; /* DOUBLE */
    const float *scales; /* SCALE */
} ml_weighted;

/* The type of the weights (input 1). If the input is float, u8 means s8. */
int32_t ml_weights_type(const ml_call *c);
/* A derive: returns the bytes, or a negative number after a refusal of the quantization. The limits
 * of outputs are given as reals. */
int64_t ml_derive_weighted(const ml_call *c, void *to, const ml_weighted_rule *rule, float minimum,
                           float maximum);

/* A limit for requantize, above the size of sums of k products that begin with `start` (one per
 * output, n; NULL: 0). Bytes and weights differ from their zero points by at most 255. */
int32_t ml_limit_of(const int32_t *start, int64_t n, int64_t k);

/* prepare_reads: the zero point of the weights. */
int64_t ml_reads_weighted(const ml_call *c);
/* Prepare: checks that the bias, if any, and the arrays of `w`, if any, have one value per
 * output. */
ml_status ml_check_weighted(const ml_call *c, const ml_weighted *w, int32_t outputs);

#endif
