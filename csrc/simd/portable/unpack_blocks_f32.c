/* unpack_blocks_f32.c -- unpack_blocks_f32 in the words of a level. */
#include "simd/words.h"

#define ALWAYS __attribute__((always_inline)) static inline

/* The panel of the level's matmul_f32. */
#define UNPACK_PANEL_OF(level) UNPACK_PANEL_NAME(level)
#define UNPACK_PANEL_NAME(level) ML_PANEL_F32_##level
enum { UNPACK_PANEL = UNPACK_PANEL_OF(ML_LEVEL) };

ALWAYS void unpack_step(const uint8_t *w, const float *scales, int64_t k, const int bits,
                        float *y) {
    for (int i = 0; i < ML_BLOCK_PANEL; i += LANES) {
        float *to = y + i / UNPACK_PANEL * UNPACK_PANEL * k + i % UNPACK_PANEL;
        const VECTOR_S32 bytes = WIDEN(w + i, true);
        const VECTOR scale = LOAD(scales + i);
        if (bits == 8) {
            STORE(to, MUL(FLOATS(bytes), scale));
        } else {
            STORE(to, MUL(OF_LOW_HALF(bytes), scale));
            STORE(to + UNPACK_PANEL, MUL(OF_HIGH_HALF(bytes), scale));
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
            y += UNPACK_PANEL * (8 / bits);
        }
    }
}

void ML_VARIANT(unpack_blocks_f32)(const ml_blocks_f32_args *p) {
    if (p->bits == 4) unpack_blocks(p, 4);
    else unpack_blocks(p, 8);
}
