/* blend_tile.h -- blends each pixel from four, in vectors of any width: blend_pixels(args).
 *
 * The file that includes it defines its vectors of LANES channels: CHANNELS, of ELEMENT, READ(p),
 * READ_PART(p, count), WRITE(p, v), WRITE_PART(p, v, count), and BLEND(k, nw, sw, ne, se) with
 * `constants` k, which begin(down, across) makes from the weights of the lower and the right
 * pixels. */
static void blend_pixels(const ml_blend_args *args) {
    const ml_blend_args p = *args; /* a copy, not read again after each store */
    ELEMENT *y = p.y;
    for (int64_t i = 0; i < p.pixels; i++, y += p.n) {
        const ml_blend_tap tap = p.taps[i];
        const constants k = begin(p.down, tap.part);
        const ELEMENT *nw = (const ELEMENT *)p.upper + tap.first * p.n;
        const ELEMENT *sw = (const ELEMENT *)p.lower + tap.first * p.n;
        const ELEMENT *ne = (const ELEMENT *)p.upper + tap.second * p.n;
        const ELEMENT *se = (const ELEMENT *)p.lower + tap.second * p.n;
        int64_t at = 0;
        for (; at + LANES <= p.n; at += LANES)
            WRITE(y + at, BLEND(&k, READ(nw + at), READ(sw + at), READ(ne + at), READ(se + at)));
        if (at == p.n) continue;
        const int count = (int)(p.n - at);
        CHANNELS v = BLEND(&k, READ_PART(nw + at, count), READ_PART(sw + at, count),
                           READ_PART(ne + at, count), READ_PART(se + at, count));
        WRITE_PART(y + at, v, count);
    }
}
