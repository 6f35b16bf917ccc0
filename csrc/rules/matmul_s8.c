/* matmul_s8.c -- blocks of rows of bytes times packed weights. */
#include "rules/matmul_s8.h"

/* Bytes of a block's copy, of the weights and of the sums that are used again and again while they are near. */
enum { GROUP = 4 /* bytes of a row that meet at a time */ };
enum { COPY_BYTES = 64 << 10, NEAR_BYTES = 96 << 10, NEAR_SUMS = 4 << 10 };
enum {
    FEW_BLOCKS = 3,
    MOST_RANGES = 4,
    LEAST_ROWS = 2 * ML_ROWS_S8,
    FEW_ROWS = 4,
    MOST_COLUMNS = 4 * ML_PANEL_S8
};

/* Sizes ------------------------------------------------------------------------------------------------------------ */

/* What is multiplied and finished at a time, within a block. */
typedef struct part_size {
    int64_t rows;
    int64_t columns;
} part_size;

/* Most products are one part: that is found without a division. */
static part_size part_of(const ml_integers *p) {
    int64_t columns = p->n, rows = p->block;
    if (columns > MOST_COLUMNS || columns * p->k > NEAR_BYTES) {
        columns = NEAR_BYTES / (p->k > 0 ? p->k : 1) / ML_PANEL_S8 * ML_PANEL_S8;
        columns = columns < ML_PANEL_S8 ? ML_PANEL_S8 : ml_min_s64(columns, MOST_COLUMNS);
        columns = ml_min_s64(columns, p->n);
    }
    if (rows > LEAST_ROWS && rows * columns > NEAR_SUMS) {
        rows = ml_max_s64(NEAR_SUMS / columns, LEAST_ROWS);
        const int64_t unit = p->width && p->width <= rows ? p->width : ML_ROWS_S8;
        rows = ml_min_s64(rows / unit * unit, p->block);
    }
    return (part_size){rows, columns};
}

/* Where things lie in a worker's scratch, behind the block's copy: a part's sums, factors and scales of the block's rows. */
typedef struct layout {
    int64_t sums; /* of s16: of the high bytes, then of the low ones */
    int64_t wide;
    int64_t factors;
    int64_t scales;
    int64_t bytes;
} layout;

static layout lay_out(const ml_integers *p, part_size part, int64_t planes) {
    const int64_t sums = ml_round_up(part.rows * part.columns * (int64_t)sizeof(int32_t), 64);
    const int64_t of_rows = ml_round_up(p->block * (int64_t)sizeof(int32_t), 64);
    layout l = {.sums = ml_round_up(p->copy_bytes, 64)};
    l.wide = l.sums + planes * sums;
    l.factors = l.wide + (planes > 1 ? 2 * sums : 0);
    l.scales = l.factors + of_rows;
    l.bytes = l.scales + of_rows;
    return l;
}

static bool is_hybrid(const ml_call *c) { return ml_input(c, 0)->type == ML_F32; }

/* Slices of floats that are quantized by themselves. */
static int64_t slices_of(const ml_integers *p, const ml_integer_rule *rule) {
    return rule->by_row ? p->rows : p->batches;
}
static int64_t slice_elements(const ml_call *c, int64_t slices) {
    const int64_t elements = ml_elements(&ml_input(c, 0)->shape);
    return slices > 1 ? elements / slices : elements;
}

ml_slices ml_quantized_floats(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule) {
    const int64_t slices = slices_of(p, rule);
    return ml_slices_at(c->scratch, slices, slice_elements(c, slices));
}

ml_status ml_quantize_floats(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule,
                             bool asymmetric) {
    const int64_t slices = slices_of(p, rule);
    const ml_slices to = ml_quantized_floats(c, p, rule);
    return ml_quantize_slices(c, ml_in(c, 0), slices, slice_elements(c, slices), asymmetric, &to);
}

