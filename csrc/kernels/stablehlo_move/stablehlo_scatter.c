/* stablehlo_scatter.c -- STABLEHLO_SCATTER: puts blocks at the places that indices give, combined
 * with the elements there by one of five rules. Blocks that would reach outside are left out. */
#include "kernels/stablehlo_move/stablehlo_move.h"
#include "math/float_math.h"

enum { REPLACE, ADD, MULTIPLY, MAXIMUM, MINIMUM };

#define SCATTER_FIELDS(X, S)                                                                      \
    X(S, array, window_dims, ML_OPTION("update_window_dims"))         \
    X(S, array, inserted, ML_OPTION("inserted_window_dims"))          \
    X(S, array, index_map, ML_OPTION("scatter_dims_to_operand_dims")) \
    X(S, i64, index_axis, ML_OPTION("index_vector_dim")) X(S, i32, rule, ML_BY_CHECK)
ML_PARAMS(scatter_params, SCATTER_FIELDS)

typedef struct scatter_blob {
    ml_index_rows rows;
    /* Rows from index to index of an update's dimension, 0 in a window. */
    int64_t row_step[ML_MAX_RANK];
    int32_t operand_dim[ML_MAX_RANK]; /* of an update's dimension in a window; -1 of others */
} scatter_blob;

static ml_status prepare_scatter(const ml_call *c, ml_wish *wish) {
    const scatter_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape, *indices = &ml_input(c, 1)->shape;
    const ml_shape *updates = &ml_input(c, 2)->shape;
    scatter_blob *b = c->blob;
    ml_status status = ml_rows_of(c, 1, p->index_axis, &b->rows);
    if (status != ML_OK) return status;
    const int32_t batches = indices->rank - (p->index_axis < indices->rank);
    if (ml_length(p->window_dims) + ml_length(p->inserted) != x->rank ||
        ml_length(p->window_dims) + batches != updates->rank ||
        ml_length(p->index_map) != b->rows.depth)
        return ml_fail(
            c, ML_SHAPE_ERROR,
            "%lld window and %lld inserted dimensions, %lld indexed ones, do not match ranks "
            "%d and %d, and rows of %lld numbers",
            (long long)ml_length(p->window_dims), (long long)ml_length(p->inserted),
            (long long)ml_length(p->index_map), x->rank, updates->rank, (long long)b->rows.depth);
    status = ml_check_dims(c, p->window_dims, "window dimension", updates->rank, false);
    if (status == ML_OK)
        status = ml_check_dims(c, p->inserted, "inserted dimension", x->rank, false);
    if (status == ML_OK)
        status = ml_check_dims(c, p->index_map, "indexed dimension", x->rank, true);
    /* Each dimension of the updates is one of a window, or one of the indices. */
    int32_t from = 0, to = 0;
    for (int32_t d = 0; d < updates->rank && status == ML_OK; d++) {
        b->operand_dim[d] = -1;
        if (ml_has(p->window_dims, d)) {
            while (ml_has(p->inserted, to)) to++;
            b->operand_dim[d] = to++;
            continue;
        }
        if (from == p->index_axis) from++;
        if (updates->dims[d] != indices->dims[from])
            return ml_fail(c, ML_SHAPE_ERROR,
                           "dimension %d of the updates is %d, of the indices %d", d,
                           updates->dims[d], indices->dims[from]);
        ml_shape rest = *indices;
        if (p->index_axis < indices->rank) rest.dims[p->index_axis] = 1;
        b->row_step[d] = ml_elements_of(&rest, from + 1, rest.rank);
        from++;
    }
    return status == ML_OK ? ml_set_output(c, 0, x) : status;
}

/* The element of the operand that the update at `at` (by dimension) goes to; -1: none. */
static int64_t target(const ml_call *c, const int64_t at[ML_MAX_RANK]) {
    const scatter_params *p = c->params;
    const scatter_blob *b = c->blob;
    const ml_shape *x = &ml_out_tensor(c, 0)->shape, *updates = &ml_in_tensor(c, 2)->shape;
    int64_t place[ML_MAX_RANK] = {0}, row = 0, to = 0;
    for (int32_t d = 0; d < updates->rank; d++) {
        row += at[d] * b->row_step[d];
        if (b->operand_dim[d] >= 0) place[b->operand_dim[d]] = at[d];
    }
    for (int64_t k = 0; k < b->rows.depth; k++) {
        const int64_t index = ml_index_at(c, 1, &b->rows, row, k), d = ml_item(p->index_map, k);
        if (index < -INT32_MAX || index > INT32_MAX) return -1;
        place[d] += index;
    }
    for (int32_t d = 0; d < x->rank; d++) {
        if (place[d] < 0 || place[d] >= x->dims[d]) return -1;
        to = to * x->dims[d] + place[d];
    }
    return to;
}

