/* audio.c -- AudioSpectrogram: power or magnitude of the frequencies in windows of samples. Mfcc:
 * sums such spectra in bands of equal width on the mel scale; then the cosine transform of their
 * logarithms. Both in double. */
#include <math.h>

#include "math/fft.h"
#include "rules/values.h"
#include "rules/work.h"

/* AudioSpectrogram ----------------------------------------------------------------------------- */

#define SPECTROGRAM_FIELDS(X, S) \
    X(S, i32, window, ML_COUNT("window_size", 2, 1 << 24)) X(S, i32, stride, ML_COUNT("stride", 1, INT32_MAX)) X(S, i32, squared, ML_FLAG_OR("magnitude_squared", 0))
ML_PARAMS(spectrogram_params, SPECTROGRAM_FIELDS)

typedef struct spectrogram_blob {
    int64_t samples;
    int64_t channels;
    int64_t frames;
    int64_t length; /* of the transform: the window's, rounded up to a power of two */
} spectrogram_blob;

static int64_t length_of(const ml_call *c) {
    const int64_t window = ((const spectrogram_params *)c->params)->window;
    int64_t length = 2;
    while (length < window) length *= 2;
    return length;
}

/* The roots, then a periodic Hann window. */
static int64_t derive_window(const ml_call *c, void *to) {
    const int64_t window = ((const spectrogram_params *)c->params)->window, length = length_of(c);
    ml_complex *roots = to;
    if (to) {
        double *hann = (double *)(roots + length / 2);
        ml_fft_roots(length, roots);
        for (int64_t i = 0; i < window; i++)
            hann[i] = 0.5 - 0.5 * cos(6.283185307179586476925 * (double)i / (double)window);
    }
    return length / 2 * (int64_t)sizeof *roots + window * (int64_t)sizeof(double);
}

static ml_status prepare_spectrogram(const ml_call *c, ml_wish *wish) {
    const spectrogram_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape;
    char text[96];
    if (x->rank != 2)
        return ml_fail(c, ML_SHAPE_ERROR, "the input must be (samples, channels), its shape is %s",
                       ml_shape_text(x, text));
    const int64_t length = length_of(c), samples = x->dims[0];
    const int64_t frames = samples < p->window ? 0 : 1 + (samples - p->window) / p->stride;
    *(spectrogram_blob *)c->blob = (spectrogram_blob){samples, x->dims[1], frames, length};
    wish->worker_bytes = 2 * (length / 2 + 1) * (int64_t)sizeof(ml_complex);
    return ml_set_output(
        c, 0,
        &(ml_shape){.rank = 3, .dims = {x->dims[1], (int32_t)frames, (int32_t)(length / 2 + 1)}});
}

static ml_status make_frames(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    const spectrogram_params *p = c->params;
    const spectrogram_blob *b = c->blob;
    const ml_complex *roots = c->derived;
    const double *hann = (const double *)(roots + b->length / 2);
    const int64_t bins = b->length / 2 + 1;
    ml_complex *y = ml_worker_scratch(c, worker);
    for (int64_t frame = first; frame < end; frame++) {
        const float *x = (const float *)ml_in(c, 0) + frame % b->frames * p->stride * b->channels +
                         frame / b->frames;
        float *to = (float *)ml_out(c, 0) + frame * bins;
        double *samples = (double *)y;
        for (int64_t i = 0; i < p->window; i++) samples[i] = (double)x[i * b->channels] * hann[i];
        memset(samples + p->window, 0, (size_t)(b->length - p->window) * sizeof *samples);
        ml_fft_real(y, y + bins, b->length, roots, 1);
        for (int64_t i = 0; i < bins; i++) {
            const float power = (float)(y[i].re * y[i].re + y[i].im * y[i].im);
            to[i] = p->squared ? power : sqrtf(power);
        }
    }
    return ML_OK;
}