ml_status ml_prepare_integers(const ml_call *c, ml_wish *wish, ml_integers *p,
                              const ml_integer_rule *rule) {
    const int64_t planes = ml_planes(ml_input(c, 0)->type), slices = slices_of(p, rule);
    if (p->k > INT32_MAX / (2 * LEAST_ROWS))
        return ml_fail(c, ML_SHAPE_ERROR, "rows of %lld values are too long", (long long)p->k);
    const int64_t k = p->k > 0 ? p->k : 1;
    if (!p->block) {
        int64_t rows = ml_work_grain(p->rows, ml_integer_cost(k) * p->n * p->groups);
        rows = ml_min_s64(rows, COPY_BYTES / (k * planes));
        const int64_t least = k * p->n > NEAR_BYTES ? 2 * LEAST_ROWS : LEAST_ROWS;
        rows = rows < least ? least : ml_round_up(rows, LEAST_ROWS);
        p->block = ml_min_s64(rows, p->batches ? p->rows / p->batches : 0);
        p->copy_bytes = p->block * p->k * planes;
    }
    wish->worker_bytes = lay_out(p, part_of(p), planes).bytes;
    ml_reserve(wish, is_hybrid(c) ? ml_slices_bytes(slices, slice_elements(c, slices))
                                  : 2 * p->n * p->groups * (int64_t)sizeof(int32_t));
    return ML_OK;
}

/* Weights ---------------------------------------------------------------------------------------------------------- */

static int64_t piece_of(const ml_integers *p) { return p->pieces > 1 ? p->k / p->pieces : p->k; }

/* Whether weights have a zero point, or are packed as if they had: sums of rows are wanted. */
static bool is_centered(const ml_call *c) {
    const ml_quantization *q = ml_input_quantization(c, 1);
    if (ml_weights_type(c) == ML_U8) return false;
    for (int32_t i = 0; q && i < q->n_zero_points; i++)
        if (q->zero_points[i] != 0) return false;
    return true;
}

/* Behind the groups' weights stand ones, one output of them, which make sums of rows. */
static int64_t ones_bytes(const ml_call *c, const ml_integers *p, int64_t k) {
    return is_centered(c) ? 0 : ml_weights_s8_bytes(1, p->pieces, k);
}

static void pack_ones(const ml_call *c, const ml_integers *p, int64_t k, void *to) {
    static const int8_t one = 1;
    const ml_pack_s8_args ones = {
        .w = &one, .type = ML_S8, .period = 2, .n = 1, .pieces = p->pieces, .k = k};
    ml_pack_s8(c->env->simd, ones, to);
}

int64_t ml_pack_weights_s8(const ml_call *c, void *to, const ml_integers *p) {
    const int64_t k = piece_of(p), bytes = ml_weights_s8_bytes(p->n, p->pieces, k);
    const int64_t behind = ones_bytes(c, p, k);
    int64_t all;
    if (bytes < 0 || __builtin_mul_overflow(bytes, p->groups, &all) || all > INT64_MAX - behind) {
        char text[96];
        ml_fail(c, ML_SHAPE_ERROR, "weights of shape %s are too large to pack",
                ml_shape_text(&ml_input(c, 1)->shape, text));
        return -1;
    }
    ml_pack_s8_args args = {.w = ml_value(c, 1),
                            .type = ml_weights_type(c),
                            .output_step = p->k,
                            .period = p->n + 1,
                            .input_step = 1,
                            .n = p->n,
                            .pieces = p->pieces,
                            .k = k};
    for (int64_t g = 0; to && g < p->groups; g++, args.first += p->n * p->k)
        ml_pack_s8(c->env->simd, args, (char *)to + g * bytes);
    if (to && behind) pack_ones(c, p, k, (char *)to + all);
    return all + behind;
}

/* Products --------------------------------------------------------------------------------------------------------- */

/* What a row's factor is, by which its sums have columns added. */
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
    int64_t range; /* outputs of a body's item */
    int64_t ranges;
    int64_t weights_bytes; /* of a group */
    const int32_t *bias;
    const int32_t *columns; /* NULL: the weights' sums */
    ml_slices slices;
    factor_kind kind;
    int32_t factor;
    int32_t limit; /* of sums, 0: none */
} integer_args;

/* What a worker multiplies: some outputs of a group, of a block's rows. */
typedef struct job {
    const integer_args *args;
    ml_weights_s8 weights;
    ml_byte_rows rows;
    int64_t first; /* the block's first row */
    int64_t count;
    int64_t group;
    char *scratch;
} job;

/* The block's row number `row`. */
static const uint8_t *row_at(const job *j, int64_t row) {
    const ml_byte_rows *r = &j->rows;
    if (row < r->width) return r->a + row * r->a_stride;
    return r->a + row / r->width * r->line_stride + row % r->width * r->a_stride;
}

