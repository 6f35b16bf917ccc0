/* interleave_s8.c -- four lines side by side, sixteen bytes of each at a time; the last sixteen or
 * eight cover the rest, and some of them are written twice. */
#include <stdbool.h>
#include <string.h>

#include "simd/neon_dot/groups.h"
#include "simd/variants.h"

enum { GROUP = 4, LANES = 16, HALF = 8 };
#define INLINE __attribute__((always_inline)) static inline

INLINE void store(const uint8x16_t *lines, const bool flips, const int vectors, uint8_t *y) {
    uint8x16_t groups[GROUP];
    to_groups(lines, groups);
    ML_UNROLL(4)
    for (int i = 0; i < vectors; i++)
        vst1q_u8(y + i * LANES, flips ? veorq_u8(groups[i], vdupq_n_u8(128)) : groups[i]);
}

/* Each line has a step of 1, or of 0 where it is padding. */
INLINE void whole(const uint8_t *const *lines, const int64_t *steps, int64_t at, const bool flips,
                  uint8_t *y) {
    uint8x16_t x[GROUP];
    ML_UNROLL(4)
    for (int i = 0; i < GROUP; i++) x[i] = vld1q_u8(lines[i] + at * steps[i]);
    store(x, flips, GROUP, y + GROUP * at);
}

INLINE void half(const uint8_t *const *lines, const int64_t *steps, int64_t at, const bool flips,
                 uint8_t *y) {
    uint8x16_t x[GROUP];
    ML_UNROLL(4)
    for (int i = 0; i < GROUP; i++)
        x[i] = vcombine_u8(vld1_u8(lines[i] + at * steps[i]), vdup_n_u8(0));
    store(x, flips, GROUP / 2, y + GROUP * at);
}

INLINE void every(const uint8_t *const *lines, const int64_t *steps, int64_t count,
                  const bool flips, uint8_t *y) {
    const uint8_t *from[GROUP]; /* a copy, not read again after each store */
    int64_t at = 0;
    ML_UNROLL(4)
    for (int i = 0; i < GROUP; i++) from[i] = lines[i];
    for (; at + LANES <= count; at += LANES) whole(from, steps, at, flips, y);
    if (at + HALF <= count) half(from, steps, at, flips, y), at += HALF;
    if (at < count && count >= HALF) half(from, steps, count - HALF, flips, y), at = count;
    for (; at < count; at++)
        for (int i = 0; i < GROUP; i++)
            y[GROUP * at + i] = (uint8_t)(from[i][at * steps[i]] ^ (flips ? 128 : 0));
}

static const int64_t of_lines[GROUP] = {1, 1, 1, 1};

static void flipped_lines(const uint8_t *const *lines, int64_t count, uint8_t *y) {
    every(lines, of_lines, count, true, y);
}
static void signed_lines(const uint8_t *const *lines, int64_t count, uint8_t *y) {
    every(lines, of_lines, count, false, y);
}

void ml_interleave_s8_neon_dot(const ml_interleave_s8_args *p) {
    uint8_t padding[LANES];
    const uint8_t *lines[GROUP];
    int64_t steps[GROUP];
    int missing = 0;
    for (int i = 0; i < GROUP; i++) {
        lines[i] = p->lines[i] ? p->lines[i] : padding;
        steps[i] = p->lines[i] != NULL;
        missing += !p->lines[i];
    }
    if (missing == 0) {
        if (p->flip) flipped_lines(lines, p->count, p->y);
        else signed_lines(lines, p->count, p->y);
        return;
    }
    memset(padding, p->pad ^ p->flip, sizeof padding);
    if (p->flip) every(lines, steps, p->count, true, p->y);
    else every(lines, steps, p->count, false, p->y);
}
