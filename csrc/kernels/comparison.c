/* comparison.c -- LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL: elementwise with
 * numpy's broadcasting, to bool. NaN is neither less than nor equal to anything.
 *
 * 8 bits: TFLite compares (x - zero_point) << 8 scaled with double rounding: a function of one
 * byte, so a table is used. EQUAL and NOT_EQUAL of 16 bits do the same if there are scales. */
#include "rules/checks.h"
#include "rules/half.h"
#include "rules/quantized.h"

typedef struct compared_bytes {
    int32_t a[256]; /* by the input's byte */
    int32_t b[256];
} compared_bytes;

static void fill(const ml_call *c, int i, int32_t table[256]) {
    const ml_affine in = ml_input_affine(c, i);
    int32_t mantissa, shift;
    ml_quantize_multiplier((double)in.scale, &mantissa, &shift);
    for (int32_t byte = 0; byte < 256; byte++) {
        const int32_t x = (in.type == ML_S8 ? (int8_t)byte : byte) - in.zero_point;
        table[byte] = ml_multiply_quantized(x * (1 << 8), mantissa, shift);
    }
}
static int64_t derive_bytes(const ml_call *c, void *to) {
    compared_bytes *p = to;
    if (p) fill(c, 0, p->a);
    if (p) fill(c, 1, p->b);
    return (int64_t)sizeof *p;
}

static void compare(const ml_call *c, const float *a, const float *b, uint8_t *y, int64_t n,
                    int32_t kind, int32_t function, bool swaps) {
    const int32_t swapped = kind == ML_ROW_SCALAR_A   ? ML_ROW_SCALAR_B
                            : kind == ML_ROW_SCALAR_B ? ML_ROW_SCALAR_A
                                                      : kind;
    const ml_compare_f32_args args = {.a = swaps ? b : a,
                                      .b = swaps ? a : b,
                                      .y = y,
                                      .n = n,
                                      .function = function,
                                      .kind = swaps ? swapped : kind};
    c->env->simd->compare_f32(&args);
}

/* The evals and rows of a comparison: a C expression of two numbers, and a function of simd.h for
 * floats, whose operands may be swapped. */
