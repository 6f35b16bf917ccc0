/* matmul_s8.c -- multiplies blocks of rows of bytes with packed weights. */
#include "rules/matmul_s8.h"

/* Limits in bytes of a block's copy, and of weights and sums that are used repeatedly while they
 * are in the cache. */
enum { COPY_BYTES = 64 << 10, NEAR_BYTES = 96 << 10, NEAR_SUMS = 4 << 10 };
enum {
    FEW_BLOCKS = 3,
    MOST_RANGES = 4,
    LEAST_ROWS = 2 * ML_ROWS_S8,
    FEW_ROWS = 4,
    MOST_COLUMNS = 4 * ML_PANEL_S8
};

/* Sizes ---------------------------------------------------------------------------------------- */

/* True if product_s8 or product_f32 computes outputs directly, without storing sums. */
static bool is_fused(const ml_call *c, const ml_integer_rule *rule) {
    const int32_t type = ml_in_tensor(c, 0)->type;
    return rule->scaling || (rule->requantizes && (type == ML_S8 || type == ML_U8));
}

/* The part of a block that is multiplied and finished at a time. */
typedef struct part_size {
    int64_t rows;
    int64_t columns;
    bool fused; /* sums are not stored */
} part_size;

/* Most products are one part, which is found without a division. Few rows use weights once, so that
 * these need not stay in the cache. */
static part_size part_of(const ml_integers *p, bool fused) {
    int64_t columns = p->n, rows = p->block;
    if (fused && p->rows <= FEW_ROWS) return (part_size){rows, columns, fused};
    if (columns > MOST_COLUMNS || columns * p->k > NEAR_BYTES) {
        columns =
            NEAR_BYTES / (p->k > 0 ? p->k : 1 /* rows of nothing */) / ML_PANEL_S8 * ML_PANEL_S8;
        columns = columns < ML_PANEL_S8 ? ML_PANEL_S8 : ml_min_s64(columns, MOST_COLUMNS);
        columns = ml_min_s64(columns, p->n);
    }
    if (!fused && rows > LEAST_ROWS && rows * columns > NEAR_SUMS) {
        rows = ml_max_s64(NEAR_SUMS / columns, LEAST_ROWS);
        const int64_t unit = p->width && p->width <= rows ? p->width : ML_ROWS_S8;
        rows = ml_min_s64(rows / unit * unit, p->block);
    }
    return (part_size){rows, columns, fused};
}

/* Offsets in a worker's scratch, after the block's copy: sums of a part, factors and scales of the
 * block's rows. */
typedef struct layout {
    int64_t sums; /* for s16: sums of high bytes, then of low ones */
    int64_t wide;
    int64_t factors;
    int64_t scales;
    int64_t bytes;
} layout;

static layout lay_out(const ml_integers *p, part_size part, int64_t planes) {
    const int64_t sums =
        part.fused ? 0 : ml_round_up(part.rows * part.columns * (int64_t)sizeof(int32_t), 64);
    const int64_t of_rows = ml_round_up(p->block * (int64_t)sizeof(int32_t), 64);
    layout l = {.sums = ml_round_up(p->copy_bytes, 64)};
    l.wide = l.sums + planes * sums;
    l.factors = l.wide + (planes > 1 ? 2 * sums : 0);
    l.scales = l.factors + of_rows;
    l.bytes = l.scales + of_rows;
    return l;
}

/* The number of slices of floats that are each quantized by themselves. */
static int64_t slices_of(const ml_integers *p, const ml_integer_rule *rule) {
    return rule->by_row ? p->rows : p->batches;
}
static int64_t slice_elements(const ml_call *c, int64_t slices) {
    const int64_t elements = ml_elements(&ml_in_tensor(c, 0)->shape);
    return slices > 1 ? elements / slices : elements;
}

int64_t ml_quantized_bytes(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule) {
    const int64_t slices = slices_of(p, rule);
    return ml_slices_bytes(slices, slice_elements(c, slices));
}

