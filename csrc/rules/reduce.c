/* reduce.c -- reductions: the shape rule, and the cutting into parts and rows. */
#include "rules/reduce.h"

#include "simd/simd.h"

/* Reads the axes into a bit mask over the input's dimensions; negative ones count from the end. */
static ml_status read_axes(const ml_call *c, const void *axes, int32_t rank, uint32_t *mask) {
    const ml_tensor *tensor = ml_input(c, 1);
    *mask = 0;
    int64_t axis;
    for (int64_t i = 0; ml_read_index(tensor, axes, i, &axis); i++) {
        if (axis < -rank || axis >= rank) {
            if (rank == 0 && (axis == 0 || axis == -1))
                continue; /* LiteRT lets a scalar be reduced */
            return ml_fail(c, ML_SHAPE_ERROR, "axis %lld is outside rank %d", (long long)axis,
                           rank);
        }
        *mask |= 1u << (axis < 0 ? axis + rank : axis);
    }
    return ML_OK;
}

static void merge_dims(const ml_shape *x, uint32_t mask, ml_reduce *r) {
    int64_t sizes[ML_MAX_RANK + 1] = {1};
    bool reduced[ML_MAX_RANK + 1] = {false};
    int32_t n = 0;
    for (int32_t d = x->rank - 1; d >= 0; d--) {
        if (x->dims[d] == 1) continue;
        bool is_reduced = mask >> d & 1;
        bool fits = n == 1 || (n > 1 && sizes[n - 1] <= INT32_MAX / x->dims[d]);
        if (fits && reduced[n - 1] == is_reduced) sizes[n - 1] *= x->dims[d];
        else sizes[n] = x->dims[d], reduced[n] = is_reduced, n++;
    }
    r->row = sizes[0];
    r->row_reduced = reduced[0];
    r->n_outer = (uint8_t)(n > 1 ? n - 1 : 0);
    r->rows = 1;
    for (int32_t d = 0; d < r->n_outer; d++) {
        r->dims[d] = (int32_t)sizes[d + 1];
        r->kept |= (uint8_t)(!reduced[d + 1] << d);
        r->rows *= sizes[d + 1];
    }
}

ml_status ml_prepare_reduce(const ml_call *c, ml_wish *wish, ml_reduce *r, int32_t keep_dims,
                            int64_t bytes) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    const void *axes = ml_value(c, 1);
    if (!axes && ml_elements(&ml_input(c, 1)->shape) > 0) return ml_open_all(wish);
    uint32_t mask = 0;
    ml_status status = axes ? read_axes(c, axes, x->rank, &mask) : ML_OK;
    if (status != ML_OK) return status;
    ml_shape out = {.rank = 0};
    r->count = 1;
    for (int32_t d = 0; d < x->rank; d++) {
        bool is_reduced = mask >> d & 1;
        if (is_reduced) r->count *= x->dims[d];
        if (!is_reduced || keep_dims) out.dims[out.rank++] = is_reduced ? 1 : x->dims[d];
    }
    status = ml_set_output(c, 0, &out);
    if (status != ML_OK) return status;
    r->outputs = ml_elements(&out);
    if (ml_elements(x) > 0) merge_dims(x, mask, r);
    else r->row_reduced = true; /* no rows */
    ml_reserve(wish, r->outputs * bytes);
    return ML_OK;
}

/* If rows are cut, the columns of a part are a multiple of COLUMNS, and as many as possible,
 * because long rows are read sequentially. MOST_OF_PART limits the elements of a part. An empty
 * input has no rows, but one part, which begins the results. */
enum { COLUMNS = 128, MOST_OF_PART = 1 << 19 };

ml_reduce_parts ml_parts_of(const ml_reduce *r) {
    const int32_t outermost = r->n_outer - 1;
    const int64_t all = r->rows * r->row;
    if (outermost >= 0 && r->kept >> outermost & 1)
        return (ml_reduce_parts){r->dims[outermost], all / r->dims[outermost], 0};
    if (r->row_reduced || r->row < 2 * COLUMNS)
        return (ml_reduce_parts){1, all, ml_max_s64(r->row, 1)};
    const int64_t half = ml_min_s64(r->row / 2, MOST_OF_PART / r->rows);
    const int64_t columns = ml_max_s64(COLUMNS, half / COLUMNS * COLUMNS);
    return (ml_reduce_parts){ml_ceil_div(r->row, columns), r->rows * columns, columns};
}

ml_reduce ml_reduce_some(const ml_reduce *r, int64_t count) {
    ml_reduce some = *r;
    if (r->n_outer == 0) return some;
    const int32_t size = r->dims[r->n_outer - 1];
    some.dims[r->n_outer - 1] = (int32_t)count;
    some.rows = r->rows / size * count;
    some.outputs = r->outputs / size * count;
    return some;
}

