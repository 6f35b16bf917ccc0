/* batch_matmul.c -- BATCH_MATMUL: matrices of x times those of y, whose other dimensions broadcast;
 * odml.runtime_bmm, the product of whole matrices with y transposed.
 *
 * y's matrices are packed like weights: floats and bytes in panels, s16 in rows. If y's floats are
 * computed at run time and x has few rows, y is read in place. Zero points of integers are
 * subtracted, except if the output is s32: there TFLite ignores them. Hybrid rows are quantized one
 * by one. */
#include "rules/checks.h"
#include "rules/broadcast.h"
#include "rules/bytes.h"
#include "rules/matmul.h"
#include "rules/products.h"
#include "rules/values.h"
#include "rules/work.h"

enum {
    ROWS = 32,
    FEW_ROWS = 8 /* of x: packing y for so few takes longer than the products */
};

#define BATCH_MATMUL_FIELDS(X, S) X(S, i32, adj_x) X(S, i32, adj_y) X(S, i32, asymmetric, ML_OPTION("asymmetric_quantize_inputs"))
ML_PARAMS(batch_matmul_params, BATCH_MATMUL_FIELDS)
/* odml.runtime_bmm: the same fields first. Its attributes say how accelerators store y. */
#define RUNTIME_FIELDS(X, S) \
    X(S, i32, adj_x, ML_IS(0)) X(S, i32, adj_y, ML_IS(1)) X(S, i32, asymmetric, ML_IS(0)) \
    X(S, i32, is_global, ML_FLAG_OR("is_global", 0)) X(S, i32, is_src, ML_FLAG_OR("is_src", 0)) \
    X(S, i32, rhs_cache_update, ML_FLAG_OR("rhs_cache_update", 0))
ML_PARAMS(runtime_params, RUNTIME_FIELDS)

typedef struct product_blob {
    int64_t m;
    int64_t k;
    int64_t n;
    int64_t batches;
    int64_t of_x; /* matrices; 0 if they have no elements, however many they are */
    int64_t of_y;
    bool reads_in_place; /* y is not packed */
    ml_shape outer; /* of the output, without the dimensions of its matrices */
    int64_t x_step[ML_MAX_RANK]; /* matrices to step per index of a dimension */
    int64_t y_step[ML_MAX_RANK];
} product_blob;

static ml_shape outer_of(const ml_shape *shape) {
    ml_shape outer = *shape;
    outer.rank -= 2;
    return outer;
}

static void find_steps(const ml_shape *whole, const ml_shape *from, int64_t *steps) {
    int64_t step = 1;
    for (int32_t d = whole->rank - 1; d >= 0; d--) {
        const int32_t at = d - whole->rank + from->rank;
        const int32_t size = at >= 0 ? from->dims[at] : 1;
        steps[d] = size == 1 ? 0 : step;
        step *= size;
    }
}

static int64_t x_bytes(const ml_call *c) { return ml_input(c, 0)->type == ML_F32 ? 4 : 2; }

/* For bytes in y, a worker's scratch: rows of x as bytes, and their sums; if x is s16, the sums of
 * each plane come first. */
typedef struct layout {
    int64_t planes;
    int64_t sums;
    int64_t bytes;
} layout;
static layout lay_out(const ml_call *c) {
    const product_blob *b = c->blob;
    const int64_t planes = ml_planes(ml_input(c, 0)->type);
    layout l = {.planes = ml_round_up(ROWS * b->k * planes, 64)};
    l.sums = l.planes + (planes > 1 ? 2 * ROWS * b->n * (int64_t)sizeof(int32_t) : 0);
    l.bytes = l.sums + ROWS * b->n * (int64_t)(planes > 1 ? sizeof(int64_t) : sizeof(int32_t));
    return l;
}

