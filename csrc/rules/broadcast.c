/* broadcast.c -- collapses two shapes that broadcast into rows of one kind. */
#include "rules/broadcast.h"

/* One dimension of the output, or several merged: how many elements, and which input is repeated along it. */
typedef struct run {
    int64_t size;
    int32_t kind;
} run;

/* The runs of `out`, innermost first; returns how many. */
static int32_t collapse(const ml_shape *a, const ml_shape *b, const ml_shape *out,
                        run runs[ML_MAX_RANK]) {
    int32_t n = 0;
    for (int32_t i = 1; i <= out->rank; i++) {
        int32_t x = i <= a->rank ? a->dims[a->rank - i] : 1,
                y = i <= b->rank ? b->dims[b->rank - i] : 1;
        int32_t size = out->dims[out->rank - i];
        if (x == 1 && y == 1) continue;
        int32_t kind = x == y ? ML_ROW_FULL : x == 1 ? ML_ROW_SCALAR_A : ML_ROW_SCALAR_B;
        if (n > 0 && runs[n - 1].kind == kind) runs[n - 1].size *= size;
        else runs[n++] = (run){size, kind};
    }
    return n;
}

ml_status ml_broadcast_shape(const ml_call *c, const ml_shape *a, const ml_shape *b,
                             ml_shape *out) {
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int32_t i = 1; i <= out->rank; i++) {
        int32_t x = i <= a->rank ? a->dims[a->rank - i] : 1,
                y = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1) {
            char left[96], right[96];
            return ml_fail(c, ML_SHAPE_ERROR,
                           "shapes %s and %s do not broadcast: dimension %d is %d and %d",
                           ml_shape_text(a, left), ml_shape_text(b, right), out->rank - i, x, y);
        }
        out->dims[out->rank - i] = x == 1 ? y : x;
    }
    return ML_OK;
}

ml_status ml_broadcast_prepare(const ml_call *c, ml_broadcast *blob) {
    const ml_shape *a = &ml_input(c, 0)->shape, *b = &ml_input(c, 1)->shape;
    ml_shape out;
    ml_status status = ml_broadcast_shape(c, a, b, &out);
    if (status == ML_OK) status = ml_set_output(c, 0, &out);
    if (status != ML_OK) return status;

    *blob = (ml_broadcast){.row_kind = ML_ROW_FULL, .row = 1, .rows = 1};
    if (ml_elements(&out) == 0) {
        blob->rows = 0;
        return ML_OK;
    }
    run runs[ML_MAX_RANK];
    int32_t n = collapse(a, b, &out, runs);
    if (n == 0) return ML_OK;
    blob->row = runs[0].size;
    blob->row_kind = runs[0].kind;
    int64_t a_size = runs[0].kind == ML_ROW_SCALAR_A ? 1 : runs[0].size;
    int64_t b_size = runs[0].kind == ML_ROW_SCALAR_B ? 1 : runs[0].size;
    blob->n_outer = n - 1;
    for (int32_t d = 0; d + 1 < n; d++) {
        const run *outer = &runs[d + 1];
        bool repeats_a = outer->kind == ML_ROW_SCALAR_A, repeats_b = outer->kind == ML_ROW_SCALAR_B;
        blob->dims[d] = outer->size;
        blob->a_stride[d] = repeats_a ? 0 : a_size;
        blob->b_stride[d] = repeats_b ? 0 : b_size;
        if (!repeats_a) a_size *= outer->size;
        if (!repeats_b) b_size *= outer->size;
        blob->rows *= outer->size;
    }
    return ML_OK;
}

ml_status ml_prepare_broadcast(const ml_call *c, ml_wish *wish) {
    (void)wish;
    return ml_broadcast_prepare(c, c->blob);
}
