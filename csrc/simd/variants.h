/* variants.h -- names of the variants of primitives, for the files that define them and for the
 * table of levels.
 *
 * ml_<name>_<level> is the variant of a primitive at a level. From the files, the build writes
 * levels.def, which says which variant each level uses:
 *
 *     LEVEL(level, the level of its matmul_f32, of its matmul_s8, of its depthwise_s8,
 *           VARIANT(name, level) ...)
 *
 * A level without a variant of its own uses that of the level below. */
#ifndef ML_SIMD_VARIANTS_H
#define ML_SIMD_VARIANTS_H

#include "simd/simd.h"

/* The variant at ML_LEVEL, which the build defines when it compiles portable/. */
#define ML_VARIANT(name) ML_VARIANT_AT(name, ML_LEVEL)
#define ML_VARIANT_AT(name, level) ML_VARIANT_NAME(name, level)
#define ML_VARIANT_NAME(name, level) ml_##name##_##level

#define LEVEL(name, of_matmul_f32, of_matmul_s8, of_depthwise_s8, variants) variants
#define VARIANT(name, level) ml_##name##_fn ml_##name##_##level;
#include "levels.def"
#undef LEVEL
#undef VARIANT

#endif