static ml_status prepare_batch_matmul(const ml_call *c, ml_wish *wish) {
    const batch_matmul_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape, *y = &ml_input(c, 1)->shape;
    product_blob *b = c->blob;
    char one[96], other[96];
    if (x->rank < 2 || y->rank < 2)
        return ml_fail(c, ML_SHAPE_ERROR, "x and y must be matrices, their shapes are %s and %s",
                       ml_shape_text(x, one), ml_shape_text(y, other));
    const int32_t *x_dims = x->dims + x->rank - 2, *y_dims = y->dims + y->rank - 2;
    b->m = x_dims[p->adj_x ? 1 : 0];
    b->k = x_dims[p->adj_x ? 0 : 1];
    b->n = y_dims[p->adj_y ? 0 : 1];
    wish->layout = p->adj_y; /* nodes may share a square y */
    if (y_dims[p->adj_y ? 1 : 0] != b->k)
        return ml_fail(c, ML_SHAPE_ERROR, "rows of %lld in x and columns of %d in y do not match",
                       (long long)b->k, y_dims[p->adj_y ? 1 : 0]);
    const ml_quantization *q = ml_input_quantization(c, 1);
    if (q && q->n_scales > 1 && q->n_scales != b->n)
        return ml_fail(c, ML_SHAPE_ERROR, "y has %d scales and %lld columns", q->n_scales,
                       (long long)b->n);
    /* Batches, which broadcast. */
    const ml_shape x_outer = outer_of(x), y_outer = outer_of(y);
    ml_status status = ml_broadcast_shape(c, &x_outer, &y_outer, &b->outer);
    if (status != ML_OK) return status;
    find_steps(&b->outer, &x_outer, b->x_step);
    find_steps(&b->outer, &y_outer, b->y_step);
    b->batches = ml_elements(&b->outer);
    /* Matrices without elements are not walked: there may be more of them than memory. */
    b->of_x = ml_elements(x) > 0 ? ml_elements(&x_outer) : 0;
    b->of_y = ml_elements(y) > 0 ? ml_elements(&y_outer) : 0;
    b->reads_in_place = ml_input(c, 1)->type == ML_F32 && b->m <= FEW_ROWS &&
                        ml_input(c, 1)->storage != ML_STORAGE_CONSTANT;
    /* The shape of the output, and scratch. */
    ml_shape z = b->outer;
    status = ml_append_dim(c, &z, b->m);
    if (status == ML_OK) status = ml_append_dim(c, &z, b->n);
    if (status == ML_OK) status = ml_set_output(c, 0, &z);
    if (status != ML_OK) return status;
    if (p->adj_x) ml_reserve(wish, ml_elements(x) * x_bytes(c));
    if (ml_input(c, 1)->type == ML_S8) wish->worker_bytes = lay_out(c).bytes;
    return ML_OK;
}

/* The place of element (i, j) of y's transposed matrix: output i, input j. */
typedef struct source {
    int64_t i_step;
    int64_t j_step;
} source;
static source source_of(const ml_call *c) {
    const product_blob *b = c->blob;
    const bool rows = ((const batch_matmul_params *)c->params)->adj_y;
    return rows ? (source){b->k, 1} : (source){1, b->n};
}

static int64_t too_large(const ml_call *c) {
    ml_fail(c, ML_SHAPE_ERROR, "y is too large to pack");
    return -1;
}

static int64_t pack_f32(const ml_call *c, void *to) {
    const product_blob *b = c->blob;
    const ml_simd *simd = c->env->simd;
    const int64_t panel = simd->matmul_f32_panel;
    int64_t bytes;
    if (b->reads_in_place) return 0;
    if (__builtin_mul_overflow((b->n + panel) * 4, b->k, &bytes) ||
        __builtin_mul_overflow(bytes, b->of_y, &bytes))
        return too_large(c);
    const int64_t one = ml_weights_f32(simd, b->n, b->k);
    const source s = source_of(c);
    for (int64_t y = 0; to && y < b->of_y; y++) {
        const float *from = (const float *)ml_value(c, 1) + y * b->n * b->k;
        float *packed = (float *)to + y * one;
        if (s.j_step == 1) ml_pack_rows_f32(simd, from, b->n, b->k, packed);
        else ml_pack_columns_f32(simd, from, b->n, b->k, packed);
    }
    return one * b->of_y * (int64_t)sizeof(float);
}

static int64_t pack_s8(const ml_call *c, void *to) {
    const product_blob *b = c->blob;
    const source s = source_of(c);
    const int64_t one = ml_weights_s8_bytes(b->n, 1, b->k);
    int64_t bytes;
    if (b->k > INT64_MAX / 64 / (b->n + 64) || __builtin_mul_overflow(one, b->of_y, &bytes))
        return too_large(c);
    ml_pack_s8_args args = {.w = ml_value(c, 1),
                            .type = ML_S8,
                            .output_step = s.i_step,
                            .period = b->n + 1,
                            .input_step = s.j_step,
                            .n = b->n,
                            .pieces = 1,
                            .k = b->k};
    for (int64_t y = 0; to && y < b->of_y; y++, args.first += b->n * b->k)
        ml_pack_s8(c->env->simd, args, (char *)to + y * one);
    return bytes;
}

