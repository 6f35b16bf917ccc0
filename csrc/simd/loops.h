/* loops.h -- the entries of a level's table for the primitives that have a loop in words. */
#define PRIMITIVE(name, returns, parameters)
#define IN_WORDS(name, returns, parameters) OWN(name),
#include "simd/primitives.def"
#undef PRIMITIVE
