/* scatter.c -- writes elements at indices. SCATTER_ND: adds slices up in a tensor of zeros.
 * SPARSE_TO_DENSE: writes single elements; of those with the same index, the last stays.
 * DYNAMIC_UPDATE_SLICE: writes one block, whose start is clamped so that it lies inside. */
#include "math/loops.h"
#include "rules/checks.h"
#include "rules/nest.h"
#include "rules/values.h"
#include "rules/work.h"

/* Reads a shape from a tensor's values; open while they are unknown. */
static ml_status shape_from(const ml_call *c, int input, const void *value, ml_shape *shape) {
    const ml_tensor *t = ml_input(c, input);
    const int64_t rank = ml_elements(&t->shape);
    char text[96];
    shape->rank = 0;
    if (t->shape.rank != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the output's shape must be a vector, it is of shape %s",
                       ml_shape_text(&t->shape, text));
    ml_status status = ML_OK;
    for (int64_t d = 0; d < rank && status == ML_OK; d++) {
        int64_t dim;
        ml_read_index(t, value, d, &dim);
        if (dim < 0)
            return ml_fail(c, ML_SHAPE_ERROR, "dimension %lld of the output's shape is %lld",
                           (long long)d, (long long)dim);
        status = ml_append_dim(c, shape, dim);
    }
    return status;
}

typedef struct scatter_blob {
    int64_t rows; /* of indices */
    int64_t run; /* elements after each */
    int32_t depth; /* indices in a row */
    int32_t step; /* elements from value to value; 0: one value for all */
} scatter_blob;

/* The position, in runs, of row `row` of the indices. */
static ml_status place(const ml_call *c, int64_t row, int64_t *to) {
    const scatter_blob *b = c->blob;
    const ml_shape *y = &ml_out_tensor(c, 0)->shape;
    *to = 0;
    for (int32_t d = 0; d < b->depth; d++) {
        int64_t index;
        ml_read_index(ml_in_tensor(c, 0), ml_in(c, 0), row * b->depth + d, &index);
        if (index < 0 || index >= y->dims[d])
            return ml_fail(c, ML_KERNEL_ERROR,
                           "index %lld of row %lld is outside dimension %d of size %d",
                           (long long)index, (long long)row, d, y->dims[d]);
        *to = *to * y->dims[d] + index;
    }
    return ML_OK;
}

/* SCATTER_ND ----------------------------------------------------------------------------------- */

static ml_status prepare_scatter_nd(const ml_call *c, ml_wish *wish) {
    const ml_shape *indices = &ml_input(c, 0)->shape, *updates = &ml_input(c, 1)->shape;
    const void *value = ml_value(c, 2);
    ml_shape shape, expected = {.rank = 0};
    char one[96], other[96];
    if (indices->rank < 1)
        return ml_fail(c, ML_SHAPE_ERROR, "indices have rank 0, expected 1 or more");
    if (!value && ml_elements(&ml_input(c, 2)->shape) > 0) return ml_open(wish, 0);
    ml_status status = shape_from(c, 2, value, &shape);
    if (status != ML_OK) return status;
    int32_t depth = indices->dims[indices->rank - 1];
    if (depth > shape.rank)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "rows of indices have %d numbers, the output's shape has %d", depth,
                       shape.rank);
    status = ml_append_dims(c, &expected, indices, 0, indices->rank - 1);
    if (status == ML_OK) status = ml_append_dims(c, &expected, &shape, depth, shape.rank);
    if (status != ML_OK) return status;
    if (!ml_same_shape(&expected, updates))
        return ml_fail(c, ML_SHAPE_ERROR, "updates have the shape %s, expected %s",
                       ml_shape_text(updates, one), ml_shape_text(&expected, other));
    *(scatter_blob *)c->blob = (scatter_blob){ml_elements_of(indices, 0, indices->rank - 1),
                                              ml_elements_of(&shape, depth, shape.rank), depth, 0};
    return ml_set_output(c, 0, &shape);
}

