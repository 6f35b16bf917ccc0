/* embedding.c -- EMBEDDING_LOOKUP: takes rows of a table by index, unchanged or, for quantized
 * tables, as reals. EMBEDDING_LOOKUP_SPARSE: weighted sums of rows. HASHTABLE_LOOKUP: takes rows by
 * key, from a sorted list of keys. */
#include <math.h>

#include "rules/blockwise.h"
#include "rules/checks.h"
#include "rules/quantized.h"
#include "rules/unpack.h"
#include "rules/values.h"
#include "rules/work.h"
#include "simd/simd.h"

typedef struct rows_blob {
    int64_t count; /* of indices */
    int64_t rows; /* of the table */
    int64_t width; /* elements of a row */
} rows_blob;

/* Shapes output 0: a row of table `table` for each value in vector `vector`. */
static ml_status take_rows(const ml_call *c, int vector, int table, int32_t least_rank) {
    const ml_shape *indices = &ml_input(c, vector)->shape, *t = &ml_input(c, table)->shape;
    char text[96];
    if (indices->rank != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the keys must be a vector, its shape is %s",
                       ml_shape_text(indices, text));
    if (t->rank < least_rank)
        return ml_fail(c, ML_SHAPE_ERROR, "the table has rank %d, expected %d or more", t->rank,
                       least_rank);
    *(rows_blob *)c->blob =
        (rows_blob){indices->dims[0], t->dims[0], ml_elements_of(t, 1, t->rank)};
    ml_shape y = *t;
    y.dims[0] = indices->dims[0];
    return ml_set_output(c, 0, &y);
}

/* EMBEDDING_LOOKUP ----------------------------------------------------------------------------- */

#define LOOKUP_FIELDS(X, S) X(S, i32, block, ML_BY_CHECK) X(S, array, scales, ML_BY_CHECK)
ML_PARAMS(lookup_params, LOOKUP_FIELDS)

static ml_status prepare_lookup(const ml_call *c, ml_wish *wish) {
    const lookup_params *p = c->params;
    ml_status status = take_rows(c, 0, 1, 2);
    if (status != ML_OK) return status;
    const ml_quantization *q = ml_input_quantization(c, 1);
    const rows_blob *b = c->blob;
    const int64_t blocks = p->scales.bytes / (int64_t)sizeof(float);
    if (p->block && (b->width % p->block || b->rows * (b->width / p->block) != blocks))
        return ml_fail(
            c, ML_SHAPE_ERROR,
            "%lld rows of %lld elements do not make whole blocks of %d, of which %lld have a scale",
            (long long)b->rows, (long long)b->width, p->block, (long long)blocks);
    if (q && q->n_scales > 1 && (q->dimension != 0 || q->n_scales != b->rows))
        return ml_fail(c, ML_SHAPE_ERROR,
                       "the table has %lld scales along dimension %d, expected %lld along 0",
                       (long long)q->n_scales, q->dimension, (long long)b->rows);
    return ML_OK;
}

static ml_status lookup_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    const rows_blob *b = c->blob;
    const int64_t run = b->width * ml_type_bytes(ml_in_tensor(c, 1)->type);
    int64_t indices[256], n;
    uint8_t *y = (uint8_t *)ml_out(c, 0) + first * run;
    for (int64_t i = first; i < end; i += n, y += n * run) {
        n = ml_min_s64(end - i, 256);
        ml_status status = ml_read_indices(c, 0, i, n, b->rows, indices);
        if (status != ML_OK) return status;
        ml_copy_indexed(y, ml_in(c, 1), run, indices, n);
    }
    return ML_OK;
}

static ml_status by_rows(const ml_call *c, ml_body body) {
    const rows_blob *b = c->blob;
    return ml_in_blocks(c, b->count, b->width, body, NULL);
}
static ml_status lookup(const ml_call *c) { return by_rows(c, lookup_some); }

/* Elements first .. first + count - 1 of the table, at most ML_UNPACKED, as reals; u8 is read as
 * s8, as in TFLite. */
