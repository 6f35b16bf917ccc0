/* depthwise_f32.h -- tiles of depthwise.h for floats, in the words of a level. */
#include "simd/words.h"

#define SUM VECTOR
#define ELEMENT float
#define ZERO_SUM() SPLAT(0.0f)
#define LOAD_VALUE(p) LOAD((const float *)(const void *)(p))
#define LOAD_VALUE_PART(p, count) LOAD_PART((const float *)(const void *)(p), count)
#define STORE_SUM(p, v) STORE(p, v)
#define STORE_SUM_PART(p, v, count) STORE_PART(p, v, count)
#define ADD_SUMS(a, b) ADD(a, b)
#ifndef MULTIPLY_ADD
#define MULTIPLY_ADD(x, w, sum) FMA(x, w, sum)
#endif
#define FINISH(p, v) CLAMP(v, SPLAT((p)->low), SPLAT((p)->high))
#define MASKS MASKED
#define WHOLES(width) (!FREE_MASKS)

#include "simd/tiles/depthwise.h"
