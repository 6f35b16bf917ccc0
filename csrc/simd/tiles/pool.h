/* pool.h -- windows over neighbouring pixels, per channel, in vectors of any width: pool(args,
 * sign).
 *
 * The file that includes it defines its vectors of POOL_LANES channels, by default LANES: CHANNELS,
 * of ELEMENT, READ(p, sign), READ_PART(p, count, sign), WRITE(p, v), WRITE_PART(p, v, count),
 * INITIAL(sign), MERGE(total, x, sign), and FINISH(k, v, sign), which finishes a total, with
 * `constants` k made by begin(args). The constant `sign` is true if bytes are s8. If neighbouring
 * windows of 3 x 3 overlap, they are merged column by column, and share columns; all others are
 * merged line by line. */
#include "simd/simd.h"

#ifndef POOL_LANES
#define POOL_LANES LANES
#endif

enum { MOST_VECTORS = 4 };

#define INLINE __attribute__((always_inline)) static inline

/* Computes `vectors` vectors of channels of one pixel; with `part`, the first `count` channels of a
 * single one. Widths of `few` taps, a constant, are unrolled; 0 = any width. */
INLINE void tile(const ml_pool_args *p, const constants *k, const ELEMENT *x, ELEMENT *y,
                 const int few, const int vectors, const bool part, int count, const bool sign) {
    CHANNELS totals[MOST_VECTORS];
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) totals[v] = INITIAL(sign);
    const int64_t width = few ? few : p->width;
    for (int64_t line = 0; line < p->height; line++) {
        const ELEMENT *at = x + line * p->line_step;
        ML_UNROLL(3)
        for (int64_t tap = 0; tap < width; tap++, at += p->n) {
            ML_UNROLL(4)
            for (int v = 0; v < vectors; v++) {
                const ELEMENT *from = at + v * POOL_LANES;
                CHANNELS value = part ? READ_PART(from, count, sign) : READ(from, sign);
                totals[v] = MERGE(totals[v], value, sign);
            }
        }
    }
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) {
        CHANNELS value = FINISH(k, totals[v], sign);
        if (part) WRITE_PART(y, value, count);
        else WRITE(y + v * POOL_LANES, value);
    }
}

/* Merges a column of three elements, from top to bottom. */
INLINE CHANNELS column(const ml_pool_args *p, const ELEMENT *x, const bool part, int count,
                       const bool sign) {
    CHANNELS total = INITIAL(sign);
    ML_UNROLL(3)
    for (int line = 0; line < 3; line++, x += p->line_step)
        total = MERGE(total, part ? READ_PART(x, count, sign) : READ(x, sign), sign);
    return total;
}

/* Computes some vectors of channels of all pixels, whose windows of 3 x 3 are `step` apart: 1 or
 * 2. */
INLINE void share_columns(const ml_pool_args *p, const constants *k, const ELEMENT *x, ELEMENT *y,
                          const int step, const int vectors, const bool part, int count,
                          const bool sign) {
    CHANNELS first[MOST_VECTORS], second[MOST_VECTORS];
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) {
        first[v] = column(p, x + v * POOL_LANES, part, count, sign);
        if (step == 1) second[v] = column(p, x + p->n + v * POOL_LANES, part, count, sign);
    }
    for (int64_t pixel = 0; pixel < p->pixels; pixel++, x += p->pixel_step, y += p->n) {
        ML_UNROLL(4)
        for (int v = 0; v < vectors; v++) {
            const ELEMENT *at = x + v * POOL_LANES;
            if (step == 2) second[v] = column(p, at + p->n, part, count, sign);
            const CHANNELS third = column(p, at + 2 * p->n, part, count, sign);
            const CHANNELS total = MERGE(MERGE(first[v], second[v], sign), third, sign);
            if (part) WRITE_PART(y, FINISH(k, total, sign), count);
            else WRITE(y + v * POOL_LANES, FINISH(k, total, sign));
            first[v] = step == 1 ? second[v] : third;
            second[v] = third;
        }
    }
}

INLINE void run_columns(const ml_pool_args *args, const int step, const bool sign) {
    const ml_pool_args p = *args; /* a copy, not read again after each store */
    const constants k = begin(&p);
    const ELEMENT *x = p.x;
    ELEMENT *y = p.y;
    int64_t at = 0;
    for (; at + MOST_VECTORS * POOL_LANES <= p.n; at += MOST_VECTORS * POOL_LANES)
        share_columns(&p, &k, x + at, y + at, step, MOST_VECTORS, false, POOL_LANES, sign);
    for (; at + POOL_LANES <= p.n; at += POOL_LANES)
        share_columns(&p, &k, x + at, y + at, step, 1, false, POOL_LANES, sign);
    if (at < p.n) share_columns(&p, &k, x + at, y + at, step, 1, true, (int)(p.n - at), sign);
}

INLINE void run(const ml_pool_args *args, const int few, const bool sign) {
    const ml_pool_args p = *args; /* a copy, not read again after each store */
    const constants k = begin(&p);
    const ELEMENT *x = p.x;
    ELEMENT *y = p.y;
    for (int64_t pixel = 0; pixel < p.pixels; pixel++, x += p.pixel_step, y += p.n) {
        int64_t at = 0;
        for (; at + MOST_VECTORS * POOL_LANES <= p.n; at += MOST_VECTORS * POOL_LANES)
            tile(&p, &k, x + at, y + at, few, MOST_VECTORS, false, POOL_LANES, sign);
        for (; at + POOL_LANES <= p.n; at += POOL_LANES)
            tile(&p, &k, x + at, y + at, few, 1, false, POOL_LANES, sign);
        if (at < p.n) tile(&p, &k, x + at, y + at, few, 1, true, (int)(p.n - at), sign);
    }
}

INLINE void pool(const ml_pool_args *p, const bool sign) {
    if (p->pixels <= 0) return;
    const bool shared = p->width == 3 && p->height == 3;
    if (shared && p->pixel_step == p->n) run_columns(p, 1, sign);
    else if (shared && p->pixel_step == 2 * p->n) run_columns(p, 2, sign);
    else if (p->width == 2) run(p, 2, sign);
    else run(p, 0, sign);
}
