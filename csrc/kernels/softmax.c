/* softmax.c -- SOFTMAX over the last dimension: y = exp(beta * (x - max)) / sum, and LOG_SOFTMAX: y
 * = x - max - log(sum). Any rank >= 1; may run in place.
 *
 * Integers: TFLite's reference kernel bit for bit. 8 bits: exp is a table of Q0.31 by the
 * difference to the maximum (gemmlowp's exp_on_negative_values), the sum is Q12.19, its reciprocal
 * gemmlowp's Newton division, rounded twice per element. 16 bits: exp and 1 / (1 + x) are lines
 * between 513 values each. */
#include <math.h>

#include "math/float_math.h"
#include "math/lines_s16.h"
#include "rules/checks.h"
#include "rules/elementwise.h"
#include "rules/quantized.h"
#include "simd/simd.h"
#include "rules/work.h"
#include "simd/simd.h"

#define SOFTMAX_FIELDS(X, S) X(S, f32, beta)
ML_PARAMS(softmax_params, SOFTMAX_FIELDS)

typedef struct softmax_blob {
    int64_t rows;
    int64_t depth;
} softmax_blob;

static ml_status prepare_softmax(const ml_call *c, ml_wish *wish) {
    softmax_blob *blob = c->blob;
    const ml_shape *x = &ml_in_tensor(c, 0)->shape;
    if (x->rank < 1)
        return ml_fail(c, ML_SHAPE_ERROR, "input has rank 0, softmax needs at least 1");
    ml_status status = ml_set_output(c, 0, x);
    if (status != ML_OK) return status;
    blob->depth = x->dims[x->rank - 1];
    blob->rows = blob->depth ? ml_elements(x) / blob->depth : 0;
    if (ml_in_tensor(c, 0)->type == ML_F16)
        wish->worker_bytes = blob->depth * (int64_t)sizeof(float);
    return ML_OK;
}

/* The cost of an element (work.h): three passes, one with an exponential. */
enum { COST = 4 };

/* Defines eval `name`, which passes rows to name##_rows. */
#define BY_ROWS(name)                                                              \
    static ml_status name(const ml_call *c) {                                      \
        const softmax_blob *blob = c->blob;                                        \
        return ml_in_blocks(c, blob->rows, COST * blob->depth, name##_rows, NULL); \
    }

/* The same where each row goes to name##_row(x, y, depth, context). */
#define BY_ROW(name, in_type, out_type, CONTEXT)                                                \
    static ml_status name##_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker,  \
                                 void *args) {                                                  \
        const int64_t depth = ((const softmax_blob *)c->blob)->depth;                           \
        const in_type *x = (const in_type *)ml_in(c, 0) + first * depth;                        \
        out_type *y = (out_type *)ml_out(c, 0) + first * depth;                                 \
        for (int64_t row = first; row < end; row++, x += depth, y += depth)                     \
            name##_row(x, y, depth, CONTEXT);                                                   \
        return ML_OK;                                                                           \
    }  \
    BY_ROWS(name)

/* Floats --------------------------------------------------------------------------------------- */

static inline void softmax_f32_row(const float *x, float *y, int64_t n, const ml_call *c) {
    const float beta = ((const softmax_params *)c->params)->beta;
    c->env->simd->softmax_f32(&(ml_softmax_f32_args){x, y, n, beta, 0});
}
BY_ROW(softmax_f32, float, float, c)

/* 16-bit floats: computed in float, with a row in the worker's scratch, and rounded once. */
static ml_status softmax_f16_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                  void *args) {
    const ml_simd *simd = c->env->simd;
    const int64_t n = ((const softmax_blob *)c->blob)->depth;
    const uint16_t *x = (const uint16_t *)ml_in(c, 0) + first * n;
    uint16_t *y = (uint16_t *)ml_out(c, 0) + first * n;
    float *wide = ml_worker_scratch(c, worker);
    const ml_softmax_f32_args row = {wide, wide, n, ((const softmax_params *)c->params)->beta, 0};
    for (int64_t i = first; i < end; i++, x += n, y += n) {
        simd->widen_f16(x, n, wide);
        simd->softmax_f32(&row);
        simd->narrow_f16(wide, n, y);
    }
    return ML_OK;
}
BY_ROWS(softmax_f16)

/* 8 bits --------------------------------------------------------------------------------------- */

