/* filter_bank.c -- SignalFilterBank, SignalFilterBankSquareRoot,
 * SignalFilterBankSpectralSubtraction, SignalPCAN, SignalFilterBankLog: from energies of
 * frequencies to loudness in bands, in integers, as in TensorFlow Lite Micro's front end for
 * audio. */
#include <math.h>

#include "rules/values.h"
#include "rules/work.h"

/* The number of bits of a number above 0. */
static inline int32_t length_of(uint32_t x) { return 32 - __builtin_clz(x); }

static ml_status prepare_row(const ml_call *c, int outputs) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    char text[96];
    if (x->rank != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the input must be a row of bands, its shape is %s",
                       ml_shape_text(x, text));
    ml_status status = ML_OK;
    for (int i = 0; i < outputs && status == ML_OK; i++) status = ml_set_output(c, i, x);
    return status;
}

/* SignalFilterBank ----------------------------------------------------------------------------- */

#define BANK_FIELDS(X, S) X(S, i32, channels, ML_COUNT("num_channels", 1, INT16_MAX))
ML_PARAMS(bank_params, BANK_FIELDS)

enum { SPECTRUM, WEIGHTS, REST, FREQUENCIES, STARTS, WIDTHS, BANK_INPUTS };

static ml_status prepare_bank(const ml_call *c, ml_wish *wish) {
    const int32_t channels = ((const bank_params *)c->params)->channels;
    for (int i = 0; i < BANK_INPUTS; i++) {
        const ml_shape *shape = &ml_input(c, i)->shape;
        char text[96];
        if (shape->rank != 1)
            return ml_fail(c, ML_SHAPE_ERROR, "input %d must be a row, its shape is %s", i,
                           ml_shape_text(shape, text));
        if (i >= FREQUENCIES && shape->dims[0] <= channels)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "input %d has %d numbers, for %d channels it must have %d", i,
                           shape->dims[0], channels, channels + 1);
    }
    return ml_set_output(c, 0, &(ml_shape){.rank = 1, .dims = {channels}});
}

/* Each frequency is shared by two bands: its weight goes to this one, the rest to the next. */
static ml_status bank(const ml_call *c) {
    const int32_t channels = ((const bank_params *)c->params)->channels;
    const int32_t bins = ml_in_tensor(c, SPECTRUM)->shape.dims[0];
    const int32_t weighed = (int32_t)ml_min_s64(ml_in_tensor(c, WEIGHTS)->shape.dims[0],
                                                ml_in_tensor(c, REST)->shape.dims[0]);
    const uint32_t *x = ml_in(c, SPECTRUM);
    const int16_t *weights = ml_in(c, WEIGHTS), *rest = ml_in(c, REST);
    uint64_t sum = 0, next = 0, *y = ml_out(c, 0);
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int32_t i = 0; i <= channels && status == ML_OK; i++) {
        const int32_t from = ((const int16_t *)ml_in(c, FREQUENCIES))[i];
        const int32_t at = ((const int16_t *)ml_in(c, STARTS))[i];
        const int32_t width = ((const int16_t *)ml_in(c, WIDTHS))[i];
        if (width > 0 && (from < 0 || at < 0 || from + width > bins || at + width > weighed))
            return ml_fail(c, ML_KERNEL_ERROR,
                           "channel %d takes %d frequencies from %d and weights from %d, there are "
                           "%d and %d",
                           i, width, from, at, bins, weighed);
        /* The share of this band, and of the next. */
        for (int32_t j = 0; j < width; j++) {
            sum += (uint64_t)(int64_t)weights[at + j] * x[from + j];
            next += (uint64_t)(int64_t)rest[at + j] * x[from + j];
        }
        if (i > 0) y[i - 1] = sum;
        sum = next;
        next = 0;
        status = ml_count_work(c, width > 0 ? width : 1, &work);
    }
    return status;
}

/* SignalFilterBankSquareRoot ------------------------------------------------------------------- */

static ml_status prepare_root(const ml_call *c, ml_wish *wish) {
    const int64_t count = ml_elements(&ml_input(c, 1)->shape);
    if (count != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the number of bits must be one number, it has %lld",
                       (long long)count);
    return prepare_row(c, 1);
}

/* Rounded to nearest, and limited to half of the bits. */
static uint32_t root_of(uint64_t x) {
    const uint64_t most = x >> 32 ? UINT32_MAX : UINT16_MAX;
    const double near = sqrt((double)x);
    uint64_t root = near < (double)most ? (uint64_t)near : most;
    while (root * root > x) root--;
    while (root < most && (root + 1) * (root + 1) <= x) root++;
    return (uint32_t)(x - root * root > root && root < most ? root + 1 : root);
}

static ml_status square_root(const ml_call *c) {
    const int64_t count = ml_in_tensor(c, 0)->shape.dims[0];
    const int32_t bits = *(const int32_t *)ml_in(c, 1);
    const uint64_t *x = ml_in(c, 0);
    uint32_t *y = ml_out(c, 0);
    int64_t work = 0;
    ml_status status = ML_OK;
    if (bits < 0 || bits > 31)
        return ml_fail(c, ML_KERNEL_ERROR, "the number of bits is %d, expected 0 to 31", bits);
    for (int64_t i = 0; i < count && status == ML_OK; i++) {
        y[i] = root_of(x[i]) >> bits;
        status = ml_count_work(c, 8, &work);
    }
    return status;
}

