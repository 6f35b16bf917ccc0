/* matmul_s8.c -- blocks of rows of bytes times packed weights. */
#include "rules/matmul_s8.h"

/* Multiplications that are worth a thread's while, bytes of a block's copy, of the weights and of the sums that are used again
 * and again while they are near. */
enum { WORK = 1 << 22, COPY_BYTES = 64 << 10, NEAR_BYTES = 96 << 10, NEAR_SUMS = 8 << 10 };
enum { LEAST_ROWS = 2 * ML_ROWS_S8, MOST_COLUMNS = 4 * ML_PANEL_S8 };

/* Sizes ------------------------------------------------------------------------------------------------------------ */

/* What is multiplied and finished at a time, within a block. */
typedef struct part_size {
    int64_t rows;
    int64_t columns;
} part_size;

static part_size part_of(const ml_integers *p) {
    int64_t columns = NEAR_BYTES / (p->k > 0 ? p->k : 1) / ML_PANEL_S8 * ML_PANEL_S8;
    columns = columns < ML_PANEL_S8 ? ML_PANEL_S8 : ml_min_s64(columns, MOST_COLUMNS);
    columns = ml_min_s64(columns, p->n > 0 ? p->n : 1);
    int64_t rows = NEAR_SUMS / columns / ML_ROWS_S8 * ML_ROWS_S8;
    return (part_size){ml_min_s64(rows < LEAST_ROWS ? LEAST_ROWS : rows, p->block), columns};
}

/* Where a part's parts lie in a worker's scratch, behind the block's copy. */
typedef struct layout {
    int64_t sums; /* of s16: of the high bytes, then of the low ones */
    int64_t wide;
    int64_t factors;
    int64_t scales;
    int64_t bytes;
} layout;

static layout lay_out(const ml_integers *p, int64_t planes) {
    const part_size part = part_of(p);
    const int64_t sums = ml_round_up(part.rows * part.columns * (int64_t)sizeof(int32_t), 64);
    const int64_t of_rows = ml_round_up(part.rows * (int64_t)sizeof(int32_t), 64);
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
    return slices ? ml_elements(&ml_input(c, 0)->shape) / slices : 0;
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
    const int64_t k = p->k > 0 ? p->k : 1, n = p->n > 0 ? p->n : 1;
    if (!p->block) {
        int64_t rows = ml_min_s64(COPY_BYTES / (k * planes), 2 * (WORK / n) / k);
        rows = rows < LEAST_ROWS ? LEAST_ROWS : rows / ML_ROWS_S8 * ML_ROWS_S8;
        p->block = ml_min_s64(rows, p->batches ? p->rows / p->batches : 0);
        p->copy_bytes = p->block * p->k * planes;
    }
    wish->worker_bytes = lay_out(p, planes).bytes;
    ml_reserve(wish, is_hybrid(c) ? ml_slices_bytes(slices, slice_elements(c, slices))
                                  : 2 * p->n * p->groups * (int64_t)sizeof(int32_t));
    return ML_OK;
}

int64_t ml_pack_weights_s8(const ml_call *c, void *to, const ml_integers *p) {
    const int64_t k = p->k / p->pieces, bytes = ml_weights_s8_bytes(p->n, p->pieces, k);
    int64_t all;
    if (__builtin_mul_overflow(bytes, p->groups, &all) || bytes < 0) {
        char text[96];
        ml_fail(c, ML_SHAPE_ERROR, "weights of shape %s are too large to pack",
                ml_shape_text(&ml_input(c, 1)->shape, text));
        return -1;
    }
    const int32_t type = ml_input(c, 1)->type;
    ml_pack_s8_args args = {.w = ml_value(c, 1),
                            .type = type,
                            .output_step = p->k,
                            .period = p->n + 1,
                            .input_step = 1,
                            .n = p->n,
                            .pieces = p->pieces,
                            .k = k};
    for (int64_t g = 0; to && g < p->groups; g++, args.first += p->n * p->k)
        ml_pack_s8(c->env->simd, args, (char *)to + g * bytes);
    return all;
}

/* Products --------------------------------------------------------------------------------------------------------- */

typedef struct integer_args {
    const ml_integers *product;
    const ml_integer_rule *rule;
    ml_slices slices;
    int64_t range; /* outputs of a body's item */
    const int32_t *bias;
    const int32_t *columns; /* NULL: none */
} integer_args;

/* What a worker multiplies: some outputs of a group, of a block's rows. */
typedef struct job {
    const integer_args *args;
    ml_weights_s8 weights;
    ml_byte_rows rows;
    int64_t first; /* the block's first row */
    int64_t count;
    int32_t group;
    char *scratch;
    layout at;
} job;

/* The block's row number `row`. */
static const uint8_t *row_at(const job *j, int64_t row) {
    return j->rows.a + row / j->rows.width * j->rows.line_stride +
           row % j->rows.width * j->rows.a_stride;
}