enum { LONG_ROW = 256 }; /* as many elements as there are bytes */

/* exp on [-1/4, 0) in Q0.31: the Taylor series around -1/8 to the fourth power. */
static int32_t exp_below_quarter(int32_t a) {
    const int32_t exp_minus_eighth = 1895147668, third = 715827883;
    const int32_t x = a + (1 << 28), x2 = ml_doubling_high_mul(x, x);
    const int32_t x3 = ml_doubling_high_mul(x2, x), x4 = ml_doubling_high_mul(x2, x2);
    const int32_t high = ml_doubling_high_mul(ml_rounding_shift_right(x4, 2) + x3, third) + x2;
    return exp_minus_eighth +
           ml_doubling_high_mul(x + ml_rounding_shift_right(high, 1), exp_minus_eighth);
}

/* exp of a <= 0 in Q5.26 to Q0.31: a polynomial on [-1/4, 0), then one factor for each bit
 * above. */
static int32_t exp_on_negative(int32_t a) {
    /* exp(-2^k) in Q0.31 for k = -2 ... 4 */
    static const int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308,
                                      39332535,   720401,     242};
    const int32_t quarter = 1 << 24, rest = (a & (quarter - 1)) - quarter;
    const int32_t above = rest - a;
    int32_t y = exp_below_quarter(rest * (1 << 5));
    for (int bit = 0; bit < 7; bit++)
        if (above & (quarter << bit)) y = ml_doubling_high_mul(y, factors[bit]);
    return a == 0 ? INT32_MAX : y;
}

/* exp(-i * scale * beta) for i = 0 ... 255 in Q0.31; 0 where TFLite skips the element. */
static int64_t derive_bytes(const ml_call *c, void *to) {
    int32_t *exps = to, mantissa, shift;
    if (!exps) return 256 * (int64_t)sizeof *exps;
    const double beta = (double)((const softmax_params *)c->params)->beta;
    const double real = beta * (double)ml_input_affine(c, 0).scale * (1 << 26);
    if (!(real > 1)) {
        ml_fail(c, ML_UNSUPPORTED, "beta times input scale is %g, too small for 26 fractional bits",
                real / (1 << 26));
        return -1;
    }
    ml_quantize_multiplier(fmin(real, 0x1p31 - 1.0), &mantissa, &shift);
    const int64_t radius = ((int64_t)31 << 26) >> shift;
    for (int32_t i = 0; i < 256 && i <= radius; i++)
        exps[i] = exp_on_negative(ml_doubling_high_mul(-i * (1 << shift), mantissa));
    return 256 * (int64_t)sizeof *exps;
}

/* Distances below a row's largest byte are taken as bytes: where another thread changes the row
 * meanwhile (a bound buffer, a view), an answer may be wrong, but no table is left.
 *
 * A row of s8 to s16. In rows at least as long as there are byte values, the contribution and the
 * result of each value are computed once. If the sum is 512 or more, LiteRT aborts; here every y
 * rounds to 0. */
static inline int32_t softmax_part(const int32_t *exps, uint8_t below) {
    return ml_rounding_shift_right(exps[below], 12);
}
static inline int16_t softmax_word(const int32_t *exps, uint8_t below, int32_t scale,
                                   int32_t shift) {
    const int32_t v = ml_rounding_shift_right(ml_doubling_high_mul(scale, exps[below]), shift);
    return (int16_t)((v >> 16 ? 65535 : v) - 32768);
}
static void softmax_s8_s16_row(const uint8_t *x, int16_t *y, int64_t n, const int32_t *exps) {
    int32_t high = 0, parts[256];
    int16_t words[256];
    int64_t sum = 0; /* the maximum adds 1: it is above 0 */
    for (int64_t i = 0; i < n; i++) high = (x[i] ^ 128) > high ? x[i] ^ 128 : high;
    for (int32_t v = 0; n >= LONG_ROW && v <= high; v++)
        parts[v ^ 128] = softmax_part(exps, (uint8_t)(high - v));
    for (int64_t i = 0; i < n; i++)
        sum += n < LONG_ROW ? softmax_part(exps, (uint8_t)(high - (x[i] ^ 128))) : parts[x[i]];
    const bool fits = sum < (int64_t)512 << 19;
    const int32_t headroom = fits ? __builtin_clz((uint32_t)sum) : 0;
    const int32_t rest = (int32_t)(((uint32_t)sum << headroom) - (1u << 31));
    const int32_t scale = fits ? ml_one_over_one_plus(rest) : 0;
    const int32_t shift = fits ? 12 - headroom + 31 - 16 : 0;
    for (int32_t v = 0; n >= LONG_ROW && v <= high; v++)
        words[v ^ 128] = softmax_word(exps, (uint8_t)(high - v), scale, shift);
    for (int64_t i = 0; i < n; i++)
        y[i] = n < LONG_ROW ? softmax_word(exps, (uint8_t)(high - (x[i] ^ 128)), scale, shift)
                            : words[x[i]];
}
BY_ROW(softmax_s8_s16, uint8_t, int16_t, c->derived)

