/* pack_f32.c -- panels of one column: the weights in the order of the file. */
#include <string.h>

#include "simd/variants.h"

void ml_pack_f32_scalar(const float *w, int64_t n, int64_t k, float *packed) {
    if (n > 0 && k > 0) memcpy(packed, w, (size_t)(n * k) * sizeof *w);
}
