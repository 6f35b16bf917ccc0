/* sum_rows_s8.c -- along rows by UDOT with ones. */
#define ADD_BYTES(sum, x) vdotq_u32(sum, x, vdupq_n_u8(1))
#include "simd/neon/sum_rows_s8.h"

ml_sum_rows_s8_fn ml_sum_rows_s8_neon;

void ml_sum_rows_s8_neon_dot(const ml_sum_rows_s8_args *p) {
    if (p->along) add_along(p);
    else ml_sum_rows_s8_neon(p);
}
