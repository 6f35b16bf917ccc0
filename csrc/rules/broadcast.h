/* broadcast.h -- numpy broadcasting of two inputs: prepared once per shape, computed row by row.
 *
 * Prepare drops dimensions of 1 and merges neighbours that broadcast in the same way, so most nodes
 * become a single row: both inputs full, or one of them a scalar. Otherwise there are at most 7
 * outer dimensions around rows of one kind. */
#ifndef ML_BROADCAST_H
#define ML_BROADCAST_H

#include "kernel.h"
#include "rules/context.h"
#include "rules/work.h"
#include "simd/simd.h"

enum {
    ML_ROW_FULL = 0,     /* y[i] = f(a[i], b[i]) */
    ML_ROW_SCALAR_A = 1, /* y[i] = f(a[0], b[i]) */
    ML_ROW_SCALAR_B = 2  /* y[i] = f(a[i], b[0]) */
};

typedef struct ml_broadcast {
    int64_t row; /* elements of a row of the output */
    int64_t rows;
    int32_t dims[ML_MAX_RANK - 1]; /* outer dimensions, innermost first */
    uint8_t row_kind;
    uint8_t n_outer; /* 0: there is only one row */
    /* Bit d: the input steps along outer dimension d; else it is broadcast there. */
    uint8_t a_steps;
    uint8_t b_steps;
} ml_broadcast;

/* numpy's rule: dimensions from the right are equal or 1. ML_SHAPE_ERROR with both shapes
 * otherwise. */
ml_status ml_broadcast_shape(const ml_call *c, const ml_shape *a, const ml_shape *b, ml_shape *out);
/* Checks that inputs 0 and 1 broadcast, shapes output 0 and fills `blob`. */
ml_status ml_broadcast_prepare(const ml_call *c, ml_broadcast *blob);
/* The same as the prepare of a kernel whose blob is just an ml_broadcast. */
ml_status ml_prepare_broadcast(const ml_call *c, ml_wish *wish);
/* window: an input that is not repeated along a side is cut like the output. */
bool ml_cut_broadcast(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params);

/* Computes rows by `row`(c, a, b, y, n, kind); with the bytes of an element of each operand. */
typedef void ml_row_fn(const ml_call *c, const void *a, const void *b, void *y, int64_t n,
                       int32_t kind);
typedef struct ml_row_rule {
    ml_row_fn *row;
    int32_t a_bytes;
    int32_t b_bytes;
    int32_t y_bytes;
} ml_row_rule;
/* Eval: computes all rows, in blocks; long rows are cut. */
ml_status ml_broadcast_rows(const ml_call *c, const ml_row_rule *rule);

/* Defines eval `name`, which passes each row to name##_row(c, a, b, y, n, kind). Most nodes have
 * just one short row, and call it directly. Output 0 may be exactly one of the inputs. */
#define ML_BINARY_ROWS(name, in_type, out_type) ML_BINARY_ROWS_OF(name, in_type, in_type, out_type)
#define ML_BINARY_ROWS_OF(name, a_type, b_type, out_type) \
    static void name##_any(const ml_call *c, const void *a, const void *b, void *y, int64_t n, \
                           int32_t kind) { \
        name##_row(c, a, b, y, n, kind); \
    } \
    static ml_status name(const ml_call *c) { \
        static const ml_row_rule rule = {name##_any, sizeof(a_type), sizeof(b_type), sizeof(out_type)}; \
        const ml_broadcast *s = c->blob; \
        if (s->rows != 1 || s->row > ML_BLOCK_ELEMENTS) return ml_broadcast_rows(c, &rule); \
        name##_row(c, ml_in(c, 0), ml_in(c, 1), ml_out(c, 0), s->row, s->row_kind); \
        return ML_OK; \
    }

/* The same for y = EXPRESSION, which may use an element `u` of input 0, `v` of input 1, and `p`,
 * which CONTEXT declares (rules/context.h). ivdep only states that each element is read before it
 * is written. */
#define ML_BINARY(name, in_type, out_type, CONTEXT, EXPRESSION) \
    ML_BINARY_OF(name, in_type, in_type, out_type, CONTEXT, EXPRESSION)
/* The same for inputs of two types. */
#define ML_BINARY_OF(name, a_type, b_type, out_type, CONTEXT, EXPRESSION) \
    ML_BINARY_ROW(name, a_type, b_type, out_type, CONTEXT, EXPRESSION)    \
    ML_BINARY_ROWS_OF(name, a_type, b_type, out_type)
#define ML_BINARY_ROW(name, a_type, b_type, out_type, CONTEXT, EXPRESSION)                    \
    static __attribute__((noinline)) void name##_row(const ml_call *c, const a_type *a,       \
                                                     const b_type *b, out_type *y, int64_t n, \
                                                     int32_t kind) {                          \
        CONTEXT                                                                               \
        if (kind == ML_ROW_FULL) {                                                            \
            ML_IVDEP for (int64_t i = 0; i < n; i++) {                                        \
                const a_type u = a[i];                                                        \
                const b_type v = b[i];                                                        \
                y[i] = (EXPRESSION);                                                          \
            }                                                                                 \
        } else if (kind == ML_ROW_SCALAR_A) {                                                 \
            const a_type u = *a;                                                              \
            ML_IVDEP for (int64_t i = 0; i < n; i++) {                                        \
                const b_type v = b[i];                                                        \
                y[i] = (EXPRESSION);                                                          \
            }                                                                                 \
        } else {                                                                              \
            const b_type v = *b;                                                              \
            ML_IVDEP for (int64_t i = 0; i < n; i++) {                                        \
                const a_type u = a[i];                                                        \
                y[i] = (EXPRESSION);                                                          \
            }                                                                                 \
        }                                                                                     \
    }