static void reals_of(const ml_call *c, int64_t first, int64_t count, int64_t row, float *to) {
    const lookup_params *p = c->params;
    const float *blocks = p->scales.data;
    const ml_quantization *q = ml_input_quantization(c, 1);
    int8_t room[ML_UNPACK_ROOM];
    const int8_t *x = ml_unpack(ml_in_tensor(c, 1)->type, ml_in(c, 1), first, count, room);
    ml_quantize_s8_args args = {.is_signed = 1};
    for (int64_t k = 0; k < count; k += args.n) {
        const int64_t at = first + k;
        args.n = p->block ? ml_min_s64(count - k, p->block - at % p->block) : count;
        args.scale = p->block ? blocks[at / p->block] : q->scales[q->n_scales > 1 ? row : 0];
        args.x = to + k;
        args.y = (uint8_t *)(uintptr_t)(x + k); /* only read */
        c->env->simd->dequantize_s8(&args);
    }
}

static ml_status lookup_reals_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                   void *args) {
    const rows_blob *b = c->blob;
    const bool halves = ml_out_tensor(c, 0)->type == ML_F16;
    float wide[ML_UNPACKED];
    for (int64_t i = first; i < end; i++) {
        int64_t row;
        ml_status status = ml_read_indices(c, 0, i, 1, b->rows, &row);
        if (status != ML_OK) return status;
        for (int64_t k = 0, n; k < b->width; k += n) {
            n = ml_min_s64(b->width - k, ML_UNPACKED);
            float *y = halves ? wide : (float *)ml_out(c, 0) + i * b->width + k;
            reals_of(c, row * b->width + k, n, row, y);
            if (halves)
                c->env->simd->narrow_f16(wide, n, (uint16_t *)ml_out(c, 0) + i * b->width + k);
        }
    }
    return ML_OK;
}
static ml_status lookup_reals(const ml_call *c) { return by_rows(c, lookup_reals_some); }

/* EMBEDDING_LOOKUP_SPARSE ---------------------------------------------------------------------- */

#define SPARSE_FIELDS(X, S) X(S, i32, mean, ML_BY_CHECK) X(S, i32, root, ML_BY_CHECK)
ML_PARAMS(sparse_params, SPARSE_FIELDS)

enum { IDS, PLACES, SHAPE, WEIGHTS, TABLE };

static ml_status prepare_sparse(const ml_call *c, ml_wish *wish) {
    const ml_shape *ids = &ml_input(c, IDS)->shape, *places = &ml_input(c, PLACES)->shape;
    const ml_shape *sizes = &ml_input(c, SHAPE)->shape, *weights = &ml_input(c, WEIGHTS)->shape;
    const ml_shape *table = &ml_input(c, TABLE)->shape;
    if (ids->rank != 1 || places->rank != 2 || weights->rank != 1 || table->rank < 2 ||
        places->dims[0] != ids->dims[0] || weights->dims[0] != ids->dims[0])
        return ml_fail(
            c, ML_SHAPE_ERROR,
            "ids and weights must be vectors of one length, indices and table of rank 2: "
            "their ranks are %d, %d, %d, %d",
            ids->rank, weights->rank, places->rank, table->rank);
    if (sizes->rank != 1 || sizes->dims[0] != places->dims[1] || sizes->dims[0] < 1)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "the dense shape has rank %d, rows of indices have %d numbers",
                       sizes->rank == 1 ? sizes->dims[0] : 0, places->dims[1]);
    /* The output has the dense shape, whose last dimension the rows of the table replace. */
    const int32_t *dims = ml_value(c, SHAPE);
    if (!dims) return ml_open(wish, 0);
    ml_shape y = {.rank = 0};
    ml_status status = ML_OK;
    for (int32_t d = 0; d < sizes->dims[0] - 1 && status == ML_OK; d++) {
        if (dims[d] < 0)
            return ml_fail(c, ML_SHAPE_ERROR, "dimension %d of the dense shape is %d", d, dims[d]);
        status = ml_append_dim(c, &y, dims[d]);
    }
    if (status == ML_OK) status = ml_append_dims(c, &y, table, 1, table->rank);
    *(rows_blob *)c->blob =
        (rows_blob){ids->dims[0], table->dims[0], ml_elements_of(table, 1, table->rank)};
    return status == ML_OK ? ml_set_output(c, 0, &y) : status;
}

