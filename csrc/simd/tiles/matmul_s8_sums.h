/* matmul_s8_sums.h -- matmul_s8 in tiles of matmul_s8_wide.h.
 *
 * In addition to the vectors that that header needs, the file that includes this one defines
 * LOAD_SUMS(p), STORE_SUMS(p, v), ADD(a, b), MULTIPLY(factor, b), and IN_TURN(v), which puts joined
 * sums in the order of outputs. */
#include <string.h>

#include "simd/simd.h"

#define INLINE __attribute__((always_inline)) static inline

enum { SUMS = 2 * OUTPUTS /* in a joined vector */ };

INLINE VECTOR load_sums(const int32_t *p, int64_t count) {
    int32_t part[SUMS] = {0};
    if (count >= SUMS) return LOAD_SUMS(p);
    memcpy(part, p, (size_t)count * sizeof *p);
    return LOAD_SUMS(part);
}

INLINE void store_sums(int32_t *p, VECTOR v, int64_t count) {
    int32_t part[SUMS];
    if (count >= SUMS) {
        STORE_SUMS(p, v);
        return;
    }
    STORE_SUMS(part, v);
    memcpy(p, part, (size_t)count * sizeof *p);
}

/* The first stretch of k adds the bias and the factors; the others add to the sums in y. */
INLINE void store_tile(const ml_matmul_s8_args *p, bool begin, int64_t row, int64_t output,
                       const int rows, const int joined, const VECTOR *sums) {
    ML_UNROLL(4)
    for (int v = 0; v < joined; v++, output += SUMS) {
        const int64_t left = p->n - output;
        if (left <= 0) return;
        const VECTOR bias = begin && p->bias ? load_sums(p->bias + output, left) : ZERO();
        int32_t *y = p->y + row * p->y_stride + output;
        ML_UNROLL(8)
        for (int r = 0; r < rows; r++, y += p->y_stride) {
            VECTOR sum = ADD(IN_TURN(sums[r * joined + v]), bias);
            if (!begin) sum = ADD(sum, load_sums(y, left));
            else if (p->factors)
                sum = ADD(sum, MULTIPLY(p->factors[row + r], load_sums(p->columns + output, left)));
            store_sums(y, sum, left);
        }
    }
}

#define NEAR 512
#define BEGIN(own, at, v) ZERO()
#define FINISH_TILE(own, at, rows, joined, sums) \
    store_tile(own, (at)->s->first == 0, (at)->row, (at)->output, rows, joined, sums)
#include "simd/tiles/matmul_s8_wide.h"

static void multiply_to_sums(const ml_matmul_s8_args *p) { multiply(p, p, 1, 0); }
