/* inputs.h -- judges the inputs of a subgraph: which ones plans and runs may keep apart. */
#ifndef ML_GRAPH_INPUTS_H
#define ML_GRAPH_INPUTS_H

#include "graph/graph.h"

enum { ML_MOST_LENT = 64 }; /* only the first so many inputs are lent */

typedef enum {
    ML_INPUT_SHARED = 0, /* it is listed twice, or an output too */
    ML_INPUT_ALONE, /* nothing else lies where it lies */
    ML_INPUT_LENDABLE /* and runs may read it in an array of the caller, if it is large */
} ml_input_use;

/* Fills in `uses`, an ml_input_use by input. `listed` is room for a number by tensor. */
void ml_inputs_judge(const ml_subgraph *sub, int32_t *uses, int32_t *listed);

#endif
