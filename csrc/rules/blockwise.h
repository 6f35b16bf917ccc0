/* blockwise.h -- constants whose rows are quantized in blocks, each with its own scale (the scales
 * are another tensor of the subgraph), and products of float rows with such weights. */
#ifndef ML_RULES_BLOCKWISE_H
#define ML_RULES_BLOCKWISE_H

#include "rules/matmul.h"

/* Check. Reads the number of elements in a block of input `i`, and the scales of its blocks as
 * floats, row by row; 0 and no scales if it is quantized in another way. */
ml_status ml_read_blocks(const ml_call *c, int i, int32_t *block, ml_array *scales);

/* Weights (outputs, k) of s8, s4 or s2: input 1. */
typedef struct ml_block_weights {
    int64_t n;
    int64_t k;
    int32_t block;
    int32_t type;
    const float *scales;
} ml_block_weights;

/* The pack function: panels for dot_blocks_f32 and unpack_blocks_f32. */
int64_t ml_pack_block_weights(const ml_call *c, void *to, const ml_block_weights *w);
/* Prepare: the rows of a block, and scratch. ML_SHAPE_ERROR when a row is too long. */
ml_status ml_prepare_block_weights(const ml_call *c, ml_wish *wish, ml_blocks *b);
/* Eval: input 0 as b->rows rows, plus bias (input 2), within limits. Few rows read the weights as
 * they are packed, once each; for more, panels of them become floats. */
ml_status ml_multiply_block_weights(const ml_call *c, const ml_blocks *b, const ml_block_weights *w,
                                    float minimum, float maximum);

#endif
