/* blockwise.h -- constants whose rows are quantized in blocks, each with its own scale; the scales
 * are another tensor of the subgraph. */
#ifndef ML_RULES_BLOCKWISE_H
#define ML_RULES_BLOCKWISE_H

#include "kernel.h"

/* Check. Reads the number of elements in a block of input `i`, and the scales of its blocks as
 * floats, row by row; 0 and no scales if it is quantized in another way. */
ml_status ml_read_blocks(const ml_call *c, int i, int32_t *block, ml_array *scales);

#endif
