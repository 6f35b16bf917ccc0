/* reduce.h -- reductions over any set of dimensions, known or given at run time: the shape rule and
 * the loops.
 *
 * Prepare drops dimensions of 1 and merges neighbours that are both kept or both reduced. The
 * result is a nest of outer runs around rows, which are kept or reduced as a whole. Eval goes once
 * through the input from start to end, and steps through the outputs accordingly. */
#ifndef ML_RULES_REDUCE_H
#define ML_RULES_REDUCE_H

#include "rules/values.h"
#include "rules/work.h"

/* squares: the elements are squared first, because a MUL was fused into the reduction. */
#define ML_REDUCE_FIELDS(X, S) X(S, i32, keep_dims) X(S, i32, squares, ML_IS(0))

typedef struct ml_reduce {
    int64_t row;
    int64_t rows;
    int64_t outputs;
    int64_t count; /* input elements per output */
    int32_t dims[ML_MAX_RANK - 1]; /* outer runs, innermost first */
    uint8_t n_outer;
    /* Bit d: outer run d is kept; else it is reduced, and all its indices go to the same
     * outputs. */
    uint8_t kept;
    uint8_t row_reduced;
} ml_reduce;

/* Prepares the reduction of input 0 over the axes in input 1, which output 0 keeps as dimensions of
 * 1 or drops. Fills `reduce`, and reserves scratch of `bytes` per output. Open while the axes are
 * unknown. */
ml_status ml_prepare_reduce(const ml_call *c, ml_wish *wish, ml_reduce *reduce, int32_t keep_dims,
                            int64_t bytes);

/* The output of the next row; `index` has the position in each outer run. */
static inline int64_t ml_reduce_next(const ml_reduce *r, int64_t at, int32_t index[ML_MAX_RANK]) {
    int64_t outputs = r->row_reduced ? 1 : r->row; /* outputs of the row just read */
    for (int32_t d = 0; d < r->n_outer; d++) {
        bool kept = r->kept >> d & 1;
        at += kept ? outputs : 0;
        if (++index[d] < r->dims[d]) return at;
        index[d] = 0;
        if (kept) at -= outputs *= r->dims[d];
    }
    return at;
}

/* Parts of a reduction with separate outputs: indices of the outermost run if that is kept; else
 * columns of the rows if those are kept; else there is one part. */
typedef struct ml_reduce_parts {
    int64_t count;
    int64_t elements; /* input elements in each part */
    int64_t columns; /* in each part, fewer in the last; 0: parts are indices of the outermost
                       * run */
} ml_reduce_parts;
ml_reduce_parts ml_parts_of(const ml_reduce *r);
/* The reduction of `count` indices of the outermost run; of everything if there is no outer run. */
ml_reduce ml_reduce_some(const ml_reduce *r, int64_t count);

typedef struct ml_reduce_operands {
    const void *x;
    void *results;
    const ml_reduce *reduce;
    ml_reduce_parts parts;
} ml_reduce_operands;

/* Defines ml_status name(c, x, results, reduce), in blocks: every result starts as START, and
 * STEP(result, element) adds elements of type `from`. Along a reduced row eight partial results are
 * made side by side, and combined by JOIN(a, b). */
#define ML_REDUCE(name, from, type, START, STEP, JOIN) \
    static ml_status name##_row(const ml_call *c, const from *x, int64_t n, type *result, int64_t *work) { \
        const int64_t whole = n & ~(int64_t)7; \
        ml_status status = ML_OK; \
        type lanes[8]; \
        if (n < 4) { \
            type all = (START); \
            for (int64_t i = 0; i < n; i++) all = STEP(all, x[i]); \
            *result = JOIN(*result, all); \
            return ML_OK; \
        } \
        for (int k = 0; k < 8; k++) lanes[k] = (START); \
        for (int64_t i = 0, end; i < whole && status == ML_OK; i = end) { \
            end = ml_min_s64(i + ML_BLOCK_ELEMENTS, whole); \
            status = ml_count_work(c, end - i, work); \
            for (int64_t j = i; j < end; j += 8) \
                for (int k = 0; k < 8; k++) lanes[k] = STEP(lanes[k], x[j + k]); \
        } \
        for (int64_t i = whole; i < n; i++) lanes[i - whole] = STEP(lanes[i - whole], x[i]); \
        *result = JOIN(*result, JOIN(JOIN(JOIN(lanes[0], lanes[4]), JOIN(lanes[1], lanes[5])), \
                                     JOIN(JOIN(lanes[2], lanes[6]), JOIN(lanes[3], lanes[7])))); \
        return status; \
    } \
    static ml_status name##_part(const ml_call *c, const from *x, type *results, const ml_reduce *r, \
                                 int64_t first, int64_t columns) { \
        const bool reduced = r->row_reduced; \
        const int64_t outputs = reduced ? r->outputs : r->outputs / r->row; \
        int32_t index[ML_MAX_RANK] = {0}; \
        int64_t at = 0, work = 0; \
        ml_status status = ML_OK; \
        for (int64_t o = 0; reduced && o < outputs; o++) results[o] = (START); \
        for (int64_t o = 0; !reduced && o < outputs; o++) \
            for (int64_t i = 0; i < columns; i++) results[o * r->row + first + i] = (START); \
        x += first; \
        for (int64_t row = 0; row < r->rows && status == ML_OK; row++, x += r->row) { \
            if (reduced) { \
                status = name##_row(c, x, columns, &results[at], &work); \
            } else { \
                type *to = results + at + first; \
                for (int64_t i = 0; i < columns; i++) to[i] = STEP(to[i], x[i]); \
                status = ml_count_work(c, columns, &work); \
            } \
            at = ml_reduce_next(r, at, index); \
        } \
        return status; \
    } \
    static ml_status name##_parts(const ml_call *c, int64_t begin, int64_t end, int32_t worker, void *args) { \
        const ml_reduce_operands *p = args; \
        const ml_reduce *r = p->reduce; \
        const int64_t columns = p->parts.columns; \
        if (columns > 0) \
            return name##_part(c, p->x, p->results, r, begin * columns, \
                               ml_min_s64(r->row, end * columns) - begin * columns); \
        const ml_reduce one = ml_reduce_some(r, 1), some = ml_reduce_some(r, end - begin); \
        return name##_part(c, (const from *)p->x + begin * one.rows * one.row, \
                           (type *)p->results + begin * one.outputs, &some, 0, some.row); \
    } \
    static ml_status name(const ml_call *c, const from *x, type *results, const ml_reduce *r) { \
        if (r->rows * r->row <= ML_BLOCK_ELEMENTS && r->outputs <= ML_BLOCK_ELEMENTS) \
            return name##_part(c, x, results, r, 0, r->row); \
        ml_reduce_operands p = {x, results, r, ml_parts_of(r)}; \
        return ml_in_blocks(c, p.parts.count, p.parts.elements, name##_parts, &p); \
    }

/* The same by the primitives fold_f32 (FUNCTION, starting from `start`), fold_u8 (extremes of
 * bytes) and sum_rows_s8 (sums of bytes, which wrap); see simd.h. */
ml_status ml_reduce_f32(const ml_call *c, const float *x, float *results, const ml_reduce *r,
                        int32_t function, float start);
ml_status ml_reduce_u8(const ml_call *c, const uint8_t *x, uint8_t *results, const ml_reduce *r,
                       uint8_t flip);
ml_status ml_sum_bytes(const ml_call *c, const uint8_t *x, int32_t *sums, const ml_reduce *r,
                       bool is_signed);

#endif
