/* one_hot.c -- ONE_HOT: for each index a line of `depth` elements along a new axis, with "on" at
 * the index and "off" elsewhere. For indices outside the line, all elements are "off". */
#include "rules/values.h"
#include "rules/work.h"

#define ONE_HOT_FIELDS(X, S) X(S, i32, axis)
ML_PARAMS(one_hot_params, ONE_HOT_FIELDS)

typedef struct one_hot_blob {
    int64_t outer; /* indices before the axis */
    int64_t depth;
    int64_t inner; /* indices after it */
} one_hot_blob;

static const char *const names[] = {"indices", "depth", "on", "off"};

static ml_status prepare_one_hot(const ml_call *c, ml_wish *wish) {
    const ml_shape *indices = &ml_input(c, 0)->shape;
    for (int i = 1; i < 4; i++)
        if (ml_elements(&ml_input(c, i)->shape) != 1)
            return ml_fail(c, ML_SHAPE_ERROR, "%s must be one value, it has %lld", names[i],
                           (long long)ml_elements(&ml_input(c, i)->shape));
    int32_t axis = ((const one_hot_params *)c->params)->axis;
    if (axis == -1) axis = indices->rank;
    if (axis < 0 || axis > indices->rank)
        return ml_fail(c, ML_SHAPE_ERROR, "axis %d, expected -1 to %d", axis, indices->rank);
    const void *value = ml_value(c, 1);
    if (!value) return ml_open(wish, 0);
    int64_t depth;
    ml_read_index(ml_input(c, 1), value, 0, &depth);
    if (depth < 0)
        return ml_fail(c, ML_SHAPE_ERROR, "depth is %lld, expected 0 or more", (long long)depth);
    ml_shape shape = {.rank = 0};
    ml_status status = ml_append_dims(c, &shape, indices, 0, axis);
    if (status == ML_OK) status = ml_append_dim(c, &shape, depth);
    if (status == ML_OK) status = ml_append_dims(c, &shape, indices, axis, indices->rank);
    if (status != ML_OK) return status;
    *(one_hot_blob *)c->blob = (one_hot_blob){ml_elements_of(indices, 0, axis), depth,
                                              ml_elements_of(indices, axis, indices->rank)};
    return ml_set_output(c, 0, &shape);
}

static ml_status put_on(const ml_call *c, int64_t first, int64_t end, int32_t worker, void *args) {
    const one_hot_blob *b = c->blob;
    const int64_t element = ml_type_bytes(ml_out_tensor(c, 0)->type);
    uint8_t *y = ml_out(c, 0);
    for (int64_t k = first; k < end; k++) {
        const int64_t o = k / b->inner, i = k % b->inner;
        int64_t index;
        ml_read_index(ml_in_tensor(c, 0), ml_in(c, 0), k, &index);
        if (index >= 0 && index < b->depth)
            memcpy(y + ((o * b->depth + index) * b->inner + i) * element, ml_in(c, 2),
                   (size_t)element);
    }
    return ML_OK;
}

static ml_status one_hot(const ml_call *c) {
    const one_hot_blob *b = c->blob;
    const ml_tensor *out = ml_out_tensor(c, 0);
    ml_status status =
        ml_fill_bytes(c, ml_out(c, 0), out->bytes, ml_in(c, 3), ml_type_bytes(out->type));
    if (status != ML_OK) return status;
    return ml_in_blocks(c, b->outer * b->inner, 1, put_on, NULL);
}

ML_KERNELS(one_hot) = {
    {ML_OP(ONE_HOT, 1, 1), .name = "one_hot", .takes = "indices depth on off -> y",
     .follows = ML_INPUT(2), ML_PARAMS_OF(one_hot_params), .blob_bytes = sizeof(one_hot_blob),
     .prepare = prepare_one_hot,
     ML_TYPED({"s32|s64 s32|s64 T T -> T: f32 s8 u8 b8 s32 s64", NULL, NULL, one_hot})},
    ML_KERNELS_END,
};
