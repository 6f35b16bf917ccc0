/* depthwise_s32.h -- tiles of depthwise.h for groups of bytes or of int16, in the words of a level.
 * The file that includes it may define what becomes of sums that are not stored. */
#include "simd/words.h"

#define SUM VECTOR_S32
#define ELEMENT int32_t
#define ZERO_SUM() SPLAT_S32(0)
#define LOAD_VALUE(p) LOAD_S32(p)
#define LOAD_VALUE_PART(p, count) LOAD_PART_S32((const int32_t *)(const void *)(p), count)
#define ADD_SUMS(a, b) ADD_S32(a, b)
#define MULTIPLY_ADD(x, w, sum) ADD_PRODUCTS(sum, x, w)
#define MASKS MASKED
#define WHOLES(width) (!FREE_MASKS && (width) == 3) /* code for other widths would be long */
#ifndef FINISH_TILE
#define STORE_SUM(p, v) STORE_S32(p, v)
#define STORE_SUM_PART(p, v, count) STORE_PART_S32(p, v, count)
#define FINISH(p, v) (v)
#endif

#include "simd/tiles/depthwise.h"