#define PLUS(a, b) (a) + (b)
#define OR(a, b) (a) | (b)
#define SCATTER_ND(suffix, type, JOIN) \
    static ml_status scatter_nd_##suffix(const ml_call *c) { \
        const int64_t rows = ((const scatter_blob *)c->blob)->rows; \
        const int64_t run = ((const scatter_blob *)c->blob)->run; \
        const type *x = ml_in(c, 1); \
        type *y = ml_out(c, 0); \
        const type nothing = 0; \
        int64_t work = 0; \
        ml_status status = ml_fill_bytes(c, y, ml_out_tensor(c, 0)->bytes, &nothing, sizeof nothing); \
        for (int64_t row = 0; row < rows && status == ML_OK; row++, x += run) { \
            int64_t at; \
            status = place(c, row, &at); \
            if (status != ML_OK) return status; \
            type *to = y + at * run; \
            ML_IVDEP for (int64_t i = 0; i < run; i++) to[i] = (type)(JOIN(to[i], x[i])); \
            status = ml_count_work(c, run + 1, &work); \
        } \
        return status; \
    }
SCATTER_ND(f32, float, PLUS)
SCATTER_ND(x1, uint8_t, PLUS)
SCATTER_ND(b8, uint8_t, OR)
SCATTER_ND(s32, uint32_t, PLUS)
SCATTER_ND(s64, uint64_t, PLUS)

/* SPARSE_TO_DENSE ------------------------------------------------------------------------------ */

static ml_status prepare_sparse_to_dense(const ml_call *c, ml_wish *wish) {
    const ml_shape *indices = &ml_input(c, 0)->shape, *values = &ml_input(c, 2)->shape;
    const int64_t standing = ml_elements(&ml_input(c, 3)->shape);
    const void *value = ml_value(c, 1);
    ml_shape shape;
    if (indices->rank > 2 || values->rank > 1)
        return ml_fail(c, ML_SHAPE_ERROR, "indices of rank %d, values of rank %d, at most 2 and 1",
                       indices->rank, values->rank);
    if (standing != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the default value must be one number, it has %lld",
                       (long long)standing);
    if (!value && ml_elements(&ml_input(c, 1)->shape) > 0) return ml_open(wish, 0);
    ml_status status = shape_from(c, 1, value, &shape);
    if (status != ML_OK) return status;
    int32_t depth = indices->rank == 2 ? indices->dims[1] : 1;
    int32_t rows = indices->rank == 0 ? 1 : indices->dims[0];
    if (depth != shape.rank)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "rows of indices have %d numbers, the output's shape has %d", depth,
                       shape.rank);
    if (values->rank == 1 && values->dims[0] != rows)
        return ml_fail(c, ML_SHAPE_ERROR, "%d values for %d rows of indices", values->dims[0],
                       rows);
    *(scatter_blob *)c->blob = (scatter_blob){rows, 1, depth, values->rank};
    return ml_set_output(c, 0, &shape);
}

static ml_status sparse_to_dense(const ml_call *c) {
    const scatter_blob *b = c->blob;
    const ml_tensor *out = ml_out_tensor(c, 0);
    const int64_t element = ml_type_bytes(out->type);
    const uint8_t *x = ml_in(c, 2);
    uint8_t *y = ml_out(c, 0);
    int64_t work = 0;
    ml_status status = ml_fill_bytes(c, y, out->bytes, ml_in(c, 3), element);
    for (int64_t row = 0; row < b->rows && status == ML_OK; row++) {
        int64_t at;
        status = place(c, row, &at);
        if (status != ML_OK) return status;
        memcpy(y + at * element, x + row * b->step * element, (size_t)element);
        status = ml_count_work(c, 1, &work);
    }
    return status;
}

/* DYNAMIC_UPDATE_SLICE ------------------------------------------------------------------------- */

typedef struct update_blob {
    ml_nest nest; /* of the update's elements in the whole */
    int64_t pitches[ML_MAX_RANK]; /* of one index, in the nest's units */
    int32_t room[ML_MAX_RANK]; /* the last index at which the update fits */
} update_blob;

static ml_status prepare_update(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0);
    const ml_shape *update = &ml_input(c, 1)->shape, *starts = &ml_input(c, 2)->shape;
    char one[96], other[96];
    bool fits = update->rank == x->shape.rank;
    for (int32_t d = 0; d < x->shape.rank && fits; d++) fits = update->dims[d] <= x->shape.dims[d];
    if (!fits)
        return ml_fail(c, ML_SHAPE_ERROR, "an update of shape %s does not fit into %s",
                       ml_shape_text(update, one), ml_shape_text(&x->shape, other));
    if (starts->rank != 1 || starts->dims[0] != x->shape.rank)
        return ml_fail(c, ML_SHAPE_ERROR, "start indices have the shape %s, expected (%d,)",
                       ml_shape_text(starts, one), x->shape.rank);
    ml_status status = ml_set_output(c, 0, &x->shape);
    if (status != ML_OK) return status;
    update_blob *b = c->blob;
    int64_t pitch = ml_type_bytes(x->type) > 0 ? ml_type_bytes(x->type) : 1;
    ml_nest_begin(&b->nest, pitch);
    for (int32_t d = x->shape.rank - 1; d >= 0; pitch *= x->shape.dims[d--]) {
        b->pitches[d] = pitch;
        b->room[d] = x->shape.dims[d] - update->dims[d];
    }
    for (int32_t d = 0; d < x->shape.rank; d++)
        ml_nest_add(&b->nest, update->dims[d], b->pitches[d]);
    ml_nest_end(&b->nest);
    return ML_OK;
}

