/* hadamard.c -- aeq.hadamard_rotation: multiplies blocks of the last dimension by the Hadamard
 * matrix of their size. */
#include <math.h>

#include "math/loops.h"
#include "rules/values.h"

#define HADAMARD_FIELDS(X, S) X(S, i32, size, ML_COUNT("hadamard_size", 1, INT32_MAX))
ML_PARAMS(hadamard_params, HADAMARD_FIELDS)

typedef struct hadamard_blob {
    int64_t blocks;
} hadamard_blob;

static ml_status prepare_hadamard(const ml_call *c, ml_wish *wish) {
    const int32_t size = ((const hadamard_params *)c->params)->size;
    const ml_shape *x = &ml_input(c, 0)->shape;
    char text[96];
    if (x->rank != 2 && x->rank != 3)
        return ml_fail(c, ML_SHAPE_ERROR, "the input must have 2 or 3 dimensions, its shape is %s",
                       ml_shape_text(x, text));
    if (x->dims[x->rank - 1] % size != 0)
        return ml_fail(c, ML_SHAPE_ERROR, "the last dimension is %d, must be a multiple of %d",
                       x->dims[x->rank - 1], size);
    ((hadamard_blob *)c->blob)->blocks = ml_elements(x) / size;
    return ml_set_output(c, 0, x);
}

/* Transforms by sums and differences of numbers at distances 1, 2, 4 ..., and one factor. */
static void turn(float *y, int64_t size, float factor) {
    for (int64_t apart = 1; apart < size; apart *= 2)
        for (int64_t start = 0; start < size; start += 2 * apart) {
            float *low = y + start, *high = low + apart;
            ML_IVDEP
            for (int64_t i = 0; i < apart; i++) {
                const float a = low[i], b = high[i];
                low[i] = a + b;
                high[i] = a - b;
            }
        }
    for (int64_t i = 0; i < size; i++) y[i] *= factor;
}

static ml_status turn_blocks(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    const int64_t size = ((const hadamard_params *)c->params)->size;
    const float factor = (float)(1.0 / sqrt((double)size));
    const float *x = (const float *)ml_in(c, 0) + first * size;
    float *y = (float *)ml_out(c, 0) + first * size;
    if (y != x) memcpy(y, x, (size_t)((end - first) * size) * sizeof *y);
    for (int64_t block = first; block < end; block++, y += size) turn(y, size, factor);
    return ML_OK;
}

static ml_status hadamard(const ml_call *c) {
    const int64_t size = ((const hadamard_params *)c->params)->size;
    return ml_parallel(c, ((const hadamard_blob *)c->blob)->blocks, 1 + (1 << 14) / size,
                       turn_blocks, NULL);
}

static ml_status check_hadamard(const ml_call *c, void *params) {
    const int32_t size = ((const hadamard_params *)params)->size;
    if ((size & (size - 1)) == 0) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED, "option hadamard_size is %d, must be a power of two", size);
}

ML_KERNELS(hadamard) = {
    {ML_CUSTOM_OP("aeq.hadamard_rotation", 1, 1), .name = "hadamard_rotation", .takes = "x -> y",
     .in_place = ML_INPUT(0), .check = check_hadamard, ML_PARAMS_OF(hadamard_params),
     .blob_bytes = sizeof(hadamard_blob), .prepare = prepare_hadamard,
     ML_TYPED({"f32 -> f32", NULL, NULL, hadamard})},
    ML_KERNELS_END,
};
