/* reduce.c -- the shape rule of reductions. */
#include "rules/reduce.h"

/* Reads the axes into a bit mask over the input's dimensions; negative ones count from the end. */
static ml_status read_axes(const ml_call *c, const void *axes, int32_t rank, uint32_t *mask) {
    const ml_tensor *tensor = ml_input(c, 1);
    *mask = 0;
    int64_t axis;
    for (int64_t i = 0; ml_read_index(tensor, axes, i, &axis); i++) {
        if (axis < -rank || axis >= rank) {
            if (rank == 0 && (axis == 0 || axis == -1))
                continue; /* LiteRT lets a scalar be reduced */
            return ml_fail(c, ML_SHAPE_ERROR, "axis %lld is outside rank %d", (long long)axis,
                           rank);
        }
        *mask |= 1u << (axis < 0 ? axis + rank : axis);
    }
    return ML_OK;
}

static void collapse(const ml_shape *x, uint32_t mask, ml_reduce *r) {
    int64_t sizes[ML_MAX_RANK + 1] = {1};
    bool reduced[ML_MAX_RANK + 1] = {false};
    int32_t n = 0;
    for (int32_t d = x->rank - 1; d >= 0; d--) {
        if (x->dims[d] == 1) continue;
        bool is_reduced = mask >> d & 1;
        bool fits = n == 1 || (n > 1 && sizes[n - 1] <= INT32_MAX / x->dims[d]);
        if (fits && reduced[n - 1] == is_reduced) sizes[n - 1] *= x->dims[d];
        else sizes[n] = x->dims[d], reduced[n] = is_reduced, n++;
    }
    r->row = sizes[0];
    r->row_reduced = reduced[0];
    r->n_outer = (uint8_t)(n > 1 ? n - 1 : 0);
    r->rows = 1;
    for (int32_t d = 0; d < r->n_outer; d++) {
        r->dims[d] = (int32_t)sizes[d + 1];
        r->kept |= (uint8_t)(!reduced[d + 1] << d);
        r->rows *= sizes[d + 1];
    }
}

ml_status ml_prepare_reduce(const ml_call *c, ml_wish *wish, ml_reduce *r, int32_t keep_dims,
                            int64_t bytes) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    const void *axes = ml_value(c, 1);
    if (!axes && ml_elements(&ml_input(c, 1)->shape) > 0) return ml_open_all(wish);
    uint32_t mask = 0;
    ml_status status = axes ? read_axes(c, axes, x->rank, &mask) : ML_OK;
    if (status != ML_OK) return status;
    ml_shape out = {.rank = 0};
    r->count = 1;
    for (int32_t d = 0; d < x->rank; d++) {
        bool is_reduced = mask >> d & 1;
        if (is_reduced) r->count *= x->dims[d];
        if (!is_reduced || keep_dims) out.dims[out.rank++] = is_reduced ? 1 : x->dims[d];
    }
    status = ml_set_output(c, 0, &out);
    if (status != ML_OK) return status;
    r->outputs = ml_elements(&out);
    if (ml_elements(x) > 0) collapse(x, mask, r);
    else r->row_reduced = true; /* no rows */
    ml_reserve(wish, r->outputs * bytes);
    return ML_OK;
}

/* Columns of a part, where rows are cut: enough for a few vectors. */
enum { COLUMNS = 64 };

ml_reduce_parts ml_parts_of(const ml_reduce *r) {
    const int32_t outermost = r->n_outer - 1;
    const int64_t all = r->rows * r->row;
    if (outermost >= 0 && r->kept >> outermost & 1)
        return (ml_reduce_parts){r->dims[outermost], all / r->dims[outermost], 0};
    if (r->row_reduced || r->row < 2 * COLUMNS)
        return (ml_reduce_parts){1, all, ml_max_s64(r->row, 1)};
    return (ml_reduce_parts){(r->row - 1) / COLUMNS + 1, r->rows * COLUMNS, COLUMNS};
}

ml_reduce ml_reduce_inner(const ml_reduce *r) {
    ml_reduce inner = *r;
    if (r->n_outer == 0) return inner;
    const int32_t size = r->dims[--inner.n_outer];
    inner.rows /= size;
    inner.outputs /= size;
    return inner;
}
