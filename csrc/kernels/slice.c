/* slice.c -- STRIDED_SLICE: from each dimension every stride-th index of a range; ranges follow
 * numpy's rules. SLICE: a range of each, by its first index and its length. REVERSE_V2: reverses
 * some dimensions.
 *
 * The indices (begin, end, stride) are a specification: one entry per input dimension, but an entry
 * of ellipsis_mask covers several whole dimensions, one of new_axis_mask none, and one of
 * shrink_axis_mask takes a single index and drops the dimension. Prepare resolves it into one
 * slice_axis per input dimension. Values that do not affect the shape (the begin of a shrunk
 * dimension; with `offset`, where end counts from begin, every begin) may be unknown until the
 * run. */
#include "rules/checks.h"
#include "rules/nest.h"
#include "rules/pick.h"
#include "rules/values.h"
#include "rules/work.h"

#define SLICE_FIELDS(X, S)                                                                      \
    X(S, i32, begin_mask) X(S, i32, end_mask) X(S, i32, ellipsis_mask) X(S, i32, new_axis_mask) \
    X(S, i32, shrink_axis_mask) X(S, i32, offset)
ML_PARAMS(slice_params, SLICE_FIELDS)

/* The indices taken from one input dimension. */
typedef struct slice_axis {
    int32_t size;
    int32_t entry; /* of begin, end and strides; -1: none, all of it is taken */
    int64_t start;
    int64_t stride;
    int64_t count;
} slice_axis;

typedef struct slice_blob {
    ml_nest nest; /* in bytes of the input; of strings in strings */
    int8_t late[ML_MAX_RANK]; /* by input dimension: 1 + the entry of begin that eval reads, or 0 */
    bool whole; /* a single run, of a block at most, and nothing is late */
} slice_blob;

static bool in_mask(int32_t mask, int i) { return ((uint32_t)mask >> i & 1) != 0; }

static int64_t clamp_to(int64_t v, int64_t low, int64_t high) {
    return v < low ? low : v > high ? high : v;
}

/* The index at which a range with this stride enters or leaves a dimension: negative indices count
 * from its end, then all are clamped. */
static int64_t clamp_index(int64_t index, int64_t size, int64_t stride) {
    if (index < 0) index += size;
    return stride > 0 ? clamp_to(index, 0, size) : clamp_to(index, -1, size - 1);
}

/* The number of indices from start up to end (exclusive). */
static int64_t steps_between(int64_t start, int64_t end, int64_t stride) {
    int64_t distance = stride > 0 ? end - start : start - end, pace = stride > 0 ? stride : -stride;
    return distance <= 0 ? 0 : ml_ceil_div(distance, pace);
}

/* Only a shrunk dimension or an `offset` range can reach outside. */
static ml_status check_range(const ml_call *c, const slice_axis *a, int dimension,
                             ml_status status) {
    int64_t last = a->start + (a->count - 1) * a->stride;
    if (a->count == 0 || (a->start >= 0 && a->start < a->size && last >= 0 && last < a->size))
        return ML_OK;
    if (a->count == 1)
        return ml_fail(c, status, "index %lld is outside dimension %d of size %d",
                       (long long)a->start, dimension, a->size);
    return ml_fail(c, status, "indices %lld to %lld lie outside dimension %d of size %d",
                   (long long)a->start, (long long)last, dimension, a->size);
}

/* begin, end and strides as far as they are known, and the status for an index outside. */
typedef struct slice_values {
    const int32_t *begin;
    const int32_t *end;
    const int32_t *strides;
    ml_status outside;
} slice_values;

