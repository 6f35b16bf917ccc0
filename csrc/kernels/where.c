/* where.c -- WHERE with one input: the coordinates of the elements that are not 0, one row of int64 each, in order.
 * How many there are is data: prepare counts them when it has the values, else the node is dynamic. */
#include "kernel.h"

typedef struct where_blob {
    int64_t count; /* rows */
} where_blob;

typedef bool (*is_true_fn)(const void *x, int64_t i);

/* WHERE_KERNEL(f32, float): prepare_where_f32 and where_f32. */
#define WHERE_KERNEL(suffix, type)                                                                         \
    static bool is_true_##suffix(const void *x, int64_t i) { return ((const type *)x)[i] != 0; }           \
    static ml_status prepare_where_##suffix(const ml_call *c, ml_wish *wish) { return prepare_where(c, wish, is_true_##suffix); }  \
    static ml_status where_##suffix(const ml_call *c) { return where(c, is_true_##suffix); }

static inline ml_status prepare_where(const ml_call *c, ml_wish *wish, is_true_fn is_true) {
    const ml_shape *shape = &ml_input(c, 0)->shape;
    where_blob *blob = c->blob;
    if (shape->rank == 0)
        return ml_fail(c, ML_SHAPE_ERROR, "the condition has rank 0, expected 1 or more");
    int64_t elements = ml_elements(shape), count = 0;
    const void *x = ml_value(c, 0);
    if (!x && elements > 0) return ml_open_all(wish);
    for (int64_t i = 0; i < elements; i++) count += is_true(x, i);
    if (count > INT32_MAX)
        return ml_fail(c, ML_SHAPE_ERROR, "%lld elements are true, at most %d fit a dimension",
                       (long long)count, INT32_MAX);
    blob->count = count;
    return ml_set_output(c, 0, &(ml_shape){.rank = 2, .dims = {(int32_t)count, shape->rank}});
}

/* Steps the coordinates of all dimensions but the last to their next value. */
static inline void next_row(int64_t *at, const ml_shape *shape) {
    for (int32_t d = shape->rank - 2; d >= 0; d--) {
        if (++at[d] < shape->dims[d]) return;
        at[d] = 0;
    }
}

static inline ml_status where(const ml_call *c, is_true_fn is_true) {
    const where_blob *blob = c->blob;
    const ml_shape *shape = &ml_in_tensor(c, 0)->shape;
    const void *x = ml_in(c, 0);
    int64_t *y = ml_out(c, 0), at[ML_MAX_RANK] = {0};
    int64_t elements = ml_elements(shape), last = shape->dims[shape->rank - 1], rows = 0;
    for (int64_t start = 0; start < elements; start += last, next_row(at, shape)) {
        for (int64_t i = 0; i < last; i++) {
            if (!is_true(x, start + i) || rows++ >= blob->count) continue;
            for (int32_t d = 0; d < shape->rank - 1; d++) *y++ = at[d];
            *y++ = i;
        }
    }
    if (rows == blob->count) return ML_OK;
    return ml_fail(c, ML_KERNEL_ERROR,
                   "the condition changed while it was read: %lld elements were true, now %lld are",
                   (long long)blob->count, (long long)rows);
}

WHERE_KERNEL(b8, uint8_t)
WHERE_KERNEL(s8, int8_t)
WHERE_KERNEL(s32, int32_t)
WHERE_KERNEL(s64, int64_t)
WHERE_KERNEL(f32, float)

#define ROW(suffix) ML_KERNEL_NO_PARAMS("where_" #suffix, sizeof(where_blob), 0, prepare_where_##suffix, where_##suffix)
ML_KERNELS(where) = {ROW(b8), ROW(s8), ROW(s32), ROW(s64), ROW(f32), ML_KERNELS_END};
