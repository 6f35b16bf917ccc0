/* levels.c -- the tables of all levels, and the choice of one. */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "cpu.h"
#include "os/os.h"
#include "simd/variants.h"

#define VARIANT(name, level) .name = ml_##name##_##level,
#define LEVEL(name, of_matmul_f32, of_matmul_s8, of_depthwise_s8, variants) \
    {.level = #name,                                           \
     .matmul_f32_panel = ML_PANEL_F32_##of_matmul_f32,         \
     .matmul_f32_rows = ML_ROWS_F32_##of_matmul_f32,           \
     .matmul_s8_flipped = ML_FLIPPED_S8_##of_matmul_s8,          \
     .matmul_s8_pairs = ML_PAIRS_S8_##of_matmul_s8,              \
     .depthwise_s8_group = ML_GROUP_S8_##of_depthwise_s8,      \
     .depthwise_s8_bytes = ML_BYTES_S8_##of_depthwise_s8,      \
     .depthwise_s8_less = ML_LESS_S8_##of_depthwise_s8,        \
     .depthwise_s8_narrow = ML_NARROW_S8_##of_depthwise_s8,    \
     variants},

/* The levels of this build, ascending. */
static const ml_simd tables[] = {
#include "levels.def"
};
enum { LEVELS = sizeof tables / sizeof *tables };
#undef LEVEL
#undef VARIANT

static const ml_simd *named(const char *name, const ml_simd *const *levels, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(name, levels[i]->level) == 0) return levels[i];
    return NULL;
}

/* True if the system has to permit the use of the level's registers. */
static bool needs_permission(const ml_simd *level) { return strcmp(level->level, "amx") == 0; }

/* The levels that this machine has without permission from the system, ascending; returns how
 * many. */
static int available(const ml_simd *levels[LEVELS]) {
    const ml_cpu cpu = ml_cpu_probe();
#define LEVEL(name, of_matmul_f32, of_matmul_s8, of_depthwise_s8, variants) cpu.name,
    const bool has[LEVELS] = {
#include "levels.def"
    };
    int count = 0;
    for (int i = 0; i < LEVELS; i++)
        if (has[i] && !needs_permission(&tables[i])) levels[count++] = &tables[i];
    return count;
}

/* Adds the level that needs permission, if the system gives it; returns how many levels there are.
 *
 * Its code has run on emulated tiles only. So before it is used, its results on this machine have
 * to agree with those of the level below. Its speed is untested, but results cannot be wrong. */
static int add_permitted(const ml_simd *levels[LEVELS], int count) {
    const ml_simd *permitted = &tables[LEVELS - 1], *below = levels[count - 1];
    if (needs_permission(permitted) && ml_cpu_probe().amx && ml_os_has(ML_OS_TILES) &&
        ml_simd_agrees(permitted, below))
        levels[count++] = permitted;
    return count;
}

const ml_simd *ml_simd_at(int32_t i) {
    const ml_simd *levels[LEVELS];
    int count = available(levels);
    if (i >= count) count = add_permitted(levels, count);
    return i >= 0 && i < count ? levels[i] : NULL;
}

ml_status ml_simd_choose(const char *mask, const ml_simd **simd, ml_error *error) {
    const ml_simd *levels[LEVELS];
    char names[96] = "";
    size_t used = 0;
    int count = available(levels);
    if (mask && *mask && (*simd = named(mask, levels, count))) return ML_OK;
    count = add_permitted(levels, count);
    *simd = mask && *mask ? named(mask, levels, count) : levels[count - 1];
    if (*simd) return ML_OK;
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                                 levels[i]->level);
    return ml_error_set(
        error, ML_BINDING_ERROR,
        "MINILITE_ISA is '%.32s', which is not among the levels of this machine: %s", mask, names);
}
