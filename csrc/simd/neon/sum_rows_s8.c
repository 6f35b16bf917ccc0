/* sum_rows_s8.c -- sums rows as portable/sum_rows_s8.c does; along rows by UADDLP and UADALP. */
#define ADD_BYTES(sum, x) vpadalq_u16(sum, vpaddlq_u8(x))
#include "simd/portable/sum_rows.h"
#include "simd/neon/sum_rows_s8.h"

void ml_sum_rows_s8_neon(const ml_sum_rows_s8_args *p) {
    if (p->along) add_along(p);
    else p->is_signed ? add_across(p, true) : add_across(p, false);
}
