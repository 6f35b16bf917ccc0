/* fold_u8.h -- the folds across rows of fold_u8, in the words of a level: some vectors stay in
 * registers for all rows. */
#include "simd/words.h"

enum { MOST_VECTORS = 8 };

#define INLINE __attribute__((always_inline)) static inline

/* Folds `vectors` (a constant) vectors of columns. */
INLINE void fold_columns(const ml_fold_u8_args *p, int64_t column, const int vectors) {
    const VECTOR_U8 flip = SPLAT_U8(p->flip);
    const uint8_t *x = p->x + column;
    uint8_t *y = p->y + column;
    VECTOR_U8 most[MOST_VECTORS];
    ML_UNROLL(8)
    for (int v = 0; v < vectors; v++) most[v] = XOR_U8(flip, LOAD_U8(y + v * LANES_U8));
    for (int64_t r = 0; r < p->rows; r++, x += p->stride) ML_UNROLL(8)
    for (int v = 0; v < vectors; v++)
        most[v] = MAX_U8(most[v], XOR_U8(flip, LOAD_U8(x + v * LANES_U8)), false);
    ML_UNROLL(8)
    for (int v = 0; v < vectors; v++) STORE_U8(y + v * LANES_U8, XOR_U8(flip, most[v]));
}

/* For rows of a vector or more. The rest of a row is folded with columns before it, which count
 * twice. */
static void fold_across(const ml_fold_u8_args *args) {
    const ml_fold_u8_args p = *args; /* a copy, not read again after each store */
    int64_t column = 0;
    for (; column + 8 * LANES_U8 <= p.n; column += 8 * LANES_U8) fold_columns(&p, column, 8);
    for (; column + 2 * LANES_U8 <= p.n; column += 2 * LANES_U8) fold_columns(&p, column, 2);
    if (column + LANES_U8 < p.n) fold_columns(&p, column, 1);
    if (column < p.n) fold_columns(&p, p.n - LANES_U8, 1);
}