static ml_status spectrogram(const ml_call *c) {
    const spectrogram_blob *b = c->blob;
    return ml_parallel(c, b->channels * b->frames, 1 + (1 << 12) / b->length, make_frames, NULL);
}

/* Mfcc ----------------------------------------------------------------------------------------- */

#define MFCC_FIELDS(X, S) \
    X(S, f64, upper, ML_NUMBER_OR("upper_frequency_limit", 0)) X(S, f64, lower, ML_NUMBER_OR("lower_frequency_limit", 0)) X(S, i32, bands, ML_COUNT("filterbank_channel_count", 1, 1 << 16)) X(S, i32, coefficients, ML_COUNT("dct_coefficient_count", 1, 1 << 16))
ML_PARAMS(mfcc_params, MFCC_FIELDS)

typedef struct mfcc_blob {
    int64_t frames;
    int64_t bins;
    int64_t weights; /* in scratch: of each bin for its band; the rest goes to the next band */
    int64_t band_of; /* in scratch: -1 before the first */
    int64_t centers; /* in scratch: of bands, on the mel scale */
    int64_t energies; /* in scratch: of a frame's bands */
} mfcc_blob;

/* The cosines of the transform, a row for each coefficient. */
static int64_t derive_cosines(const ml_call *c, void *to) {
    const mfcc_params *p = c->params;
    double *cosines = to;
    const double scale = sqrt(2.0 / p->bands), step = 3.14159265358979323846 / p->bands;
    for (int64_t i = 0; to && i < p->coefficients; i++)
        for (int64_t k = 0; k < p->bands; k++)
            *cosines++ = scale * cos((double)i * step * ((double)k + 0.5));
    return (int64_t)p->coefficients * p->bands * (int64_t)sizeof *cosines;
}

static ml_status prepare_mfcc(const ml_call *c, ml_wish *wish) {
    const mfcc_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape;
    const int64_t rates = ml_elements(&ml_input(c, 1)->shape);
    mfcc_blob *b = c->blob;
    char text[96];
    if (x->rank != 3 || x->dims[2] < 2)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "the spectrogram must be (channels, frames, 2 or more), its shape is %s",
                       ml_shape_text(x, text));
    if (rates != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the sample rate must be one number, it has %lld",
                       (long long)rates);
    b->frames = ml_elements_of(x, 0, 2);
    b->bins = x->dims[2];
    const int64_t number = (int64_t)sizeof(double);
    b->weights = ml_reserve(wish, b->bins * number);
    b->band_of = ml_reserve(wish, b->bins * (int64_t)sizeof(int32_t));
    b->centers = ml_reserve(wish, (p->bands + 1) * number);
    b->energies = ml_reserve(wish, p->bands * number);
    return ml_set_output(c, 0,
                         &(ml_shape){.rank = 3, .dims = {x->dims[0], x->dims[1], p->coefficients}});
}

static double mel(double frequency) { return 1127.0 * log1p(frequency / 700.0); }

/* The bins that are used, first <= i <= last, with their bands and weights. */
typedef struct used_bins {
    int64_t first;
    int64_t last;
} used_bins;

static used_bins weigh(const ml_call *c, double rate) {
    const mfcc_params *p = c->params;
    const mfcc_blob *b = c->blob;
    double *weights = ml_scratch(c, b->weights), *centers = ml_scratch(c, b->centers);
    int32_t *band_of = ml_scratch(c, b->band_of), band = 0;
    const double low = mel(p->lower), spacing = (mel(p->upper) - low) / (p->bands + 1);
    const double width = 0.5 * rate / (double)(b->bins - 1); /* of a bin, in hertz */
    const double all = (double)b->bins, begin = 1.5 + p->lower / width, end = p->upper / width;
    const used_bins used = {(int64_t)(begin < all ? begin : all), (int64_t)(end < all ? end : all)};
    for (int32_t i = 0; i <= p->bands; i++) centers[i] = low + spacing * (i + 1);
    for (int64_t i = used.first; i <= used.last && i < b->bins; i++) {
        const double here = mel((double)i * width);
        while (band < p->bands && centers[band] < here) band++;
        band_of[i] = band - 1;
        const double before = band > 0 ? centers[band - 1] : low;
        weights[i] = (centers[band] - here) / (centers[band] - before);
    }
    return used;
}

