/* arithmetic.c -- ADD, MUL: elementwise with numpy's broadcasting and a fused clamp; output 0 may be either input.
 *
 * Floats: one rounding per operation; without an activation nothing is clamped, so infinities stay. NaN passes every clamp.
 * Integers wrap. Quantized ADD and MUL follow TFLite's reference kernels bit for bit (double rounding, fixed_point.h):
 *
 *     ADD  T1[a] + T2[b], requantized, where T(x) is (x - zero_point) << 20, scaled: a function of one byte, hence a table.
 *          16 bits: << 15, computed; with power-of-two scales one operand is shifted and the sum saturates.
 *     MUL  (a - zero_point) * (b - zero_point), requantized.
 *
 * One kernel serves int8 and uint8: bytes are read as uint8, after flipping their top bit where they are signed.
 */
#include "rules/broadcast.h"
#include "math/fixed_point.h"

#define F32_FIELDS(X, S) X(S, f32, minimum) X(S, f32, maximum)
ML_PARAMS(f32_params, F32_FIELDS)

/* Limits of s32 and s64 alike. */
#define INT_FIELDS(X, S) X(S, i64, minimum) X(S, i64, maximum)
ML_PARAMS(int_params, INT_FIELDS)

#define ADD(u, v) ((u) + (v))
#define MUL(u, v) ((u) * (v))

static inline float clamp_f32(float x, const f32_params *p) {
    x = x < p->minimum ? p->minimum : x;
    return x > p->maximum ? p->maximum : x;
}

static inline int32_t clamp_s32(uint32_t bits, const int_params *p) {
    int32_t x = (int32_t)bits;
    x = x < (int32_t)p->minimum ? (int32_t)p->minimum : x;
    return x > (int32_t)p->maximum ? (int32_t)p->maximum : x;
}

static inline int64_t clamp_s64(uint64_t bits, const int_params *p) {
    int64_t x = (int64_t)bits;
    x = x < p->minimum ? p->minimum : x;
    return x > p->maximum ? p->maximum : x;
}

ML_BINARY_KERNEL(add_f32, float, float, f32_params, ADD(u, v))
ML_BINARY_KERNEL(mul_f32, float, float, f32_params, MUL(u, v))
ML_BINARY_KERNEL(add_clamp_f32, float, float, f32_params, clamp_f32(ADD(u, v), p))
ML_BINARY_KERNEL(mul_clamp_f32, float, float, f32_params, clamp_f32(MUL(u, v), p))
ML_BINARY_KERNEL(add_s32, int32_t, int32_t, int_params, clamp_s32(ADD((uint32_t)u, (uint32_t)v), p))
ML_BINARY_KERNEL(mul_s32, int32_t, int32_t, int_params, clamp_s32(MUL((uint32_t)u, (uint32_t)v), p))
ML_BINARY_KERNEL(add_s64, int64_t, int64_t, int_params, clamp_s64(ADD((uint64_t)u, (uint64_t)v), p))
ML_BINARY_KERNEL(mul_s64, int64_t, int64_t, int_params, clamp_s64(MUL((uint64_t)u, (uint64_t)v), p))

/* Quantized: y = clamp(zero_point + sum * mantissa * 2^(shift - 31)). */
#define REQUANTIZE_FIELDS(X, S) \
    X(S, i32, mantissa) X(S, i32, shift) X(S, i32, zero_point) X(S, i32, minimum) X(S, i32, maximum)
typedef struct requantize_params {
    REQUANTIZE_FIELDS(ML_MEMBER, requantize_params)
} requantize_params;

/* a_table, b_table: 256 s32, by the input's byte. */
#define ADD_Q8_FIELDS(X, S) REQUANTIZE_FIELDS(X, S) X(S, array, a_table) X(S, array, b_table)
ML_PARAMS(add_q8_params, ADD_Q8_FIELDS)

#define ADD_S16_FIELDS(X, S) \
    REQUANTIZE_FIELDS(X, S) X(S, i32, a_zero_point) X(S, i32, a_mantissa) X(S, i32, a_shift) \
    X(S, i32, b_zero_point) X(S, i32, b_mantissa) X(S, i32, b_shift)
ML_PARAMS(add_s16_params, ADD_S16_FIELDS)

#define ADD_POT_FIELDS(X, S) X(S, i32, minimum) X(S, i32, maximum) X(S, i32, a_shift) X(S, i32, b_shift)
ML_PARAMS(add_pot_params, ADD_POT_FIELDS)

#define MUL_QUANTIZED_FIELDS(X, S) \
    REQUANTIZE_FIELDS(X, S) X(S, i32, flip) X(S, i32, a_zero_point) X(S, i32, b_zero_point)
ML_PARAMS(mul_quantized_params, MUL_QUANTIZED_FIELDS)

enum { CHUNK = 256 };

