/* cast.c -- CAST between all pairs of f32 f16 f64 s8 u8 s16 s32 s64 b8; may run in place between types of one size.
 *
 * Integers to integers wrap; anything to bool is x != 0 (NaN is true); to floats rounds to nearest, ties to even. Floats to
 * integers truncate and saturate, and NaN gives the highest value. Bools are read as u8.
 */
#include "math/float_math.h"
#include "kernel.h"

typedef struct cast_blob {
    int64_t count;
} cast_blob;

static ml_status prepare_cast(const ml_call *c, ml_wish *wish) {
    cast_blob *blob = c->blob;
    blob->count = ml_elements(&ml_input(c, 0)->shape);
    return ml_set_output(c, 0, &ml_input(c, 0)->shape);
}

/* x truncated towards 0, within low and below `above`, the first number that does not fit; NaN gives high. */
#define SATURATE(x, low, above, high, type) ((x) < (above) ? ((x) <= (low) ? (low) : (type)(x)) : (high))

static inline int8_t s8_of_f64(double x) { return SATURATE(x, -128, 128.0, 127, int8_t); }
static inline uint8_t u8_of_f64(double x) { return SATURATE(x, 0, 256.0, 255, uint8_t); }
static inline int16_t s16_of_f64(double x) { return SATURATE(x, -32768, 32768.0, 32767, int16_t); }
static inline int32_t s32_of_f64(double x) {
    return SATURATE(x, INT32_MIN, 0x1p31, INT32_MAX, int32_t);
}
static inline int64_t s64_of_f64(double x) {
    return SATURATE(x, INT64_MIN, 0x1p63, INT64_MAX, int64_t);
}

/* What holds an element, and how a float is read from it. */
#define C_f32 float
#define C_f16 uint16_t
#define C_f64 double
#define C_s8 int8_t
#define C_u8 uint8_t
#define C_s16 int16_t
#define C_s32 int32_t
#define C_s64 int64_t
#define C_b8 uint8_t
#define READ_f32(x) (x)
#define READ_f64(x) (x)
#define READ_f16(x) ml_float_of_half(x)

/* One function per pair of types; pairs with f16 or f64 are rare and optimised for size. */
#define RARE(from, to, value) __attribute__((cold)) CAST(from, to, value)
#define CAST(from, to, value)                                         \
    static ml_status cast_##from##_##to(const ml_call *c) {           \
        const C_##from *x = ml_in(c, 0);                              \
        C_##to *y = ml_out(c, 0);                                     \
        const int64_t n = ((const cast_blob *)c->blob)->count;        \
        _Pragma("GCC ivdep") for (int64_t i = 0; i < n; i++) y[i] = (value); \
        return ML_OK;                                                 \
    }
#define CAST_FROM_INT(from)                                           \
    CAST(from, f32, (float)x[i])                                      \
    RARE(from, f16, ml_half_of_float((float)x[i]))                    \
    RARE(from, f64, (double)x[i])                                     \
    CAST(from, s8, (int8_t)x[i])                                      \
    CAST(from, u8, (uint8_t)x[i])                                     \
    CAST(from, s16, (int16_t)x[i])                                    \
    CAST(from, s32, (int32_t)x[i])                                    \
    CAST(from, s64, (int64_t)x[i])                                    \
    CAST(from, b8, x[i] != 0)
#define CAST_FROM_FLOAT(from, read, MAKE)                             \
    MAKE(from, f32, (float)read(x[i]))                                \
    RARE(from, f16, ml_half_of_float((float)read(x[i])))              \
    RARE(from, f64, (double)read(x[i]))                               \
    MAKE(from, s8, s8_of_f64((double)read(x[i])))                     \
    MAKE(from, u8, u8_of_f64((double)read(x[i])))                     \
    MAKE(from, s16, s16_of_f64((double)read(x[i])))                   \
    MAKE(from, s32, s32_of_f64((double)read(x[i])))                   \
    MAKE(from, s64, s64_of_f64((double)read(x[i])))                   \
    MAKE(from, b8, read(x[i]) != 0)
CAST_FROM_FLOAT(f32, READ_f32, CAST)
CAST_FROM_FLOAT(f16, READ_f16, RARE)
CAST_FROM_FLOAT(f64, READ_f64, RARE)
CAST_FROM_INT(s8)
CAST_FROM_INT(u8)
CAST_FROM_INT(s16)
CAST_FROM_INT(s32)
CAST_FROM_INT(s64)

#define ROW(from, to) ML_KERNEL_NO_PARAMS("cast_" #from "_" #to, sizeof(cast_blob), 0, prepare_cast, cast_##from##_##to),
#define ROWS_FROM(from) \
    ROW(from, f32) ROW(from, f16) ROW(from, f64) ROW(from, s8) ROW(from, u8) ROW(from, s16) ROW(from, s32) \
    ROW(from, s64) ROW(from, b8)
ML_KERNELS(cast) = {
    ROWS_FROM(f32) ROWS_FROM(f16) ROWS_FROM(f64) ROWS_FROM(s8) ROWS_FROM(u8) ROWS_FROM(s16)
        ROWS_FROM(s32) ROWS_FROM(s64) ML_KERNELS_END,
};
