/* attention.c -- odml.scaled_dot_product_attention: softmax(scale q k^T + mask) v, by heads.
 *
 * q is (batch, queries, heads, depth), k and v (batch, keys, groups, depth): consecutive heads
 * share the keys and values of a group. Few rows of queries read these where they lie; for more
 * rows they are packed in panels. `logit_cap` bounds products before the mask: cap tanh(product /
 * cap). */
#include <math.h>

#include "rules/checks.h"
#include "rules/matmul.h"
#include "rules/values.h"
#include "rules/work.h"

enum {
    Q,
    K,
    V,
    MASK,
    ROWS = 32, /* of queries at a time */
    FEW_ROWS = 16 /* of a group, in all: to pack keys and values would take longer than products */
};

#define ATTENTION_FIELDS(X, S) X(S, f32, scale, ML_NUMBER_OR("scale", 0)) X(S, f32, logit_cap, ML_NUMBER_OR("logit_cap", 0))
ML_PARAMS(attention_params, ATTENTION_FIELDS)

typedef struct attention_blob {
    int64_t batches;
    int64_t queries;
    int64_t keys;
    int64_t heads;
    int64_t groups;
    int64_t depth; /* of queries and keys */
    int64_t width; /* of values */
    int64_t mask_steps[3]; /* from batch to batch, head to head, query to query; 0: the same one */
} attention_blob;

/* Whether shapes fit each other; they are the file's in check, and today's in prepare. */
static ml_status check_shapes(const ml_call *c, ml_status status) {
    const ml_shape *q = &ml_input(c, Q)->shape, *k = &ml_input(c, K)->shape,
                   *v = &ml_input(c, V)->shape;
    char one[96], two[96], three[96];
    bool fit = q->rank == 4 && k->rank == 4 && v->rank == 4;
    fit = fit && k->dims[0] == q->dims[0] && v->dims[0] == q->dims[0];
    fit = fit && v->dims[1] == k->dims[1] && v->dims[2] == k->dims[2] && k->dims[3] == q->dims[3];
    fit = fit && k->dims[1] > 0 && k->dims[2] > 0 && q->dims[2] % k->dims[2] == 0;
    if (!fit)
        return ml_fail(c, status,
                       "q, k and v have shapes %s, %s and %s, must be (batch, queries, heads, "
                       "depth) and twice (batch, keys, groups, depth), groups a divisor of heads",
                       ml_shape_text(q, one), ml_shape_text(k, two), ml_shape_text(v, three));
    if (!ml_input(c, MASK)) return ML_OK;
    const ml_shape *mask = &ml_input(c, MASK)->shape;
    const int32_t full[4] = {q->dims[0], q->dims[2], q->dims[1], k->dims[1]};
    fit = mask->rank == 4 && mask->dims[3] == full[3];
    for (int d = 0; fit && d < 3; d++) fit = mask->dims[d] == 1 || mask->dims[d] == full[d];
    if (fit) return ML_OK;
    return ml_fail(c, status,
                   "the mask has shape %s, must be (1 or %d, 1 or %d, 1 or %d, %d): batch, heads, "
                   "queries, keys",
                   ml_shape_text(mask, one), full[0], full[1], full[2], full[3]);
}

static ml_status check_attention(const ml_call *c, void *params) {
    const attention_params *p = params;
    if (ml_option_of(c, "scale").kind && p->scale == 0.0f)
        return ml_fail(c, ML_UNSUPPORTED, "option scale is 0, must not be");
    if (ml_option_of(c, "logit_cap").kind && !(p->logit_cap > 0.0f))
        return ml_fail(c, ML_UNSUPPORTED, "option logit_cap is %g, must be positive",
                       (double)p->logit_cap);
    return check_shapes(c, ML_UNSUPPORTED);
}

static bool is_few(const attention_blob *b) {
    return b->queries * (b->heads / b->groups) <= FEW_ROWS;
}

/* In a worker's scratch, in floats: rows of queries, of scores and of results; keys and values as
 * rows without gaps; both in panels. */
typedef struct layout {
    int64_t scores;
    int64_t results;
    int64_t plain;
    int64_t keys;
    int64_t values;
    int64_t all;
} layout;
static layout lay_out(const ml_simd *simd, const attention_blob *b) {
    layout l = {.scores = ml_round_up(ROWS * b->depth, 16)};
    l.results = l.scores + ml_round_up(ROWS * b->keys, 16);
    l.plain = l.results + ml_round_up(ROWS * b->width, 16);
    l.keys = l.values = l.all = l.plain;
    if (is_few(b)) return l;
    l.keys += ml_round_up(b->keys * ml_max_s64(b->depth, b->width), 16);
    l.values = l.keys + ml_round_up(ml_packed_f32(simd, b->keys, b->depth), 16);
    l.all = l.values + ml_round_up(ml_packed_f32(simd, b->width, b->keys), 16);
    return l;
}