ml_slices ml_quantized_floats(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule) {
    const int64_t slices = slices_of(p, rule);
    return ml_slices_at(c->scratch, slices, slice_elements(c, slices));
}

ml_status ml_quantize_floats(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule,
                             bool asymmetric) {
    const int64_t slices = slices_of(p, rule);
    const ml_slices to = ml_quantized_floats(c, p, rule);
    ml_fetch_weights(c, p);
    return ml_quantize_slices(c, ml_in(c, 0), slices, slice_elements(c, slices), asymmetric, &to);
}

/* True if a batch has so many rows, quantized together, that the share of their zero point in each
 * output is computed once. */
static bool shares_factor(const ml_integers *p, const ml_integer_rule *rule) {
    return !rule->by_row && p->rows > FEW_ROWS * p->batches;
}

/* True if there are so few rows that they are multiplied at once on the caller's thread, because
 * arranging blocks, parts and workers would take longer than the products: rows of one group, not
 * worth two blocks, and weights without a zero point, so that no row needs its sum. */
static bool is_few(const ml_call *c, const ml_integers *p) {
    const ml_weighted *w = c->derived;
    return p->rows <= FEW_ROWS && p->rows <= p->block && p->groups == 1 && p->batches == 1 &&
           ml_in_tensor(c, 0)->type != ML_S16 && w && w->w_zero == 0 && p->k < ML_LEAST_PRODUCTS &&
           p->n < ML_LEAST_PRODUCTS && p->k * p->n < ML_LEAST_PRODUCTS;
}

/* The offset of a block's copy: after the bytes of quantized floats. */
static int64_t copy_at(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule) {
    return ml_in_tensor(c, 0)->type == ML_F32 ? ml_quantized_bytes(c, p, rule) : 0;
}

static int64_t few_bytes(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule) {
    return copy_at(c, p, rule) + ml_round_up(p->copy_bytes, 64) +
           (is_fused(c, rule) ? 0 : p->rows * p->n * (int64_t)sizeof(int32_t));
}

ml_status ml_prepare_integers(const ml_call *c, ml_wish *wish, ml_integers *p,
                              const ml_integer_rule *rule) {
    const int64_t planes = ml_planes(ml_in_tensor(c, 0)->type);
    if (p->k > INT32_MAX / (2 * LEAST_ROWS))
        return ml_fail(c, ML_SHAPE_ERROR, "rows of %lld values are too long", (long long)p->k);
    const int64_t k = p->k > 0 ? p->k : 1; /* rows may be empty where outputs are not */
    if (c->env->simd->matmul_s8_pairs) wish->layout = 2 * wish->layout + (p->rows == 1);
    if (!p->block) {
        int64_t rows = ml_work_grain(p->rows, ml_row_cost(c->env->simd, k, p->n) * p->groups);
        rows = ml_min_s64(rows, COPY_BYTES / (k * planes));
        const int64_t least = k * p->n > NEAR_BYTES ? 2 * LEAST_ROWS : LEAST_ROWS;
        rows = rows < least ? least : ml_round_up(rows, LEAST_ROWS);
        p->block = ml_min_s64(rows, p->batches ? p->rows / p->batches : 0);
        p->copy_bytes = p->is_copied ? p->block * p->k * planes : 0;
    }
    if (is_few(c, p)) {
        ml_reserve(wish, few_bytes(c, p, rule));
        return ML_OK;
    }
    wish->worker_bytes = lay_out(p, part_of(p, is_fused(c, rule)), planes).bytes;
    const int64_t column_bytes = p->n * p->groups * (int64_t)sizeof(int32_t);
    if (ml_in_tensor(c, 0)->type != ML_F32) ml_reserve(wish, 2 * column_bytes);
    else
        ml_reserve(wish, ml_round_up(ml_quantized_bytes(c, p, rule), 64) +
                             (shares_factor(p, rule) ? p->batches * column_bytes : 0));
    return ML_OK;
}

/* Products ------------------------------------------------------------------------------------- */

/* The meaning of a row's factor; factor * column is added to the row's sums. */
typedef enum { NO_FACTOR, SAME_FACTOR, SUM_OF_ROW, FACTOR_OF_SLICE } factor_kind;

