/* bucketize.c -- BUCKETIZE: how many of the sorted boundaries are at most x. */
#include "rules/elementwise.h"

#define BUCKETIZE_FIELDS(X, S) X(S, array, boundaries)
ML_PARAMS(bucketize_params, BUCKETIZE_FIELDS)

/* NaN is not below any boundary. */
static int32_t bucket_of(const bucketize_params *p, double x) {
    const float *boundaries = p->boundaries.data;
    int64_t low = 0, high = p->boundaries.bytes / (int64_t)sizeof(float);
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (x < (double)boundaries[middle]) high = middle;
        else low = middle + 1;
    }
    return (int32_t)low;
}
#define BUCKETIZE(suffix, type, wide) \
    ML_UNARY(bucketize_##suffix, type, int32_t, ML_PARAMS_AS(bucketize_params), bucket_of(&p, (wide)x))
BUCKETIZE(f32, float, float)
BUCKETIZE(f64, double, double)
BUCKETIZE(s32, int32_t, float) /* integers are compared as C compares them to a float */
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
