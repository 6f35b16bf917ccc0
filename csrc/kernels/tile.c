/* tile.c -- TILE: repeats the input along each dimension; BROADCAST_TO: repeats dimensions of size
 * 1 up to a given shape. */
#include "rules/checks.h"
#include "rules/nest.h"
#include "rules/pick.h"
#include "rules/values.h"
#include "rules/work.h"

static ml_status prepare_tile(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape, *multiples = &ml_input(c, 1)->shape;
    const void *value = ml_value(c, 1);
    ml_shape shape = {.rank = 0};
    char text[96];
    if (multiples->rank != 1 || multiples->dims[0] != x->rank)
        return ml_fail(c, ML_SHAPE_ERROR, "multiples have the shape %s, the input rank %d",
                       ml_shape_text(multiples, text), x->rank);
    if (!value && x->rank > 0) return ml_open(wish, 0);
    for (int32_t d = 0; d < x->rank; d++) {
        int64_t times;
        ml_read_index(ml_input(c, 1), value, d, &times);
        if (times < 0 || times > INT32_MAX)
            return ml_fail(c, ML_SHAPE_ERROR, "multiple %d is %lld, expected 0 to %d", d,
                           (long long)times, INT32_MAX);
        ml_status status = ml_append_dim(c, &shape, times * x->dims[d]);
        if (status != ML_OK) return status;
    }
    return ml_set_output(c, 0, &shape);
}

/* The next element to copy, and its place in the output. */
typedef struct tiling {
    const uint8_t *from;
    uint8_t *to;
    int64_t element; /* bytes */
    int64_t work;
} tiling;

/* Writes all indices of dimension `d` once, then copies them for the remaining repetitions. */
static ml_status tile_from(const ml_call *c, int32_t d, tiling *t) {
    const ml_shape *x = &ml_in_tensor(c, 0)->shape, *y = &ml_out_tensor(c, 0)->shape;
    const int64_t bytes = ml_elements_of(x, d, x->rank) * t->element;
    ml_status status = ML_OK;
    uint8_t *first = t->to;
    if (d == x->rank || ml_elements_of(x, d + 1, x->rank) == ml_elements_of(y, d + 1, y->rank)) {
        memcpy(t->to, t->from, (size_t)bytes);
        t->from += bytes;
        t->to += bytes;
    } else {
        for (int32_t i = 0; i < x->dims[d] && status == ML_OK; i++) status = tile_from(c, d + 1, t);
    }
    if (d == x->rank || status != ML_OK) return status;
    const int64_t made = t->to - first, times = y->dims[d] / x->dims[d];
    ml_repeat(first, made, times - 1);
    t->to += made * (times - 1);
    return ml_count_work(c, made * times, &t->work);
}
/* Items are next to each other: the indices of all dimensions before dimension `depth`. */
static ml_status tile_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    const ml_shape *x = &ml_in_tensor(c, 0)->shape, *y = &ml_out_tensor(c, 0)->shape;
    const int32_t depth = *(const int32_t *)args;
    const int64_t element = ml_type_bytes(ml_out_tensor(c, 0)->type);
    const int64_t from = ml_elements_of(x, depth, x->rank), to = ml_elements_of(y, depth, y->rank);
    tiling t = {(const uint8_t *)ml_in(c, 0) + first * from * element,
                (uint8_t *)ml_out(c, 0) + first * to * element, element, 0};
    ml_status status = ML_OK;
    if (from == to) memcpy(t.to, t.from, (size_t)((end - first) * to * element));
    for (int64_t i = first; from < to && i < end && status == ML_OK; i++)
        status = tile_from(c, depth, &t);
    return status;
}

/* Items are the indices of the dimensions before the first repeated one. If there are none, they
 * are the indices of that dimension itself, and the result is then repeated as a whole. */
