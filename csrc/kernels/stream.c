/* stream.c -- SignalFramer, SignalOverlapAdd, SignalDelay, SignalStacker: keep a part of the stream
 * from run to run, as in TensorFlow Lite Micro's front end for audio. They start again when
 * variables are reset, or when the shape changes. */
#include "rules/values.h"
#include "rules/work.h"

enum { KEPT_BYTES = 1 << 16 };

/* The memory of the node. */
typedef struct kept {
    int64_t rows; /* rows for which it was started; 0: not started */
    int64_t width;
    int64_t held; /* elements held per row, by framer and stacker */
    _Alignas(64) uint8_t bytes[KEPT_BYTES];
} kept;

typedef struct stream_blob {
    int64_t rows; /* streams side by side */
    int64_t frames; /* of a run */
    int64_t in; /* elements of a frame */
    int64_t out;
    int64_t width; /* elements that are kept of a row */
} stream_blob;

static ml_status prepare_kept(const ml_call *c, const stream_blob *b) {
    const int64_t element = ml_type_bytes(ml_input(c, 0)->type);
    int64_t bytes;
    if (__builtin_mul_overflow(b->rows * element, b->width, &bytes) || bytes > KEPT_BYTES)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "%lld streams of %lld elements exceed the limit of %lld elements in all",
                       (long long)b->rows, (long long)b->width, (long long)(KEPT_BYTES / element));
    *(stream_blob *)c->blob = *b;
    return ML_OK;
}

/* The memory; if the shape has changed, it is filled with zeros, of which each row holds `held`. */
static kept *kept_of(const ml_call *c, int64_t held) {
    const stream_blob *b = c->blob;
    kept *k = ml_memory(c);
    if (k->rows != b->rows || k->width != b->width) {
        memset(k->bytes, 0, sizeof k->bytes);
        k->rows = b->rows;
        k->width = b->width;
        k->held = held;
    }
    return k;
}

static ml_status fail_rank(const ml_call *c, const char *wants) {
    char text[96];
    return ml_fail(c, ML_SHAPE_ERROR, "the input must be %s, its shape is %s", wants,
                   ml_shape_text(&ml_input(c, 0)->shape, text));
}

/* SignalFramer --------------------------------------------------------------------------------- */

#define FRAMER_FIELDS(X, S) \
    X(S, i32, size, ML_COUNT("frame_size", 1, 1 << 15)) X(S, i32, step, ML_COUNT("frame_step", 1, 1 << 15)) X(S, i32, prefill, ML_FLAG("prefill"))
ML_PARAMS(framer_params, FRAMER_FIELDS)

static ml_status prepare_framer(const ml_call *c, ml_wish *wish) {
    const framer_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape;
    if (x->rank < 1) return fail_rank(c, "samples in rows");
    const int32_t samples = x->dims[x->rank - 1];
    if (samples == 0 || samples % p->step)
        return ml_fail(c, ML_SHAPE_ERROR, "%d samples are not a multiple of the step, %d", samples,
                       p->step);
    ml_shape y = {.rank = 0};
    ml_status status = ml_append_dims(c, &y, x, 0, x->rank - 1);
    if (status == ML_OK) status = ml_append_dim(c, &y, samples / p->step);
    if (status == ML_OK) status = ml_append_dim(c, &y, p->size);
    if (status == ML_OK) status = ml_set_output(c, 0, &y);
    if (status == ML_OK) status = ml_set_output(c, 1, &(ml_shape){.rank = 0});
    const stream_blob b = {ml_elements_of(x, 0, x->rank - 1), samples / p->step, p->step, p->size,
                           p->size + p->step};
    return status == ML_OK ? prepare_kept(c, &b) : status;
}

/* Until there are enough samples, frames are zeros. */
static ml_status frame(const ml_call *c) {
    const framer_params *p = c->params;
    const stream_blob *b = c->blob;
    kept *k = kept_of(c, p->prefill ? p->size - p->step : 0);
    int64_t held = k->held, work = 0;
    bool valid = true;
    ml_status status = ML_OK;
    for (int64_t row = 0; row < b->rows; row++) {
        int16_t *buffer = (int16_t *)k->bytes + row * b->width;
        held = k->held;
        for (int64_t i = row * b->frames; i < (row + 1) * b->frames; i++) {
            int16_t *y = (int16_t *)ml_out(c, 0) + i * b->out;
            memcpy(buffer + held, (const int16_t *)ml_in(c, 0) + i * b->in, (size_t)b->in * 2);
            held += b->in;
            /* A full frame goes out, and its last samples stay. */
            if (held >= b->out) {
                memcpy(y, buffer, (size_t)b->out * 2);
                held -= b->in;
                memmove(buffer, buffer + b->in, (size_t)held * 2);
            } else {
                memset(y, 0, (size_t)b->out * 2);
                valid = false;
            }
            if (status == ML_OK) status = ml_count_work(c, b->out, &work);
        }
    }
    k->held = held;
    *(uint8_t *)ml_out(c, 1) = valid;
    return status;
}