/* SignalFilterBankSpectralSubtraction ---------------------------------------------------------- */

#define NOISE_FIELDS(X, S)                                                                     \
    X(S, i32, channels, ML_COUNT("num_channels", 1, 1024))                                      \
    X(S, i32, smoothing, ML_COUNT("smoothing", 1, INT32_MAX))                                   \
    X(S, i32, one_minus_smoothing, ML_COUNT("one_minus_smoothing", 1, INT32_MAX))               \
    X(S, i32, alternate_smoothing, ML_COUNT("alternate_smoothing", 1, INT32_MAX))               \
    X(S, i32, alternate_one_minus_smoothing,                                                    \
      ML_COUNT("alternate_one_minus_smoothing", 1, INT32_MAX))                                  \
    X(S, i32, smoothing_bits, ML_COUNT("smoothing_bits", 0, 31))                                \
    X(S, i32, subtraction_bits, ML_COUNT("spectral_subtraction_bits", 0, 63))                   \
    X(S, i32, least, ML_COUNT("min_signal_remaining", 0, INT32_MAX))                            \
    X(S, i32, clamping, ML_FLAG("clamping"))
ML_PARAMS(noise_params, NOISE_FIELDS)

/* The memory of the node: a noise estimate per channel. */
enum { MOST_CHANNELS = 1024 };

static ml_status prepare_noise(const ml_call *c, ml_wish *wish) {
    const int32_t channels = ((const noise_params *)c->params)->channels;
    const ml_status status = prepare_row(c, 2);
    const int32_t found = status == ML_OK ? ml_input(c, 0)->shape.dims[0] : channels;
    if (found != channels)
        return ml_fail(c, ML_SHAPE_ERROR, "the input has %d bands, the options say %d", found,
                       channels);
    return status;
}

static ml_status subtract_noise(const ml_call *c) {
    const noise_params *p = c->params;
    const uint32_t *x = ml_in(c, 0);
    uint32_t *noise = ml_memory(c), *y = ml_out(c, 0);
    for (int32_t i = 0; i < p->channels; i++) {
        const bool odd = i % 2;
        const uint32_t share = (uint32_t)(odd ? p->alternate_smoothing : p->smoothing);
        const uint32_t kept =
            (uint32_t)(odd ? p->alternate_one_minus_smoothing : p->one_minus_smoothing);
        const uint32_t loud = x[i] << p->smoothing_bits;
        noise[i] =
            (uint32_t)(((uint64_t)loud * share + (uint64_t)noise[i] * kept) >> p->subtraction_bits);
        const uint32_t taken = noise[i] < loud ? noise[i] : loud;
        if (p->clamping) noise[i] = taken;
        const uint32_t least =
            (uint32_t)((uint64_t)x[i] * (uint64_t)(int64_t)p->least >> p->subtraction_bits);
        const uint32_t left = (loud - taken) >> p->smoothing_bits;
        y[i] = left > least ? left : least;
    }
    memcpy(ml_out(c, 1), noise, (size_t)p->channels * sizeof *noise);
    return ML_OK;
}

/* SignalPCAN ----------------------------------------------------------------------------------- */

#define PCAN_FIELDS(X, S) X(S, i32, shift, ML_COUNT("snr_shift", 0, 63))
ML_PARAMS(pcan_params, PCAN_FIELDS)

/* Three numbers for 0, 1 and 2; then for each power of two: value, slope, curvature and an unused
 * one. */
enum { GAINS = 125 };

static ml_status prepare_pcan(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape, *noise = &ml_input(c, 1)->shape;
    const int64_t gains = ml_elements(&ml_input(c, 2)->shape);
    char one[96], other[96];
    if (!ml_same_shape(x, noise))
        return ml_fail(c, ML_SHAPE_ERROR, "bands have shape %s, noise has %s: they must be equal",
                       ml_shape_text(x, one), ml_shape_text(noise, other));
    if (gains < GAINS)
        return ml_fail(c, ML_SHAPE_ERROR, "the table has %lld gains, expected %d or more",
                       (long long)gains, GAINS);
    return prepare_row(c, 1);
}

/* The gain, by parabolas between powers of two. */
static uint32_t gain_of(uint32_t noise, const int16_t *gains) {
    if (noise <= 2) return (uint32_t)(int32_t)gains[noise];
    const int32_t length = length_of(noise);
    const int64_t part =
        (length < 11 ? noise << (11 - length) : noise >> (length - 11)) & ((1 << 10) - 1);
    const int16_t *curve = gains + 4 * length - 6;
    const int64_t slope = (curve[2] * part >> 5) + curve[1] * 32;
    return (uint32_t)(int16_t)(uint16_t)(((slope * part + (1 << 14)) >> 15) + curve[0]);
}

/* x^2 / 4 below 2, else x - 1; 12 fraction bits become 6. */
static uint32_t shrunk(uint32_t x) { return x < 2 << 12 ? (x * x) >> 20 : (x >> 6) - (1 << 6); }

