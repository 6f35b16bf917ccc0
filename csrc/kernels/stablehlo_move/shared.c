/* shared.c -- copying blocks, checking lists of dimensions, reading rows of indices. */
#include "kernels/stablehlo_move/stablehlo_move.h"

ml_status ml_copy_block(const ml_call *c, const ml_block_copy *b, int32_t d, const uint8_t *from,
                        uint8_t *to, int64_t *work) {
    ml_status status = ML_OK;
    if (d < b->n - 2) {
        for (int64_t i = 0; i < b->counts[d] && status == ML_OK; i++)
            status = ml_copy_block(c, b, d + 1, from + i * b->from[d], to + i * b->to[d], work);
        return status;
    }
    ml_turns turns[2] = {{1, 0, 0}, {1, 0, 0}};
    for (int32_t k = d; k < b->n; k++)
        turns[k - b->n + 2] = (ml_turns){b->counts[k], b->to[k], b->from[k]};
    status = ml_move_runs(c, to, from, b->element, turns[0], turns[1]);
    return status == ML_OK ? ml_count_work(c, turns[0].count * turns[1].count, work) : status;
}

bool ml_has(ml_array array, int64_t value) {
    for (int64_t i = 0; i < ml_length(array); i++)
        if (ml_item(array, i) == value) return true;
    return false;
}

ml_status ml_check_dims(const ml_call *c, ml_array array, const char *name, int64_t rank,
                        bool any_order) {
    for (int64_t i = 0; i < ml_length(array); i++)
        if (ml_item(array, i) < 0 || ml_item(array, i) >= rank ||
            (i > 0 && !any_order && ml_item(array, i) <= ml_item(array, i - 1)))
            return ml_fail(c, ML_SHAPE_ERROR,
                           "%s %lld is %lld, expected 0 or more, ascending, below %lld", name,
                           (long long)i, (long long)ml_item(array, i), (long long)rank);
    return ML_OK;
}

ml_status ml_rows_of(const ml_call *c, int input, int64_t axis, ml_index_rows *rows) {
    const ml_shape *indices = &ml_input(c, input)->shape;
    if (axis < 0 || axis > indices->rank)
        return ml_fail(c, ML_SHAPE_ERROR, "the index dimension is %lld, indices have rank %d",
                       (long long)axis, indices->rank);
    const int32_t at = (int32_t)axis;
    const int64_t depth = at < indices->rank ? indices->dims[at] : 1;
    const int64_t inner = ml_elements_of(indices, at + 1, indices->rank);
    *rows = (ml_index_rows){ml_elements_of(indices, 0, at) * inner, depth, inner};
    return ML_OK;
}

int64_t ml_index_at(const ml_call *c, int input, const ml_index_rows *r, int64_t row, int64_t k) {
    int64_t value = 0;
    const int64_t at = (row / r->inner * r->depth + k) * r->inner + row % r->inner;
    ml_read_index(ml_in_tensor(c, input), ml_in(c, input), at, &value);
    return value;
}
