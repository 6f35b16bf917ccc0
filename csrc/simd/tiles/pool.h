/* pool.h -- windows over neighbouring pixels, per channel, in vectors of any width: pool(args,
 * whole, plain).
 *
 * The file that includes it defines its vectors of POOL_LANES channels, by default LANES: CHANNELS,
 * of ELEMENT, READ(p, sign), WRITE(p, v), INITIAL(sign), MERGE(total, x, sign), and FINISH(k, v,
 * sign), which finishes a total, with `constants` k made by begin(args). The constant `sign` is
 * true if bytes are s8. If neighbouring windows of 3 x 3 overlap, they are merged column by column,
 * and share columns; all others are merged line by line. */
#include "simd/simd.h"

#ifndef POOL_LANES
#define POOL_LANES LANES
#endif

enum { MOST_VECTORS = 4 };

#define INLINE __attribute__((always_inline)) static inline

/* Computes `vectors` vectors of channels of one pixel. Windows of `few` x `few` taps, a constant,
 * are unrolled; 0 = any size. */
INLINE void tile(const ml_pool_args *p, const constants *k, const ELEMENT *x, ELEMENT *y,
                 const int few, const int vectors, const bool sign) {
    CHANNELS totals[MOST_VECTORS];
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) totals[v] = INITIAL(sign);
    const int64_t height = few ? few : p->height, width = few ? few : p->width;
    ML_UNROLL(2)
    for (int64_t line = 0; line < height; line++) {
        const ELEMENT *at = x + line * p->line_step;
        ML_UNROLL(3)
        for (int64_t tap = 0; tap < width; tap++, at += p->n) {
            ML_UNROLL(4)
            for (int v = 0; v < vectors; v++)
                totals[v] = MERGE(totals[v], READ(at + v * POOL_LANES, sign), sign);
        }
    }
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++) WRITE(y + v * POOL_LANES, FINISH(k, totals[v], sign));
}

/* Merges a column of three elements, from top to bottom. */
INLINE CHANNELS column(const ml_pool_args *p, const ELEMENT *x, const bool sign) {
    CHANNELS total = INITIAL(sign);
    ML_UNROLL(3)
    for (int line = 0; line < 3; line++, x += p->line_step)
        total = MERGE(total, READ(x, sign), sign);
    return total;
}

/* Computes some vectors of channels of all pixels, whose windows of 3 x 3 are `step` apart: 1 or
 * 2. */
INLINE void share_columns(const ml_pool_args *p, const constants *k, const ELEMENT *x, ELEMENT *y,
                          const int step, const int vectors, const bool sign) {
    CHANNELS first[2 * MOST_VECTORS], second[2 * MOST_VECTORS];
    ML_UNROLL(8)
    for (int v = 0; v < vectors; v++) {
        first[v] = column(p, x + v * POOL_LANES, sign);
        if (step == 1) second[v] = column(p, x + p->n + v * POOL_LANES, sign);
    }
    for (int64_t pixel = 0; pixel < p->pixels; pixel++, x += p->pixel_step, y += p->n) {
        ML_UNROLL(8)
        for (int v = 0; v < vectors; v++) {
            const ELEMENT *at = x + v * POOL_LANES;
            if (step == 2) second[v] = column(p, at + p->n, sign);
            const CHANNELS third = column(p, at + 2 * p->n, sign);
            const CHANNELS total = MERGE(MERGE(first[v], second[v], sign), third, sign);
            WRITE(y + v * POOL_LANES, FINISH(k, total, sign));
            first[v] = step == 1 ? second[v] : third;
            second[v] = third;
        }
    }
}

/* The last vector begins early enough to be a whole one, and computes some channels again; or it is
 * the only one, and reaches beyond the pixel. */
INLINE int64_t last_vector(const ml_pool_args *p) {
    return p->n > POOL_LANES ? p->n - POOL_LANES : 0;
}