#define COMPARISON(name, OF, FUNCTION, swaps) \
    static void name##_f32_row(const ml_call *c, const float *a, const float *b, uint8_t *y, int64_t n, int32_t kind) { \
        compare(c, a, b, y, n, kind, FUNCTION, swaps); \
    } \
    ML_BINARY_ROWS(name##_f32, float, uint8_t) \
    ML_BINARY_F16_BY(name##_f16, uint8_t, name##_f32_any) \
    ML_BINARY(name##_s32, int32_t, uint8_t, ML_NO_CONTEXT, OF(u, v)) \
    ML_BINARY(name##_s64, int64_t, uint8_t, ML_NO_CONTEXT, OF(u, v)) \
    static void name##_q8_row(const ml_call *c, const uint8_t *a, const uint8_t *b, uint8_t *y, int64_t n, int32_t kind) { \
        const compared_bytes *p = c->derived; \
        const int64_t da = kind != ML_ROW_SCALAR_A, db = kind != ML_ROW_SCALAR_B; \
        for (int64_t i = 0; i < n; i++) y[i] = OF(p->a[a[i * da]], p->b[b[i * db]]); \
    } \
    ML_BINARY_ROWS(name##_q8, uint8_t, uint8_t)
/* 8 bits are compared by their scales; 16 bits too, if tested for equality and if the tensors have
 * scales. */
static ml_status check_scales(const ml_call *c, void *params) {
    const int32_t type = ml_input(c, 0)->type;
    ml_status status = ML_OK;
    for (int i = 0; i < 2 && status == ML_OK && (type == ML_S8 || type == ML_U8); i++)
        status = ml_check_quantized(c, c->inputs[i]);
    return status;
}
static ml_status check_equality(const ml_call *c, void *params) {
    if (ml_input(c, 0)->type != ML_S16 || !ml_input_quantization(c, 0)->n_scales)
        return check_scales(c, params);
    ml_status status = ml_check_quantized(c, c->inputs[0]);
    return status == ML_OK ? ml_check_quantized(c, c->inputs[1]) : status;
}

#define COMPARISON_ROW(operator, last, stem, check_fn, derive_s16, eval_s16, ...)                       \
    {ML_OP(operator, 1, last), .name = #stem, .takes = "a b -> y", .check = check_fn,    \
     ML_PREPARED_BROADCAST, ML_TYPED({"f32 f32 -> b8", NULL, NULL, stem##_f32}, \
                               {"f16 f16 -> b8", NULL, NULL, stem##_f16},        \
                               {"s16 s16 -> b8", derive_s16, NULL, eval_s16},    \
                               {"s32 s32 -> b8", NULL, NULL, stem##_s32},        \
                               {"s64 s64 -> b8", NULL, NULL, stem##_s64},        \
                               {"s8 s8 -> b8", derive_bytes, NULL, stem##_q8},   \
                               {"u8 u8 -> b8", derive_bytes, NULL, stem##_q8}, ##__VA_ARGS__)}

#define LESS(u, v) ((u) < (v))
#define LESS_EQUAL(u, v) ((u) <= (v))
#define GREATER(u, v) ((u) > (v))
#define GREATER_EQUAL(u, v) ((u) >= (v))
#define EQUAL(u, v) ((u) == (v))
#define NOT_EQUAL(u, v) ((u) != (v))
COMPARISON(less, LESS, ML_COMPARE_LESS, false)
COMPARISON(less_equal, LESS_EQUAL, ML_COMPARE_LESS_EQUAL, false)
COMPARISON(greater, GREATER, ML_COMPARE_LESS, true)
COMPARISON(greater_equal, GREATER_EQUAL, ML_COMPARE_LESS_EQUAL, true)
COMPARISON(equal, EQUAL, ML_COMPARE_EQUAL, false)
COMPARISON(not_equal, NOT_EQUAL, ML_COMPARE_NOT_EQUAL, false)
ML_BINARY(less_s16, int16_t, uint8_t, ML_NO_CONTEXT, LESS(u, v))
ML_BINARY(less_equal_s16, int16_t, uint8_t, ML_NO_CONTEXT, LESS_EQUAL(u, v))
ML_BINARY(greater_s16, int16_t, uint8_t, ML_NO_CONTEXT, GREATER(u, v))
ML_BINARY(greater_equal_s16, int16_t, uint8_t, ML_NO_CONTEXT, GREATER_EQUAL(u, v))

/* 16 bits, scaled. */
typedef struct compared_words {
    ml_rescale a, b;
    int32_t plain;
} compared_words;
static int64_t derive_words(const ml_call *c, void *to) {
    compared_words *p = to;
    if (!p) return (int64_t)sizeof *p;
    const ml_affine a = ml_input_affine(c, 0), b = ml_input_affine(c, 1);
    p->a.input_zero_point = a.zero_point;
    p->b.input_zero_point = b.zero_point;
    ml_quantize_multiplier((double)a.scale, &p->a.mantissa, &p->a.shift);
    ml_quantize_multiplier((double)b.scale, &p->b.mantissa, &p->b.shift);
    p->plain = a.scale == 0.0f;
    return (int64_t)sizeof *p;
}
static inline int32_t term(int32_t x, const ml_rescale *p) {
    return ml_multiply_quantized((x - p->input_zero_point) * (1 << 8), p->mantissa, p->shift);
}
ML_BINARY(equal_words, int16_t, uint8_t, ML_DERIVED_AS(compared_words),
          p.plain ? u == v : term(u, &p.a) == term(v, &p.b))
ML_BINARY(not_equal_words, int16_t, uint8_t, ML_DERIVED_AS(compared_words),
          p.plain ? u != v : term(u, &p.a) != term(v, &p.b))
ML_BINARY(equal_b8, uint8_t, uint8_t, ML_NO_CONTEXT, (u != 0) == (v != 0))
ML_BINARY(not_equal_b8, uint8_t, uint8_t, ML_NO_CONTEXT, (u != 0) != (v != 0))

ML_KERNELS(comparison) = {
    COMPARISON_ROW(LESS, 3, less, check_scales, NULL, less_s16,
                   {"bf16 bf16 -> b8", NULL, NULL, NULL}),
    COMPARISON_ROW(LESS_EQUAL, 2, less_equal, check_scales, NULL, less_equal_s16),
    COMPARISON_ROW(GREATER, 2, greater, check_scales, NULL, greater_s16,
                   {"bf16 bf16 -> b8", NULL, NULL, NULL}),
    COMPARISON_ROW(GREATER_EQUAL, 3, greater_equal, check_scales, NULL, greater_equal_s16),
    COMPARISON_ROW(EQUAL, 5, equal, check_equality, derive_words, equal_words,
                   {"b8 b8 -> b8", NULL, NULL, equal_b8},
                   {"string string -> b8", NULL, NULL, NULL}),
    COMPARISON_ROW(NOT_EQUAL, 4, not_equal, check_equality, derive_words, not_equal_words,
                   {"b8 b8 -> b8", NULL, NULL, not_equal_b8},
                   {"string string -> b8", NULL, NULL, NULL}),
    ML_KERNELS_END,
};
