/* where.c -- WHERE with one input: the coordinates of the elements that are not 0, one row of int64
 * each, in order. The output's size depends on the values: prepare counts the rows if it knows the
 * values; otherwise the node is dynamic. */
#include "rules/work.h"

typedef struct where_blob {
    int64_t count; /* rows */
} where_blob;

/* Steps the coordinates of all dimensions but the last to their next value. */
static inline void next_row(int64_t *at, const ml_shape *shape) {
    for (int32_t d = shape->rank - 2; d >= 0; d--) {
        if (++at[d] < shape->dims[d]) return;
        at[d] = 0;
    }
}

enum { PIECE = 64 }; /* elements that are counted before their coordinates are written */

/* For integers, only the width matters. A piece whose elements are all true is written without
 * looking at them again. Of others no more rows are written than were counted: values that change
 * meanwhile must not lead beyond the output. */
#define WHERE_KERNEL(suffix, type) \
    static int64_t count_##suffix(const void *values, int64_t first, int64_t end) { \
        const type *x = values; \
        int64_t count = 0; \
        for (int64_t i = first; i < end; i++) count += x[i] != 0; \
        return count; \
    } \
    static ml_status where_##suffix(const ml_call *c) { \
        const where_blob *blob = c->blob; \
        const ml_shape *shape = &ml_in_tensor(c, 0)->shape; \
        const type *x = ml_in(c, 0); \
        int64_t *y = ml_out(c, 0), at[ML_MAX_RANK] = {0}; \
        int64_t elements = ml_elements(shape), last = shape->dims[shape->rank - 1], rows = 0, work = 0; \
        for (int64_t start = 0; start < elements; start += last, next_row(at, shape)) { \
            for (int64_t i = 0, end; i < last; i = end) { \
                end = ml_min_s64(i + PIECE, last); \
                ml_status status = ml_count_work(c, end - i, &work); \
                if (status != ML_OK) return status; \
                int64_t found = count_##suffix(x, start + i, start + end); \
                rows += found; \
                if (found == 0 || rows > blob->count) continue; \
                if (found == end - i && shape->rank == 1) { \
                    for (int64_t k = i; k < end; k++) *y++ = k; \
                    continue; \
                } \
                for (int64_t k = i; k < end && found > 0; k++) { \
                    if (x[start + k] == 0) continue; \
                    for (int32_t d = 0; d < shape->rank - 1; d++) *y++ = at[d]; \
                    *y++ = k; \
                    found--; \
                } \
                rows -= found; \
            } \
        } \
        return rows == blob->count ? ML_OK : changed(c, rows); \
    }

static ml_status changed(const ml_call *c, int64_t rows) {
    return ml_fail(c, ML_KERNEL_ERROR,
                   "the condition changed while it was read: %lld elements were true, now %lld are",
                   (long long)((const where_blob *)c->blob)->count, (long long)rows);
}

WHERE_KERNEL(x1, uint8_t)
WHERE_KERNEL(x4, uint32_t)
WHERE_KERNEL(x8, uint64_t)
WHERE_KERNEL(f32, float)

static ml_status prepare_where(const ml_call *c, ml_wish *wish) {
    const ml_tensor *condition = ml_input(c, 0);
    const ml_shape *shape = &condition->shape;
    where_blob *blob = c->blob;
    if (shape->rank == 0)
        return ml_fail(c, ML_SHAPE_ERROR, "the condition has rank 0, expected 1 or more");
    int64_t elements = ml_elements(shape), bytes = ml_type_bytes(condition->type);
    const void *x = ml_value(c, 0);
    if (!x && elements > 0) return ml_open(wish, 0);
    ml_status status = ML_OK;
    for (int64_t first = 0, end; first < elements && status == ML_OK; first = end) {
        end = ml_min_s64(first + ML_BLOCK_ELEMENTS, elements);
        blob->count += condition->type == ML_F32 ? count_f32(x, first, end)
                       : bytes == 1              ? count_x1(x, first, end)
                       : bytes == 4              ? count_x4(x, first, end)
                                                 : count_x8(x, first, end);
        if (end < elements) status = ml_poll(c);
    }
    if (status != ML_OK) return status;
    if (blob->count > INT32_MAX)
        return ml_fail(c, ML_SHAPE_ERROR, "%lld elements are true, at most %d fit a dimension",
                       (long long)blob->count, INT32_MAX);
    return ml_set_output(c, 0, &(ml_shape){.rank = 2, .dims = {(int32_t)blob->count, shape->rank}});
}

ML_KERNELS(where) = {
    {ML_OP(WHERE, 1, 2), .name = "where", .takes = "condition -> y",
     .blob_bytes = sizeof(where_blob), .prepare = prepare_where,
     ML_TYPED({"b8|s8|u8 -> s64", NULL, NULL, where_x1}, {"s32|u32 -> s64", NULL, NULL, where_x4},
              {"s64 -> s64", NULL, NULL, where_x8}, {"f32 -> s64", NULL, NULL, where_f32})},
    ML_KERNELS_END,
};
