/* product_row.h -- product_s8 of a single row, at neon and the levels above it. The constants of an
 * output are used once, so they are read where they lie, and none are prepared for a whole call. */

/* The arguments and factors that all outputs of the row have in common. */
typedef struct row_call {
    ml_matmul_s8_args p;
    ml_requantize_args bytes;
    ends ends;
    int32_t of_sums; /* the factor of the sums of weights */
    int32_t
        of_columns; /* the factor of `columns`; 0 if these are the sums of weights, or missing */
} row_call;

/* Loads the starts of some outputs' sums, of which `left` exist. */
INLINE void load_starts(const row_call *c, const int32_t *sums, int64_t output, int64_t left,
                        const int vectors, int32x4_t *start) {
    ML_UNROLL(16)
    for (int v = 0; v < vectors; v++)
        start[v] = vmulq_n_s32(load_columns(sums + v * LANES, left - v * LANES, 0), c->of_sums);
    if (c->p.bias) ML_UNROLL(16)
    for (int v = 0; v < vectors; v++)
        start[v] =
            vaddq_s32(start[v], load_columns(c->p.bias + output + v * LANES, left - v * LANES, 0));
    if (__builtin_expect(c->of_columns != 0, 0)) ML_UNROLL(16)
    for (int v = 0; v < vectors; v++)
        start[v] = vmlaq_n_s32(start[v],
                               load_columns(c->p.columns + output + v * LANES, left - v * LANES, 0),
                               c->of_columns);
}

/* Scales the sums of four vectors, from `output` on. */
INLINE void scale_part(const row_call *c, int64_t output, int64_t left, int32x4_t *v) {
    const double *reals = c->bytes.reals;
    if (!reals) scale_columns(&c->bytes, output, left, c->ends.one_sided, v);
    else ML_UNROLL(4)
    for (int i = 0; i < TOGETHER; i++, output += QUAD, left -= QUAD)
        v[i] = scale_real(v[i], load_reals(reals + output, left),
                          load_reals(reals + output + 2, left - 2));
}

/* Computes the outputs of a tile, of which `left` exist. Sums go through an array, because the code
 * would be long if each part of four vectors had registers of its own. */
INLINE void row_tile(const row_call *c, const int8_t *w, const int64_t step, int64_t panel,
                     int64_t at, int64_t left, const int32_t *sums_of_weights, const int vectors,
                     const bool flips) {
    const uint8_t *a[MOST_ROWS] = {c->p.a};
    const int64_t piece_stride = c->p.piece_stride;
    int64_t output = panel + at;
    SUMS sums[ALONE_VECTORS];
    int32x4_t totals[ALONE_VECTORS], start[ALONE_VECTORS];
    load_starts(c, sums_of_weights, output, left, vectors, start);
    ML_UNROLL(16)
    for (int v = 0; v < vectors; v++) sums[v] = SUMS_OF(start[v]);
    for (int64_t piece = c->p.pieces; piece > 0; piece--, a[0] += piece_stride)
        w = add_piece(&c->p, a, w, step, at, 1, vectors, flips, sums);
    ML_UNROLL(16)
    for (int v = 0; v < vectors; v++) totals[v] = TOTAL(sums[v], 0);
    for (int v = 0; v < vectors; v += TOGETHER, output += ML_PART_S8, left -= ML_PART_S8) {
        scale_part(c, output, left, totals + v);
        put(c->bytes.y + output,
            to_bytes(totals[v], totals[v + 1], totals[v + 2], totals[v + 3], &c->ends), left);
    }
}

INLINE void row_panels(const row_call *c, const bool flips) {
    const int64_t n = c->p.n, bytes = c->p.pieces * ml_round_up(c->p.k, 4);
    int32_t made[ML_PANEL_S8];
    for (int64_t panel = 0; panel < n; panel += ML_PANEL_S8) {
        const int64_t width = ml_width_s8(n, panel), left = n - panel;
        const int8_t *w = c->p.packed + panel * bytes;
        const int32_t *sums = c->p.sums ? c->p.sums + panel : made;
        if (!c->p.sums) sum_weights(&c->p, panel, made);
        if (left >= ML_PANEL_S8) {
            for (int64_t i = 0; i < ML_PANEL_S8; i += ALONE_VECTORS * LANES)
                row_tile(c, w + i * GROUP, GROUP * ML_PANEL_S8, panel, i, ML_PANEL_S8, sums + i,
                         ALONE_VECTORS, flips);
            continue;
        }
        int64_t i = 0;
        for (; i + ML_PART_S8 <= left; i += ML_PART_S8)
            row_tile(c, w + i * GROUP, GROUP * width, panel, i, ML_PART_S8, sums + i, TOGETHER,
                     flips);
        if (i < left)
            row_tile(c, w + i * GROUP, GROUP * width, panel, i, left - i, sums + i, TOGETHER,
                     flips);
    }
}

static void multiply_row(const ml_matmul_s8_args *p, const ml_requantize_args *bytes) {
    row_call c = {
        .p = *p, .bytes = *bytes, .ends = ends_of(bytes), .of_sums = IS_LESS(p) ? 128 : 0};
    if (p->factors && p->columns == p->sums) c.of_sums += p->factors[0];
    else if (p->factors) c.of_columns = p->factors[0];
    if (p->flip == 128 || !FLIPS_APART) row_panels(&c, false);
    else row_panels(&c, true);
}
