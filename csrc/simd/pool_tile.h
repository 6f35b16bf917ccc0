/* pool_tile.h -- windows over neighbouring pixels, each channel by itself, in vectors of any width: pool(args).
 *
 * The file that includes it says what its vectors of LANES channels are: CHANNELS, of ELEMENT, READ(p, sign),
 * READ_PART(p, count, sign), WRITE(p, v), WRITE_PART(p, v, count), INITIAL(sign), MERGE(total, x, sign), and FINISH(k, v, sign), what
 * becomes of a total, with `constants` k that begin(args) makes. `sign`, a constant: whether bytes are s8. */
#include "simd.h"

enum { MOST_VECTORS = 8, SOME_VECTORS = 4 };

#define INLINE __attribute__((always_inline)) static inline

/* `vectors` vectors of channels of one pixel; `part`: of a single one the first `count`. Widths of `few` taps, a constant, are
 * unrolled; 0 stands for any. */
INLINE void tile(const ml_pool_args *p, const constants *k, const ELEMENT *x, ELEMENT *y,
                 const int few, const int vectors, const bool part, int count, const bool sign) {
    CHANNELS totals[MOST_VECTORS];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) totals[v] = INITIAL(sign);
    const int64_t width = few ? few : p->width;
    for (int64_t line = 0; line < p->height; line++) {
        const ELEMENT *at = x + line * p->line_step;
#pragma GCC unroll 3
        for (int64_t tap = 0; tap < width; tap++, at += p->n) {
#pragma GCC unroll 8
            for (int v = 0; v < vectors; v++) {
                const ELEMENT *from = at + v * LANES;
                CHANNELS value = part ? READ_PART(from, count, sign) : READ(from, sign);
                totals[v] = MERGE(totals[v], value, sign);
            }
        }
    }
#pragma GCC unroll 8
    for (int v = 0; v < vectors; v++) {
        CHANNELS value = FINISH(k, totals[v], sign);
        if (part) WRITE_PART(y, value, count);
        else WRITE(y + v * LANES, value);
    }
}

INLINE void run(const ml_pool_args *args, const int few, const bool sign) {
    const ml_pool_args p = *args; /* a copy, which stores do not change */
    const constants k = begin(&p);
    const ELEMENT *x = p.x;
    ELEMENT *y = p.y;
    for (int64_t pixel = 0; pixel < p.pixels; pixel++, x += p.pixel_step, y += p.n) {
        int64_t at = 0;
        for (; at + MOST_VECTORS * LANES <= p.n; at += MOST_VECTORS * LANES)
            tile(&p, &k, x + at, y + at, few, MOST_VECTORS, false, LANES, sign);
        for (; at + SOME_VECTORS * LANES <= p.n; at += SOME_VECTORS * LANES)
            tile(&p, &k, x + at, y + at, few, SOME_VECTORS, false, LANES, sign);
        for (; at + LANES <= p.n; at += LANES)
            tile(&p, &k, x + at, y + at, few, 1, false, LANES, sign);
        if (at < p.n) tile(&p, &k, x + at, y + at, few, 1, true, (int)(p.n - at), sign);
    }
}

INLINE void run_any(const ml_pool_args *p, const bool sign) {
    if (p->width == 2) run(p, 2, sign);
    else if (p->width == 3) run(p, 3, sign);
    else run(p, 0, sign);
}

static void pool(const ml_pool_args *p) {
    if (p->is_signed) run_any(p, true);
    else run_any(p, false);
}
