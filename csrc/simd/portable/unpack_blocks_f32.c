/* unpack_blocks_f32.c -- unpack_blocks_f32 in the words of a level. */
#include "simd/words.h"

#define ALWAYS __attribute__((always_inline)) static inline

ALWAYS void unpack_step(const uint8_t *w, const float *scales, int64_t k, const int bits,
                        float *y) {
    for (int i = 0; i < ML_BLOCK_PANEL; i += LANES) {
        float *to = y + i / PANEL_F32 * PANEL_F32 * k + i % PANEL_F32;
        const VECTOR_S32 bytes = WIDEN(w + i, true);
        const VECTOR scale = LOAD(scales + i);
        if (bits == 8) {
            STORE(to, MUL(FLOATS(bytes), scale));
        } else {
            STORE(to, MUL(OF_LOW_HALF(bytes), scale));
            STORE(to + PANEL_F32, MUL(OF_HIGH_HALF(bytes), scale));
        }
    }
}

ALWAYS void unpack_blocks(const ml_blocks_f32_args *p, const int bits) {
    const uint8_t *at = p->panel;
    float *y = p->y;
    for (int64_t left = p->k; left > 0; left -= p->block) {
        const float *scales = (const float *)(const void *)at;
        at += ML_BLOCK_PANEL * sizeof *scales;
        for (int64_t j = 0; j < p->block; j += 8 / bits) {
            unpack_step(at, scales, p->k, bits, y);
            at += ML_BLOCK_PANEL;
            y += PANEL_F32 * (8 / bits);
        }
    }
}

void ML_VARIANT(unpack_blocks_f32)(const ml_blocks_f32_args *p) {
    if (p->bits == 4) unpack_blocks(p, 4);
    else unpack_blocks(p, 8);
}