static ml_status tile(const ml_call *c) {
    const ml_tensor *tensor = ml_out_tensor(c, 0);
    const ml_shape *x = &ml_in_tensor(c, 0)->shape, *y = &tensor->shape;
    int32_t depth = 0;
    while (depth < x->rank && x->dims[depth] == y->dims[depth]) depth++;
    if (depth == x->rank) return ml_copy_bytes(c, ml_out(c, 0), ml_in(c, 0), tensor->bytes);
    const bool whole = ml_elements_of(x, 0, depth) == 1;
    const int64_t times = y->dims[depth] / x->dims[depth];
    depth += whole;
    const int64_t items = ml_elements_of(x, 0, depth);
    const int64_t bytes = ml_elements_of(y, depth, y->rank) * ml_type_bytes(tensor->type);
    const ml_status status = ml_in_blocks(c, items, bytes, tile_some, &depth);
    if (!whole || status != ML_OK) return status;
    return ml_repeat_run(c, ml_out(c, 0), items * bytes, times - 1);
}

/* `index` holds the previous element: within a row of the input, the wanted one is the next. */
static ml_status pick_in_tile(const ml_call *c, int64_t k, int64_t *index) {
    const ml_shape *x = &ml_in_tensor(c, 0)->shape, *y = &ml_out_tensor(c, 0)->shape;
    int64_t pitch = 1;
    const uint32_t row = x->rank > 0 ? (uint32_t)x->dims[x->rank - 1] : 1;
    if (k > 0 && (uint32_t)(*index + 1) % row != 0) {
        ++*index;
        return ML_OK;
    }
    *index = 0;
    for (int32_t d = x->rank - 1; d >= 0; d--) {
        *index += k % y->dims[d] % x->dims[d] * pitch;
        k /= y->dims[d];
        pitch *= x->dims[d];
    }
    return ML_OK;
}

static ml_status tile_strings(const ml_call *c) { return ml_pick_elements(c, pick_in_tile); }

static ml_status prepare_broadcast_to(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0), *given = ml_input(c, 1);
    const void *value = ml_value(c, 1);
    ml_shape shape = {.rank = 0};
    char text[96], other[96];
    if (given->shape.rank != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "shape has the shape %s, expected a vector",
                       ml_shape_text(&given->shape, text));
    if (!value && given->shape.dims[0] > 0) return ml_open(wish, 0);
    /* The wanted shape. */
    ml_status status = ML_OK;
    for (int32_t d = 0; d < given->shape.dims[0] && status == ML_OK; d++) {
        int64_t dim;
        ml_read_index(given, value, d, &dim);
        if (dim < 0)
            return ml_fail(c, ML_SHAPE_ERROR, "dimension %d is %lld, expected 0 or more", d,
                           (long long)dim);
        status = ml_append_dim(c, &shape, dim);
    }
    if (status != ML_OK) return status;
    /* Dimensions from the right; those of 1 are repeated, with a step of 0. */
    int64_t steps[ML_MAX_RANK] = {0}, pitch = ml_unit(x);
    int32_t more = shape.rank - x->shape.rank;
    bool fits = more >= 0;
    for (int32_t d = x->shape.rank - 1; fits && d >= 0; pitch *= x->shape.dims[d--]) {
        fits = x->shape.dims[d] == 1 || x->shape.dims[d] == shape.dims[d + more];
        steps[d + more] = x->shape.dims[d] == 1 ? 0 : pitch;
    }
    if (!fits)
        return ml_fail(c, ML_SHAPE_ERROR, "shape %s does not broadcast to %s",
                       ml_shape_text(&x->shape, text), ml_shape_text(&shape, other));
    status = ml_set_output(c, 0, &shape);
    if (status != ML_OK) return status;
    ml_nest_begin(c->blob, ml_unit(x));
    for (int32_t d = 0; d < shape.rank; d++) ml_nest_add(c->blob, shape.dims[d], steps[d]);
    ml_nest_end(c->blob);
    return ML_OK;
}

ML_KERNELS(tile) = {
    {ML_OP(TILE, 1, 3), .name = "tile", .takes = "x multiples -> y", .prepare = prepare_tile,
     ML_TYPED({"T s32|s64 -> T: " ML_WHOLE_BYTES, NULL, NULL, tile},
              {"string s32|s64 -> string", NULL, NULL, tile_strings})},
    {ML_OP(BROADCAST_TO, 2, 4), .name = "broadcast_to", .takes = "x shape -> y",
     .blob_bytes = sizeof(ml_nest), .prepare = prepare_broadcast_to,
     ML_TYPED({"T s32|s64 -> T: " ML_WHOLE_BYTES " string", NULL, NULL, ml_nest_move})},
    ML_KERNELS_END,
};