/* The row of the output for row `i` of indices. */
static ml_status place_of(const ml_call *c, int64_t i, int64_t *to) {
    const int32_t axes = ml_in_tensor(c, PLACES)->shape.dims[1];
    const int32_t *place = (const int32_t *)ml_in(c, PLACES) + i * axes;
    const int32_t *dims = ml_out_tensor(c, 0)->shape.dims;
    *to = 0;
    for (int32_t d = 0; d < axes - 1; d++) {
        if (place[d] < 0 || place[d] >= dims[d])
            return ml_fail(c, ML_KERNEL_ERROR,
                           "index %d of row %lld is outside dimension %d of size %d", place[d],
                           (long long)i, d, dims[d]);
        *to = *to * dims[d] + place[d];
    }
    return ML_OK;
}

typedef struct bucket {
    int64_t row;
    int64_t count;
    float weight;
    float squares;
} bucket;

/* Called when another row begins: turns sums into means. */
static void finish(const ml_call *c, const bucket *b) {
    const sparse_params *p = c->params;
    const int64_t width = ((const rows_blob *)c->blob)->width;
    if (b->count == 0 || !(p->mean || p->root)) return;
    const float by = p->mean ? b->weight : sqrtf(b->squares);
    float *y = (float *)ml_out(c, 0) + b->row * width;
    for (int64_t k = 0; k < width; k++) y[k] /= by;
}

static ml_status lookup_sparse(const ml_call *c) {
    const rows_blob *b = c->blob;
    const float *weights = ml_in(c, WEIGHTS), *table = ml_in(c, TABLE);
    bucket now = {0};
    const float nothing = 0.0f;
    int64_t work = 0;
    ml_status status = ml_fill_bytes(c, ml_out(c, 0), ml_out_tensor(c, 0)->bytes, &nothing, 4);
    for (int64_t i = 0; i < b->count && status == ML_OK; i++) {
        int64_t id, row;
        status = ml_read_indices(c, IDS, i, 1, b->rows, &id);
        if (status == ML_OK) status = place_of(c, i, &row);
        if (status != ML_OK) return status;
        if (row != now.row) {
            finish(c, &now);
            now = (bucket){.row = row};
        }
        now.count++;
        now.weight += weights[i];
        now.squares += weights[i] * weights[i];
        float *y = (float *)ml_out(c, 0) + row * b->width;
        for (int64_t k = 0; k < b->width; k++) y[k] += table[id * b->width + k] * weights[i];
        status = ml_count_work(c, b->width + 1, &work);
    }
    finish(c, &now);
    return status;
}

/* HASHTABLE_LOOKUP ----------------------------------------------------------------------------- */

static ml_status prepare_keys(const ml_call *c, ml_wish *wish) {
    const ml_shape *keys = &ml_input(c, 1)->shape, *table = &ml_input(c, 2)->shape;
    char one[96], other[96];
    if (keys->rank != 1 || table->rank < 1 || keys->dims[0] != table->dims[0])
        return ml_fail(c, ML_SHAPE_ERROR, "keys of shape %s do not match a table of %s",
                       ml_shape_text(keys, one), ml_shape_text(table, other));
    ml_status status = take_rows(c, 0, 2, 1);
    if (status != ML_OK) return status;
    return ml_set_output(c, 1, &(ml_shape){.rank = 1, .dims = {ml_input(c, 0)->shape.dims[0]}});
}

