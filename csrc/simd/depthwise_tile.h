/* depthwise_tile.h -- depthwise_f32 and depthwise_s8 in register tiles, for vectors of any width.
 *
 * The file that includes it names its FUNCTION and says what its vectors of LANES elements are: VECTOR and ELEMENT (of a sum:
 * float or int32_t), ZERO(), LOAD(p), LOAD_PART(p, count), STORE(p, v),
 * STORE_PART(p, v, count), REGISTER (an asm constraint), MULTIPLY_ADD(x, w, sum), ADD(a, b), and FINISH(args, v), what becomes of a sum.
 *
 * A tile is some neighbouring pixels times one vector of channels. Pixels go outside and channels inside, so that what is
 * read lies side by side. Where a window is 3 or 5 taps wide and its pixels overlap, each column is loaded once and meets
 * all the taps that see it. Taps are summed in the same order in every tile. */
#include "simd.h"

enum {
    PIXELS = 8,
    POWERS = 4, /* of two, up to PIXELS */
    MOST_TAPS = 5,
    BLOCK =
        256 /* channels that all pixels of a call meet before the next, so that weights and columns stay in the cache */
};

#define INLINE __attribute__((always_inline)) static inline

INLINE VECTOR load(const char *p, const bool part, int count) {
    return part ? LOAD_PART(p, count) : LOAD(p);
}

/* sums += `taps` taps of a line, one after the other. */
INLINE void add_taps(const ml_depthwise_args *p, const char *x, const char *w, int64_t taps,
                     const int pixels, const bool part, int count, VECTOR *sums) {
    const int64_t pixel_step = 4 * p->pixel_step, tap_step = 4 * p->tap_step;
    for (int64_t tap = 0; tap < taps; tap++, x += tap_step, w += 4 * ML_PANEL_DEPTHWISE) {
        VECTOR weights = LOAD(w);
#pragma GCC unroll 8
        for (int i = 0; i < pixels; i++)
            sums[i] = MULTIPLY_ADD(load(x + i * pixel_step, part, count), weights, sums[i]);
    }
}

/* sums += a line of `width` taps, of pixels `stride` taps apart. The empty asm keeps a column from being loaded once a tap, and its
 * address from being one of many that find no room in registers. */
INLINE void add_columns(const ml_depthwise_args *p, const char *x, const char *w, const int width,
                        const int stride, const int pixels, VECTOR *sums) {
    VECTOR weights[MOST_TAPS];
#pragma GCC unroll 5
    for (int tap = 0; tap < width; tap++) weights[tap] = LOAD(w + 4 * tap * ML_PANEL_DEPTHWISE);
#pragma GCC unroll 20
    for (int column = 0; column < (pixels - 1) * stride + width; column++) {
        VECTOR value = LOAD(x);
        x += 4 * p->tap_step;
        __asm__("" : "+" REGISTER(value), "+r"(x));
#pragma GCC unroll 8
        for (int i = 0; i < pixels; i++) {
            const int tap = column - i * stride;
            if (tap >= 0 && tap < width) sums[i] = MULTIPLY_ADD(value, weights[tap], sums[i]);
        }
    }
}

/* A window of any size: sums of ML_CHUNK_F32 taps are added up in turn. */
INLINE void add_any(const ml_depthwise_args *p, int64_t offset, const char *w, const int pixels,
                    const bool part, int count, VECTOR *sums) {
    VECTOR total[PIXELS];
    int64_t room = ML_CHUNK_F32;
#pragma GCC unroll 8
    for (int i = 0; i < pixels; i++) total[i] = ZERO();
    for (int64_t line = 0; line < p->height; line++, w += 4 * p->packed_line) {
        const char *x = (const char *)p->lines[line] + offset;
        for (int64_t tap = 0; tap < p->width;) {
            int64_t taps = p->width - tap < room ? p->width - tap : room;
            add_taps(p, x + 4 * tap * p->tap_step, w + 4 * tap * ML_PANEL_DEPTHWISE, taps, pixels,
                     part, count, sums);
            tap += taps;
            room -= taps;
            if (room > 0) continue;
            room = ML_CHUNK_F32;
#pragma GCC unroll 8
            for (int i = 0; i < pixels; i++) {
                total[i] = ADD(total[i], sums[i]);
                sums[i] = ZERO();
            }
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < pixels; i++) sums[i] = ADD(total[i], sums[i]);
}

/* Where a tile begins. */
typedef struct tile_place {
    int64_t offset; /* bytes from the begin of a line */
    const char *w;
    const ELEMENT *start;
    ELEMENT *y;
} tile_place;

/* `count` channels of `pixels` pixels; width 0 stands for windows of any size. */
INLINE void tile(const ml_depthwise_args *p, const tile_place *at, const int width,
                 const int stride, const int pixels, const bool part, int count) {
    VECTOR sums[PIXELS], initial = ZERO();
    const char *w = at->w;
    if (at->start) initial = part ? LOAD_PART(at->start, count) : LOAD(at->start);
#pragma GCC unroll 8
    for (int i = 0; i < pixels; i++) sums[i] = initial;
    if (!width) add_any(p, at->offset, w, pixels, part, count, sums);
    for (int64_t line = 0; width && line < p->height; line++, w += 4 * p->packed_line)
        add_columns(p, (const char *)p->lines[line] + at->offset, w, width, stride, pixels, sums);
    ELEMENT *y = at->y;
#pragma GCC unroll 8
    for (int i = 0; i < pixels; i++) {
        VECTOR value = FINISH(p, sums[i]);
        if (part) STORE_PART(y, value, count);
        else STORE(y, value);
        y += p->n;
        __asm__("" : "+r"(y));
    }
}

/* Rows of tiles: pixels first to end - 1, a multiple of a tile's; channels from `channel` on, the first of a panel. */
typedef struct tile_rows {
    int64_t first;
    int64_t end;
    int64_t channel;
    int64_t channels;
} tile_rows;

INLINE void tiles(const ml_depthwise_args *args, const tile_rows *rows, const int width,
                  const int stride, const int pixels) {
    const ml_depthwise_args p = *args; /* a copy, which stores do not change */
    const tile_rows r = *rows;
    for (int64_t pixel = r.first; pixel < r.end; pixel += pixels) {
        tile_place at = {.offset = 4 * (p.first + pixel * p.pixel_step + r.channel),
                         .start = p.start ? (const ELEMENT *)p.start + r.channel : NULL,
                         .y = (ELEMENT *)p.y + pixel * p.n + r.channel};
        const char *panel =
            (const char *)p.packed + 4 * (r.channel / ML_PANEL_DEPTHWISE) * p.packed_panel;
        int64_t left = r.channels;
        for (int within = 0; left >= LANES; left -= LANES, within += LANES) {
            if (within == ML_PANEL_DEPTHWISE) within = 0, panel += 4 * p.packed_panel;
            at.w = panel + 4 * within;
            tile(&p, &at, width, stride, pixels, false, LANES);
            at.offset += 4 * LANES;
            at.y += LANES;
            if (at.start) at.start += LANES;
        }
        if (left == 0) continue;
        const int64_t whole = r.channels - left;
        at.w = (const char *)p.packed +
               4 * ((r.channel + whole) / ML_PANEL_DEPTHWISE * p.packed_panel +
                    whole % ML_PANEL_DEPTHWISE);
        tile(&p, &at, 0, 0, pixels, true, (int)left);
    }
}

typedef void tiles_fn(const ml_depthwise_args *p, const tile_rows *rows);

#define DEFINE(width, stride, pixels)                                                  \
    static void tiles_##width##_##stride##_##pixels(const ml_depthwise_args *p,        \
                                                    const tile_rows *rows) {             \
        tiles(p, rows, width, stride, pixels);                                          \
    }
