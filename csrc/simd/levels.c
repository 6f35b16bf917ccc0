/* levels.c -- the tables of all levels, and the choice of one. */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "cpu.h"
#include "os/os.h"
#include "simd/simd.h"

/* LEVEL(name, below) for each level of this build, ascending. */
#define LEVEL(name, below) extern const ml_simd ml_level_##name;
#include "levels.def"
#undef LEVEL

#define LEVEL(name, below) LEVEL_##name,
enum {
#include "levels.def"
    LEVELS
};
#undef LEVEL

/* Gives a level what the level below has and it has not: variants, and what callers have to know of
 * them. */
static void inherit(ml_simd *level, const ml_simd *below) {
    if (!level->matmul_f32) {
        level->matmul_f32_panel = below->matmul_f32_panel;
        level->matmul_f32_rows = below->matmul_f32_rows;
    }
    if (!level->matmul_s8) {
        level->matmul_s8_flipped = below->matmul_s8_flipped;
        level->matmul_s8_pairs = below->matmul_s8_pairs;
        level->matmul_s8_quarters = below->matmul_s8_quarters;
        level->matmul_s8_narrow = below->matmul_s8_narrow;
        level->nibbles = below->nibbles;
        level->winograd = below->winograd;
        level->winograd_moved = below->winograd_moved;
    }
    if (!level->depthwise_f32) level->depthwise_f32_held = below->depthwise_f32_held;
    if (!level->depthwise_s8) {
        level->depthwise_s8_group = below->depthwise_s8_group;
        level->depthwise_s8_bytes = below->depthwise_s8_bytes;
        level->depthwise_s8_less = below->depthwise_s8_less;
        level->depthwise_s8_narrow = below->depthwise_s8_narrow;
    }
#define PRIMITIVE(name, returns, parameters) \
    if (!level->name) level->name = below->name;
#include "simd/primitives.def"
#undef PRIMITIVE
}

/* The levels of this build, whole: made when the library is loaded, and never changed after. */
static ml_simd tables[LEVELS];

__attribute__((constructor)) static void make_tables(void) {
#define LEVEL(name, below)                     \
    tables[LEVEL_##name] = ml_level_##name; \
    inherit(&tables[LEVEL_##name], &tables[LEVEL_##below]);
#include "levels.def"
#undef LEVEL
}

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
#define LEVEL(name, below) cpu.name,
    const bool has[LEVELS] = {
#include "levels.def"
    };
#undef LEVEL
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
