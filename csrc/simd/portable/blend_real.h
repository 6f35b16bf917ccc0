/* blend_real.h -- blends vectors of four pixels by real weights, in the order of blend_plain.h. */
#include "simd/words.h"

typedef struct constants {
    VECTOR upper, lower, left, right;
} constants;

static inline constants begin(ml_blend_part down, ml_blend_part across) {
    return (constants){SPLAT(1.0f - down.real), SPLAT(down.real), SPLAT(1.0f - across.real),
                       SPLAT(across.real)};
}

static inline VECTOR blend_real(const constants *k, VECTOR nw, VECTOR sw, VECTOR ne, VECTOR se) {
    const VECTOR a = MUL(MUL(nw, k->upper), k->left), b = MUL(MUL(sw, k->lower), k->left);
    const VECTOR d = MUL(MUL(ne, k->upper), k->right), e = MUL(MUL(se, k->lower), k->right);
    return ADD(ADD(ADD(a, b), d), e);
}
