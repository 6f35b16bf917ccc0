/* attention.c -- odml.scaled_dot_product_attention: softmax(cap(scale q k) + mask) v, per head.
 *
 * q is (batches, tokens, heads, depth), k and v are (batches, keys, kv heads, depth); consecutive
 * heads share a kv head. Nothing is transposed or repeated: the rows of a kv head are its queries,
 * one per token and head. Few rows are multiplied by k and v in place, so that a cache is read only
 * once; for many rows, k and v are packed like weights. */
#include "rules/checks.h"
#include "rules/matmul.h"
#include "rules/products.h"
#include "rules/work.h"

enum {
    Q,
    K,
    V,
    MASK,
    MOST_TILES = 5, /* tiles of rows per block */
    NEAR_SCORES = 1 << 16, /* floats per block: they are read several times */
    FEW_ROWS = 8 /* of a kv head: packing k and v for so few takes longer than the products */
};

/* A scale of 0 means 1 / sqrt(depth), a cap of 0 means none. */
#define ATTENTION_FIELDS(X, S) \
    X(S, f32, scale, ML_NUMBER_OR("scale", 0)) X(S, f32, logit_cap, ML_NUMBER_OR("logit_cap", 0))
ML_PARAMS(attention_params, ATTENTION_FIELDS)

typedef struct attention_blob {
    int64_t batches;
    int64_t tokens;
    int64_t heads;
    int64_t keys;
    int64_t kv_heads;
    int64_t depth; /* of q and k */
    int64_t width; /* of v and the output */
    int64_t rows; /* of a kv head: tokens * its heads */
    int64_t block; /* rows at a time */
    int64_t stride; /* floats from row to row of scores */
    int64_t mask_steps[3]; /* elements from batch to batch, head to head, token to token */
    int64_t packed_k; /* floats of a kv head's k, packed; 0: neither is */
    int64_t packed_v;
    float scale;
} attention_blob;

/* Sizes -------------------------------------------------------------------------------------- */

/* Checks that shapes fit each other: the file's shapes in check, the current ones in prepare. */
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

static void find_mask_steps(const ml_shape *mask, attention_blob *b) {
    int64_t step = b->keys;
    for (int d = 2; d >= 0; d--) {
        b->mask_steps[d] = mask->dims[d] == 1 ? 0 : step;
        step *= mask->dims[d];
    }
}

/* The rows per block: blocks of equal size, and of whole tiles if there are many rows. */
static int64_t find_block(const ml_simd *simd, const attention_blob *b) {
    int64_t tiles = NEAR_SCORES / (b->keys * simd->matmul_f32_rows + 1);
    if (b->rows <= FEW_ROWS) return b->rows;
    if (tiles < 1) tiles = 1;
    const int64_t most = ml_min_s64(tiles, MOST_TILES) * simd->matmul_f32_rows;
    return ml_even_part(b->rows, most);
}

/* Floats of scratch per worker: scaled rows of q, their scores, and their outputs. */
static int64_t worker_floats(const attention_blob *b) {
    return b->block * (ml_round_up(b->depth, 16) + b->stride + b->width);
}

static ml_status prepare_attention(const ml_call *c, ml_wish *wish) {
    const attention_params *p = c->params;
    attention_blob *b = c->blob;
    ml_status status = check_shapes(c, ML_SHAPE_ERROR);
    if (status != ML_OK) return status;
    const ml_shape *q = &ml_input(c, Q)->shape, *k = &ml_input(c, K)->shape;
    *b = (attention_blob){.batches = q->dims[0],
                          .tokens = q->dims[1],
                          .heads = q->dims[2],
                          .keys = k->dims[1],
                          .kv_heads = k->dims[2],
                          .depth = q->dims[3],
                          .width = ml_input(c, V)->shape.dims[3]};
    if (ml_input(c, MASK)) find_mask_steps(&ml_input(c, MASK)->shape, b);
    ml_shape y = *q;
    y.dims[3] = (int32_t)b->width;
    status = ml_set_output(c, 0, &y);
    if (status != ML_OK) return status;
    /* Heads that share keys are rows of one product. */
    b->rows = b->tokens * (b->heads / b->kv_heads);
    b->scale = p->scale;
    if (b->scale == 0.0f) b->scale = 1.0f / __builtin_sqrtf((float)b->depth);
    const ml_simd *simd = c->env->simd;
    int64_t kv, bytes, most;
    b->block = find_block(simd, b);
    /* Rows that are a multiple of 512 bytes apart would collide in a few sets of the cache. */
    b->stride = b->keys % 128 ? b->keys : b->keys + 16;
    /* Many rows are multiplied by packed keys and values. */
    if (b->rows > FEW_ROWS && b->keys > 0 && b->depth > 0) {
        b->packed_k = ml_packed_f32(simd, b->keys, b->depth);
        b->packed_v = ml_packed_f32(simd, b->width, b->keys);
        kv = b->batches * b->kv_heads;
        if (__builtin_mul_overflow(b->packed_k + b->packed_v, 4 * kv, &bytes))
            return ml_fail(c, ML_SHAPE_ERROR, "k and v are too large to pack");
        ml_reserve(wish, bytes);
        wish->worker_bytes = b->keys * b->depth * (int64_t)sizeof(float);
    }
    most = 4 * worker_floats(b);
    if (most > wish->worker_bytes) wish->worker_bytes = most;
    return ML_OK;
}

