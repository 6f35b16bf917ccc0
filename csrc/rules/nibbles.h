/* nibbles.h -- a nest over 4-bit elements, which it counts in place of bytes: run by run, whichever
 * half of a byte they begin in. */
#ifndef ML_RULES_NIBBLES_H
#define ML_RULES_NIBBLES_H

#include "rules/nest.h"

/* Eval. From the stepping side, `start` elements and the nest's own behind `from`, to a packed
 * `to`. */
ml_status ml_gather_nibbles(const ml_call *c, const ml_nest *nest, int64_t start,
                            const uint8_t *from, uint8_t *to);
/* From a packed `from` to the stepping side; what lies between stays as it is. */
ml_status ml_scatter_nibbles(const ml_call *c, const ml_nest *nest, int64_t start,
                             const uint8_t *from, uint8_t *to);

#endif