static ml_status softmax_bytes_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                    void *args) {
    const int64_t depth = ((const softmax_blob *)c->blob)->depth;
    const ml_softmax_s8_args rows = {.x = (const uint8_t *)ml_in(c, 0) + first * depth,
                                     .y = (uint8_t *)ml_out(c, 0) + first * depth,
                                     .rows = end - first,
                                     .n = depth,
                                     .exps = c->derived,
                                     .is_signed = ml_in_tensor(c, 0)->type == ML_S8};
    c->env->simd->softmax_s8(&rows);
    return ML_OK;
}
BY_ROWS(softmax_bytes)

/* 16 bits -------------------------------------------------------------------------------------- */

typedef struct softmax_s16_tables {
    int32_t mantissa; /* from steps of the input to 10 / 65535 */
    int32_t shift;
    ml_lines_s16 exp; /* exp on [-10, 0] */
    ml_lines_s16 reciprocal; /* 1 / (1 + x) on [0, 1] */
} softmax_s16_tables;

static double one_over(double x) { return 1.0 / (1.0 + x); }
static int64_t derive_s16(const ml_call *c, void *to) {
    softmax_s16_tables *p = to;
    if (!p) return (int64_t)sizeof *p;
    const double beta = (double)((const softmax_params *)c->params)->beta;
    const double scale = (double)ml_input_affine(c, 0).scale;
    ml_quantize_multiplier(scale * beta / (10.0 / 65535.0), &p->mantissa, &p->shift);
    ml_fill_lines_s16(&p->exp, -10.0, 0.0, exp);
    ml_fill_lines_s16(&p->reciprocal, 0.0, 1.0, one_over);
    return (int64_t)sizeof *p;
}

static inline int32_t clamp_s16(int32_t x) { return ml_clamp_s32(x, INT16_MIN, INT16_MAX); }
static void softmax_s16_row(const int16_t *x, int16_t *y, int64_t n, const softmax_s16_tables *p) {
    int32_t high = INT16_MIN;
    int64_t sum = 0; /* Q16.15 */
    for (int64_t i = 0; i < n; i++) high = x[i] > high ? x[i] : high;
    for (int64_t i = 0; i < n; i++) {
        const int32_t scaled = ml_multiply_quantized(x[i] - high, p->mantissa, p->shift);
        y[i] = ml_line_s16(&p->exp, clamp_s16(ml_clamp_s32(scaled, -65535, 65535) + INT16_MAX));
        sum += y[i];
    }
    const int32_t bits = 64 - __builtin_clzll((uint64_t)(sum > 0 ? sum : 1));
    const int64_t leading = bits <= 31 ? sum << (31 - bits) : sum >> (bits - 31); /* Q1.30 of it */
    const int32_t fraction = (int32_t)((leading + (1 << 13)) >> 14) - (1 << 15) - (1 << 16);
    const int32_t inverse = ml_line_s16(&p->reciprocal, clamp_s16(fraction));
    const int32_t shift = bits - 1;
    for (int64_t i = 0; i < n; i++) {
        const int64_t v = ((int64_t)y[i] * inverse + ((int64_t)1 << shift >> 1)) >> shift;
        y[i] = (int16_t)(v < 0 ? 0 : v > INT16_MAX ? INT16_MAX : v);
    }
}
BY_ROW(softmax_s16, int16_t, int16_t, c->derived)

/* LOG_SOFTMAX ---------------------------------------------------------------------------------- */

static inline void log_softmax_f32_row(const float *x, float *y, int64_t n, const ml_call *c) {
    c->env->simd->softmax_f32(&(ml_softmax_f32_args){x, y, n, 1.0f, 1});
}
BY_ROW(log_softmax_f32, float, float, c)

