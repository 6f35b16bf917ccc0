/* split.c -- SPLIT, SPLIT_V: cut a tensor along a dimension; UNPACK: into one tensor per index. For
 * every outer position, a run is copied to each output. */
#include "rules/checks.h"
#include "rules/values.h"
#include "rules/work.h"

typedef struct split_blob {
    int64_t outer; /* positions before the axis */
    int64_t step; /* bytes of an outer position of the input */
} split_blob;

static void fill_blob(const ml_call *c, const ml_tensor *x, int32_t axis) {
    *(split_blob *)c->blob =
        (split_blob){ml_elements_of(&x->shape, 0, axis),
                     ml_elements_of(&x->shape, axis, x->shape.rank) * ml_type_bytes(x->type)};
}

/* Reads the axis from input `i`; *known is false if it is known only in the run. */
static ml_status read_axis(const ml_call *c, int i, int32_t rank, int32_t *axis, bool *known) {
    const ml_shape *shape = &ml_input(c, i)->shape;
    const void *value = ml_value(c, i);
    int64_t given;
    char text[96];
    if (ml_elements(shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "axis has the shape %s, expected one element",
                       ml_shape_text(shape, text));
    *known = value != NULL;
    if (!value) return ML_OK;
    ml_read_index(ml_input(c, i), value, 0, &given);
    return ml_axis(c, given, rank, axis);
}

static ml_status prepare_split(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 1);
    int32_t axis;
    bool known;
    ml_status status = read_axis(c, 0, x->shape.rank, &axis, &known);
    if (status != ML_OK) return status;
    if (!known) return ml_open_all(wish);
    ml_shape part = x->shape;
    if (part.dims[axis] % c->n_outputs != 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "dimension %d of size %d cannot be split into %d equal parts", axis,
                       part.dims[axis], c->n_outputs);
    part.dims[axis] /= c->n_outputs;
    for (int i = 0; i < c->n_outputs && status == ML_OK; i++) status = ml_set_output(c, i, &part);
    fill_blob(c, x, axis);
    return status;
}

/* The size of part `i`; -1 means `left`. */
static int64_t part_size(const ml_call *c, const void *value, int i, int64_t left) {
    int64_t size;
    ml_read_index(ml_input(c, 1), value, i, &size);
    return size == -1 ? left : size;
}

static ml_status check_sizes(const ml_call *c, const void *value, int64_t whole, int64_t *left) {
    int64_t sum = 0;
    int open = -1;
    for (int i = 0; i < c->n_outputs; i++) {
        int64_t size = part_size(c, value, i, -1);
        if (size == -1 && open >= 0)
            return ml_fail(c, ML_SHAPE_ERROR, "sizes %d and %d are both -1", open, i);
        if (size < -1 || size > whole)
            return ml_fail(c, ML_SHAPE_ERROR, "size %d is %lld, expected -1 to %lld", i,
                           (long long)size, (long long)whole);
        if (size == -1) open = i;
        else sum += size;
    }
    *left = whole - sum;
    if (open >= 0 ? *left >= 0 : *left == 0) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "sizes add up to %lld, the dimension has %lld",
                   (long long)sum, (long long)whole);
}

static ml_status prepare_split_v(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0);
    const ml_shape *sizes = &ml_input(c, 1)->shape;
    const void *value = ml_value(c, 1);
    int32_t axis;
    int64_t left = 0;
    bool known;
    char text[96];
    if (sizes->rank != 1 || sizes->dims[0] != c->n_outputs)
        return ml_fail(c, ML_SHAPE_ERROR, "sizes have the shape %s, the node %d outputs",
                       ml_shape_text(sizes, text), c->n_outputs);
    ml_status status = read_axis(c, 2, x->shape.rank, &axis, &known);
    if (status != ML_OK) return status;
    if (!known || !value) return ml_open_all(wish);
    status = check_sizes(c, value, x->shape.dims[axis], &left);
    ml_shape part = x->shape;
    for (int i = 0; i < c->n_outputs && status == ML_OK; i++) {
        part.dims[axis] = (int32_t)part_size(c, value, i, left);
        status = ml_set_output(c, i, &part);
    }
    if (status == ML_OK) fill_blob(c, x, axis);
    return status;
}

