/* ladder.h -- the arena of the article in its steps, for measuring only: what a variant is, and
 * what its parts share.
 *
 * A variant is chosen at build, by LADDER_STEP and LADDER_STORE. Each step keeps those before it:
 *   0  tensors and their number behind calls through a table of functions, each with a check
 *   1  the number cached in a local variable, tensors in an array
 *   2  tensors listed by the node that allocates them
 *   3  only pointers that changed are resolved
 *   4  deallocation in one pass
 *   5  records of dead tensors purged
 * LADDER_STORE is what keeps the records, by offset: vector, list or tree (an ordered multimap). */
#ifndef LADDER_H
#define LADDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef LADDER_STEP
#error "build with -DLADDER_STEP=0 .. 5 and -DLADDER_STORE_{VECTOR,LIST,TREE}"
#endif

enum { ALIGNMENT = 64, FOREVER = INT32_MAX };

typedef enum { PLACE_ARENA, PLACE_HEAP } place;

typedef struct tensor {
    int64_t bytes;
    uint8_t *data;
    place place;
} tensor;

/* A claim on the arena; first and last node are inclusive. */
typedef struct record {
    int64_t offset;
    int64_t size;
    int32_t tensor;
    int32_t first;
    int32_t last;
    int32_t marked; /* waits to be deallocated */
} record;

/* What the planner sees of the graph: behind functions, as an interface class would have it, and as
 * it is. */
typedef struct graph graph;
typedef struct graph_functions {
    int32_t (*count)(const graph *g);
    tensor *(*tensor)(graph *g, int32_t index);
} graph_functions;

struct graph {
    const graph_functions *functions;
    tensor *tensors;
    int32_t n_tensors;
    int32_t n_nodes;
    int32_t *first; /* by tensor: the node that allocates it, */
    int32_t *last; /* and the last that reads it */
    int32_t *source; /* by node: the tensor it reads; it writes tensor node + 1 */
    uint8_t *dynamic; /* by node: whether its output's size is known only once it has run */
    int32_t *ends; /* tensors that are kept */
    int32_t n_ends;
};

extern const graph_functions ladder_checked_access;

/* What the planner looked at. */
typedef struct costs {
    int64_t scanned; /* records */
    int64_t tensors;
} costs;

typedef struct planner planner;

planner *ladder_planner_new(graph *g);
void ladder_planner_free(planner *p);
/* Places what nodes first..last allocate, makes the arena large enough and resolves pointers. */
void ladder_execute_allocations(planner *p, int32_t first, int32_t last);
/* Forgets what nodes after `node` allocate. */
void ladder_reset_allocations_after(planner *p, int32_t node);
const costs *ladder_costs(const planner *p);
int64_t ladder_high_water(const planner *p);
/* A number that depends on every offset now in force. */
uint64_t ladder_digest(const planner *p);

#endif