typedef struct log_softmax_tables {
    int32_t exps[256]; /* exp(-i * scale) in Q12.19, 0 after `radius` */
    int32_t steps[256]; /* i * scale in Q5.26 */
    int64_t radius; /* the largest i that counts */
    int32_t mantissa; /* from Q5.26 to steps of the input */
    int32_t shift;
} log_softmax_tables;

static int64_t derive_log_softmax(const ml_call *c, void *to) {
    log_softmax_tables *p = to;
    if (!p) return (int64_t)sizeof *p;
    int32_t mantissa, shift;
    const double scale = (double)ml_input_affine(c, 0).scale;
    ml_quantize_multiplier(fmin(scale * (1 << 26), 0x1p31 - 1.0), &mantissa, &shift);
    ml_quantize_multiplier((double)((int64_t)1 << (31 - shift)) / mantissa, &p->mantissa,
                           &p->shift);
    p->radius = ((int64_t)31 << 26) >> shift;
    for (int32_t i = 0; i < 256 && i <= p->radius; i++) {
        p->steps[i] = -ml_multiply_quantized(-i, mantissa, shift);
        p->exps[i] = ml_rounding_shift_right(exp_on_negative(-p->steps[i]), 12);
    }
    return (int64_t)sizeof *p;
}

/* gemmlowp's log_x_for_x_greater_than_or_equal_to_1, of Q12.19 to Q5.26: x = 2^k r with r in
 * [sqrt(1/2), 1) rounded to one of two forms, k log 2 in Q6.25, and log r as a quotient of
 * polynomials around the fourth root of 1/2. */
static int32_t log_above_one(int32_t x) {
    const int32_t log_2 = 1488522236, fourth_root = 1805811301, root = 1518500250,
                  quarter = 1 << 23;
    const int32_t zeros = __builtin_clz((uint32_t)x), scaled = ml_doubling_high_mul(x, root);
    const int32_t other = __builtin_clz((uint32_t)scaled) - 1;
    const int32_t a = ml_doubling_high_mul((int32_t)((uint32_t)x << (zeros - 1)), root);
    const int32_t first = ml_saturating_shift_left(a, 1);
    const int32_t second = other > 0 ? ml_saturating_shift_left(x, other) : x;
    const int32_t power_a = (12 - zeros) * (1 << 25) + quarter;
    const int32_t power_b = (12 - other) * (1 << 25) - quarter;
    const int32_t r = first < second ? first : second,
                  power = power_a > power_b ? power_a : power_b;
    const int32_t p = (int32_t)(((int64_t)r + fourth_root + 1) / 2), q = 2 * (r - fourth_root);
    const int32_t square = ml_doubling_high_mul(q, q);
    const int32_t above = ml_doubling_high_mul(q, r) +
                          ml_doubling_high_mul(ml_doubling_high_mul(q, square), 117049297);
    const int32_t below =
        ml_doubling_high_mul(p, 1057819769 + q + ml_doubling_high_mul(127690142, square)) +
        ml_doubling_high_mul(638450708, q);
    const int32_t log_r =
        ml_doubling_high_mul(ml_rounding_shift_right(above, 6), ml_one_over_one_plus(below));
    return ml_saturating_shift_left(ml_doubling_high_mul(power, log_2) + log_r, 1);
}

/* The result for an element, by its distance below the row's largest one. */
typedef struct log_softmax_row {
    int32_t log_sum;
    int32_t least;
} log_softmax_row;
static inline uint8_t log_softmax_one(const log_softmax_tables *p, log_softmax_row row,
                                      uint8_t below) {
    const bool counts = below <= p->radius && -below > row.least;
    const int32_t v = 255 + ml_rounding_shift_right(-p->steps[below] - row.log_sum, 22);
    return (uint8_t)(counts ? ml_clamp_s32(v, 0, 255) : 0);
}

/* A row of bytes, flipped to u8 order by `flip`; for a long row, the results of all byte values are
 * computed first. Sums saturate in Q12.19. */
