/* repeats.h -- nodes that repeat an earlier one: networks have many layers of one kind. */
#ifndef ML_PLAN_REPEATS_H
#define ML_PLAN_REPEATS_H

#include "graph/engine.h"
#include "plan/rows.h"

/* Finds for each node of all subgraphs (in the order of graph->nodes) the position of an earlier
 * node of its subgraph that differs from it at most in what prepare does not read; -1 = none. The
 * caller frees the table; NULL without memory. */
int32_t *ml_repeats_find(const ml_graph *graph);
/* Gives a node the results of the earlier one, if all inputs have its shapes: blob, output shapes,
 * row. False: it has to be prepared. Its weights are not packed by this. */
bool ml_repeat_node(const ml_call *call, int32_t earlier, ml_node_plan *row);

#endif