typedef struct integer_args {
    const ml_integers *product;
    const ml_integer_rule *rule;
    part_size part;
    layout at;
    int64_t k; /* of a piece */
    int64_t planes;
    int64_t batch; /* rows of one */
    int64_t blocks; /* in a batch */
    int64_t range; /* outputs per item of work */
    int64_t ranges;
    int64_t weights_bytes; /* of a group */
    const int32_t *bias;
    int64_t bias_step; /* from batch to batch */
    const int32_t *columns; /* NULL: the weights' sums */
    ml_slices slices;
    factor_kind kind;
    int32_t factor;
    int32_t limit; /* of sums, 0: none */
} integer_args;

/* The job of a worker: some outputs of a group, for the rows of a block. */
typedef struct part_job {
    const integer_args *args;
    ml_weights_s8 weights;
    ml_byte_rows rows;
    const int32_t *bias; /* of the batch, or NULL */
    const float *scales; /* of the block's rows, or NULL */
    int64_t first; /* the block's first row */
    int64_t count;
    int64_t group;
    char *scratch;
} part_job;

static int32_t *factors_of(const part_job *j) {
    return (int32_t *)(j->scratch + j->args->at.factors);
}

/* Finds the factors of the block's rows. */
static void find_factors(const ml_call *c, const part_job *j) {
    const integer_args *a = j->args;
    int32_t *factors = factors_of(j);
    if (a->kind == SAME_FACTOR) {
        for (int64_t r = 0; r < j->count; r++) factors[r] = a->factor;
    } else if (a->kind == SUM_OF_ROW) {
        ml_sum_byte_rows(c, &j->rows, &j->weights, j->count, factors);
    } else if (a->kind == FACTOR_OF_SLICE) {
        const bool by_row = a->rule->by_row;
        const int64_t slice = by_row ? j->first : j->first / a->batch;
        for (int64_t r = 0; r < j->count; r++)
            factors[r] = a->slices.factors[slice + (by_row ? r : 0)];
    }
}

/* The scales of the block's rows, of floats that were quantized. */
static const float *find_scales(const part_job *j) {
    const integer_args *a = j->args;
    if (a->rule->by_row) return a->slices.scales + j->first;
    float *scales = (float *)(void *)(j->scratch + a->at.scales);
    const int64_t count = j->count; /* a copy, not read again after each store */
    const float scale = a->slices.scales[j->first / a->batch];
    for (int64_t r = 0; r < count; r++) scales[r] = scale;
    return scales;
}

/* ml_join_planes for the sums of a row: in 32 bits, which wrap, in place; and in 64 bits. */
static void join_narrow(int32_t *restrict high, const int32_t *restrict low,
                        const int32_t *restrict weights, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        high[i] =
            (int32_t)(((uint32_t)high[i] << 8) + (uint32_t)low[i] - ((uint32_t)weights[i] << 15));
}
static void join_wide(const int32_t *restrict high, const int32_t *restrict low,
                      const int32_t *restrict weights, int64_t n, int64_t *restrict wide) {
    for (int64_t i = 0; i < n; i++) wide[i] = ml_join_planes(high[i], low[i], weights[i]);
}

/* The arguments for the rows from `row` on, except where the sums go. */
static ml_matmul_s8_args part_args(const part_job *j, int64_t row, int64_t column,
                                   int64_t columns) {
    const integer_args *a = j->args;
    const int64_t of_group = j->group * a->product->n + column;
    return (ml_matmul_s8_args){
        .n = columns,
        .packed = j->weights.packed + ml_packed_s8(column, j->weights.pieces, j->weights.k),
        .bias = j->bias ? j->bias + of_group : NULL,
        .factors = a->kind == NO_FACTOR ? NULL : factors_of(j) + row,
        .columns = a->columns ? a->columns + of_group : j->weights.sums + column,
        .y_stride = columns,
        .sums = j->weights.sums + column,
    };
}