#define UNPACK_FIELDS(X, S) X(S, i32, axis)
ML_PARAMS(unpack_params, UNPACK_FIELDS)

static ml_status prepare_unpack(const ml_call *c, ml_wish *wish) {
    const unpack_params *params = c->params;
    const ml_tensor *x = ml_input(c, 0);
    int32_t axis;
    ml_shape part = {.rank = 0};
    ml_status status = ml_axis(c, params->axis, x->shape.rank, &axis);
    if (status != ML_OK) return status;
    if (x->shape.dims[axis] != c->n_outputs)
        return ml_fail(c, ML_SHAPE_ERROR, "dimension %d has size %d, the node %d outputs", axis,
                       x->shape.dims[axis], c->n_outputs);
    ml_append_dims(c, &part, &x->shape, 0, axis);
    ml_append_dims(c, &part, &x->shape, axis + 1, x->shape.rank);
    for (int i = 0; i < c->n_outputs && status == ML_OK; i++) status = ml_set_output(c, i, &part);
    fill_blob(c, x, axis);
    return status;
}

static ml_status cut(const ml_call *c, int input) {
    const split_blob *blob = c->blob;
    const uint8_t *x = ml_in(c, input);
    ml_status status = ML_OK;
    const bool whole = blob->outer == 1 && blob->step <= ML_BLOCK_BYTES;
    for (int i = 0; i < c->n_outputs && whole; i++) {
        const int64_t run = ml_out_tensor(c, i)->bytes;
        ml_copy_some(ml_out(c, i), x, run);
        x += run;
    }
    if (whole) return ML_OK;
    for (int i = 0; i < c->n_outputs && status == ML_OK; i++) {
        const int64_t run = ml_out_tensor(c, i)->bytes / blob->outer;
        status = ml_move_runs(c, ml_out(c, i), x, run, (ml_turns){1, 0, 0},
                              (ml_turns){blob->outer, run, blob->step});
        x += run;
    }
    return status;
}

static ml_status split(const ml_call *c) { return cut(c, 1); }
static ml_status split_first(const ml_call *c) { return cut(c, 0); }

/* The option with the number of outputs must agree with the node. */
static ml_status check_count(const ml_call *c, const char *name) {
    const int64_t count = ml_option_of(c, name).integer;
    if (count == c->n_outputs) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED, "%s is %lld, the node has %d outputs", name, (long long)count,
                   c->n_outputs);
}
static ml_status check_split(const ml_call *c, void *params) {
    return check_count(c, "num_splits");
}
static ml_status check_unpack(const ml_call *c, void *params) {
    ml_status status = check_count(c, "num");
    return status == ML_OK ? ml_check_same_scale(c, c->inputs[0], "the input") : status;
}

ML_KERNELS(split) = {
    {ML_OP(SPLIT, 1, 5), .name = "split", .takes = "axis x -> parts...", .check = check_split,
     .blob_bytes = sizeof(split_blob), .prepare = prepare_split,
     ML_TYPED({"s32 T -> T...: " ML_WHOLE_BYTES, NULL, NULL, split})},
    {ML_OP(SPLIT_V, 1, 3), .name = "split_v", .takes = "x sizes axis -> parts...",
     .check = check_split, .blob_bytes = sizeof(split_blob), .prepare = prepare_split_v,
     ML_TYPED({"T s32|s64 s32 -> T...: " ML_WHOLE_BYTES, NULL, NULL, split_first})},
    {ML_OP(UNPACK, 1, 6), .name = "unpack", .takes = "x -> parts...", .check = check_unpack,
     ML_PARAMS_OF(unpack_params), .blob_bytes = sizeof(split_blob), .prepare = prepare_unpack,
     ML_TYPED({"T -> T...: " ML_WHOLE_BYTES, NULL, NULL, split_first})},
    ML_KERNELS_END,
};
