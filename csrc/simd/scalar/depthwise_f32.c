/* depthwise_f32.c -- the plain meaning of depthwise_f32. */
#include "simd/variants.h"

static float sum_of(const ml_depthwise_args *p, int64_t row, int64_t pixel, int64_t channel) {
    const float *w = (const float *)p->packed + channel / ML_PANEL_DEPTHWISE * p->packed_panel +
                     channel % ML_PANEL_DEPTHWISE;
    float total = 0.0f, sum = p->start ? ((const float *)p->start)[channel] : 0.0f;
    int64_t room = ML_CHUNK_F32;
    for (int64_t line = 0; line < p->height; line++) {
        const float *x = (const float *)p->lines[row * p->height + line] + p->first +
                         pixel * p->pixel_step + channel;
        for (int64_t tap = 0; tap < p->width; tap++) {
            sum += x[tap * p->tap_step] * w[line * p->packed_line + tap * ML_PANEL_DEPTHWISE];
            if (--room > 0) continue;
            room = ML_CHUNK_F32;
            total += sum;
            sum = 0.0f;
        }
    }
    return total + sum;
}

static void one_row(const ml_depthwise_args *p, int64_t row) {
    float *y = (float *)p->y + row * p->y_row;
    for (int64_t pixel = 0; pixel < p->pixels; pixel++)
        for (int64_t channel = 0; channel < p->n; channel++) {
            float sum = sum_of(p, row, pixel, channel);
            sum = sum < p->low ? p->low : sum;
            *y++ = sum > p->high ? p->high : sum;
        }
}

void ml_depthwise_f32_scalar(const ml_depthwise_args *p) {
    for (int64_t row = 0; row < p->rows; row++) one_row(p, row);
}
