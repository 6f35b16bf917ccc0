/* blocks.h -- reads a panel of weights in blocks, element by element. */
#ifndef ML_SIMD_SCALAR_BLOCKS_H
#define ML_SIMD_SCALAR_BLOCKS_H

#include <string.h>

#include "math/nibble.h"
#include "simd/variants.h"

/* Returns the bytes from block to block. */
static inline int64_t ml_block_bytes(const ml_blocks_f32_args *p) {
    return ML_BLOCK_PANEL * ((int64_t)sizeof(float) + p->block * p->bits / 8);
}

static inline float ml_block_scale(const uint8_t *block, int output) {
    float scale;
    memcpy(&scale, block + output * (int)sizeof scale, sizeof scale);
    return scale;
}

/* The weight of input `j` of the block. */
static inline int32_t ml_block_weight(const ml_blocks_f32_args *p, const uint8_t *block, int64_t j,
                                      int output) {
    const uint8_t *weights = block + ML_BLOCK_PANEL * sizeof(float) + output;
    if (p->bits == 8) return (int8_t)weights[j * ML_BLOCK_PANEL];
    return ml_nibble(weights + j / 2 * ML_BLOCK_PANEL, j % 2);
}

#endif
