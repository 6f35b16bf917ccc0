/* pool_f32.h -- windows over floats in vectors of any width: defines the words of tiles/pool.h,
 * except INITIAL, MERGE(total, x, sign), and TOTAL(v, count), which finishes a total before limits;
 * the file that includes this defines them. Limits do not change NaN. */
#include <stdbool.h>

#include "simd/words.h"

#define CHANNELS VECTOR
#define ELEMENT float
#define READ(p, sign) LOAD(p)
#define WRITE(p, v) STORE(p, v)
#define FINISH(k, v, sign) MIN((k)->high, MAX((k)->low, TOTAL(v, (k)->count)))

typedef struct constants {
    VECTOR low, high, count;
} constants;

static inline constants begin(const ml_pool_args *p) {
    return (constants){SPLAT(p->minimum), SPLAT(p->maximum), SPLAT((float)(p->height * p->width))};
}

#include "simd/tiles/pool.h"
