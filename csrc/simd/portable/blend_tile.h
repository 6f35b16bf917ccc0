/* blend_tile.h -- blends each pixel from four, in vectors of any width: blend_pixels(args, plain).
 *
 * The file that includes it defines its vectors of LANES channels: CHANNELS, of ELEMENT, READ(p),
 * WRITE(p, v), and BLEND(k, nw, sw, ne, se) with `constants` k, which begin(down, across) makes
 * from the weights of the lower and the right pixels. */

/* Blends pixels in whole vectors. The last one begins early enough to be a whole one, and blends
 * some channels again; or it is the only one, and reaches beyond the pixel, on both sides. */
static void blend_whole(const ml_blend_args *args) {
    const ml_blend_args p = *args; /* a copy, not read again after each store */
    const int64_t last = p.n > LANES ? p.n - LANES : 0;
    ELEMENT *y = p.y;
    for (int64_t i = 0; i < p.pixels; i++, y += p.n) {
        const ml_blend_tap tap = p.taps[i];
        const constants k = begin(p.down, tap.part);
        const ELEMENT *nw = (const ELEMENT *)p.upper + tap.first * p.n;
        const ELEMENT *sw = (const ELEMENT *)p.lower + tap.first * p.n;
        const ELEMENT *ne = (const ELEMENT *)p.upper + tap.second * p.n;
        const ELEMENT *se = (const ELEMENT *)p.lower + tap.second * p.n;
        for (int64_t from = 0; from < p.n; from += LANES) {
            const int64_t at = from < last ? from : last;
            WRITE(y + at, BLEND(&k, READ(nw + at), READ(sw + at), READ(ne + at), READ(se + at)));
        }
    }
}

/* Blends pixels; where they have fewer channels than a vector the last ones are written to a room
 * of their own, from which the first elements are copied. `plain` is the primitive in plain C, for
 * lines after which too little may be read. */
static inline void blend_pixels(const ml_blend_args *args, void (*plain)(const ml_blend_args *)) {
    const int64_t beyond = LANES - args->n, lack = beyond - args->y_after;
    if (args->n <= 0) return;
    if (beyond > args->x_after) plain(args);
    else if (lack <= 0) blend_whole(args);
    else {
        const int64_t unwritten = (lack + args->n - 1) / args->n;
        const int64_t last = unwritten < args->pixels ? unwritten : args->pixels;
        ELEMENT room[2 * LANES];
        ml_blend_args p = *args;
        p.pixels -= last;
        blend_whole(&p);
        p.taps += p.pixels;
        p.pixels = last;
        p.y = room;
        blend_whole(&p);
        memcpy((ELEMENT *)args->y + (args->pixels - last) * args->n, room,
               (size_t)(last * args->n) * sizeof *room);
    }
}