INLINE void run_columns(const ml_pool_args *args, const int step, const bool sign) {
    const ml_pool_args p = *args; /* a copy, not read again after each store */
    const constants k = begin(&p);
    const ELEMENT *x = p.x;
    ELEMENT *y = p.y;
    int64_t at = 0;
    /* Few channels at a time of many are far apart; steps of 2 keep one column in registers. */
    for (; step == 2 && at + 2 * MOST_VECTORS * POOL_LANES <= p.n;
         at += 2 * MOST_VECTORS * POOL_LANES)
        share_columns(&p, &k, x + at, y + at, step, 2 * MOST_VECTORS, sign);
    for (; at + MOST_VECTORS * POOL_LANES <= p.n; at += MOST_VECTORS * POOL_LANES)
        share_columns(&p, &k, x + at, y + at, step, MOST_VECTORS, sign);
    for (; at + POOL_LANES <= p.n; at += POOL_LANES)
        share_columns(&p, &k, x + at, y + at, step, 1, sign);
    if (at < p.n) share_columns(&p, &k, x + last_vector(&p), y + last_vector(&p), step, 1, sign);
}

INLINE void run(const ml_pool_args *args, const int few, const bool sign) {
    const ml_pool_args p = *args; /* a copy, not read again after each store */
    const constants k = begin(&p);
    const ELEMENT *x = p.x;
    ELEMENT *y = p.y;
    for (int64_t pixel = 0; pixel < p.pixels; pixel++, x += p.pixel_step, y += p.n) {
        int64_t at = 0;
        for (; at + MOST_VECTORS * POOL_LANES <= p.n; at += MOST_VECTORS * POOL_LANES)
            tile(&p, &k, x + at, y + at, few, MOST_VECTORS, sign);
        for (; at + POOL_LANES <= p.n; at += POOL_LANES) tile(&p, &k, x + at, y + at, few, 1, sign);
        if (at < p.n) tile(&p, &k, x + last_vector(&p), y + last_vector(&p), few, 1, sign);
    }
}

/* Computes pixels in whole vectors; those of fewer channels than a vector reach beyond the last
 * pixel, on both sides. */
INLINE void pool_whole(const ml_pool_args *p, const bool sign) {
    const bool shared = p->width == 3 && p->height == 3;
    if (shared && p->pixel_step == p->n) run_columns(p, 1, sign);
    else if (shared && p->pixel_step == 2 * p->n) run_columns(p, 2, sign);
    else if (p->width == 2 && p->height == 2) run(p, 2, sign);
    else run(p, 0, sign);
}

typedef void pixels_fn(const ml_pool_args *args);

/* The last pixels, `step` apart, whose vectors reach further than `reach` elements after the last
 * pixel. */
static inline int64_t pixels_beyond(const ml_pool_args *p, int64_t step, int64_t reach) {
    const int64_t lack = POOL_LANES - p->n - reach;
    const int64_t beyond = lack > 0 ? (lack + step - 1) / step : 0;
    return beyond < p->pixels ? beyond : p->pixels;
}

/* Computes `count` pixels by `pixels`, and goes on to those after them. */
static inline void advance(ml_pool_args *p, int64_t count, pixels_fn *pixels, ELEMENT *y) {
    ml_pool_args some = *p;
    some.pixels = count;
    some.y = y;
    if (count > 0) pixels(&some);
    p->x = (const ELEMENT *)p->x + count * p->pixel_step;
    p->y = (ELEMENT *)p->y + count * p->n;
    p->pixels -= count;
}

/* Computes pixels by `whole`, which is pool_whole for one sign. Where pixels have fewer channels
 * than a vector the last ones are written to a room of their own, from which the first elements are
 * copied; the last ones that may not be read in vectors are computed by `plain`, the primitive in
 * plain C. */
static inline void pool(const ml_pool_args *args, pixels_fn *whole, pixels_fn *plain) {
    if (args->pixels <= 0 || args->n <= 0) return;
    const int64_t unread = pixels_beyond(args, args->pixel_step, args->x_after);
    const int64_t unwritten = pixels_beyond(args, args->n, args->y_after);
    if (unread + unwritten == 0) {
        whole(args);
        return;
    }
    const int64_t narrow = unwritten > unread ? unwritten - unread : 0;
    ml_pool_args p = *args;
    ELEMENT room[2 * POOL_LANES], *y;
    advance(&p, p.pixels - unread - narrow, whole, p.y);
    y = p.y;
    advance(&p, narrow, whole, room);
    memcpy(y, room, (size_t)(narrow * p.n) * sizeof *y);
    advance(&p, unread, plain, p.y);
}
