/* transpose_x4.c -- transpose_x4 in vectors of 16 bytes, which every machine has. */
#include "simd/variants.h"
#include "simd/tiles/transpose.h"

TILE(tile_32, uint32_t, 4, LIST(0, 4, 1, 5), LIST(2, 6, 3, 7))

void ml_transpose_x4_scalar(const ml_transpose_args *args) { transpose_by(args, 4, 4, tile_32); }