/* Computes the sums of a part, for `finish`. */
static const void *sums_of_part(const ml_call *c, const part_job *j, int64_t row, int64_t rows,
                                int64_t column, int64_t columns) {
    const integer_args *a = j->args;
    int32_t *high = (int32_t *)(j->scratch + a->at.sums), *low = high + rows * columns;
    int64_t *wide = (int64_t *)(j->scratch + a->at.wide);
    ml_matmul_s8_args args = part_args(j, row, column, columns), again = args;
    args.y = high;
    again.y = low;
    ml_multiply_rows(c, &j->rows, &j->weights, &(ml_row_range){row, rows, 0}, &args);
    if (a->planes == 1) return high;
    ml_multiply_rows(c, &j->rows, &j->weights, &(ml_row_range){row, rows, 1}, &again);
    for (int64_t r = 0, at = 0; r < rows; r++, at += columns) {
        if (!a->rule->wide) join_narrow(high + at, low + at, j->weights.sums + column, columns);
        else if (a->product->k <= ML_MOST_NARROW)
            join_wide(high + at, low + at, j->weights.sums + column, columns, wide + at);
        else
            for (int64_t i = 0; i < columns; i++)
                wide[at + i] =
                    ml_dot_words(c->env->simd, ml_byte_row(&j->rows, row + r), j->rows.piece_stride,
                                 j->rows.plane, &j->weights, column + i);
    }
    return a->rule->wide ? (const void *)wide : high;
}

/* Computes outputs of r->rows rows without storing their sums. */
static void multiply_fused(const ml_call *c, const ml_integer_rule *rule, const ml_byte_rows *rows,
                           const ml_weights_s8 *weights, ml_matmul_s8_args *args,
                           const ml_requantized *r, const float *scales, int32_t limit) {
    if (rule->scaling) {
        const ml_scale_s32_args floats = rule->scaling(c, r, scales);
        ml_multiply_to_floats(c, rows, weights, r->rows, args, &floats);
    } else {
        const ml_requantize_args bytes = ml_requantize_args_of(c, r, limit);
        ml_multiply_to_bytes(c, rows, weights, r->rows, args, &bytes);
    }
}

/* Computes outputs column .. end - 1 of the block's rows. */
static void run_columns(const ml_call *c, const part_job *j, int64_t column, int64_t end) {
    const integer_args *a = j->args;
    const ml_integers *p = a->product;
    const int64_t element = ml_type_bytes(ml_out_tensor(c, 0)->type);
    const int32_t type = ml_in_tensor(c, 0)->type;
    const bool bytes = type == ML_S8 || type == ML_U8;
    ml_requantized r = {.bias = bytes ? NULL : ml_in_optional(c, 2), .y_stride = p->n * p->groups};
    for (; column < end; column += a->part.columns) {
        r.n = ml_min_s64(a->part.columns, end - column);
        r.first = j->group * p->n + column;
        for (int64_t row = 0; row < j->count; row += a->part.rows) {
            r.rows = ml_min_s64(a->part.rows, j->count - row);
            r.y = (char *)ml_out(c, 0) + ((j->first + row) * r.y_stride + r.first) * element;
            if (a->part.fused) {
                ml_matmul_s8_args args = part_args(j, row, column, r.n);
                multiply_fused(c, a->rule, &j->rows, &j->weights, &args, &r,
                               j->scales ? j->scales + row : NULL, a->limit);
                continue;
            }
            r.sums = sums_of_part(c, j, row, r.rows, column, r.n);
            a->rule->finish(c, &r);
        }
    }
}

