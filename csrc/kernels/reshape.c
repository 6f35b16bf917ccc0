/* reshape.c -- RESHAPE, SQUEEZE and EXPAND_DIMS (the same elements with another shape), SHAPE and
 * RANK (a shape as a tensor of numbers). */
#include "rules/checks.h"
#include "rules/strings.h"
#include "rules/values.h"
#include "rules/work.h"

/* Input 1 holds the shape if it is an int32 vector; else new_shape (int32) does. */
#define RESHAPE_FIELDS(X, S) X(S, array, new_shape)
ML_PARAMS(reshape_params, RESHAPE_FIELDS)

/* The requested shape, with -1 for the remaining dimension; *count is its rank, *open says that its
 * value is not known yet. */
static const int32_t *target_shape(const ml_call *c, int64_t *count, bool *open) {
    const reshape_params *params = c->params;
    const ml_tensor *tensor = ml_input(c, 1);
    *open = false;
    if (tensor && tensor->type == ML_S32 && tensor->shape.rank == 1) {
        const int32_t *value = ml_value(c, 1);
        *count = tensor->shape.dims[0];
        *open = value == NULL && *count > 0;
        return value;
    }
    *count = params->new_shape.bytes / (int64_t)sizeof(int32_t);
    return params->new_shape.data;
}

/* The product of the dimensions other than 0 and -1; -1 if it exceeds an int64. */
static int64_t nonzero_elements(const ml_shape *shape) {
    ml_shape some = {.rank = 0};
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] > 0) some.dims[some.rank++] = shape->dims[i];
    return ml_elements(&some);
}

/* The dimension that `shape` lacks, according to the number of elements of `from`. If both sides
 * have dimensions of 0, the other dimensions decide, as in LiteRT: (0, 3) as (0, -1) is (0, 3). */
static int64_t missing_dimension(const ml_shape *from, const ml_shape *shape) {
    int64_t others = nonzero_elements(shape);
    bool zero = false;
    for (int32_t i = 0; i < shape->rank; i++) zero |= shape->dims[i] == 0;
    if (others < 0) return 1; /* too many elements without it */
    return ml_elements(from) != 0 || zero ? nonzero_elements(from) / others : 0;
}

static ml_status read_target(const ml_call *c, const int32_t *value, int64_t count, ml_shape *shape,
                             int32_t *wildcard) {
    if (count > ML_MAX_RANK)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "the new shape has %lld dimensions, at most %d are supported",
                       (long long)count, ML_MAX_RANK);
    shape->rank = (int32_t)count;
    for (int32_t i = 0; i < shape->rank; i++) {
        shape->dims[i] = value[i];
        if (value[i] < -1)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "dimension %d of the new shape is %d, expected -1 or more", i, value[i]);
        if (value[i] == -1 && *wildcard >= 0)
            return ml_fail(c, ML_SHAPE_ERROR, "dimensions %d and %d of the new shape are both -1",
                           *wildcard, i);
        if (value[i] == -1) *wildcard = i;
    }
    return ML_OK;
}

static ml_status prepare_reshape(const ml_call *c, ml_wish *wish) {
    const ml_shape *from = &ml_input(c, 0)->shape;
    int64_t count;
    bool open;
    const int32_t *value = target_shape(c, &count, &open);
    if (open) return ml_open(wish, 0);
    ml_shape shape;
    int32_t wildcard = -1;
    ml_status status = read_target(c, value, count, &shape, &wildcard);
    if (status != ML_OK) return status;
    const ml_shape requested = shape;
    char old[96], new[96];
    if (wildcard >= 0) {
        const int64_t missing = missing_dimension(from, &shape);
        if (missing > INT32_MAX)
            return ml_fail(c, ML_SHAPE_ERROR, "reshape from %s to %s: dimension %d would be %lld",
                           ml_shape_text(from, old), ml_shape_text(&shape, new), wildcard,
                           (long long)missing);
        shape.dims[wildcard] = (int32_t)missing;
    }
    const int64_t elements = ml_elements(&shape);
    if (elements != ml_elements(from))
        return ml_fail(c, ML_SHAPE_ERROR, "reshape from %s, %lld elements, to %s, %s%lld elements",
                       ml_shape_text(from, old), (long long)ml_elements(from),
                       ml_shape_text(&requested, new), elements < 0 ? "more than " : "",
                       (long long)(elements < 0 ? INT64_MAX / 64 : elements));
    return ml_set_output(c, 0, &shape);
}

static ml_status reshape(const ml_call *c) {
    int64_t bytes = ml_out_tensor(c, 0)->bytes;
    return ml_out(c, 0) == ml_in(c, 0) ? ML_OK : ml_copy_bytes(c, ml_out(c, 0), ml_in(c, 0), bytes);
}

static ml_status reshape_strings(const ml_call *c) { return ml_copy_strings(c, 0, 0); }

/* The dimensions of 1 to remove, as int32; none: all of them. */
#define SQUEEZE_FIELDS(X, S) X(S, array, squeeze_dims)
ML_PARAMS(squeeze_params, SQUEEZE_FIELDS)

static ml_status prepare_squeeze(const ml_call *c, ml_wish *wish) {
    const squeeze_params *params = c->params;
    const ml_shape *from = &ml_input(c, 0)->shape;
    const int32_t *dims = params->squeeze_dims.data;
    int64_t count = params->squeeze_dims.bytes / (int64_t)sizeof *dims;
    bool goes[ML_MAX_RANK] = {false};
    for (int64_t i = 0; i < count; i++) {
        int32_t axis;
        ml_status status = ml_axis(c, dims[i], from->rank, &axis);
        if (status != ML_OK) return status;
        if (from->dims[axis] != 1)
            return ml_fail(c, ML_SHAPE_ERROR, "squeezed dimension %d has size %d, expected 1", axis,
                           from->dims[axis]);
        goes[axis] = true;
    }
    ml_shape shape = {.rank = 0};
    for (int32_t d = 0; d < from->rank; d++)
        if (count > 0 ? !goes[d] : from->dims[d] != 1) shape.dims[shape.rank++] = from->dims[d];
    return ml_set_output(c, 0, &shape);
}

