/* depthwise_s8.c -- the plain meaning of depthwise_s8: pairs of int16. */
#include "simd/variants.h"

static int32_t sum_of(const ml_depthwise_args *p, int64_t row, int64_t pixel, int64_t channel) {
    const int16_t *w =
        (const int16_t *)p->packed +
        2 * (channel / ML_PANEL_DEPTHWISE * p->packed_panel + channel % ML_PANEL_DEPTHWISE);
    uint32_t sum = p->start ? ((const uint32_t *)p->start)[channel] : 0;
    for (int64_t line = 0; line < p->height; line++, w += 2 * p->packed_line) {
        const int16_t *x = (const int16_t *)p->lines[row * p->height + line] +
                           2 * (p->first + pixel * p->pixel_step + channel);
        for (int64_t tap = 0; tap < p->width; tap++)
            for (int64_t i = 0; i < 2; i++)
                sum +=
                    (uint32_t)(x[2 * tap * p->tap_step + i] * w[2 * tap * ML_PANEL_DEPTHWISE + i]);
    }
    return (int32_t)sum;
}

static void one_row(const ml_depthwise_args *p, int64_t row) {
    int32_t *y = (int32_t *)p->y + row * p->y_row;
    for (int64_t pixel = 0; pixel < p->pixels; pixel++)
        for (int64_t channel = 0; channel < p->n; channel++) *y++ = sum_of(p, row, pixel, channel);
}

void ml_depthwise_s8_scalar(const ml_depthwise_args *p) {
    for (int64_t row = 0; row < p->rows; row++) one_row(p, row);
}
