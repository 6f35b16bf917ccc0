/* comparison.c -- LESS: elementwise with numpy's broadcasting, to bool. NaN is less than nothing.
 *
 * 8 bits: TFLite compares (x - zero_point) << 8 scaled with double rounding: a function of one byte, hence a table.
 */
#include "rules/broadcast.h"

/* a_table, b_table: 256 s32, by the input's byte. */
#define COMPARE_Q8_FIELDS(X, S) X(S, array, a_table) X(S, array, b_table)
ML_PARAMS(compare_q8_params, COMPARE_Q8_FIELDS)

#define TABLE(array, byte) (((const int32_t *)(array).data)[byte])

ML_BINARY_KERNEL(less_f32, float, uint8_t, void, u < v)
ML_BINARY_KERNEL(less_s16, int16_t, uint8_t, void, u < v)
ML_BINARY_KERNEL(less_s32, int32_t, uint8_t, void, u < v)
ML_BINARY_KERNEL(less_s64, int64_t, uint8_t, void, u < v)
ML_BINARY_KERNEL(less_q8, uint8_t, uint8_t, compare_q8_params,
                 TABLE(p->a_table, u) < TABLE(p->b_table, v))

#define ROW(name) ML_KERNEL_NO_PARAMS(#name, sizeof(ml_broadcast), 0, ml_prepare_broadcast, name)
ML_KERNELS(comparison) = {
    ROW(less_f32),
    ROW(less_s16),
    ROW(less_s32),
    ROW(less_s64),
    ML_KERNEL("less_q8", compare_q8_params, sizeof(ml_broadcast), 0, ml_prepare_broadcast, less_q8),
    ML_KERNELS_END,
};
