/* blend_tile.h -- pixels blended of four, in vectors of any width.
 *
 * The file that includes it names its FUNCTION and says what its vectors of LANES channels are: VECTOR, ELEMENT, LOAD(p),
 * LOAD_PART(p, count), STORE(p, v), STORE_PART(p, v, count); and has `constants` and
 *
 *     constants begin(ml_blend_part down, ml_blend_part across);
 *     VECTOR blend(const constants *k, VECTOR nw, VECTOR sw, VECTOR ne, VECTOR se);
 */
void FUNCTION(const ml_blend_args *args) {
    const ml_blend_args p = *args; /* a copy, which stores do not change */
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
            STORE(y + at, blend(&k, LOAD(nw + at), LOAD(sw + at), LOAD(ne + at), LOAD(se + at)));
        if (at == p.n) continue;
        const int count = (int)(p.n - at);
        VECTOR v = blend(&k, LOAD_PART(nw + at, count), LOAD_PART(sw + at, count),
                         LOAD_PART(ne + at, count), LOAD_PART(se + at, count));
        STORE_PART(y + at, v, count);
    }
}