/* Missing keys give rows of 0 bytes. */
static ml_status lookup_some_keys(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                  void *args) {
    const rows_blob *b = c->blob;
    const int32_t *wanted = ml_in(c, 0), *keys = ml_in(c, 1);
    const size_t run = (size_t)(b->width * ml_type_bytes(ml_in_tensor(c, 2)->type));
    uint8_t *y = (uint8_t *)ml_out(c, 0) + (size_t)first * run, *hits = ml_out(c, 1);
    for (int64_t i = first; i < end; i++, y += run) {
        int64_t low = 0, high = b->rows;
        while (low < high) {
            const int64_t middle = (low + high) / 2;
            if (keys[middle] < wanted[i]) low = middle + 1;
            else high = middle;
        }
        hits[i] = low < b->rows && keys[low] == wanted[i];
        if (hits[i]) memcpy(y, (const uint8_t *)ml_in(c, 2) + (size_t)low * run, run);
        else memset(y, 0, run);
    }
    return ML_OK;
}
static ml_status lookup_keys(const ml_call *c) { return by_rows(c, lookup_some_keys); }

/* Rows that become reals must have a scale: their own, the table's, or one per block. */
static ml_status check_lookup(const ml_call *c, void *params) {
    lookup_params *p = params;
    const int32_t table = c->inputs[1];
    if (ml_input(c, 1)->type == ml_output(c, 0)->type) return ML_OK;
    if (c->env->core->tensor_row(c, table)->scales_tensor >= 0)
        return ml_read_blocks(c, 1, &p->block, &p->scales);
    ml_status status = ml_check_channels(c, table);
    const ml_quantization *q = ml_input_quantization(c, 1);
    for (int32_t i = 0; i < q->n_zero_points && status == ML_OK; i++)
        if (q->zero_points[i] != 0)
            return ml_fail(c, ML_UNSUPPORTED, "table '%s' has the zero point %lld, must be 0",
                           ml_input_name(c, 1), (long long)q->zero_points[i]);
    return status;
}
static ml_status check_sparse(const ml_call *c, void *params) {
    enum { SUM, MEAN, SQRTN }; /* CombinerType of the schema */
    const int64_t combiner = ml_option_of(c, "combiner").integer;
    *(sparse_params *)params = (sparse_params){.mean = combiner == MEAN, .root = combiner == SQRTN};
    return ML_OK;
}

ML_KERNELS(embedding) = {
    {ML_OP(EMBEDDING_LOOKUP, 1, 5), .name = "embedding_lookup", .flags = ML_KERNEL_REFUSES_VALUES,
     .takes = "ids table -> y", .check = check_lookup, ML_PARAMS_OF(lookup_params),
     .blob_bytes = sizeof(rows_blob), .prepare = prepare_lookup,
     ML_TYPED({"s32 s8|u8|s4|s2 -> f32|f16", NULL, NULL, lookup_reals},
              {"s32 T -> T: " ML_WHOLE_BYTES, NULL, NULL, lookup})},
    {ML_OP(EMBEDDING_LOOKUP_SPARSE, 1, 1), .name = "embedding_lookup_sparse",
     .flags = ML_KERNEL_REFUSES_VALUES, .takes = "ids indices dense_shape weights table -> y",
     .check = check_sparse, ML_PARAMS_OF(sparse_params), .blob_bytes = sizeof(rows_blob),
     .prepare = prepare_sparse,
     ML_TYPED({"s32 s32 s32 f32 f32 -> f32", NULL, NULL, lookup_sparse})},
    {ML_OP(HASHTABLE_LOOKUP, 1, 1), .name = "hashtable_lookup",
     .takes = "wanted keys table -> y hits", .blob_bytes = sizeof(rows_blob),
     .prepare = prepare_keys,
     ML_TYPED({"s32 s32 T -> T u8: " ML_WHOLE_BYTES, NULL, NULL, lookup_keys},
              {"s32 s32 string -> string u8", NULL, NULL, NULL})},
    ML_KERNELS_END,
};
