/* bytes.c -- ADD, SUB, MUL, SQUARED_DIFFERENCE of 8 bits, TFLite's reference kernels bit for bit.
 *
 *     ADD  T1[a] + T2[b], requantized, where T(x) is (x - zero_point) << 20, scaled: a function of
 *          one byte.
 *     SUB  the same, T1[a] - T2[b].
 *     SQUARED_DIFFERENCE (T1[a] - T2[b])^2, with << 7.
 *     MUL  (a - zero_point) * (b - zero_point), requantized.
 *
 * A sum is nearly linear in its bytes: one multiplication each, an addition and a shift give the
 * same byte for all pairs of them, if the constants are chosen well (linear.c). Where none are
 * found, sums of tables are requantized. A product is found by one float in the same way. */
#include "kernels/arithmetic/linear.h"
#include "simd/simd.h"

enum { CHUNK = 256 };

static ml_rescale output_of(const ml_call *c, double multiplier) {
    const clamp_params *p = c->params; /* the first fields of add_params */
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

/* ml_doubling_high_mul by unsigned products, which baseline x86-64 has and GCC vectorises. Using a
 * + 2^31 in place of a adds b to the result. */
static inline int32_t doubling_high_mul(int32_t a, int32_t b) {
    uint64_t product = (uint64_t)((uint32_t)a ^ 0x80000000u) * (uint32_t)b + (1u << 30);
    return (int32_t)((uint32_t)(product >> 31) - (uint32_t)b);
}

/* ml_rescale_one for `n` sums. A right shift is the common case, and it vectorises. */
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
    arithmetic_linear linear;
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

static void combine(const arithmetic_tables *p, const ml_add_s8_args *r, const bool squares) {
    int32_t sums[CHUNK];
    for (int64_t at = 0; at < r->n; at += CHUNK) {
        const int64_t m = ml_min_s64(r->n - at, CHUNK);
        for (int64_t i = 0; i < m; i++)
            sums[i] = p->a[r->a[(at + i) * r->a_step]] + p->b[r->b[(at + i) * r->b_step]];
        for (int64_t i = 0; squares && i < m; i++) sums[i] *= sums[i];
        rescale_row(sums, r->y + at, m, &p->out);
    }
}

/* The members that ml_add_s8_args and ml_mul_s8_args have in common. */
#define SET_ROW(args)                                                        \
    ((args).a = a, (args).b = b, (args).y = y, (args).n = n,                 \
     (args).a_step = kind != ML_ROW_SCALAR_A, (args).b_step = kind != ML_ROW_SCALAR_B)

/* Writes the odd pair's result where both bytes are those of the pair; an operand without steps (a
 * single byte) is known to match. */
static void mend(const odd_pair *odd, const ml_add_s8_args *r, int64_t n, uint8_t *restrict y) {
    const uint8_t *a = r->a_step ? r->a : r->b, *b = r->b_step ? r->b : r->a;
    const uint8_t of_a = r->a_step ? odd->a : odd->b, of_b = r->b_step ? odd->b : odd->a;
    if ((!r->a_step && *r->a != odd->a) || (!r->b_step && *r->b != odd->b)) return;
    for (int64_t i = 0; i < n; i++) {
        const uint8_t is = (uint8_t)(0 - ((a[i] == of_a) & (b[i] == of_b)));
        y[i] = (uint8_t)(y[i] ^ ((y[i] ^ odd->y) & is));
    }
}

/* A linear sum with odd pairs. It goes through a buffer, because the output may be an input. */
static void add_mended(const ml_call *c, const arithmetic_linear *p, ml_add_s8_args args) {
    enum { STRETCH = 2048 };
    uint8_t room[STRETCH], *y = args.y;
    const int64_t n = args.n;
    args.y = room;
    for (int64_t at = 0; at < n; at += args.n) {
        args.n = ml_min_s64(n - at, STRETCH);
        c->env->simd->add_s8(&args);
        for (int32_t i = 0; i < p->odd_count; i++) mend(&p->odd[i], &args, args.n, room);
        memcpy(y + at, room, (size_t)args.n);
        args.a += args.a_step ? args.n : 0;
        args.b += args.b_step ? args.n : 0;
    }
}

static void add_row(const ml_call *c, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n,
                    int32_t kind) {
    const add_bytes *p = c->derived;
    ml_add_s8_args args = p->linear.args;
    SET_ROW(args);
    if (!p->is_linear) combine(&p->tables, &args, false);
    else if (p->linear.odd_count > 0) add_mended(c, &p->linear, args);
    else c->env->simd->add_s8(&args);
}
ML_BINARY_ROWS(add, uint8_t, uint8_t)
ml_status ml_add_bytes(const ml_call *c) { return add(c); }

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
    ml_find_real(&q.out, p);
    return (int64_t)sizeof *p;
}

static void mul_row(const ml_call *c, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n,
                    int32_t kind) {
    ml_mul_s8_args args = *(const ml_mul_s8_args *)c->derived;
    SET_ROW(args);
    c->env->simd->mul_s8(&args);
}
ML_BINARY_ROWS(mul, uint8_t, uint8_t)
ml_status ml_mul_bytes(const ml_call *c) { return mul(c); }

int64_t ml_derive_squared_difference_bytes(const ml_call *c, void *to) {
    if (!to) return (int64_t)sizeof(arithmetic_tables);
    const ml_affine y = ml_output_affine(c, 0);
    arithmetic_terms q;
    const double common = fill_terms(c, &q);
    q.out = ml_rescale_of((ml_affine){0}, y, common * common / ((1 << 14) * (double)y.scale));
    fill_tables(c, to, &q, 7, -1);
    return (int64_t)sizeof(arithmetic_tables);
}

static void square_row(const ml_call *c, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n,
                       int32_t kind) {
    ml_add_s8_args args;
    SET_ROW(args);
    combine(c->derived, &args, true);
}
ML_BINARY_ROWS(square, uint8_t, uint8_t)
ml_status ml_squared_difference_bytes(const ml_call *c) { return square(c); }
