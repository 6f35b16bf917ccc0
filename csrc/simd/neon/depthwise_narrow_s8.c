/* depthwise_narrow_s8.c -- tiles of bytes, eight channels at a time, and single pixels. SMULL
 * and SMLAL add up two products in 16 bits, because no weight is -128. */
#include "simd/neon/depthwise_sums.h"
#include "simd/variants.h"

#define VALUE int8x8_t
#define ELEMENT_BYTES 1

#define LOAD_VALUE(p) vld1_s8((const int8_t *)(p))
#define LOAD_VALUE_PART(p, count) bytes_part(p, count)
#ifdef __aarch64__
#define LOAD_NEXT(value, x, step) \
    __asm__("ld1 {%0.8b}, [%1], %2" : "=w"(value), "+r"(x) : "r"(step), "m"(*(const int8_t (*)[8])(const void *)(x)))
#endif
/* Volatile, so that the products of a column are not begun before those of the column before are
 * added up, which would take more registers than there are. */
#define KEEP(value, x) __asm__ volatile("" : "+w"(value), "+r"(x))
#define MULTIPLY_ADD(x, w, sum) add_words(vmull_s8(x, w), sum)
#define MULTIPLY_TWO(x, w, next_x, next_w, sum) \
    add_words(vmlal_s8(vmull_s8(x, w), next_x, next_w), sum)
#define MULTIPLY_TWO_MORE(x, w, next_x, next_w, sum) \
    add_more(vmlal_s8(vmull_s8(x, w), next_x, next_w), sum)
#define LESS(sum, count) less(sum, count)

/* sum += words + 2^15. SABAL adds that, as the distance of words from the least number. SADDW would
 * add the words themselves, but on some processors it takes the pipe that multiplies. Written as
 * instructions, because the compiler would move sums to other registers. */
static inline eight_sums add_more(int16x8_t words, eight_sums sum) {
    const int16x8_t least = vdupq_n_s16(INT16_MIN);
#ifdef __aarch64__
    __asm__ volatile("sabal %0.4s, %2.4h, %3.4h\n\t"
                     "sabal2 %1.4s, %2.8h, %3.8h"
                     : "+w"(sum.front), "+w"(sum.back)
                     : "w"(words), "w"(least));
#else
    sum.front = vabal_s16(sum.front, vget_low_s16(words), vget_low_s16(least));
    sum.back = vabal_high_s16(sum.back, words, least);
#endif
    return sum;
}

/* sum += words, in the registers of the sums. */
static inline eight_sums add_words(int16x8_t words, eight_sums sum) {
    sum.front = vaddw_s16(sum.front, vget_low_s16(words));
    sum.back = vaddw_high_s16(sum.back, words);
    __asm__ volatile("" : "+w"(sum.front), "+w"(sum.back));
    return sum;
}

static inline eight_sums less(eight_sums sum, int64_t count) {
    const int32x4_t all = vdupq_n_s32((int32_t)((uint32_t)count << 15));
    return (eight_sums){vsubq_s32(sum.front, all), vsubq_s32(sum.back, all)};
}

static inline int8x8_t bytes_part(const void *p, int count) {
    int8_t bytes[8] = {0};
    memcpy(bytes, p, (size_t)count);
    return vld1_s8(bytes);
}

#include "simd/neon/depthwise_pixel.h"
#include "simd/neon/depthwise_product.h"

/* The place from which channels of a pixel are read. */
typedef struct pixel_place {
    int64_t at; /* bytes from the start of a line */
    int64_t left; /* the number of channels that exist */
    int64_t panel; /* weights from panel to panel */
    bool has_before; /* the argument of some_bytes */
} pixel_place;

INLINE int8x16_t load_pixel(const pixel_place *o, const int8_t *x, const int i) {
    return vreinterpretq_s8_u8(
        bytes_at((const uint8_t *)x + o->at + i * SIXTEEN, o->left, o->has_before));
}