/* Packing ------------------------------------------------------------------------------------ */

/* The heads of small models have 4 values: a call of memcpy would take longer than the copy. */
static inline void copy_floats(float *to, const float *from, int64_t n) {
    if (n == 4) memcpy(to, from, 4 * sizeof *to);
    else memcpy(to, from, (size_t)n * sizeof *to);
}

/* `count` rows of `n` floats, `stride` apart in `from`, one after the other. */
static void gather_rows(const float *from, int64_t stride, int64_t count, int64_t n, float *to) {
    for (int64_t i = 0; i < count; i++, from += stride, to += n) copy_floats(to, from, n);
}

/* Packs v's rows in panels of columns, with zeros after the last column. */
static void pack_rows(int64_t panel, const float *from, int64_t stride, int64_t k, int64_t n,
                      float *to) {
    for (int64_t i = 0; i < n; i += panel) {
        const int64_t width = ml_min_s64(panel, n - i);
        if (width < panel) memset(to, 0, (size_t)(panel * k) * sizeof *to);
        for (int64_t j = 0; j < k; j++, to += panel) copy_floats(to, from + j * stride + i, width);
    }
}

/* Where kv head `kv`, of all batches, begins in k (depth values a head) or v (width). */
static int64_t start_of(const attention_blob *b, int64_t kv, int64_t values) {
    return (kv / b->kv_heads * b->keys * b->kv_heads + kv % b->kv_heads) * values;
}

static ml_status pack_heads(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const attention_blob *b = c->blob;
    const ml_simd *simd = c->env->simd;
    float *rows = ml_worker_scratch(c, worker);
    for (int64_t kv = first; kv < end; kv++) {
        const float *k = (const float *)ml_in(c, K) + start_of(b, kv, b->depth);
        const float *v = (const float *)ml_in(c, V) + start_of(b, kv, b->width);
        float *to = (float *)c->scratch + kv * (b->packed_k + b->packed_v);
        if (b->kv_heads > 1) {
            gather_rows(k, b->kv_heads * b->depth, b->keys, b->depth, rows);
            k = rows;
        }
        simd->pack_f32(k, b->keys, b->depth, to);
        pack_rows(simd->matmul_f32_panel, v, b->kv_heads * b->width, b->keys, b->width,
                  to + b->packed_k);
    }
    return ML_OK;
}

/* A block of rows ---------------------------------------------------------------------------- */

/* Rows first .. first + count - 1 of a kv head: row r is of token r / group, head r % group. */
typedef struct rows_of_kv {
    int64_t kv; /* of all batches */
    int64_t group; /* heads of the kv head */
    int64_t first;
    int64_t count;
    float *q;
    float *scores;
    float *y;
    int64_t key; /* keys key .. key + seen - 1 are computed; the mask excludes all others */
    int64_t seen;
} rows_of_kv;

/* Where row `r` begins in q (depth values a head) or the output (width). */
static int64_t row_start(const attention_blob *b, const rows_of_kv *at, int64_t r, int64_t values) {
    const int64_t batch = at->kv / b->kv_heads, head = at->kv % b->kv_heads * at->group;
    const int64_t token = batch * b->tokens + r / at->group;
    return (token * b->heads + head + r % at->group) * values;
}

static void scale_row(const float *restrict q, int64_t n, float scale, float *restrict to) {
    for (int64_t j = 0; j < n; j++) to[j] = q[j] * scale;
}

static void scale_rows(const ml_call *c, const rows_of_kv *at) {
    const attention_blob *b = c->blob;
    for (int64_t i = 0; i < at->count; i++) {
        const float *q = (const float *)ml_in(c, Q) + row_start(b, at, at->first + i, b->depth);
        scale_row(q, b->depth, b->scale, at->q + i * b->depth);
    }
}

