/* bucketize.c -- BUCKETIZE: how many of the sorted boundaries are at most x. */
#include "rules/elementwise.h"

#define BUCKETIZE_FIELDS(X, S) X(S, array, boundaries)
ML_PARAMS(bucketize_params, BUCKETIZE_FIELDS)

/* Halves what is left; NaN is below nothing. Numbers are compared as C compares them to a float:
 * integers are rounded to one. */
#define BUCKETIZE(suffix, type, wide)                                                      \
    static ml_status bucketize_##suffix##_block(const ml_call *c, int64_t first, int64_t end, \
                                                int32_t worker, void *args) {              \
        const bucketize_params *p = c->params;                                             \
        const float *boundaries = p->boundaries.data;                                      \
        const int64_t all = p->boundaries.bytes / (int64_t)sizeof(float);                  \
        (void)worker, (void)args;                                                          \
        const type *x = ml_in(c, 0);                                                       \
        int32_t *y = ml_out(c, 0);                                                         \
        for (int64_t i = first; i < end; i++) {                                            \
            const wide value = (wide)x[i];                                                 \
            int64_t low = 0, high = all;                                                   \
            while (low < high) {                                                           \
                const int64_t middle = (low + high) / 2;                                   \
                if (value < (wide)boundaries[middle]) high = middle;                       \
                else low = middle + 1;                                                     \
            }                                                                              \
            y[i] = (int32_t)low;                                                           \
        }                                                                                  \
        return ML_OK;                                                                      \
    }                                                                                      \
    ML_ELEMENTWISE(bucketize_##suffix, bucketize_##suffix##_block)
BUCKETIZE(f32, float, float)
BUCKETIZE(f64, double, double)
BUCKETIZE(s32, int32_t, float)
BUCKETIZE(s64, int64_t, float)

static ml_status check_sorted(const ml_call *c, void *params) {
    const ml_array boundaries = ((const bucketize_params *)params)->boundaries;
    const float *values = boundaries.data;
    for (int64_t i = 1; i < boundaries.bytes / (int64_t)sizeof(float); i++)
        if (!(values[i - 1] <= values[i]))
            return ml_fail(c, ML_UNSUPPORTED, "boundaries are not sorted: %g comes before %g",
                           (double)values[i - 1], (double)values[i]);
    return ML_OK;
}

ML_KERNELS(bucketize) = {
    {ML_OP(BUCKETIZE, 1, 1), .name = "bucketize", .takes = "x -> y", .check = check_sorted,
     ML_PARAMS_OF(bucketize_params), ML_PREPARED_ELEMENTWISE,
     ML_TYPED({"f32 -> s32", NULL, NULL, bucketize_f32}, {"f64 -> s32", NULL, NULL, bucketize_f64},
              {"s32 -> s32", NULL, NULL, bucketize_s32},
              {"s64 -> s32", NULL, NULL, bucketize_s64})},
    ML_KERNELS_END,
};
