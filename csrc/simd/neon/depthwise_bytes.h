/* depthwise_bytes.h -- depthwise_product_s8 of bytes as they lie, at neon and the levels above it.
 * For few pixels, whose lines are not worth interleaving in memory. The file that includes it says
 * how many TAP_LINES of bytes meet an element of weights, a `weight`, and has add_tap(x, w,
 * is_signed, sums), which adds the products of sixteen channels of these lines. */
#include "simd/neon/depthwise_pixel.h"

/* Computes the channels of a pixel from `channel` on, of which `left` exist. */
INLINE void pixel_tile(const ml_depthwise_args *p, const ml_requantize_args *to, const ends *e,
                       const void *const *lines, int64_t at, int8_t *y, int64_t channel,
                       int64_t left, const int sixteens, const bool is_signed) {
    const int64_t step = p->packed_line, panel = p->packed_panel;
    const weight *w = (const weight *)p->packed + channel / SIXTEEN * panel;
    int32x4_t sums[MOST_SIXTEENS * TOGETHER];
    begin_channels(p, channel, left, sixteens, sums);
    for (int64_t tap = p->height; tap > 0; tap--, lines += TAP_LINES, w += step) {
        ML_UNROLL(2)
        for (int i = 0; i < sixteens; i++) {
            uint8x16_t x[TAP_LINES];
            ML_UNROLL(4)
            for (int line = 0; line < TAP_LINES; line++)
                x[line] = bytes_at((const uint8_t *)lines[line] + at + channel + i * SIXTEEN, left,
                                   p->n >= SIXTEEN);
            add_tap(x, w + i * panel, is_signed, sums + i * TOGETHER);
        }
    }
    end_channels(to, e, y, channel, left, sixteens, sums);
}

INLINE void pixel_channels(const ml_depthwise_args *args, const ml_requantize_args *bytes,
                           const void *const *lines, int64_t at, int8_t *y, const bool is_signed) {
    const ml_depthwise_args p = *args; /* copies, not read again after each store */
    const ml_requantize_args to = *bytes;
    const ends e = ends_of(bytes);
    enum { MOST = MOST_SIXTEENS * SIXTEEN };
    int64_t channel = 0;
    for (; channel + MOST <= p.n; channel += MOST)
        pixel_tile(&p, &to, &e, lines, at, y, channel, MOST, MOST_SIXTEENS, is_signed);
    for (; channel + SIXTEEN <= p.n; channel += SIXTEEN)
        pixel_tile(&p, &to, &e, lines, at, y, channel, SIXTEEN, 1, is_signed);
    if (channel < p.n) pixel_tile(&p, &to, &e, lines, at, y, channel, p.n - channel, 1, is_signed);
}

static void signed_pixel(const ml_depthwise_args *p, const ml_requantize_args *to,
                         const void *const *lines, int64_t at, int8_t *y) {
    pixel_channels(p, to, lines, at, y, true);
}
static void unsigned_pixel(const ml_depthwise_args *p, const ml_requantize_args *to,
                           const void *const *lines, int64_t at, int8_t *y) {
    pixel_channels(p, to, lines, at, y, false);
}

static void multiply_bytes(const ml_depthwise_args *p, const ml_requantize_args *to) {
    for (int64_t row = 0; row < p->rows; row++)
        for (int64_t i = 0; i < p->pixels; i++) {
            const void *const *lines = p->lines + row * p->height * TAP_LINES;
            const int64_t at = p->first + i * p->pixel_step;
            int8_t *y = to->y + row * p->y_row + i * to->y_stride;
            if (p->lines_are == ML_LINES_S8) signed_pixel(p, to, lines, at, y);
            else unsigned_pixel(p, to, lines, at, y);
        }
}