/* The position of the update's first element, in the nest's units; each index is clamped so that
 * the update lies inside. */
static int64_t update_start(const ml_call *c) {
    const update_blob *b = c->blob;
    int64_t start = 0, index;
    for (int32_t d = 0; d < ml_in_tensor(c, 0)->shape.rank; d++) {
        ml_read_index(ml_in_tensor(c, 2), ml_in(c, 2), d, &index);
        start += (index < 0 ? 0 : index > b->room[d] ? b->room[d] : index) * b->pitches[d];
    }
    return start;
}

static ml_status dynamic_update_slice(const ml_call *c) {
    ml_status status = ML_OK;
    if (ml_out(c, 0) != ml_in(c, 0))
        status = ml_copy_bytes(c, ml_out(c, 0), ml_in(c, 0), ml_out_tensor(c, 0)->bytes);
    if (status != ML_OK || ml_in_tensor(c, 1)->bytes == 0) return status; /* of an empty update */
    return ml_nest_scatter(c, &((const update_blob *)c->blob)->nest, ml_in(c, 1),
                           (uint8_t *)ml_out(c, 0) + update_start(c));
}

static ml_status dynamic_update_slice_s4(const ml_call *c) {
    uint8_t *y = ml_out(c, 0);
    ml_status status = ML_OK;
    if (y != ml_in(c, 0)) status = ml_copy_bytes(c, y, ml_in(c, 0), ml_out_tensor(c, 0)->bytes);
    if (status != ML_OK || ml_in_tensor(c, 1)->bytes == 0) return status;
    return ml_scatter_nibbles(c, &((const update_blob *)c->blob)->nest, update_start(c),
                              ml_in(c, 1), y);
}

ML_KERNELS(scatter) = {
    {ML_OP(SCATTER_ND, 1, 1), .name = "scatter_nd", .flags = ML_KERNEL_REFUSES_VALUES,
     .takes = "indices updates shape -> y", .follows = ML_INPUT(1),
     .blob_bytes = sizeof(scatter_blob), .prepare = prepare_scatter_nd,
     ML_TYPED({"s32 f32 s32 -> f32", NULL, NULL, scatter_nd_f32},
              {"s32 T s32 -> T: s8 u8", NULL, NULL, scatter_nd_x1},
              {"s32 b8 s32 -> b8", NULL, NULL, scatter_nd_b8},
              {"s32 s32 s32 -> s32", NULL, NULL, scatter_nd_s32},
              {"s32 s64 s32 -> s64", NULL, NULL, scatter_nd_s64})},
    {ML_OP(SPARSE_TO_DENSE, 1, 3), .name = "sparse_to_dense", .flags = ML_KERNEL_REFUSES_VALUES,
     .takes = "indices shape values default -> y", .follows = ML_INPUT(2),
     .blob_bytes = sizeof(scatter_blob), .prepare = prepare_sparse_to_dense,
     ML_TYPED({"s32|s64 s32|s64 T T -> T: f32 s8 u8 s32 s64", NULL, NULL, sparse_to_dense})},
    {ML_OP(DYNAMIC_UPDATE_SLICE, 1, 6), .name = "dynamic_update_slice",
     .takes = "x update starts -> y", .flags = ML_KERNEL_TFLITE_SHARES, .in_place = ML_INPUT(0),
     .follows = ML_INPUT(0), .blob_bytes = sizeof(update_blob), .prepare = prepare_update,
     ML_TYPED({"T T s32|s64 -> T: " ML_WHOLE_BYTES, NULL, NULL, dynamic_update_slice},
              {"s4 s4 s32|s64 -> s4", NULL, NULL, dynamic_update_slice_s4})},
    ML_KERNELS_END,
};
