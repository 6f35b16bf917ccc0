/* levels.c -- the table of each level, and which one serves.
 *
 * A table begins with the scalar variants; where the list of primitives names a variant of the
 * level, or of one below, that one comes later and so takes the place. */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "cpu.h"
#include "simd.h"

#pragma GCC diagnostic ignored "-Woverride-init"

#define PRIMITIVE(name, returns, parameters, levels) .name = ml_##name##_scalar, levels
#define SSE2(name)
#define AVX2(name)
#define AVX_VNNI(name)
#define AVX512(name)
#define AMX(name)
#define NEON(name)
#define NEON_DOT(name)

static const ml_simd scalar = {
    .level = "scalar",
    .matmul_f32_panel = ML_PANEL_F32_SCALAR,
    .matmul_f32_rows = ML_ROWS_F32_SCALAR,
    .depthwise_s8_group = 2,
#include "primitives.def"
};

#ifdef ML_HAS_SSE2
#undef SSE2
#define SSE2(name) .name = ml_##name##_sse2,
static const ml_simd sse2 = {
    .level = "sse2",
    .matmul_f32_panel = ML_PANEL_F32_SSE2,
    .matmul_f32_rows = ML_ROWS_F32_SSE2,
    .depthwise_s8_group = 2,
#include "primitives.def"
};
#endif

#ifdef ML_HAS_AVX2
#undef AVX2
#define AVX2(name) .name = ml_##name##_avx2,
static const ml_simd avx2 = {
    .level = "avx2",
    .matmul_f32_panel = ML_PANEL_F32_AVX2,
    .matmul_f32_rows = ML_ROWS_F32_AVX2,
    .depthwise_s8_group = 2,
#include "primitives.def"
};
#endif

#ifdef ML_HAS_AVX_VNNI
#undef AVX_VNNI
#define AVX_VNNI(name) .name = ml_##name##_avx_vnni,
static const ml_simd avx_vnni = {
    .level = "avx_vnni",
    .matmul_f32_panel = ML_PANEL_F32_AVX2,
    .matmul_f32_rows = ML_ROWS_F32_AVX2,
    .depthwise_s8_group = 2,
#include "primitives.def"
};
#undef AVX_VNNI
#define AVX_VNNI(name)
#endif

#ifdef ML_HAS_AVX512
#undef AVX512
#define AVX512(name) .name = ml_##name##_avx512,
static const ml_simd avx512 = {
    .level = "avx512",
    .matmul_f32_panel = ML_PANEL_F32_AVX2,
    .matmul_f32_rows = ML_ROWS_F32_AVX512,
    .depthwise_s8_group = 4,
#include "primitives.def"
};
#endif

#ifdef ML_HAS_AMX
#undef AMX
#define AMX(name) .name = ml_##name##_amx,
static const ml_simd amx = {
    .level = "amx",
    .matmul_f32_panel = ML_PANEL_F32_AVX2,
    .matmul_f32_rows = ML_ROWS_F32_AVX512,
    .depthwise_s8_group = 4,
#include "primitives.def"
};
#endif

#ifdef ML_HAS_NEON
#undef NEON
#define NEON(name) .name = ml_##name##_neon,
static const ml_simd neon = {
    .level = "neon",
    .matmul_f32_panel = ML_PANEL_F32_NEON,
    .matmul_f32_rows = ML_ROWS_F32_NEON,
    .depthwise_s8_group = 2,
#include "primitives.def"
};
#endif

#ifdef ML_HAS_NEON_DOT
#undef NEON_DOT
#define NEON_DOT(name) .name = ml_##name##_neon_dot,
static const ml_simd neon_dot = {
    .level = "neon_dot",
    .matmul_f32_panel = ML_PANEL_F32_NEON,
    .matmul_f32_rows = ML_ROWS_F32_NEON,
    .depthwise_s8_group = 2,
#include "primitives.def"
};
#endif

enum { MOST_LEVELS = 8 };

/* The levels that this machine has without asking anyone, ascending; returns how many. */
static int available(const ml_simd *levels[MOST_LEVELS]) {
    ml_cpu cpu = ml_cpu_probe();
    int count = 0;
    levels[count++] = &scalar;
#ifdef ML_HAS_SSE2
    if (cpu.sse2) levels[count++] = &sse2;
#endif
#ifdef ML_HAS_AVX2
    if (cpu.avx2) levels[count++] = &avx2;
#endif
#ifdef ML_HAS_AVX_VNNI
    if (cpu.avx_vnni) levels[count++] = &avx_vnni;
#endif
#ifdef ML_HAS_AVX512
    if (cpu.avx512) levels[count++] = &avx512;
#endif
#ifdef ML_HAS_NEON
    if (cpu.neon) levels[count++] = &neon;
#endif
#ifdef ML_HAS_NEON_DOT
    if (cpu.neon_dot) levels[count++] = &neon_dot;
#endif
    (void)cpu;
    return count;
}

/* Adds the level whose registers the system gives to those who ask; returns how many there are.
 *
 * Its code has met emulated tiles only. So it has to agree with the level below on this machine
 * before it serves: speed may be lost where it was never tried, results may not. */
static int add_asked(const ml_simd *levels[MOST_LEVELS], int count) {
#if defined(ML_HAS_AMX) && defined(ML_HAS_AVX512)
    if (ml_cpu_probe().amx && ml_cpu_permits_tiles() && ml_simd_agrees(&amx, &avx512))
        levels[count++] = &amx;
#endif
    (void)levels;
    return count;
}

static const ml_simd *named(const char *name, const ml_simd *const *levels, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(name, levels[i]->level) == 0) return levels[i];
    return NULL;
}

const ml_simd *ml_simd_at(int32_t i) {
    const ml_simd *levels[MOST_LEVELS];
    int count = available(levels);
    if (i >= count) count = add_asked(levels, count);
    return i >= 0 && i < count ? levels[i] : NULL;
}

ml_status ml_simd_choose(const char *mask, const ml_simd **simd, ml_error *error) {
    const ml_simd *levels[MOST_LEVELS];
    char names[96] = "";
    size_t used = 0;
    int count = available(levels);
    if (mask && *mask && (*simd = named(mask, levels, count))) return ML_OK;
    count = add_asked(levels, count);
    *simd = mask && *mask ? named(mask, levels, count) : levels[count - 1];
    if (*simd) return ML_OK;
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 levels[i]->level);
    return ml_error_set(
        error, ML_BINDING_ERROR,
        "MINILITE_ISA is '%.32s', which is not among the levels of this machine: %s", mask, names);
}
