/* bytes.c -- ADD, SUB, MUL, SQUARED_DIFFERENCE of 8 bits, TFLite's reference kernels bit for bit.
 *
 *     ADD  T1[a] + T2[b], requantized, where T(x) is (x - zero_point) << 20, scaled: a function of one byte.
 *     SUB  the same, T1[a] - T2[b].
 *     SQUARED_DIFFERENCE (T1[a] - T2[b])^2, with << 7.
 *     MUL  (a - zero_point) * (b - zero_point), requantized.
 *
 * A sum is nearly linear in its bytes: one multiplication each, an addition and a shift give the same byte for all pairs of them, if
 * the constants are chosen well (linear.c). Where none are found, sums of tables are requantized. */
#include "kernels/arithmetic/linear.h"
#include "simd/simd.h"

enum { CHUNK = 256, BLOCK = 1 << 16 /* bytes that are a block of work */ };

static ml_rescale output_of(const ml_call *c, double multiplier) {
    const clamp_params *p = c->params; /* what add_params begins with */
    return ml_rescale_clamped((ml_affine){0}, ml_output_affine(c, 0), multiplier, p->minimum,
                              p->maximum);
}

static double fill_terms(const ml_call *c, arithmetic_terms *p) {
    const ml_affine a = ml_input_affine(c, 0), b = ml_input_affine(c, 1);
    const double common = 2 * (double)(a.scale > b.scale ? a.scale : b.scale);
    p->a.input_zero_point = a.zero_point;
    p->b.input_zero_point = b.zero_point;
    ml_quantize_multiplier((double)a.scale / common, &p->a.mantissa, &p->a.shift);
    ml_quantize_multiplier((double)b.scale / common, &p->b.mantissa, &p->b.shift);
    return common;
}

void ml_fill_sum(const ml_call *c, arithmetic_terms *p, int32_t left) {
    const double common = fill_terms(c, p), y_scale = (double)ml_output_affine(c, 0).scale;
    p->out = output_of(c, common / ((double)(1 << left) * y_scale));
}

void ml_fill_product(const ml_call *c, arithmetic_terms *p) {
    const ml_affine a = ml_input_affine(c, 0), b = ml_input_affine(c, 1),
                    y = ml_output_affine(c, 0);
    p->out = output_of(c, (double)(a.scale * b.scale / y.scale));
    p->a.input_zero_point = a.zero_point;
    p->b.input_zero_point = b.zero_point;
}

/* ml_doubling_high_mul in unsigned products, which baseline x86-64 has and GCC vectorises: a + 2^31 in place of a adds b. */
static inline int32_t doubling_high_mul(int32_t a, int32_t b) {
    uint64_t product = (uint64_t)((uint32_t)a ^ 0x80000000u) * (uint32_t)b + (1u << 30);
    return (int32_t)((uint32_t)(product >> 31) - (uint32_t)b);
}

/* ml_rescale_one of `n` sums; a right shift is the common case, and one that vectorises. */
static inline void rescale_row(const int32_t *sums, uint8_t *y, int64_t n, const ml_rescale *p) {
    const int32_t mantissa = p->mantissa, zero = p->zero_point, low = p->least, high = p->most,
                  right = -p->shift;
    if (right < 0) {
        for (int64_t i = 0; i < n; i++) y[i] = (uint8_t)ml_rescale_one(sums[i], p);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        y[i] = (uint8_t)(ml_clamp_s32(
                             ml_rounding_shift_right(doubling_high_mul(sums[i], mantissa), right),
                             low, high) +
                         zero);
}

static void fill_tables(const ml_call *c, arithmetic_tables *p, const arithmetic_terms *q,
                        int32_t left, int32_t sign) {
    p->out = q->out;
    for (int32_t byte = 0; byte < 256; byte++) {
        const int32_t x = ml_input(c, 0)->type == ML_S8 ? (int8_t)byte : byte;
        p->a[byte] = ml_sum_term(x, &q->a, left);
        p->b[byte] = sign * ml_sum_term(x, &q->b, left);
    }
}

typedef struct add_bytes {
    arithmetic_tables tables;
    ml_add_s8_args linear;
    bool is_linear;
} add_bytes;

static int64_t derive_sum(const ml_call *c, void *to, int32_t sign) {
    add_bytes *p = to;
    if (!p) return (int64_t)sizeof *p;
    const ml_affine x[2] = {ml_input_affine(c, 0), ml_input_affine(c, 1)};
    arithmetic_terms q;
    ml_fill_sum(c, &q, 20);
    fill_tables(c, &p->tables, &q, 20, sign);
    p->is_linear = ml_find_linear(&p->tables, x, ml_output_affine(c, 0), sign, &p->linear);
    return (int64_t)sizeof *p;
}
int64_t ml_derive_add_bytes(const ml_call *c, void *to) { return derive_sum(c, to, 1); }
int64_t ml_derive_sub_bytes(const ml_call *c, void *to) { return derive_sum(c, to, -1); }

/* Rows of one kind; the members that ml_add_s8_args and ml_mul_s8_args have in common. */
typedef struct byte_rows {
    const uint8_t *a;
    const uint8_t *b;
    uint8_t *y;
    int64_t n;
    int64_t rows;
    int64_t a_stride;
    int64_t b_stride;
    int32_t a_step;
    int32_t b_step;
} byte_rows;

typedef void rows_fn(const ml_call *c, const byte_rows *r);

/* Where row `row` lies. */
static ml_rows row_at(const ml_broadcast *s, int64_t row) {
    ml_rows at = {0};
    int64_t a = s->row_kind == ML_ROW_SCALAR_A ? 1 : s->row,
            b = s->row_kind == ML_ROW_SCALAR_B ? 1 : s->row;
    for (int32_t d = 0; d < s->n_outer; row /= s->dims[d], d++) {
        const bool a_steps = s->a_steps >> d & 1, b_steps = s->b_steps >> d & 1;
        at.index[d] = (int32_t)(row % s->dims[d]);
        at.a += a_steps ? at.index[d] * a : 0;
        at.b += b_steps ? at.index[d] * b : 0;
        a *= a_steps ? s->dims[d] : 1;
        b *= b_steps ? s->dims[d] : 1;
    }
    return at;
}

static byte_rows rows_of(const ml_call *c) {
    const ml_broadcast *s = c->blob;
    byte_rows r = {ml_in(c, 0), ml_in(c, 1), ml_out(c, 0), s->row, 1, 0, 0, 1, 1};
    r.a_step = s->row_kind != ML_ROW_SCALAR_A;
    r.b_step = s->row_kind != ML_ROW_SCALAR_B;
    return r;
}

static ml_status part_of_row(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    byte_rows r = rows_of(c);
    (void)worker;
    r.a += r.a_step * first;
    r.b += r.b_step * first;
    r.y += first;
    r.n = end - first;
    ((rows_fn *)args)(c, &r);
    return ML_OK;
}

/* Rows along the innermost of the outer dimensions go together. */
static ml_status some_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    const ml_broadcast *s = c->blob;
    (void)worker;
    for (int64_t row = first; row < end;) {
        const ml_rows at = row_at(s, row);
        byte_rows r = rows_of(c);
        r.a += at.a;
        r.b += at.b;
        r.y += row * s->row;
        r.rows = ml_min_s64(end - row, s->dims[0] - at.index[0]);
        r.a_stride = s->a_steps & 1 ? (r.a_step ? s->row : 1) : 0;
        r.b_stride = s->b_steps & 1 ? (r.b_step ? s->row : 1) : 0;
        ((rows_fn *)args)(c, &r);
        row += r.rows;
    }
    return ML_OK;
}