/* Primitives ----------------------------------------------------------------------------------- */

/* Rows of an operand to be folded into results, as in ml_fold_f32_args, ml_fold_u8_args and
 * ml_sum_rows_s8_args. */
typedef struct fold_rows {
    const char *x;
    char *y;
    int64_t n;
    int64_t rows;
    int64_t stride; /* elements */
    int32_t across;
} fold_rows;

typedef struct folding {
    ml_reduce_operands operands;
    void (*fold)(const ml_call *c, const struct folding *f, const fold_rows *rows);
    /* Folds rows of results across. */
    void (*join)(const ml_call *c, const struct folding *f, const fold_rows *rows);
    void (*begin)(const struct folding *f, char *results, int64_t count);
    int64_t element; /* bytes */
    int64_t result; /* bytes */
    int32_t function;
    float start;
    uint8_t flip;
    bool is_signed;
    bool in_order; /* row by row, because results depend on the order */
} folding;

static void fold_floats(const ml_call *c, const folding *f, const fold_rows *p) {
    const ml_fold_f32_args fold = {.x = (const float *)(const void *)p->x,
                                   .y = (float *)(void *)p->y,
                                   .n = p->n,
                                   .rows = p->rows,
                                   .stride = p->stride,
                                   .function = f->function,
                                   .across = p->across};
    c->env->simd->fold_f32(&fold);
}

static void begin_floats(const folding *f, char *results, int64_t count) {
    float *y = (float *)(void *)results;
    for (int64_t i = 0; i < count; i++) y[i] = f->start;
}

static void fold_bytes(const ml_call *c, const folding *f, const fold_rows *p) {
    const ml_fold_u8_args fold = {.x = (const uint8_t *)p->x,
                                  .y = (uint8_t *)p->y,
                                  .n = p->n,
                                  .rows = p->rows,
                                  .stride = p->stride,
                                  .across = p->across,
                                  .flip = f->flip};
    c->env->simd->fold_u8(&fold);
}

static void begin_bytes(const folding *f, char *results, int64_t count) {
    memset(results, f->flip, (size_t)count);
}

static void sum_bytes(const ml_call *c, const folding *f, const fold_rows *p) {
    const ml_sum_rows_s8_args sum = {.x = (const uint8_t *)p->x,
                                     .rows = p->rows,
                                     .stride = p->stride,
                                     .n = p->n,
                                     .sums = (int32_t *)(void *)p->y,
                                     .is_signed = f->is_signed,
                                     .along = !p->across};
    c->env->simd->sum_rows_s8(&sum);
}

static void join_sums(const ml_call *c, const folding *f, const fold_rows *p) {
    const uint32_t *x = (const uint32_t *)(const void *)p->x;
    uint32_t *y = (uint32_t *)(void *)p->y;
    for (int64_t r = 0; r < p->rows; r++, x += p->stride)
        for (int64_t i = 0; i < p->n; i++) y[i] += x[i];
}

static void begin_sums(const folding *f, char *results, int64_t count) {
    memset(results, 0, (size_t)(count * f->result));
}

/* Folds a long row, a piece at a time. */
static ml_status fold_row(const ml_call *c, const folding *f, fold_rows row, int64_t *work) {
    const int64_t n = row.n;
    ml_status status = ML_OK;
    for (int64_t i = 0; i < n && status == ML_OK; i += row.n, row.x += row.n * f->element) {
        row.n = ml_min_s64(n - i, ML_BLOCK_ELEMENTS);
        f->fold(c, f, &row);
        status = ml_count_work(c, row.n, work);
    }
    return status;
}

enum { SHORT_ROW = 64, SIDE_BYTES = 512, ENOUGH_ROWS = 4 };

/* Folds short rows element by element: as many rows as fill vectors are treated as one row, and
 * their results are combined at the end. */
static void fold_short_rows(const ml_call *c, const folding *f, const fold_rows *p) {
    _Alignas(64) char results[SIDE_BYTES * sizeof(int32_t)];
    const int64_t side = SIDE_BYTES / f->element / p->n, whole = p->rows / side;
    fold_rows part = *p;
    f->begin(f, results, side * p->n);
    part.n = part.stride = side * p->n;
    part.rows = whole;
    part.y = results;
    f->fold(c, f, &part);
    part = *p;
    part.x = results;
    part.rows = side;
    f->join(c, f, &part);
    part.x = p->x + whole * side * p->n * f->element;
    part.rows = p->rows - whole * side;
    f->fold(c, f, &part);
}

