/* lines_s16.h -- functions of int16 by linear interpolation between 513 values: TFLite's look-up
 * tables of 16 bits. */
#ifndef ML_LINES_S16_H
#define ML_LINES_S16_H

#include <stdint.h>

typedef struct ml_lines_s16 {
    int16_t at[513]; /* at -32768, -32640, ..., 32768 */
} ml_lines_s16;

/* Fills in values of `f` over [low, high], to which the range of int16 is mapped, in Q0.15. Each is
 * moved by half of the error that its line would have in the middle. */
void ml_fill_lines_s16(ml_lines_s16 *lines, double low, double high, double (*f)(double));
/* The value of the line at x, -32768 <= x <= 32767, rounded to nearest, ties upwards. */
static inline int16_t ml_line_s16(const ml_lines_s16 *lines, int32_t x) {
    const int32_t i = (x + 32768) >> 7, slope = lines->at[i + 1] - lines->at[i];
    return (int16_t)(lines->at[i] + ((slope * (x & 0x7F) + 64) >> 7));
}

#endif
