/* pooling.c -- AVERAGE_POOL_2D, MAX_POOL_2D, L2_POOL_2D: over the part of each window that lies
 * inside the input. Quantized inputs and outputs are assumed to have the same scale and zero point,
 * as in TFLite. */
#include <float.h>
#include <math.h>

#include "math/float_math.h"
#include "rules/quantized.h"
#include "rules/window.h"
#include "rules/work.h"
#include "simd/simd.h"

enum { CHUNK = 32 };

#define POOL_FIELDS(X, S) \
    X(S, window, window)                                                                          \
    X(S, i32, filter_h, ML_POSITIVE("filter_height")) X(S, i32, filter_w, ML_POSITIVE("filter_width")) \
    ML_CLAMP_FIELDS(X, S)
ML_PARAMS(pool_params, POOL_FIELDS)

/* The limits of an integer output. */
typedef struct pool_limits {
    int32_t low;
    int32_t high;
} pool_limits;

static ml_status prepare_pool(const ml_call *c, ml_wish *wish) {
    const pool_params *params = c->params;
    const ml_window_params *p = &params->window;
    ml_window *window = c->blob;
    const ml_shape *x = &ml_in_tensor(c, 0)->shape;
    window->y = (ml_window_axis){.size = params->filter_h, .stride = p->stride_h, .dilation = 1};
    window->x = (ml_window_axis){.size = params->filter_w, .stride = p->stride_w, .dilation = 1};
    ml_status status = ml_window_prepare(c, window, p);
    if (status != ML_OK) return status;
    ml_shape y = {4, {x->dims[0], window->y.out, window->x.out, x->dims[3]}};
    return ml_set_output(c, 0, &y);
}

static bool window_of_pool(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params) {
    return ml_cut_window(c->blob, out, in, &((pool_params *)params)->window);
}

static int64_t derive_limits(const ml_call *c, void *to) {
    const pool_params *params = c->params;
    pool_limits *limits = to;
    ml_affine y = ml_output_affine(c, 0);
    bool clamps = params->minimum >= -__FLT_MAX__ || params->maximum <= __FLT_MAX__;
    if (clamps && !(y.scale > 0.0f)) {
        ml_refuse_operand(c, c->n_inputs, "must have a positive scale, it has %g", (double)y.scale);
        return -1;
    }
    if (to) ml_quantized_clamp(params->minimum, params->maximum, y, &limits->low, &limits->high);
    return sizeof *limits;
}

static inline float sum_squares_f32(float a, float b) { return a + b * b; }
static inline int32_t sum_s32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }

static inline int16_t max_s16(int16_t a, int16_t b) { return a < b ? b : a; }
/* The mean of integers, rounded to nearest, ties away from zero: (sum +- count / 2) / count,
 * truncated. In double this is exact, because a quotient that is not an integer differs from one by
 * more than the error of double; and it can be vectorized. */
static inline int32_t mean_s32(int32_t sum, int64_t count) {
    double half = (double)(count / 2);
    return (int32_t)((sum + (sum > 0 ? half : -half)) / (double)count);
}

static inline void find_limits_f32(const ml_call *c, float *low, float *high) {
    *low = ((const pool_params *)c->params)->minimum;
    *high = ((const pool_params *)c->params)->maximum;
}
static inline void find_limits_s32(const ml_call *c, int32_t *low, int32_t *high) {
    const pool_limits *limits = c->derived;
    *low = limits->low;
    *high = limits->high;
}

/* The number of output lines that make a block of work. */
static inline int64_t lines_of_work(const ml_window *w) {
    const double line = (double)w->x.out * w->channels * w->y.size * w->x.size;
    return 1 + (int64_t)((16 << 10) / line);
}

/* Defines eval: MERGE(total, value) over a window, then FINISH(total, count), clamped by a `limit`.
 * CHUNK channels of a pixel at a time; lines of output are blocks of work. */