/* Applies its entry to an axis; *open is set if a value that the shape needs is unknown. */
static ml_status resolve_axis(const ml_call *c, const slice_values *v, slice_axis *a, int dimension,
                              bool *open) {
    const slice_params *params = c->params;
    int i = a->entry;
    bool shrink = in_mask(params->shrink_axis_mask, i), to_end = in_mask(params->end_mask, i);
    bool from_edge = in_mask(params->begin_mask, i);
    a->stride = v->strides[i];
    if (a->stride == 0 || a->stride == INT32_MIN)
        return ml_fail(c, ML_SHAPE_ERROR, "stride %d of entry %d is not supported", v->strides[i],
                       i);
    bool begin_known = from_edge || v->begin;
    int64_t edge = a->stride > 0 ? 0 : (int64_t)a->size - 1;
    a->start = from_edge ? edge : v->begin ? clamp_index(v->begin[i], a->size, a->stride) : 0;
    if (shrink) {
        if (a->stride < 0)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "entry %d shrinks dimension %d with stride %d, expected more than 0", i,
                           dimension, v->strides[i]);
        a->count = 1;
    } else if (params->offset && !to_end) {
        if (!v->end) *open = true;
        a->count = v->end ? steps_between(0, v->end[i], a->stride) : 0;
    } else {
        if (!begin_known || (!to_end && !v->end)) *open = true;
        int64_t end = a->stride > 0 ? a->size : -1;
        if (!to_end && v->end) end = clamp_index(v->end[i], a->size, a->stride);
        a->count = steps_between(a->start, end, a->stride);
    }
    return begin_known ? check_range(c, a, dimension, v->outside) : ML_OK;
}

/* begin, end and strides (`given`) are vectors of one length; *n is it. */
static ml_status check_entries(const ml_call *c, const ml_tensor *const given[3], int32_t *n) {
    static const char *const names[] = {"begin", "end", "strides"};
    *n = given[0]->shape.dims[0];
    for (int i = 0; i < 3; i++) {
        const ml_shape *shape = &given[i]->shape;
        char text[96];
        if (shape->rank != 1)
            return ml_fail(c, ML_SHAPE_ERROR, "%s has the shape %s, expected a vector", names[i],
                           ml_shape_text(shape, text));
        if (shape->dims[0] != *n)
            return ml_fail(c, ML_SHAPE_ERROR, "begin has %d entries, %s has %d", *n, names[i],
                           shape->dims[0]);
    }
    if (*n <= 31) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "%d entries, at most 31 are supported", *n);
}

/* Goes through the entries along the input's dimensions. */
static ml_status resolve(const ml_call *c, const slice_values *v, slice_axis *axes, int32_t rank,
                         int32_t n, ml_shape *shape, bool *open) {
    const slice_params *params = c->params;
    int32_t axis = 0, entries = 0;
    bool ellipsis = false;
    ml_status status = ML_OK;
    for (int i = 0; i < n; i++)
        entries += !in_mask(params->ellipsis_mask | params->new_axis_mask, i);
    for (int i = 0; i < n && status == ML_OK; i++) {
        if (in_mask(params->ellipsis_mask, i)) {
            if (ellipsis) return ml_fail(c, ML_SHAPE_ERROR, "entry %d is a second ellipsis", i);
            ellipsis = true;
            /* At least one dimension, as in LiteRT; the entries that then find none left are
             * ignored. */
            int32_t width = rank - entries < 1 ? 1 : rank - entries;
            for (; width > 0 && axis < rank && status == ML_OK; width--)
                status = ml_append_dim(c, shape, axes[axis++].size);
        } else if (in_mask(params->new_axis_mask, i)) {
            status = ml_append_dim(c, shape, 1);
        } else if (axis < rank) {
            slice_axis *a = &axes[axis];
            a->entry = i;
            status = resolve_axis(c, v, a, axis++, open);
            if (status == ML_OK && !in_mask(params->shrink_axis_mask, i))
                status = ml_append_dim(c, shape, a->count);
        } else if (!ellipsis) {
            return ml_fail(c, ML_SHAPE_ERROR,
                           "begin has %d entries, the input has rank %d: there must not be more",
                           entries, rank);
        }
    }
    for (; axis < rank && status == ML_OK; axis++)
        status = ml_append_dim(c, shape, axes[axis].size);
    return status;
}

