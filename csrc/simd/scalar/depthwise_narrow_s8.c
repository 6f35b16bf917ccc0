/* depthwise_narrow_s8.c -- the plain meaning of depthwise_narrow_s8. */
#include "simd/variants.h"

enum { NEAR_SUMS = 128 /* of a pixel */ };

static int32_t narrow_sum(const ml_depthwise_args *p, int64_t row, int64_t pixel, int64_t channel) {
    const int8_t *w = (const int8_t *)p->packed + channel / ML_PANEL_DEPTHWISE * p->packed_panel +
                      channel % ML_PANEL_DEPTHWISE;
    uint32_t sum = p->start ? ((const uint32_t *)p->start)[channel] : 0;
    for (int64_t line = 0; line < p->height; line++, w += p->packed_line) {
        const int8_t *x = (const int8_t *)p->lines[row * p->height + line] + p->first +
                          pixel * p->pixel_step + channel;
        for (int64_t tap = 0; tap < p->width; tap++)
            sum += (uint32_t)(x[tap * p->tap_step] * w[tap * ML_PANEL_DEPTHWISE]);
    }
    return (int32_t)sum;
}

void ml_depthwise_narrow_s8_scalar(const ml_depthwise_args *p, const ml_requantize_args *bytes) {
    int32_t sums[NEAR_SUMS];
    for (int64_t i = 0; i < p->rows * p->pixels; i++) {
        const int64_t row = i / p->pixels, pixel = i % p->pixels;
        for (int64_t channel = 0; channel < p->n; channel += NEAR_SUMS) {
            ml_requantize_args to = *bytes;
            to.rows = 1;
            to.n = p->n - channel < NEAR_SUMS ? p->n - channel : NEAR_SUMS;
            for (int64_t c = 0; c < to.n; c++) sums[c] = narrow_sum(p, row, pixel, channel + c);
            to.sums = sums;
            to.bias = NULL;
            to.mantissas += channel;
            to.shifts += channel;
            to.y += row * p->y_row + pixel * bytes->y_stride + channel;
            ml_requantize_scalar(&to);
        }
    }
}