/* Sums of the rows' bytes. */
static void sum_rows(const job *j, int64_t row, int64_t count, int32_t *sums) {
    for (int64_t r = 0; r < count; r++) {
        const uint8_t *a = row_at(j, row + r);
        uint32_t sum = 0;
        for (int64_t piece = 0; piece < j->weights.pieces; piece++, a += j->rows.piece_stride)
            for (int64_t i = 0; i < j->weights.k; i++) sum += a[i];
        sums[r] = (int32_t)sum;
    }
}

/* What the rows' own zero points, or their sums, are multiplied with columns by. */
static void find_factors(const ml_call *c, const job *j, int64_t row, int64_t count) {
    int32_t *factors = (int32_t *)(j->scratch + j->at.factors);
    float *scales = (float *)(j->scratch + j->at.scales);
    const ml_slices *slices = &j->args->slices;
    const ml_integers *p = j->args->product;
    if (is_hybrid(c)) {
        const int64_t each = j->args->rule->by_row ? 1 : p->rows / p->batches;
        for (int64_t r = 0; r < count; r++) {
            const int64_t slice = (j->first + row + r) / each;
            factors[r] = slices->factors[slice];
            scales[r] = slices->scales[slice];
        }
    } else if (j->args->columns) {
        sum_rows(j, row, count, factors);
    }
}

/* Sums of the block's rows from `row` on, which may lie on several lines. */
static void multiply(const ml_call *c, const job *j, int64_t row, int64_t count, int64_t column,
                     int64_t columns) {
    const integer_args *a = j->args;
    const ml_integers *p = a->product;
    const int64_t k = p->k / p->pieces, of_group = (int64_t)j->group * p->n + column;
    const int32_t *factors = (const int32_t *)(j->scratch + j->at.factors);
    ml_matmul_s8_args args = {
        .a_stride = j->rows.a_stride,
        .pieces = p->pieces,
        .piece_stride = j->rows.piece_stride,
        .k = k,
        .n = columns,
        .packed = j->weights.packed + ml_packed_s8(column, p->pieces, k),
        .bias = a->bias ? a->bias + of_group : NULL,
        .y_stride = columns,
    };
    if (is_hybrid(c)) args.columns = j->weights.sums + column;
    else if (a->columns) args.columns = a->columns + of_group;
    for (int64_t plane = 0; plane < ml_planes(ml_in_tensor(c, 0)->type); plane++) {
        args.y = (int32_t *)(j->scratch + j->at.sums + plane * (j->at.wide - j->at.sums) / 2);
        for (int64_t r = 0; r < count; r += args.rows, args.y += args.rows * columns) {
            args.a = row_at(j, row + r) + plane * j->rows.plane;
            args.rows = ml_min_s64(count - r, j->rows.width - (row + r) % j->rows.width);
            args.factors = args.columns ? factors + r : NULL;
            c->env->simd->matmul_s8(&args);
        }
    }
}

/* Sums of s16 from those of both planes: as 32 bits in the place of the high ones, else as 64. */
static const void *join_planes(const job *j, int64_t row, int64_t rows, int64_t column,
                               int64_t columns) {
    int32_t *high = (int32_t *)(j->scratch + j->at.sums);
    const int32_t *low = high + (j->at.wide - j->at.sums) / 2 / (int64_t)sizeof *high;
    int64_t *wide = (int64_t *)(j->scratch + j->at.wide);
    const bool is_wide = j->args->rule->wide, is_long = j->args->product->k > ML_MOST_NARROW;
    for (int64_t r = 0; r < rows; r++) {
        const uint8_t *a = row_at(j, row + r);
        for (int64_t i = 0; i < columns; i++) {
            const int64_t at = r * columns + i, output = column + i;
            const int64_t sum = ml_join_planes(high[at], low[at], j->weights.sums[output]);
            if (!is_wide) high[at] = (int32_t)sum;
            else if (!is_long) wide[at] = sum;
            else
                wide[at] =
                    ml_dot_words(a, j->rows.piece_stride, j->rows.plane, &j->weights, output);
        }
    }
    return is_wide ? (const void *)wide : high;
}

