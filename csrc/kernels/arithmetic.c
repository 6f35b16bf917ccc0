/* arithmetic.c -- ADD, SUB, MUL, SQUARED_DIFFERENCE: elementwise with numpy's broadcasting and a fused clamp; output 0 may be either input.
 *
 * Floats: one rounding per operation; without an activation nothing is clamped, so infinities stay. NaN passes every clamp.
 * Integers wrap. Quantized ones follow TFLite's reference kernels bit for bit (double rounding, fixed_point.h):
 *
 *     ADD  T1[a] + T2[b], requantized, where T(x) is (x - zero_point) << 20, scaled: a function of one byte, hence a table.
 *          16 bits: << 15, computed; with power-of-two scales one operand is shifted and the sum saturates.
 *     SUB  the same, T1[a] - T2[b].
 *     SQUARED_DIFFERENCE (T1[a] - T2[b])^2, with << 7.
 *     MUL  (a - zero_point) * (b - zero_point), requantized.
 *
 * One function serves s8 and u8: bytes are read as u8, after flipping their top bit where they are signed. 16 bits without
 * scales are plain integers.
 */
#include <math.h>

#include "math/float_math.h"
#include "rules/broadcast.h"
#include "rules/quantized.h"

ML_PARAMS(clamp_params, ML_CLAMP_FIELDS)
#define ADD_FIELDS(X, S) ML_CLAMP_FIELDS(X, S) X(S, i32, pot_scale_int16)
ML_PARAMS(add_params, ADD_FIELDS)

/* Floats ------------------------------------------------------------------------------------------------------------- */

static inline uint16_t half_of(float x, float minimum, float maximum) {
    return ml_half_of_float(ml_clamp_f32(x, minimum, maximum));
}
#define FLOAT(h) ml_float_of_half(h)

