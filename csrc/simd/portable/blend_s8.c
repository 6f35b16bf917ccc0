/* blend_s8.c -- blend_s8 in the words of a level, in 32 bits. */
#include "simd/words.h"

#define CHANNELS VECTOR_S32
#define ELEMENT int8_t
#define READ(p) WIDEN(p, true)
#define WRITE(p, v) NARROW(p, v)
#define BLEND(k, nw, sw, ne, se) blend(k, nw, sw, ne, se)

typedef struct constants {
    VECTOR_S32 nw, sw, ne, se;
} constants;

static inline constants begin(ml_blend_part down, ml_blend_part across) {
    const uint32_t lower = (uint32_t)down.fixed, right = (uint32_t)across.fixed;
    const uint32_t upper = 1024 - lower, left = 1024 - right;
    return (constants){SPLAT_S32((int32_t)(upper * left)), SPLAT_S32((int32_t)(lower * left)),
                       SPLAT_S32((int32_t)(upper * right)), SPLAT_S32((int32_t)(lower * right))};
}

/* Rounded half away from zero: half is added, minus 1 if the sum is not above 0, and the shift
 * rounds down. */
static inline VECTOR_S32 blend(const constants *k, VECTOR_S32 nw, VECTOR_S32 sw, VECTOR_S32 ne,
                               VECTOR_S32 se) {
    const VECTOR_S32 left = ADD_S32(MUL_S32(nw, k->nw), MUL_S32(sw, k->sw));
    const VECTOR_S32 right = ADD_S32(MUL_S32(ne, k->ne), MUL_S32(se, k->se));
    const VECTOR_S32 sum = ADD_S32(left, right);
    const VECTOR_S32 half = ADD_S32(SPLAT_S32(1 << 19), SHIFT_RIGHT_S32(sum, 31));
    return SHIFT_RIGHT_S32(ADD_S32(sum, half), 20);
}

#include "simd/portable/blend_tile.h"

void ML_VARIANT(blend_s8)(const ml_blend_args *p) {
    NARROWER_OR(blend_s8, p, LANES, blend_pixels(p, ml_blend_s8_scalar));
}
