/* matmul_s8_neon.h -- matmul_s8 by unsigned products, whose sums are too large by 128 times the sum
 * of a row's bytes.
 *
 * Weights plus 128 are bytes like those of rows, so that neither needs more bits. The file that
 * includes it says what a tile is: SUMS, of LANES outputs; ZERO(); ADD_DOT(sums, w, x) and
 * ADD_DOT_LANE(sums, w, x, lane), which add the products of four weights of each output with the
 * four bytes of a row that each lane of x has, or one of them; KEEP(sums), after which the next
 * product may begin: what waits in registers leaves none for sums; TOTAL(sums), LANES uint32;
 * MOST_ROWS, and which TILES there are. */
#include <arm_neon.h>
#include <stdbool.h>

/* Of each row of the tile: 128 times the sum of its bytes. */
#define MORE_OF_PLACE uint32_t over[MOST_ROWS];
#include "simd/tiles/matmul_s8_place.h"

enum { LANES = 4, WIDE = 4 /* groups */, MOST_VECTORS = 16, MOST_SUMS = 24 };

INLINE uint8x16_t weights_at(const int8_t *w) {
    return veorq_u8(vreinterpretq_u8_s8(vld1q_s8(w)), vdupq_n_u8(128));
}

/* The first `count` bytes at a, up to GROUP, flipped, in each lane. */
INLINE uint8x16_t group_at(const uint8_t *a, int32_t flip, int64_t count) {
    const uint32_t flips = (uint32_t)flip * UINT32_C(0x01010101);
    uint32_t group = 0;
    if (count == GROUP) memcpy(&group, a, GROUP);
    else memcpy(&group, a, (size_t)count);
    return vreinterpretq_u8_u32(vdupq_n_u32(group ^ (flips >> 8 * (GROUP - count))));
}

INLINE void add_group(const uint8_t *a, int64_t a_stride, int32_t flip, const int8_t *w,
                      int64_t count, const int rows, const int vectors, SUMS *sums) {
    uint8x16_t x[MOST_ROWS];
    ML_UNROLL(8)
    for (int r = 0; r < rows; r++) x[r] = group_at(a + r * a_stride, flip, count);
    ML_UNROLL(16)
    for (int v = 0; v < vectors; v++) {
        const uint8x16_t weights = weights_at(w + v * LANES * GROUP);
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++) {
            SUMS *sum = &sums[r * vectors + v];
            *sum = ADD_DOT(*sum, weights, x[r]);
            KEEP(*sum);
        }
    }
}

#define ADD_LANE(lane)                                                                   \
    ML_UNROLL(16) for (int v = 0; v < vectors; v++) {                                    \
        const uint8x16_t weights = weights_at(w + lane * step + v * LANES * GROUP);      \
        ML_UNROLL(8) for (int r = 0; r < rows; r++) {                                    \
            SUMS *sum = &sums[r * vectors + v];                                          \
            *sum = ADD_DOT_LANE(*sum, weights, x[r], lane);                              \
            KEEP(*sum);                                                                  \
        }                                                                                \
    }

/* WIDE groups at a time; returns how many. */
INLINE int64_t add_wide(const uint8_t *a, int64_t a_stride, int32_t flip, const int8_t *w,
                        int64_t step, int64_t groups, const int rows, const int vectors,
                        SUMS *sums) {
    const uint8x16_t flips = vdupq_n_u8((uint8_t)flip);
    int64_t j = 0;
    for (; j + WIDE <= groups; j += WIDE, w += WIDE * step) {
        uint8x16_t x[MOST_ROWS];
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++)
            x[r] = veorq_u8(flips, vld1q_u8(a + r * a_stride + j * GROUP));
        ADD_LANE(0)
        ADD_LANE(1)
        ADD_LANE(2)
        ADD_LANE(3)
    }
    return j;
}

INLINE uint32x4_t load_part(const int32_t *p, int64_t count) {
    uint32_t lanes[LANES] = {0};
    memcpy(lanes, p, (size_t)(count < LANES ? count : LANES) * sizeof *lanes);
    return vld1q_u32(lanes);
}