static ml_status pcan(const ml_call *c) {
    const int32_t shift = ((const pcan_params *)c->params)->shift;
    const int64_t count = ml_in_tensor(c, 0)->shape.dims[0];
    const uint32_t *x = ml_in(c, 0), *noise = ml_in(c, 1);
    uint32_t *y = ml_out(c, 0);
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t i = 0; i < count && status == ML_OK; i++) {
        y[i] = shrunk((uint32_t)((uint64_t)x[i] * gain_of(noise[i], ml_in(c, 2)) >> shift));
        status = ml_count_work(c, 4, &work);
    }
    return status;
}

/* SignalFilterBankLog -------------------------------------------------------------------------- */

#define LOG_FIELDS(X, S)                                         \
    X(S, i32, scale, ML_COUNT("output_scale", 0, INT32_MAX))     \
    X(S, i32, bits, ML_COUNT("input_correction_bits", 0, 31))
ML_PARAMS(log_params, LOG_FIELDS)

enum { SEGMENTS = 128 };

/* The table of log2(1 + i / 128) - i / 128, in Q16. */
static int64_t derive_log(const ml_call *c, void *to) {
    int32_t *table = to;
    for (int32_t i = 0; table && i <= SEGMENTS; i++) {
        const double at = (double)i / (double)SEGMENTS;
        table[i] = (int32_t)floor(0.5 + 65536.0 * (log2(1.0 + at) - at));
    }
    return (SEGMENTS + 1) * (int64_t)sizeof *table;
}

static ml_status prepare_log(const ml_call *c, ml_wish *wish) { return prepare_row(c, 1); }

/* The natural logarithm of a number above 0, in Q16: log2 by lines between the table's entries,
 * times log(2). */
static uint32_t log_of(uint32_t x, const int32_t *table) {
    const uint32_t whole = (uint32_t)length_of(x) - 1;
    const uint32_t above = x - (UINT32_C(1) << whole);
    const int32_t part = (int32_t)(whole < 16 ? above << (16 - whole) : above >> (whole - 16));
    const int32_t at = part >> 9, past = part & ((1 << 9) - 1);
    const int32_t line = table[at] + (((table[at + 1] - table[at]) * past) >> 16);
    const uint32_t log2_x = (whole << 16) + (uint32_t)(part + line);
    return (uint32_t)((UINT64_C(45426) * log2_x + (1 << 15)) >> 16);
}

static ml_status bank_log(const ml_call *c) {
    const log_params *p = c->params;
    const int64_t count = ml_in_tensor(c, 0)->shape.dims[0];
    const uint32_t *x = ml_in(c, 0);
    int16_t *y = ml_out(c, 0);
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t i = 0; i < count && status == ML_OK; i++) {
        const uint32_t scaled = x[i] << p->bits;
        const uint32_t log_x = scaled > 1 ? log_of(scaled, c->derived) : 0;
        const uint32_t value = scaled > 1 ? ((uint32_t)p->scale * log_x + (1 << 15)) >> 16 : 0;
        y[i] = (int16_t)(value < INT16_MAX ? value : INT16_MAX);
        status = ml_count_work(c, 4, &work);
    }
    return status;
}

ML_KERNELS(filter_bank) = {
    {ML_CUSTOM_OP("SignalFilterBank", 1, 1), .name = "signal_filter_bank",
     .takes = "x weights rest frequencies starts widths -> y", ML_PARAMS_OF(bank_params),
     .prepare = prepare_bank, ML_TYPED({"u32 s16 s16 s16 s16 s16 -> u64", NULL, NULL, bank})},
    {ML_CUSTOM_OP("SignalFilterBankSquareRoot", 1, 1), .name = "signal_filter_bank_square_root",
     .takes = "x bits -> y", .prepare = prepare_root,
     ML_TYPED({"u64 s32 -> u32", NULL, NULL, square_root})},
    {ML_CUSTOM_OP("SignalFilterBankSpectralSubtraction", 1, 1),
     .name = "signal_filter_bank_spectral_subtraction", .takes = "x -> y noise",
     .flags = ML_KERNEL_NO_REFERENCE, ML_PARAMS_OF(noise_params),
     .memory_bytes = MOST_CHANNELS * (int32_t)sizeof(uint32_t), .prepare = prepare_noise,
     ML_TYPED({"u32 -> u32 u32", NULL, NULL, subtract_noise})},
    {ML_CUSTOM_OP("SignalPCAN", 1, 1), .name = "signal_pcan", .takes = "x noise gains -> y",
     ML_PARAMS_OF(pcan_params), .prepare = prepare_pcan,
     ML_TYPED({"u32 u32 s16 -> u32", NULL, NULL, pcan})},
    {ML_CUSTOM_OP("SignalFilterBankLog", 1, 1), .name = "signal_filter_bank_log", .takes = "x -> y",
     ML_PARAMS_OF(log_params), .prepare = prepare_log,
     ML_TYPED({"u32 -> s16", derive_log, NULL, bank_log})},
    ML_KERNELS_END,
};