static void cepstrum(const ml_call *c, used_bins used, const float *x, float *y) {
    const mfcc_params *p = c->params;
    const mfcc_blob *b = c->blob;
    const double *weights = ml_scratch(c, b->weights), *cosines = c->derived;
    const int32_t *band_of = ml_scratch(c, b->band_of);
    double *energies = ml_scratch(c, b->energies);
    memset(energies, 0, (size_t)p->bands * sizeof *energies);
    for (int64_t i = used.first; i <= used.last; i++) {
        const double size = sqrt((double)x[i]), weighted = size * weights[i];
        if (band_of[i] >= 0) energies[band_of[i]] += weighted;
        if (band_of[i] + 1 < p->bands) energies[band_of[i] + 1] += size - weighted;
    }
    for (int32_t k = 0; k < p->bands; k++)
        energies[k] = log(energies[k] < 1e-12 ? 1e-12 : energies[k]);
    for (int32_t i = 0; i < p->coefficients; i++, cosines += p->bands) {
        double sum = 0.0;
        for (int32_t k = 0; k < p->bands; k++) sum += cosines[k] * energies[k];
        y[i] = (float)sum;
    }
}

/* If a band lies above all bins, TFLite leaves the coefficients 0. */
static ml_status mfcc(const ml_call *c) {
    const mfcc_params *p = c->params;
    const mfcc_blob *b = c->blob;
    const int32_t rate = *(const int32_t *)ml_in(c, 1);
    if (rate <= 0)
        return ml_fail(c, ML_KERNEL_ERROR, "the sample rate is %d, expected 1 or more", rate);
    const used_bins used = weigh(c, (double)rate);
    if (used.last >= b->bins) {
        memset(ml_out(c, 0), 0, (size_t)ml_out_tensor(c, 0)->bytes);
        return ML_OK;
    }
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t i = 0; i < b->frames && status == ML_OK; i++) {
        cepstrum(c, used, (const float *)ml_in(c, 0) + i * b->bins,
                 (float *)ml_out(c, 0) + i * p->coefficients);
        status = ml_count_work(c, b->bins + (int64_t)p->bands * p->coefficients, &work);
    }
    return status;
}

/* Frequencies are integers in the options. */
static ml_status check_mfcc(const ml_call *c, void *params) {
    mfcc_params *p = params;
    p->upper = trunc(p->upper);
    p->lower = trunc(p->lower);
    if (!(p->lower >= 0 && p->lower < p->upper))
        return ml_fail(c, ML_UNSUPPORTED,
                       "frequencies from %g to %g: the second must be above the first, that at "
                       "least 0",
                       p->lower, p->upper);
    if (p->coefficients <= p->bands) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "there are %d coefficients for %d bands, at most one per band is possible",
                   p->coefficients, p->bands);
}

ML_KERNELS(audio) = {
    {ML_CUSTOM_OP("AudioSpectrogram", 1, 1), .name = "audio_spectrogram", .takes = "x -> y",
     ML_PARAMS_OF(spectrogram_params), .blob_bytes = sizeof(spectrogram_blob),
     .prepare = prepare_spectrogram, ML_TYPED({"f32 -> f32", derive_window, NULL, spectrogram})},
    {ML_CUSTOM_OP("Mfcc", 1, 1), .name = "mfcc", .takes = "spectrogram rate -> y",
     .check = check_mfcc, ML_PARAMS_OF(mfcc_params), .blob_bytes = sizeof(mfcc_blob),
     .prepare = prepare_mfcc, ML_TYPED({"f32 s32 -> f32", derive_cosines, NULL, mfcc})},
    ML_KERNELS_END,
};
