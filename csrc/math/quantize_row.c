/* quantize_row.c -- a row of floats as bytes, with a scale of its own. */
#include "math/quantize_row.h"

/* round(v), ties away from zero, within [low, high]; NaN is `low`. */
static inline int32_t step(float v, float low, float high) {
    v = v > low ? v : low;
    v = v < high ? v : high;
    return (int32_t)(v + (v < 0.0f ? -0.49999997f : 0.49999997f));
}

/* The step of 0 between least <= 0 and most >= 0: from the end that is nearer. */
static int32_t step_of_zero(double least, double most, double scale) {
    double from_least = -128.0 - least / scale, from_most = 127.0 - most / scale;
    double zero = 128.0 - least / scale < 127.0 + most / scale ? from_least : from_most;
    zero = zero > -128.0 ? zero : -128.0;
    zero = zero < 127.0 ? zero : 127.0;
    return (int32_t)(zero + (zero < 0 ? -0.5 : 0.5));
}

ml_steps ml_steps_of(float least, float most, bool asymmetric) {
    if (!(least < most)) return (ml_steps){1.0f, 0.0f, -127.0f, 0};
    if (asymmetric) {
        double scale = (double)(most - least) / 255.0; /* the difference is float's */
        return (ml_steps){(float)scale, 1.0f / (float)scale, -128.0f,
                          step_of_zero(least, most, scale)};
    }
    float range = -least > most ? -least : most;
    return (ml_steps){range / 127.0f, 127.0f / range, -127.0f, 0};
}

float ml_quantize_row(const float *x, int64_t k, bool asymmetric, int16_t *row) {
    float least = 0.0f, most = 0.0f;
    for (int64_t i = 0; i < k; i++) {
        least = x[i] < least ? x[i] : least;
        most = x[i] > most ? x[i] : most;
    }
    const ml_steps s = ml_steps_of(least, most, asymmetric);
    for (int64_t i = 0; i < k; i++)
        row[i] = (int16_t)(step((float)s.zero + x[i] * s.inverse, s.low, 127.0f) - s.zero);
    return s.scale;
}
