/* dot_blocks_f32.c -- the plain meaning of dot_blocks_f32. */
#include "simd/scalar/blocks.h"

void ml_dot_blocks_f32_scalar(const ml_blocks_f32_args *p) {
    const uint8_t *block = p->panel;
    for (int i = 0; i < ML_BLOCK_PANEL; i++) p->y[i] = 0.0f;
    for (int64_t first = 0; first < p->k; first += p->block, block += ml_block_bytes(p))
        for (int i = 0; i < ML_BLOCK_PANEL; i++)
            for (int64_t from = 0, end; from < p->block; from = end) {
                float sum = 0.0f;
                end = p->block - from < 128 ? p->block : from + 128;
                for (int64_t j = from; j < end; j++)
                    sum += p->x[first + j] * (float)ml_block_weight(p, block, j, i);
                p->y[i] += sum * ml_block_scale(block, i);
            }
}
