/* stablehlo_move.h -- shared by STABLEHLO_PAD, _GATHER and _SCATTER: copies with steps on both
 * sides, lists of dimensions, rows of indices. */
#ifndef ML_KERNELS_STABLEHLO_MOVE_H
#define ML_KERNELS_STABLEHLO_MOVE_H

#include "rules/nest.h"
#include "rules/values.h"
#include "rules/work.h"

/* A copy from one place to another, each with steps of its own. */
typedef struct ml_block_copy {
    int64_t counts[ML_MAX_RANK]; /* outermost first */
    int64_t from[ML_MAX_RANK]; /* bytes to the next index */
    int64_t to[ML_MAX_RANK];
    int32_t n;
    int32_t element; /* bytes */
} ml_block_copy;

/* Copies from dimension `d` on; `work` is the counter of ml_count_work. */
ml_status ml_copy_block(const ml_call *c, const ml_block_copy *b, int32_t d, const uint8_t *from,
                        uint8_t *to, int64_t *work);

/* The length of a parameter that is a list of int64. */
static inline int64_t ml_length(ml_array array) { return array.bytes / (int64_t)sizeof(int64_t); }
static inline int64_t ml_item(ml_array array, int64_t i) {
    return ((const int64_t *)array.data)[i];
}
bool ml_has(ml_array array, int64_t value);
/* Checks that the dimensions in a list are below `rank`, and ascend unless `any_order`. */
ml_status ml_check_dims(const ml_call *c, ml_array array, const char *name, int64_t rank,
                        bool any_order);

/* A tensor of indices whose dimension `axis` holds the numbers of a row; if `axis` is after the
 * last dimension, each number is a row by itself. */
typedef struct ml_index_rows {
    int64_t count;
    int64_t depth;
    int64_t inner; /* rows after the axis */
} ml_index_rows;
ml_status ml_rows_of(const ml_call *c, int input, int64_t axis, ml_index_rows *rows);
/* Eval. Reads number `k` of row `row`. */
int64_t ml_index_at(const ml_call *c, int input, const ml_index_rows *r, int64_t row, int64_t k);

#endif
