/* fold_u8.c -- extremes of bytes, 16 at a time; the rest of a row is covered by its last 16 bytes,
 * some of which are read twice. */
#include "simd/portable/fold_u8.h"

static inline uint8x16_t load(const uint8_t *x, uint8x16_t flip) {
    return veorq_u8(vld1q_u8(x), flip);
}

/* Folds rows, to one result each. */
static void fold_rows(const ml_fold_u8_args *p) {
    const uint8x16_t flip = vdupq_n_u8(p->flip);
    const uint8_t *x = p->x;
    for (int64_t r = 0; r < p->rows; r++, x += p->stride) {
        uint8x16_t most = load(x + p->n - LANES_U8, flip), other = most;
        int64_t i = 0;
        for (; i + 2 * LANES_U8 <= p->n; i += 2 * LANES_U8) {
            most = vmaxq_u8(most, load(x + i, flip));
            other = vmaxq_u8(other, load(x + i + LANES_U8, flip));
        }
        if (i + LANES_U8 <= p->n) most = vmaxq_u8(most, load(x + i, flip));
        const uint8_t found = vmaxvq_u8(vmaxq_u8(most, other)), was = p->y[r] ^ p->flip;
        p->y[r] = (found > was ? found : was) ^ p->flip;
    }
}

void ml_fold_u8_neon(const ml_fold_u8_args *args) {
    if (args->n < LANES_U8) ml_fold_u8_scalar(args);
    else if (args->across) fold_across(args);
    else fold_rows(args);
}
