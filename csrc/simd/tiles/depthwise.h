/* depthwise.h -- depthwise_f32 and depthwise_s8 in register tiles, for vectors of any width.
 *
 * A tile is some neighbouring pixels times one vector of channels. The outer loop is over pixels,
 * the inner one over channels, so that elements are read side by side. If windows are 3 or 5 taps
 * wide and overlap, each column is loaded once for all the taps that see it. Taps are summed in the
 * same order in every tile.
 *
 * The file that includes it defines its vectors of LANES elements, or includes depthwise_f32.h or
 * depthwise_s32.h, which have those of the level's words
 *   SUM, ELEMENT                a vector of sums, and the type of one
 *   ZERO_SUM()  LOAD_VALUE(p)  LOAD_VALUE_PART(p, count)
 *   STORE_SUM(p, v)  STORE_SUM_PART(p, v, count)
 *   MULTIPLY_ADD(x, w, sum)  ADD_SUMS(a, b)
 *   REGISTER                    the asm constraint of a vector
 *   FINISH(args, v)             the outputs of sums
 *   MASKS                       true if LOAD_VALUE_PART costs no more than LOAD_VALUE: it then
 *                               loads all vectors, and the last one has no code of its own
 *
 * then calls run_tiles(args, own). It may define
 *   WHOLES(width)               with MASKS: true if whole vectors have code of their own
 *                               nevertheless, for windows of that width
 *   MOST_PIXELS                 the most pixels of a tile; 4 is a tenth slower, with a third of the
 *                               code
 *   MULTIPLY_TWO(x, w, next_x, next_w, sum)  MULTIPLY_TWO_MORE  LESS(sum, count)
 *                               if products are cheaper two at a time: two taps of a pixel, in one
 *                               line or in two; the same, where a constant may be added to each
 *                               sum; and sums without `count` of that constant
 * if sums are not stored, instead of STORE_SUM and FINISH
 *   OUTPUT, Y_STEP(args, own)   the type of outputs, and how many there are from pixel to pixel
 *   BEGIN(v)                    the start of sums, made of v
 *   FINISH_TILE(args, at, pixels, part, count, sums)
 * and if values and weights are narrower than sums
 *   VALUE, ELEMENT_BYTES        a vector of them, and the bytes of one
 *   LOAD_SUM(p)  LOAD_SUM_PART(p, count)    for sums
 *   LOAD_NEXT(value, x, step)   loads a value and adds the step to x
 *   KEEP(value, x)              the empty asm of next_column, where a value is no single
 *                               register */
#include "simd/simd.h"

#ifndef MOST_PIXELS
#define MOST_PIXELS 8
#endif

#ifndef VALUE
#define VALUE SUM
#define ELEMENT_BYTES 4
#define LOAD_SUM(p) LOAD_VALUE(p)
#define LOAD_SUM_PART(p, count) LOAD_VALUE_PART(p, count)
#endif

#ifndef WHOLES
#define WHOLES(width) false
#endif

#ifndef KEEP
#define KEEP(value, x) __asm__("" : "+" REGISTER(value), "+r"(x))
#endif

enum {
    PIXELS = MOST_PIXELS,
    MOST_TAPS = 5,
    /* Channels that are computed for all rows of a call before the next ones, so that weights and
     * the columns that rows have in common stay in the cache. */
    BLOCK = 128
};

#define INLINE __attribute__((always_inline)) static inline

/* Code for tiles of 5 to 8 pixels, if there are such tiles. */
#if MOST_PIXELS == 4
#define LARGE(...)
#else
#define LARGE(...) __VA_ARGS__
#endif

INLINE VALUE load(const char *p, const bool part, int count) {
    return part ? LOAD_VALUE_PART(p, count) : LOAD_VALUE(p);
}

