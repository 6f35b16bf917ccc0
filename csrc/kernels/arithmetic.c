/* arithmetic.c -- ADD, MUL: elementwise with numpy's broadcasting and a fused clamp; output 0 may be either input.
 *
 * Floats: one rounding per operation; without an activation nothing is clamped, so infinities stay. NaN passes every clamp.
 * Integers wrap.
 */
#include "../broadcast.h"

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

#define ROW(name, params) ML_KERNEL(#name, params, sizeof(ml_broadcast), 0, ml_prepare_broadcast, name)
ML_KERNELS(arithmetic) = {
    ROW(add_f32, f32_params),       ROW(mul_f32, f32_params), ROW(add_clamp_f32, f32_params),
    ROW(mul_clamp_f32, f32_params), ROW(add_s32, int_params), ROW(mul_s32, int_params),
    ROW(add_s64, int_params),       ROW(mul_s64, int_params), ML_KERNELS_END,
};
