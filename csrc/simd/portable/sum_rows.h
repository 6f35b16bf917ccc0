/* sum_rows.h -- the sums across rows of sum_rows_s8, in the words of a level: some vectors stay in
 * registers for all rows. */
#include "simd/words.h"

enum { MOST_VECTORS = 4 };

#define INLINE __attribute__((always_inline)) static inline

/* Adds up `vectors` (a constant) vectors of columns; with `part`, the first `count` columns of a
 * single one. */
INLINE void add_rows(const ml_sum_rows_s8_args *p, int64_t column, const int vectors,
                     const bool part, int64_t count, const bool is_signed) {
    VECTOR_S32 sums[MOST_VECTORS];
    const uint8_t *x = p->x + column;
    int32_t *y = p->sums + column;
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++)
        sums[v] = part ? LOAD_PART_S32(y, count) : LOAD_S32(y + v * LANES);
    for (int64_t r = 0; r < p->rows; r++, x += p->stride) ML_UNROLL(4)
    for (int v = 0; v < vectors; v++)
        sums[v] = ADD_S32(sums[v],
                          part ? WIDEN_PART(x, count, is_signed) : WIDEN(x + v * LANES, is_signed));
    ML_UNROLL(4)
    for (int v = 0; v < vectors; v++)
        if (part) STORE_PART_S32(y, sums[v], count);
        else STORE_S32(y + v * LANES, sums[v]);
}

INLINE void add_across(const ml_sum_rows_s8_args *args, const bool is_signed) {
    const ml_sum_rows_s8_args p = *args; /* a copy, not read again after each store */
    int64_t column = 0;
    for (; column + MOST_VECTORS * LANES <= p.n; column += MOST_VECTORS * LANES)
        add_rows(&p, column, MOST_VECTORS, false, LANES, is_signed);
    for (; column + LANES <= p.n; column += LANES) add_rows(&p, column, 1, false, LANES, is_signed);
    if (column < p.n) add_rows(&p, column, 1, true, p.n - column, is_signed);
}