/* Like ML_REDUCE; rows with the same results are folded together. */
static ml_status fold_part(const ml_call *c, const folding *f, const char *x, char *results,
                           const ml_reduce *r, int64_t first, int64_t columns) {
    const bool reduced = r->row_reduced;
    /* True if rows that follow each other have the same results, or adjacent results. */
    const bool together = r->n_outer > 0 && (r->kept & 1) == reduced;
    const int64_t outputs = reduced ? r->outputs : r->outputs / r->row;
    fold_rows rows = {.n = columns,
                      .rows = together ? 1 + ML_BLOCK_ELEMENTS / (columns + 1) : 1,
                      .stride = r->row,
                      .across = !reduced};
    int32_t index[ML_MAX_RANK] = {0};
    int64_t at = 0, work = 0;
    ml_status status = ML_OK;
    /* The results begin with a start value. */
    if (reduced) f->begin(f, results, outputs);
    for (int64_t o = 0; !reduced && o < outputs; o++)
        f->begin(f, results + (o * r->row + first) * f->result, columns);
    for (int64_t row = 0; row < r->rows && status == ML_OK;) {
        /* The number of rows that are folded together. */
        const int64_t most = rows.rows, left = together ? r->dims[0] - index[0] : 1;
        rows.rows = ml_min_s64(most, left);
        rows.x = x + (row * r->row + first) * f->element;
        rows.y = results + (at + (reduced ? 0 : first)) * f->result;
        if (reduced && columns > ML_BLOCK_ELEMENTS) {
            status = fold_row(c, f, rows, &work);
        } else {
            if (!f->in_order && together && !reduced && columns == r->row && columns <= SHORT_ROW &&
                rows.rows * columns * f->element >= ENOUGH_ROWS * SIDE_BYTES)
                fold_short_rows(c, f, &rows);
            else f->fold(c, f, &rows);
            status = ml_count_work(c, columns * rows.rows, &work);
        }
        /* The next row, and the place of its result. */
        row += rows.rows;
        index[0] += (int32_t)(rows.rows - 1);
        at = ml_reduce_next(r, at + (reduced ? rows.rows - 1 : 0), index);
        rows.rows = most;
    }
    return status;
}

static ml_status fold_parts(const ml_call *c, int64_t begin, int64_t end, int32_t worker,
                            void *args) {
    const folding *f = args;
    const ml_reduce_operands *p = &f->operands;
    const ml_reduce *r = p->reduce;
    const int64_t columns = p->parts.columns;
    if (columns > 0)
        return fold_part(c, f, p->x, p->results, r, begin * columns,
                         ml_min_s64(r->row, end * columns) - begin * columns);
    const ml_reduce one = ml_reduce_some(r, 1), some = ml_reduce_some(r, end - begin);
    return fold_part(c, f, (const char *)p->x + begin * one.rows * one.row * f->element,
                     (char *)p->results + begin * one.outputs * f->result, &some, 0, some.row);
}

static ml_status reduce_by(const ml_call *c, folding *f) {
    ml_reduce_operands *p = &f->operands;
    const ml_reduce *r = p->reduce;
    p->parts = ml_parts_of(r);
    if (r->rows * r->row <= ML_BLOCK_ELEMENTS && r->outputs <= ML_BLOCK_ELEMENTS)
        return fold_part(c, f, p->x, p->results, r, 0, r->row);
    return ml_in_blocks(c, p->parts.count, p->parts.elements, fold_parts, f);
}

/* Sums are made in order. Over many pixels, LiteRT's sums lose precision by adding row to row. Ours
 * must do the same, or normalized images would differ. */
ml_status ml_reduce_f32(const ml_call *c, const float *x, float *results, const ml_reduce *r,
                        int32_t function, float start) {
    folding f = {.operands = {.x = x, .results = results, .reduce = r},
                 .fold = fold_floats,
                 .join = fold_floats,
                 .begin = begin_floats,
                 .element = sizeof *x,
                 .result = sizeof *results,
                 .function = function,
                 .start = start,
                 .in_order = function == ML_FOLD_SUM || function == ML_FOLD_SQUARES};
    return reduce_by(c, &f);
}

ml_status ml_reduce_u8(const ml_call *c, const uint8_t *x, uint8_t *results, const ml_reduce *r,
                       uint8_t flip) {
    folding f = {.operands = {.x = x, .results = results, .reduce = r},
                 .fold = fold_bytes,
                 .join = fold_bytes,
                 .begin = begin_bytes,
                 .element = sizeof *x,
                 .result = sizeof *results,
                 .flip = flip};
    return reduce_by(c, &f);
}

ml_status ml_sum_bytes(const ml_call *c, const uint8_t *x, int32_t *sums, const ml_reduce *r,
                       bool is_signed) {
    folding f = {.operands = {.x = x, .results = sums, .reduce = r},
                 .fold = sum_bytes,
                 .join = join_sums,
                 .begin = begin_sums,
                 .element = sizeof *x,
                 .result = sizeof *sums,
                 .is_signed = is_signed};
    return reduce_by(c, &f);
}
