/* pack_f32.c -- panels of 8 columns. */
#include "simd/variants.h"

#define PANEL 8
#include "simd/tiles/pack_f32.h"

void ml_pack_f32_neon(const float *w, int64_t n, int64_t k, float *packed) {
    pack(w, n, k, packed);
}
