/* fold_u8.c -- extremes of bytes, 16 at a time; the rest of a row is covered by its last 16 bytes,
 * some of which are read twice. */
#include "simd/neon/intrinsics.h"

#include "simd/variants.h"

enum { LANES = 16 };

static inline uint8x16_t load(const uint8_t *x, uint8x16_t flip) {
    return veorq_u8(vld1q_u8(x), flip);
}

/* Folds rows, to one result each. */
static void fold_rows(const ml_fold_u8_args *p) {
    const uint8x16_t flip = vdupq_n_u8(p->flip);
    const uint8_t *x = p->x;
    for (int64_t r = 0; r < p->rows; r++, x += p->stride) {
        uint8x16_t most = load(x + p->n - LANES, flip), other = most;
        int64_t i = 0;
        for (; i + 2 * LANES <= p->n; i += 2 * LANES) {
            most = vmaxq_u8(most, load(x + i, flip));
            other = vmaxq_u8(other, load(x + i + LANES, flip));
        }
        if (i + LANES <= p->n) most = vmaxq_u8(most, load(x + i, flip));
        const uint8_t found = vmaxvq_u8(vmaxq_u8(most, other)), was = p->y[r] ^ p->flip;
        p->y[r] = (found > was ? found : was) ^ p->flip;
    }
}

static inline void join(uint8_t *y, const uint8_t *x, uint8x16_t flip) {
    vst1q_u8(y, veorq_u8(vmaxq_u8(load(y, flip), load(x, flip)), flip));
}

/* Folds across rows, element by element. */
static void fold_across(const ml_fold_u8_args *p) {
    const uint8x16_t flip = vdupq_n_u8(p->flip);
    const uint8_t *x = p->x;
    for (int64_t r = 0; r < p->rows; r++, x += p->stride) {
        for (int64_t i = 0; i + LANES <= p->n; i += LANES) join(p->y + i, x + i, flip);
        join(p->y + p->n - LANES, x + p->n - LANES, flip);
    }
}

void ml_fold_u8_neon(const ml_fold_u8_args *args) {
    if (args->n < LANES) ml_fold_u8_scalar(args);
    else if (args->across) fold_across(args);
    else fold_rows(args);
}
