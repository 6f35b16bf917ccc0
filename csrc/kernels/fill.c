/* fill.c -- FILL, ZEROS_LIKE: one value everywhere; RANGE: numbers from start to limit by a
 * step. */
#include <math.h>

#include "rules/checks.h"
#include "rules/strings.h"
#include "rules/values.h"
#include "rules/work.h"

static ml_status prepare_fill(const ml_call *c, ml_wish *wish) {
    const ml_tensor *dims = ml_input(c, 0);
    const void *value = ml_value(c, 0);
    ml_shape shape = {.rank = 0};
    char text[96];
    if (dims->shape.rank != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "dims have the shape %s, expected a vector",
                       ml_shape_text(&dims->shape, text));
    if (ml_elements(&ml_input(c, 1)->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the value has the shape %s, expected one element",
                       ml_shape_text(&ml_input(c, 1)->shape, text));
    if (!value && dims->shape.dims[0] > 0) return ml_open(wish, 0);
    for (int32_t d = 0; d < dims->shape.dims[0]; d++) {
        int64_t dim;
        ml_read_index(dims, value, d, &dim);
        if (dim < 0)
            return ml_fail(c, ML_SHAPE_ERROR, "dimension %d is %lld, expected 0 or more", d,
                           (long long)dim);
        ml_status status = ml_append_dim(c, &shape, dim);
        if (status != ML_OK) return status;
    }
    return ml_set_output(c, 0, &shape);
}

static ml_status fill(const ml_call *c) {
    const ml_tensor *y = ml_out_tensor(c, 0);
    return ml_fill_bytes(c, ml_out(c, 0), y->bytes, ml_in(c, 1), ml_type_bytes(y->type));
}

static ml_status pick_first(const ml_call *c, int64_t k, int64_t *index) {
    *index = 0;
    return ML_OK;
}

static ml_status fill_strings(const ml_call *c) {
    return ml_pick_strings(c, 1, 0, ml_elements(&ml_out_tensor(c, 0)->shape), pick_first);
}

static ml_status prepare_zeros(const ml_call *c, ml_wish *wish) {
    return ml_set_output(c, 0, &ml_input(c, 0)->shape);
}

static ml_status zeros(const ml_call *c) {
    const int64_t nothing = 0;
    const int64_t element = ml_type_bytes(ml_out_tensor(c, 0)->type);
    return ml_fill_bytes(c, ml_out(c, 0), ml_out_tensor(c, 0)->bytes, &nothing, element);
}

/* The count of numbers from start up or down to limit (exclusive); negative if the step does not
 * lead there. */
static int64_t count_integers(const ml_call *c) {
    int64_t of[3];
    for (int i = 0; i < 3; i++) ml_read_index(ml_input(c, i), ml_value(c, i), 0, &of[i]);
    if (of[2] == 0 || (of[0] != of[1] && (of[0] < of[1]) != (of[2] > 0))) return -1;
    uint64_t low = (uint64_t)(of[2] > 0 ? of[0] : of[1]);
    uint64_t high = (uint64_t)(of[2] > 0 ? of[1] : of[0]);
    uint64_t step = of[2] > 0 ? (uint64_t)of[2] : 0 - (uint64_t)of[2];
    uint64_t count = (high - low) / step + ((high - low) % step != 0);
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

static int64_t count_floats(const ml_call *c) {
    float start = *(const float *)ml_value(c, 0), limit = *(const float *)ml_value(c, 1);
    float step = *(const float *)ml_value(c, 2);
    bool leads = (start <= limit && step > 0) || (start >= limit && step < 0);
    float count = ceilf(fabsf((limit - start) / step));
    return !leads || isnan(count) ? -1 : count < 0x1p31f ? (int64_t)count : INT64_MAX;
}

static ml_status prepare_range(const ml_call *c, ml_wish *wish) {
    static const char *const names[] = {"start", "limit", "delta"};
    bool known = true;
    char text[96];
    for (int i = 0; i < 3; i++) {
        const ml_shape *shape = &ml_input(c, i)->shape;
        if (ml_elements(shape) != 1)
            return ml_fail(c, ML_SHAPE_ERROR, "%s has the shape %s, expected one element", names[i],
                           ml_shape_text(shape, text));
        known &= ml_value(c, i) != NULL;
    }
    if (!known) return ml_open(wish, 0);
    int64_t count = ml_input(c, 0)->type == ML_F32 ? count_floats(c) : count_integers(c);
    if (count < 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "delta has the wrong sign or is 0: it does not lead from start to limit");
    ml_shape shape = {.rank = 0};
    ml_status status = ml_append_dim(c, &shape, count);
    return status == ML_OK ? ml_set_output(c, 0, &shape) : status;
}

/* Adds the step again and again; each sum is rounded. */
static ml_status range_f32(const ml_call *c) {
    float at = *(const float *)ml_in(c, 0), *y = ml_out(c, 0);
    const float step = *(const float *)ml_in(c, 2);
    const int64_t count = ml_out_tensor(c, 0)->shape.dims[0];
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t i = 0, end; i < count && status == ML_OK;) {
        end = ml_min_s64(count, i + ML_BLOCK_ELEMENTS);
        status = ml_count_work(c, end - i, &work);
        for (; i < end; i++, at += step) y[i] = at;
    }
    return status;
}

/* Integers, computed in the unsigned `type`, which wraps. */
#define RANGE(name, type)                                                                       \
    static ml_status name##_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,  \
                                 void *args) {                                                  \
        const type step = *(const type *)ml_in(c, 2);                                           \
        type *y = ml_out(c, 0), at = *(const type *)ml_in(c, 0) + (type)first * step;           \
        for (int64_t i = first; i < end; i++, at += step) y[i] = at;                            \
        return ML_OK;                                                                           \
    }                                                                                           \
    static ml_status name(const ml_call *c) {                                                   \
        return ml_in_blocks(c, ml_out_tensor(c, 0)->shape.dims[0], 1, name##_some, NULL);       \
    }
RANGE(range_s32, uint32_t)
RANGE(range_s64, uint64_t)

static ml_status check_fill(const ml_call *c, void *params) {
    return ml_check_same_scale(c, c->inputs[1], "the value");
}

ML_KERNELS(fill) = {
    {ML_OP(FILL, 1, 5), .name = "fill", .takes = "shape value -> y", .check = check_fill,
     .prepare = prepare_fill,
     ML_TYPED({"s32|s64 string -> string", NULL, NULL, fill_strings},
              {"s32|s64 T -> T: " ML_WHOLE_BYTES, NULL, NULL, fill})},
    {ML_OP(ZEROS_LIKE, 1, 1), .name = "zeros_like", .takes = "x -> y",
     .flags = ML_KERNEL_NEEDS_SHAPES_ONLY, .prepare = prepare_zeros,
     ML_TYPED({"T -> T: f32 s32 s64", NULL, NULL, zeros})},
    {ML_OP(RANGE, 1, 2), .name = "range", .takes = "start limit delta -> y",
     .prepare = prepare_range,
     ML_TYPED({"f32 f32 f32 -> f32", NULL, NULL, range_f32},
              {"s32 s32 s32 -> s32", NULL, NULL, range_s32},
              {"s64 s64 s64 -> s64", NULL, NULL, range_s64})},
    ML_KERNELS_END,
};
