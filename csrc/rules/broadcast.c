/* broadcast.c -- reduces two shapes that broadcast to rows of one kind, and computes the rows. */
#include "rules/broadcast.h"

/* One dimension of the output, or several merged: the number of its elements, and which input is
 * repeated along it. */
typedef struct run {
    int64_t size;
    int32_t kind;
} run;

/* The runs of `out`, innermost first; returns their number. Outer runs have at most 2^31 - 1
 * elements. */
static int32_t collapse(const ml_shape *a, const ml_shape *b, const ml_shape *out,
                        run runs[ML_MAX_RANK]) {
    int32_t n = 0;
    for (int32_t i = 1; i <= out->rank; i++) {
        int32_t x = i <= a->rank ? a->dims[a->rank - i] : 1,
                y = i <= b->rank ? b->dims[b->rank - i] : 1;
        int32_t size = out->dims[out->rank - i];
        if (x == 1 && y == 1) continue;
        int32_t kind = x == y ? ML_ROW_FULL : x == 1 ? ML_ROW_SCALAR_A : ML_ROW_SCALAR_B;
        bool fits = n == 1 || (n > 1 && runs[n - 1].size <= INT32_MAX / size);
        if (fits && runs[n - 1].kind == kind) runs[n - 1].size *= size;
        else runs[n++] = (run){size, kind};
    }
    return n;
}

ml_status ml_broadcast_shape(const ml_call *c, const ml_shape *a, const ml_shape *b,
                             ml_shape *out) {
    out->rank = a->rank > b->rank ? a->rank : b->rank;
    for (int32_t i = 1; i <= out->rank; i++) {
        int32_t x = i <= a->rank ? a->dims[a->rank - i] : 1,
                y = i <= b->rank ? b->dims[b->rank - i] : 1;
        if (x != y && x != 1 && y != 1) {
            char left[96], right[96];
            return ml_fail(c, ML_SHAPE_ERROR,
                           "shapes %s and %s do not broadcast: dimension %d is %d and %d",
                           ml_shape_text(a, left), ml_shape_text(b, right), out->rank - i, x, y);
        }
        out->dims[out->rank - i] = x == 1 ? y : x;
    }
    return ML_OK;
}

ml_status ml_broadcast_prepare(const ml_call *c, ml_broadcast *blob) {
    const ml_shape *a = &ml_in_tensor(c, 0)->shape, *b = &ml_in_tensor(c, 1)->shape;
    if (ml_same_shape(a, b)) { /* one row */
        const int64_t row = ml_elements(a);
        *blob = (ml_broadcast){.row_kind = ML_ROW_FULL, .row = row > 0 ? row : 1, .rows = row > 0};
        return ml_set_output(c, 0, a);
    }
    ml_shape out;
    ml_status status = ml_broadcast_shape(c, a, b, &out);
    if (status == ML_OK) status = ml_set_output(c, 0, &out);
    if (status != ML_OK) return status;

    *blob = (ml_broadcast){.row_kind = ML_ROW_FULL, .row = 1, .rows = 1};
    if (ml_elements(&out) == 0) { /* nodes that refuse values run in any case */
        blob->rows = 0;
        return ML_OK;
    }
    run runs[ML_MAX_RANK];
    int32_t n = collapse(a, b, &out, runs);
    if (n == 0) return ML_OK;
    blob->row = runs[0].size;
    blob->row_kind = (uint8_t)runs[0].kind;
    blob->n_outer = (uint8_t)(n - 1);
    for (int32_t d = 0; d + 1 < n; d++) {
        const run *outer = &runs[d + 1];
        blob->dims[d] = (int32_t)outer->size;
        blob->a_steps |= (uint8_t)((outer->kind != ML_ROW_SCALAR_A) << d);
        blob->b_steps |= (uint8_t)((outer->kind != ML_ROW_SCALAR_B) << d);
        blob->rows *= outer->size;
    }
    return ML_OK;
}

ml_status ml_prepare_broadcast(const ml_call *c, ml_wish *wish) {
    return ml_broadcast_prepare(c, c->blob);
}

bool ml_cut_broadcast(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params) {
    const ml_shape *y = &ml_output(c, 0)->shape;
    for (int i = 0; i < c->n_inputs; i++) {
        const ml_shape *x = &ml_in_tensor(c, i)->shape;
        const int32_t missing = y->rank - x->rank; /* leading dimensions of 1 */
        for (int32_t d = 1; d <= 2; d++) {
            if (d < missing || x->dims[d - missing] == 1) continue;
            if (missing > 0) return false; /* rows or columns are other dimensions there */
            in[i].side[d - 1] = out->side[d - 1];
        }
    }
    return true;
}

/* Adjacent rows of the output (those with the same index in all outer dimensions but the
 * innermost), or a piece of a row. */
