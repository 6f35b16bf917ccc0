/* elementwise.h -- operators of one input whose output has the same shape: each element is a
 * function of one input element. They may run in place.
 *
 * A family writes the function. The loop, the blob, and the table of 256 entries for functions of
 * one byte are made here:
 *
 *     ML_UNARY(leaky_relu_f32, float, float, ML_PARAMS_AS(leaky_params),
 *              x > 0.0f ? x : p.alpha * x)
 *     ML_UNARY_QUANTIZED(leaky_relu, leaky, fill_leaky, leaky_one)
 *     ML_KERNELS(...) = {
 *         ML_UNARY_KERNEL("leaky_relu", leaky_params, {"f32 -> f32", NULL, NULL, leaky_relu_f32},
 *                         ML_QUANTIZED_ROWS(leaky_relu)), */
#ifndef ML_RULES_ELEMENTWISE_H
#define ML_RULES_ELEMENTWISE_H

#include "kernel.h"
#include "math/float_math.h"
#include "rules/context.h"
#include "rules/quantized.h"
#include "rules/work.h"
#include "simd/simd.h"

typedef struct ml_elementwise {
    int64_t count;
} ml_elementwise;

/* Output 0 has the shape of input 0. */
ml_status ml_prepare_elementwise(const ml_call *c, ml_wish *wish);
/* window: a rectangle needs the same one of each input. */
bool ml_cut_elementwise(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params);
/* The same where only rows and columns can be cut: of tensors (batch, height, width, channels). */
bool ml_cut_pixels(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params);

/* Defines eval `name`: y[i] = EXPRESSION, which may use an element `x`, and `p`, which CONTEXT
 * declares (rules/context.h). ivdep only states that each element is read before it is written. */
#define ML_UNARY(name, in_type, out_type, CONTEXT, EXPRESSION)                   \
    ML_UNARY_BLOCK(name, in_type, out_type, CONTEXT, EXPRESSION)                 \
    ML_ELEMENTWISE(name, name##_block)
#define ML_UNARY_BLOCK(name, in_type, out_type, CONTEXT, EXPRESSION)             \
    static ml_status name##_block(const ml_call *c, int64_t first, int64_t end,  \
                                  int32_t worker, void *args) {                  \
        const in_type *source = ml_in(c, 0);                                     \
        out_type *y = ml_out(c, 0);                                              \
        CONTEXT                                                                  \
        ML_IVDEP for (int64_t i = first; i < end; i++) {                         \
            const in_type x = source[i];                                         \
            y[i] = (EXPRESSION);                                                 \
        }                                                                        \
        return ML_OK;                                                            \
    }

/* The same for floats by a primitive: y[i] = FUNCTION(x[i], A, B), a function of map_f32
 * (simd.h). */
#define ML_UNARY_F32(name, FUNCTION, CONTEXT, A, B)                              \
    static ml_status name##_block(const ml_call *c, int64_t first, int64_t end,  \
                                  int32_t worker, void *args) {                  \
        CONTEXT                                                                  \
        const ml_map_f32_args map = {.x = (const float *)ml_in(c, 0) + first,    \
                                     .y = (float *)ml_out(c, 0) + first,         \
                                     .n = end - first,                           \
                                     .function = (FUNCTION),                     \
                                     .a = (A),                                   \
                                     .b = (B)};                                  \
        c->env->simd->map_f32(&map);                                             \
        return ML_OK;                                                            \
    }                                                                            \
    ML_ELEMENTWISE_LONGER(name, name##_block, 2)

/* Defines eval `name`, which runs `body` over the elements, in blocks. */
#define ML_ELEMENTWISE(name, body) ML_ELEMENTWISE_LONGER(name, body, 1)
/* The same if an element takes `cost` times as long as usual. */
#define ML_ELEMENTWISE_LONGER(name, body, cost)                                  \
    static ml_status name(const ml_call *c) {                                    \
        const int64_t n = ((const ml_elementwise *)c->blob)->count;              \
        const int64_t grain = ML_BLOCK_ELEMENTS / (cost);                        \
        if (n <= grain) return body(c, 0, n, 0, NULL);                           \
        return ml_parallel(c, n, ml_even_grain(n, grain), body, NULL);           \
    }

/* Defines evals for a function of quantized integers, `int32_t one(int32_t x, const context *p)`;
 * `void fill(const ml_call *, context *)` derives its context from scales. 16-bit elements are
 * computed, 8-bit ones looked up in 256 entries. */
#define ML_UNARY_QUANTIZED(name, context, fill, one)                                   \
    static int64_t name##_derive(const ml_call *c, void *to) {                         \
        if (to) fill(c, to);                                                           \
        return (int64_t)sizeof(context);                                               \
    }                                                                                  \
    static int32_t name##_of_byte(int32_t x, const void *p) { return one(x, p); }      \
    static int64_t name##_table(const ml_call *c, void *to) {                          \
        context p;                                                                     \
        fill(c, &p);                                                                   \
        return ml_derive_lookup(c, to, name##_of_byte, &p);                            \
    }                                                                                  \
    ML_UNARY(name##_s16, int16_t, int16_t, ML_DERIVED_AS(context), (int16_t)one(x, &p))
#define ML_QUANTIZED_ROWS(name)                                                        \
    {"s8 -> s8", name##_table, NULL, ml_lookup}, {"u8 -> u8", name##_table, NULL, ml_lookup}, \
        {"s16 -> s16", name##_derive, NULL, name##_s16}

/* y[i] = table[x[i]], with the derived block, an ml_byte_table. */
ml_status ml_lookup(const ml_call *c);
/* Derives the table: each entry is the result of `one` for the integer of that byte, s8 or u8 like
 * input 0. */
int64_t ml_derive_lookup(const ml_call *c, void *to, int32_t (*one)(int32_t x, const void *p),
                         const void *p);

/* Fields of a kernel's row whose blob is an ml_elementwise. */
#define ML_PREPARED_ELEMENTWISE                                                       \
    .blob_bytes = (int32_t)sizeof(ml_elementwise), .prepare = ml_prepare_elementwise, \
    .prepare_reads = ml_reads_nothing, .window = ml_cut_elementwise
/* A kernel's row whose prepare is ml_prepare_elementwise; `...` are the rows of its table. */
#define ML_UNARY_KERNEL(kernel_name, params, ...)                                                  \
    {.abi = ML_KERNEL_ABI, .name = (kernel_name), ML_PARAMS_OF(params),                            \
     ML_PREPARED_ELEMENTWISE,                                                                      \
     .typed = (const ml_typed[]){__VA_ARGS__, {NULL, NULL, NULL, NULL}}}
#define ML_UNARY_KERNEL_NO_PARAMS(kernel_name, ...)                                                \
    {.abi = ML_KERNEL_ABI, .name = (kernel_name),                                                  \
     ML_PREPARED_ELEMENTWISE,                                                                      \
     .typed = (const ml_typed[]){__VA_ARGS__, {NULL, NULL, NULL, NULL}}}

#endif
