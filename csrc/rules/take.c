/* take.c -- copies slices chosen by indices, one after the other. */
#include "rules/take.h"

#include "rules/nest.h"
#include "rules/pick.h"
#include "rules/values.h"
#include "rules/work.h"

ml_status ml_prepare_take(const ml_call *c, int32_t batch, int32_t end, int32_t axis,
                          int32_t depth) {
    const ml_shape *x = &ml_input(c, 0)->shape, *indices = &ml_input(c, 1)->shape;
    ml_shape y = {.rank = 0};
    batch += batch < 0 ? end : 0;
    if (batch < 0 || batch > axis || batch > end)
        return ml_fail(c, ML_SHAPE_ERROR, "batch_dims is %d, axis %d, the rank of indices %d",
                       batch, axis, indices->rank);
    for (int32_t d = 0; d < batch; d++)
        if (x->dims[d] != indices->dims[d])
            return ml_fail(c, ML_SHAPE_ERROR,
                           "batch dimension %d is %d in the input, %d in the indices", d,
                           x->dims[d], indices->dims[d]);
    ml_status status = ml_append_dims(c, &y, x, 0, axis);
    if (status == ML_OK) status = ml_append_dims(c, &y, indices, batch, end);
    if (status == ML_OK) status = ml_append_dims(c, &y, x, axis + depth, x->rank);
    if (status != ML_OK) return status;
    *(ml_take *)c->blob = (ml_take){.outer = ml_elements_of(x, 0, axis),
                                    .alike = ml_elements_of(x, batch, axis),
                                    .count = ml_elements_of(indices, batch, end),
                                    .size = ml_elements_of(x, axis, axis + depth),
                                    .inner = ml_elements_of(x, axis + depth, x->rank),
                                    .axis = axis,
                                    .depth = depth};
    return ml_set_output(c, 0, &y);
}

/* The numbers of the slices for indices from number `first` on, counted over the indexed axes. */
static ml_status read_slices(const ml_call *c, int64_t first, int64_t n, int64_t *slices) {
    const ml_take *t = c->blob;
    const int32_t *dims = ml_in_tensor(c, 0)->shape.dims + t->axis;
    ml_status status = ML_OK;
    if (t->depth == 1) return ml_read_indices(c, 1, first, n, t->size, slices);
    for (int64_t i = 0; i < n; i++) {
        slices[i] = 0;
        for (int32_t d = 0; d < t->depth && status == ML_OK; d++) {
            int64_t index;
            status = ml_read_indices(c, 1, (first + i) * t->depth + d, 1, dims[d], &index);
            slices[i] = slices[i] * dims[d] + index;
        }
    }
    return status;
}

static ml_status taken_index(const ml_call *c, int64_t k, int64_t *index) {
    const ml_take *t = c->blob;
    int64_t slice = k / t->inner, o = slice / t->count;
    ml_status status = read_slices(c, o / t->alike * t->count + slice % t->count, 1, index);
    *index = (o * t->size + *index) * t->inner + k % t->inner;
    return status;
}

/* Copies slices first .. end - 1 of the output. */
static ml_status some_slices(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    const ml_take *t = c->blob;
    const int64_t run = *(const int64_t *)args;
    int64_t slices[256], n;
    for (int64_t k = first; k < end; k += n) {
        const int64_t o = k / t->count, i = k % t->count;
        n = ml_min_s64(ml_min_s64(t->count - i, 256), end - k);
        ml_status status = read_slices(c, o / t->alike * t->count + i, n, slices);
        if (status != ML_OK) return status;
        ml_copy_indexed((uint8_t *)ml_out(c, 0) + k * run,
                        (const uint8_t *)ml_in(c, 0) + o * t->size * run, run, slices, n);
    }
    return ML_OK;
}

ml_status ml_take_slices(const ml_call *c) {
    const ml_take *t = c->blob;
    int64_t run = t->inner * ml_type_bytes(ml_in_tensor(c, 0)->type);
    if (ml_type_bytes(ml_in_tensor(c, 0)->type) == 0) return ml_pick_elements(c, taken_index);
    if (run <= ML_BLOCK_BYTES)
        return ml_in_blocks(c, t->outer * t->count, run / 4, some_slices, &run);
    ml_status status = ML_OK;
    for (int64_t k = 0, slice; k < t->outer * t->count && status == ML_OK; k++) {
        const int64_t o = k / t->count;
        status = read_slices(c, o / t->alike * t->count + k % t->count, 1, &slice);
        if (status == ML_OK)
            status = ml_copy_bytes(c, (uint8_t *)ml_out(c, 0) + k * run,
                                   (const uint8_t *)ml_in(c, 0) + (o * t->size + slice) * run, run);
    }
    return status;
}