static ml_status prepare_attention(const ml_call *c, ml_wish *wish) {
    const ml_status status = check_shapes(c, ML_SHAPE_ERROR);
    if (status != ML_OK) return status;
    const ml_shape *q = &ml_input(c, Q)->shape, *k = &ml_input(c, K)->shape;
    attention_blob *b = c->blob;
    *b = (attention_blob){.batches = q->dims[0],
                          .queries = q->dims[1],
                          .heads = q->dims[2],
                          .depth = q->dims[3],
                          .keys = k->dims[1],
                          .groups = k->dims[2],
                          .width = ml_input(c, V)->shape.dims[3]};
    if (ml_input(c, MASK)) {
        const ml_shape *mask = &ml_input(c, MASK)->shape;
        int64_t step = mask->dims[3];
        const int order[3] = {2, 1, 0}; /* queries, heads, batches: from the innermost out */
        const int at[3] = {2, 1, 0};
        for (int i = 0; i < 3; i++) {
            b->mask_steps[at[i]] = mask->dims[order[i]] == 1 ? 0 : step;
            step *= mask->dims[order[i]];
        }
    }
    wish->worker_bytes = lay_out(c->env->simd, b).all * (int64_t)sizeof(float);
    ml_shape y = *q;
    y.dims[3] = ml_input(c, V)->shape.dims[3];
    return ml_set_output(c, 0, &y);
}

/* The rows of a batch that meet one group: row r is of query r / (heads of a group). */
typedef struct unit {
    int64_t batch;
    int64_t group;
    const float *k;
    const float *v;
    float *scratch;
    layout at;
} unit;

/* Rows of n floats that lie `step` apart, one after the other. */
static const float *without_gaps(const float *from, int64_t step, int64_t rows, int64_t n,
                                 float *to) {
    if (step == n) return from;
    for (int64_t r = 0; r < rows; r++) memcpy(to + r * n, from + r * step, (size_t)n * sizeof *to);
    return to;
}

static void pack_group(const ml_call *c, const unit *u) {
    const attention_blob *b = c->blob;
    float *plain = u->scratch + u->at.plain;
    const float *k = without_gaps(u->k, b->groups * b->depth, b->keys, b->depth, plain);
    c->env->simd->pack_f32(k, b->keys, b->depth, u->scratch + u->at.keys);
    const float *v = without_gaps(u->v, b->groups * b->width, b->keys, b->width, plain);
    ml_pack_columns_f32(c->env->simd, v, b->width, b->keys, u->scratch + u->at.values);
}

/* y = x times keys transposed, or times values, of `count` rows. */
static void multiply(const ml_call *c, const unit *u, int64_t count, bool by_keys) {
    const attention_blob *b = c->blob;
    float *queries = u->scratch, *scores = u->scratch + u->at.scores,
          *results = u->scratch + u->at.results;
    const int64_t k = by_keys ? b->depth : b->keys, n = by_keys ? b->keys : b->width;
    if (is_few(b)) {
        const ml_rows_f32_args args = {.x = by_keys ? queries : scores,
                                       .rows = count,
                                       .x_stride = k,
                                       .w = by_keys ? u->k : u->v,
                                       .w_stride = b->groups * (by_keys ? b->depth : b->width),
                                       .k = k,
                                       .n = n,
                                       .y = by_keys ? scores : results,
                                       .y_stride = n};
        if (by_keys) c->env->simd->dot_rows_f32(&args);
        else c->env->simd->mix_rows_f32(&args);
        return;
    }
    const ml_matmul_f32_args args = {.a = by_keys ? queries : scores,
                                     .rows = count,
                                     .a_stride = k,
                                     .pieces = 1,
                                     .k = k,
                                     .n = n,
                                     .packed = u->scratch + (by_keys ? u->at.keys : u->at.values),
                                     .y = by_keys ? scores : results,
                                     .y_stride = n,
                                     .low = -INFINITY,
                                     .high = INFINITY};
    c->env->simd->matmul_f32(&args);
}

/* Rows of n floats, one after the other: x + those of a mask, which lie `step` apart. */
static void add_mask(const ml_call *c, float *x, const float *mask, int64_t step, int64_t rows,
                     int64_t n) {
    const ml_zip_f32_args args = {.a = x,
                                  .b = mask,
                                  .y = x,
                                  .n = n,
                                  .rows = rows,
                                  .a_row = n,
                                  .b_row = step,
                                  .function = ML_ZIP_ADD,
                                  .low = -INFINITY,
                                  .high = INFINITY};
    c->env->simd->zip_f32(&args);
}

/* y = x times a number. */
static void scale(const ml_call *c, const float *x, float by, int64_t n, float *y) {
    const ml_zip_f32_args args = {.a = x,
                                  .b = &by,
                                  .y = y,
                                  .n = n,
                                  .rows = 1,
                                  .function = ML_ZIP_MUL,
                                  .kind = ML_ZIP_SCALAR_B,
                                  .low = -INFINITY,
                                  .high = INFINITY};
    c->env->simd->zip_f32(&args);
}

