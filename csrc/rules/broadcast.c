/* broadcast.c -- collapses two shapes that broadcast into rows of one kind. */
#include "rules/broadcast.h"

/* One dimension of the output, or several merged: how many elements, and which input is repeated along it. */
typedef struct run {
    int64_t size;
    int32_t kind;
} run;

/* The runs of `out`, innermost first; returns how many. Outer ones are counted in 32 bits. */
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
    const ml_shape *a = &ml_input(c, 0)->shape, *b = &ml_input(c, 1)->shape;
    ml_shape out;
    ml_status status = ml_broadcast_shape(c, a, b, &out);
    if (status == ML_OK) status = ml_set_output(c, 0, &out);
    if (status != ML_OK) return status;

    *blob = (ml_broadcast){.row_kind = ML_ROW_FULL, .row = 1, .rows = 1};
    if (ml_elements(&out) == 0) {
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
    (void)wish;
    return ml_broadcast_prepare(c, c->blob);
}

/* Where a walk over the rows stands: elements in front of both inputs' rows. */
typedef struct walk {
    int64_t a;
    int64_t b;
    int32_t index[ML_MAX_RANK - 1];
} walk;

static walk walk_to(const ml_broadcast *s, int64_t row) {
    walk at = {0};
    int64_t a = s->row_kind == ML_ROW_SCALAR_A ? 1 : s->row,
            b = s->row_kind == ML_ROW_SCALAR_B ? 1 : s->row; /* elements of an index */
    for (int32_t d = 0; d < s->n_outer; row /= s->dims[d++]) {
        at.index[d] = (int32_t)(row % s->dims[d]);
        if (s->a_steps >> d & 1) at.a += at.index[d] * a, a *= s->dims[d];
        if (s->b_steps >> d & 1) at.b += at.index[d] * b, b *= s->dims[d];
    }
    return at;
}

/* Steps to the next row. */
static inline void next_row(const ml_broadcast *s, walk *at) {
    int64_t a = s->row_kind == ML_ROW_SCALAR_A ? 1 : s->row,
            b = s->row_kind == ML_ROW_SCALAR_B ? 1 : s->row; /* elements of what was gone through */
    for (int32_t d = 0; d < s->n_outer; d++) {
        bool a_steps = s->a_steps >> d & 1, b_steps = s->b_steps >> d & 1;
        at->a += a_steps ? a : 0;
        at->b += b_steps ? b : 0;
        if (++at->index[d] < s->dims[d]) return;
        at->index[d] = 0;
        if (a_steps) at->a -= a *= s->dims[d];
        if (b_steps) at->b -= b *= s->dims[d];
    }
}

enum { COPIES_BYTES = 4096, LEAST_COPIES = 4 };

/* How many copies of the row that one input repeats along the innermost outer dimension are worth making: 0 where it repeats none, or
 * a long one. A bias, or a slope a channel, is such a row. */
static int64_t copies_of(const ml_broadcast *s, const ml_row_rule *rule) {
    const int32_t steps = (s->a_steps & 1) + (s->b_steps & 1);
    if (s->row_kind != ML_ROW_FULL || s->n_outer == 0 || steps != 1) return 0;
    const int64_t bytes = s->row * (s->a_steps & 1 ? rule->b_bytes : rule->a_bytes);
    const int64_t copies = ml_min_s64(COPIES_BYTES / bytes, s->dims[0]);
    return copies < LEAST_COPIES ? 0 : copies;
}

/* Short rows, several at a time: copies of the repeated one make them one long row. */
static void repeated_rows(const ml_call *c, const ml_row_rule *rule, int64_t first, int64_t end,
                          int64_t copies) {
    const ml_broadcast *s = c->blob;
    const bool of_b = s->a_steps & 1;
    const int64_t bytes = s->row * (of_b ? rule->b_bytes : rule->a_bytes);
    _Alignas(64) char repeated[COPIES_BYTES];
    const char *made = NULL;
    for (int64_t row = first, count; row < end; row += count) {
        const walk at = walk_to(s, row);
        const char *a = (const char *)ml_in(c, 0) + at.a * rule->a_bytes;
        const char *b = (const char *)ml_in(c, 1) + at.b * rule->b_bytes;
        const char *one = of_b ? b : a;
        for (int64_t i = 0; made != one && i < copies; i++)
            memcpy(repeated + i * bytes, one, (size_t)bytes);
        made = one;
        count = ml_min_s64(ml_min_s64(copies, s->dims[0] - at.index[0]), end - row);
        rule->row(c, of_b ? a : repeated, of_b ? repeated : b,
                  (char *)ml_out(c, 0) + row * s->row * rule->y_bytes, count * s->row, ML_ROW_FULL);
    }
}

