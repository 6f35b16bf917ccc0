/* steps.c -- the scale and zero point that cover a row of floats. */
#include "math/steps.h"

/* The step of 0 between least <= 0 and most >= 0, computed from the nearer end. */
static int32_t step_of_zero(double least, double most, double scale) {
    double from_least = -128.0 - least / scale, from_most = 127.0 - most / scale;
    double zero = 128.0 - least / scale < 127.0 + most / scale ? from_least : from_most;
    zero = zero > -128.0 ? zero : -128.0;
    zero = zero < 127.0 ? zero : 127.0;
    return (int32_t)(zero + (zero < 0 ? -0.5 : 0.5));
}

ml_steps ml_steps_of(float least, float most, bool asymmetric) {
    if (!(least < most)) return (ml_steps){1.0f, 0.0f, -127, 0};
    if (asymmetric) {
        double scale = (double)(most - least) / 255.0; /* the difference is computed in float */
        return (ml_steps){(float)scale, 1.0f / (float)scale, -128,
                          step_of_zero(least, most, scale)};
    }
    float range = -least > most ? -least : most;
    return (ml_steps){range / 127.0f, 127.0f / range, -127, 0};
}
