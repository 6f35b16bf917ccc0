/* dot.h -- tiles of tiles/matmul_s8_tile.h at avx_vnni: 6 rows times two vectors of 8 outputs. The
 * words are those of avx2, but for products of bytes. */
#undef ML_WORDS
#define ML_WORDS "simd/words/avx2.h"
#include "simd/words.h"
#undef ADD_PRODUCTS
#define ADD_PRODUCTS(sum, x, w) _mm256_dpbusd_avx_epi32(sum, x, w)

#define MOST_ROWS 6
#define MOST_VECTORS 4
#define MOST_SUMS 12
#define TILES(X) \
    X(1, 4) X(1, 2) X(2, 4) X(2, 2) X(3, 2) X(4, 2) X(5, 2) X(6, 2)