/* s16: packs y's columns as rows. */
static int64_t pack_s16(const ml_call *c, void *to) {
    const product_blob *b = c->blob;
    const source s = source_of(c);
    int64_t bytes;
    if (__builtin_mul_overflow(b->k * (int64_t)sizeof(int16_t), b->n, &bytes) ||
        __builtin_mul_overflow(bytes, b->of_y, &bytes))
        return too_large(c);
    int16_t *row = to;
    for (int64_t y = 0; to && y < b->of_y; y++) {
        const int16_t *from = (const int16_t *)ml_value(c, 1) + y * b->n * b->k;
        for (int64_t i = 0; i < b->n; i++, row += b->k)
            for (int64_t j = 0; j < b->k; j++) row[j] = from[i * s.i_step + j * s.j_step];
    }
    return bytes;
}

/* Turns sums of a column of y into elements of the output. */
typedef struct column_scale {
    int32_t mantissa;
    int32_t shift;
    float scale; /* y's scale, for hybrid products */
} column_scale;

typedef struct product_scale {
    int32_t x_zero;
    int32_t y_zero;
    int32_t zero;
    int32_t step; /* 1: each column has its own scale; 0: all have the first one */
    column_scale columns[];
} product_scale;

static int64_t derive_product(const ml_call *c, void *to) {
    const ml_affine x = ml_input_affine(c, 0), y = ml_input_affine(c, 1),
                    z = ml_output_affine(c, 0);
    const ml_quantization *q = ml_input_quantization(c, 1);
    const int32_t n = q && q->n_scales > 1 ? q->n_scales : 1;
    product_scale *made = to;
    if (made) {
        *made = (product_scale){x.zero_point, y.zero_point, z.zero_point, n > 1};
        if (ml_output(c, 0)->type == ML_S32) made->x_zero = made->y_zero = 0;
        for (int32_t j = 0; j < n; j++) {
            column_scale *column = &made->columns[j];
            *column = (column_scale){0, 0, n > 1 ? q->scales[j] : y.scale};
            const double product = (double)(x.scale * column->scale);
            if (z.scale > 0.0f)
                ml_quantize_multiplier(product / (double)z.scale, &column->mantissa,
                                       &column->shift);
        }
    }
    return (int64_t)sizeof(product_scale) + n * (int64_t)sizeof(column_scale);
}

/* A block of rows: of batch `batch`, from row `first` on. */
typedef struct rows_of {
    const void *x; /* its matrix's first row, as rows */
    int64_t y; /* the matrix of y */
    int64_t first;
    int64_t count;
    int64_t at; /* the block's first element of the output */
} rows_of;

static rows_of find_rows(const ml_call *c, int64_t block) {
    const product_blob *b = c->blob;
    const int64_t blocks = ml_ceil_div(b->m, ROWS);
    rows_of r = {.first = block % blocks * ROWS};
    int64_t batch = block / blocks, x = 0;
    r.count = ml_min_s64(ROWS, b->m - r.first);
    r.at = (batch * b->m + r.first) * b->n;
    for (int32_t d = b->outer.rank - 1; d >= 0; d--) {
        const int64_t index = batch % b->outer.dims[d];
        batch /= b->outer.dims[d];
        x += index * b->x_step[d];
        r.y += index * b->y_step[d];
    }
    const bool turned = ((const batch_matmul_params *)c->params)->adj_x;
    const int64_t bytes = ml_type_bytes(ml_in_tensor(c, 0)->type);
    r.x = (const char *)(turned ? c->scratch : ml_in(c, 0)) + (x * b->m + r.first) * b->k * bytes;
    return r;
}

/* Multiplies the block's rows by a matrix of y in place. */
static void multiply_in_place(const ml_call *c, const rows_of *r) {
    const product_blob *b = c->blob;
    const bool rows = ((const batch_matmul_params *)c->params)->adj_y;
    const ml_rows_f32_args product = {.x = r->x,
                                      .rows = r->count,
                                      .x_stride = b->k,
                                      .w = (const float *)ml_in(c, 1) + r->y * b->n * b->k,
                                      .w_stride = rows ? b->k : b->n,
                                      .k = b->k,
                                      .n = b->n,
                                      .y = (float *)ml_out(c, 0) + r->at,
                                      .y_stride = b->n};
    if (rows) c->env->simd->dot_rows_f32(&product);
    else c->env->simd->mix_rows_f32(&product);
}

