/* matmul_s8_tile.h -- sums of a tile of matmul_s8 by vpdpbusd: four products per lane, of a vector
 * of weights with four bytes of a row.
 *
 * A tile is some rows times some vectors of outputs of a panel, both constants where it is inlined,
 * so that its sums stay in registers. Rows are addressed in groups of four, so that few registers
 * hold addresses. The empty asm keeps the compiler from computing the addresses of all groups in
 * advance.
 *
 * The file that includes it defines MOST_ROWS, MOST_VECTORS and MOST_SUMS of a tile. If it defines
 * ROW_AHEAD, a tile of a single row prefetches its weights that many bytes ahead, if they are
 * many. */
#include "simd/words.h"

#define MORE_OF_PLACE     \
    const uint8_t *a;     \
    int64_t a_stride;     \
    int64_t piece_stride;
#include "simd/tiles/matmul_s8_place.h"

#include "simd/tiles/matmul_s8_rows.h"

enum {
    ALONE_SUMS = 8, /* vectors of sums of a single row */
    MANY_BYTES = 256 << 10 /* bytes of weights that a second-level cache does not hold for long */
};

INLINE VECTOR_S32 four(const uint8_t *a) {
    int32_t bytes;
    memcpy(&bytes, a, sizeof bytes);
    return SPLAT_S32(bytes);
}

/* sums += `groups` groups. */
INLINE void add_groups(const uint8_t *a, int64_t a_stride, const tile_place *at, const int8_t *w,
                       const VECTOR_S32 flip, int64_t groups, const int rows, const int vectors,
                       VECTOR_S32 *sums) {
    const uint8_t *group[(MOST_ROWS + 3) / 4];
    ML_UNROLL(4)
    for (int g = 0; g < (rows + 3) / 4; g++) {
        group[g] = a + 4 * g * a_stride;
        __asm__("" : "+r"(group[g]));
    }
    for (int64_t j = 0; j < groups; j++, w += at->step) {
        VECTOR_S32 weights[MOST_VECTORS];
        ML_UNROLL(4)
        for (int v = 0; v < vectors; v++) weights[v] = LOAD_S32(w + v * LANES * GROUP);
        ML_UNROLL(14)
        for (int r = 0; r < rows; r++) {
            const uint8_t *from = group[r / 4] + r % 4 * a_stride + j * GROUP;
            VECTOR_S32 x = four(from);
            if (rows == 1) x = XOR_U8(flip, x);
            ML_UNROLL(4)
            for (int v = 0; v < vectors; v++) {
                const int i = r * vectors + v;
                sums[i] = ADD_PRODUCTS(sums[i], x, weights[v]);
            }
        }
    }
}

/* sums += groups of a single row. Its sums would wait for each other, so there are several chains
 * of them in ALONE_SUMS vectors, to which groups are added in turn. Returns the number of groups
 * added. */
INLINE int64_t add_chains(const uint8_t *a, const tile_place *at, const int8_t *w,
                          const VECTOR_S32 flip, int64_t groups, const bool many, const int vectors,
                          VECTOR_S32 *sums) {
    const int chains = ALONE_SUMS / vectors;
    int64_t j = 0;
    for (; j + chains <= groups; j += chains) ML_UNROLL(8)
    for (int i = 0; i < chains; i++, w += at->step) {
#ifdef ROW_AHEAD
        ML_UNROLL(4)
        for (int v = 0; many && v < vectors; v++)
            __builtin_prefetch(w + v * LANES * GROUP + ROW_AHEAD);
#endif
        const VECTOR_S32 x = XOR_U8(flip, four(a + (j + i) * GROUP));
        ML_UNROLL(4)
        for (int v = 0; v < vectors; v++)
            sums[i * vectors + v] =
                ADD_PRODUCTS(sums[i * vectors + v], x, LOAD_S32(w + v * LANES * GROUP));
    }
    return j;
}

/* Loads the bytes of a piece that has fewer than four. */
INLINE VECTOR_S32 fewer(const uint8_t *a, int64_t count) {
    return SPLAT_S32(a[0] | (count > 1 ? a[1] << 8 : 0) | (count > 2 ? a[2] << 16 : 0));
}

/* sums += the products of pieces of fewer bytes than a group has. Not inlined, because such pieces
 * are rare: a piece of a copied line has a whole group. */
__attribute__((noinline)) static void add_fewer(const ml_matmul_s8_args *p, const tile_place *at,
                                                int rows, int vectors, VECTOR_S32 *sums) {
    const VECTOR_S32 flip =
        SPLAT_S32((int32_t)((uint32_t)(rows == 1 ? p->flip : 0) * UINT32_C(0x01010101)));
    const uint8_t *a = at->a;
    const int8_t *w = at->w;
    for (int64_t piece = 0; piece < p->pieces; piece++, a += at->piece_stride, w += at->step)
        for (int r = 0; r < rows; r++) {
            const VECTOR_S32 x = XOR_U8(flip, fewer(a + r * at->a_stride, p->k));
            for (int v = 0; v < vectors; v++) {
                VECTOR_S32 *sum = &sums[r * vectors + v];
                *sum = ADD_PRODUCTS(*sum, x, LOAD_S32(w + v * LANES * GROUP));
            }
        }
}

/* Computes the rows * vectors sums of a tile, in an array of MOST_SUMS. They begin with `start`, a
 * vector for each vector of outputs. If a piece is not a multiple of four bytes, its last four are
 * one more group. */
INLINE void sum_tile(const ml_matmul_s8_args *p, const tile_place *at, const int rows,
                     const int vectors, const VECTOR_S32 *start, VECTOR_S32 *sums) {
    const int64_t groups = p->k / GROUP, rest = p->k % GROUP;
    const uint8_t *a = at->a;
    const int8_t *w = at->w;
    const VECTOR_S32 flip = SPLAT_S32(
        (int32_t)((uint32_t)p->flip * UINT32_C(0x01010101))); /* flips the bytes of one row */
    const bool many = p->n * p->k * p->pieces > MANY_BYTES;
    const int used = rows == 1 ? ALONE_SUMS / vectors * vectors : rows * vectors;
    ML_UNROLL(28)
    for (int i = 0; i < used; i++)
        sums[i] = rows == 1 && i >= vectors ? SPLAT_S32(0) : start[i % vectors];
    if (groups == 0) {
        VECTOR_S32 some[MOST_SUMS];
        ML_UNROLL(28)
        for (int i = 0; i < rows * vectors; i++) some[i] = sums[i];
        if (rest) add_fewer(p, at, rows, vectors, some);
        ML_UNROLL(28)
        for (int i = 0; i < rows * vectors; i++) sums[i] = some[i];
        return;
    }
    for (int64_t piece = 0; piece < p->pieces; piece++, a += at->piece_stride) {
        const uint8_t *from = a;
        int64_t left = groups;
        if (rows == 1) {
            const int64_t done = add_chains(a, at, w, flip, groups, many, vectors, sums);
            from += done * GROUP;
            w += done * at->step;
            left -= done;
        }
        for (int64_t part = rest ? 2 : 1; part > 0; part--) {
            add_groups(from, at->a_stride, at, w, flip, left, rows, vectors, sums);
            w += left * at->step;
            from = a + p->k - GROUP;
            left = 1;
        }
    }
    ML_UNROLL(8)
    for (int i = vectors; i < used && rows == 1; i++)
        sums[i % vectors] = ADD_S32(sums[i % vectors], sums[i]);
}
