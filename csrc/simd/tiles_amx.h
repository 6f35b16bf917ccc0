/* tiles_amx.h -- operations on tiles, and which products are worth them.
 *
 * No tile is live outside of a primitive: each configures, and releases at its end, for whatever
 * else works with tiles on a thread leaves them as it likes. Numbers of tiles are digits, which
 * become part of an instruction's name. A file named by ML_TILES has the operations in other words:
 * what tests look at, on machines that have no tiles. */
#ifndef ML_TILES_AMX_H
#define ML_TILES_AMX_H

#include <stdbool.h>

#include "simd.h"

#ifdef ML_TILES
#include ML_TILES
#else
#include <immintrin.h>

/* What the compiler is not told: that memory at `p` is read by a tile's instruction. */
#define TILE_SEES(p) __asm__ volatile("" : : "r"(p) : "memory")
#define TILE_CONFIGURE(config) _tile_loadconfig(config)
#define TILE_ZERO(tile) _tile_zero(tile)
#define TILE_LOAD(tile, from, stride) _tile_loadd(tile, from, stride)
#define TILE_DOT(sums, bytes, weights) _tile_dpbusd(sums, bytes, weights)
#define TILE_STORE(tile, to, stride) _tile_stored(tile, to, stride)
#define TILE_RELEASE() _tile_release()
#endif

/* vpdpbusd is faster at few rows, outputs, or groups of four inputs: a tile's time follows its
 * rows, and to configure takes as long as some 20 000 products by vpdpbusd. */
#ifndef LEAST_ROWS
enum { LEAST_ROWS = 8, LEAST_OUTPUTS = 33, LEAST_GROUPS = 16 };
#endif

static inline bool takes_tiles(const ml_matmul_s8_args *p) {
    return p->k >= 4 && p->rows >= LEAST_ROWS && p->n >= LEAST_OUTPUTS &&
           p->pieces * ((p->k + 3) / 4) >= LEAST_GROUPS;
}

#endif
