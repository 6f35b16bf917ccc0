/* walk_amx.c -- the walk of the level amx, whose tiles are emulated, beside the installed core's
 * levels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tiles.h"
#include "simd/simd.h"
#include "traps.h"
#include "walk/walk.h"

ml_matmul_s8_fn ml_matmul_s8_amx;
ml_product_s8_fn ml_product_s8_amx;
ml_product_f32_fn ml_product_f32_amx;

enum { NO_AVX512 = 3, WRONG_SERVES = 4 };

/* The second is scalar, except for the variants that amx has of its own. */
static ml_simd levels[2];

static const ml_simd *level_at(int32_t i) { return i < 2 ? &levels[i] : NULL; }

static void expect_released(const char *name) {
    if (!tiles_are_configured()) return;
    fprintf(stderr, "%s leaves tiles configured\n", name);
    abort();
}

static void matmul(const ml_matmul_s8_args *p) {
    ml_matmul_s8_amx(p);
    expect_released("matmul_s8");
}

static void product(const ml_simd *simd, const ml_matmul_s8_args *p,
                    const ml_requantize_args *bytes, int64_t lines, int64_t line_stride) {
    ml_product_s8_amx(simd, p, bytes, lines, line_stride);
    expect_released("product_s8");
}

static void product_of_floats(const ml_simd *simd, const ml_matmul_s8_args *p,
                              const ml_scale_s32_args *floats, int64_t lines, int64_t line_stride) {
    ml_product_f32_amx(simd, p, floats, lines, line_stride);
    expect_released("product_f32");
}

static void wrong_matmul(const ml_matmul_s8_args *p) {
    ml_matmul_s8_amx(p);
    p->y[(p->rows - 1) * p->y_stride + p->n - 1] ^= 1;
}

static void wrong_product(const ml_simd *simd, const ml_matmul_s8_args *p,
                          const ml_requantize_args *bytes, int64_t lines, int64_t line_stride) {
    ml_product_s8_amx(simd, p, bytes, lines, line_stride);
    bytes->y[0] ^= 1;
}

/* Whether ml_simd_agrees accepts a correct level, and refuses levels that are wrong in one bit. */
static bool verifies(const ml_simd *avx512) {
    const int64_t before = tile_dots();
    ml_simd matmul_differs = levels[1], product_differs = levels[1];
    matmul_differs.matmul_s8 = wrong_matmul;
    product_differs.product_s8 = wrong_product;
    return ml_simd_agrees(&levels[1], avx512) && tile_dots() > before &&
           !ml_simd_agrees(&matmul_differs, avx512) && !ml_simd_agrees(&product_differs, avx512);
}

/* Returns what walk_levels returns, or why there is no walk. */
int walk_amx(level_fn *core);

int walk_amx(level_fn *core) {
    const ml_simd *simd = core(0);
    trap_tiles();
    levels[0] = levels[1] = *simd;
    levels[1].level = "amx";
    levels[1].matmul_s8 = matmul;
    levels[1].product_s8 = product;
    levels[1].product_f32 = product_of_floats;
    for (int32_t i = 1; simd && strcmp(simd->level, "avx512") != 0; i++) simd = core(i);
    if (!simd) return NO_AVX512;
    return verifies(simd) ? walk_levels(level_at) : WRONG_SERVES;
}
