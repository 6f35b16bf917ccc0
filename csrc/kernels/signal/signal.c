/* signal.c -- SignalWindow, SignalFftAutoScale, SignalRfft, SignalIrfft, SignalEnergy: from samples
 * to the power of their frequencies, in integers, as in TensorFlow Lite Micro's front end for
 * audio. */
#include "kernels/signal/fixed_fft.h"
#include "math/fft.h"
#include "rules/values.h"
#include "rules/work.h"

/* SignalWindow --------------------------------------------------------------------------------- */

#define WINDOW_FIELDS(X, S) X(S, i32, shift, ML_COUNT("shift", 0, 31))
ML_PARAMS(window_params, WINDOW_FIELDS)

static ml_status prepare_window(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape, *window = &ml_input(c, 1)->shape;
    char one[96], other[96];
    if (x->rank < 1 || window->rank != 1 || x->dims[x->rank - 1] != window->dims[0])
        return ml_fail(c, ML_SHAPE_ERROR, "samples of shape %s do not fit a window of shape %s",
                       ml_shape_text(x, one), ml_shape_text(window, other));
    return ml_set_output(c, 0, x);
}

static ml_status weigh(const ml_call *c, int64_t first, int64_t end, int32_t worker, void *args) {
    const int64_t width = ml_in_tensor(c, 1)->shape.dims[0];
    const int32_t shift = ((const window_params *)c->params)->shift;
    const int16_t *window = ml_in(c, 1);
    for (int64_t row = first; row < end; row++) {
        const int16_t *x = (const int16_t *)ml_in(c, 0) + row * width;
        int16_t *y = (int16_t *)ml_out(c, 0) + row * width;
        for (int64_t i = 0; i < width; i++) {
            const int32_t product = (x[i] * window[i]) >> shift;
            y[i] = (int16_t)(product < INT16_MIN   ? INT16_MIN
                             : product > INT16_MAX ? INT16_MAX
                                                   : product);
        }
    }
    return ML_OK;
}

static ml_status window(const ml_call *c) {
    const ml_shape *x = &ml_in_tensor(c, 0)->shape;
    return ml_in_blocks(c, ml_elements_of(x, 0, x->rank - 1), x->dims[x->rank - 1], weigh, NULL);
}

/* SignalFftAutoScale --------------------------------------------------------------------------- */

static ml_status prepare_auto_scale(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    ml_status status = ml_set_output(c, 0, x);
    return status == ML_OK ? ml_set_output(c, 1, &(ml_shape){.rank = 0}) : status;
}

/* Shifts left by as many bits as the largest number of all leaves free. */
static ml_status auto_scale(const ml_call *c) {
    const int64_t count = ml_elements(&ml_in_tensor(c, 0)->shape);
    const int16_t *x = ml_in(c, 0);
    int16_t *y = ml_out(c, 0);
    int32_t most = 0, bits = 0;
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t i = 0; i < count; i++) {
        const int32_t size = x[i] < 0 ? -x[i] : x[i];
        if (size > most) most = size;
    }
    while (most > 0 && most << (bits + 1) <= INT16_MAX) bits++;
    for (int64_t i = 0; i < count && status == ML_OK; i++) {
        y[i] = (int16_t)(x[i] * (1 << bits));
        status = ml_count_work(c, 1, &work);
    }
    *(int32_t *)ml_out(c, 1) = bits;
    return status;
}

/* SignalRfft, SignalIrfft ---------------------------------------------------------------------- */

#define FFT_FIELDS(X, S) X(S, i32, length, ML_COUNT("fft_length", 4, 1 << 24))
ML_PARAMS(fft_params, FFT_FIELDS)

typedef struct fft_blob {
    int64_t rows;
    int64_t in; /* numbers of a row */
    int64_t out;
    ml_fixed_fft fixed;
} fft_blob;

static ml_fixed_fft fixed_of(const ml_call *c, bool inverse) {
    return (ml_fixed_fft){((const fft_params *)c->params)->length,
                          ml_input(c, 0)->type == ML_S16 ? 15 : 31, inverse};
}
static int64_t derive_fixed(const ml_call *c, void *to, bool inverse) {
    const ml_fixed_fft f = fixed_of(c, inverse);
    if (to) ml_fixed_roots(&f, to);
    return (f.n / 2 + f.n / 4) * (int64_t)sizeof(ml_fixed);
}
static int64_t derive_forward(const ml_call *c, void *to) { return derive_fixed(c, to, false); }
static int64_t derive_inverse(const ml_call *c, void *to) { return derive_fixed(c, to, true); }
static int64_t derive_floats(const ml_call *c, void *to) {
    const int64_t length = ((const fft_params *)c->params)->length;
    if (to) ml_fft_roots(length, to);
    return length / 2 * (int64_t)sizeof(ml_complex);
}