static ml_status floats(const ml_call *c, int64_t first, int64_t end, int32_t worker, void *args) {
    const product_blob *b = c->blob;
    const int64_t one = ml_weights_f32(c->env->simd, b->n, b->k);
    for (int64_t i = first; i < end; i++) {
        const rows_of r = find_rows(c, i);
        if (b->reads_in_place) {
            multiply_in_place(c, &r);
            continue;
        }
        const ml_matmul_f32_args product = {
            .a = r.x,
            .rows = r.count,
            .a_stride = b->k,
            .pieces = 1,
            .k = b->k,
            .n = b->n,
            .packed = (const float *)c->packed + r.y * one,
            .y = (float *)ml_out(c, 0) + r.at,
            .y_stride = b->n,
            .low = -__builtin_inff(),
            .high = __builtin_inff(),
        };
        ml_multiply_f32(c->env->simd, &product);
    }
    return ML_OK;
}

/* Writes `count` sums, in rows of `n`, to the output from element `at` on. */
static void finish(const ml_call *c, const product_scale *p, int64_t at, int64_t count, int64_t n,
                   const void *sums, bool wide) {
    const int32_t type = ml_out_tensor(c, 0)->type;
    const int32_t least = ml_type_least(type), most = ml_type_most(type);
    int8_t *s8 = (int8_t *)ml_out(c, 0) + at;
    int16_t *s16 = (int16_t *)ml_out(c, 0) + at;
    int32_t *s32 = (int32_t *)ml_out(c, 0) + at;
    for (int64_t i = 0, j = 0; i < count; i++, j = j + 1 < n ? j + 1 : 0) {
        if (type == ML_S32) {
            s32[i] = ((const int32_t *)sums)[i];
            continue;
        }
        const column_scale *by = &p->columns[j * p->step];
        const int32_t scaled =
            wide ? ml_multiply_quantized_s64(((const int64_t *)sums)[i], by->mantissa, by->shift)
                 : ml_multiply_quantized(((const int32_t *)sums)[i], by->mantissa, by->shift);
        const int32_t y =
            ml_clamp_s32((int32_t)((uint32_t)scaled + (uint32_t)p->zero), least, most);
        if (type == ML_S8) s8[i] = (int8_t)y;
        else s16[i] = (int16_t)y;
    }
}

/* sums[r] -= zero * (sum of (x - x_zero) of row r). */
static void subtract_zero(const product_blob *b, const product_scale *p, const uint8_t *rows,
                          int64_t count, int32_t *sums) {
    for (int64_t r = 0; p->y_zero && r < count; r++, rows += b->k, sums += b->n) {
        uint32_t sum = 0;
        for (int64_t j = 0; j < b->k; j++) sum += rows[j];
        sum -= (uint32_t)b->k * (uint32_t)(p->x_zero + 128);
        for (int64_t n = 0; n < b->n; n++)
            sums[n] = (int32_t)((uint32_t)sums[n] - (uint32_t)p->y_zero * sum);
    }
}

/* Multiplies rows of floats, each quantized separately. */
static void multiply_hybrid(const ml_call *c, const rows_of *r, const ml_weights_s8 *weights,
                            uint8_t *rows, int32_t *sums) {
    const product_blob *b = c->blob;
    const bool asymmetric = ((const batch_matmul_params *)c->params)->asymmetric;
    const product_scale *p = c->derived;
    float *y = (float *)ml_out(c, 0) + r->at, scales[ROWS];
    int32_t factors[ROWS];
    for (int64_t row = 0; row < r->count; row++)
        scales[row] = ml_quantize_bytes(c->env->simd, (const float *)r->x + row * b->k, b->k,
                                        asymmetric, rows + row * b->k, &factors[row]);
    ml_multiply_bytes(c->env->simd, rows, r->count, weights, factors, sums);
    for (int64_t row = 0; row < r->count; row++)
        for (int64_t n = 0; n < b->n; n++)
            y[row * b->n + n] =
                (float)sums[row * b->n + n] * (scales[row] * p->columns[n * p->step].scale);
}

