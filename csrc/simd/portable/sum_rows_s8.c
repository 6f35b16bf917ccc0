/* sum_rows_s8.c -- sum_rows_s8 in the words of a level. */
#include "simd/portable/sum_rows.h"

enum { GROUPS = 4 * LANES };

/* Neighbours are summed within lanes as they are read. */
INLINE void add_along(const ml_sum_rows_s8_args *args, const bool is_signed) {
    const ml_sum_rows_s8_args p = *args; /* a copy, not read again after each store */
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

void ML_VARIANT(sum_rows_s8)(const ml_sum_rows_s8_args *p) {
    if (p->along) p->is_signed ? add_along(p, true) : add_along(p, false);
    else p->is_signed ? add_across(p, true) : add_across(p, false);
}
