/* select.c -- SELECT, SELECT_V2: x where the condition holds, else y; three inputs with numpy's
 * broadcasting (SELECT_V2), or a condition of one number, of rows, of elements (SELECT). */
#include "math/loops.h"
#include "rules/broadcast.h"

typedef struct select_blob {
    int32_t rank;
    int32_t dims[ML_MAX_RANK];
    int64_t strides[3][ML_MAX_RANK]; /* elements; 0 where an input broadcasts */
} select_blob;

/* The strides of input `i`, whose dimensions are aligned with the output's last ones, or with its
 * first ones. */
static void fill_strides(const ml_call *c, int i, const ml_shape *out, bool from_first) {
    select_blob *blob = c->blob;
    const ml_shape *shape = &ml_input(c, i)->shape;
    const int32_t shift = from_first ? 0 : out->rank - shape->rank;
    int64_t stride = 1;
    for (int32_t d = shape->rank - 1; d >= 0; d--) {
        blob->strides[i][d + shift] = shape->dims[d] == 1 ? 0 : stride;
        stride *= shape->dims[d];
    }
}

/* Merges dimensions through which all inputs step in the same way, so that rows are long. */
static void merge(select_blob *blob) {
    int32_t n = 0;
    for (int32_t d = 0; d < blob->rank; d++) {
        bool fits = n > 0 && (int64_t)blob->dims[n - 1] * blob->dims[d] <= INT32_MAX;
        for (int i = 0; i < 3 && fits; i++)
            fits = blob->strides[i][n - 1] == blob->strides[i][d] * blob->dims[d];
        if (fits) n--;
        const int32_t before = fits ? blob->dims[n] : 1;
        for (int i = 0; i < 3; i++) blob->strides[i][n] = blob->strides[i][d];
        blob->dims[n++] = before * blob->dims[d];
    }
    blob->rank = n;
}

static ml_status prepare_select_v2(const ml_call *c, ml_wish *wish) {
    select_blob *blob = c->blob;
    ml_shape pair, out;
    ml_status status = ml_broadcast_shape(c, &ml_input(c, 1)->shape, &ml_input(c, 2)->shape, &pair);
    if (status == ML_OK) status = ml_broadcast_shape(c, &ml_input(c, 0)->shape, &pair, &out);
    if (status == ML_OK) status = ml_set_output(c, 0, &out);
    if (status != ML_OK) return status;
    blob->rank = out.rank;
    memcpy(blob->dims, out.dims, sizeof out.dims[0] * (size_t)out.rank);
    for (int i = 0; i < 3; i++) fill_strides(c, i, &out, false);
    merge(blob);
    return ML_OK;
}

static ml_status prepare_select(const ml_call *c, ml_wish *wish) {
    select_blob *blob = c->blob;
    const ml_shape *condition = &ml_input(c, 0)->shape, *x = &ml_input(c, 1)->shape,
                   *y = &ml_input(c, 2)->shape;
    char left[96], right[96];
    if (!ml_same_shape(x, y))
        return ml_fail(c, ML_SHAPE_ERROR, "shapes %s and %s of x and y must be equal",
                       ml_shape_text(x, left), ml_shape_text(y, right));
    const bool rows = condition->rank == 1 && x->rank > 0 && condition->dims[0] == x->dims[0];
    if (condition->rank != 0 && !rows && !ml_same_shape(condition, x))
        return ml_fail(c, ML_SHAPE_ERROR,
                       "the condition's shape %s must be x's %s, its first dimension, or ()",
                       ml_shape_text(condition, left), ml_shape_text(x, right));
    blob->rank = x->rank;
    memcpy(blob->dims, x->dims, sizeof x->dims[0] * (size_t)x->rank);
    for (int i = 0; i < 3; i++) fill_strides(c, i, x, true);
    merge(blob);
    return ml_set_output(c, 0, x);
}

/* The offset in elements of row `row` in each input; rows are the last dimension. */
static void find_row(const select_blob *s, int64_t row, int64_t at[3]) {
    memset(at, 0, 3 * sizeof *at);
    for (int32_t d = s->rank - 2; d >= 0; row /= s->dims[d--])
        for (int i = 0; i < 3; i++) at[i] += row % s->dims[d] * s->strides[i][d];
}