static ml_status integer_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                              void *args) {
    const integer_args *a = args;
    const ml_integers *p = a->product;
    part_job j = {.args = a, .scratch = ml_worker_scratch(c, worker)};
    for (int64_t i = first; i < end; i++) {
        int64_t block = i, column = 0, batch = 0;
        if (a->ranges > 1) block = i / a->ranges, column = i % a->ranges * a->range;
        if (block >= a->blocks) batch = block / a->blocks, block = block % a->blocks;
        j.first = batch * a->batch + block * p->block;
        j.count = ml_min_s64(p->block, a->batch - block * p->block);
        j.bias = a->bias ? a->bias + batch * a->bias_step : NULL;
        for (j.group = 0; j.group < p->groups; j.group++) {
            j.weights = ml_weights_s8_at((const char *)c->packed + j.group * a->weights_bytes, p->n,
                                         p->pieces, a->k);
            a->rule->fill(c, j.first, j.count, (int32_t)j.group, (uint8_t *)j.scratch, &j.rows);
            find_factors(c, &j);
            if (a->slices.scales) j.scales = find_scales(&j);
            run_columns(c, &j, column, ml_min_s64(column + a->range, p->n));
        }
    }
    return ML_OK;
}

/* The whole ------------------------------------------------------------------------------------ */

/* folded = bias + factor * (sum of the output's weights - less), for all outputs. */
static void fold(const ml_call *c, const integer_args *a, int32_t factor, uint32_t less,
                 int32_t *folded) {
    const int64_t n = a->product->n;
    for (int64_t g = 0; g < a->product->groups; g++, folded += n) {
        const char *packed = (const char *)c->packed + g * a->weights_bytes;
        const int32_t *sums = ml_weights_s8_at(packed, n, a->product->pieces, a->k).sums;
        const int32_t *bias = a->bias ? a->bias + g * n : NULL;
        for (int64_t i = 0; i < n; i++)
            folded[i] = (int32_t)((bias ? (uint32_t)bias[i] : 0) +
                                  (uint32_t)factor * ((uint32_t)sums[i] - less));
    }
}

/* Floats that were quantized: the share of a batch's zero point in its sums becomes their bias. */
static void center_floats(const ml_call *c, integer_args *a) {
    const ml_integers *p = a->product;
    a->slices = ml_quantized_floats(c, p, a->rule);
    a->kind = shares_factor(p, a->rule) ? NO_FACTOR : FACTOR_OF_SLICE;
    if (a->kind != NO_FACTOR) return;
    int32_t *folded = ml_scratch(c, ml_round_up(ml_quantized_bytes(c, p, a->rule), 64));
    a->bias_step = p->n * p->groups;
    for (int64_t batch = 0; batch < p->batches; batch++)
        fold(c, a, a->slices.factors[batch], 0, folded + batch * a->bias_step);
    a->bias = folded;
}

/* Subtracts the zero point of bytes times the weights' sums: for few rows by a factor, else once in
 * the bias. */
static void center(const ml_call *c, integer_args *a) {
    const ml_integers *p = a->product;
    const ml_weighted *w = c->derived;
    const int32_t zero = ml_byte_of_zero(ml_in_tensor(c, 0)->type, w->x_zero);
    const int64_t n = p->n;
    int32_t *folded = c->scratch, *columns = folded + n * p->groups;
    a->bias = ml_in_optional(c, 2);
    if (a->part.fused && !w->reals)
        a->limit = w->limit ? w->limit : ml_limit_of(a->bias, n * p->groups, p->k);
    if (p->rows <= FEW_ROWS && !w->w_zero) {
        a->kind = SAME_FACTOR;
        a->factor = -zero;
        return;
    }
    fold(c, a, (int32_t)(0 - (uint32_t)zero), (uint32_t)p->k * (uint32_t)w->w_zero, folded);
    for (int64_t i = 0; w->w_zero && i < n * p->groups; i++) columns[i] = -w->w_zero;
    a->bias = folded;
    a->columns = w->w_zero ? columns : NULL;
    a->kind = w->w_zero ? SUM_OF_ROW : NO_FACTOR;
}

static int64_t parts_of(int64_t count, int64_t part) {
    return count <= part ? 1 : ml_ceil_div(count, part);
}

/* The number of outputs of an item. If there are few blocks, they are divided by outputs too, but
 * into few ranges, because each range copies the rows again. For few rows, reading the weights
 * determines the time. */