/* The mask's values for row `r`, a number among the rows of the kv head. */
static const float *mask_row(const ml_call *c, const rows_of_kv *at, int64_t r) {
    const attention_blob *b = c->blob;
    const int64_t head = at->kv % b->kv_heads * at->group + r % at->group;
    return (const float *)ml_in(c, MASK) + at->kv / b->kv_heads * b->mask_steps[0] +
           head * b->mask_steps[1] + r / at->group * b->mask_steps[2];
}

/* True if the mask leaves one of n keys. One of -1e30 or less excludes a key: its exponential is 0
 * whatever its score, unless that is about as large. */
static bool sees(const float *mask, int64_t n) {
    int32_t any = 0;
    for (int64_t i = 0; i < n; i++) any |= mask[i] > -1e30f;
    return any;
}

/* Finds the keys that rows of a block see, in stretches of those whose numbers are summed in one
 * go, so that no sum changes. If a row sees none, all are computed: it has the values of all. */
static void find_keys(const ml_call *c, rows_of_kv *at) {
    enum { SUMMED = 128 };
    const attention_blob *b = c->blob;
    const int64_t stretches = ml_ceil_div(b->keys, SUMMED);
    const float *before = NULL;
    int64_t first = stretches, last = -1;
    at->key = 0;
    at->seen = b->keys;
    if (!ml_in_optional(c, MASK) || stretches < 2) return;
    for (int64_t i = 0; i < at->count; i++) {
        const float *mask = mask_row(c, at, at->first + i);
        int64_t low = 0, high = stretches - 1;
        if (mask == before) continue;
        before = mask;
        while (high >= 0 &&
               !sees(mask + high * SUMMED, ml_min_s64(SUMMED, b->keys - high * SUMMED)))
            high--;
        if (high < 0) return;
        while (low < first && low < high && !sees(mask + low * SUMMED, SUMMED)) low++;
        last = ml_max_s64(last, high);
        first = ml_min_s64(first, low);
    }
    at->key = first * SUMMED;
    at->seen = ml_min_s64((last + 1) * SUMMED, b->keys) - at->key;
}

/* Multiplies rows by the packed weights of `n` outputs. */
static void multiply_packed(const ml_call *c, const float *x, int64_t rows, int64_t x_stride,
                            int64_t k, const float *packed, int64_t n, float *y, int64_t y_stride,
                            int64_t packed_k) {
    const ml_matmul_f32_args product = {.a = x,
                                        .rows = rows,
                                        .a_stride = x_stride,
                                        .pieces = 1,
                                        .k = k,
                                        .n = n,
                                        .packed = packed,
                                        .y = y,
                                        .y_stride = y_stride,
                                        .low = -__builtin_inff(),
                                        .high = __builtin_inff(),
                                        .packed_k = packed_k};
    c->env->simd->matmul_f32(&product);
}

static void find_scores(const ml_call *c, const rows_of_kv *at) {
    const attention_blob *b = c->blob;
    if (b->packed_k) {
        const float *packed = (const float *)c->scratch + at->kv * (b->packed_k + b->packed_v);
        multiply_packed(c, at->q, at->count, b->depth, b->depth, packed + at->key * b->depth,
                        at->seen, at->scores + at->key, b->stride, 0);
        return;
    }
    const ml_rows_f32_args product = {.x = at->q,
                                      .rows = at->count,
                                      .x_stride = b->depth,
                                      .w = (const float *)ml_in(c, K) +
                                           start_of(b, at->kv, b->depth) +
                                           at->key * b->kv_heads * b->depth,
                                      .w_stride = b->kv_heads * b->depth,
                                      .k = b->depth,
                                      .n = at->seen,
                                      .y = at->scores + at->key,
                                      .y_stride = b->stride};
    c->env->simd->dot_rows_f32(&product);
}

/* Caps the scores and adds the mask. */
static void cap_and_mask(const ml_call *c, const rows_of_kv *at) {
    const attention_blob *b = c->blob;
    const ml_simd *simd = c->env->simd;
    const float cap = ((const attention_params *)c->params)->logit_cap;
    const bool masks = ml_in_optional(c, MASK) != NULL;
    /* cap * tanh(score / cap) */
    for (int64_t i = 0; cap > 0.0f && i < at->count; i++) {
        float *row = at->scores + i * b->stride + at->key;
        const ml_map_f32_args tanh = {.x = row, .y = row, .n = at->seen, .function = ML_MAP_TANH};
        for (int64_t j = 0; j < at->seen; j++) row[j] /= cap;
        simd->map_f32(&tanh);
        for (int64_t j = 0; j < at->seen; j++) row[j] *= cap;
    }
    for (int64_t i = 0, run; masks && i < at->count; i += run) {
        const int64_t in_group = (at->first + i) % at->group;
        float *rows = at->scores + i * b->stride + at->key;
        /* Mask rows without gaps are added together: the heads of a token, or tokens if there is
         * one head. */
        run = at->group > 1 ? ml_min_s64(at->group - in_group, at->count - i) : at->count;
        if (b->stride != b->keys || at->seen != b->keys) run = 1;
        const ml_zip_f32_args sum = {.a = rows,
                                     .b = mask_row(c, at, at->first + i) + at->key,
                                     .y = rows,
                                     .n = at->seen,
                                     .rows = run,
                                     .a_row = b->keys,
                                     .b_row = b->mask_steps[at->group > 1 ? 1 : 2],
                                     .function = ML_ZIP_ADD,
                                     .low = -__builtin_inff(),
                                     .high = __builtin_inff()};
        simd->zip_f32(&sum);
    }
}