/* Sums of the block's rows from `row` on, which may lie on several lines, as args has them but for the rows. */
static void multiply(const ml_call *c, const job *j, int64_t row, int64_t count, int64_t plane,
                     ml_matmul_s8_args args) {
    const int64_t width = j->rows.width;
    int64_t before = row < width ? row : row % width;
    args.a_stride = j->rows.a_stride;
    args.piece_stride = j->rows.piece_stride;
    args.pieces = j->weights.pieces;
    args.k = j->weights.k;
    /* A piece of less than a group stands in front of zeros. */
    if (args.k < GROUP && j->rows.is_copy) args.k = GROUP;
    for (int64_t r = 0; r < count; r += args.rows, before = 0) {
        args.a = row_at(j, row + r) + plane * j->rows.plane;
        args.rows = ml_min_s64(count - r, width - before);
        c->env->simd->matmul_s8(&args);
        args.y += args.rows * args.y_stride;
        if (args.factors) args.factors += args.rows;
    }
}

static int32_t *factors_of(const job *j) { return (int32_t *)(j->scratch + j->args->at.factors); }
static float *scales_of(const job *j) { return (float *)(j->scratch + j->args->at.scales); }

/* The factors of the block's rows, and scales of slices. */
static void find_factors(const ml_call *c, const job *j) {
    const integer_args *a = j->args;
    int32_t *factors = factors_of(j);
    if (a->kind == SAME_FACTOR) {
        for (int64_t r = 0; r < j->count; r++) factors[r] = a->factor;
    } else if (a->kind == SUM_OF_ROW) {
        const char *behind = (const char *)c->packed + a->weights_bytes * a->product->groups;
        const ml_matmul_s8_args ones = {
            .n = 1, .packed = (const int8_t *)behind, .y = factors, .y_stride = 1};
        multiply(c, j, 0, j->count, 0, ones);
    } else if (a->kind == FACTOR_OF_SLICE) {
        const bool by_row = a->rule->by_row;
        const int64_t slice = by_row ? j->first : j->first / a->batch;
        for (int64_t r = 0; r < j->count; r++) {
            factors[r] = a->slices.factors[slice + (by_row ? r : 0)];
            scales_of(j)[r] = a->slices.scales[slice + (by_row ? r : 0)];
        }
    }
}

/* ml_join_planes of a row's sums, which wrap in 32 bits; in their place, and in 64 bits. */
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

/* Sums of a part, for `finish`. */
static const void *sums_of_part(const ml_call *c, const job *j, int64_t row, int64_t rows,
                                int64_t column, int64_t columns) {
    const integer_args *a = j->args;
    const int64_t of_group = j->group * a->product->n + column;
    int32_t *high = (int32_t *)(j->scratch + a->at.sums), *low = high + rows * columns;
    int64_t *wide = (int64_t *)(j->scratch + a->at.wide);
    ml_matmul_s8_args args = {
        .n = columns,
        .packed = j->weights.packed + ml_packed_s8(column, j->weights.pieces, j->weights.k),
        .bias = a->bias ? a->bias + of_group : NULL,
        .factors = a->kind == NO_FACTOR ? NULL : factors_of(j) + row,
        .columns = a->columns ? a->columns + of_group : j->weights.sums + column,
        .y = high,
        .y_stride = columns,
    };
    multiply(c, j, row, rows, 0, args);
    if (a->planes == 1) return high;
    args.y = low;
    multiply(c, j, row, rows, 1, args);
    for (int64_t r = 0, at = 0; r < rows; r++, at += columns) {
        if (!a->rule->wide) join_narrow(high + at, low + at, j->weights.sums + column, columns);
        else if (a->product->k <= ML_MOST_NARROW)
            join_wide(high + at, low + at, j->weights.sums + column, columns, wide + at);
        else
            for (int64_t i = 0; i < columns; i++)
                wide[at + i] = ml_dot_words(row_at(j, row + r), j->rows.piece_stride, j->rows.plane,
                                            &j->weights, column + i);
    }
    return a->rule->wide ? (const void *)wide : high;
}

/* Outputs column .. end - 1 of the block's rows. */
static void run(const ml_call *c, const job *j, int64_t column, int64_t end) {
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
            const ml_own own = {scales_of(j) + row, a->limit};
            r.rows = ml_min_s64(a->part.rows, j->count - row);
            r.y = (char *)ml_out(c, 0) + ((j->first + row) * r.y_stride + r.first) * element;
            r.sums = sums_of_part(c, j, row, r.rows, column, r.n);
            a->rule->finish(c, &r, &own);
        }
    }
}