/* sums += `taps` taps of a line, one after the other. */
INLINE void add_taps(const ml_depthwise_args *p, const char *x, const char *w, int64_t taps,
                     const int pixels, const bool part, int count, SUM *sums) {
    const int64_t pixel_step = ELEMENT_BYTES * p->pixel_step;
    const int64_t tap_step = ELEMENT_BYTES * p->tap_step;
    int64_t tap = 0;
#ifdef MULTIPLY_TWO
    for (; tap + 2 <= taps; tap += 2, x += 2 * tap_step) {
        const VALUE weights = LOAD_VALUE(w),
                    next = LOAD_VALUE(w + ELEMENT_BYTES * ML_PANEL_DEPTHWISE);
        w += 2 * ELEMENT_BYTES * ML_PANEL_DEPTHWISE;
        ML_UNROLL(8)
        for (int i = 0; i < pixels; i++) {
            const char *at = x + i * pixel_step;
            sums[i] = MULTIPLY_TWO(load(at, part, count), weights, load(at + tap_step, part, count),
                                   next, sums[i]);
        }
    }
#endif
    for (; tap < taps; tap++, x += tap_step) {
        VALUE weights = LOAD_VALUE(w);
        w += ELEMENT_BYTES * ML_PANEL_DEPTHWISE;
        ML_UNROLL(8)
        for (int i = 0; i < pixels; i++)
            sums[i] = MULTIPLY_ADD(load(x + i * pixel_step, part, count), weights, sums[i]);
    }
}

/* Loads a column, and moves x on. Without the empty asm, the compiler would load it once per tap,
 * and keep more addresses than there are registers. */
INLINE VALUE next_column(const char **x, int64_t step, const bool part, int count) {
    VALUE value;
#ifdef LOAD_NEXT
    if (part) value = LOAD_VALUE_PART(*x, count), *x += step;
    else LOAD_NEXT(value, *x, step);
#else
    value = load(*x, part, count);
    *x += step;
#endif
    KEEP(value, *x);
    return value;
}

#ifdef MULTIPLY_TWO
/* sums += two lines of `width` taps, for pixels that are `stride` taps apart. */
INLINE void add_two_lines(const ml_depthwise_args *p, const char *x, const char *next_x,
                          const char *w, const int width, const int stride, const int pixels,
                          const bool part, int count, SUM *sums) {
    const int64_t step = ELEMENT_BYTES * p->tap_step;
    VALUE weights[2 * MOST_TAPS];
    ML_UNROLL(10)
    for (int i = 0; i < 2 * width; i++)
        weights[i] = LOAD_VALUE(w + ELEMENT_BYTES * (i < width ? 0 : p->packed_line) +
                                ELEMENT_BYTES * (i % width) * ML_PANEL_DEPTHWISE);
    ML_UNROLL(20)
    for (int column = 0; column < (pixels - 1) * stride + width; column++) {
        const VALUE value = next_column(&x, step, part, count);
        const VALUE next = next_column(&next_x, step, part, count);
        ML_UNROLL(8)
        for (int i = 0; i < pixels; i++) {
            const int tap = column - i * stride;
            if (tap >= 0 && tap < width)
                sums[i] =
                    MULTIPLY_TWO_MORE(value, weights[tap], next, weights[width + tap], sums[i]);
        }
    }
}
#endif

/* sums += a line of `width` taps, for pixels that are `stride` taps apart. */
INLINE void add_columns(const ml_depthwise_args *p, const char *x, const char *w, const int width,
                        const int stride, const int pixels, const bool part, int count, SUM *sums) {
    VALUE weights[MOST_TAPS];
    ML_UNROLL(5)
    for (int tap = 0; tap < width; tap++)
        weights[tap] = LOAD_VALUE(w + ELEMENT_BYTES * tap * ML_PANEL_DEPTHWISE);
#ifdef MULTIPLY_TWO
    VALUE before = weights[0];
#endif
    ML_UNROLL(20)
    for (int column = 0; column < (pixels - 1) * stride + width; column++) {
        const VALUE value = next_column(&x, ELEMENT_BYTES * p->tap_step, part, count);
        ML_UNROLL(8)
        for (int i = 0; i < pixels; i++) {
            const int tap = column - i * stride;
            if (tap < 0 || tap >= width) continue;
#ifdef MULTIPLY_TWO
            if (tap % 2 == 0 && tap < width - 1) continue; /* added together with the next tap */
            if (tap % 2) {
                sums[i] = MULTIPLY_TWO_MORE(before, weights[tap - 1], value, weights[tap], sums[i]);
                continue;
            }
#endif
            sums[i] = MULTIPLY_ADD(value, weights[tap], sums[i]);
        }
#ifdef MULTIPLY_TWO
        before = value;
#endif
    }
}