static void mix_values(const ml_call *c, const rows_of_kv *at) {
    const attention_blob *b = c->blob;
    for (int64_t i = 0; b->keys > 0 && i < at->count; i++) { /* rows without keys are 0 */
        float *scores = at->scores + i * b->stride + at->key;
        c->env->simd->softmax_f32(&(ml_softmax_f32_args){scores, scores, at->seen, 1.0f, 0});
    }
    if (b->packed_k) {
        const float *packed =
            (const float *)c->scratch + at->kv * (b->packed_k + b->packed_v) + b->packed_k;
        multiply_packed(c, at->scores + at->key, at->count, b->stride, at->seen,
                        packed + at->key * c->env->simd->matmul_f32_panel, b->width, at->y,
                        b->width, b->keys);
        return;
    }
    const ml_rows_f32_args product = {.x = at->scores + at->key,
                                      .rows = at->count,
                                      .x_stride = b->stride,
                                      .w = (const float *)ml_in(c, V) +
                                           start_of(b, at->kv, b->width) +
                                           at->key * b->kv_heads * b->width,
                                      .w_stride = b->kv_heads * b->width,
                                      .k = at->seen,
                                      .n = b->width,
                                      .y = at->y,
                                      .y_stride = b->width};
    c->env->simd->mix_rows_f32(&product);
}

static ml_status attend(const ml_call *c, int64_t first, int64_t end, int32_t worker, void *args) {
    const attention_blob *b = c->blob;
    const int64_t blocks = ml_ceil_div(b->rows, b->block);
    for (int64_t i = first; i < end; i++) {
        rows_of_kv at = {.kv = i / blocks,
                         .group = b->heads / b->kv_heads,
                         .first = i % blocks * b->block,
                         .q = ml_worker_scratch(c, worker)};
        at.count = ml_min_s64(b->block, b->rows - at.first);
        at.scores = at.q + b->block * ml_round_up(b->depth, 16);
        at.y = at.scores + b->block * b->stride;
        scale_rows(c, &at);
        find_keys(c, &at);
        find_scores(c, &at);
        cap_and_mask(c, &at);
        mix_values(c, &at);
        for (int64_t r = 0; r < at.count; r++)
            copy_floats((float *)ml_out(c, 0) + row_start(b, &at, at.first + r, b->width),
                        at.y + r * b->width, b->width);
    }
    return ML_OK;
}

static ml_status run_attention(const ml_call *c) {
    const attention_blob *b = c->blob;
    const int64_t kv = b->batches * b->kv_heads, blocks = kv * ml_ceil_div(b->rows, b->block);
    const int64_t each = b->keys * (b->depth + b->width);
    ml_status status = ML_OK;
    if (b->packed_k) status = ml_parallel(c, kv, ml_work_grain(kv, each), pack_heads, NULL);
    if (status != ML_OK) return status;
    const int64_t cost = b->block * each;
    return ml_parallel(c, blocks, ml_work_grain(blocks, cost), attend, NULL);
}

/* The rows of q times k, and scores times v. */
static int64_t count_attention(const ml_operand_shapes *of) {
    const int64_t scores = ml_times(ml_extent(of, Q, 0, 2), ml_extent(of, K, 1, 1));
    return ml_times(scores, ml_extent(of, Q, 3, 3) + ml_extent(of, V, 3, 3));
}

ML_KERNELS(attention) = {
    {ML_CUSTOM_OP("odml.scaled_dot_product_attention", 1, 1),
     .name = "scaled_dot_product_attention", .takes = "q k v mask? -> y", .check = check_attention,
     ML_PARAMS_OF(attention_params), .blob_bytes = (int32_t)sizeof(attention_blob),
     .multiply_adds = count_attention, .prepare = prepare_attention,
     ML_TYPED({"f32 f32 f32 f32? -> f32", NULL, NULL, run_attention})},
    ML_KERNELS_END,
};
