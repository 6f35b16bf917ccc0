/* sum_rows_s8.h -- sum_rows_s8 in vectors of any width: some of them stay in registers for all
 * rows. The file that includes it names its FUNCTION and has included its level's vectors of int32;
 * it may say ALONG(args), what sums along rows. */
#include "simd.h"

enum { MOST_VECTORS = 4, GROUPS = 4 * LANES };

#define INLINE __attribute__((always_inline)) static inline

/* `vectors` vectors of columns, a constant; `part`: of a single one the first `count`. */
INLINE void add_rows(const ml_sum_rows_s8_args *p, int64_t column, const int vectors,
                     const bool part, int64_t count, const bool is_signed) {
    VECTOR_S32 sums[MOST_VECTORS];
    const uint8_t *x = p->x + column;
    int32_t *y = p->sums + column;
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        sums[v] = part ? LOAD_PART_S32(y, count) : LOAD_S32(y + v * LANES);
    for (int64_t r = 0; r < p->rows; r++, x += p->stride)
#pragma GCC unroll 4
        for (int v = 0; v < vectors; v++)
            sums[v] = ADD_S32(sums[v], part ? WIDEN_PART(x, count, is_signed)
                                            : WIDEN(x + v * LANES, is_signed));
#pragma GCC unroll 4
    for (int v = 0; v < vectors; v++)
        if (part) STORE_PART_S32(y, sums[v], count);
        else STORE_S32(y + v * LANES, sums[v]);
}

#ifndef ALONG
#define ALONG(p) (p)->is_signed ? add_along(p, true) : add_along(p, false)
/* Neighbours are summed within lanes as they are read. */
INLINE void add_along(const ml_sum_rows_s8_args *args, const bool is_signed) {
    const ml_sum_rows_s8_args p = *args; /* a copy, which stores do not change */
    for (int64_t r = 0; r < p.rows; r++) {
        const uint8_t *x = p.x + r * p.stride;
        VECTOR_S32 sum = SPLAT_S32(0), other = sum;
        int64_t i = 0;
        for (; i + 2 * GROUPS <= p.n; i += 2 * GROUPS) {
            sum = ADD_GROUPS(sum, x + i, is_signed);
            other = ADD_GROUPS(other, x + i + GROUPS, is_signed);
        }
        sum = ADD_S32(sum, other);
        if (i + GROUPS <= p.n) sum = ADD_GROUPS(sum, x + i, is_signed), i += GROUPS;
        for (; i + LANES <= p.n; i += LANES) sum = ADD_S32(sum, WIDEN(x + i, is_signed));
        if (i < p.n) sum = ADD_S32(sum, WIDEN_PART(x + i, p.n - i, is_signed));
        p.sums[r] = (int32_t)((uint32_t)p.sums[r] + (uint32_t)SUM_OF_S32(sum));
    }
}
#endif

INLINE void run(const ml_sum_rows_s8_args *args, const bool is_signed) {
    const ml_sum_rows_s8_args p = *args; /* a copy, which stores do not change */
    int64_t column = 0;
    for (; column + MOST_VECTORS * LANES <= p.n; column += MOST_VECTORS * LANES)
        add_rows(&p, column, MOST_VECTORS, false, LANES, is_signed);
    for (; column + LANES <= p.n; column += LANES) add_rows(&p, column, 1, false, LANES, is_signed);
    if (column < p.n) add_rows(&p, column, 1, true, p.n - column, is_signed);
}

void FUNCTION(const ml_sum_rows_s8_args *p) {
    if (p->along) ALONG(p);
    else p->is_signed ? run(p, true) : run(p, false);
}
