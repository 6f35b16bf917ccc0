/* quantize_row.c -- a row of floats as bytes, with a scale of its own. */
#include "math/quantize_row.h"

/* round(v), ties away from zero, within [low, high]; NaN is `low`. */
static inline int16_t step(float v, float low, float high) {
    v = v > low ? v : low;
    v = v < high ? v : high;
    return (int16_t)(v + (v < 0.0f ? -0.49999997f : 0.49999997f));
}

ml_row_scale ml_quantize_row(const float *x, int64_t k, bool asymmetric, int16_t *row) {
    float least = 0.0f, most = 0.0f;
    for (int64_t i = 0; i < k; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    ml_row_scale made = {1.0f, 0};
    float inverse = 0.0f, low = -127.0f;
    if (least < most && asymmetric) {
        double scale = ((double)most - (double)least) / 255.0;
        double from_least = -128.0 - least / scale, from_most = 127.0 - most / scale;
        double least_error = 128.0 + (least < 0 ? -least : least) / scale;
        double most_error = 127.0 + (most < 0 ? -most : most) / scale;
        double zero = least_error < most_error ? from_least : from_most;
        zero = zero <= -128.0 ? -128.0 : zero >= 127.0 ? 127.0 : zero;
        made.scale = (float)scale;
        made.zero = (int32_t)(zero + (zero < 0 ? -0.5 : 0.5));
        inverse = 1.0f / made.scale;
        low = -128.0f;
    } else if (least < most) {
        float range = -least > most ? -least : most;
        made.scale = range / 127.0f;
        inverse = 127.0f / range;
    }
    for (int64_t i = 0; i < k; i++) row[i] = step((float)made.zero + x[i] * inverse, low, 127.0f);
    return made;
}