/* sums += a window of `width` taps. */
INLINE void add_lines(const ml_depthwise_args *p, int64_t offset, const char *w, const int width,
                      const int stride, const int pixels, const bool part, int count, SUM *sums) {
    const int64_t step = ELEMENT_BYTES * p->packed_line;
    const void *const *lines = p->lines;
    int64_t left = p->height;
#ifdef MULTIPLY_TWO
    for (; left >= 2; left -= 2, lines += 2, w += 2 * step)
        add_two_lines(p, (const char *)lines[0] + offset, (const char *)lines[1] + offset, w, width,
                      stride, pixels, part, count, sums);
    if (left == 0) return;
    add_columns(p, (const char *)lines[0] + offset, w, width, stride, pixels, part, count, sums);
#else
    for (; left > 0; left--, lines++, w += step)
        add_columns(p, (const char *)lines[0] + offset, w, width, stride, pixels, part, count,
                    sums);
#endif
}

/* sums += a window of any size: ML_CHUNK_F32 taps are summed at a time, and then those sums. */
INLINE void add_any(const ml_depthwise_args *p, int64_t offset, const char *w, const int pixels,
                    const bool part, int count, SUM *sums) {
    SUM total[PIXELS];
    int64_t room = ML_CHUNK_F32;
    ML_UNROLL(8)
    for (int i = 0; i < pixels; i++) total[i] = ZERO_SUM();
    for (int64_t line = 0; line < p->height; line++, w += ELEMENT_BYTES * p->packed_line) {
        const char *x = (const char *)p->lines[line] + offset;
        for (int64_t tap = 0; tap < p->width;) {
            int64_t taps = p->width - tap < room ? p->width - tap : room;
            add_taps(p, x + ELEMENT_BYTES * tap * p->tap_step,
                     w + ELEMENT_BYTES * tap * ML_PANEL_DEPTHWISE, taps, pixels, part, count, sums);
            tap += taps;
            room -= taps;
            if (room > 0) continue;
            room = ML_CHUNK_F32;
            ML_UNROLL(8)
            for (int i = 0; i < pixels; i++) {
                total[i] = ADD_SUMS(total[i], sums[i]);
                sums[i] = ZERO_SUM();
            }
        }
    }
    ML_UNROLL(8)
    for (int i = 0; i < pixels; i++) sums[i] = ADD_SUMS(total[i], sums[i]);
}

#ifdef FINISH
#define OUTPUT ELEMENT
#define Y_STEP(p, own) ((p)->n)
#define BEGIN(v) (v)
#define FINISH_TILE(p, at, pixels, part, count, sums) store_tile(p, at, pixels, part, count, sums)
#endif

/* The beginning of a tile. */
typedef struct tile_place {
    int64_t offset; /* bytes from the start of a line */
    const char *w;
    int64_t channel;
    OUTPUT *y;
    const void *own; /* the `own` of run_tiles */
} tile_place;

#ifdef FINISH
INLINE void store_tile(const ml_depthwise_args *p, const tile_place *at, const int pixels,
                       const bool part, int count, const SUM *sums) {
    ELEMENT *y = at->y;
    ML_UNROLL(8)
    for (int i = 0; i < pixels; i++) {
        SUM value = FINISH(p, sums[i]);
        if (part) STORE_SUM_PART(y, value, count);
        else STORE_SUM(y, value);
        y += p->n;
        __asm__("" : "+r"(y));
    }
}
#endif