static ml_status prepare_expand_dims(const ml_call *c, ml_wish *wish) {
    const ml_shape *from = &ml_input(c, 0)->shape, *given = &ml_input(c, 1)->shape;
    const void *value = ml_value(c, 1);
    ml_shape shape = {.rank = 0};
    char text[96];
    int64_t at;
    int32_t axis;
    if (ml_elements(given) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "axis has the shape %s, expected one element",
                       ml_shape_text(given, text));
    if (!value) return ml_open(wish, 0);
    ml_read_index(ml_input(c, 1), value, 0, &at);
    ml_status status = ml_axis(c, at, from->rank + 1, &axis);
    if (status == ML_OK) status = ml_append_dims(c, &shape, from, 0, axis);
    if (status == ML_OK) status = ml_append_dim(c, &shape, 1);
    if (status == ML_OK) status = ml_append_dims(c, &shape, from, axis, from->rank);
    return status == ML_OK ? ml_set_output(c, 0, &shape) : status;
}

static ml_status prepare_rank(const ml_call *c, ml_wish *wish) {
    return ml_set_output(c, 0, &(ml_shape){.rank = 0});
}

static ml_status rank(const ml_call *c) {
    *(int32_t *)ml_out(c, 0) = ml_in_tensor(c, 0)->shape.rank;
    return ML_OK;
}

static ml_status prepare_shape(const ml_call *c, ml_wish *wish) {
    return ml_set_output(c, 0, &(ml_shape){.rank = 1, .dims = {ml_input(c, 0)->shape.rank}});
}

static ml_status shape_s32(const ml_call *c) {
    const ml_shape *shape = &ml_in_tensor(c, 0)->shape;
    int32_t *y = ml_out(c, 0);
    for (int32_t i = 0; i < shape->rank; i++) y[i] = shape->dims[i];
    return ML_OK;
}

static ml_status shape_s64(const ml_call *c) {
    const ml_shape *shape = &ml_in_tensor(c, 0)->shape;
    int64_t *y = ml_out(c, 0);
    for (int32_t i = 0; i < shape->rank; i++) y[i] = shape->dims[i];
    return ML_OK;
}

/* Old files write a scalar's shape as [0]. */
static ml_status check_reshape(const ml_call *c, void *params) {
    ml_array *shape = &((reshape_params *)params)->new_shape;
    if (shape->bytes == (int64_t)sizeof(int32_t) && *(const int32_t *)shape->data == 0)
        *shape = (ml_array){0};
    return ML_OK;
}
/* The type is stated twice: in the option and in the output. */
static ml_status check_shape(const ml_call *c, void *params) {
    const int32_t type = ml_output(c, 0)->type;
    if (ml_option_of(c, "out_type").integer == type) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED, "out_type %s for an output of type %s is not supported",
                   ml_option_word(c, "out_type"), ml_type_name(type));
}
static ml_status check_expand_dims(const ml_call *c, void *params) {
    return ml_check_same_scale(c, c->inputs[0], "the input");
}

#define NUMBERS ML_WHOLE_BYTES " s4 u4 s2"
#define VIEW .flags = ML_KERNEL_IS_VIEW | ML_KERNEL_TFLITE_SHARES, .in_place = ML_INPUT(0)
ML_KERNELS(reshape) = {
    {ML_OP(RESHAPE, 1, 1), .name = "reshape", .takes = "x shape? -> y", VIEW,
     .check = check_reshape, ML_PARAMS_OF(reshape_params), .prepare = prepare_reshape,
     ML_TYPED({"string s32|s64? -> string", NULL, NULL, reshape_strings},
              {"T s32|s64? -> T: " NUMBERS, NULL, NULL, reshape})},
    {ML_OP(SHAPE, 1, 1), .name = "shape", .takes = "x -> y", .flags = ML_KERNEL_NEEDS_SHAPES_ONLY,
     .check = check_shape, .prepare = prepare_shape,
     ML_TYPED({"T -> s32: " NUMBERS " string resource", NULL, NULL, shape_s32},
              {"T -> s64: " NUMBERS " string resource", NULL, NULL, shape_s64})},
    {ML_OP(SQUEEZE, 1, 2), .name = "squeeze", .takes = "x -> y", VIEW, ML_PARAMS_OF(squeeze_params),
     .prepare = prepare_squeeze,
     ML_TYPED({"string -> string", NULL, NULL, reshape_strings},
              {"T -> T: " NUMBERS, NULL, NULL, reshape})},
    {ML_OP(EXPAND_DIMS, 1, 1), .name = "expand_dims", .takes = "x axis -> y", VIEW,
     .check = check_expand_dims, .prepare = prepare_expand_dims,
     ML_TYPED({"string s32|s64 -> string", NULL, NULL, reshape_strings},
              {"T s32|s64 -> T: " NUMBERS, NULL, NULL, reshape})},
    {ML_OP(RANK, 1, 1), .name = "rank", .takes = "x -> y", .flags = ML_KERNEL_NEEDS_SHAPES_ONLY,
     .prepare = prepare_rank, ML_TYPED({"T -> s32: " NUMBERS " string", NULL, NULL, rank})},
    ML_KERNELS_END,
};
