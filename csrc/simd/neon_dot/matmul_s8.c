/* matmul_s8.c -- UDOT: tiles of 6 rows times 16 outputs. */
#include <arm_neon.h>

#include "simd/variants.h"

#define MOST_ROWS 6
#define TILES(X) X(1, 16) X(1, 8) X(1, 4) X(2, 8) X(2, 4) X(3, 8) X(3, 4) X(4, 4) X(5, 4) X(6, 4)

#define SUMS uint32x4_t
#define ZERO() vdupq_n_u32(0)
#define ADD_DOT(sums, w, x) vdotq_u32(sums, w, x)
#define ADD_DOT_LANE(sums, w, x, lane) vdotq_laneq_u32(sums, w, x, lane)
#define KEEP(sums) __asm__ volatile("" : "+w"(sums))
#define TOTAL(sums) (sums)
#include "simd/tiles/matmul_s8_neon.h"

void ml_matmul_s8_neon_dot(const ml_matmul_s8_args *p) { multiply(p); }
