/* variants.h -- names of the variants of primitives, for the files that define them and for the
 * tables of levels.
 *
 * ml_<name>_<level> is the variant of a primitive at a level. <level>/level.c defines the level's
 * table, a struct ml_simd: the variants that the level has, and what callers have to know of them.
 * What is not there, levels.c takes from the level below. */
#ifndef ML_SIMD_VARIANTS_H
#define ML_SIMD_VARIANTS_H

#include "simd/simd.h"

/* The variant at ML_LEVEL, the level for which the build compiles a file. */
#define ML_VARIANT(name) ML_JOINED(ml_##name##_, ML_LEVEL)
#define ML_JOINED(name, level) ML_JOINED_NAME(name, level)
#define ML_JOINED_NAME(name, level) name##level

/* The variants at this level and at scalar. A file that calls one of another level declares it. */
#define PRIMITIVE(name, returns, parameters) ml_##name##_fn ML_VARIANT(name), ml_##name##_scalar;
#include "simd/primitives.def"
#undef PRIMITIVE

/* The table of this level, and an entry of it. */
#define ML_TABLE ML_JOINED(ml_level_, ML_LEVEL)
#define OWN(name) .name = ML_VARIANT(name)
extern const ml_simd ML_TABLE;

#endif