/* SignalOverlapAdd ----------------------------------------------------------------------------- */

#define OVERLAP_FIELDS(X, S) X(S, i32, step, ML_COUNT("frame_step", 1, INT32_MAX))
ML_PARAMS(overlap_params, OVERLAP_FIELDS)

static ml_status prepare_overlap(const ml_call *c, ml_wish *wish) {
    const int32_t step = ((const overlap_params *)c->params)->step;
    const ml_shape *x = &ml_input(c, 0)->shape;
    if (x->rank < 2) return fail_rank(c, "frames of samples");
    const int64_t frames = x->dims[x->rank - 2], size = x->dims[x->rank - 1];
    if (step > size)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "frames have %lld samples, the step is %d: it must not be longer",
                       (long long)size, step);
    ml_shape y = {.rank = 0};
    ml_status status = ml_append_dims(c, &y, x, 0, x->rank - 2);
    if (status == ML_OK) status = ml_append_dim(c, &y, frames * step);
    if (status == ML_OK) status = ml_set_output(c, 0, &y);
    const stream_blob b = {ml_elements_of(x, 0, x->rank - 2), frames, size, step, size};
    return status == ML_OK ? prepare_kept(c, &b) : status;
}

static void add_s16(const void *x, void *sums, int64_t count) {
    int16_t *to = sums;
    for (int64_t i = 0; i < count; i++) {
        const int32_t sum = to[i] + ((const int16_t *)x)[i];
        to[i] = (int16_t)(sum < INT16_MIN ? INT16_MIN : sum > INT16_MAX ? INT16_MAX : sum);
    }
}
static void add_f32(const void *x, void *sums, int64_t count) {
    for (int64_t i = 0; i < count; i++) ((float *)sums)[i] += ((const float *)x)[i];
}

static ml_status overlap(const ml_call *c, int64_t element,
                         void (*add)(const void *x, void *sums, int64_t count)) {
    const stream_blob *b = c->blob;
    kept *k = kept_of(c, 0);
    const size_t out = (size_t)(b->out * element), left = (size_t)((b->in - b->out) * element);
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t i = 0; i < b->rows * b->frames; i++) {
        uint8_t *sums = k->bytes + i / b->frames * b->width * element;
        add((const uint8_t *)ml_in(c, 0) + i * b->in * element, sums, b->in);
        memcpy((uint8_t *)ml_out(c, 0) + i * b->out * element, sums, out);
        memmove(sums, sums + out, left);
        memset(sums + left, 0, out);
        if (status == ML_OK) status = ml_count_work(c, b->in, &work);
    }
    return status;
}
static ml_status overlap_s16(const ml_call *c) { return overlap(c, 2, add_s16); }
static ml_status overlap_f32(const ml_call *c) { return overlap(c, 4, add_f32); }

/* SignalDelay ---------------------------------------------------------------------------------- */

#define DELAY_FIELDS(X, S) X(S, i32, length, ML_COUNT("delay_length", 0, INT32_MAX))
ML_PARAMS(delay_params, DELAY_FIELDS)

static ml_status prepare_delay(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    if (x->rank < 1) return fail_rank(c, "samples in rows");
    const int64_t samples = x->dims[x->rank - 1];
    const stream_blob b = {ml_elements_of(x, 0, x->rank - 1), 1, samples, samples,
                           ((const delay_params *)c->params)->length};
    const ml_status status = ml_set_output(c, 0, x);
    return status == ML_OK ? prepare_kept(c, &b) : status;
}

/* The `length` kept samples are followed by those of the run. The output has as many samples as the
 * input; the last ones are kept. */
static ml_status delay(const ml_call *c) {
    const stream_blob *b = c->blob;
    kept *k = kept_of(c, 0);
    const size_t passed = (size_t)ml_min_s64(b->in, b->width) * 2;
    const size_t straight = (size_t)b->in * 2 - passed, stays = (size_t)b->width * 2 - passed;
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t row = 0; row < b->rows; row++) {
        const uint8_t *x = (const uint8_t *)ml_in(c, 0) + row * b->in * 2;
        uint8_t *y = (uint8_t *)ml_out(c, 0) + row * b->in * 2,
                *late = k->bytes + row * b->width * 2;
        memcpy(y, late, passed);
        memcpy(y + passed, x, straight);
        memmove(late, late + passed, stays);
        memcpy(late + stays, x + straight, passed);
        if (status == ML_OK) status = ml_count_work(c, b->in, &work);
    }
    return status;
}

