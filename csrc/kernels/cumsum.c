/* cumsum.c -- CUMSUM: running sums along a dimension; integers wrap. */
#include "math/loops.h"
#include "rules/values.h"
#include "rules/work.h"

#define CUMSUM_FIELDS(X, S) X(S, i32, exclusive) X(S, i32, reverse)
ML_PARAMS(cumsum_params, CUMSUM_FIELDS)

static ml_status prepare_cumsum(const ml_call *c, ml_wish *wish) {
    const int64_t axes = ml_elements(&ml_input(c, 1)->shape);
    if (axes != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "axis must be one number, it has %lld", (long long)axes);
    return ml_set_output(c, 0, &ml_input(c, 0)->shape);
}

typedef struct lines {
    int64_t size; /* elements of a line */
    int64_t inner; /* adjacent lines */
    int64_t columns; /* lines that are summed at a time */
    int64_t pieces; /* of `columns`, of which the last may be short */
} lines;

enum { COLUMNS = 256 };

/* `count` steps of n adjacent lines, `pitch` elements apart; `sums` has the sums so far. If n is a
 * constant, they are in registers. */
#define STEPS(n)                                                                             \
    for (int64_t k = 0; k < count; k++, x += pitch, y += pitch)                              \
        ML_IVDEP for (int64_t j = 0; j < (n); j++) {                                         \
            const sum before = sums[j], after = before + (sum)x[j];                          \
            y[j] = (number)(exclusive ? before : after);                                     \
            sums[j] = after;                                                                 \
        }                                                                                    \
    break;

/* Sums a piece of adjacent lines, element by element for all lines. */
#define CUMSUM(suffix, type, sum_type, LINES, STRETCH) \
    static void steps_##suffix(const type *x, type *y, sum_type *to, int64_t n, \
                               int64_t count, int64_t pitch, bool exclusive) { \
        typedef type number; \
        typedef sum_type sum; \
        sum sums[COLUMNS]; \
        memcpy(sums, to, (size_t)n * sizeof *to); \
        switch (n) { \
        case 1: STEPS(1) \
        case 2: STEPS(2) \
        case 3: STEPS(3) \
        case 4: STEPS(4) \
        default: STEPS(n) \
        } \
        memcpy(to, sums, (size_t)n * sizeof *to); \
    } \
    static ml_status sum_##suffix(const ml_call *c, int64_t first, int64_t end, \
                                  int32_t worker, void *args) { \
        const cumsum_params *p = c->params; \
        const lines *l = args; \
        int64_t work = 0; \
        ml_status status = ML_OK; \
        for (int64_t i = first; i < end; i++) { \
            const int64_t column = i % l->pieces * l->columns; \
            const int64_t n = ml_min_s64(l->columns, l->inner - column); \
            const int64_t start = i / l->pieces * l->size * l->inner + column; \
            sum_type sums[COLUMNS] = {0}; \
            for (int64_t k = 0, steps; k < l->size && status == ML_OK; k += steps) { \
                steps = ml_min_s64(l->size - k, 1 + ML_BLOCK_ELEMENTS / n); \
                const int64_t at = start + (p->reverse ? l->size - 1 - k : k) * l->inner; \
                steps_##suffix((const type *)ml_in(c, 0) + at, (type *)ml_out(c, 0) + at, \
                               sums, n, steps, p->reverse ? -l->inner : l->inner, \
                               p->exclusive != 0); \
                status = ml_count_work(c, n * steps, &work); \
            } \
        } \
        return status; \
    } \
    /* Sums lines that lie one after the other: LINES of them in turn, STRETCH elements each, so
     * that no addition of floats waits for the one before. */ \
    static ml_status line_##suffix(const ml_call *c, int64_t first, int64_t end, \
                                   int32_t worker, void *args) { \
        const cumsum_params *p = c->params; \
        const int64_t size = ((const lines *)args)->size, step = p->reverse ? -1 : 1; \
        const bool exclusive = p->exclusive != 0; \
        int64_t work = 0; \
        ml_status status = ML_OK; \
        for (; first < end && status == ML_OK; first += LINES) { \
            sum_type sums[LINES] = {0}; \
            const int64_t count = ml_min_s64(end - first, LINES); \
            for (int64_t k = 0; k < size && status == ML_OK; k += STRETCH) { \
                const int64_t n = ml_min_s64(size - k, STRETCH); \
                for (int64_t j = 0; j < count; j++) { \
                    const int64_t at = (first + j) * size + (p->reverse ? size - 1 - k : k); \
                    const type *x = (const type *)ml_in(c, 0) + at; \
                    type *y = (type *)ml_out(c, 0) + at; \
                    sum_type sum = sums[j]; \
                    for (int64_t i = 0; i < n; i++, x += step, y += step) { \
                        const sum_type next = sum + (sum_type)*x; \
                        *y = (type)(exclusive ? sum : next); \
                        sum = next; \
                    } \
                    sums[j] = sum; \
                } \
                status = ml_count_work(c, count * n, &work); \
            } \
        } \
        return status; \
    } \
    static ml_status cumsum_##suffix(const ml_call *c) { \
        return cumsum(c, sum_##suffix, line_##suffix); \
    }

static ml_status cumsum(const ml_call *c, ml_body body, ml_body by_line) {
    const ml_shape *shape = &ml_in_tensor(c, 0)->shape;
    int64_t wanted = 0;
    int32_t axis;
    ml_read_index(ml_in_tensor(c, 1), ml_in(c, 1), 0, &wanted);
    ml_status status = ml_axis(c, wanted, shape->rank, &axis);
    if (status != ML_OK) return status;
    lines l = {.size = shape->dims[axis], .inner = ml_elements_of(shape, axis + 1, shape->rank)};
    l.columns = ml_min_s64(l.inner, COLUMNS);
    l.pieces = ml_ceil_div(l.inner, l.columns);
    return ml_in_blocks(c, ml_elements_of(shape, 0, axis) * l.pieces, l.size * l.columns,
                        l.inner == 1 ? by_line : body, &l);
}

CUMSUM(f32, float, float, 8, 16)
CUMSUM(s32, int32_t, uint32_t, 1, 4096)
CUMSUM(s64, int64_t, uint64_t, 1, 4096)

ML_KERNELS(cumsum) = {
    {ML_OP(CUMSUM, 1, 1), .name = "cumsum", .takes = "x axis -> y", ML_PARAMS_OF(cumsum_params),
     .prepare = prepare_cumsum,
     ML_TYPED({"f32 s32 -> f32", NULL, NULL, cumsum_f32},
              {"s32 s32 -> s32", NULL, NULL, cumsum_s32},
              {"s64 s32 -> s64", NULL, NULL, cumsum_s64})},
    ML_KERNELS_END,
};