static ml_status some_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    const ml_broadcast *s = c->blob;
    const ml_row_rule *rule = args;
    const char *a = ml_in(c, 0), *b = ml_in(c, 1);
    char *y = (char *)ml_out(c, 0) + first * s->row * rule->y_bytes;
    const int64_t copies = copies_of(s, rule);
    walk at = walk_to(s, first);
    (void)worker;
    if (copies > 0) {
        repeated_rows(c, rule, first, end, copies);
        return ML_OK;
    }
    for (int64_t r = first; r < end; r++, y += s->row * rule->y_bytes, next_row(s, &at))
        rule->row(c, a + at.a * rule->a_bytes, b + at.b * rule->b_bytes, y, s->row, s->row_kind);
    return ML_OK;
}

/* Item by item a piece of a long row. */
static ml_status some_pieces(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    const ml_broadcast *s = c->blob;
    const ml_row_rule *rule = args;
    const int64_t pieces = (s->row - 1) / ML_BLOCK_ELEMENTS + 1;
    (void)worker;
    for (int64_t i = first; i < end; i++) {
        const int64_t row = i / pieces, from = i % pieces * ML_BLOCK_ELEMENTS;
        const walk at = walk_to(s, row);
        const int64_t a = at.a + (s->row_kind == ML_ROW_SCALAR_A ? 0 : from);
        const int64_t b = at.b + (s->row_kind == ML_ROW_SCALAR_B ? 0 : from);
        rule->row(c, (const char *)ml_in(c, 0) + a * rule->a_bytes,
                  (const char *)ml_in(c, 1) + b * rule->b_bytes,
                  (char *)ml_out(c, 0) + (row * s->row + from) * rule->y_bytes,
                  ml_min_s64(s->row - from, ML_BLOCK_ELEMENTS), s->row_kind);
    }
    return ML_OK;
}

ml_status ml_broadcast_rows(const ml_call *c, const ml_row_rule *rule) {
    const ml_broadcast *s = c->blob;
    void *args = (void *)(uintptr_t)rule; /* read alone */
    if (s->row <= ML_BLOCK_ELEMENTS) return ml_in_blocks(c, s->rows, s->row, some_rows, args);
    const int64_t pieces = (s->row - 1) / ML_BLOCK_ELEMENTS + 1;
    return ml_parallel(c, s->rows * pieces, 1, some_pieces, args);
}

/* Rows that lie along the innermost outer dimension go together. */
static ml_status some_rows_f32(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                               void *args) {
    const ml_broadcast *s = c->blob;
    ml_zip_f32_args zip = *(const ml_zip_f32_args *)args;
    const int64_t together = s->n_outer > 0 ? s->dims[0] : 1;
    (void)worker;
    zip.a_row = s->a_steps & 1 ? (s->row_kind == ML_ROW_SCALAR_A ? 1 : s->row) : 0;
    zip.b_row = s->b_steps & 1 ? (s->row_kind == ML_ROW_SCALAR_B ? 1 : s->row) : 0;
    for (int64_t r = first; r < end; r += zip.rows) {
        const walk at = walk_to(s, r);
        zip.rows = ml_min_s64(end - r, together - r % together);
        zip.a = (const float *)ml_in(c, 0) + at.a;
        zip.b = (const float *)ml_in(c, 1) + at.b;
        zip.y = (float *)ml_out(c, 0) + r * s->row;
        c->env->simd->zip_f32(&zip);
    }
    return ML_OK;
}

/* A piece of a long row. */
static ml_status some_pieces_f32(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                 void *args) {
    const ml_broadcast *s = c->blob;
    ml_zip_f32_args zip = *(const ml_zip_f32_args *)args;
    const int64_t pieces = (s->row - 1) / ML_BLOCK_ELEMENTS + 1;
    (void)worker;
    for (int64_t i = first; i < end; i++) {
        const int64_t row = i / pieces, from = i % pieces * ML_BLOCK_ELEMENTS;
        const walk at = walk_to(s, row);
        zip.n = ml_min_s64(s->row - from, ML_BLOCK_ELEMENTS);
        zip.a = (const float *)ml_in(c, 0) + at.a + (s->row_kind == ML_ROW_SCALAR_A ? 0 : from);
        zip.b = (const float *)ml_in(c, 1) + at.b + (s->row_kind == ML_ROW_SCALAR_B ? 0 : from);
        zip.y = (float *)ml_out(c, 0) + row * s->row + from;
        c->env->simd->zip_f32(&zip);
    }
    return ML_OK;
}

ml_status ml_broadcast_f32(const ml_call *c, int32_t function, float low, float high) {
    const ml_broadcast *s = c->blob;
    ml_zip_f32_args zip = {.a = ml_in(c, 0),
                           .b = ml_in(c, 1),
                           .y = ml_out(c, 0),
                           .n = s->row,
                           .rows = 1,
                           .function = function,
                           .kind = s->row_kind,
                           .low = low,
                           .high = high};
    if (s->row > ML_BLOCK_ELEMENTS) {
        const int64_t pieces = (s->row - 1) / ML_BLOCK_ELEMENTS + 1;
        return ml_parallel(c, s->rows * pieces, 1, some_pieces_f32, &zip);
    }
    if (s->rows != 1) return ml_in_blocks(c, s->rows, s->row, some_rows_f32, &zip);
    c->env->simd->zip_f32(&zip);
    return ML_OK;
}
