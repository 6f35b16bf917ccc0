/* join.c -- CONCATENATION along a dimension, PACK along a new one: for every outer position, a run from each input. */
#include "rules/nest.h"

/* axis may be negative. A uint8 CONCATENATION whose inputs have other scales than its output goes through a table of 256
 * bytes an input. */
#define JOIN_FIELDS(X, S) X(S, i32, axis)
ML_PARAMS(join_params, JOIN_FIELDS)
#define TABLES_FIELDS(X, S) X(S, i32, axis) X(S, array, tables)
ML_PARAMS(tables_params, TABLES_FIELDS)

typedef struct join_blob {
    int64_t outer; /* positions before the axis */
    int64_t inner; /* bytes of one index of the axis */
    int64_t step; /* bytes of an outer position of the output */
    int32_t axis; /* dimension of the inputs that is joined; -1: each input is one index */
} join_blob;

static int64_t product(const int32_t *dims, int32_t first, int32_t end) {
    ml_shape some = {.rank = end - first};
    memcpy(some.dims, dims + first, (size_t)some.rank * sizeof *dims);
    return ml_elements(&some);
}

/* Sets the output's shape and the blob; the joined dimension is number `axis` of the output. */
static ml_status finish(const ml_call *c, const ml_shape *shape, int32_t axis, bool packed) {
    join_blob *blob = c->blob;
    ml_status status = ml_set_output(c, 0, shape);
    if (status != ML_OK || ml_elements(shape) == 0) return status;
    blob->outer = product(shape->dims, 0, axis);
    blob->inner =
        product(shape->dims, axis + 1, shape->rank) * ml_type_bytes(ml_output(c, 0)->type);
    blob->step = blob->inner * shape->dims[axis];
    blob->axis = packed ? -1 : axis;
    return ML_OK;
}

/* The axis counted from the front, -1 (and the error) when it is none of `rank`. */
static int32_t find_axis(const ml_call *c, int32_t axis, int32_t rank) {
    int32_t counted = axis < 0 ? axis + rank : axis;
    if (counted >= 0 && counted < rank) return counted;
    ml_fail(c, ML_SHAPE_ERROR, "axis %d, expected %d to %d", axis, -rank, rank - 1);
    return -1;
}

static ml_status prepare_pack(const ml_call *c, ml_wish *wish) {
    const join_params *params = c->params;
    const ml_shape *first = &ml_input(c, 0)->shape;
    if (first->rank == ML_MAX_RANK)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "inputs of rank %d would make an output of rank %d, at most %d is supported",
                       first->rank, first->rank + 1, ML_MAX_RANK);
    int32_t axis = find_axis(c, params->axis, first->rank + 1);
    if (axis < 0) return ML_SHAPE_ERROR;
    for (int i = 1; i < c->n_inputs; i++) {
        char one[96], other[96];
        if (!ml_same_shape(first, &ml_input(c, i)->shape))
            return ml_fail(c, ML_SHAPE_ERROR, "input 0 has the shape %s, input %d %s",
                           ml_shape_text(first, one), i,
                           ml_shape_text(&ml_input(c, i)->shape, other));
    }
    ml_shape shape = {.rank = first->rank + 1};
    for (int32_t d = 0; d < shape.rank; d++)
        shape.dims[d] = d == axis ? c->n_inputs : first->dims[d < axis ? d : d - 1];
    return finish(c, &shape, axis, true);
}

/* Scalars join to a vector (LiteRT takes only constant ones). */
static ml_status prepare_concatenation(const ml_call *c, ml_wish *wish) {
    const int32_t *params_axis = c->params; /* the first field of both kinds of parameters */
    const ml_shape *first = &ml_input(c, 0)->shape;
    bool scalars = first->rank == 0 && *params_axis == 0;
    int32_t axis = scalars ? 0 : find_axis(c, *params_axis, first->rank);
    if (axis < 0) return ML_SHAPE_ERROR;
    ml_shape shape = *first;
    int64_t total = 0;
    for (int i = 0; i < c->n_inputs; i++) {
        ml_shape other = ml_input(c, i)->shape;
        bool same = other.rank == first->rank;
        if (same && !scalars) {
            total += other.dims[axis];
            other.dims[axis] = first->dims[axis];
        }
        if (!same || !ml_same_shape(first, &other)) {
            char one[96], another[96];
            return ml_fail(c, ML_SHAPE_ERROR,
                           "input 0 has the shape %s, input %d %s: they differ beyond axis %d",
                           ml_shape_text(first, one), i,
                           ml_shape_text(&ml_input(c, i)->shape, another), axis);
        }
    }
    if (scalars) {
        shape.rank = 1;
        total = c->n_inputs;
    }
    if (total > INT32_MAX)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "dimension %d of the result would be %lld, at most %d fits", axis,
                       (long long)total, INT32_MAX);
    shape.dims[axis] = (int32_t)total;
    return finish(c, &shape, axis, scalars);
}

static int64_t run_of(const ml_call *c, const join_blob *blob, int i) {
    return blob->axis < 0 ? blob->inner : blob->inner * ml_in_tensor(c, i)->shape.dims[blob->axis];
}

static ml_status join(const ml_call *c) {
    const join_blob *blob = c->blob;
    uint8_t *y = ml_out(c, 0);
    if (ml_out_tensor(c, 0)->bytes == 0) return ML_OK;
    for (int i = 0; i < c->n_inputs; i++) {
        int64_t run = run_of(c, blob, i);
        ml_copy_runs(y, ml_in(c, i), run, (ml_turns){1, 0, 0}, (ml_turns){blob->outer, blob->step, run});
        y += run;
    }
    return ML_OK;
}

static ml_status concatenation_u8(const ml_call *c) {
    const tables_params *params = c->params;
    const join_blob *blob = c->blob;
    uint8_t *y = ml_out(c, 0);
    if (ml_out_tensor(c, 0)->bytes == 0) return ML_OK;
    for (int i = 0; i < c->n_inputs; i++) {
        const uint8_t *x = ml_in(c, i), *table = (const uint8_t *)params->tables.data + 256 * i;
        int64_t run = run_of(c, blob, i);
        for (int64_t k = 0; k < blob->outer; k++)
            for (int64_t j = 0; j < run; j++) y[k * blob->step + j] = table[x[k * run + j]];
        y += run;
    }
    return ML_OK;
}

ML_KERNELS(join) = {
    ML_KERNEL("pack", join_params, sizeof(join_blob), 0, prepare_pack, join),
    ML_KERNEL("concatenation", join_params, sizeof(join_blob), 0, prepare_concatenation, join),
    ML_KERNEL("concatenation_u8", tables_params, sizeof(join_blob), 0, prepare_concatenation,
              concatenation_u8),
    ML_KERNELS_END,
};