typedef struct stretch {
    const char *a;
    const char *b;
    char *y;
    int64_t n;     /* elements of a row */
    int64_t rows;
    int64_t a_row; /* elements from row to row */
    int64_t b_row;
} stretch;

/* Computes stretches: by a rule, or by a primitive if there are arguments for one. */
typedef struct job {
    const ml_row_rule *rule;
    const ml_zip_f32_args *zip;
    int64_t piece; /* elements of a row that are computed at a time */
    int64_t pieces; /* of a row */
    int64_t copies; /* of a row that is repeated; 0: none are made */
} job;

/* The stretch that begins at element `from` of a row. */
static stretch stretch_at(const ml_call *c, const ml_row_rule *rule, int64_t row, int64_t from) {
    const ml_broadcast *s = c->blob;
    const int64_t a_row = s->row_kind == ML_ROW_SCALAR_A ? 1 : s->row,
                  b_row = s->row_kind == ML_ROW_SCALAR_B ? 1 : s->row;
    int64_t a = a_row > 1 ? from : 0, b = b_row > 1 ? from : 0, rest = row;
    int64_t a_step = a_row, b_step = b_row; /* elements of an index */
    for (int32_t d = 0; d < s->n_outer; rest /= s->dims[d++]) {
        const int64_t index = rest % s->dims[d];
        if (s->a_steps >> d & 1) a += index * a_step, a_step *= s->dims[d];
        if (s->b_steps >> d & 1) b += index * b_step, b_step *= s->dims[d];
    }
    return (stretch){.a = (const char *)ml_in(c, 0) + a * rule->a_bytes,
                     .b = (const char *)ml_in(c, 1) + b * rule->b_bytes,
                     .y = (char *)ml_out(c, 0) + (row * s->row + from) * rule->y_bytes,
                     .n = s->row - from,
                     .rows = 1,
                     .a_row = s->a_steps & 1 ? a_row : 0,
                     .b_row = s->b_steps & 1 ? b_row : 0};
}

enum { COPIES_BYTES = 4096, LEAST_COPIES = 4 };

/* The number of copies worth making of a row that one input repeats along the innermost outer
 * dimension; 0 if there is no such row, or if it is long. A bias, or a slope per channel, is such a
 * row. */
static int64_t copies_of(const ml_broadcast *s, const ml_row_rule *rule) {
    /* 2 only where the row would have 2^31 elements and more, and was not merged with others. */
    const int32_t steps = (s->a_steps & 1) + (s->b_steps & 1);
    if (s->row_kind != ML_ROW_FULL || s->n_outer == 0 || steps != 1) return 0;
    const int64_t bytes = s->row * (s->a_steps & 1 ? rule->b_bytes : rule->a_bytes);
    const int64_t copies = ml_min_s64(COPIES_BYTES / bytes, s->dims[0]);
    return copies < LEAST_COPIES ? 0 : copies;
}

/* Computes short rows, several at a time: with `copies` of the repeated row they are one long
 * row. */
static void repeated_rows(const ml_call *c, const ml_row_rule *rule, const stretch *t,
                          int64_t copies) {
    _Alignas(64) char repeated[COPIES_BYTES];
    const bool of_b = t->b_row == 0;
    const int64_t bytes = t->n * (of_b ? rule->b_bytes : rule->a_bytes);
    memcpy(repeated, of_b ? t->b : t->a, (size_t)bytes);
    ml_repeat(repeated, bytes, ml_min_s64(copies, t->rows) - 1);
    for (int64_t r = 0, count; r < t->rows; r += count) {
        count = ml_min_s64(copies, t->rows - r);
        rule->row(c, of_b ? t->a + r * t->n * rule->a_bytes : repeated,
                  of_b ? repeated : t->b + r * t->n * rule->b_bytes,
                  t->y + r * t->n * rule->y_bytes, count * t->n, ML_ROW_FULL);
    }
}

/* True if rows of bytes are short, and the other input has one element per row: then many rows are
 * computed at a time, with that element repeated. */
static bool is_spread(const ml_broadcast *s, const ml_row_rule *rule) {
    const bool bytes = rule->a_bytes * rule->b_bytes == 1; /* both */
    return bytes && s->row_kind != ML_ROW_FULL && s->n_outer > 0 && s->row <= COPIES_BYTES / 8;
}

static void spread_rows(const ml_call *c, const ml_row_rule *rule, const stretch *t, int32_t kind) {
    _Alignas(64) char spread[COPIES_BYTES];
    const bool of_b = kind == ML_ROW_SCALAR_B;
    const char *one = of_b ? t->b : t->a;
    const int64_t step = of_b ? t->b_row : t->a_row, most = COPIES_BYTES / t->n;
    const bool full =
        (of_b ? t->a_row : t->b_row) == t->n; /* else it is always the same long row */
    for (int64_t r = 0, count; r < t->rows; r += count) {
        count = full ? ml_min_s64(most, t->rows - r) : 1;
        for (int64_t i = 0; i < count; i++)
            memset(spread + i * t->n, one[(r + i) * step], (size_t)t->n);
        rule->row(c, of_b ? t->a + r * t->a_row : spread, of_b ? spread : t->b + r * t->b_row,
                  t->y + r * t->n * rule->y_bytes, count * t->n, ML_ROW_FULL);
    }
}

