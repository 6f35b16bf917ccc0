/* blockwise.h -- constants quantized in blocks of a row, each with a scale of its own, which are a
 * tensor of the same subgraph. */
#ifndef ML_RULES_BLOCKWISE_H
#define ML_RULES_BLOCKWISE_H

#include "kernel.h"

/* Check. The elements of a block of input `i` and the scales of its blocks, row by row, as floats;
 * 0 and none where it is quantized otherwise. */
ml_status ml_read_blocks(const ml_call *c, int i, int32_t *block, ml_array *scales);

#endif
