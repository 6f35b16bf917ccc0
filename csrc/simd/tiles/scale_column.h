/* scale_column.h -- makes floats of sums in their registers, bit for bit as scale_s32 does; for
 * tiles of matmul_s8.
 *
 * The file that includes it defines INLINE; VECTOR, a vector of sums; REALS, one of as many floats;
 * SET_REAL(x), REALS_OF_SUMS(v), MULTIPLY_REALS(a, b); and CLAMPED(v, bias, low, high), the bits of
 * min(max(bias + v, low), high). */
#include <stdbool.h>

/* The constants of a vector of outputs, for all rows. */
typedef struct float_column {
    REALS weights, bias, low, high;
} float_column;

INLINE void scale_by(const float_column *c, const float *scales, const bool weights_first,
                     const int rows, const int step, VECTOR *sums) {
    ML_UNROLL(14)
    for (int r = 0; r < rows; r++) {
        const REALS scale = SET_REAL(scales[r]), sum = REALS_OF_SUMS(sums[r * step]);
        const REALS scaled = weights_first ? MULTIPLY_REALS(MULTIPLY_REALS(sum, c->weights), scale)
                                           : MULTIPLY_REALS(sum, MULTIPLY_REALS(scale, c->weights));
        sums[r * step] = CLAMPED(scaled, c->bias, c->low, c->high);
    }
}

/* Makes floats of a column of sums, `step` vectors apart. */
INLINE void scale_rows(const float_column *c, const float *scales, bool weights_first,
                       const int rows, const int step, VECTOR *sums) {
    if (weights_first) scale_by(c, scales, true, rows, step, sums);
    else scale_by(c, scales, false, rows, step, sums);
}
