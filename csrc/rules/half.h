/* half.h -- operators of 16-bit floats by way of float32: a stretch is widened, goes through the
 * primitive or the row of floats, and is rounded once, to nearest, ties to even. The same bits at
 * all levels where that primitive has them. */
#ifndef ML_RULES_HALF_H
#define ML_RULES_HALF_H

#include "rules/broadcast.h"
#include "rules/elementwise.h"

/* FUNCTION of simd.h's map_f32, of x[i], A and B: as ML_UNARY_F32. */
#define ML_UNARY_F16(name, FUNCTION, CONTEXT, A, B)                              \
    static ml_status name##_block(const ml_call *c, int64_t first, int64_t end,  \
                                  int32_t worker, void *args) {                  \
        CONTEXT                                                                  \
        (void)worker, (void)args;                                                \
        ml_map_f16(c, first, end,                                                \
                   &(ml_map_f32_args){.function = (FUNCTION), .a = (A), .b = (B)}); \
        return ML_OK;                                                            \
    }                                                                            \
    ML_ELEMENTWISE(name, name##_block)
/* Elements first .. end - 1 of input 0, to output 0; what `map` says of x, y and n is left out. */
void ml_map_f16(const ml_call *c, int64_t first, int64_t end, const ml_map_f32_args *map);

/* Evals of the conversions themselves, whose blobs are an ml_elementwise. */
ml_status ml_widen_f16(const ml_call *c);
ml_status ml_narrow_f16(const ml_call *c);

/* FUNCTION of simd.h's zip_f32, clamped to LOW .. HIGH. */
#define ML_BINARY_F16(name, FUNCTION, CONTEXT, LOW, HIGH)                                          \
    static void name##_row(const ml_call *c, const uint16_t *a, const uint16_t *b, uint16_t *y,    \
                           int64_t n, int32_t kind) {                                              \
        CONTEXT                                                                                    \
        ml_zip_f16(c->env->simd, a, b, y,                                                          \
                   &(ml_zip_f32_args){.n = n, .function = (FUNCTION), .kind = kind,                \
                                      .low = (LOW), .high = (HIGH)});                              \
    }                                                                                              \
    ML_BINARY_ROWS(name, uint16_t, uint16_t)
/* A row; what `zip` says of a, b, y and rows is left out. y may be an input. */
void ml_zip_f16(const ml_simd *simd, const uint16_t *a, const uint16_t *b, uint16_t *y,
                const ml_zip_f32_args *zip);

/* What `row_f32` makes of float32, an ml_row_fn whose output is `out_type`. */
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
