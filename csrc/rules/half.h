/* half.h -- operators of 16-bit floats, computed in float32: elements are widened, go through the
 * primitive or the row function for float32, and are rounded once, to nearest, ties to even. All
 * levels give the same bits if the primitive does. */
#ifndef ML_RULES_HALF_H
#define ML_RULES_HALF_H

#include "rules/broadcast.h"
#include "rules/elementwise.h"

/* Like ML_UNARY_F32: FUNCTION(x[i], A, B) of map_f32 (simd.h). */
#define ML_UNARY_F16(name, FUNCTION, CONTEXT, A, B)                              \
    static ml_status name##_block(const ml_call *c, int64_t first, int64_t end,  \
                                  int32_t worker, void *args) {                  \
        CONTEXT                                                                  \
        ml_map_f16(c, first, end,                                                \
                   &(ml_map_f32_args){.function = (FUNCTION), .a = (A), .b = (B)}); \
        return ML_OK;                                                            \
    }                                                                            \
    ML_ELEMENTWISE(name, name##_block)
/* Computes elements first .. end - 1 of output 0 from input 0; x, y and n of `map` are ignored. */
void ml_map_f16(const ml_call *c, int64_t first, int64_t end, const ml_map_f32_args *map);

/* Evals of the conversions; their blobs are an ml_elementwise. */
ml_status ml_widen_f16(const ml_call *c);
ml_status ml_narrow_f16(const ml_call *c);

/* Like ML_BINARY_F32: FUNCTION of zip_f32 (simd.h), clamped to LOW .. HIGH. */
#define ML_BINARY_F16(name, FUNCTION, CONTEXT, LOW, HIGH)                                          \
    static void name##_row(const ml_call *c, const uint16_t *a, const uint16_t *b, uint16_t *y,    \
                           int64_t n, int32_t kind) {                                              \
        CONTEXT                                                                                    \
        ml_zip_f16(c->env->simd, a, b, y,                                                          \
                   &(ml_zip_f32_args){.n = n, .function = (FUNCTION), .kind = kind,                \
                                      .low = (LOW), .high = (HIGH)});                              \
    }                                                                                              \
    ML_BINARY_ROWS(name, uint16_t, uint16_t)
/* Computes one row; a, b, y and rows of `zip` are ignored. y may be an input. */
void ml_zip_f16(const ml_simd *simd, const uint16_t *a, const uint16_t *b, uint16_t *y,
                const ml_zip_f32_args *zip);

/* The same by `row_f32`, an ml_row_fn of float32 inputs whose output is `out_type`. */
#define ML_BINARY_F16_BY(name, out_type, row_f32)                                                  \
    static void name##_row(const ml_call *c, const uint16_t *a, const uint16_t *b, out_type *y,    \
                           int64_t n, int32_t kind) {                                              \
        static const ml_row_rule rule = {row_f32, sizeof(float), sizeof(float), sizeof(out_type)}; \
        ml_row_by_f32(c, a, b, y, n, kind, &rule);                                                 \
    }                                                                                              \
    ML_BINARY_ROWS(name, uint16_t, out_type)
void ml_row_by_f32(const ml_call *c, const uint16_t *a, const uint16_t *b, void *y, int64_t n,
                   int32_t kind, const ml_row_rule *rule);

#endif
