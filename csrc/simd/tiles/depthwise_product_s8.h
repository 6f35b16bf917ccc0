/* depthwise_product_s8.h -- depthwise_product_s8 by the level's depthwise_s8 and requantize.
 * Computes at a time as many sums as stay in the cache. */
#include "simd/simd.h"

enum { NEAR_CHANNELS = 128 /* a multiple of panels */, NEAR_SUMS = 4096, TILE_PIXELS = 8 };

/* Computes channels channel .. channel + n - 1 of a row. */
static inline void multiply_row(const ml_simd *simd, const ml_depthwise_args *args,
                                const ml_requantize_args *bytes, int64_t row, int64_t channel,
                                int64_t n) {
    int32_t sums[NEAR_SUMS];
    const int64_t most = NEAR_SUMS / n / TILE_PIXELS * TILE_PIXELS;
    ml_depthwise_args p =
        ml_depthwise_channels(args, ml_depthwise_element(simd->depthwise_s8_group), channel, n);
    ml_requantize_args to = *bytes;
    p.lines += row * p.height;
    p.y = sums;
    to.n = to.sums_stride = n;
    to.sums = sums;
    to.bias = NULL;
    to.mantissas += channel;
    to.shifts += channel;
    to.y += row * p.y_row + channel;
    p.rows = 1;
    for (int64_t left = args->pixels; left > 0; left -= p.pixels) {
        p.pixels = to.rows = left < most ? left : most;
        simd->depthwise_s8(&p);
        simd->requantize(&to);
        p.first += p.pixels * p.pixel_step;
        to.y += p.pixels * to.y_stride;
    }
}

static inline void multiply_channels(const ml_simd *simd, const ml_depthwise_args *p,
                                     const ml_requantize_args *bytes, int64_t channel, int64_t n) {
    for (int64_t row = 0; row < p->rows; row++) multiply_row(simd, p, bytes, row, channel, n);
}
