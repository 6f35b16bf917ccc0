/* depthwise_store.h -- tiles of depthwise_s8, whose sums are stored: of the vectors that the file
 * which includes it has. */
#define LANES 8
#define STORE_SUM(p, v) store_sums(p, v, LANES)
#define STORE_SUM_PART(p, v, count) store_sums(p, v, count)
#define FINISH(p, v) (v)

#include "simd/tiles/depthwise.h"