static int64_t choose_range(const ml_call *c, const ml_integers *p) {
    if (p->n <= ML_PANEL_S8 || p->groups > 1 || p->rows > FEW_BLOCKS * p->block) return p->n;
    const int64_t cost = ml_max_s64(p->block * ml_integer_cost(c->env->simd, p->k), p->k);
    const int64_t panels = parts_of(p->n, ML_PANEL_S8);
    return ML_PANEL_S8 *
           ml_max_s64(ml_work_grain(panels, cost * ML_PANEL_S8), parts_of(panels, MOST_RANGES));
}

static ml_status multiply_few(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule) {
    const ml_weighted *w = c->derived;
    const int32_t type = ml_in_tensor(c, 0)->type;
    if (type != ML_F32) ml_fetch_weights(c, p);
    /* The operands, and the factor of each row. */
    const ml_weights_s8 weights = ml_weights_s8_at(c->packed, p->n, p->pieces, ml_piece_of(p));
    const int32_t *bias = ml_in_optional(c, 2);
    char *copy = ml_scratch(c, copy_at(c, p, rule));
    int32_t *sums = (int32_t *)(void *)(copy + ml_round_up(p->copy_bytes, 64));
    int32_t factors[FEW_ROWS];
    float scales[FEW_ROWS];
    ml_requantized r = {
        .sums = sums, .rows = p->rows, .n = p->n, .y = ml_out(c, 0), .y_stride = p->n};
    if (type == ML_F32) {
        const ml_slices slices = ml_quantized_floats(c, p, rule);
        for (int64_t i = 0; i < p->rows; i++) {
            factors[i] = slices.factors[rule->by_row ? i : 0];
            scales[i] = slices.scales[rule->by_row ? i : 0];
        }
        r.bias = bias, bias = NULL;
    } else {
        for (int64_t i = 0; i < FEW_ROWS; i++) factors[i] = -ml_byte_of_zero(type, w->x_zero);
    }
    /* The rows as bytes. */
    ml_byte_rows rows;
    rule->fill(c, 0, p->rows, 0, (uint8_t *)copy, &rows);
    ml_matmul_s8_args args = {.n = p->n,
                              .packed = weights.packed,
                              .bias = bias,
                              .factors = factors,
                              .columns = weights.sums,
                              .y = sums,
                              .y_stride = p->n,
                              .sums = weights.sums};
    /* Products whose sums become outputs in registers; else sums first, then outputs. */
    if (is_fused(c, rule)) {
        const bool known = type == ML_F32 || w->limit || w->reals;
        const int32_t limit = known ? w->limit : ml_limit_of(bias, p->n, p->k);
        multiply_fused(c, rule, &rows, &weights, &args, &r, scales, limit);
        return ML_OK;
    }
    ml_multiply_rows(c, &rows, &weights, &(ml_row_range){0, p->rows, 0}, &args);
    rule->finish(c, &r);
    return ML_OK;
}

ml_status ml_multiply_integers(const ml_call *c, const ml_integers *p,
                               const ml_integer_rule *rule) {
    const int32_t type = ml_in_tensor(c, 0)->type;
    if (is_few(c, p)) return multiply_few(c, p, rule);
    integer_args a = {.product = p,
                      .rule = rule,
                      .part = part_of(p, is_fused(c, rule)),
                      .planes = ml_planes(type)};
    a.at = lay_out(p, a.part, a.planes);
    a.k = ml_piece_of(p);
    a.batch = p->batches > 1 ? p->rows / p->batches : p->rows;
    a.blocks = parts_of(a.batch, p->block);
    a.range = choose_range(c, p);
    a.ranges = parts_of(p->n, a.range);
    a.weights_bytes = ml_weights_s8_bytes(p->n, p->pieces, a.k);
    if (type == ML_F32) center_floats(c, &a);
    else if (type != ML_S16) center(c, &a);
    const int64_t items = p->batches * a.blocks * a.ranges;
    const int64_t cost =
        p->block * ml_row_cost(c->env->simd, p->k, ml_min_s64(a.range, p->n)) * p->groups;
    return ml_parallel(c, items, ml_work_grain(items, cost), integer_body, &a);
}