/* ml_doubling_high_mul in unsigned products, which baseline x86-64 has and GCC vectorises: a + 2^31 in place of a adds b. */
static inline int32_t doubling_high_mul(int32_t a, int32_t b) {
    uint64_t product = (uint64_t)((uint32_t)a ^ 0x80000000u) * (uint32_t)b + (1u << 30);
    return (int32_t)((uint32_t)(product >> 31) - (uint32_t)b);
}

/* Requantizes `n` sums; a right shift is the common case, and one that vectorises. */
static inline void requantize_row(const int32_t *sums, uint8_t *y, int64_t n,
                                  const requantize_params *p) {
    const int32_t mantissa = p->mantissa, zero = p->zero_point, low = p->minimum, high = p->maximum,
                  right = -p->shift;
    if (right < 0) {
        for (int64_t i = 0; i < n; i++)
            y[i] = (uint8_t)ml_clamp_s32(ml_multiply_quantized(sums[i], mantissa, -right) + zero,
                                         low, high);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        y[i] = (uint8_t)ml_clamp_s32(
            ml_rounding_shift_right(doubling_high_mul(sums[i], mantissa), right) + zero, low, high);
}

static inline void add_q8_row(const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n,
                              int32_t kind, const add_q8_params *p) {
    const requantize_params out = {p->mantissa, p->shift, p->zero_point, p->minimum, p->maximum};
    const int32_t *ta = p->a_table.data, *tb = p->b_table.data;
    const int64_t da = kind != ML_ROW_SCALAR_A, db = kind != ML_ROW_SCALAR_B;
    int32_t sums[CHUNK];
    for (int64_t at = 0; at < n; at += CHUNK) {
        const int64_t m = n - at < CHUNK ? n - at : CHUNK;
        for (int64_t i = 0; i < m; i++) sums[i] = ta[a[(at + i) * da]] + tb[b[(at + i) * db]];
        requantize_row(sums, y + at, m, &out);
    }
}
ML_BINARY_EVAL(add_q8, uint8_t, uint8_t)

static inline void mul_q8_row(const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n,
                              int32_t kind, const mul_quantized_params *p) {
    const requantize_params out = {p->mantissa, p->shift, p->zero_point, p->minimum, p->maximum};
    const int32_t flip = p->flip, za = p->a_zero_point, zb = p->b_zero_point;
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
        requantize_row(products, y + at, m, &out);
    }
}
ML_BINARY_EVAL(mul_q8, uint8_t, uint8_t)

static inline int16_t requantize_s16(int32_t x, int32_t mantissa, int32_t shift, int32_t zero,
                                     int32_t low, int32_t high) {
    return (int16_t)ml_clamp_s32(ml_multiply_quantized(x, mantissa, shift) + zero, low, high);
}

static inline int16_t add_one_s16(int32_t a, int32_t b, const add_s16_params *p) {
    int32_t x = ml_multiply_quantized((int32_t)((uint32_t)(a - p->a_zero_point) << 15),
                                      p->a_mantissa, p->a_shift);
    int32_t y = ml_multiply_quantized((int32_t)((uint32_t)(b - p->b_zero_point) << 15),
                                      p->b_mantissa, p->b_shift);
    return requantize_s16(x + y, p->mantissa, p->shift, p->zero_point, p->minimum, p->maximum);
}

static inline int16_t mul_one_s16(int32_t a, int32_t b, const mul_quantized_params *p) {
    int32_t product = (int32_t)((uint32_t)(a - p->a_zero_point) * (uint32_t)(b - p->b_zero_point));
    return requantize_s16(product, p->mantissa, p->shift, p->zero_point, p->minimum, p->maximum);
}

static inline int16_t add_one_pot_s16(int32_t a, int32_t b, const add_pot_params *p) {
    int32_t sum = ml_rounding_shift_right(a, p->a_shift) + ml_rounding_shift_right(b, p->b_shift);
    return (int16_t)ml_clamp_s32(sum, p->minimum, p->maximum);
}

ML_BINARY_KERNEL(add_s16, int16_t, int16_t, add_s16_params, add_one_s16(u, v, p))
ML_BINARY_KERNEL(add_pot_s16, int16_t, int16_t, add_pot_params, add_one_pot_s16(u, v, p))
ML_BINARY_KERNEL(mul_s16, int16_t, int16_t, mul_quantized_params, mul_one_s16(u, v, p))

#define ROW(name, params) ML_KERNEL(#name, params, sizeof(ml_broadcast), 0, ml_prepare_broadcast, name)
ML_KERNELS(arithmetic) = {
    ROW(add_f32, f32_params),           ROW(mul_f32, f32_params),
    ROW(add_clamp_f32, f32_params),     ROW(mul_clamp_f32, f32_params),
    ROW(add_s32, int_params),           ROW(mul_s32, int_params),
    ROW(add_s64, int_params),           ROW(mul_s64, int_params),
    ROW(add_q8, add_q8_params),         ROW(mul_q8, mul_quantized_params),
    ROW(add_s16, add_s16_params),       ROW(add_pot_s16, add_pot_params),
    ROW(mul_s16, mul_quantized_params), ML_KERNELS_END,
};