/* Products with bytes in y: x may be float, s8 or s16. */
static ml_status bytes(const ml_call *c, int64_t first, int64_t end, int32_t worker, void *args) {
    const product_blob *b = c->blob;
    const product_scale *p = c->derived;
    const int32_t type = ml_in_tensor(c, 0)->type;
    const layout at = lay_out(c);
    uint8_t *rows = ml_worker_scratch(c, worker);
    void *planes = rows + at.planes, *sums = rows + at.sums;
    const int64_t one = ml_weights_s8_bytes(b->n, 1, b->k);
    int32_t factors[ROWS];
    for (int32_t i = 0; i < ROWS; i++) factors[i] = -ml_byte_of_zero(ML_S8, p->x_zero);
    for (int64_t i = first; i < end; i++) {
        const rows_of r = find_rows(c, i);
        const ml_weights_s8 weights =
            ml_weights_s8_at((const char *)c->packed + r.y * one, b->n, 1, b->k);
        const int64_t plane = r.count * b->k;
        if (type == ML_F32) {
            multiply_hybrid(c, &r, &weights, rows, sums);
            continue;
        }
        ml_to_bytes(type, r.x, plane, plane, rows);
        if (type == ML_S16) {
            ml_multiply_words(c->env->simd, rows, plane, r.count, &weights, planes, sums);
        } else {
            ml_multiply_bytes(c->env->simd, rows, r.count, &weights, factors, sums);
            subtract_zero(b, p, rows, r.count, sums);
        }
        finish(c, p, r.at, r.count * b->n, b->n, sums, type == ML_S16);
    }
    return ML_OK;
}

/* Products of s16 with s16. */
static ml_status words(const ml_call *c, int64_t first, int64_t end, int32_t worker, void *args) {
    const product_blob *b = c->blob;
    for (int64_t i = first; i < end; i++) {
        const rows_of r = find_rows(c, i);
        for (int64_t row = 0; row < r.count; row++)
            for (int64_t n = 0; n < b->n; n++) {
                const int16_t *u = (const int16_t *)r.x + row * b->k;
                const int16_t *v = (const int16_t *)c->packed + (r.y * b->n + n) * b->k;
                int64_t sum = 0;
                for (int64_t j = 0; j < b->k; j++) sum += (int32_t)u[j] * v[j];
                finish(c, c->derived, r.at + row * b->n + n, 1, 1, &sum, true);
            }
    }
    return ML_OK;
}

/* Transposes x's matrices, whose columns are the wanted rows, into scratch. */
#define TURN(type) \
    for (int64_t x = 0; x < b->of_x * b->k * b->m; x += b->k * b->m) \
        for (int64_t j = 0; j < b->k && status == ML_OK; j++) { \
            for (int64_t i = 0; i < b->m; i++) \
                ((type *)c->scratch)[x + i * b->k + j] = ((const type *)ml_in(c, 0))[x + j * b->m + i]; \
            status = ml_count_work(c, b->m, &work); \
        }

static ml_status run(const ml_call *c, ml_body body) {
    const product_blob *b = c->blob;
    const int32_t type = ml_in_tensor(c, 0)->type;
    int64_t work = 0;
    ml_status status = ML_OK;
    if (((const batch_matmul_params *)c->params)->adj_x) {
        if (type == ML_F32) {
            TURN(float)
        } else if (type == ML_S8) {
            TURN(int8_t)
        } else {
            TURN(int16_t)
        }
    }
    if (status != ML_OK) return status;
    const int64_t blocks = b->batches * ml_ceil_div(b->m, ROWS);
    const int64_t cost = ml_min_s64(ROWS, b->m) * b->k * b->n;
    return ml_parallel(c, blocks, ml_work_grain(blocks, cost), body, NULL);
}

static ml_status run_floats(const ml_call *c) {
    const product_blob *b = c->blob;
    if (b->k > 0) return run(c, floats);
    /* Sums of no products. */
    memset(ml_out(c, 0), 0, (size_t)(b->batches * b->m * b->n) * sizeof(float));
    return ML_OK;
}
static ml_status run_bytes(const ml_call *c) { return run(c, bytes); }
static ml_status run_words(const ml_call *c) { return run(c, words); }