/* Computes `count` channels of `pixels` pixels. A width of 0 means windows of any size. */
INLINE void tile(const ml_depthwise_args *p, const tile_place *at, const int width,
                 const int stride, const int pixels, const bool part, int count) {
    SUM sums[PIXELS], initial = ZERO_SUM();
    const char *w = at->w;
    const ELEMENT *start = p->start ? (const ELEMENT *)p->start + at->channel : NULL;
    if (start) initial = part ? LOAD_SUM_PART(start, count) : LOAD_SUM(start);
    initial = BEGIN(initial);
#ifdef MULTIPLY_TWO
    if (width) initial = LESS(initial, p->height / 2 * width + p->height % 2 * (width / 2));
#endif
    ML_UNROLL(8)
    for (int i = 0; i < pixels; i++) sums[i] = initial;
    if (!width) add_any(p, at->offset, w, pixels, part, count, sums);
    else add_lines(p, at->offset, w, width, stride, pixels, part, count, sums);
    FINISH_TILE(p, at, pixels, part, count, sums);
}

/* The tiles of one row: pixels first .. end - 1, a multiple of a tile's pixels, and `channels`
 * channels from `channel` on, which is the first of a panel. */
typedef struct tile_row {
    const void *const *lines;
    OUTPUT *y;
    const void *own;
    int64_t first;
    int64_t end;
    int64_t channel;
    int64_t channels;
} tile_row;

#if !MASKS
/* Computes the last channels, fewer than a vector, by the same code for windows of all widths. */
INLINE void last_channels(const ml_depthwise_args *args, const tile_row *row, int64_t pixel,
                          const int pixels) {
    ml_depthwise_args p = *args; /* a copy, not read again after each store */
    const int64_t left = row->channels % LANES, channel = row->channel + row->channels - left;
    const tile_place at = {.offset = ELEMENT_BYTES * (p.first + pixel * p.pixel_step + channel),
                           .w = (const char *)p.packed +
                                ELEMENT_BYTES * (channel / ML_PANEL_DEPTHWISE * p.packed_panel +
                                                 channel % ML_PANEL_DEPTHWISE),
                           .channel = channel,
                           .y = row->y + pixel * Y_STEP(&p, row->own) + channel,
                           .own = row->own};
    p.lines = row->lines;
    tile(&p, &at, 0, 0, pixels, true, (int)left);
}
typedef void last_fn(const ml_depthwise_args *args, const tile_row *row, int64_t pixel);

#define DEFINE_LAST(pixels)                                                        \
    static void last_##pixels(const ml_depthwise_args *args, const tile_row *row,  \
                              int64_t pixel) {                                     \
        last_channels(args, row, pixel, pixels);                                   \
    }
DEFINE_LAST(1)
DEFINE_LAST(2)
DEFINE_LAST(3)
DEFINE_LAST(4)
LARGE(DEFINE_LAST(5) DEFINE_LAST(6) DEFINE_LAST(7) DEFINE_LAST(8))
static last_fn *const last[PIXELS + 1] = {NULL,   last_1, last_2,
                                          last_3, last_4, LARGE(last_5, last_6, last_7, last_8)};
#endif

INLINE void tiles(const ml_depthwise_args *args, const tile_row *row, const int width,
                  const int stride, const int pixels) {
    ml_depthwise_args p = *args; /* a copy, not read again after each store */
    const tile_row r = *row;
    p.lines = r.lines;
    for (int64_t pixel = r.first; pixel < r.end; pixel += pixels) {
        tile_place at = {.offset = ELEMENT_BYTES * (p.first + pixel * p.pixel_step + r.channel),
                         .channel = r.channel,
                         .y = r.y + pixel * Y_STEP(&p, r.own) + r.channel,
                         .own = r.own};
        const char *panel = (const char *)p.packed +
                            ELEMENT_BYTES * (r.channel / ML_PANEL_DEPTHWISE) * p.packed_panel;
        int64_t left = r.channels;
        for (int within = 0; left >= (MASKS ? 1 : LANES); left -= LANES, within += LANES) {
            if (within == ML_PANEL_DEPTHWISE) within = 0, panel += ELEMENT_BYTES * p.packed_panel;
            at.w = panel + ELEMENT_BYTES * within;
            if (WHOLES(width) && left >= LANES) tile(&p, &at, width, stride, pixels, false, LANES);
            else tile(&p, &at, width, stride, pixels, MASKS, left < LANES ? (int)left : LANES);
            at.offset += ELEMENT_BYTES * LANES;
            at.channel += LANES;
            at.y += LANES;
        }
#if !MASKS
        if (left) last[pixels](args, row, pixel);
#endif
    }
}

