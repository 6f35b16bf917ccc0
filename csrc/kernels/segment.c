/* segment.c -- SEGMENT_SUM and UNSORTED_SEGMENT_SUM, _PROD, _MAX, _MIN: reduce rows of the input by
 * segment number. Numbers are checked; the unsorted operators skip negative ones. */
#include "rules/values.h"
#include "rules/work.h"

typedef struct segment_blob {
    int64_t count; /* of segment numbers */
    int64_t row; /* elements after each */
    int64_t segments;
} segment_blob;

static ml_status take_rows(const ml_call *c, int64_t segments) {
    const ml_shape *x = &ml_input(c, 0)->shape, *ids = &ml_input(c, 1)->shape;
    segment_blob *b = c->blob;
    char one[96], other[96];
    ml_shape begin = *x;
    begin.rank = ids->rank < x->rank ? ids->rank : x->rank;
    if (!ml_same_shape(&begin, ids))
        return ml_fail(c, ML_SHAPE_ERROR,
                       "segment numbers of shape %s do not match the input's shape %s",
                       ml_shape_text(ids, one), ml_shape_text(x, other));
    b->count = ml_elements(ids);
    b->row = ml_elements_of(x, ids->rank, x->rank);
    b->segments = segments;
    ml_shape y = {.rank = 0};
    ml_status status = ml_append_dim(c, &y, segments);
    if (status == ML_OK) status = ml_append_dims(c, &y, x, ids->rank, x->rank);
    return status == ML_OK ? ml_set_output(c, 0, &y) : status;
}

/* The last number is the largest. */
static ml_status prepare_sorted(const ml_call *c, ml_wish *wish) {
    const ml_tensor *ids = ml_input(c, 1);
    char text[96];
    if (ids->shape.rank != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "segment numbers must be a vector, their shape is %s",
                       ml_shape_text(&ids->shape, text));
    const int32_t *value = ml_value(c, 1);
    if (!value && ids->shape.dims[0] > 0) return ml_open_all(wish);
    int64_t last = -1;
    for (int32_t i = 0; i < ids->shape.dims[0]; i++) {
        if (value[i] < 0 || value[i] < last)
            return ml_fail(c, ML_SHAPE_ERROR, "segment number %d is %d, expected %lld or more", i,
                           value[i], (long long)(last < 0 ? 0 : last));
        last = value[i];
    }
    return take_rows(c, last + 1);
}

static ml_status prepare_unsorted(const ml_call *c, ml_wish *wish) {
    const ml_tensor *count = ml_input(c, 2);
    if (ml_elements(&count->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the number of segments must be one number, it has %lld",
                       (long long)ml_elements(&count->shape));
    const void *value = ml_value(c, 2);
    if (!value) return ml_open_all(wish);
    int64_t segments = 0;
    ml_read_index(count, value, 0, &segments);
    if (segments < 0)
        return ml_fail(c, ML_SHAPE_ERROR, "the number of segments is %lld, expected 0 or more",
                       (long long)segments);
    return take_rows(c, segments);
}

#define SEGMENT(name, type, START, STEP) \
    static ml_status name(const ml_call *c) { \
        const segment_blob *b = c->blob; \
        const type *x = ml_in(c, 0); \
        const int32_t *ids = ml_in(c, 1); \
        type *y = ml_out(c, 0); \
        const type start = (START); \
        const int64_t bytes = b->segments * b->row * (int64_t)sizeof(type); \
        ml_status status = ml_fill_bytes(c, y, bytes, &start, sizeof start); \
        int64_t work = 0; \
        for (int64_t i = 0; i < b->count && status == ML_OK; i++, x += b->row) { \
            if (ids[i] >= b->segments) \
                return ml_fail(c, ML_KERNEL_ERROR, "segment number %lld is %d, expected less than %lld", \
                               (long long)i, ids[i], (long long)b->segments); \
            type *to = y + ids[i] * b->row; \
            for (int64_t k = 0; ids[i] >= 0 && k < b->row; k++) to[k] = STEP(to[k], x[k]); \
            status = ml_count_work(c, b->row + 1, &work); \
        } \
        return status; \
    }
#define PLUS(a, b) ((a) + (b))
#define TIMES(a, b) ((a) * (b))
#define GREATER(a, b) ((b) > (a) ? (b) : (a))
#define LESS(a, b) ((b) < (a) ? (b) : (a))
SEGMENT(sum_f32, float, 0.0f, PLUS)
SEGMENT(sum_s32, uint32_t, 0, PLUS)
SEGMENT(prod_f32, float, 1.0f, TIMES)
SEGMENT(prod_s32, uint32_t, 1, TIMES)
SEGMENT(max_f32, float, -__FLT_MAX__, GREATER)
SEGMENT(max_s32, int32_t, INT32_MIN, GREATER)
SEGMENT(min_f32, float, __FLT_MAX__, LESS)
SEGMENT(min_s32, int32_t, INT32_MAX, LESS)

#define UNSORTED(operator, kernel_name, which)                                                  \
    {ML_OP(operator, 1, 1), .name = (kernel_name), .flags = ML_KERNEL_REFUSES_VALUES, .takes = "x segments count -> y",            \
     .blob_bytes = (int32_t)sizeof(segment_blob), .prepare = prepare_unsorted,                  \
     ML_TYPED({"f32 s32 s32 -> f32", NULL, NULL, which##_f32},                                  \
              {"s32 s32 s32 -> s32", NULL, NULL, which##_s32})}

ML_KERNELS(segment) = {
    {ML_OP(SEGMENT_SUM, 1, 1), .name = "segment_sum", .flags = ML_KERNEL_REFUSES_VALUES,
     .takes = "x segments -> y", .blob_bytes = (int32_t)sizeof(segment_blob),
     .prepare = prepare_sorted,
     ML_TYPED({"f32 s32 -> f32", NULL, NULL, sum_f32}, {"s32 s32 -> s32", NULL, NULL, sum_s32})},
    UNSORTED(UNSORTED_SEGMENT_SUM, "unsorted_segment_sum", sum),
    UNSORTED(UNSORTED_SEGMENT_PROD, "unsorted_segment_prod", prod),
    UNSORTED(UNSORTED_SEGMENT_MAX, "unsorted_segment_max", max),
    UNSORTED(UNSORTED_SEGMENT_MIN, "unsorted_segment_min", min),
    ML_KERNELS_END,
};
