/* broadcast.c -- collapses two shapes that broadcast into rows of one kind. */
#include "rules/broadcast.h"

/* One dimension of the output, or several merged: how many elements, and which input is repeated along it. */
typedef struct run {
    int64_t size;
    int32_t kind;
} run;

/* The runs of `out`, innermost first; returns how many. Outer ones are counted in 32 bits. */
static int32_t collapse(const ml_shape *a, const ml_shape *b, const ml_shape *out,
                        run runs[ML_MAX_RANK]) {
    int32_t n = 0;
    for (int32_t i = 1; i <= out->rank; i++) {
        int32_t x = i <= a->rank ? a->dims[a->rank - i] : 1,
                y = i <= b->rank ? b->dims[b->rank - i] : 1;
        int32_t size = out->dims[out->rank - i];
        if (x == 1 && y == 1) continue;
        int32_t kind = x == y ? ML_ROW_FULL : x == 1 ? ML_ROW_SCALAR_A : ML_ROW_SCALAR_B;
        bool fits = n == 1 || (n > 1 && runs[n - 1].size <= INT32_MAX / size);
        if (fits && runs[n - 1].kind == kind) runs[n - 1].size *= size;
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
    blob->row_kind = (uint8_t)runs[0].kind;
    blob->n_outer = (uint8_t)(n - 1);
    for (int32_t d = 0; d + 1 < n; d++) {
        const run *outer = &runs[d + 1];
        blob->dims[d] = (int32_t)outer->size;
        blob->a_steps |= (uint8_t)((outer->kind != ML_ROW_SCALAR_A) << d);
        blob->b_steps |= (uint8_t)((outer->kind != ML_ROW_SCALAR_B) << d);
        blob->rows *= outer->size;
    }
    return ML_OK;
}

ml_status ml_prepare_broadcast(const ml_call *c, ml_wish *wish) {
    (void)wish;
    return ml_broadcast_prepare(c, c->blob);
}
