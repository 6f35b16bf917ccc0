/* softmax.c -- SOFTMAX over the last dimension: y = exp(beta * (x - max)) / sum. Any rank >= 1; may run in place.
 *
 * 8 bits: TFLite's reference kernel bit for bit. exp is a table of Q0.31 by the difference to the maximum (Python computes
 * it with gemmlowp's rule), the sum is Q12.19, its reciprocal gemmlowp's Newton division, rounded twice per element.
 */
#include "math/fixed_point.h"
#include "math/float_math.h"
#include "kernel.h"

#define SOFTMAX_F32_FIELDS(X, S) X(S, f32, beta)
ML_PARAMS(softmax_f32_params, SOFTMAX_F32_FIELDS)

/* exp_table: 256 s32, exp(-i * scale * beta) in Q0.31, 0 where TFLite skips the element; flip: 128 for int8, else 0. */
#define SOFTMAX_Q8_FIELDS(X, S) X(S, array, exp_table) X(S, i32, flip)
ML_PARAMS(softmax_q8_params, SOFTMAX_Q8_FIELDS)

typedef struct softmax_blob {
    int64_t rows;
    int64_t depth;
} softmax_blob;

static ml_status prepare_softmax(const ml_call *c, ml_wish *wish) {
    softmax_blob *blob = c->blob;
    const ml_shape *x = &ml_input(c, 0)->shape;
    if (x->rank < 1)
        return ml_fail(c, ML_SHAPE_ERROR, "input has rank 0, softmax needs at least 1");
    ml_status status = ml_set_output(c, 0, x);
    if (status != ML_OK) return status;
    blob->depth = x->dims[x->rank - 1];
    blob->rows = blob->depth ? ml_elements(x) / blob->depth : 0;
    return ML_OK;
}

/* Four running maxima and sums, so that neither waits for itself; NaN never is a maximum, but makes the sum NaN. */
static ml_status softmax_f32(const ml_call *c) {
    const softmax_blob *blob = c->blob;
    const float beta = ((const softmax_f32_params *)c->params)->beta;
    const float *x = ml_in(c, 0);
    float *y = ml_out(c, 0);
    const int64_t n = blob->depth, whole = n & ~(int64_t)3;
    for (int64_t row = 0; row < blob->rows; row++, x += n, y += n) {
        float most[4] = {-3.40282347e38f, -3.40282347e38f, -3.40282347e38f, -3.40282347e38f},
              sums[4] = {0};
        for (int64_t i = 0; i < whole; i += 4)
            for (int k = 0; k < 4; k++) most[k] = most[k] < x[i + k] ? x[i + k] : most[k];
        for (int64_t i = whole; i < n; i++) most[0] = most[0] < x[i] ? x[i] : most[0];
        for (int k = 1; k < 4; k++) most[0] = most[0] < most[k] ? most[k] : most[0];
        const float high = most[0];
        _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) y[i] =
            ml_exp_f32((x[i] - high) * beta);
        for (int64_t i = 0; i < whole; i += 4)
            for (int k = 0; k < 4; k++) sums[k] += y[i + k];
        for (int64_t i = whole; i < n; i++) sums[0] += y[i];
        const float sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) y[i] = y[i] / sum;
    }
    return ML_OK;
}

/* x * 2^exponent, saturating: gemmlowp's SaturatingRoundingMultiplyByPOT for exponent > 0. */
static inline int32_t saturating_shift_left(int32_t x, int32_t exponent) {
    int32_t limit = (int32_t)((1u << (31 - exponent)) - 1);
    return x > limit ? INT32_MAX : x < -limit ? INT32_MIN : (int32_t)((uint32_t)x << exponent);
}

/* gemmlowp's one_over_one_plus_x_for_x_in_0_1: 1 / (1 + x) in Q0.31 for x in Q0.31, three Newton steps in Q2.29. */
static int32_t one_over_one_plus(int32_t x) {
    int32_t half_denominator = (int32_t)(((int64_t)x + INT32_MAX + 1) >> 1);
    int32_t r =
        1515870810 + ml_doubling_high_mul(-1010580540, half_denominator); /* 48/17 - 32/17 d */
    for (int step = 0; step < 3; step++) {
        int32_t error = (1 << 29) - ml_doubling_high_mul(half_denominator, r);
        r += saturating_shift_left(ml_doubling_high_mul(error, r), 2);
    }
    return saturating_shift_left(r, 1);
}

/* One row; `exps` is the table of exp by difference. Where the sum is 512 or more LiteRT aborts: every y rounds to 0. */
static void softmax_row_q8(const uint8_t *x, uint8_t *y, int64_t n, const int32_t *exps,
                           int32_t flip) {
    int32_t high = 0;
    int64_t sum = 0;
    for (int64_t i = 0; i < n; i++) {
        int32_t v = x[i] ^ flip;
        high = v > high ? v : high;
    }
    for (int64_t i = 0; i < n; i++) sum += ml_rounding_shift_right(exps[high - (x[i] ^ flip)], 12);
    if (sum >= (int64_t)512 << 19) {
        memset(y, flip, (size_t)n);
        return;
    }
    const int32_t headroom = __builtin_clz((uint32_t)sum); /* the maximum adds 1: sum > 0 */
    const int32_t scale = one_over_one_plus((int32_t)(((uint32_t)sum << headroom) - (1u << 31)));
    const int32_t shift = 12 - headroom + 31 - 8;
    for (int64_t i = 0; i < n; i++) {
        int32_t v =
            ml_rounding_shift_right(ml_doubling_high_mul(scale, exps[high - (x[i] ^ flip)]), shift);
        y[i] = (uint8_t)((v > 255 ? 255 : v) ^ flip);
    }
}

static ml_status softmax_q8(const ml_call *c) {
    const softmax_q8_params *p = c->params;
    const softmax_blob *blob = c->blob;
    const uint8_t *x = ml_in(c, 0);
    uint8_t *y = ml_out(c, 0);
    for (int64_t row = 0; row < blob->rows; row++)
        softmax_row_q8(x + row * blob->depth, y + row * blob->depth, blob->depth, p->exp_table.data,
                       p->flip);
    return ML_OK;
}

ML_KERNELS(softmax) = {
    ML_KERNEL("softmax_f32", softmax_f32_params, sizeof(softmax_blob), 0, prepare_softmax,
              softmax_f32),
    ML_KERNEL("softmax_q8", softmax_q8_params, sizeof(softmax_blob), 0, prepare_softmax,
              softmax_q8),
    ML_KERNELS_END,
};
