/* matmul_s8_tile.h -- sums of a tile of matmul_s8 by vpdpbusd: four products per lane, of a vector
 * of weights with four bytes of a row.
 *
 * The file that includes it defines its vectors: VECTOR and LANES; ZERO(), SET(x), LOAD(p);
 * DOT(sum, bytes, weights), ADD(a, b), XOR(a, b); MOST_ROWS and MOST_VECTORS of a tile; and
 * what matmul_s8_rows.h needs, whose begin_rows finds the rows of a tile. If it defines ROW_AHEAD,
 * a tile of a single row prefetches its weights that many bytes ahead, if they are many.
 *
 * A tile is some rows times some vectors of outputs of a panel, both constants where it is inlined,
 * so that its sums stay in registers. Rows are addressed in groups of four, so that few registers
 * hold addresses. The empty asm hides that one group's address follows from another's. */
#define MORE_OF_PLACE     \
    const uint8_t *a;     \
    int64_t a_stride;     \
    int64_t piece_stride;
#include "simd/tiles/matmul_s8_place.h"

#include "simd/tiles/matmul_s8_rows.h"

enum {
    ALONE_SUMS = 8, /* vectors of sums of a single row */
    MANY_BYTES = 256 << 10 /* of weights, which a second-level cache does not hold for long */
};

INLINE VECTOR four(const uint8_t *a) {
    int32_t bytes;
    memcpy(&bytes, a, sizeof bytes);
    return SET(bytes);
}

/* The bytes of a piece that has fewer than four. */
INLINE VECTOR fewer(const uint8_t *a, int64_t count) {
    return SET(a[0] | (count > 1 ? a[1] << 8 : 0) | (count > 2 ? a[2] << 16 : 0));
}

/* sums += `groups` groups, of `count` bytes each. */
INLINE void add_groups(const uint8_t *a, int64_t a_stride, const tile_place *at, const int8_t *w,
                       const VECTOR flip, int64_t groups, int64_t count, const int rows,
                       const int vectors, VECTOR *sums) {
    const uint8_t *group[(MOST_ROWS + 3) / 4];
    ML_UNROLL(4)
    for (int g = 0; g < (rows + 3) / 4; g++) {
        group[g] = a + 4 * g * a_stride;
        __asm__("" : "+r"(group[g]));
    }
    for (int64_t j = 0; j < groups; j++, w += at->step) {
        VECTOR weights[MOST_VECTORS];
        ML_UNROLL(4)
        for (int v = 0; v < vectors; v++) weights[v] = LOAD(w + v * LANES * GROUP);
        ML_UNROLL(14)
        for (int r = 0; r < rows; r++) {
            const uint8_t *from = group[r / 4] + r % 4 * a_stride + j * GROUP;
            VECTOR x = count < GROUP ? fewer(from, count) : four(from);
            if (rows == 1) x = XOR(flip, x);
            ML_UNROLL(4)
            for (int v = 0; v < vectors; v++) {
                const int i = r * vectors + v;
                sums[i] = DOT(sums[i], x, weights[v]);
            }
        }
    }
}

/* sums += groups of a single row. Its sums would wait for each other, so there are several chains
 * of them in ALONE_SUMS vectors, to which groups are added in turn. Returns the number of groups
 * added. */
INLINE int64_t add_chains(const uint8_t *a, const tile_place *at, const int8_t *w,
                          const VECTOR flip, int64_t groups, const bool many, const int vectors,
                          VECTOR *sums) {
    const int chains = ALONE_SUMS / vectors;
    int64_t j = 0;
    for (; j + chains <= groups; j += chains) ML_UNROLL(8)
    for (int i = 0; i < chains; i++, w += at->step) {
#ifdef ROW_AHEAD
        ML_UNROLL(4)
        for (int v = 0; many && v < vectors; v++)
            __builtin_prefetch(w + v * LANES * GROUP + ROW_AHEAD);
#endif
        const VECTOR x = XOR(flip, four(a + (j + i) * GROUP));
        ML_UNROLL(4)
        for (int v = 0; v < vectors; v++)
            sums[i * vectors + v] = DOT(sums[i * vectors + v], x, LOAD(w + v * LANES * GROUP));
    }
    return j;
}

/* Computes the rows * vectors sums of a tile, in an array of MOST_SUMS. They begin with `start`,
 * which has one for each of the vectors. */
INLINE void sum_tile(const ml_matmul_s8_args *p, const tile_place *at, const int rows,
                     const int vectors, const VECTOR *start, VECTOR *sums) {
    const int64_t groups = p->k / GROUP, rest = p->k % GROUP;
    const uint8_t *a = at->a;
    const int8_t *w = at->w;
    const VECTOR flip = SET((int32_t)((uint32_t)p->flip * UINT32_C(0x01010101))); /* of one row */
    const bool many = p->n * p->k * p->pieces > MANY_BYTES;
    const int used = rows == 1 ? ALONE_SUMS / vectors * vectors : rows * vectors;
    ML_UNROLL(28)
    for (int i = 0; i < used; i++)
        sums[i] = rows == 1 && i >= vectors ? ZERO() : start[i % vectors];
    for (int64_t piece = 0; piece < p->pieces; piece++, a += at->piece_stride) {
        const int64_t done =
            rows == 1 ? add_chains(a, at, w, flip, groups, many, vectors, sums) : 0;
        add_groups(a + done * GROUP, at->a_stride, at, w + done * at->step, flip, groups - done,
                   GROUP, rows, vectors, sums);
        w += groups * at->step;
        if (rest == 0) continue;
        if (groups)
            add_groups(a + p->k - GROUP, at->a_stride, at, w, flip, 1, GROUP, rows, vectors, sums);
        else add_groups(a, at->a_stride, at, w, flip, 1, rest, rows, vectors, sums);
        w += at->step;
    }
    ML_UNROLL(8)
    for (int i = vectors; i < used && rows == 1; i++)
        sums[i % vectors] = ADD(sums[i % vectors], sums[i]);
}