/* sums += a tap + 2^15, as in add_more; with `two`, the next tap is added too. */
INLINE void add_taps_of(const pixel_place *o, const int8_t *x, const int8_t *w,
                        const int8_t *next_x, const int8_t *next_w, const int sixteens,
                        const bool two, int32x4_t *sums) {
    const int16x8_t least = vdupq_n_s16(INT16_MIN);
    ML_UNROLL(2)
    for (int i = 0; i < sixteens; i++, sums += TOGETHER) {
        const int8x16_t a = load_pixel(o, x, i), v = vld1q_s8(w + i * o->panel);
        int16x8_t front = vmull_s8(vget_low_s8(a), vget_low_s8(v)), back = vmull_high_s8(a, v);
        if (two) {
            const int8x16_t b = load_pixel(o, next_x, i), u = vld1q_s8(next_w + i * o->panel);
            front = vmlal_s8(front, vget_low_s8(b), vget_low_s8(u));
            back = vmlal_high_s8(back, b, u);
        }
        sums[0] = vabal_s16(sums[0], vget_low_s16(front), vget_low_s16(least));
        sums[1] = vabal_high_s16(sums[1], front, least);
        sums[2] = vabal_s16(sums[2], vget_low_s16(back), vget_low_s16(least));
        sums[3] = vabal_high_s16(sums[3], back, least);
        __asm__ volatile("" : "+w"(sums[0]), "+w"(sums[1]), "+w"(sums[2]), "+w"(sums[3]));
    }
}

/* Adds the taps of two lines at a time; of a last single line, two taps at a time. */
INLINE void add_window(const ml_depthwise_args *p, const int8_t *const *lines, const pixel_place *o,
                       const int8_t *w, const int sixteens, int32x4_t *sums) {
    const int64_t step = p->tap_step, line = p->packed_line;
    int64_t left = p->height;
    for (; left >= 2; left -= 2, lines += 2, w += 2 * line) {
        const int8_t *x = lines[0], *next = lines[1], *of = w;
        for (int64_t tap = p->width; tap > 0; tap--, x += step, next += step, of += SIXTEEN)
            add_taps_of(o, x, of, next, of + line, sixteens, true, sums);
    }
    if (left == 0) return;
    const int8_t *x = lines[0];
    int64_t taps = p->width;
    for (; taps >= 2; taps -= 2, x += 2 * step, w += 2 * SIXTEEN)
        add_taps_of(o, x, w, x + step, w + SIXTEEN, sixteens, true, sums);
    if (taps) add_taps_of(o, x, w, x, w, sixteens, false, sums);
}

/* Computes the channels of a pixel from `channel` on, of which `left` exist. */
INLINE void pixel_tile(const ml_depthwise_args *p, const ml_requantize_args *to, const ends *e,
                       const int8_t *const *lines, int64_t at, int8_t *y, int64_t channel,
                       int64_t left, const int sixteens) {
    const pixel_place o = {at + channel, left, p->packed_panel, p->n >= SIXTEEN};
    const int8_t *w = (const int8_t *)p->packed + channel / SIXTEEN * o.panel;
    int32x4_t sums[MOST_SIXTEENS * TOGETHER];
    begin_channels(p, channel, left, sixteens, sums);
    const int64_t twos = p->height / 2 * p->width + p->height % 2 * ml_ceil_div(p->width, 2);
    ML_UNROLL(4)
    for (int i = 0; i < sixteens * TOGETHER; i += 2) {
        const eight_sums begin = less((eight_sums){sums[i], sums[i + 1]}, twos);
        sums[i] = begin.front, sums[i + 1] = begin.back;
    }
    add_window(p, lines, &o, w, sixteens, sums);
    end_channels(to, e, y, channel, left, sixteens, sums);
}

static void multiply_pixel(const ml_depthwise_args *args, const ml_requantize_args *bytes,
                           int64_t row) {
    const ml_depthwise_args p = *args; /* copies, not read again after each store */
    const ml_requantize_args to = *bytes;
    const ends e = ends_of(bytes);
    const int8_t *const *lines = (const int8_t *const *)(const void *)p.lines + row * p.height;
    int8_t *y = to.y + row * p.y_row;
    enum { MOST = MOST_SIXTEENS * SIXTEEN };
    int64_t channel = 0;
    for (; channel + MOST <= p.n; channel += MOST)
        pixel_tile(&p, &to, &e, lines, p.first, y, channel, MOST, MOST_SIXTEENS);
    for (; channel + SIXTEEN <= p.n; channel += SIXTEEN)
        pixel_tile(&p, &to, &e, lines, p.first, y, channel, SIXTEEN, 1);
    if (channel < p.n) pixel_tile(&p, &to, &e, lines, p.first, y, channel, p.n - channel, 1);
}

void ml_depthwise_narrow_s8_neon(const ml_depthwise_args *p, const ml_requantize_args *bytes) {
    if (p->pixels > 1) multiply_tiles(p, bytes);
    else
        for (int64_t row = 0; row < p->rows; row++) multiply_pixel(p, bytes, row);
}
