/* stablehlo.c -- STABLEHLO_ADD, _MULTIPLY, _MAXIMUM, _MINIMUM, _AND, _SHIFT_LEFT: elementwise on
 * equal shapes, without regard to scales. Integers wrap; for truth values a sum is "or", a product
 * "and"; if either number is NaN, the extremum is the first. */
#include "math/loops.h"
#include "rules/half.h"

static ml_status prepare_equal(const ml_call *c, ml_wish *wish) {
    const ml_shape *a = &ml_input(c, 0)->shape, *b = &ml_input(c, 1)->shape;
    if (!ml_same_shape(a, b)) {
        char left[96], right[96];
        return ml_fail(c, ML_SHAPE_ERROR, "shapes %s and %s must be equal", ml_shape_text(a, left),
                       ml_shape_text(b, right));
    }
    return ml_broadcast_prepare(c, c->blob);
}

#define ADD(u, v) ((u) + (v))
#define MULTIPLY(u, v) ((u) * (v))
#define MAXIMUM(u, v) ((u) < (v) ? (v) : (u))
#define MINIMUM(u, v) ((v) < (u) ? (v) : (u))
#define AND(u, v) ((u) & (v))
#define OR(u, v) ((u) | (v))

/* Like ML_BINARY, but for equal shapes: all rows are full. */
#define EQUAL(name, type, EXPRESSION)                                                          \
    static __attribute__((noinline)) void name##_row(const ml_call *c, const type *a,          \
                                                     const type *b, type *y, int64_t n,        \
                                                     int32_t kind) {                           \
        ML_IVDEP for (int64_t i = 0; i < n; i++) {                                             \
            const type u = a[i], v = b[i];                                                     \
            y[i] = (EXPRESSION);                                                               \
        }                                                                                      \
    }                                                                                          \
    ML_BINARY_ROWS(name, type, type)

