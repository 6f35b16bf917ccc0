/* unpack_blocks_f32.c -- the plain meaning of unpack_blocks_f32: panels are single outputs. */
#include "simd/scalar/blocks.h"

void ml_unpack_blocks_f32_scalar(const ml_blocks_f32_args *p) {
    const uint8_t *block = p->panel;
    for (int64_t first = 0; first < p->k; first += p->block, block += ml_block_bytes(p))
        for (int i = 0; i < ML_BLOCK_PANEL; i++)
            for (int64_t j = 0; j < p->block; j++)
                p->y[i * p->k + first + j] =
                    (float)ml_block_weight(p, block, j, i) * ml_block_scale(block, i);
}
