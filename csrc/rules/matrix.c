/* matrix.c -- transposes matrices: of 4-byte elements by the primitive, others in tiles. */
#include "rules/matrix.h"

#include "simd/tiles/transpose.h"

TILE(tile_8, uint8_t, 16, LIST(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
     LIST(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31))
TILE(tile_16, uint16_t, 8, LIST(0, 8, 1, 9, 2, 10, 3, 11), LIST(4, 12, 5, 13, 6, 14, 7, 15))
TILE(tile_64, uint64_t, 2, LIST(0, 2), LIST(1, 3))

void ml_transpose(const ml_simd *simd, const ml_transpose_args *m, int64_t element) {
    switch (element) {
    case 1: transpose_by(m, 1, 16, tile_8); return;
    case 2: transpose_by(m, 2, 8, tile_16); return;
    case 4: simd->transpose_x4(m); return;
    default: transpose_by(m, 8, 2, tile_64);
    }
}