/* Evals of integers, computed in `wide` types, which are unsigned where they may wrap. */
#define INTEGER(name, OF, suffix, type, wide) \
    EQUAL(name##_##suffix, type, (type)OF((wide)u, (wide)v))
#define WRAPPING(name, OF)                       \
    INTEGER(name, OF, x1, uint8_t, uint32_t)     \
    INTEGER(name, OF, x2, uint16_t, uint32_t)    \
    INTEGER(name, OF, x8, uint64_t, uint64_t)
#define ORDERED(name, OF)                        \
    INTEGER(name, OF, s8, int8_t, int8_t)        \
    INTEGER(name, OF, u8, uint8_t, uint8_t)      \
    INTEGER(name, OF, s16, int16_t, int16_t)     \
    INTEGER(name, OF, u16, uint16_t, uint16_t)   \
    INTEGER(name, OF, u32, uint32_t, uint32_t)   \
    INTEGER(name, OF, s64, int64_t, int64_t)     \
    INTEGER(name, OF, u64, uint64_t, uint64_t)
#define S32(name, FUNCTION) ML_BINARY_S32(name, FUNCTION, ML_NO_CONTEXT, INT32_MIN, INT32_MAX)
#define FLOATS(name, OF)                                       \
    EQUAL(name##_f32, float, OF(u, v)) \
    EQUAL(name##_f64, double, OF(u, v))
#define HALVES(name, FUNCTION) \
    ML_BINARY_F16(name##_f16, FUNCTION, ML_NO_CONTEXT, -__builtin_inff(), __builtin_inff())
/* If either is NaN, the primitive gives its second operand, so the operands are exchanged. Shapes
 * are equal, so rows are full. */
#define HALVES_TURNED(name, FUNCTION) \
    static void name##_f16_row(const ml_call *c, const uint16_t *a, const uint16_t *b, \
                               uint16_t *y, int64_t n, int32_t kind) { \
        const float most = __builtin_inff(); \
        ml_zip_f16(c->env->simd, b, a, y, \
                   &(ml_zip_f32_args){.n = n, .function = (FUNCTION), .low = -most, .high = most}); \
    } \
    ML_BINARY_ROWS(name##_f16, uint16_t, uint16_t)
#define TRUTH(name, OF) \
    EQUAL(name##_b8, uint8_t, OF((u != 0), (v != 0)))

FLOATS(add, ADD)
HALVES(add, ML_ZIP_ADD)
WRAPPING(add, ADD)
S32(add_x4, ML_ZIP_S32_ADD)
TRUTH(add, OR)
FLOATS(multiply, MULTIPLY)
HALVES(multiply, ML_ZIP_MUL)
WRAPPING(multiply, MULTIPLY)
S32(multiply_x4, ML_ZIP_S32_MUL)
TRUTH(multiply, AND)
FLOATS(maximum, MAXIMUM)
HALVES_TURNED(maximum, ML_ZIP_MAX)
ORDERED(maximum, MAXIMUM)
S32(maximum_s32, ML_ZIP_S32_MAX)
TRUTH(maximum, OR)
FLOATS(minimum, MINIMUM)
HALVES_TURNED(minimum, ML_ZIP_MIN)
ORDERED(minimum, MINIMUM)
S32(minimum_s32, ML_ZIP_S32_MIN)
TRUTH(minimum, AND)
WRAPPING(and, AND)
INTEGER(and, AND, x4, uint32_t, uint32_t)
TRUTH(and, AND)

/* Shifts by one bit of the count at a time, which can be vectorized; 0 if the count is negative or
 * too large. */
static inline uint8_t shift_u8(uint8_t x, uint8_t bits) {
    x = (uint8_t)(bits & 1 ? x + x : x);
    x = (uint8_t)(bits & 2 ? x << 2 : x);
    x = (uint8_t)(bits & 4 ? x << 4 : x);
    return bits > 7 ? 0 : x;
}
static inline uint16_t shift_u16(uint16_t x, uint16_t bits) {
    x = (uint16_t)(bits & 1 ? x + x : x);
    x = (uint16_t)(bits & 2 ? x << 2 : x);
    x = (uint16_t)(bits & 4 ? x << 4 : x);
    x = (uint16_t)(bits & 8 ? x << 8 : x);
    return bits > 15 ? 0 : x;
}
#define SHIFT(suffix, unsigned_suffix, type)                                  \
    EQUAL(shift_left_##suffix, type, shift_##unsigned_suffix(u, v))
SHIFT(s8, u8, uint8_t)
SHIFT(s16, u16, uint16_t)
S32(shift_left_s32, ML_ZIP_S32_SHIFT_LEFT)

#define SAME(kind, eval) {kind " " kind " -> " kind, NULL, NULL, eval}
#define FLOAT_ROWS(name) SAME("f32", name##_f32), SAME("f64", name##_f64), SAME("f16", name##_f16)
#define WRAPPING_ROWS(name)                                                                   \
    SAME("s8", name##_x1), SAME("u8", name##_x1), SAME("s16", name##_x2), SAME("u16", name##_x2), \
        SAME("s32", name##_x4), SAME("u32", name##_x4), SAME("s64", name##_x8),               \
        SAME("u64", name##_x8), SAME("b8", name##_b8)
#define ORDERED_ROWS(name)                                                                    \
    SAME("s8", name##_s8), SAME("u8", name##_u8), SAME("s16", name##_s16),                    \
        SAME("u16", name##_u16), SAME("s32", name##_s32), SAME("u32", name##_u32),            \
        SAME("s64", name##_s64), SAME("u64", name##_u64), SAME("b8", name##_b8)
#define EQUAL_SHAPES(operator, kernel_name, ...)                                                \
    {ML_OP(operator, 1, 1), .name = (kernel_name), .takes = "a b -> y",                         \
     .in_place = ML_INPUT(0) | ML_INPUT(1), .blob_bytes = (int32_t)sizeof(ml_broadcast),        \
     .prepare = prepare_equal, ML_TYPED(__VA_ARGS__)}

ML_KERNELS(stablehlo) = {
    EQUAL_SHAPES(STABLEHLO_ADD, "stablehlo_add", FLOAT_ROWS(add), WRAPPING_ROWS(add)),
    EQUAL_SHAPES(STABLEHLO_MULTIPLY, "stablehlo_multiply", FLOAT_ROWS(multiply),
                 WRAPPING_ROWS(multiply)),
    EQUAL_SHAPES(STABLEHLO_MAXIMUM, "stablehlo_maximum", FLOAT_ROWS(maximum),
                 ORDERED_ROWS(maximum)),
    EQUAL_SHAPES(STABLEHLO_MINIMUM, "stablehlo_minimum", FLOAT_ROWS(minimum),
                 ORDERED_ROWS(minimum)),
    EQUAL_SHAPES(STABLEHLO_AND, "stablehlo_and", WRAPPING_ROWS(and)),
    EQUAL_SHAPES(STABLEHLO_SHIFT_LEFT, "stablehlo_shift_left", SAME("s8", shift_left_s8),
                 SAME("s16", shift_left_s16), SAME("s32", shift_left_s32)),
    ML_KERNELS_END,
};