#define DEFINE_EACH(width, stride) \
    DEFINE(width, stride, 1) DEFINE(width, stride, 2) DEFINE(width, stride, 4) DEFINE(width, stride, 8)
DEFINE_EACH(0, 0)
DEFINE_EACH(3, 1)
DEFINE_EACH(3, 2)
DEFINE_EACH(5, 1)
DEFINE_EACH(5, 2)
DEFINE(1, 1, 1)
DEFINE(2, 1, 1)
DEFINE(4, 1, 1)

#define EACH(name) {name##_1, name##_2, name##_4, name##_8}
static tiles_fn *const apart[POWERS] = EACH(tiles_0_0);
static tiles_fn *const overlapping[2][2][POWERS] = {{EACH(tiles_3_1), EACH(tiles_3_2)},
                                                    {EACH(tiles_5_1), EACH(tiles_5_2)}};
static tiles_fn *const alone[MOST_TAPS + 1] = {tiles_0_0_1, tiles_1_1_1, tiles_2_1_1,
                                               tiles_3_1_1, tiles_4_1_1, tiles_5_1_1};

static tiles_fn *const *choose(const ml_depthwise_args *p) {
    const bool once = p->pixel_step == p->tap_step, twice = p->pixel_step == 2 * p->tap_step;
    if (p->height * p->width > ML_CHUNK_F32) return apart;
    if (p->pixels == 1 && p->width <= MOST_TAPS) return &alone[p->width];
    if (!(once || twice) || !(p->width == 3 || p->width == 5)) return apart;
    return overlapping[p->width == 5][twice];
}

/* The largest power of two of pixels whose columns find room in the first-level cache: 12 lines of 64 bytes in each of 64 sets,
 * of which columns that lie powers of two apart use few. Pixels that have few columns in common come back to none. */
static int most_power(const ml_depthwise_args *p) {
    const int64_t step = 4 * p->tap_step, spread = step & -step;
    const int64_t lines = spread < 64 ? 12 * 64 : spread < 4096 ? 12 * (4096 / spread) : 12;
    for (int power = POWERS - 1; power > 0; power--) {
        const int64_t pixels = ((int64_t)1 << power) - 1;
        const int64_t columns = pixels * p->pixel_step / (p->tap_step ? p->tap_step : 1) + p->width;
        if (p->pixel_step > p->tap_step || columns * p->height <= lines) return power;
    }
    return 0;
}

void FUNCTION(const ml_depthwise_args *p) {
    tiles_fn *const *by_power = choose(p);
    const int most = most_power(p);
    for (int64_t channel = 0; channel < p->n; channel += BLOCK) {
        const int64_t channels = p->n - channel < BLOCK ? p->n - channel : BLOCK;
        tile_rows rows = {0, 0, channel, channels};
        for (int power = most; power >= 0; power--, rows.first = rows.end) {
            const int64_t size = (int64_t)1 << power, left = (p->pixels - rows.first) % size;
            rows.end = p->pixels - left;
            if (rows.end > rows.first) by_power[power](p, &rows);
            if (2 * left <= size || p->pixels < size) continue;
            /* The last pixels together with some that are computed once more. */
            rows.first = p->pixels - size;
            rows.end = p->pixels;
            by_power[power](p, &rows);
        }
    }
}
