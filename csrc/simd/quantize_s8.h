/* quantize_s8.h -- quantize_s8 in vectors of any width. The file that includes it names its FUNCTION and has included its level's
 * vectors of int32. */
#include "simd.h"

typedef struct constants {
    VECTOR scale, least, most;
    VECTOR_S32 zero;
} constants;

/* Of NaN the limits make the least. */
static inline VECTOR_S32 quantize(const constants *k, VECTOR x) {
    const VECTOR v = MIN(MAX(DIV(x, k->scale), k->least), k->most);
    const VECTOR half = XOR(SPLAT(0.49999997f), SIGN(v));
    return ADD_S32(TRUNCATED(ADD(v, half)), k->zero);
}

void FUNCTION(const ml_quantize_s8_args *args) {
    const ml_quantize_s8_args p = *args; /* a copy, which stores do not change */
    const int32_t low = p.is_signed ? INT8_MIN : 0;
    const constants k = {SPLAT(p.scale), SPLAT((float)(low - p.zero)),
                         SPLAT((float)(low + 255 - p.zero)), SPLAT_S32(p.zero)};
    int64_t at = 0;
    for (; at + LANES <= p.n; at += LANES) NARROW(p.y + at, quantize(&k, LOAD(p.x + at)));
    const int64_t left = p.n - at;
    if (left) NARROW_PART(p.y + at, quantize(&k, LOAD_PART(p.x + at, left)), left);
}