static ml_status prepare_fft(const ml_call *c, ml_wish *wish, bool inverse) {
    const int32_t length = ((const fft_params *)c->params)->length;
    const ml_shape *x = &ml_input(c, 0)->shape;
    fft_blob *b = c->blob;
    const int32_t in = x->rank > 0 ? x->dims[x->rank - 1] : 0;
    if (x->rank < 1 || (inverse ? in != length + 2 : in > length))
        return ml_fail(c, ML_SHAPE_ERROR, "rows of %d numbers, a transform of %d takes %s%d", in,
                       length, inverse ? "" : "at most ", inverse ? length + 2 : length);
    ml_shape y = *x;
    y.dims[y.rank - 1] = inverse ? length : length + 2;
    *b =
        (fft_blob){ml_elements_of(x, 0, x->rank - 1), in, y.dims[y.rank - 1], fixed_of(c, inverse)};
    wish->worker_bytes = 2 * (length + 2) * (int64_t)sizeof(ml_complex);
    return ml_set_output(c, 0, &y);
}
static ml_status prepare_rfft(const ml_call *c, ml_wish *wish) {
    return prepare_fft(c, wish, false);
}
static ml_status prepare_irfft(const ml_call *c, ml_wish *wish) {
    return prepare_fft(c, wish, true);
}

static inline int32_t read_fixed(const void *x, int32_t bits, int64_t at) {
    return bits == 15 ? ((const int16_t *)x)[at] : ((const int32_t *)x)[at];
}
static inline void write_fixed(void *y, int32_t bits, int64_t at, int32_t value) {
    if (bits == 15) ((int16_t *)y)[at] = (int16_t)value;
    else ((int32_t *)y)[at] = value;
}

/* Both directions: numbers in pairs, then zeros. */
static ml_status fixed_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const fft_blob *b = c->blob;
    const int64_t pairs = b->fixed.n / 2 + 1;
    const int32_t bits = b->fixed.bits;
    ml_fixed *x = ml_worker_scratch(c, worker), *y = x + pairs;
    for (int64_t row = first; row < end; row++) {
        for (int64_t k = 0; k < 2 * pairs; k++) {
            const int32_t value = k < b->in ? read_fixed(ml_in(c, 0), bits, row * b->in + k) : 0;
            if (k % 2) x[k / 2].im = value;
            else x[k / 2].re = value;
        }
        if (b->fixed.inverse) ml_fixed_real_inverse(&b->fixed, c->derived, x, y);
        else ml_fixed_real(&b->fixed, c->derived, x, y);
        for (int64_t k = 0; k < b->out; k++)
            write_fixed(ml_out(c, 0), bits, row * b->out + k, k % 2 ? y[k / 2].im : y[k / 2].re);
    }
    return ML_OK;
}

static ml_status float_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const fft_blob *b = c->blob;
    ml_complex *y = ml_worker_scratch(c, worker), *beside = y + b->fixed.n / 2 + 1;
    double *samples = (double *)y;
    for (int64_t row = first; row < end; row++) {
        const float *x = (const float *)ml_in(c, 0) + row * b->in;
        float *to = (float *)ml_out(c, 0) + row * b->out;
        for (int64_t i = 0; i < b->fixed.n; i++) samples[i] = i < b->in ? (double)x[i] : 0.0;
        ml_fft_real(y, beside, b->fixed.n, c->derived, 1);
        for (int64_t k = 0; k < b->out; k++) to[k] = (float)(k % 2 ? y[k / 2].im : y[k / 2].re);
    }
    return ML_OK;
}

/* The transform of the conjugate is the conjugate of the inverse, of which only the real parts are
 * needed. */
static ml_status float_rows_inverse(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                    void *args) {
    const fft_blob *b = c->blob;
    const int64_t n = b->fixed.n;
    ml_complex *y = ml_worker_scratch(c, worker);
    for (int64_t row = first; row < end; row++) {
        const float *x = (const float *)ml_in(c, 0) + row * b->in;
        float *to = (float *)ml_out(c, 0) + row * b->out;
        for (int64_t k = 0; k < n; k++) {
            const int64_t at = 2 * (k <= n / 2 ? k : n - k);
            y[k] = (ml_complex){(double)x[at], k <= n / 2 ? -(double)x[at + 1] : (double)x[at + 1]};
        }
        ml_fft(y, y + n, n, 1, c->derived, 1);
        for (int64_t k = 0; k < n; k++) to[k] = (float)(y[k].re / (double)n);
    }
    return ML_OK;
}

