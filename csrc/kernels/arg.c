/* arg.c -- ARG_MAX and ARG_MIN: the position of the largest or smallest element along a dimension;
 * of equal ones, the first; NaN is skipped. */
#include <string.h>

#include "rules/values.h"
#include "rules/work.h"
#include "simd/simd.h"

typedef struct arg_blob {
    int64_t outer;
    int64_t size;
    int64_t inner;
} arg_blob;

static ml_status prepare_arg(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    const ml_tensor *axes = ml_input(c, 1);
    arg_blob *blob = c->blob;
    if (ml_elements(&axes->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "axis must be one number, it has %lld",
                       (long long)ml_elements(&axes->shape));
    const void *value = ml_value(c, 1);
    if (!value) return ml_open_all(wish);
    int64_t wanted = 0;
    int32_t axis;
    ml_read_index(axes, value, 0, &wanted);
    ml_status status = ml_axis(c, wanted, x->rank, &axis);
    ml_shape y = {.rank = 0};
    if (status == ML_OK) status = ml_append_dims(c, &y, x, 0, axis);
    if (status == ML_OK) status = ml_append_dims(c, &y, x, axis + 1, x->rank);
    if (status != ML_OK) return status;
    *blob =
        (arg_blob){ml_elements_of(x, 0, axis), x->dims[axis], ml_elements_of(x, axis + 1, x->rank)};
    if (blob->size == 0 && ml_elements(&y) > 0)
        return ml_fail(c, ML_SHAPE_ERROR, "dimension %d is 0: there is nothing to choose from",
                       axis);
    return ml_set_output(c, 0, &y);
}

/* Along the channels: each pixel of the output needs that pixel. */
static bool window_of_arg(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params) {
    const ml_shape *x = &ml_input(c, 0)->shape, *y = &ml_output(c, 0)->shape;
    const arg_blob *blob = c->blob;
    const bool along = x->rank == 4 && blob->inner == 1 && blob->size == x->dims[3];
    in[0] = *out;
    return along && y->dims[1] == x->dims[1] && y->dims[2] == x->dims[2];
}

enum { LANES = 8 };

typedef struct positions {
    void *y;
    bool is_wide; /* int64 */
} positions;

static positions positions_of(const ml_call *c) {
    return (positions){ml_out(c, 0), ml_out_tensor(c, 0)->type == ML_S64};
}

static inline void put(positions p, int64_t at, int64_t found) {
    if (p.is_wide) ((int64_t *)p.y)[at] = found;
    else ((int32_t *)p.y)[at] = (int32_t)found;
}

/* Several neighbours at a time, `apart` elements from each other, without branches on values, which
 * the processor could not predict. Neighbours are elements after each other, or whole rows. READ is
 * AS_IT_IS, or IS_TRUE of bools, whose bytes need not be 0 and 1. */
#define AS_IT_IS(x) (x)
#define IS_TRUE(x) ((x) != 0)
#define ARG(name, element, READ, BETTER, WORST)                                                          \
    static ml_status name##_one(const ml_call *c, const element *from, int64_t *found,             \
                                int64_t *work) {                                                   \
        const arg_blob *b = c->blob;                                                               \
        element best = (WORST);                                                                    \
        ml_status status = ML_OK;                                                                  \
        *found = 0;                                                                                \
        for (int64_t k = 0, stop; k < b->size && status == ML_OK; k = stop) {                      \
            stop = ml_min_s64(k + ML_BLOCK_ELEMENTS, b->size);                                     \
            status = ml_count_work(c, stop - k, work);                                             \
            for (; k < stop; k++)                                                                  \
                if (READ(from[k * b->inner]) BETTER best) best = READ(from[k * b->inner]), *found = k;         \
        }                                                                                          \
        return status;                                                                             \
    }                                                                                              \
    __attribute__((always_inline)) static inline void name##_lanes(                                \
        const element *from, int64_t size, int64_t inner, int64_t apart, int32_t found[LANES]) {   \
        element best[LANES];                                                                       \
        for (int j = 0; j < LANES; j++) best[j] = (WORST), found[j] = 0;                           \
        for (int32_t k = 0; k < size; k++, from += inner)                                          \
            for (int j = 0; j < LANES; j++) {                                                      \
                const bool better = READ(from[j * apart]) BETTER best[j];                          \
                best[j] = better ? READ(from[j * apart]) : best[j];                                \
                found[j] = better ? k : found[j];                                                  \
            }                                                                                      \
    }                                                                                              \
    static ml_status name##_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,     \
                                 void *args) {                                                     \
        const arg_blob *b = c->blob;                                                               \
        const positions to = positions_of(c);                                                      \
        const bool rows = b->inner == 1;                                                           \
        int64_t work = 0, found;                                                                   \
        int32_t lanes[LANES];                                                                      \
        ml_status status = ML_OK;                                                                  \
        for (int64_t at = first; at < end && status == ML_OK;) {                                   \
            const int64_t rest = rows ? 0 : at % b->inner;                                         \
            const int64_t left = rows ? end - at : ml_min_s64(b->inner - rest, end - at);          \
            const element *from = (const element *)ml_in(c, 0) + (at - rest) * b->size + rest;     \
            if (left >= LANES && b->size <= ML_BLOCK_ELEMENTS / LANES) {                           \
                if (rows) name##_lanes(from, b->size, 1, b->size, lanes);                          \
                else name##_lanes(from, b->size, b->inner, 1, lanes);                              \
                for (int j = 0; j < LANES; j++) put(to, at++, lanes[j]);                           \
                status = ml_count_work(c, LANES * b->size, &work);                                 \
            } else {                                                                               \
                status = name##_one(c, from, &found, &work);                                       \
                put(to, at++, found);                                                              \
            }                                                                                      \
        }                                                                                          \
        return status;                                                                             \
    }                                                                                              \
    static ml_status name(const ml_call *c) {                                                      \
        const arg_blob *b = c->blob;                                                               \
        return ml_in_blocks(c, b->outer * b->inner, b->size, name##_some, NULL);                   \
    }
#define ARGS(suffix, type, READ, LEAST, MOST) \
    ARG(max_##suffix, type, READ, >, LEAST)   \
    ARG(min_##suffix, type, READ, <, MOST)
ARGS(any_f32, float, AS_IT_IS, -__builtin_inff(), __builtin_inff())
ARGS(s8, int8_t, AS_IT_IS, INT8_MIN, INT8_MAX)
ARGS(u8, uint8_t, AS_IT_IS, 0, UINT8_MAX)
ARGS(b8, uint8_t, IS_TRUE, 0, 1)
ARGS(s32, int32_t, AS_IT_IS, INT32_MIN, INT32_MAX)

/* Longer rows of floats: a primitive finds the best value, then its first position is searched. */
enum { SHORT_FLOATS = 64, SHORT_BYTES = 5 };

static int64_t find(const float *x, int64_t n, float best) {
    enum { STRETCH = 32 };
    int64_t i = 0;
    for (; i + STRETCH <= n; i += STRETCH) {
        int32_t found = 0;
        for (int k = 0; k < STRETCH; k++) found |= x[i + k] == best;
        if (found) break;
    }
    while (i < n && x[i] != best) i++;
    return i;
}

static ml_status rows_f32(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                          void *args) {
    const arg_blob *b = c->blob;
    const int32_t function = *(const int32_t *)args;
    const float worst = function == ML_FOLD_MAX ? -__builtin_inff() : __builtin_inff();
    const positions to = positions_of(c);
    int64_t work = 0;
    ml_status status = ML_OK;
    float best;
    ml_fold_f32_args fold = {.y = &best, .rows = 1, .function = function};
    for (int64_t row = first; row < end && status == ML_OK; row++) {
        const float *x = (const float *)ml_in(c, 0) + row * b->size;
        best = worst;
        for (int64_t k = 0; k < b->size && status == ML_OK; k += fold.n) {
            fold.x = x + k;
            fold.n = ml_min_s64(b->size - k, ML_BLOCK_ELEMENTS);
            c->env->simd->fold_f32(&fold);
            status = ml_count_work(c, fold.n, &work);
        }
        put(to, row, best == worst ? 0 : find(x, b->size, best));
    }
    return status;
}

#define ARG_F32(name, function)                                                                    \
    static ml_status name##_f32(const ml_call *c) {                                                \
        const arg_blob *b = c->blob;                                                               \
        int32_t which = (function);                                                                \
        if (b->inner != 1 || b->size <= SHORT_FLOATS) return name##_any_f32(c);                    \
        return ml_in_blocks(c, b->outer, b->size, rows_f32, &which);                               \
    }
ARG_F32(max, ML_FOLD_MAX)
ARG_F32(min, ML_FOLD_MIN)

/* Longer rows of bytes: the same for some rows at a time; `flip` (^) makes them unsigned bytes
 * in the order wanted. */
static void arg_bytes(const ml_call *c, int64_t first, int64_t end, uint8_t flip) {
    enum { SOME = 32 };
    const int64_t size = ((const arg_blob *)c->blob)->size;
    const positions to = positions_of(c);
    uint8_t best[SOME];
    ml_fold_u8_args fold = {.y = best, .n = size, .stride = size, .flip = flip};
    for (int64_t at = first; at < end; at += SOME) {
        fold.x = (const uint8_t *)ml_in(c, 0) + at * size;
        fold.rows = ml_min_s64(SOME, end - at);
        memset(best, flip, SOME);
        c->env->simd->fold_u8(&fold);
        for (int64_t r = 0; r < fold.rows; r++) {
            const uint8_t *row = fold.x + r * size;
            put(to, at + r, (const uint8_t *)memchr(row, best[r], (size_t)size) - row);
        }
    }
}

#define ARG_BYTES(name, FLIP)                                                                      \
    static ml_status name##_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker,     \
                                 void *args) {                                                     \
        arg_bytes(c, first, end, FLIP);                                                            \
        return ML_OK;                                                                              \
    }                                                                                              \
    static ml_status name##_bytes(const ml_call *c) {                                              \
        const arg_blob *b = c->blob;                                                               \
        if (b->inner != 1 || b->size <= SHORT_BYTES) return name(c);                               \
        return ml_in_blocks(c, b->outer, b->size, name##_rows, NULL);                              \
    }
ARG_BYTES(max_s8, 0x80)
ARG_BYTES(max_u8, 0)
ARG_BYTES(min_s8, 0x7F)
ARG_BYTES(min_u8, 0xFF)

#define ARG_ROW(operator, kernel_name, which)                                                     \
    {ML_OP(operator, 1, 3), .name = (kernel_name), .takes = "x axis -> y",                    \
     .blob_bytes = (int32_t)sizeof(arg_blob), .prepare = prepare_arg,                         \
     .window = window_of_arg,                                                                  \
     ML_TYPED({"f32 s32|s64 -> s32|s64", NULL, NULL, which##_f32},                            \
              {"s8 s32|s64 -> s32|s64", NULL, NULL, which##_s8_bytes},                        \
              {"u8 s32|s64 -> s32|s64", NULL, NULL, which##_u8_bytes},                        \
              {"b8 s32|s64 -> s32|s64", NULL, NULL, which##_b8},                              \
              {"s32 s32|s64 -> s32|s64", NULL, NULL, which##_s32})}
ML_KERNELS(arg) = {ARG_ROW(ARG_MAX, "arg_max", max), ARG_ROW(ARG_MIN, "arg_min", min),
                   ML_KERNELS_END};