/* SignalStacker -------------------------------------------------------------------------------- */

#define STACKER_FIELDS(X, S) \
    X(S, i32, channels, ML_COUNT("num_channels", 1, 1 << 15)) X(S, i32, left, ML_COUNT("stacker_left_context", 0, 1 << 15)) X(S, i32, right, ML_COUNT("stacker_right_context", 0, 1 << 15)) X(S, i32, step, ML_COUNT("stacker_step", 1, 1 << 15))
ML_PARAMS(stacker_params, STACKER_FIELDS)

static ml_status prepare_stacker(const ml_call *c, ml_wish *wish) {
    const stacker_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape;
    if (x->rank != 1) return fail_rank(c, "a row of channels");
    if (x->dims[0] != p->channels)
        return ml_fail(c, ML_SHAPE_ERROR, "the input has %d channels, the options say %d",
                       x->dims[0], p->channels);
    const int64_t made = (int64_t)p->channels * ((int64_t)p->left + p->right + 1);
    const stream_blob b = {1, 1, p->channels, made, made};
    ml_shape y = {.rank = 0};
    ml_status status = prepare_kept(c, &b);
    if (status == ML_OK) status = ml_append_dim(c, &y, made);
    if (status == ML_OK) status = ml_set_output(c, 0, &y);
    return status == ML_OK ? ml_set_output(c, 1, &(ml_shape){.rank = 0}) : status;
}

/* Stacks frames side by side; at the start, the first frame is repeated for the frames to its left.
 * Zeros while there are too few. */
static ml_status stack(const ml_call *c) {
    const stacker_params *p = c->params;
    const stream_blob *b = c->blob;
    const bool begins = ((const kept *)ml_memory(c))->rows == 0;
    kept *k = kept_of(c, 0);
    int16_t *frames = (int16_t *)k->bytes;
    for (int32_t i = begins ? -p->left : 0; i <= 0; i++, k->held += b->in)
        memcpy(frames + k->held, ml_in(c, 0), (size_t)b->in * 2);
    const bool valid = k->held >= b->out;
    *(uint8_t *)ml_out(c, 1) = valid;
    if (!valid) {
        memset(ml_out(c, 0), 0, (size_t)b->out * 2);
        return ML_OK;
    }
    memcpy(ml_out(c, 0), frames, (size_t)b->out * 2);
    k->held -= b->in * p->step;
    memmove(frames, frames + b->in * p->step, (size_t)k->held * 2);
    return ML_OK;
}

static ml_status check_framer(const ml_call *c, void *params) {
    const framer_params *p = params;
    if (p->step <= p->size) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "frames have %d samples, the step is %d: it must not be longer", p->size,
                   p->step);
}
static ml_status check_stacker(const ml_call *c, void *params) {
    const stacker_params *p = params;
    const int32_t beside = p->left + p->right + 1;
    if (p->step <= beside) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "%d frames are stacked, the step is %d: it must not be longer", beside, p->step);
}

#define STREAM(operator, kernel_name, operands, check_fn, params, prepare_fn, ...)               \
    {ML_CUSTOM_OP(operator, 1, 1), .name = (kernel_name), .takes = (operands),                   \
     .flags = ML_KERNEL_NO_REFERENCE, .check = (check_fn), ML_PARAMS_OF(params),                 \
     .prepare = prepare_fn, .blob_bytes = sizeof(stream_blob),                                   \
     .memory_bytes = (int32_t)sizeof(kept), ML_TYPED(__VA_ARGS__)}
ML_KERNELS(stream) = {
    STREAM("SignalFramer", "signal_framer", "x -> y valid", check_framer, framer_params,
           prepare_framer, {"s16 -> s16 b8", NULL, NULL, frame}),
    STREAM("SignalOverlapAdd", "signal_overlap_add", "x -> y", NULL, overlap_params,
           prepare_overlap, {"s16 -> s16", NULL, NULL, overlap_s16},
           {"f32 -> f32", NULL, NULL, overlap_f32}),
    STREAM("SignalDelay", "signal_delay", "x -> y", NULL, delay_params, prepare_delay,
           {"s16 -> s16", NULL, NULL, delay}),
    STREAM("SignalStacker", "signal_stacker", "x -> y valid", check_stacker, stacker_params,
           prepare_stacker, {"s16 -> s16 b8", NULL, NULL, stack}),
    ML_KERNELS_END,
};