/* Outputs column .. end - 1 of the block's rows. */
static void run(const ml_call *c, const job *j, int64_t column, int64_t end) {
    const ml_integers *p = j->args->product;
    const part_size part = part_of(p);
    const int64_t element = ml_type_bytes(ml_out_tensor(c, 0)->type);
    const bool bytes = ml_in_tensor(c, 0)->type == ML_S8 || ml_in_tensor(c, 0)->type == ML_U8;
    ml_requantized r = {.bias = bytes ? NULL : ml_in_optional(c, 2), .y_stride = p->n * p->groups};
    for (; column < end; column += part.columns) {
        r.n = ml_min_s64(part.columns, end - column);
        r.first = (int64_t)j->group * p->n + column;
        for (int64_t row = 0; row < j->count; row += part.rows) {
            r.rows = ml_min_s64(part.rows, j->count - row);
            r.y = (char *)ml_out(c, 0) + ((j->first + row) * r.y_stride + r.first) * element;
            r.sums = j->scratch + j->at.sums;
            find_factors(c, j, row, r.rows);
            multiply(c, j, row, r.rows, column, r.n);
            if (ml_in_tensor(c, 0)->type == ML_S16)
                r.sums = join_planes(j, row, r.rows, column, r.n);
            j->args->rule->finish(c, &r, (const float *)(j->scratch + j->at.scales));
        }
    }
}

static int64_t blocks_of(int64_t count, int64_t block) {
    return block > 0 ? (count + block - 1) / block : 0;
}

static ml_status integer_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                              void *args) {
    const integer_args *a = args;
    const ml_integers *p = a->product;
    const int64_t rows = p->rows / p->batches, of_batch = blocks_of(rows, p->block);
    const int64_t ranges = blocks_of(p->n, a->range);
    const int64_t k = p->k / p->pieces, bytes = ml_weights_s8_bytes(p->n, p->pieces, k);
    job j = {.args = a,
             .scratch = ml_worker_scratch(c, worker),
             .at = lay_out(p, ml_planes(ml_in_tensor(c, 0)->type))};
    for (int64_t i = first; i < end; i++) {
        const int64_t block = i / ranges, column = i % ranges * a->range;
        const int64_t row = block % of_batch * p->block;
        j.first = block / of_batch * rows + row;
        j.count = ml_min_s64(p->block, rows - row);
        for (j.group = 0; j.group < p->groups; j.group++) {
            const char *packed = (const char *)c->packed + j.group * bytes;
            j.weights = ml_weights_s8_at(packed, p->n, p->pieces, k);
            a->rule->fill(c, j.first, j.count, j.group, (uint8_t *)j.scratch, &j.rows);
            run(c, &j, column, ml_min_s64(column + a->range, p->n));
        }
    }
    return ML_OK;
}

/* What all rows of bytes add to their sums, bias - x_zero * (sum of w - k * w_zero), and what they add sums of theirs by. */
static void fold(const ml_call *c, integer_args *a) {
    const ml_integers *p = a->product;
    const ml_weighted *w = c->derived;
    const uint32_t zero = (uint32_t)ml_byte_of_zero(ml_in_tensor(c, 0)->type, w->x_zero);
    const uint32_t all = (uint32_t)p->k * (uint32_t)w->w_zero;
    const int32_t *bias = ml_in_optional(c, 2);
    const int64_t n = p->n, k = p->k / p->pieces, bytes = ml_weights_s8_bytes(n, p->pieces, k);
    int32_t *folded = c->scratch, *columns = folded + n * p->groups;
    for (int64_t g = 0; g < p->groups; g++) {
        const char *packed = (const char *)c->packed + g * bytes;
        const int32_t *sums = ml_weights_s8_at(packed, n, p->pieces, k).sums;
        const int32_t *of_group = bias ? bias + g * n : NULL;
        for (int64_t i = 0; i < n; i++)
            folded[g * n + i] = (int32_t)((of_group ? (uint32_t)of_group[i] : 0) -
                                          zero * ((uint32_t)sums[i] - all));
    }
    for (int64_t i = 0; w->w_zero && i < n * p->groups; i++) columns[i] = -w->w_zero;
    a->bias = folded;
    a->columns = w->w_zero ? columns : NULL;
}

/* Few blocks are worth dividing by outputs. */
static int64_t range_of(const ml_integers *p) {
    const int64_t row = p->block * p->k;
    if (p->groups > 1 || blocks_of(p->rows, p->block) > 8) return p->n > 0 ? p->n : 1;
    return ml_round_up(WORK / (row > 0 ? row : 1) + 1, MOST_COLUMNS);
}

ml_status ml_multiply_integers(const ml_call *c, const ml_integers *p,
                               const ml_integer_rule *rule) {
    const int32_t type = ml_in_tensor(c, 0)->type;
    integer_args args = {.product = p, .rule = rule, .range = range_of(p)};
    if (p->rows == 0 || p->n == 0) return ML_OK;
    if (type == ML_F32) args.slices = ml_quantized_floats(c, p, rule);
    else if (type != ML_S16) fold(c, &args);
    const int64_t blocks = p->batches * blocks_of(p->rows / p->batches, p->block);
    const int64_t cost = p->block * p->k * p->groups * ml_min_s64(args.range, p->n);
    return ml_parallel(c, blocks * blocks_of(p->n, args.range), 1 + WORK / (cost + 1), integer_body,
                       &args);
}