/* Evals `op`_f32, and `op`_f16: sums and products of halves are exact enough in float for one rounding. */
#define FLOATS(op, context, FUNCTION) \
    ML_BINARY_F32(op##_f32, FUNCTION, ML_PARAMS_AS(context), p.minimum, p.maximum)
#define HALVES(op, context, OPERATION)                                                                     \
    ML_BINARY(op##_f16, uint16_t, uint16_t, ML_PARAMS_AS(context),                                               \
              half_of(OPERATION(FLOAT(u), FLOAT(v)), p.minimum, p.maximum))
#define ADD(u, v) ((u) + (v))
#define SUB(u, v) ((u) - (v))
#define MUL(u, v) ((u) * (v))
#define SQUARE(u, v) (((u) - (v)) * ((u) - (v)))
FLOATS(add, add_params, ML_ZIP_ADD)
FLOATS(sub, add_params, ML_ZIP_SUB)
FLOATS(mul, clamp_params, ML_ZIP_MUL)
HALVES(add, add_params, ADD)
HALVES(mul, clamp_params, MUL)
ML_BINARY_F32(squared_difference_f32, ML_ZIP_SQUARED_DIFFERENCE, ML_NO_CONTEXT, 0.0f, 0.0f)

typedef struct complex_f32 {
    float re, im;
} complex_f32;
ML_BINARY(mul_c64, complex_f32, complex_f32, ML_NO_CONTEXT,
          ((complex_f32){u.re * v.re - u.im * v.im, u.re * v.im + u.im * v.re}))

/* Integers ----------------------------------------------------------------------------------------------------------- */

/* Limits of a type of any size, u64 left out. */
typedef struct limits {
    int64_t least;
    int64_t most;
} limits;
static void fill_limits(const ml_call *c, limits *p) {
    const clamp_params *real = c->params; /* what add_params begins with */
    const int32_t type = ml_output(c, 0)->type;
    p->least = type == ML_S64 ? INT64_MIN : ml_type_least(type);
    p->most = type == ML_S64   ? INT64_MAX
              : type == ML_U32 ? (int64_t)UINT32_MAX
                               : ml_type_most(type);
    if ((double)real->minimum > (double)p->least) p->least = (int64_t)real->minimum;
    if ((double)real->maximum < (double)p->most) p->most = (int64_t)real->maximum;
}
static int64_t derive_limits(const ml_call *c, void *to) {
    if (to) fill_limits(c, to);
    return (int64_t)sizeof(limits);
}

#define CLAMP(type, x) ((type)(x) < (type)p.least ? (type)p.least : (type)(x) > (type)p.most ? (type)p.most : (type)(x))
/* Computed in `wide`, unsigned, where sums and products wrap. */
#define WRAPPING(op, suffix, type, wide, OPERATION)             \
    ML_BINARY(op##_##suffix, type, type, ML_DERIVED_AS(limits),       \
              CLAMP(type, (type)OPERATION((wide)u, (wide)v)))
WRAPPING(add, s32, int32_t, uint32_t, ADD)
WRAPPING(add, s64, int64_t, uint64_t, ADD)
WRAPPING(sub, s32, int32_t, uint32_t, SUB)
WRAPPING(sub, s64, int64_t, uint64_t, SUB)
WRAPPING(mul, s32, int32_t, uint32_t, MUL)
WRAPPING(mul, u32, uint32_t, uint32_t, MUL)
WRAPPING(mul, s64, int64_t, uint64_t, MUL)
ML_BINARY(squared_difference_s32, int32_t, int32_t, ML_NO_CONTEXT,
          (int32_t)SQUARE((uint32_t)u, (uint32_t)v))

/* Quantized ---------------------------------------------------------------------------------------------------------- */

enum { CHUNK = 256 };

/* ml_doubling_high_mul in unsigned products, which baseline x86-64 has and GCC vectorises: a + 2^31 in place of a adds b. */
static inline int32_t doubling_high_mul(int32_t a, int32_t b) {
    uint64_t product = (uint64_t)((uint32_t)a ^ 0x80000000u) * (uint32_t)b + (1u << 30);
    return (int32_t)((uint32_t)(product >> 31) - (uint32_t)b);
}

/* ml_rescale_one of `n` sums or products; a right shift is the common case, and one that vectorises. */
static inline void rescale_row(const int32_t *sums, uint8_t *y, int64_t n, const ml_rescale *p) {
    const int32_t mantissa = p->mantissa, zero = p->zero_point, low = p->least, high = p->most,
                  right = -p->shift;
    if (right < 0) {
        for (int64_t i = 0; i < n; i++)
            y[i] = (uint8_t)(ml_clamp_s32(ml_multiply_quantized(sums[i], mantissa, -right), low,
                                          high) +
                             zero);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        y[i] = (uint8_t)(ml_clamp_s32(
                             ml_rounding_shift_right(doubling_high_mul(sums[i], mantissa), right),
                             low, high) +
                         zero);
}

/* How two operands become one output. */
typedef struct quantized {
    ml_rescale out; /* of sums and products: their zero point is 0 */
    ml_rescale a;
    ml_rescale b;
    int32_t flip; /* 128 for s8 */
} quantized;

static ml_rescale output_of(const ml_call *c, double multiplier) {
    const clamp_params *p = c->params; /* what add_params begins with */
    return ml_rescale_clamped((ml_affine){0}, ml_output_affine(c, 0), multiplier, p->minimum,
                              p->maximum);
}

typedef struct add_bytes {
    ml_rescale out;
    int32_t a[256]; /* by the input's byte */
    int32_t b[256];
} add_bytes;

/* Both inputs in a common scale, twice the larger one's, shifted left by as many bits as a sum of them leaves. */
static double fill_terms(const ml_call *c, quantized *p) {
    const ml_affine a = ml_input_affine(c, 0), b = ml_input_affine(c, 1);
    const double common = 2 * (double)(a.scale > b.scale ? a.scale : b.scale);
    p->a.input_zero_point = a.zero_point;
    p->b.input_zero_point = b.zero_point;
    ml_quantize_multiplier((double)a.scale / common, &p->a.mantissa, &p->a.shift);
    ml_quantize_multiplier((double)b.scale / common, &p->b.mantissa, &p->b.shift);
    return common;
}
static void fill_add(const ml_call *c, quantized *p, int32_t left) {
    const double common = fill_terms(c, p), y_scale = (double)ml_output_affine(c, 0).scale;
    p->out = output_of(c, common / ((double)(1 << left) * y_scale));
}
static inline int32_t add_term(int32_t x, const ml_rescale *p, int32_t left) {
    const uint32_t shifted = (uint32_t)(x - p->input_zero_point) << left;
    return ml_multiply_quantized((int32_t)shifted, p->mantissa, p->shift);
}

/* The terms of all bytes; `sign` is that of the second. */
static void fill_bytes(const ml_call *c, add_bytes *p, const quantized *q, int32_t left,
                       int32_t sign) {
    p->out = q->out;
    for (int32_t byte = 0; byte < 256; byte++) {
        const int32_t x = ml_input(c, 0)->type == ML_S8 ? (int8_t)byte : byte;
        p->a[byte] = add_term(x, &q->a, left);
        p->b[byte] = sign * add_term(x, &q->b, left);
    }
}
static int64_t derive_bytes(const ml_call *c, void *to, int32_t sign) {
    quantized q;
    if (to) fill_add(c, &q, 20);
    if (to) fill_bytes(c, to, &q, 20, sign);
    return (int64_t)sizeof(add_bytes);
}
static int64_t derive_add_q8(const ml_call *c, void *to) { return derive_bytes(c, to, 1); }
static int64_t derive_sub_q8(const ml_call *c, void *to) { return derive_bytes(c, to, -1); }
static void add_q8_row(const ml_call *c, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n,
                       int32_t kind) {
    const add_bytes *p = c->derived;
    const int64_t da = kind != ML_ROW_SCALAR_A, db = kind != ML_ROW_SCALAR_B;
    int32_t sums[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        const int64_t m = n - at < CHUNK ? n - at : CHUNK;
        for (int64_t i = 0; i < m; i++) sums[i] = p->a[a[(at + i) * da]] + p->b[b[(at + i) * db]];
        rescale_row(sums, y + at, m, &p->out);
    }
}
ML_BINARY_ROWS(add_q8, uint8_t, uint8_t)

static int64_t derive_squared_difference(const ml_call *c, void *to) {
    if (!to) return (int64_t)sizeof(add_bytes);
    const ml_affine y = ml_output_affine(c, 0);
    quantized q;
    const double common = fill_terms(c, &q);
    q.out = ml_rescale_of((ml_affine){0}, y, common * common / ((1 << 14) * (double)y.scale));
    fill_bytes(c, to, &q, 7, -1);
    return (int64_t)sizeof(add_bytes);
}
static void squared_difference_s8_row(const ml_call *c, const uint8_t *a, const uint8_t *b,
                                      uint8_t *y, int64_t n, int32_t kind) {
    const add_bytes *p = c->derived;
    const int64_t da = kind != ML_ROW_SCALAR_A, db = kind != ML_ROW_SCALAR_B;
    int32_t squares[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        const int64_t m = n - at < CHUNK ? n - at : CHUNK;
        for (int64_t i = 0; i < m; i++) {
            const int32_t difference = p->a[a[(at + i) * da]] + p->b[b[(at + i) * db]];
            squares[i] = difference * difference;
        }
        rescale_row(squares, y + at, m, &p->out);
    }
}
ML_BINARY_ROWS(squared_difference_s8, uint8_t, uint8_t)

static int64_t derive_mul(const ml_call *c, void *to) {
    quantized *p = to;
    if (!p) return (int64_t)sizeof *p;
    const ml_affine a = ml_input_affine(c, 0), b = ml_input_affine(c, 1),
                    y = ml_output_affine(c, 0);
    p->out = output_of(c, (double)(a.scale * b.scale / y.scale));
    p->flip = a.type == ML_S8 ? 128 : 0;
    p->a.input_zero_point = a.zero_point + p->flip;
    p->b.input_zero_point = b.zero_point + p->flip;
    return (int64_t)sizeof *p;
}
static void mul_q8_row(const ml_call *c, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n,
                       int32_t kind) {
    const quantized *p = c->derived;
    const int32_t flip = p->flip, za = p->a.input_zero_point, zb = p->b.input_zero_point;
    int32_t products[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        const int64_t m = n - at < CHUNK ? n - at : CHUNK;
        if (kind == ML_ROW_FULL) {
            for (int64_t i = 0; i < m; i++)
                products[i] = ((a[at + i] ^ flip) - za) * ((b[at + i] ^ flip) - zb);
        } else {
            const uint8_t *x = (kind == ML_ROW_SCALAR_A ? b : a) + at;
            const int32_t zx = kind == ML_ROW_SCALAR_A ? zb : za;
            const int32_t factor = kind == ML_ROW_SCALAR_A ? (*a ^ flip) - za : (*b ^ flip) - zb;
            for (int64_t i = 0; i < m; i++) products[i] = ((x[i] ^ flip) - zx) * factor;
        }
        rescale_row(products, y + at, m, &p->out);
    }
}
ML_BINARY_ROWS(mul_q8, uint8_t, uint8_t)

/* 16 bits: plain integers where there are no scales; ADD by shifts where scales are powers of two; or in general. */
typedef enum { PLAIN, SHIFTED, GENERAL } word_kind;
typedef struct words {
    limits plain;
    quantized q;
    word_kind kind;
} words;

/* Whether scales are powers of two and zero points 0; then by how many bits a and b are shifted right. */
static bool powers_of_two(const ml_call *c, quantized *p) {
    const ml_affine t[3] = {ml_input_affine(c, 0), ml_input_affine(c, 1), ml_output_affine(c, 0)};
    int exponents[3];
    if (!((const add_params *)c->params)->pot_scale_int16) return false;
    for (int i = 0; i < 3; i++)
        if (t[i].zero_point != 0 || frexpf(t[i].scale, &exponents[i]) != 0.5f) return false;
    p->a.shift = exponents[2] - exponents[0];
    p->b.shift = exponents[2] - exponents[1];
    return true;
}
static int64_t derive_add_s16(const ml_call *c, void *to) {
    words *p = to;
    if (!p) return (int64_t)sizeof *p;
    fill_limits(c, &p->plain);
    fill_add(c, &p->q, 15);
    p->kind = ml_output_affine(c, 0).scale == 0.0f ? PLAIN
              : powers_of_two(c, &p->q)            ? SHIFTED
                                                   : GENERAL;
    return (int64_t)sizeof *p;
}
static int64_t derive_mul_s16(const ml_call *c, void *to) {
    words *p = to;
    if (!p) return (int64_t)sizeof *p;
    fill_limits(c, &p->plain);
    derive_mul(c, &p->q);
    p->kind = ml_output_affine(c, 0).scale == 0.0f ? PLAIN : GENERAL;
    return (int64_t)sizeof *p;
}

WRAPPING(add_plain, s16, int16_t, uint32_t, ADD)
WRAPPING(mul_plain, s16, int16_t, uint32_t, MUL)
static inline int32_t product(int32_t a, int32_t b, const quantized *p) {
    return (int32_t)((uint32_t)(a - p->a.input_zero_point) * (uint32_t)(b - p->b.input_zero_point));
}
ML_BINARY(add_shifted_s16, int16_t, int16_t, ML_DERIVED_AS(words),
          (int16_t)ml_clamp_s32(ml_rounding_shift_right(u, p.q.a.shift) +
                                    ml_rounding_shift_right(v, p.q.b.shift),
                                p.q.out.least, p.q.out.most))
ML_BINARY(add_general_s16, int16_t, int16_t, ML_DERIVED_AS(words),
          (int16_t)ml_rescale_one(add_term(u, &p.q.a, 15) + add_term(v, &p.q.b, 15), &p.q.out))
ML_BINARY(sub_shifted_s16, int16_t, int16_t, ML_DERIVED_AS(words),
          (int16_t)ml_clamp_s32(ml_rounding_shift_right(u, p.q.a.shift) -
                                    ml_rounding_shift_right(v, p.q.b.shift),
                                p.q.out.least, p.q.out.most))
ML_BINARY(sub_general_s16, int16_t, int16_t, ML_DERIVED_AS(words),
          (int16_t)ml_rescale_one(add_term(u, &p.q.a, 15) - add_term(v, &p.q.b, 15), &p.q.out))
ML_BINARY(mul_general_s16, int16_t, int16_t, ML_DERIVED_AS(words),
          (int16_t)ml_rescale_one(product(u, v, &p.q), &p.q.out))
static ml_status add_s16(const ml_call *c) {
    const word_kind kind = ((const words *)c->derived)->kind;
    return kind == PLAIN     ? add_plain_s16(c)
           : kind == SHIFTED ? add_shifted_s16(c)
                             : add_general_s16(c);
}
static ml_status sub_s16(const ml_call *c) {
    return ((const words *)c->derived)->kind == SHIFTED ? sub_shifted_s16(c) : sub_general_s16(c);
}
static ml_status mul_s16(const ml_call *c) {
    return ((const words *)c->derived)->kind == PLAIN ? mul_plain_s16(c) : mul_general_s16(c);
}

ML_KERNELS(arithmetic) = {
    ML_BINARY_KERNEL("add", add_params, {"f32 f32 -> f32", NULL, NULL, add_f32},
                     {"f16 f16 -> f16", NULL, NULL, add_f16},
                     {"s32 s32 -> s32", derive_limits, NULL, add_s32},
                     {"s64 s64 -> s64", derive_limits, NULL, add_s64},
                     {"s8 s8 -> s8", derive_add_q8, NULL, add_q8},
                     {"u8 u8 -> u8", derive_add_q8, NULL, add_q8},
                     {"s16 s16 -> s16", derive_add_s16, NULL, add_s16}),
    ML_BINARY_KERNEL("sub", add_params, {"f32 f32 -> f32", NULL, NULL, sub_f32},
                     {"s32 s32 -> s32", derive_limits, NULL, sub_s32},
                     {"s64 s64 -> s64", derive_limits, NULL, sub_s64},
                     {"s8 s8 -> s8", derive_sub_q8, NULL, add_q8},
                     {"u8 u8 -> u8", derive_sub_q8, NULL, add_q8},
                     {"s16 s16 -> s16", derive_add_s16, NULL, sub_s16}),
    ML_BINARY_KERNEL(
        "mul", clamp_params, {"f32 f32 -> f32", NULL, NULL, mul_f32},
        {"f16 f16 -> f16", NULL, NULL, mul_f16}, {"s32 s32 -> s32", derive_limits, NULL, mul_s32},
        {"u32 u32 -> u32", derive_limits, NULL, mul_u32},
        {"s64 s64 -> s64", derive_limits, NULL, mul_s64}, {"c64 c64 -> c64", NULL, NULL, mul_c64},
        {"s8 s8 -> s8", derive_mul, NULL, mul_q8}, {"u8 u8 -> u8", derive_mul, NULL, mul_q8},
        {"s16 s16 -> s16", derive_mul_s16, NULL, mul_s16}),
    ML_BINARY_KERNEL_NO_PARAMS("squared_difference",
                               {"f32 f32 -> f32", NULL, NULL, squared_difference_f32},
                               {"s32 s32 -> s32", NULL, NULL, squared_difference_s32},
                               {"s8 s8 -> s8", derive_squared_difference, NULL,
                                squared_difference_s8}),
    ML_KERNELS_END,
};