static ml_status walk(const ml_call *c, rows_fn *rows) {
    const ml_broadcast *s = c->blob;
    if (s->rows == 1) return ml_parallel(c, s->row, BLOCK, part_of_row, rows);
    return ml_parallel(c, s->rows, BLOCK / ml_max_s64(s->row, 1) + 1, some_rows, rows);
}

#define WITH_ROWS(args, r)                                                                     \
    (args).a = (r)->a, (args).b = (r)->b, (args).y = (r)->y, (args).n = (r)->n,                \
    (args).rows = (r)->rows, (args).a_stride = (r)->a_stride, (args).b_stride = (r)->b_stride, \
    (args).a_step = (r)->a_step, (args).b_step = (r)->b_step

static void combine(const arithmetic_tables *p, const byte_rows *r, const bool squares) {
    int32_t sums[CHUNK];
    const uint8_t *a = r->a, *b = r->b;
    uint8_t *y = r->y;
    for (int64_t row = 0; row < r->rows; row++, a += r->a_stride, b += r->b_stride, y += r->n)
        for (int64_t at = 0; at < r->n; at += CHUNK) {
            const int64_t m = ml_min_s64(r->n - at, CHUNK);
            for (int64_t i = 0; i < m; i++)
                sums[i] = p->a[a[(at + i) * r->a_step]] + p->b[b[(at + i) * r->b_step]];
            for (int64_t i = 0; squares && i < m; i++) sums[i] *= sums[i];
            rescale_row(sums, y + at, m, &p->out);
        }
}

static void add_rows(const ml_call *c, const byte_rows *r) {
    const add_bytes *p = c->derived;
    ml_add_s8_args args = p->linear;
    WITH_ROWS(args, r);
    if (p->is_linear) c->env->simd->add_s8(&args);
    else combine(&p->tables, r, false);
}
ml_status ml_add_bytes(const ml_call *c) { return walk(c, add_rows); }

int64_t ml_derive_mul_bytes(const ml_call *c, void *to) {
    ml_mul_s8_args *p = to;
    if (!p) return (int64_t)sizeof *p;
    arithmetic_terms q;
    ml_fill_product(c, &q);
    *p = (ml_mul_s8_args){.is_signed = ml_input(c, 0)->type == ML_S8,
                          .a_zero = q.a.input_zero_point,
                          .b_zero = q.b.input_zero_point,
                          .mantissa = q.out.mantissa,
                          .shift = q.out.shift,
                          .zero = q.out.zero_point,
                          .low = q.out.least + q.out.zero_point,
                          .high = q.out.most + q.out.zero_point};
    return (int64_t)sizeof *p;
}

static void mul_rows(const ml_call *c, const byte_rows *r) {
    ml_mul_s8_args args = *(const ml_mul_s8_args *)c->derived;
    WITH_ROWS(args, r);
    c->env->simd->mul_s8(&args);
}
ml_status ml_mul_bytes(const ml_call *c) { return walk(c, mul_rows); }

int64_t ml_derive_squared_difference_bytes(const ml_call *c, void *to) {
    if (!to) return (int64_t)sizeof(arithmetic_tables);
    const ml_affine y = ml_output_affine(c, 0);
    arithmetic_terms q;
    const double common = fill_terms(c, &q);
    q.out = ml_rescale_of((ml_affine){0}, y, common * common / ((1 << 14) * (double)y.scale));
    fill_tables(c, to, &q, 7, -1);
    return (int64_t)sizeof(arithmetic_tables);
}

static void square_rows(const ml_call *c, const byte_rows *r) { combine(c->derived, r, true); }
ml_status ml_squared_difference_bytes(const ml_call *c) { return walk(c, square_rows); }