#define EVAL_POOL(name, element, total_type, initial, MERGE, FINISH, limit) \
    static ml_status name##_lines(const ml_call *c, int64_t start, int64_t end, int32_t worker, void *args) { \
        const ml_window *w = c->blob; \
        const element *x = ml_in(c, 0); \
        int64_t channels = w->channels; \
        element *y = (element *)ml_out(c, 0) + start * w->x.out * channels; \
        C_##limit low, high; \
        find_limits_##limit(c, &low, &high); \
        for (int64_t pixel = start * w->x.out; pixel < end * w->x.out; pixel++, y += channels) { \
            int64_t line = pixel / w->x.out, batch = line / w->y.out; \
            ml_taps down = ml_window_taps(&w->y, line % w->y.out), across = ml_window_taps(&w->x, pixel % w->x.out); \
            int64_t count = (down.end - down.first) * (across.end - across.first); \
            for (int64_t first = 0; first < channels; first += CHUNK) { \
                int width = (int)ml_min_s64(CHUNK, channels - first); \
                total_type totals[CHUNK]; \
                for (int j = 0; j < width; j++) totals[j] = (initial); \
                for (int64_t ky = down.first; ky < down.end; ky++) \
                    for (int64_t kx = across.first; kx < across.end; kx++) { \
                        int64_t at = (batch * w->y.in + down.start + ky) * w->x.in + across.start + kx; \
                        const element *source = x + at * channels + first; \
                        for (int j = 0; j < width; j++) totals[j] = MERGE(totals[j], source[j]); \
                    } \
                for (int j = 0; j < width; j++) \
                    y[first + j] = (element)ml_clamp_##limit(FINISH(totals[j], count), low, high); \
            } \
        } \
        return ML_OK; \
    } \
    static ml_status name(const ml_call *c) { \
        const ml_window *w = c->blob; \
        return ml_parallel(c, (int64_t)w->batches * w->y.out, lines_of_work(w), name##_lines, NULL); \
    }
#define C_f32 float
#define C_s32 int32_t
#define ROOT_MEAN(total, count) sqrtf((total) / (float)(count))
#define KEEP(total, count) ((void)(count), (total))
EVAL_POOL(average_pool_s16, int16_t, int32_t, 0, sum_s32, mean_s32, s32)
EVAL_POOL(l2_pool_f32, float, float, 0.0f, sum_squares_f32, ROOT_MEAN, f32)
EVAL_POOL(max_pool_s16, int16_t, int16_t, INT16_MIN, max_s16, KEEP, s32)

typedef void pool_fn(const ml_pool_args *args);

/* Windows that overlap from line to line read lines again, which should then still be in the
 * first-level cache. So a strip of pixels is computed at a time, in all of the few lines of a
 * block. */
enum { STRIP_BYTES = 24 << 10, LEAST_STRIP = 8, LINES_OF_STRIPS = 8 };
static inline int64_t strip_of(const ml_window *w, int64_t pixel) {
    const int64_t seen = (int64_t)w->y.size * w->x.stride;
    const int64_t strip = seen < STRIP_BYTES ? STRIP_BYTES / (seen * pixel + 1) : 0;
    return w->y.size > w->y.stride ? ml_max_s64(strip, LEAST_STRIP) : w->x.out;
}
static inline int64_t lines_of_strips(const ml_window *w) {
    const int64_t lines = lines_of_work(w);
    return w->y.size <= w->y.stride ? lines
                                    : ml_max_s64(lines, ml_min_s64(w->y.out / 4, LINES_OF_STRIPS));
}

/* The input's pixels from a column of a line on. */
static inline int64_t pixels_after(const ml_window *w, int64_t line, int64_t column) {
    return ((int64_t)w->batches * w->y.in - line) * w->x.in - column;
}

/* Computes pixels of a line by a primitive; all pixels between them and `later` are still to be
 * computed. */
static void pool_pixels(const ml_call *c, const ml_window *w, pool_fn *pool, ml_pool_args *a,
                        int64_t line, int64_t from, int64_t to, int64_t later) {
    const int64_t pixel = w->channels * ml_type_bytes(ml_in_tensor(c, 0)->type);
    const int64_t batch = line / w->y.out;
    const ml_taps down = ml_window_taps(&w->y, line - batch * w->y.out);
    const int64_t y = batch * w->y.in + down.start + down.first;
    a->height = down.end - down.first;
    /* Pixels whose windows have the same columns inside the image. */
    for (int64_t ox = from, end; ox < to; ox = end) {
        const ml_window_run run = ml_window_run_at(&w->x, ox);
        const int64_t x = run.taps.start + run.taps.first;
        end = ml_min_s64(run.end, to);
        a->pixels = end - ox;
        a->width = run.taps.end - run.taps.first;
        a->x = (const char *)ml_in(c, 0) + (y * w->x.in + x) * pixel;
        a->y = (char *)ml_out(c, 0) + (line * w->x.out + ox) * pixel;
        const int64_t last = x + (a->pixels - 1) * w->x.stride + a->width;
        a->x_after = pixels_after(w, y + a->height - 1, last) * w->channels;
        a->y_after = (later - end) * w->channels;
        pool(a);
    }
}

/* Computes lines of output by a primitive: floats and bytes. */
static ml_status pool_lines(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    ml_window w = *(const ml_window *)c->blob;
    w.y.dilation = w.x.dilation = 1; /* it is, and takes no division where the compiler knows it */
    const pool_params *p = c->params;
    const int32_t type = ml_in_tensor(c, 0)->type;
    const int64_t strip = strip_of(&w, w.channels * ml_type_bytes(type));
    ml_pool_args a = {.line_step = (int64_t)w.x.in * w.channels,
                      .pixel_step = (int64_t)w.x.stride * w.channels,
                      .n = w.channels,
                      .is_signed = type == ML_S8,
                      .minimum = p->minimum,
                      .maximum = p->maximum};
    if (type != ML_F32) find_limits_s32(c, &a.low, &a.high);
    /* A strip of pixels, line by line; then the next strip. */
    for (int64_t from = 0; from < w.x.out; from += strip)
        for (int64_t line = first; line < end; line++) {
            const int64_t to = ml_min_s64(from + strip, w.x.out);
            const int64_t later = strip < w.x.out ? to : (end - line) * w.x.out;
            pool_pixels(c, &w, *(pool_fn *const *)args, &a, line, from, to, later);
        }
    return ML_OK;
}
static ml_status pool_by(const ml_call *c, pool_fn *pool) {
    const ml_window *w = c->blob;
    return ml_parallel(c, (int64_t)w->batches * w->y.out, lines_of_strips(w), pool_lines, &pool);
}

/* True if one window covers the whole image and is summed line by line, so that its pixels are rows
 * that are read sequentially. Sums are the same, because a patch may be a window. */
static inline bool is_whole(const ml_window *w) {
    const bool one = w->y.out == 1 && w->x.out == 1 && w->y.before == 0 && w->x.before == 0;
    return one && w->y.size == w->y.in && w->x.size == w->x.in && w->x.size != 3;
}
static ml_status average_images(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                void *args) {
    const ml_window *w = c->blob;
    const pool_params *p = c->params;
    const int64_t n = w->channels, rows = (int64_t)w->y.in * w->x.in;
    const float count = (float)rows;
    for (int64_t image = first; image < end; image++) {
        float *y = (float *)ml_out(c, 0) + image * n;
        const ml_fold_f32_args sums = {.x = (const float *)ml_in(c, 0) + image * rows * n,
                                       .y = y,
                                       .n = n,
                                       .rows = rows,
                                       .stride = n,
                                       .function = ML_FOLD_SUM,
                                       .across = 1};
        const ml_zip_f32_args means = {.a = y,
                                       .b = &count,
                                       .y = y,
                                       .n = n,
                                       .rows = 1,
                                       .function = ML_ZIP_DIV,
                                       .kind = ML_ZIP_SCALAR_B,
                                       .low = p->minimum,
                                       .high = p->maximum};
        memset(y, 0, (size_t)n * sizeof *y);
        c->env->simd->fold_f32(&sums);
        c->env->simd->zip_f32(&means);
    }
    return ML_OK;
}
static ml_status average_pool_f32(const ml_call *c) {
    const ml_window *w = c->blob;
    if (!is_whole(w)) return pool_by(c, c->env->simd->average_pool_f32);
    const int64_t elements = (int64_t)w->y.in * w->x.in * w->channels;
    return ml_in_blocks(c, w->batches, elements, average_images, NULL);
}
#define POOL(operation, type, primitive)                              \
    static ml_status operation##_##type(const ml_call *c) {           \
        return pool_by(c, c->env->simd->operation##_##primitive);     \
    }
POOL(average_pool, s8, s8)
POOL(average_pool, u8, s8)
POOL(max_pool, f32, f32)
POOL(max_pool, s8, s8)
POOL(max_pool, u8, s8)

#define TYPED(operation)                                   \
    static const ml_typed operation##_2d[] = {             \
        {"f32 -> f32", NULL, NULL, operation##_f32},              \
        {"s8 -> s8", derive_limits, NULL, operation##_s8},       \
        {"u8 -> u8", derive_limits, NULL, operation##_u8},       \
        {"s16 -> s16", derive_limits, NULL, operation##_s16},     \
        {NULL, NULL, NULL, NULL},                          \
    };
TYPED(average_pool)
TYPED(max_pool)

#define ROW(operator, last, operation)                                                             \
    {ML_OP(operator, 1, last), .name = #operation, .takes = "x -> y", .flags = ML_KERNEL_CLAMPS,    \
     ML_PARAMS_OF(pool_params),                                                                    \
     .blob_bytes = sizeof(ml_window), .prepare = prepare_pool, .prepare_reads = ml_reads_nothing, \
     .window = window_of_pool, .typed = operation}
static const ml_typed l2_pool_2d[] = {{"f32 -> f32", NULL, NULL, l2_pool_f32},
                                      {NULL, NULL, NULL, NULL}};
ML_KERNELS(pooling) = {ROW(AVERAGE_POOL_2D, 3, average_pool_2d), ROW(MAX_POOL_2D, 3, max_pool_2d),
                       ROW(L2_POOL_2D, 1, l2_pool_2d), ML_KERNELS_END};