static void build(const ml_call *c, const ml_tensor *x, const slice_axis *axes, bool begin_known) {
    const slice_params *params = c->params;
    slice_blob *blob = c->blob;
    int64_t pitches[ML_MAX_RANK], pitch = ml_unit(x), start = 0;
    ml_nest_begin(&blob->nest, pitch);
    for (int32_t i = x->shape.rank - 1; i >= 0; i--) {
        bool late =
            !begin_known && axes[i].entry >= 0 && !in_mask(params->begin_mask, axes[i].entry);
        if (late) blob->late[i] = (int8_t)(axes[i].entry + 1);
        else start += axes[i].start * pitch;
        pitches[i] = pitch;
        pitch *= axes[i].size;
    }
    for (int32_t i = 0; i < x->shape.rank; i++)
        ml_nest_add(&blob->nest, axes[i].count,
                    axes[i].count > 1 ? axes[i].stride * pitches[i] : 0); /* else it may overflow */
    ml_nest_end(&blob->nest);
    blob->nest.start = start;
    blob->whole = blob->nest.n == 0 && begin_known && blob->nest.run <= ML_BLOCK_BYTES;
}

/* The bytes of input `i`, which is `t`, as far as they are known. */
static const int32_t *entries_of(const ml_call *c, int i, const ml_tensor *t) {
    return ml_known(t) ? ml_known(t) : ml_value(c, i);
}

static ml_status prepare_strided_slice(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0);
    const ml_tensor *const given[] = {ml_input(c, 1), ml_input(c, 2), ml_input(c, 3)};
    slice_axis axes[ML_MAX_RANK];
    int32_t n;
    ml_status status = check_entries(c, given, &n);
    if (status != ML_OK) return status;
    const slice_values values = {entries_of(c, 1, given[0]), entries_of(c, 2, given[1]),
                                 entries_of(c, 3, given[2]), ML_SHAPE_ERROR};
    if (n > 0 && !values.strides) return ml_open(wish, 0);
    for (int32_t i = 0; i < x->shape.rank; i++) {
        int32_t size = x->shape.dims[i];
        axes[i] = (slice_axis){.size = size, .entry = -1, .stride = 1, .count = size};
    }
    ml_shape shape = {.rank = 0};
    bool open = false;
    status = resolve(c, &values, axes, x->shape.rank, n, &shape, &open);
    if (status != ML_OK) return status;
    if (open) return ml_open(wish, 0);
    status = ml_set_output(c, 0, &shape);
    if (status == ML_OK) build(c, x, axes, values.begin != NULL);
    return status;
}

/* Adds the begins that are known only now to *start. */
static ml_status add_late(const ml_call *c, int64_t *start) {
    const slice_blob *blob = c->blob;
    const ml_tensor *x = ml_in_tensor(c, 0);
    int64_t pitch = ml_unit(x), any;
    memcpy(&any, blob->late, sizeof any);
    for (int32_t i = x->shape.rank - 1; i >= 0 && any; i--) {
        slice_axis a = {.size = x->shape.dims[i], .entry = blob->late[i] - 1};
        if (a.entry >= 0) {
            const slice_values values = {ml_in(c, 1), ml_in(c, 2), ml_in(c, 3), ML_KERNEL_ERROR};
            bool open;
            ml_status status = resolve_axis(c, &values, &a, i, &open);
            if (status != ML_OK) return status;
            *start += a.start * pitch;
        }
        pitch *= a.size;
    }
    return ML_OK;
}

static ml_status strided_slice(const ml_call *c) {
    const slice_blob *blob = c->blob;
    int64_t start = 0;
    if (blob->whole) {
        ml_copy_some(ml_out(c, 0), (const uint8_t *)ml_in(c, 0) + blob->nest.start, blob->nest.run);
        return ML_OK;
    }
    ml_status status = add_late(c, &start);
    if (status != ML_OK) return status;
    return ml_nest_gather(c, &blob->nest, (const uint8_t *)ml_in(c, 0) + start, ml_out(c, 0));
}