static ml_status integer_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                              void *args) {
    const integer_args *a = args;
    const ml_integers *p = a->product;
    job j = {.args = a, .scratch = ml_worker_scratch(c, worker)};
    for (int64_t i = first; i < end; i++) {
        int64_t block = i, column = 0, batch = 0;
        if (a->ranges > 1) block = i / a->ranges, column = i % a->ranges * a->range;
        if (block >= a->blocks) batch = block / a->blocks, block = block % a->blocks;
        j.first = batch * a->batch + block * p->block;
        j.count = ml_min_s64(p->block, a->batch - block * p->block);
        for (j.group = 0; j.group < p->groups; j.group++) {
            j.weights = ml_weights_s8_at((const char *)c->packed + j.group * a->weights_bytes, p->n,
                                         p->pieces, a->k);
            a->rule->fill(c, j.first, j.count, (int32_t)j.group, (uint8_t *)j.scratch, &j.rows);
            find_factors(c, &j);
            run(c, &j, column, ml_min_s64(column + a->range, p->n));
        }
    }
    return ML_OK;
}

/* The whole ------------------------------------------------------------------------------------------------------------ */

/* The zero point of bytes goes by the weights' sums: for few rows as their factor, else once into the bias. */
static void center(const ml_call *c, integer_args *a) {
    const ml_integers *p = a->product;
    const ml_weighted *w = c->derived;
    const int32_t zero = ml_byte_of_zero(ml_in_tensor(c, 0)->type, w->x_zero);
    const uint32_t all = (uint32_t)p->k * (uint32_t)w->w_zero;
    const int64_t n = p->n;
    int32_t *folded = c->scratch, *columns = folded + n * p->groups;
    a->bias = ml_in_optional(c, 2);
    if (a->rule->limits) a->limit = ml_limit_of(a->bias, n * p->groups, p->k);
    if (p->rows <= FEW_ROWS && !w->w_zero) {
        a->kind = SAME_FACTOR;
        a->factor = -zero;
        return;
    }
    for (int64_t g = 0; g < p->groups; g++) {
        const char *packed = (const char *)c->packed + g * a->weights_bytes;
        const int32_t *sums = ml_weights_s8_at(packed, n, p->pieces, a->k).sums;
        const int32_t *bias = a->bias ? a->bias + g * n : NULL;
        for (int64_t i = 0; i < n; i++)
            folded[g * n + i] = (int32_t)((bias ? (uint32_t)bias[i] : 0) -
                                          (uint32_t)zero * ((uint32_t)sums[i] - all));
    }
    for (int64_t i = 0; w->w_zero && i < n * p->groups; i++) columns[i] = -w->w_zero;
    a->bias = folded;
    a->columns = w->w_zero ? columns : NULL;
    a->kind = w->w_zero ? SUM_OF_ROW : NO_FACTOR;
}

static int64_t parts_of(int64_t count, int64_t part) {
    return count <= part ? 1 : (count + part - 1) / part;
}

/* Few blocks are worth dividing by outputs, but not often: each range copies the rows anew. Few rows take as long as their weights
 * to be read. */
static int64_t range_of(const ml_integers *p) {
    if (p->n <= ML_PANEL_S8 || p->groups > 1 || p->rows > FEW_BLOCKS * p->block) return p->n;
    const int64_t cost = ml_max_s64(p->block * ml_integer_cost(p->k), p->k);
    const int64_t panels = parts_of(p->n, ML_PANEL_S8);
    return ML_PANEL_S8 *
           ml_max_s64(ml_work_grain(panels, cost * ML_PANEL_S8), parts_of(panels, MOST_RANGES));
}

ml_status ml_multiply_integers(const ml_call *c, const ml_integers *p,
                               const ml_integer_rule *rule) {
    const int32_t type = ml_in_tensor(c, 0)->type;
    if (p->rows == 0 || p->n == 0) return ML_OK;
    integer_args a = {.product = p, .rule = rule, .part = part_of(p), .planes = ml_planes(type)};
    a.at = lay_out(p, a.part, a.planes);
    a.k = piece_of(p);
    a.batch = p->batches > 1 ? p->rows / p->batches : p->rows;
    a.blocks = parts_of(a.batch, p->block);
    a.range = range_of(p);
    a.ranges = parts_of(p->n, a.range);
    a.weights_bytes = ml_weights_s8_bytes(p->n, p->pieces, a.k);
    if (type == ML_F32) {
        a.slices = ml_quantized_floats(c, p, rule);
        a.kind = FACTOR_OF_SLICE;
    } else if (type != ML_S16) {
        center(c, &a);
    }
    const int64_t items = p->batches * a.blocks * a.ranges;
    const int64_t cost = p->block * ml_integer_cost(p->k) * p->groups * ml_min_s64(a.range, p->n);
    return ml_parallel(c, items, ml_work_grain(items, cost), integer_body, &a);
}
