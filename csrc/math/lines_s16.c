/* lines_s16.c -- functions of int16 by linear interpolation between 513 values. */
#include "math/lines_s16.h"

#include <math.h>

static int16_t cut(double x) {
    return (int16_t)(x < -32768.0 ? -32768.0 : x > 32767.0 ? 32767.0 : x);
}

void ml_fill_lines_s16(ml_lines_s16 *lines, double low, double high, double (*f)(double)) {
    const double steps = 32768.0, width = (high - low) / 512.0;
    for (int i = 0; i < 512; i++) {
        const double x = low + i * width;
        const double here = round(f(x) * steps), after = f(x + width) * steps;
        const double missed = round((after + here) / 2) - round(f(x + width / 2) * steps);
        lines->at[i] = cut(here - round(missed / 2));
    }
    lines->at[512] = cut(round(f(high) * steps));
}
