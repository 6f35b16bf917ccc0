/* cumsum.c -- CUMSUM: sums of all elements up to each along a dimension; integers wrap. */
#include "rules/values.h"

#define CUMSUM_FIELDS(X, S) X(S, i32, exclusive) X(S, i32, reverse)
ML_PARAMS(cumsum_params, CUMSUM_FIELDS)

static ml_status prepare_cumsum(const ml_call *c, ml_wish *wish) {
    (void)wish;
    const int64_t axes = ml_elements(&ml_input(c, 1)->shape);
    if (axes != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "axis must be one number, it has %lld", (long long)axes);
    return ml_set_output(c, 0, &ml_input(c, 0)->shape);
}

#define CUMSUM(suffix, type, sum_type)                                                       \
    static ml_status cumsum_##suffix(const ml_call *c) {                                     \
        const cumsum_params *p = c->params;                                                  \
        const ml_shape *shape = &ml_in_tensor(c, 0)->shape;                                  \
        int64_t wanted = 0;                                                                  \
        int32_t axis;                                                                        \
        ml_read_index(ml_in_tensor(c, 1), ml_in(c, 1), 0, &wanted);                          \
        ml_status status = ml_axis(c, wanted, shape->rank, &axis);                           \
        if (status != ML_OK) return status;                                                  \
        const int64_t outer = ml_elements_of(shape, 0, axis), size = shape->dims[axis];      \
        const int64_t inner = ml_elements_of(shape, axis + 1, shape->rank);                  \
        for (int64_t o = 0; o < outer; o++)                                                  \
            for (int64_t i = 0; i < inner; i++) {                                            \
                const int64_t first = o * size * inner + i;                                  \
                const type *x = (const type *)ml_in(c, 0) + first;                           \
                type *y = (type *)ml_out(c, 0) + first;                                      \
                sum_type sum = 0;                                                            \
                for (int64_t k = 0; k < size; k++) {                                         \
                    const int64_t at = (p->reverse ? size - 1 - k : k) * inner;              \
                    if (p->exclusive) y[at] = (type)sum;                                     \
                    sum += (sum_type)x[at];                                                  \
                    if (!p->exclusive) y[at] = (type)sum;                                    \
                }                                                                            \
            }                                                                                \
        return ML_OK;                                                                        \
    }
CUMSUM(f32, float, float)
CUMSUM(s32, int32_t, uint32_t)
CUMSUM(s64, int64_t, uint64_t)

ML_KERNELS(cumsum) = {
    {.abi = ML_KERNEL_ABI,
     .name = "cumsum",
     ML_PARAMS_OF(cumsum_params),
     .prepare = prepare_cumsum,
     ML_TYPED({"f32 s32 -> f32", NULL, NULL, cumsum_f32},
              {"s32 s32 -> s32", NULL, NULL, cumsum_s32},
              {"s64 s32 -> s64", NULL, NULL, cumsum_s64})},
    ML_KERNELS_END,
};
