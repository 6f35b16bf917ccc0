/* access.c -- tensors behind a table of functions: in a file of its own, so that no call is
 * inlined. */
#include "ladder.h"

static int32_t count(const graph *g) { return g->n_tensors; }

static tensor *at(graph *g, int32_t index) {
    return index >= 0 && index < count(g) ? &g->tensors[index] : NULL;
}

const graph_functions ladder_checked_access = {count, at};
