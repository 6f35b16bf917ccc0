/* reduce.h -- reductions over any set of dimensions, known or given at run time: the shape rule, and the walk.
 *
 * Prepare drops dimensions of 1 and merges neighbours that are reduced alike. What remains are rows, kept or reduced as a
 * whole, in a nest of outer runs; the walk steps through the input from end to end, and through the outputs as it goes.
 */
#ifndef ML_RULES_REDUCE_H
#define ML_RULES_REDUCE_H

#include "rules/values.h"

#define ML_REDUCE_FIELDS(X, S) X(S, i32, keep_dims)

typedef struct ml_reduce {
    int64_t row;
    int64_t rows;
    int64_t outputs;
    int64_t count; /* input elements per output */
    int32_t dims[ML_MAX_RANK - 1]; /* outer runs, innermost first */
    uint8_t n_outer;
    uint8_t
        kept; /* bit d: outer run d is; else it is reduced, and its indices come to the same outputs */
    uint8_t row_reduced;
} ml_reduce;

/* Input 0 reduced over the axes in input 1; output 0 has dimensions of 1 in their place or none. Fills `reduce`, and scratch of
 * `bytes` per output. Open while the axes are not known. */
ml_status ml_prepare_reduce(const ml_call *c, ml_wish *wish, ml_reduce *reduce, int32_t keep_dims,
                            int64_t bytes);

/* The output of the next row; `index` counts along the outer runs. */
static inline int64_t ml_reduce_next(const ml_reduce *r, int64_t at, int32_t index[ML_MAX_RANK]) {
    int64_t outputs = r->row_reduced ? 1 : r->row; /* of what was gone through */
    for (int32_t d = 0; d < r->n_outer; d++) {
        bool kept = r->kept >> d & 1;
        at += kept ? outputs : 0;
        if (++index[d] < r->dims[d]) return at;
        index[d] = 0;
        if (kept) at -= outputs *= r->dims[d];
    }
    return at;
}

/* Defines name(x, results, reduce): every result begins as START and takes in elements of type `from` by STEP(result, element);
 * along a reduced row eight results are made side by side and put together by JOIN(a, b). */
#define ML_REDUCE(name, from, type, START, STEP, JOIN)                                                      \
    static void name(const from *x, type *results, const ml_reduce *r) {                                    \
        for (int64_t i = 0; i < r->outputs; i++) results[i] = (START);                                      \
        int32_t index[ML_MAX_RANK] = {0};                                                                   \
        int64_t at = 0;                                                                                     \
        const int64_t n = r->row, whole = n & ~(int64_t)7;                                                  \
        for (int64_t row = 0; row < r->rows; row++, x += n, at = ml_reduce_next(r, at, index)) {            \
            if (!r->row_reduced) {                                                                          \
                for (int64_t i = 0; i < n; i++) results[at + i] = STEP(results[at + i], x[i]);              \
                continue;                                                                                   \
            }                                                                                               \
            type lanes[8];                                                                                  \
            for (int k = 0; k < 8; k++) lanes[k] = (START);                                                 \
            for (int64_t i = 0; i < whole; i += 8)                                                          \
                for (int k = 0; k < 8; k++) lanes[k] = STEP(lanes[k], x[i + k]);                            \
            for (int64_t i = whole; i < n; i++) lanes[i - whole] = STEP(lanes[i - whole], x[i]);            \
            results[at] = JOIN(results[at], JOIN(JOIN(JOIN(lanes[0], lanes[4]), JOIN(lanes[1], lanes[5])),  \
                                                 JOIN(JOIN(lanes[2], lanes[6]), JOIN(lanes[3], lanes[7])))); \
        }                                                                                                   \
    }

#endif
