/* depthwise_f32.c -- tiles of 8 pixels times 4 channels. */
#include "simd/words.h"

#define MULTIPLY_ADD(x, w, sum) multiply_add(x, w, sum)
#ifdef __aarch64__
#define LOAD_NEXT(value, x, step)               \
    __asm__("ld1 {%0.4s}, [%1], %2"             \
            : "=w"(value), "+r"(x)              \
            : "r"(step), "m"(*(const float (*)[LANES])(const void *)(x)))
#endif

/* Adds in the register of the sum: the empty asm keeps the compiler from moving it. */
static inline float32x4_t multiply_add(float32x4_t x, float32x4_t w, float32x4_t sum) {
    sum = vfmaq_f32(sum, x, w);
    __asm__ volatile("" : "+w"(sum));
    return sum;
}

#include "simd/tiles/depthwise_f32.h"

/* Pixels that are alone -- those at the edges of an image: the channels of a panel are computed
 * together, so that each line is looked up once for all of them. Taps are summed in the same order
 * as in tiles. */

enum { BESIDE = ML_PANEL_DEPTHWISE / LANES };

INLINE const float *add_tap(const float *x, const float *w, float32x4_t *sums) {
    ML_UNROLL(4)
    for (int i = 0; i < BESIDE; i++)
        sums[i] = multiply_add(LOAD(x + i * LANES), LOAD(w + i * LANES), sums[i]);
    return w + ML_PANEL_DEPTHWISE;
}

/* Computes a panel of a pixel; a width of 0 means any. */
INLINE void pixel_panel(const ml_depthwise_args *p, const void *const *lines, int64_t channel,
                        const int width, float *y) {
    const float *panel = (const float *)p->packed + channel / ML_PANEL_DEPTHWISE * p->packed_panel;
    const float *start = p->start;
    const float32x4_t low = SPLAT(p->low), high = SPLAT(p->high);
    float32x4_t sums[BESIDE];
    ML_UNROLL(4)
    for (int i = 0; i < BESIDE; i++)
        sums[i] = start ? LOAD(start + channel + i * LANES) : SPLAT(0.0f);
    for (int64_t line = p->height; line > 0; line--, lines++, panel += p->packed_line) {
        const float *x = (const float *)lines[0] + p->first + channel, *w = panel;
        if (width == 2) {
            w = add_tap(x, w, sums);
            add_tap(x + p->tap_step, w, sums);
            continue;
        }
        for (int64_t tap = p->width; tap > 0; tap--, x += p->tap_step) w = add_tap(x, w, sums);
    }
    ML_UNROLL(4)
    for (int i = 0; i < BESIDE; i++) STORE(y + channel + i * LANES, CLAMP(sums[i], low, high));
}

INLINE void pixel_panels(const ml_depthwise_args *args, int64_t channels, const int width) {
    const ml_depthwise_args p = *args; /* a copy, not read again after each store */
    for (int64_t channel = 0; channel < channels; channel += ML_PANEL_DEPTHWISE)
        for (int64_t row = 0; row < p.rows; row++)
            pixel_panel(&p, p.lines + row * p.height, channel, width, (float *)p.y + row * p.y_row);
}

static void pixels_alone(const ml_depthwise_args *p) {
    const int64_t channels = p->n / ML_PANEL_DEPTHWISE * ML_PANEL_DEPTHWISE;
    ml_depthwise_args rest = *p;
    if (p->width == 2) pixel_panels(p, channels, 2);
    else pixel_panels(p, channels, 0);
    if (channels == p->n) return;
    rest.n -= channels;
    rest.first += channels;
    rest.packed = (const float *)p->packed + channels / ML_PANEL_DEPTHWISE * p->packed_panel;
    if (p->start) rest.start = (const float *)p->start + channels;
    rest.y = (float *)p->y + channels;
    run_tiles(&rest, NULL);
}

void ml_depthwise_f32_neon(const ml_depthwise_args *p) {
    if (p->pixels == 1 && p->n >= ML_PANEL_DEPTHWISE && p->height * p->width <= ML_CHUNK_F32)
        pixels_alone(p);
    else run_tiles(p, NULL);
}