static ml_status pick(const ml_call *c, int64_t k, int64_t *index) {
    *index = ml_nest_at(&((const slice_blob *)c->blob)->nest, k);
    return add_late(c, index);
}

static ml_status strided_slice_picked(const ml_call *c) { return ml_pick_elements(c, pick); }

/* SLICE ---------------------------------------------------------------------------------------- */

typedef struct box_blob {
    ml_nest nest; /* in bytes of the input; of strings and packed types in elements */
    bool late; /* begin is known only in the run; the nest starts at 0 */
} box_blob;

/* The offset of the first element of a box, times the unit. */
static ml_status box_start(const ml_call *c, const ml_shape *box, const void *begin,
                           ml_status outside, int64_t *start) {
    const ml_tensor *x = ml_input(c, 0);
    int64_t pitch = ml_unit(x), first;
    *start = 0;
    for (int32_t d = x->shape.rank - 1; d >= 0; pitch *= x->shape.dims[d--]) {
        ml_read_index(ml_input(c, 1), begin, d, &first);
        if (first < 0 || first > x->shape.dims[d] - box->dims[d])
            return ml_fail(c, outside,
                           "%d indices from %lld on lie outside dimension %d of size %d",
                           box->dims[d], (long long)first, d, x->shape.dims[d]);
        *start += first * pitch;
    }
    return ML_OK;
}

/* The shape of the box; *open if it depends on an unknown begin. */
static ml_status box_shape(const ml_call *c, const void *begin, const void *size, ml_shape *box,
                           bool *open) {
    for (int32_t d = 0; d < box->rank; d++) {
        int64_t count, first = 0, whole = box->dims[d];
        ml_read_index(ml_input(c, 2), size, d, &count);
        if (count < -1 || count > whole)
            return ml_fail(c, ML_SHAPE_ERROR, "size %lld of dimension %d, expected -1 to %lld",
                           (long long)count, d, (long long)whole);
        if (count == -1 && begin) ml_read_index(ml_input(c, 1), begin, d, &first);
        if (first < 0 || first > whole)
            return ml_fail(c, ML_SHAPE_ERROR, "begin %lld of dimension %d, expected 0 to %lld",
                           (long long)first, d, (long long)whole);
        *open |= count == -1 && !begin;
        box->dims[d] = (int32_t)(count == -1 ? whole - first : count);
    }
    return ML_OK;
}

static ml_status prepare_slice(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0);
    const void *begin = ml_value(c, 1), *size = ml_value(c, 2);
    ml_shape box = x->shape;
    char text[96];
    for (int i = 1; i <= 2; i++) {
        const ml_shape *given = &ml_input(c, i)->shape;
        if (given->rank != 1 || given->dims[0] != box.rank)
            return ml_fail(c, ML_SHAPE_ERROR, "%s has the shape %s, the input rank %d",
                           i == 1 ? "begin" : "size", ml_shape_text(given, text), box.rank);
    }
    if (!size && box.rank > 0) return ml_open(wish, 0);
    bool open = false;
    int64_t start = 0, pitches[ML_MAX_RANK];
    ml_status status = box_shape(c, begin, size, &box, &open);
    if (status == ML_OK && open) return ml_open(wish, 0);
    if (status == ML_OK && begin) status = box_start(c, &box, begin, ML_SHAPE_ERROR, &start);
    if (status == ML_OK) status = ml_set_output(c, 0, &box);
    if (status != ML_OK) return status;
    box_blob *blob = c->blob;
    blob->late = !begin;
    ml_pitches(x, pitches);
    ml_nest_begin(&blob->nest, ml_unit(x));
    for (int32_t d = 0; d < box.rank; d++) ml_nest_add(&blob->nest, box.dims[d], pitches[d]);
    ml_nest_end(&blob->nest);
    blob->nest.start = start;
    return ML_OK;
}