typedef void tiles_fn(const ml_depthwise_args *p, const tile_row *row);

#define DEFINE(width, stride, pixels)                                                  \
    static void tiles_##width##_##stride##_##pixels(const ml_depthwise_args *p,        \
                                                    const tile_row *row) {             \
        tiles(p, row, width, stride, pixels);                                          \
    }
#define DEFINE_EACH(width, stride)                                                          \
    DEFINE(width, stride, 1) DEFINE(width, stride, 2) DEFINE(width, stride, 3)              \
    DEFINE(width, stride, 4)                                                                \
    LARGE(DEFINE(width, stride, 5) DEFINE(width, stride, 6) DEFINE(width, stride, 7)        \
          DEFINE(width, stride, 8))
DEFINE_EACH(0, 0)
DEFINE_EACH(1, 1)
DEFINE_EACH(3, 1)
DEFINE_EACH(3, 2)
DEFINE_EACH(5, 1)
DEFINE_EACH(5, 2)
DEFINE(2, 1, 1)
DEFINE(4, 1, 1)

#define EACH(name)                                          \
    {NULL,    name##_1, name##_2, name##_3, name##_4, LARGE(name##_5, name##_6, name##_7, name##_8)}
static tiles_fn *const apart[PIXELS + 1] = EACH(tiles_0_0);
static tiles_fn *const side_by_side[PIXELS + 1] = EACH(tiles_1_1);
static tiles_fn *const overlapping[2][2][PIXELS + 1] = {{EACH(tiles_3_1), EACH(tiles_3_2)},
                                                        {EACH(tiles_5_1), EACH(tiles_5_2)}};
/* The functions for a single pixel, by the number of taps. */
static tiles_fn *const alone[MOST_TAPS + 1][2] = {{NULL, tiles_0_0_1}, {NULL, tiles_1_1_1},
                                                  {NULL, tiles_2_1_1}, {NULL, tiles_3_1_1},
                                                  {NULL, tiles_4_1_1}, {NULL, tiles_5_1_1}};

static tiles_fn *const *choose(const ml_depthwise_args *p) {
    const bool once = p->pixel_step == p->tap_step, twice = p->pixel_step == 2 * p->tap_step;
    if (p->height * p->width > ML_CHUNK_F32) return apart;
    if (p->pixels == 1 && p->width <= MOST_TAPS) return alone[p->width];
    if (p->width == 1 && once) return side_by_side;
    if (!(once || twice) || !(p->width == 3 || p->width == 5)) return apart;
    return overlapping[p->width == 5][twice];
}

/* The division of a row into tiles: first `larger` tiles of few + 1 pixels, then tiles of `few`
 * pixels. */
typedef struct tiling {
    tiles_fn *const *by_pixels;
    int64_t few;
    int64_t larger;
} tiling;

/* Divides the pixels evenly among as few tiles as possible. */
static tiling tiling_of(const ml_depthwise_args *p) {
    tiling t = {choose(p), p->pixels, 0};
    if (p->pixels <= PIXELS) return t;
    const int64_t count = ml_ceil_div(p->pixels, PIXELS);
    t.few = p->pixels / count, t.larger = p->pixels % count;
    return t;
}

static void run_tiles(const ml_depthwise_args *p, const void *own) {
    if (p->pixels <= 0) return;
    const tiling t = tiling_of(p);
    for (int64_t channel = 0; channel < p->n; channel += BLOCK)
        for (int64_t i = 0; i < p->rows; i++) {
            const int64_t left = p->n - channel;
            tile_row row = {.lines = p->lines + i * p->height,
                            .y = (OUTPUT *)p->y + i * p->y_row,
                            .own = own,
                            .channel = channel,
                            .channels = left < BLOCK ? left : BLOCK};
            row.first = 0;
            row.end = t.larger * (t.few + 1);
            if (t.larger) t.by_pixels[t.few + 1](p, &row);
            row.first = row.end;
            row.end = p->pixels;
            t.by_pixels[t.few](p, &row);
        }
}