static void zip_rows(const ml_call *c, const ml_zip_f32_args *args, const stretch *t) {
    ml_zip_f32_args zip = *args;
    zip.a = (const float *)(const void *)t->a;
    zip.b = (const float *)(const void *)t->b;
    zip.y = (float *)(void *)t->y;
    zip.n = t->n;
    zip.rows = t->rows;
    zip.a_row = t->a_row;
    zip.b_row = t->b_row;
    c->env->simd->zip_f32(&zip);
}

/* The same for floats, in two calls: full rows of copies, and the rest. */
static void zip_repeated_rows(const ml_call *c, const ml_zip_f32_args *args, const stretch *t,
                              int64_t copies) {
    _Alignas(64) char repeated[COPIES_BYTES];
    const bool of_b = t->b_row == 0;
    const int64_t bytes = t->n * (int64_t)sizeof(float), whole = t->rows - t->rows % copies;
    memcpy(repeated, of_b ? t->b : t->a, (size_t)bytes);
    ml_repeat(repeated, bytes, ml_min_s64(copies, t->rows) - 1);
    for (int64_t r = 0, end; r < t->rows; r = end) {
        end = r < whole ? whole : t->rows;
        const int64_t joined = r < whole ? copies : end - r, n = joined * t->n;
        const stretch part = {.a = of_b ? t->a + r * bytes : repeated,
                              .b = of_b ? repeated : t->b + r * bytes,
                              .y = t->y + r * bytes,
                              .n = n,
                              .rows = (end - r) / joined,
                              .a_row = of_b ? n : 0,
                              .b_row = of_b ? 0 : n};
        zip_rows(c, args, &part);
    }
}

/* Items are rows, or pieces of them. */
static ml_status some_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    const ml_broadcast *s = c->blob;
    const job *j = args;
    const ml_row_rule *rule = j->rule;
    const int64_t together = s->n_outer > 0 && j->pieces == 1 ? s->dims[0] : 1;
    for (int64_t i = first, count; i < end; i += count) {
        stretch t = stretch_at(c, rule, i / j->pieces, i % j->pieces * j->piece);
        count = t.rows = ml_min_s64(end - i, together - i % together);
        if (j->pieces > 1) t.n = ml_min_s64(t.n, j->piece);
        if (j->zip && j->copies > 0) zip_repeated_rows(c, j->zip, &t, j->copies);
        else if (j->zip) zip_rows(c, j->zip, &t);
        else if (j->copies > 0) repeated_rows(c, rule, &t, j->copies);
        else if (is_spread(s, rule)) spread_rows(c, rule, &t, s->row_kind);
        else
            for (int64_t r = 0; r < t.rows; r++)
                rule->row(c, t.a + r * t.a_row * rule->a_bytes, t.b + r * t.b_row * rule->b_bytes,
                          t.y + r * t.n * rule->y_bytes, t.n, s->row_kind);
    }
    return ML_OK;
}

static ml_status all_rows(const ml_call *c, const ml_row_rule *rule, const ml_zip_f32_args *zip) {
    const ml_broadcast *s = c->blob;
    job j = {.rule = rule, .zip = zip, .piece = ml_even_grain(s->row, ML_BLOCK_ELEMENTS)};
    j.pieces = (s->row - 1) / j.piece + 1;
    if (j.pieces > 1) return ml_parallel(c, s->rows * j.pieces, 1, some_rows, &j);
    j.copies = copies_of(s, rule);
    return ml_in_blocks(c, s->rows, s->row, some_rows, &j);
}

ml_status ml_broadcast_rows(const ml_call *c, const ml_row_rule *rule) {
    return all_rows(c, rule, NULL);
}

ml_status ml_broadcast_f32(const ml_call *c, int32_t function, float low, float high) {
    static const ml_row_rule floats = {NULL, sizeof(float), sizeof(float), sizeof(float)};
    const ml_broadcast *s = c->blob;
    const ml_zip_f32_args zip = {.a = ml_in(c, 0),
                                 .b = ml_in(c, 1),
                                 .y = ml_out(c, 0),
                                 .n = s->row,
                                 .rows = 1,
                                 .function = function,
                                 .kind = s->row_kind,
                                 .low = low,
                                 .high = high};
    if (s->rows != 1 || s->row > ML_BLOCK_ELEMENTS) return all_rows(c, &floats, &zip);
    c->env->simd->zip_f32(&zip);
    return ML_OK;
}
