/* weighted.h -- what operators share that multiply their input (0) with weights (1) and add a bias
 * (2): what quantization makes of a node. */
#ifndef ML_RULES_WEIGHTED_H
#define ML_RULES_WEIGHTED_H

#include "math/nibble.h"
#include "rules/quantized.h"
#include "simd/simd.h"

/* What an output's sum is multiplied with: scale_x * scale_w / scale_y, one per output. */
typedef enum ml_multiplier {
    ML_MULTIPLIER_FIXED, /* as mantissa and shift, from a quotient in double */
    /* The same, scale_x * scale_w rounded to float: TFLite's uint8 convolutions. */
    ML_MULTIPLIER_SINGLE,
    ML_MULTIPLIER_DOUBLE, /* as a double */
    ML_MULTIPLIER_SCALE /* scale_w alone, a float: the input is quantized at run time */
} ml_multiplier;

typedef struct ml_weighted_rule {
    ml_multiplier multiplier;
    int32_t axis; /* of the weights: along it lie the outputs */
    bool symmetric_weights; /* their zero points must be 0 */
    bool symmetric; /* all zero points must be 0 */
    /* Of all of an output's products that meet where its bias is added, for `limit`; 0: none is
     * wanted. */
    int32_t sums;
} ml_weighted_rule;

/* What derive makes of it; the arrays have `outputs` elements and lie after it. */
typedef struct ml_weighted {
    int32_t outputs; /* of the file's weights */
    int32_t x_zero;
    int32_t w_zero; /* 128 less than the file's for u8, whose weights are packed as s8 */
    int32_t y_zero;
    int32_t low;
    int32_t high;
    int32_t limit; /* ml_limit_of the sums, bias included; 0: not known */
    const int32_t *mantissas; /* FIXED, SINGLE */
    const int32_t *shifts;
    const double *reals; /* DOUBLE */
    const float *scales; /* SCALE */
} ml_weighted;

/* What weights (input 1) are: u8 is another name for s8 where the input is of floats. */
int32_t ml_weights_type(const ml_call *c);
/* A derive: bytes, or negative with a refusal of the quantization. What outputs are clamped to is
 * given as reals. */
int64_t ml_derive_weighted(const ml_call *c, void *to, const ml_weighted_rule *rule, float minimum,
                           float maximum);

/* What sums of k products that begin with `start` (of n outputs; NULL: 0) are below, as requantize
 * has it: a byte and a weight are 255 at most from their zero points. */
int32_t ml_limit_of(const int32_t *start, int64_t n, int64_t k);

/* Prepare: whether a bias, if there is one, has a value for each output, and the arrays of `w`, if
 * there are any, too. */
ml_status ml_check_weighted(const ml_call *c, const ml_weighted *w, int32_t outputs);

#endif