/* The same for floats, by FUNCTION of the primitive zip_f32 (simd.h), clamped to LOW .. HIGH.
 * EXPRESSION is the same function: nodes with few elements use it, because that takes less time
 * than a call of the primitive. */
#define ML_BINARY_F32(name, FUNCTION, CONTEXT, LOW, HIGH, EXPRESSION)               \
    ML_BINARY_ROW(name, float, float, float, ML_NO_CONTEXT, EXPRESSION)             \
    static ml_status name(const ml_call *c) {                                       \
        const ml_broadcast *s = c->blob;                                            \
        CONTEXT                                                                     \
        const bool clamps = (LOW) > -__builtin_inff() || (HIGH) < __builtin_inff(); \
        if (s->rows != 1 || s->row > ML_FEW_ELEMENTS || clamps)                     \
            return ml_broadcast_f32(c, FUNCTION, LOW, HIGH);                        \
        name##_row(c, ml_in(c, 0), ml_in(c, 1), ml_out(c, 0), s->row, s->row_kind); \
        return ML_OK;                                                               \
    }
enum { ML_FEW_ELEMENTS = 32 };
ml_status ml_broadcast_f32(const ml_call *c, int32_t function, float low, float high);

/* The same for int32, by FUNCTION of the primitive zip_s32 (simd.h), clamped to LOW .. HIGH, which
 * may use what CONTEXT declares. */
#define ML_BINARY_S32(name, FUNCTION, CONTEXT, LOW, HIGH)                                       \
    static void name##_row(const ml_call *c, const uint32_t *a, const uint32_t *b, uint32_t *y, \
                           int64_t n, int32_t kind) {                                           \
        CONTEXT                                                                                 \
        const ml_zip_s32_args args = {a, b, y, n, (FUNCTION), kind, (LOW), (HIGH)};             \
        c->env->simd->zip_s32(&args);                                                           \
    }                                                                                           \
    ML_BINARY_ROWS(name, uint32_t, uint32_t)

/* Fields of a kernel's row whose blob is an ml_broadcast. */
#define ML_PREPARED_BROADCAST                                                     \
    .blob_bytes = (int32_t)sizeof(ml_broadcast), .prepare = ml_prepare_broadcast, \
    .prepare_reads = ml_reads_nothing, .window = ml_cut_broadcast
/* A kernel's row whose prepare is ml_prepare_broadcast; `...` are the rows of its table. The one
 * with params clamps by them. */
#define ML_BINARY_KERNEL(kernel_name, params, more_flags, ...)                        \
    {.abi = ML_KERNEL_ABI, .flags = ML_KERNEL_CLAMPS | (more_flags),                  \
     .name = (kernel_name), ML_PARAMS_OF(params),                                     \
     ML_PREPARED_BROADCAST,                                                           \
     .typed = (const ml_typed[]){__VA_ARGS__, {NULL, NULL, NULL, NULL}}}
#define ML_BINARY_KERNEL_NO_PARAMS(kernel_name, ...)                                  \
    {.abi = ML_KERNEL_ABI, .name = (kernel_name),                                     \
     ML_PREPARED_BROADCAST,                                                           \
     .typed = (const ml_typed[]){__VA_ARGS__, {NULL, NULL, NULL, NULL}}}

#endif