#define KEEP(v) (v)
#define SCATTER(suffix, type, wide, LOAD, STORE) \
    static type join_##suffix(type a, type b, int32_t rule) { \
        const wide u = (wide)LOAD(a), v = (wide)LOAD(b); \
        switch (rule) { \
        case ADD: return (type)STORE(u + v); \
        case MULTIPLY: return (type)STORE(u * v); \
        case MAXIMUM: return LOAD(a) < LOAD(b) ? b : a; \
        case MINIMUM: return LOAD(b) < LOAD(a) ? b : a; \
        default: return b; \
        } \
    } \
    static ml_status scatter_##suffix(const ml_call *c) { \
        const ml_shape *updates = &ml_in_tensor(c, 2)->shape; \
        const int32_t rule = ((const scatter_params *)c->params)->rule; \
        const type *x = ml_in(c, 2); \
        type *y = ml_out(c, 0); \
        int64_t at[ML_MAX_RANK] = {0}; \
        const int64_t count = ml_elements(updates); \
        int64_t work = 0; \
        ml_status status = ML_OK; \
        if (y != ml_in(c, 0)) status = ml_copy_bytes(c, y, ml_in(c, 0), ml_out_tensor(c, 0)->bytes); \
        for (int64_t i = 0; i < count && status == ML_OK; i++) { \
            const int64_t to = target(c, at); \
            if (to >= 0) y[to] = join_##suffix(y[to], x[i], rule); \
            for (int32_t d = updates->rank - 1; d >= 0 && ++at[d] == updates->dims[d]; d--) \
                at[d] = 0; \
            status = ml_count_work(c, 4, &work); \
        } \
        return status; \
    }
#define TRUTH(v) ((v) != 0)
SCATTER(f32, float, float, KEEP, KEEP)
SCATTER(f64, double, double, KEEP, KEEP)
SCATTER(f16, uint16_t, float, ml_float_of_half, ml_half_of_float)
SCATTER(s8, int8_t, uint32_t, KEEP, KEEP)
SCATTER(u8, uint8_t, uint32_t, KEEP, KEEP)
SCATTER(b8, uint8_t, uint32_t, TRUTH, TRUTH)
SCATTER(s16, int16_t, uint32_t, KEEP, KEEP)
SCATTER(u16, uint16_t, uint32_t, KEEP, KEEP)
SCATTER(s32, int32_t, uint32_t, KEEP, KEEP)
SCATTER(u32, uint32_t, uint32_t, KEEP, KEEP)
SCATTER(s64, int64_t, uint64_t, KEEP, KEEP)
SCATTER(u64, uint64_t, uint64_t, KEEP, KEEP)

/* The subgraph's one operator says how updates are combined; a subgraph without operators
 * replaces. */
static ml_status check_scatter(const ml_call *c, void *params) {
    static const char *const joins[] = {"STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM",
                                        "STABLEHLO_MINIMUM"};
    const int64_t number = ml_option_of(c, "update_computation_subgraph_index").integer;
    const ml_subgraph_row *rows = c->env->core->subgraph_row(c, (int32_t)number);
    if (!rows)
        return ml_fail(c, ML_UNSUPPORTED,
                       "its update computation is subgraph %lld, which does not exist",
                       (long long)number);
    ((scatter_params *)params)->rule = REPLACE;
    if (rows->n_nodes == 0) return ML_OK;
    const char *name = c->env->core->operator_name(c, &rows->nodes[0]);
    for (int i = 0; i < 4 && rows->n_nodes == 1; i++)
        if (strcmp(name, joins[i]) == 0) {
            ((scatter_params *)params)->rule = ADD + i;
            return ML_OK;
        }
    return ml_fail(
        c, ML_UNSUPPORTED,
        "its update computation is %s%s, must be a single STABLEHLO_ADD, STABLEHLO_MULTIPLY, "
        "STABLEHLO_MAXIMUM or STABLEHLO_MINIMUM",
        name, rows->n_nodes > 1 ? " and others" : "");
}

#define ROW(kind) {#kind " s32|s64 " #kind " -> " #kind, NULL, NULL, scatter_##kind}
ML_KERNELS(stablehlo_scatter) = {
    {ML_OP(STABLEHLO_SCATTER, 1, 1), .name = "stablehlo_scatter", .takes = "x indices updates -> y",
     .in_place = ML_INPUT(0), .check = check_scatter, ML_PARAMS_OF(scatter_params),
     .blob_bytes = sizeof(scatter_blob), .prepare = prepare_scatter,
     ML_TYPED(ROW(f32), ROW(f64), ROW(f16), ROW(s8), ROW(u8), ROW(b8), ROW(s16), ROW(u16), ROW(s32),
              ROW(u32), ROW(s64), ROW(u64))},
    ML_KERNELS_END,
};