/* Adds what does not depend on products, and writes the outputs that exist. */
INLINE void store_tile(const ml_matmul_s8_args *p, const tile_place *at, const SUMS *sums,
                       const int rows, const int vectors) {
    ML_UNROLL(16)
    for (int v = 0; v < vectors; v++) {
        const int64_t output = at->output + v * LANES, left = p->n - output;
        if (left <= 0) return;
        const uint32x4_t nothing = vdupq_n_u32(0);
        const uint32x4_t bias = p->bias ? load_part(p->bias + output, left) : nothing;
        const uint32x4_t columns = p->factors ? load_part(p->columns + output, left) : nothing;
        int32_t *y = p->y + at->row * p->y_stride + output;
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++, y += p->y_stride) {
            const uint32_t factor = p->factors ? (uint32_t)p->factors[at->row + r] : 0;
            uint32x4_t sum = vsubq_u32(TOTAL(sums[r * vectors + v]), vdupq_n_u32(at->over[r]));
            sum = vmlaq_n_u32(vaddq_u32(sum, bias), columns, factor);
            if (left >= LANES) vst1q_s32(y, vreinterpretq_s32_u32(sum));
            else memcpy(y, &sum, (size_t)left * sizeof *y);
        }
    }
}

INLINE void tile(const ml_matmul_s8_args *p, const tile_place *at, const int rows,
                 const int vectors) {
    const int64_t groups = p->k / GROUP, rest = p->k % GROUP, step = at->step;
    const uint8_t *a = p->a + at->row * p->a_stride;
    const int8_t *w = at->w;
    SUMS sums[MOST_SUMS];
    ML_UNROLL(24)
    for (int i = 0; i < rows * vectors; i++) sums[i] = ZERO();
    for (int64_t piece = 0; piece < p->pieces; piece++, a += p->piece_stride) {
        int64_t j = add_wide(a, p->a_stride, p->flip, w, step, groups, rows, vectors, sums);
        for (w += j * step; j < groups; j++, w += step)
            add_group(a + j * GROUP, p->a_stride, p->flip, w, GROUP, rows, vectors, sums);
        if (rest == 0) continue;
        if (groups)
            add_group(a + p->k - GROUP, p->a_stride, p->flip, w, GROUP, rows, vectors, sums);
        else add_group(a, p->a_stride, p->flip, w, rest, rows, vectors, sums);
        w += step;
    }
    store_tile(p, at, sums, rows, vectors);
}

static uint32_t sum_of(const uint8_t *x, int32_t flip, int64_t n) {
    const uint8x16_t flips = vdupq_n_u8((uint8_t)flip);
    uint32x4_t sums = vdupq_n_u32(0);
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        sums = vpadalq_u16(sums, vpaddlq_u8(veorq_u8(flips, vld1q_u8(x + i))));
    uint32_t sum = vaddvq_u32(sums);
    for (; i < n; i++) sum += (uint32_t)(x[i] ^ flip);
    return sum;
}

/* Of the bytes that meet weights: some twice, at the end of a piece that is no multiple of
 * GROUP. */
static uint32_t over(const ml_matmul_s8_args *p, int64_t row) {
    const uint8_t *a = p->a + row * p->a_stride;
    uint32_t sum = 0;
    for (int64_t piece = 0; piece < p->pieces; piece++, a += p->piece_stride) {
        sum += sum_of(a, p->flip, p->k / GROUP * GROUP);
        if (p->k % GROUP == 0) continue;
        sum += p->k < GROUP ? sum_of(a, p->flip, p->k) : sum_of(a + p->k - GROUP, p->flip, GROUP);
    }
    return 128 * sum;
}

INLINE void begin_rows(const ml_matmul_s8_args *p, tile_place *at, int64_t rows) {
    for (int64_t r = 0; r < rows; r++) at->over[r] = over(p, at->row + r);
}

#define BEGIN_ROWS(p, at, rows) begin_rows(p, at, rows);
#include "simd/tiles/matmul_s8_meet.h"