#define LOG_BYTES_ROW(name, flip)                                                             \
    static void name##_row(const uint8_t *x, uint8_t *y, int64_t n, const ml_call *c) {       \
        const log_softmax_tables *p = c->derived;                                             \
        uint8_t table[256];                                                                   \
        int32_t high = 0;                                                                     \
        int64_t sum = 0;                                                                      \
        for (int64_t i = 0; i < n; i++) high = (x[i] ^ (flip)) > high ? x[i] ^ (flip) : high; \
        for (int64_t i = 0; i < n; i++) sum += p->exps[(uint8_t)(high - (x[i] ^ (flip)))];               \
        const int32_t log_sum = log_above_one(sum < INT32_MAX ? (int32_t)sum : INT32_MAX);    \
        const log_softmax_row row = {                                                         \
            log_sum, ml_multiply_quantized(log_sum + INT32_MIN, p->mantissa, p->shift)};      \
        for (int64_t i = 0; n < LONG_ROW && i < n; i++)                                       \
            y[i] = log_softmax_one(p, row, (uint8_t)(high - (x[i] ^ (flip)))) ^ (flip);                  \
        if (n < LONG_ROW) return;                                                             \
        for (int32_t v = 0; v <= high; v++)                                                   \
            table[v ^ (flip)] = log_softmax_one(p, row, (uint8_t)(high - v)) ^ (flip);                   \
        c->env->simd->lookup_u8(table, NULL, x, n, y);                                        \
    }                                                                                         \
    BY_ROW(name, uint8_t, uint8_t, c)
LOG_BYTES_ROW(log_softmax_u8, 0)
LOG_BYTES_ROW(log_softmax_s8, 128)

/* Checks that the outputs have the scales and zero points that the arithmetic requires. */
static ml_status check_softmax(const ml_call *c, void *params) {
    const int32_t x = ml_in_tensor(c, 0)->type, y = ml_output(c, 0)->type;
    if (y == ML_S8) return ml_check_output(c, 1.0 / 256, -128);
    if (y == ML_U8) return ml_check_output(c, 1.0 / 256, 0);
    if (y != ML_S16) return ML_OK;
    return x == ML_S8 ? ml_check_output(c, 1.0 / 65536, -32768)
                      : ml_check_output(c, 1.0 / 32768, 0);
}
static ml_status check_log_softmax(const ml_call *c, void *params) {
    const int32_t type = ml_in_tensor(c, 0)->type;
    if (type == ML_F32) return ML_OK;
    ml_status status = ml_check_output(c, 1.0 / 16, type == ML_S8 ? 127 : 255);
    const double scale = ml_scale_of(c, c->inputs[0]);
    if (status != ML_OK || scale * (1 << 26) > 1.0) return status;
    return ml_fail(c, ML_UNSUPPORTED, "input scale is %g, too small for 26 fractional bits", scale);
}

ML_KERNELS(softmax) = {
    {ML_OP(SOFTMAX, 1, 4), .name = "softmax", .takes = "x -> y", .in_place = ML_INPUT(0),
     .flags = ML_KERNEL_TFLITE_SHARES, .quantization = ML_TAKES_QUANTIZED, .check = check_softmax,
     ML_PARAMS_OF(softmax_params), .blob_bytes = (int32_t)sizeof(softmax_blob),
     .prepare = prepare_softmax, .prepare_reads = ml_reads_nothing, .window = ml_cut_pixels,
     ML_TYPED({"f32 -> f32", NULL, NULL, softmax_f32}, {"f16 -> f16", NULL, NULL, softmax_f16},
              {"s8 -> s8", derive_bytes, NULL, softmax_bytes},
              {"u8 -> u8", derive_bytes, NULL, softmax_bytes},
              {"s8 -> s16", derive_bytes, NULL, softmax_s8_s16},
              {"s16 -> s16", derive_s16, NULL, softmax_s16})},
    {ML_OP(LOG_SOFTMAX, 1, 2), .name = "log_softmax", .takes = "x -> y", .in_place = ML_INPUT(0),
     .quantization = ML_TAKES_QUANTIZED, .check = check_log_softmax,
     .blob_bytes = (int32_t)sizeof(softmax_blob), .prepare = prepare_softmax,
     .prepare_reads = ml_reads_nothing, .window = ml_cut_pixels,
     ML_TYPED({"f32 -> f32", NULL, NULL, log_softmax_f32},
              {"s8 -> s8", derive_log_softmax, NULL, log_softmax_s8},
              {"u8 -> u8", derive_log_softmax, NULL, log_softmax_u8})},
    ML_KERNELS_END,
};
