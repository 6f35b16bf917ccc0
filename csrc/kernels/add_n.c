/* add_n.c -- ADD_N: the sum of two or more inputs of one shape, one after the other; may run in
 * place. */
#include "math/loops.h"
#include "rules/elementwise.h"

static ml_status prepare_add_n(const ml_call *c, ml_wish *wish) {
    const ml_shape *first = &ml_input(c, 0)->shape;
    char one[96], other[96];
    for (int32_t i = 1; i < c->n_inputs; i++)
        if (!ml_same_shape(&ml_input(c, i)->shape, first))
            return ml_fail(c, ML_SHAPE_ERROR, "input %d has the shape %s, input 0 has %s", i,
                           ml_shape_text(&ml_input(c, i)->shape, one), ml_shape_text(first, other));
    return ml_prepare_elementwise(c, wish);
}

/* Adds a stretch at a time, so that sums stay in the first-level cache. */
#define ADD_N(suffix, type)                                                                \
    static ml_status add_n_##suffix##_block(const ml_call *c, int64_t first, int64_t count, \
                                            int32_t worker, void *args) {                  \
        enum { STRETCH = 2048 };                                                           \
        type *y = ml_out(c, 0);                                                            \
        for (; first < count; first += STRETCH) {                                          \
            const int64_t n = count - first < STRETCH ? count - first : STRETCH;           \
            const type *before = (const type *)ml_in(c, 0) + first;                        \
            for (int32_t k = 1; k < c->n_inputs; k++, before = y + first) {                \
                const type *x = (const type *)ml_in(c, k) + first;                         \
                ML_IVDEP for (int64_t i = 0; i < n; i++)                                   \
                    y[first + i] = before[i] + x[i];                                       \
            }                                                                              \
        }                                                                                  \
        return ML_OK;                                                                      \
    }                                                                                      \
    ML_ELEMENTWISE(add_n_##suffix, add_n_##suffix##_block)
ADD_N(f32, float)
ADD_N(s32, uint32_t)

ML_KERNELS(add_n) = {
    {ML_OP(ADD_N, 1, 1), .name = "add_n", .takes = "a b more...? -> y", .in_place = ML_INPUT(0),
     .blob_bytes = (int32_t)sizeof(ml_elementwise), .prepare = prepare_add_n,
     .window = ml_cut_elementwise,
     ML_TYPED({"f32 f32 f32...? -> f32", NULL, NULL, add_n_f32},
              {"s32 s32 s32...? -> s32", NULL, NULL, add_n_s32})},
    ML_KERNELS_END,
};
