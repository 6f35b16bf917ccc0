/* variants.h -- the variants of the primitives, for the files that hold them and the table of
 * levels.
 *
 * ml_<name>_<level> is the variant of a primitive at a level. The build lists in levels.def, from
 * the folders, which variant serves each level:
 *
 *     LEVEL(level, that whose matmul_f32 serves it, that whose depthwise_s8 does,
 *           VARIANT(name, level) ...)
 *
 * A level without a variant of its own has that of the level below. */
#ifndef ML_SIMD_VARIANTS_H
#define ML_SIMD_VARIANTS_H

#include "simd/simd.h"

/* The variant of the level ML_LEVEL, which the build names when it compiles portable/. */
#define ML_VARIANT(name) ML_VARIANT_AT(name, ML_LEVEL)
#define ML_VARIANT_AT(name, level) ML_VARIANT_NAME(name, level)
#define ML_VARIANT_NAME(name, level) ml_##name##_##level

#define LEVEL(name, of_matmul_f32, of_depthwise_s8, variants) variants
#define VARIANT(name, level) ml_##name##_fn ml_##name##_##level;
#include "levels.def"
#undef LEVEL
#undef VARIANT

#endif
