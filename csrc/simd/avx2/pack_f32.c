/* pack_f32.c -- panels of 16 columns, for avx2 and avx512. */
#include "simd/variants.h"

#define PANEL 16
#include "simd/tiles/pack_f32.h"

void ml_pack_f32_avx2(const float *w, int64_t n, int64_t k, float *packed) {
    pack(w, n, k, packed);
}
