/* blend_u8.c -- blend_u8 in the words of a level, in floats. */
#include "simd/portable/blend_real.h"

#define CHANNELS VECTOR
#define ELEMENT uint8_t
#define READ(p) FLOATS(WIDEN(p, false))
#define READ_PART(p, count) FLOATS(WIDEN_PART(p, count, false))
#define WRITE(p, v) NARROW(p, TRUNCATED(v))
#define BLEND(k, nw, sw, ne, se) ADD(blend_real(k, nw, sw, ne, se), SPLAT(0.5f))

#include "simd/portable/blend_tile.h"

/* Multiplies the elements of a line by its weight. */
static void weigh(const uint8_t *x, int64_t count, float weight, float *y) {
    const VECTOR by = SPLAT(weight);
    int64_t at = 0;
    for (; at + LANES <= count; at += LANES) STORE(y + at, MUL(READ(x + at), by));
    const int left = (int)(count - at);
    if (left) STORE_PART(y + at, MUL(READ_PART(x + at, left), by), left);
}

/* Blends each pixel of at least LANES channels from columns that were weighed; the last vector
 * begins early enough to be a whole one. */
static void blend_weighed(const ml_blend_args *args) {
    const ml_blend_args p = *args; /* a copy, not read again after each store */
    const VECTOR half = SPLAT(0.5f);
    uint8_t *y = p.y;
    for (int64_t i = 0; i < p.pixels; i++, y += p.n) {
        const ml_blend_tap tap = p.taps[i];
        const VECTOR left = SPLAT(1.0f - tap.part.real), right = SPLAT(tap.part.real);
        const float *nw = p.room + tap.first * p.n, *sw = nw + p.columns * p.n;
        const float *ne = p.room + tap.second * p.n, *se = ne + p.columns * p.n;
        for (int64_t begin = 0; begin < p.n; begin += LANES) {
            const int64_t at = begin + LANES <= p.n ? begin : p.n - LANES;
            const VECTOR a = MUL(LOAD(nw + at), left), b = MUL(LOAD(sw + at), left);
            const VECTOR d = MUL(LOAD(ne + at), right), e = MUL(LOAD(se + at), right);
            WRITE(y + at, ADD(ADD(ADD(ADD(a, b), d), e), half));
        }
    }
}

void ML_VARIANT(blend_u8)(const ml_blend_args *p) {
    if (p->n < LANES || !p->room) {
        NARROWER_OR(blend_u8, p, LANES, blend_pixels(p, ml_blend_u8_scalar));
        return;
    }
    weigh(p->upper, p->columns * p->n, 1.0f - p->down.real, p->room);
    weigh(p->lower, p->columns * p->n, p->down.real, p->room + p->columns * p->n);
    blend_weighed(p);
}