/* Rows, computed whole or in pieces. */
typedef struct pieces {
    int64_t row; /* elements */
    int64_t piece; /* elements of one, of which the last of a row may be shorter */
    int64_t count; /* in a row */
    int64_t steps[3]; /* elements of each input to the next of a row: 1 or 0 */
} pieces;

/* One loop for each combination of rows of x and y that have an element each, or one for all.
 * Without branches, because conditions are unpredictable. */
#define CHOOSE(type, X, Y)                                     \
    ML_IVDEP for (int64_t i = 0; i < n; i++) {                 \
        const type u = (X), v = (Y);                           \
        const type taken = (type)(0 - (type)(condition[i] != 0)); \
        out[i] = (type)(v ^ ((u ^ v) & taken));                \
    }
#define SELECT(name, type)                                                                         \
    static void name##_row(type *out, const uint8_t *condition, const type *x, const type *y,      \
                           int64_t n, const int64_t steps[3]) {                                    \
        const type one = *x, other = *y;                                                           \
        if (steps[0] == 0 && n > 1) {                                                              \
            const type *from = *condition ? x : y;                                                 \
            const int64_t step = *condition ? steps[1] : steps[2];                                 \
            for (int64_t i = 0; i < n; i++) out[i] = from[i * step];                               \
        } else if (steps[1] && steps[2]) {                                                         \
            CHOOSE(type, x[i], y[i])                                                               \
        } else if (steps[1]) {                                                                     \
            CHOOSE(type, x[i], other)                                                              \
        } else if (steps[2]) {                                                                     \
            CHOOSE(type, one, y[i])                                                                \
        } else {                                                                                   \
            CHOOSE(type, one, other)                                                               \
        }                                                                                          \
    }                                                                                              \
    static ml_status name##_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,     \
                                 void *args) {                                                     \
        const pieces *p = args;                                                                    \
        const int64_t *steps = p->steps;                                                           \
        for (int64_t k = first; k < end; k++) {                                                    \
            const int64_t from = k % p->count * p->piece, n = ml_min_s64(p->row - from, p->piece); \
            int64_t at[3];                                                                         \
            find_row(c->blob, k / p->count, at);                                                   \
            name##_row((type *)ml_out(c, 0) + k / p->count * p->row + from,                        \
                       (const uint8_t *)ml_in(c, 0) + at[0] + from * steps[0],                     \
                       (const type *)ml_in(c, 1) + at[1] + from * steps[1],                        \
                       (const type *)ml_in(c, 2) + at[2] + from * steps[2], n, steps);             \
        }                                                                                          \
        return ML_OK;                                                                              \
    }                                                                                              \
    static ml_status name(const ml_call *c) { return choose(c, name##_some); }

static ml_status choose(const ml_call *c, ml_body body) {
    const select_blob *s = c->blob;
    const int64_t elements = ml_elements(&ml_out_tensor(c, 0)->shape);
    pieces p = {.row = s->rank ? s->dims[s->rank - 1] : 1};
    p.count = ml_ceil_div(p.row, ML_BLOCK_ELEMENTS);
    p.piece = p.count > 1 ? ML_BLOCK_ELEMENTS : p.row;
    for (int i = 0; s->rank && i < 3; i++) p.steps[i] = s->strides[i][s->rank - 1];
    return ml_in_blocks(c, elements / p.row * p.count, p.piece, body, &p);
}

SELECT(select_x1, uint8_t)
SELECT(select_x2, uint16_t)
SELECT(select_x4, uint32_t)
SELECT(select_x8, uint64_t)

#define SELECT_ROW(operator, last, kernel_name, prepare_fn)                                       \
    {ML_OP(operator, 1, last), .name = (kernel_name), .takes = "condition x y -> z",          \
     .blob_bytes = (int32_t)sizeof(select_blob), .prepare = (prepare_fn),                     \
     .window = ml_cut_broadcast,                                                              \
     ML_TYPED({"b8 T T -> T: f32 s32 u32", NULL, NULL, select_x4},                            \
              {"b8 T T -> T: f16 bf16 s16 u16", NULL, NULL, select_x2},                       \
              {"b8 T T -> T: s8 u8 b8", NULL, NULL, select_x1},                               \
              {"b8 T T -> T: f64 s64 u64 c64", NULL, NULL, select_x8})}
ML_KERNELS(select) = {
    SELECT_ROW(SELECT, 4, "select", prepare_select),
    SELECT_ROW(SELECT_V2, 2, "select_v2", prepare_select_v2),
    ML_KERNELS_END,
};
