/* cast.c -- CAST between all pairs of 13 types; may run in place between types of one size.
 *
 * Integers to integers wrap; anything to bool is x != 0 (NaN is true); to floats rounds to nearest,
 * ties to even, f16 and bf16 through f32. Floats to integers truncate and saturate, and NaN gives
 * the highest value. Complex numbers give their real part. Every byte of a bool except 0 is
 * true. */
#include "rules/half.h"
#include "simd/simd.h"

/* x truncated towards 0, within low and below `above`, the first number that does not fit; NaN
 * gives high. */
#define SATURATE(x, low, above, high, type) ((x) < (above) ? ((x) <= (low) ? (low) : (type)(x)) : (high))

static inline int8_t s8_of_f64(double x) { return SATURATE(x, -128, 128.0, 127, int8_t); }
static inline uint8_t u8_of_f64(double x) { return SATURATE(x, 0, 256.0, 255, uint8_t); }
static inline int16_t s16_of_f64(double x) { return SATURATE(x, -32768, 32768.0, 32767, int16_t); }
static inline uint16_t u16_of_f64(double x) { return SATURATE(x, 0, 65536.0, 65535, uint16_t); }
static inline int32_t s32_of_f64(double x) {
    return SATURATE(x, INT32_MIN, 0x1p31, INT32_MAX, int32_t);
}
static inline uint32_t u32_of_f64(double x) { return SATURATE(x, 0, 0x1p32, UINT32_MAX, uint32_t); }
static inline int64_t s64_of_f64(double x) {
    return SATURATE(x, INT64_MIN, 0x1p63, INT64_MAX, int64_t);
}

/* The same of floats, such that compilers turn it into vectors. */
static inline int32_t s32_of_f32(float x) {
    const bool fits = x >= -0x1p31f && x < 0x1p31f;
    return fits ? (int32_t)x : INT32_MAX ^ -(x < 0.0f); /* INT32_MIN below 0 */
}
static inline int8_t s8_of_f32(float x) { return (int8_t)ml_clamp_s32(s32_of_f32(x), -128, 127); }
static inline uint8_t u8_of_f32(float x) { return (uint8_t)ml_clamp_s32(s32_of_f32(x), 0, 255); }
static inline int16_t s16_of_f32(float x) {
    return (int16_t)ml_clamp_s32(s32_of_f32(x), INT16_MIN, INT16_MAX);
}

/* The C type of an element. */
#define C_f32 float
#define C_s8 int8_t
#define C_u8 uint8_t
#define C_s16 int16_t
#define C_s32 int32_t
#define C_s64 int64_t
#define C_b8 uint8_t
#define C_c64 complex_f32
#define C_f64 double
typedef struct complex_f32 {
    float re, im;
} complex_f32;

/* The pairs that models use have a loop each. */
#define CAST(from, to, value) ML_UNARY(cast_##from##_##to, C_##from, C_##to, ML_NO_CONTEXT, value)
#define CAST_FROM_INT(from)       \
    CAST(from, s8, (int8_t)x)     \
    CAST(from, u8, (uint8_t)x)    \
    CAST(from, s16, (int16_t)x)   \
    CAST(from, s32, (int32_t)x)   \
    CAST(from, s64, (int64_t)x)   \
    CAST(from, b8, x != 0)
CAST_FROM_INT(s8)
CAST_FROM_INT(u8)
CAST_FROM_INT(s16)
CAST_FROM_INT(s32)
CAST_FROM_INT(s64)
CAST(s16, f32, (float)x)
CAST(s32, f32, (float)x)
CAST(s64, f32, (float)x)
CAST(b8, u8, x != 0)
CAST(b8, s32, x != 0)
CAST(b8, s64, x != 0)
CAST(f32, f32, x)
CAST(f32, s8, s8_of_f32(x))
CAST(f32, u8, u8_of_f32(x))
CAST(f32, s16, s16_of_f32(x))
CAST(f32, s32, s32_of_f32(x))
CAST(f32, s64, s64_of_f64((double)x))
CAST(f32, c64, ((complex_f32){x, 0}))
CAST(f32, f64, (double)x)
CAST(f64, f32, (float)x)

/* Bytes to floats: a primitive converts them, bools once they are 0 and 1. */
static ml_status bytes_to_f32(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                              void *args) {
    enum { SOME = 2048 };
    const uint8_t *x = ml_in(c, 0);
    const int32_t type = ml_in_tensor(c, 0)->type;
    uint8_t truth[SOME];
    ml_quantize_s8_args to_floats = {.scale = 1.0f, .is_signed = type == ML_S8};
    for (int64_t at = first; at < end; at += to_floats.n) {
        to_floats.n = type == ML_B8 ? ml_min_s64(SOME, end - at) : end - at;
        to_floats.x = (float *)ml_out(c, 0) + at;
        for (int64_t i = 0; type == ML_B8 && i < to_floats.n; i++) truth[i] = x[at + i] != 0;
        to_floats.y = type == ML_B8 ? truth : (uint8_t *)(uintptr_t)(x + at); /* only read */
        c->env->simd->dequantize_s8(&to_floats);
    }
    return ML_OK;
}
ML_ELEMENTWISE(cast_bytes_f32, bytes_to_f32)

static ml_status floats_to_b8(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                              void *args) {
    const float zero = 0.0f;
    const ml_compare_f32_args compare = {.a = (const float *)ml_in(c, 0) + first,
                                         .b = &zero,
                                         .y = (uint8_t *)ml_out(c, 0) + first,
                                         .n = end - first,
                                         .function = ML_COMPARE_NOT_EQUAL,
                                         .kind = ML_ZIP_SCALAR_B};
    c->env->simd->compare_f32(&compare);
    return ML_OK;
}
ML_ELEMENTWISE(cast_f32_b8, floats_to_b8)

