/* matmul_s8_place.h -- tile_place: the beginning of a tile of matmul_s8.
 *
 * The file that includes it may define MORE_OF_PLACE, further members of tile_place. */
#include <string.h>

#include "simd/simd.h"

#ifndef MORE_OF_PLACE
#define MORE_OF_PLACE
#endif

enum { GROUP = 4 /* bytes of a row that are multiplied at a time */ };

#define INLINE __attribute__((always_inline)) static inline

typedef struct tile_place {
    int64_t row;
    int64_t output;
    const int8_t *w;
    int64_t step; /* bytes from group to group of a panel */
    MORE_OF_PLACE
} tile_place;
