/* dot_blocks_f32.c -- dot_blocks_f32 in the words of a level.
 *
 * The outputs of a panel are the lanes of vectors; each input is copied to all lanes. If a panel
 * takes few registers, neighbouring inputs have sums of their own, so that enough independent sums
 * run at once. */
#include "simd/words.h"

enum {
    BLOCK_VECTORS = ML_BLOCK_PANEL / LANES,
    BLOCK_KINDS = BLOCK_VECTORS < 8 ? 8 / BLOCK_VECTORS : 1, /* sets of sums */
    BLOCK_STEP = BLOCK_KINDS > 1 ? BLOCK_KINDS : 2, /* inputs at a time */
    BLOCK_CHUNK = 128 /* products that are summed in one go */
};

#define ALWAYS __attribute__((always_inline)) static inline

/* Adds the products of `count` inputs to the sets of sums in turn. */
ALWAYS void add_inputs(const float *x, const uint8_t *w, const int count, const int bits,
                       VECTOR *sums) {
    const int each = 8 / bits; /* inputs whose weights a byte has */
    ML_UNROLL(4)
    for (int i = 0; i < count; i += each) {
        ML_UNROLL(8)
        for (int v = 0; v < BLOCK_VECTORS; v++) {
            const VECTOR_S32 bytes = WIDEN(w + i / each * ML_BLOCK_PANEL + v * LANES, true);
            VECTOR *sum = sums + i % BLOCK_KINDS * BLOCK_VECTORS + v,
                   *next = sums + (i + 1) % BLOCK_KINDS * BLOCK_VECTORS + v;
            if (each == 1) {
                *sum = FMA(SPLAT(x[i]), FLOATS(bytes), *sum);
            } else {
                *sum = FMA(SPLAT(x[i]), OF_LOW_HALF(bytes), *sum);
                *next = FMA(SPLAT(x[i + 1]), OF_HIGH_HALF(bytes), *next);
            }
        }
    }
}

/* total += the products of `count` inputs of a block, times its scales. */
ALWAYS void add_chunk(const float *x, const uint8_t *w, int64_t count, const float *scales,
                      const int bits, VECTOR *total) {
    VECTOR sums[BLOCK_KINDS * BLOCK_VECTORS];
    int64_t j = 0;
    ML_UNROLL(8)
    for (int i = 0; i < BLOCK_KINDS * BLOCK_VECTORS; i++) sums[i] = SPLAT(0.0f);
    for (; j + BLOCK_STEP <= count; j += BLOCK_STEP)
        add_inputs(x + j, w + j * ML_BLOCK_PANEL * bits / 8, BLOCK_STEP, bits, sums);
    for (; j < count; j += 8 / bits)
        add_inputs(x + j, w + j * ML_BLOCK_PANEL * bits / 8, 8 / bits, bits, sums);
    ML_UNROLL(8)
    for (int v = 0; v < BLOCK_VECTORS; v++) {
        ML_UNROLL(8)
        for (int kind = 1; kind < BLOCK_KINDS; kind++)
            sums[v] = ADD(sums[v], sums[kind * BLOCK_VECTORS + v]);
        total[v] = FMA(sums[v], LOAD(scales + v * LANES), total[v]);
    }
}

ALWAYS void dot_blocks(const ml_blocks_f32_args *p, const int bits) {
    const uint8_t *at = p->panel;
    VECTOR total[BLOCK_VECTORS];
    ML_UNROLL(8)
    for (int v = 0; v < BLOCK_VECTORS; v++) total[v] = SPLAT(0.0f);
    for (int64_t j = 0; j < p->k;) {
        const float *scales = (const float *)(const void *)at;
        at += ML_BLOCK_PANEL * sizeof *scales;
        for (int64_t left = p->block, count; left > 0; left -= count, j += count) {
            count = left < BLOCK_CHUNK ? left : BLOCK_CHUNK;
            add_chunk(p->x + j, at, count, scales, bits, total);
            at += count * ML_BLOCK_PANEL * bits / 8;
        }
    }
    ML_UNROLL(8)
    for (int v = 0; v < BLOCK_VECTORS; v++) STORE(p->y + v * LANES, total[v]);
}

void ML_VARIANT(dot_blocks_f32)(const ml_blocks_f32_args *p) {
    if (p->bits == 4) dot_blocks(p, 4);
    else dot_blocks(p, 8);
}