/* All other pairs: some elements at a time are converted to int64 or double, which hold every type
 * exactly, and then to the output's type. */
enum { CHUNK = 64 };
typedef struct wide {
    bool is_float;
    int64_t i[CHUNK];
    double f[CHUNK];
} wide;

#define READ(code, type, to, value)                 \
    case ML_##code:                                 \
        for (int64_t k = 0; k < n; k++) {           \
            const type v = ((const type *)x)[k];    \
            w->to[k] = (value);                     \
        }                                           \
        return;
static __attribute__((cold)) void read(wide *w, int32_t type, const void *x, int64_t n) {
    w->is_float =
        type == ML_F32 || type == ML_F16 || type == ML_BF16 || type == ML_F64 || type == ML_C64;
    switch (type) {
        READ(F32, float, f, (double)v)
        READ(F16, uint16_t, f, (double)ml_float_of_half(v))
        READ(BF16, uint16_t, f, (double)ml_float_of_bfloat(v))
        READ(F64, double, f, v)
        READ(C64, complex_f32, f, (double)v.re)
        READ(S8, int8_t, i, v)
        READ(U8, uint8_t, i, v)
        READ(B8, uint8_t, i, v != 0)
        READ(S16, int16_t, i, v)
        READ(U16, uint16_t, i, v)
        READ(S32, int32_t, i, v)
        READ(U32, uint32_t, i, v)
        READ(S64, int64_t, i, v)
    default: return;
    }
}

/* `real` and `integer` are the expressions for an element, from w->f[k] or from w->i[k]. */
#define WRITE(code, type, real, integer)                                                   \
    case ML_##code:                                                                        \
        for (int64_t k = 0; k < n; k++) ((type *)y)[k] = w->is_float ? (real) : (integer); \
        return;
#define WRITE_INT(code, type, saturate) WRITE(code, type, saturate(w->f[k]), (type)w->i[k])
static __attribute__((cold)) void write(const wide *w, int32_t type, void *y, int64_t n) {
    switch (type) {
        WRITE(F32, float, (float)w->f[k], (float)w->i[k])
        WRITE(F64, double, w->f[k], (double)w->i[k])
        WRITE(F16, uint16_t, ml_half_of_float((float)w->f[k]), ml_half_of_float((float)w->i[k]))
        WRITE(BF16, uint16_t, ml_bfloat_of_float((float)w->f[k]),
              ml_bfloat_of_float((float)w->i[k]))
        WRITE(C64, complex_f32, ((complex_f32){(float)w->f[k], 0}),
              ((complex_f32){(float)w->i[k], 0}))
        WRITE(B8, uint8_t, w->f[k] != 0, w->i[k] != 0)
        WRITE_INT(S8, int8_t, s8_of_f64)
        WRITE_INT(U8, uint8_t, u8_of_f64)
        WRITE_INT(S16, int16_t, s16_of_f64)
        WRITE_INT(U16, uint16_t, u16_of_f64)
        WRITE_INT(S32, int32_t, s32_of_f64)
        WRITE_INT(U32, uint32_t, u32_of_f64)
        WRITE_INT(S64, int64_t, s64_of_f64)
    default: return;
    }
}

static ml_status cast_any_block(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                void *args) {
    const int32_t from = ml_in_tensor(c, 0)->type, to = ml_out_tensor(c, 0)->type;
    const char *x = ml_in(c, 0);
    char *y = ml_out(c, 0);
    if (from == to) {
        const int64_t bytes = ml_type_bytes(from);
        memmove(y + first * bytes, x + first * bytes, (size_t)((end - first) * bytes));
        return ML_OK;
    }
    wide w;
    for (int64_t at = first; at < end; at += CHUNK) {
        const int64_t n = end - at < CHUNK ? end - at : CHUNK;
        read(&w, from, x + at * ml_type_bytes(from), n);
        write(&w, to, y + at * ml_type_bytes(to), n);
    }
    return ML_OK;
}
ML_ELEMENTWISE(cast_any, cast_any_block)

#define ROW(from, to) {#from " -> " #to, NULL, NULL, cast_##from##_##to}
#define TO_INTS(from) \
    ROW(from, s8), ROW(from, u8), ROW(from, s16), ROW(from, s32), ROW(from, s64), ROW(from, b8)
#define TYPES "f32|f16|bf16|f64|s8|u8|s16|u16|s32|u32|s64|b8|c64"
ML_KERNELS(cast) = {
    {ML_OP(CAST, 1, 9), .name = "cast", .takes = "x -> y", .in_place = ML_INPUT(0),
     ML_PREPARED_ELEMENTWISE,
     ML_TYPED(ROW(f32, f32), TO_INTS(f32), {"s8|u8|b8 -> f32", NULL, NULL, cast_bytes_f32},
              TO_INTS(s8), TO_INTS(u8), {"b8 -> s8|u8", NULL, NULL, cast_b8_u8}, ROW(b8, s32),
              ROW(b8, s64), ROW(s16, f32), TO_INTS(s16), ROW(s32, f32), TO_INTS(s32), ROW(s64, f32),
              TO_INTS(s64), ROW(f32, c64), ROW(f32, f64), ROW(f64, f32),
              {"f32 -> f16", NULL, NULL, ml_narrow_f16}, {"f16 -> f32", NULL, NULL, ml_widen_f16},
              {TYPES " -> " TYPES, NULL, NULL, cast_any}, {"s4|s2|u4 -> f32", NULL, NULL, NULL},
              {"f32 -> s4|s2|u4", NULL, NULL, NULL})},
    ML_KERNELS_END,
};