static ml_status pick_in_box(const ml_call *c, int64_t k, int64_t *index) {
    const box_blob *blob = c->blob;
    int64_t start = 0;
    ml_status status = ML_OK;
    if (blob->late)
        status = box_start(c, &ml_out_tensor(c, 0)->shape, ml_in(c, 1), ML_KERNEL_ERROR, &start);
    *index = start + ml_nest_at(&blob->nest, k);
    return status;
}

static ml_status slice(const ml_call *c) {
    const box_blob *blob = c->blob;
    const ml_tensor *y = ml_out_tensor(c, 0);
    int64_t start = 0;
    ml_status status = ML_OK;
    if (blob->late) status = box_start(c, &y->shape, ml_in(c, 1), ML_KERNEL_ERROR, &start);
    if (status != ML_OK) return status;
    if (y->type == ML_STRING) return ml_pick_elements(c, pick_in_box);
    if (y->bytes == 0) return ML_OK; /* called to check begin */
    if (ml_type_bytes(y->type) == 0)
        return ml_gather_nibbles(c, &blob->nest, start, ml_in(c, 0), ml_out(c, 0));
    return ml_nest_gather(c, &blob->nest, (const uint8_t *)ml_in(c, 0) + start, ml_out(c, 0));
}

/* REVERSE_V2 ----------------------------------------------------------------------------------- */

static ml_status prepare_reverse(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0);
    const ml_shape *given = &ml_input(c, 1)->shape;
    int64_t pitches[ML_MAX_RANK], start = 0;
    int32_t axes[ML_MAX_RANK];
    char text[96];
    if (given->rank != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "axes have the shape %s, expected a vector",
                       ml_shape_text(given, text));
    if (!ml_value(c, 1) && given->dims[0] > 0) return ml_open(wish, 0);
    ml_status status = ml_read_axes(c, 1, "axes", x->shape.rank, axes);
    if (status == ML_OK) status = ml_set_output(c, 0, &x->shape);
    if (status != ML_OK) return status;
    ml_nest_begin(c->blob, ml_unit(x));
    ml_pitches(x, pitches);
    for (int32_t i = 0; i < given->dims[0]; i++) {
        start += (x->shape.dims[axes[i]] - 1) * pitches[axes[i]];
        pitches[axes[i]] = -pitches[axes[i]];
    }
    for (int32_t d = 0; d < x->shape.rank; d++) ml_nest_add(c->blob, x->shape.dims[d], pitches[d]);
    ml_nest_end(c->blob);
    ((ml_nest *)c->blob)->start = start;
    return ML_OK;
}

ML_KERNELS(slice) = {
    {ML_OP(STRIDED_SLICE, 1, 8), .name = "strided_slice", .takes = "x begin end strides -> y",
     ML_PARAMS_OF(slice_params), .blob_bytes = sizeof(slice_blob), .prepare = prepare_strided_slice,
     ML_TYPED({"T s32 s32 s32 -> T: " ML_WHOLE_BYTES, NULL, NULL, strided_slice},
              {"string s32 s32 s32 -> string", NULL, NULL, strided_slice_picked})},
    {ML_OP(SLICE, 1, 8), .name = "slice", .flags = ML_KERNEL_REFUSES_VALUES,
     .takes = "x begin size -> y", .blob_bytes = sizeof(box_blob), .prepare = prepare_slice,
     ML_TYPED({"T s32 s32 -> T: " ML_WHOLE_BYTES " s4 string", NULL, NULL, slice},
              {"T s64 s64 -> T: " ML_WHOLE_BYTES " s4 string", NULL, NULL, slice})},
    {ML_OP(REVERSE_V2, 1, 4), .name = "reverse_v2", .takes = "x axes -> y",
     .blob_bytes = sizeof(ml_nest), .prepare = prepare_reverse,
     ML_TYPED({"T s32 -> T: " ML_WHOLE_BYTES " string", NULL, NULL, ml_nest_move})},
    ML_KERNELS_END,
};