/* Bytes in y may have a scale for each column of the output if x is float or s16. */
static ml_status check_columns(const ml_call *c, const batch_matmul_params *p) {
    const ml_quantization *q = ml_input_quantization(c, 1);
    const int32_t wanted = ml_input(c, 1)->shape.rank - (p->adj_y ? 2 : 1);
    const ml_status status = ml_check_channels(c, c->inputs[1]);
    if (status != ML_OK || q->n_scales == 1) return status;
    for (int32_t i = 0; i < q->n_zero_points; i++)
        if (q->zero_points[i] != 0)
            return ml_fail(c, ML_UNSUPPORTED,
                           "tensor '%s' has the zero point %lld for column %d, it must be 0",
                           ml_input_name(c, 1), (long long)q->zero_points[i], i);
    if (q->dimension == wanted) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "tensor '%s' has %d scales along dimension %d, columns of the output are its "
                   "dimension %d",
                   ml_input_name(c, 1), q->n_scales, q->dimension, wanted);
}

static ml_status check_batch_matmul(const ml_call *c, void *params) {
    const int32_t x = ml_input(c, 0)->type;
    ml_status status = ML_OK;
    for (int i = 0; i < 3 && status == ML_OK; i++) {
        const int32_t type = ml_tensor_of(c, c->inputs[i])->type;
        if (type == ML_F32 || type == ML_S32) continue;
        status = i == 1 && type == ML_S8 && x != ML_S8 ? check_columns(c, params)
                                                       : ml_check_quantized(c, c->inputs[i]);
        if (status == ML_OK && x == ML_S16) status = ml_check_symmetric(c, c->inputs[i]);
    }
    return status == ML_OK && x == ML_F32 ? ml_check_symmetric(c, c->inputs[1]) : status;
}

/* Checks that x and y fit each other in the file's shapes, and that the decomposition adds only
 * zeros. */
static ml_status check_runtime(const ml_call *c, void *params) {
    const ml_shape *x = &ml_input(c, 0)->shape, *y = &ml_input(c, 1)->shape;
    const double known[] = {0.0};
    bool fits = x->rank == y->rank && x->rank >= 2;
    for (int32_t d = 0; d < x->rank && fits; d++)
        fits = d == x->rank - 2 || x->dims[d] == y->dims[d];
    if (!fits) return ml_fail(c, ML_UNSUPPORTED, "shapes of x and y do not match");
    return ml_check_decomposition(c, known, 1);
}

/* The summed dimension is the elements of a matrix of x divided by its rows, whichever operand is
 * transposed. */
static int64_t count_batch_matmul(const ml_operand_shapes *of) {
    const int32_t rank = of->output->rank, x_rank = of->n_inputs > 0 ? of->inputs[0].rank : 0;
    const int64_t rows = ml_extent(of, ML_THE_OUTPUT, rank - 2, rank - 2);
    if (rank < 2 || x_rank < 2 || rows == 0) return 0;
    return ml_times(ml_extent_of_all(of, ML_THE_OUTPUT),
                    ml_extent(of, 0, x_rank - 2, x_rank - 1) / rows);
}

ML_KERNELS(batch_matmul) = {
    {ML_CUSTOM_OP("odml.runtime_bmm", 1, 1), .name = "runtime_bmm", .takes = "x y lengths -> z",
     .check = check_runtime, ML_PARAMS_OF(runtime_params),
     .blob_bytes = (int32_t)sizeof(product_blob), .packs = 1, .multiply_adds = count_batch_matmul,
     .prepare = prepare_batch_matmul, ML_TYPED({"f32 f32 s32 -> f32", NULL, pack_f32, run_floats})},
    {ML_OP(BATCH_MATMUL, 1, 4), .name = "batch_matmul", .takes = "x y -> z",
     .check = check_batch_matmul, ML_PARAMS_OF(batch_matmul_params),
     .blob_bytes = (int32_t)sizeof(product_blob), .packs = 1, .multiply_adds = count_batch_matmul,
     .prepare = prepare_batch_matmul,
     ML_TYPED({"f32 f32 -> f32", NULL, pack_f32, run_floats},
              {"f32 s8 -> f32", derive_product, pack_s8, run_bytes},
              {"s8 s8 -> s8|s32", derive_product, pack_s8, run_bytes},
              {"s16 s8 -> s16", derive_product, pack_s8, run_bytes},
              {"s16 s16 -> s16", derive_product, pack_s16, run_words})},
    ML_KERNELS_END,
};
