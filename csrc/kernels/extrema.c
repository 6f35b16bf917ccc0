/* extrema.c -- MAXIMUM, MINIMUM: the second operand unless the first is greater (lesser), so also
 * if one is NaN; without regard to scales. */
#include "rules/half.h"

#define GREATER(u, v) ((u) > (v) ? (u) : (v))
#define LESSER(u, v) ((u) < (v) ? (u) : (v))
#define BFLOAT(u, op, v) (ml_float_of_bfloat(u) op ml_float_of_bfloat(v) ? u : v)

/* Evals and the row of an operator. */
#define EXTREMUM(name, OF, op, FUNCTION, FUNCTION_S32) \
    ML_BINARY_F32(name##_f32, FUNCTION, ML_NO_CONTEXT, -__builtin_inff(), __builtin_inff(), OF(u, v)) \
    ML_BINARY(name##_s8, int8_t, int8_t, ML_NO_CONTEXT, OF(u, v)) \
    ML_BINARY(name##_u8, uint8_t, uint8_t, ML_NO_CONTEXT, OF(u, v)) \
    ML_BINARY(name##_s16, int16_t, int16_t, ML_NO_CONTEXT, OF(u, v)) \
    ML_BINARY_S32(name##_s32, FUNCTION_S32, ML_NO_CONTEXT, INT32_MIN, INT32_MAX) \
    ML_BINARY(name##_s64, int64_t, int64_t, ML_NO_CONTEXT, OF(u, v)) \
    ML_BINARY_F16(name##_f16, FUNCTION, ML_NO_CONTEXT, -__builtin_inff(), __builtin_inff()) \
    ML_BINARY(name##_bf16, uint16_t, uint16_t, ML_NO_CONTEXT, BFLOAT(u, op, v))
#define EXTREMUM_ROW(operator, stem)                                                     \
    {ML_OP(operator, 1, 4), .name = #stem, .takes = "a b -> y",                        \
     .in_place = ML_INPUT(0) | ML_INPUT(1), ML_PREPARED_BROADCAST, ML_TYPED({"f32 f32 -> f32", NULL, NULL, stem##_f32}, \
        {"f16 f16 -> f16", NULL, NULL, stem##_f16}, \
        {"bf16 bf16 -> bf16", NULL, NULL, stem##_bf16}, \
        {"s8 s8 -> s8", NULL, NULL, stem##_s8}, \
        {"u8 u8 -> u8", NULL, NULL, stem##_u8}, \
        {"s16 s16 -> s16", NULL, NULL, stem##_s16}, \
        {"s32 s32 -> s32", NULL, NULL, stem##_s32}, \
        {"s64 s64 -> s64", NULL, NULL, stem##_s64})}

EXTREMUM(maximum, GREATER, >, ML_ZIP_MAX, ML_ZIP_S32_MAX)
EXTREMUM(minimum, LESSER, <, ML_ZIP_MIN, ML_ZIP_S32_MIN)

ML_KERNELS(extrema) = {EXTREMUM_ROW(MAXIMUM, maximum), EXTREMUM_ROW(MINIMUM, minimum),
                       ML_KERNELS_END};
