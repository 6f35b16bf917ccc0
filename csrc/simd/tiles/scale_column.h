/* scale_column.h -- makes floats of sums in their registers, bit for bit as scale_s32 does; for
 * tiles of matmul_s8.
 *
 * The file that includes it defines INLINE. */
#include "simd/words.h"

/* The constants of a vector of outputs, for all rows. */
typedef struct float_column {
    VECTOR weights, bias, low, high;
} float_column;

INLINE void scale_by(const float_column *c, const float *scales, const bool weights_first,
                     const int rows, const int step, VECTOR_S32 *sums) {
    ML_UNROLL(14)
    for (int r = 0; r < rows; r++) {
        const VECTOR scale = SPLAT(scales[r]), sum = FLOATS(sums[r * step]);
        const VECTOR scaled =
            weights_first ? MUL(MUL(sum, c->weights), scale) : MUL(sum, MUL(scale, c->weights));
        sums[r * step] = BITS_OF(CLAMP(ADD(c->bias, scaled), c->low, c->high));
    }
}

/* Makes floats of a column of sums, `step` vectors apart. */
INLINE void scale_rows(const float_column *c, const float *scales, bool weights_first,
                       const int rows, const int step, VECTOR_S32 *sums) {
    if (weights_first) scale_by(c, scales, true, rows, step, sums);
    else scale_by(c, scales, false, rows, step, sums);
}
