/* gather.c -- GATHER: the slices of an axis that indices name; with batch_dims, each batch by indices of its own.
 * GATHER_ND: what is left of the dimensions behind the axes that each row of indices names. */
#include "rules/nest.h"
#include "rules/pick.h"
#include "rules/values.h"

#define GATHER_FIELDS(X, S) X(S, i32, axis) X(S, i32, batch_dims)
ML_PARAMS(gather_params, GATHER_FIELDS)

typedef struct gather_blob {
    int64_t outer; /* positions of the input before the axis */
    int64_t alike; /* of these, how many share their indices */
    int64_t size; /* of the axis */
    int64_t count; /* indices for each */
    int64_t inner; /* elements behind the axis */
} gather_blob;

static ml_status prepare_gather(const ml_call *c, ml_wish *wish) {
    const gather_params *params = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape, *indices = &ml_input(c, 1)->shape;
    int32_t axis, batch = params->batch_dims + (params->batch_dims < 0 ? indices->rank : 0);
    ml_shape shape = {.rank = 0};
    ml_status status = ml_axis(c, params->axis, x->rank, &axis);
    if (status == ML_OK && (batch < 0 || batch > axis || batch > indices->rank))
        return ml_fail(c, ML_SHAPE_ERROR, "batch_dims is %d, axis %d, the rank of indices %d",
                       params->batch_dims, axis, indices->rank);
    for (int32_t d = 0; d < batch && status == ML_OK; d++)
        if (x->dims[d] != indices->dims[d])
            return ml_fail(c, ML_SHAPE_ERROR, "dimension %d is %d of the input, %d of indices", d,
                           x->dims[d], indices->dims[d]);
    if (status == ML_OK) status = ml_append_dims(c, &shape, x, 0, axis);
    if (status == ML_OK) status = ml_append_dims(c, &shape, indices, batch, indices->rank);
    if (status == ML_OK) status = ml_append_dims(c, &shape, x, axis + 1, x->rank);
    if (status != ML_OK) return status;
    *(gather_blob *)c->blob = (gather_blob){
        ml_elements_of(x, 0, axis), ml_elements_of(x, batch, axis), x->dims[axis],
        ml_elements_of(indices, batch, indices->rank), ml_elements_of(x, axis + 1, x->rank)};
    return ml_set_output(c, 0, &shape);
}

static ml_status gather(const ml_call *c) {
    const gather_blob *b = c->blob;
    int64_t run = b->inner * ml_type_bytes(ml_in_tensor(c, 0)->type), indices[256], n;
    const uint8_t *x = ml_in(c, 0);
    uint8_t *y = ml_out(c, 0);
    for (int64_t o = 0; o < b->outer; o++, x += b->size * run) {
        for (int64_t i = 0; i < b->count; i += n, y += n * run) {
            n = b->count - i < 256 ? b->count - i : 256;
            ml_status status =
                ml_read_indices(c, 1, o / b->alike * b->count + i, n, b->size, indices);
            if (status != ML_OK) return status;
            ml_copy_indexed(y, x, run, indices, n);
        }
    }
    return ML_OK;
}

static ml_status pick(const ml_call *c, int64_t k, int64_t *index) {
    const gather_blob *b = c->blob;
    int64_t slice = k / b->inner, o = slice / b->count, first = o / b->alike * b->count;
    ml_status status = ml_read_indices(c, 1, first + slice % b->count, 1, b->size, index);
    *index = (o * b->size + *index) * b->inner + k % b->inner;
    return status;
}

static ml_status gather_picked(const ml_call *c) { return ml_pick_elements(c, pick); }

/* GATHER_ND -------------------------------------------------------------------------------------------------------------- */

static ml_status prepare_gather_nd(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape, *indices = &ml_input(c, 1)->shape;
    ml_shape shape = {.rank = 0};
    if (x->rank < 1 || indices->rank < 1)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "input of rank %d, indices of rank %d, expected 1 or more", x->rank,
                       indices->rank);
    int32_t depth = indices->dims[indices->rank - 1];
    if (depth > x->rank)
        return ml_fail(c, ML_SHAPE_ERROR, "indices name %d axes, the input has rank %d", depth,
                       x->rank);
    ml_status status = ml_append_dims(c, &shape, indices, 0, indices->rank - 1);
    if (status == ML_OK) status = ml_append_dims(c, &shape, x, depth, x->rank);
    return status == ML_OK ? ml_set_output(c, 0, &shape) : status;
}

/* Which slice of the input row `row` of the indices names. */
static ml_status slice_of(const ml_call *c, int64_t row, int64_t *slice) {
    const ml_tensor *indices = ml_in_tensor(c, 1);
    const ml_shape *x = &ml_in_tensor(c, 0)->shape;
    int32_t depth = indices->shape.dims[indices->shape.rank - 1];
    *slice = 0;
    for (int32_t d = 0; d < depth; d++) {
        int64_t index;
        ml_read_index(indices, ml_in(c, 1), row * depth + d, &index);
        if (index < 0 || index >= x->dims[d])
            return ml_fail(c, ML_KERNEL_ERROR,
                           "index %lld of row %lld is outside dimension %d of size %d",
                           (long long)index, (long long)row, d, x->dims[d]);
        *slice = *slice * x->dims[d] + index;
    }
    return ML_OK;
}

/* Elements of a slice. */
static int64_t slice_elements(const ml_call *c) {
    const ml_shape *x = &ml_in_tensor(c, 0)->shape, *indices = &ml_in_tensor(c, 1)->shape;
    return ml_elements_of(x, indices->dims[indices->rank - 1], x->rank);
}

static ml_status gather_nd(const ml_call *c) {
    int64_t run = slice_elements(c) * ml_type_bytes(ml_in_tensor(c, 0)->type), slices[256], n;
    const ml_tensor *y = ml_out_tensor(c, 0);
    if (y->bytes == 0) return ML_OK;
    for (int64_t first = 0, rows = y->bytes / run; first < rows; first += n) {
        n = rows - first < 256 ? rows - first : 256;
        for (int64_t i = 0; i < n; i++) {
            ml_status status = slice_of(c, first + i, &slices[i]);
            if (status != ML_OK) return status;
        }
        ml_copy_indexed((uint8_t *)ml_out(c, 0) + first * run, ml_in(c, 0), run, slices, n);
    }
    return ML_OK;
}

static ml_status pick_nd(const ml_call *c, int64_t k, int64_t *index) {
    int64_t elements = slice_elements(c);
    ml_status status = slice_of(c, k / elements, index);
    *index = *index * elements + k % elements;
    return status;
}

static ml_status gather_nd_picked(const ml_call *c) { return ml_pick_elements(c, pick_nd); }

ML_KERNELS(gather) = {
    {.abi = ML_KERNEL_ABI,
     .name = "gather",
     ML_PARAMS_OF(gather_params),
     .blob_bytes = sizeof(gather_blob),
     .prepare = prepare_gather,
     ML_TYPED({"x1|x2|x4|x8|x16 s16|s32|s64 -> any", NULL, NULL, gather},
              {"s4|u4|string s16|s32|s64 -> any", NULL, NULL, gather_picked})},
    {.abi = ML_KERNEL_ABI,
     .name = "gather_nd",
     .prepare = prepare_gather_nd,
     ML_TYPED({"x1|x2|x4|x8|x16 s16|s32|s64 -> any", NULL, NULL, gather_nd},
              {"string s16|s32|s64 -> string", NULL, NULL, gather_nd_picked})},
    ML_KERNELS_END,
};