/* The mask of rows first .. first + count - 1, those of one query, or of one head, together. */
static void mask_rows(const ml_call *c, const unit *u, int64_t first, int64_t count) {
    const attention_blob *b = c->blob;
    const int64_t shared = b->heads / b->groups;
    const float *mask = (const float *)ml_in(c, MASK) + u->batch * b->mask_steps[0];
    float *scores = u->scratch + u->at.scores;
    for (int64_t row = first, rows; row < first + count; row += rows, scores += rows * b->keys) {
        const int64_t head = row % shared, left = first + count - row;
        rows = shared == 1 ? left : ml_min_s64(left, shared - head);
        add_mask(c, scores,
                 mask + (u->group * shared + head) * b->mask_steps[1] +
                     row / shared * b->mask_steps[2],
                 b->mask_steps[shared == 1 ? 2 : 1], rows, b->keys);
    }
}

/* The cap, the mask and the softmax of scores. */
static void finish_scores(const ml_call *c, const unit *u, int64_t first, int64_t count) {
    const attention_blob *b = c->blob;
    const float cap = ((const attention_params *)c->params)->logit_cap;
    float *scores = u->scratch + u->at.scores;
    if (cap > 0.0f) {
        const ml_map_f32_args tanh = {
            .x = scores, .y = scores, .n = count * b->keys, .function = ML_MAP_TANH};
        c->env->simd->map_f32(&tanh);
        scale(c, scores, cap, count * b->keys, scores);
    }
    if (ml_input(c, MASK)) mask_rows(c, u, first, count);
    for (int64_t r = 0; r < count; r++, scores += b->keys) {
        const ml_softmax_f32_args args = {.x = scores, .y = scores, .n = b->keys, .beta = 1.0f};
        c->env->simd->softmax_f32(&args);
    }
}

/* Where row `row` of a unit begins, among rows of all heads of all queries. */
static int64_t row_of(const attention_blob *b, const unit *u, int64_t row) {
    const int64_t shared = b->heads / b->groups, query = u->batch * b->queries + row / shared;
    return query * b->heads + u->group * shared + row % shared;
}

static void attend_rows(const ml_call *c, const unit *u, int64_t first, int64_t count) {
    const attention_blob *b = c->blob;
    const attention_params *p = c->params;
    const float given = p->scale == 0.0f ? 1.0f / sqrtf((float)b->depth) : p->scale;
    const float factor = p->logit_cap > 0.0f ? given / p->logit_cap : given;
    /* Rows of one query, or of its only head, are neighbours. */
    const int64_t together = b->queries == 1 || b->heads == 1 ? count : 1;
    for (int64_t r = 0; r < count; r += together)
        scale(c, (const float *)ml_in(c, Q) + row_of(b, u, first + r) * b->depth, factor,
              together * b->depth, u->scratch + r * b->depth);
    multiply(c, u, count, true);
    finish_scores(c, u, first, count);
    multiply(c, u, count, false);
    const float *results = u->scratch + u->at.results;
    for (int64_t r = 0; r < count; r += together)
        memcpy((float *)ml_out(c, 0) + row_of(b, u, first + r) * b->width, results + r * b->width,
               (size_t)(together * b->width) * sizeof *results);
}

static ml_status attend_groups(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                               void *args) {
    const attention_blob *b = c->blob;
    const int64_t rows = b->queries * (b->heads / b->groups);
    (void)args;
    for (int64_t i = first; i < end; i++) {
        const int64_t batch = i / b->groups, group = i % b->groups;
        const int64_t key = batch * b->keys * b->groups + group;
        const unit u = {.batch = batch,
                        .group = group,
                        .k = (const float *)ml_in(c, K) + key * b->depth,
                        .v = (const float *)ml_in(c, V) + key * b->width,
                        .scratch = ml_worker_scratch(c, worker),
                        .at = lay_out(c->env->simd, b)};
        if (!is_few(b)) pack_group(c, &u);
        for (int64_t row = 0; row < rows; row += ROWS)
            attend_rows(c, &u, row, ml_min_s64(ROWS, rows - row));
    }
    return ML_OK;
}

static ml_status attention(const ml_call *c) {
    const attention_blob *b = c->blob;
    const int64_t units = b->batches * b->groups;
    const int64_t cost = b->queries * b->heads / b->groups * b->keys * (b->depth + b->width);
    return ml_parallel(c, units, ml_work_grain(units, cost), attend_groups, NULL);
}

ML_KERNELS(attention) = {
    {ML_CUSTOM_OP("odml.scaled_dot_product_attention", 1, 1),
     .name = "scaled_dot_product_attention", .takes = "q k v mask? -> y", .check = check_attention,
     ML_PARAMS_OF(attention_params), .blob_bytes = (int32_t)sizeof(attention_blob),
     .prepare = prepare_attention, ML_TYPED({"f32 f32 f32 f32? -> f32", NULL, NULL, attention})},
    ML_KERNELS_END,
};