static ml_status by_rows(const ml_call *c, ml_body body) {
    const fft_blob *b = c->blob;
    return ml_parallel(c, b->rows, 1 + (1 << 12) / b->fixed.n, body, NULL);
}
static ml_status fixed_fft(const ml_call *c) { return by_rows(c, fixed_rows); }
static ml_status float_fft(const ml_call *c) { return by_rows(c, float_rows); }
static ml_status float_fft_inverse(const ml_call *c) { return by_rows(c, float_rows_inverse); }

/* SignalEnergy --------------------------------------------------------------------------------- */

#define ENERGY_FIELDS(X, S)                                  \
    X(S, i32, start, ML_COUNT("start_index", 0, INT32_MAX)) \
    X(S, i32, end, ML_COUNT("end_index", 0, INT32_MAX))
ML_PARAMS(energy_params, ENERGY_FIELDS)

static ml_status prepare_energy(const ml_call *c, ml_wish *wish) {
    const energy_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape;
    char text[96];
    if (x->rank != 1 || x->dims[0] % 2)
        return ml_fail(c, ML_SHAPE_ERROR, "the input must be pairs in a row, its shape is %s",
                       ml_shape_text(x, text));
    const int32_t bins = x->dims[0] / 2;
    if (p->start > p->end || p->end > bins)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "frequencies %d to %d are not a range within the %d of the input", p->start,
                       p->end, bins);
    return ml_set_output(c, 0, &(ml_shape){.rank = 1, .dims = {bins}});
}

static ml_status energy(const ml_call *c) {
    const energy_params *p = c->params;
    const int16_t *x = ml_in(c, 0);
    uint32_t *y = ml_out(c, 0);
    int64_t work = 0;
    ml_status status = ML_OK;
    memset(y, 0, (size_t)ml_out_tensor(c, 0)->bytes);
    for (int64_t i = p->start; i < p->end && status == ML_OK; i++) {
        const int32_t re = x[2 * i], im = x[2 * i + 1];
        y[i] = (uint32_t)(re * re) + (uint32_t)(im * im);
        status = ml_count_work(c, 1, &work);
    }
    return status;
}

static ml_status check_length(const ml_call *c, void *params) {
    const int32_t length = ((const fft_params *)params)->length;
    if ((length & (length - 1)) == 0) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED, "option fft_length is %d, must be a power of two", length);
}

#define FFT(operator, kernel_name, prepare_fn, ...)                                              \
    {ML_CUSTOM_OP(operator, 1, 1), .name = (kernel_name), .takes = "x -> y",                     \
     .check = check_length, ML_PARAMS_OF(fft_params), .prepare = prepare_fn,                     \
     .blob_bytes = sizeof(fft_blob), ML_TYPED(__VA_ARGS__)}
ML_KERNELS(signal) = {
    {ML_CUSTOM_OP("SignalWindow", 1, 1), .name = "signal_window", .takes = "x window -> y",
     ML_PARAMS_OF(window_params), .blob_bytes = sizeof(fft_blob), .prepare = prepare_window,
     ML_TYPED({"s16 s16 -> s16", NULL, NULL, window})},
    {ML_CUSTOM_OP("SignalFftAutoScale", 1, 1), .name = "signal_fft_auto_scale",
     .takes = "x -> y bits", .prepare = prepare_auto_scale,
     ML_TYPED({"s16 -> s16 s32", NULL, NULL, auto_scale})},
    FFT("SignalRfft", "signal_rfft", prepare_rfft, {"s16 -> s16", derive_forward, NULL, fixed_fft},
        {"s32 -> s32", derive_forward, NULL, fixed_fft},
        {"f32 -> f32", derive_floats, NULL, float_fft}),
    FFT("SignalIrfft", "signal_irfft", prepare_irfft,
        {"s16 -> s16", derive_inverse, NULL, fixed_fft},
        {"s32 -> s32", derive_inverse, NULL, fixed_fft},
        {"f32 -> f32", derive_floats, NULL, float_fft_inverse}),
    {ML_CUSTOM_OP("SignalEnergy", 1, 1), .name = "signal_energy", .takes = "spectrum -> y",
     ML_PARAMS_OF(energy_params), .blob_bytes = sizeof(fft_blob), .prepare = prepare_energy,
     ML_TYPED({"s16 -> u32", NULL, NULL, energy})},
    ML_KERNELS_END,
};
