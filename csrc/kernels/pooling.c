/* pooling.c -- AVERAGE_POOL_2D, MAX_POOL_2D: over the part of each window that lies inside the input. Quantized inputs and
 * outputs are taken to have the same scale and zero point, as in TFLite. */
#include <float.h>

#include "math/fixed_point.h"
#include "rules/window.h"

enum { CHUNK = 32 };

#define SIZE_FIELDS(X, S) \
    X(S, i32, same) X(S, i32, stride_h) X(S, i32, stride_w) X(S, i32, filter_h) X(S, i32, filter_w)
#define FLOAT_FIELDS(X, S) SIZE_FIELDS(X, S) X(S, f32, minimum) X(S, f32, maximum)
#define INTEGER_FIELDS(X, S) SIZE_FIELDS(X, S) X(S, i32, minimum) X(S, i32, maximum)
ML_PARAMS(pool_float_params, FLOAT_FIELDS)
ML_PARAMS(pool_integer_params, INTEGER_FIELDS)
/* What all kernels' parameters begin with. */
typedef struct size_params {
    SIZE_FIELDS(ML_MEMBER, size_params)
} size_params;

static ml_status prepare_pool(const ml_call *c, ml_wish *wish) {
    const size_params *params = c->params;
    ml_window *window = c->blob;
    const ml_shape *x = &ml_input(c, 0)->shape;
    window->y =
        (ml_window_axis){.size = params->filter_h, .stride = params->stride_h, .dilation = 1};
    window->x =
        (ml_window_axis){.size = params->filter_w, .stride = params->stride_w, .dilation = 1};
    ml_status status = ml_window_prepare(c, window, x, params->same);
    if (status != ML_OK) return status;
    ml_shape y = {4, {x->dims[0], (int32_t)window->y.out, (int32_t)window->x.out, x->dims[3]}};
    return ml_set_output(c, 0, &y);
}

static inline float sum_f32(float a, float b) { return a + b; }
static inline int32_t sum_s32(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
static inline float max_f32(float a, float b) { return a < b ? b : a; }
static inline int8_t max_s8(int8_t a, int8_t b) { return a < b ? b : a; }
static inline uint8_t max_u8(uint8_t a, uint8_t b) { return a < b ? b : a; }
static inline int16_t max_s16(int16_t a, int16_t b) { return a < b ? b : a; }
static inline float clamp_f32(float v, float low, float high) {
    return v < low ? low : v > high ? high : v;
}

/* The mean of integers, rounded to nearest, ties away from zero: (sum +- count / 2) / count, truncated. In double this is
 * exact, for a quotient that is no integer differs from one by more than double's error; and it runs in vectors. */
static inline int32_t mean_s32(int32_t sum, int64_t count) {
    double half = (double)(count / 2);
    return (int32_t)((sum + (sum > 0 ? half : -half)) / (double)count);
}

/* Defines eval: MERGE(total, value) over a window, FINISH(total, count) of its result, both clamped. CHUNK channels of a
 * pixel at a time. */
#define EVAL_POOL(name, params_type, element, total_type, initial, MERGE, FINISH, CLAMP)                                 \
    static ml_status name(const ml_call *c) {                                                                          \
        const params_type *params = c->params;                                                                         \
        const ml_window *w = c->blob;                                                                                  \
        const element *x = ml_in(c, 0);                                                                                \
        element *y = ml_out(c, 0);                                                                                     \
        int64_t lines = w->batches * w->y.out, channels = w->channels;                                                 \
        for (int64_t pixel = 0; pixel < lines * w->x.out; pixel++, y += channels) {                                    \
            int64_t line = pixel / w->x.out, batch = line / w->y.out;                                                  \
            ml_taps down = ml_window_taps(&w->y, line % w->y.out), across = ml_window_taps(&w->x, pixel % w->x.out);   \
            int64_t count = (down.end - down.first) * (across.end - across.first);                                     \
            for (int64_t first = 0; first < channels; first += CHUNK) {                                                \
                int width = (int)ml_min_s64(CHUNK, channels - first);                                                  \
                total_type totals[CHUNK];                                                                              \
                for (int j = 0; j < width; j++) totals[j] = (initial);                                                 \
                for (int64_t ky = down.first; ky < down.end; ky++)                                                     \
                    for (int64_t kx = across.first; kx < across.end; kx++) {                                           \
                        int64_t at = (batch * w->y.in + down.start + ky) * w->x.in + across.start + kx;                \
                        const element *source = x + at * channels + first;                                             \
                        for (int j = 0; j < width; j++) totals[j] = MERGE(totals[j], source[j]);                       \
                    }                                                                                                  \
                for (int j = 0; j < width; j++)                                                                        \
                    y[first + j] = (element)CLAMP(FINISH(totals[j], count), params->minimum, params->maximum);         \
            }                                                                                                          \
        }                                                                                                              \
        return ML_OK;                                                                                                  \
    }
#define DIVIDE_F32(total, count) ((total) / (float)(count))
#define KEEP(total, count) ((void)(count), (total))
EVAL_POOL(average_pool_f32, pool_float_params, float, float, 0.0f, sum_f32, DIVIDE_F32, clamp_f32)
EVAL_POOL(average_pool_s8, pool_integer_params, int8_t, int32_t, 0, sum_s32, mean_s32, ml_clamp_s32)
EVAL_POOL(average_pool_u8, pool_integer_params, uint8_t, int32_t, 0, sum_s32, mean_s32,
          ml_clamp_s32)
EVAL_POOL(average_pool_s16, pool_integer_params, int16_t, int32_t, 0, sum_s32, mean_s32,
          ml_clamp_s32)
EVAL_POOL(max_pool_f32, pool_float_params, float, float, -FLT_MAX, max_f32, KEEP, clamp_f32)
EVAL_POOL(max_pool_s8, pool_integer_params, int8_t, int8_t, INT8_MIN, max_s8, KEEP, ml_clamp_s32)
EVAL_POOL(max_pool_u8, pool_integer_params, uint8_t, uint8_t, 0, max_u8, KEEP, ml_clamp_s32)
EVAL_POOL(max_pool_s16, pool_integer_params, int16_t, int16_t, INT16_MIN, max_s16, KEEP,
          ml_clamp_s32)

#define ROW(type, params, operation) \
    ML_KERNEL(#operation "_2d_" #type, params, sizeof(ml_window), 0, prepare_pool, operation##_##type)
ML_KERNELS(pooling) = {
    ROW(f32, pool_float_params, average_pool),
    ROW(s8, pool_integer_params, average_pool),
    ROW(u8, pool_integer_params, average_pool),
    ROW(s16, pool_integer_params, average_pool),
    ROW(f32, pool_float_params, max_pool),
    ROW(s8, pool_integer_params, max_pool),
    ROW(u8, pool_integer_params, max_pool),
    ROW(s16, pool_integer_params, max_pool),
    ML_KERNELS_END,
};
