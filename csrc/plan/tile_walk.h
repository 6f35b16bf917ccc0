/* tile_walk.h -- ml_tile_walk: a range of nodes that runs patch by patch, from its last node
 * backwards: what each patch needs of each tensor, and what is live meanwhile.
 *
 * The output of the last node is cut by a grid. A node before it computes the smallest rectangle
 * that holds what the nodes after it need. Rows and columns are cut independently, so patch k here
 * has rows number k and columns number k of the grid, and the largest rectangle has the largest
 * sides. */
#ifndef ML_PLAN_TILE_WALK_H
#define ML_PLAN_TILE_WALK_H

#include "plan/patch.h"
#include "plan/tile_facts.h"
#include "plan/tiled.h"

typedef struct ml_tile_grid {
    int32_t parts[2]; /* of rows, of columns */
} ml_tile_grid;

/* A tensor that the nodes so far read or make. */
typedef struct ml_tile_tensor_need {
    int32_t tensor;
    int32_t made; /* the node of the range that makes it; -1: it comes from outside */
    int32_t last; /* the last node of the range that reads it */
    bool is_output; /* made here, and read after the range: it is whole */
    bool is_piece; /* each part is one piece of the memory of the whole tensor, or the whole */
    int64_t bytes; /* of the largest part, rounded */
    ml_rectangle part[ML_TILE_SIDE]; /* by patch */
} ml_tile_tensor_need;

typedef struct ml_tile_member {
    int32_t node;
    int32_t output; /* in `needs` */
    int32_t inputs[ML_TILE_OPERANDS]; /* in `needs`; -1: needed whole, or absent */
    ml_rectangle in[ML_TILE_OPERANDS][ML_TILE_SIDE];
} ml_tile_member;

typedef struct ml_tile_walk {
    const ml_tile_facts *facts;
    ml_env env;
    ml_engine engine;
    struct ml_frame_engine fe;
    ml_error quiet;
    ml_rows rows;
    void *params; /* room for the parameters of any node */
    int32_t *need_of; /* by tensor: its place in `needs`, -1 = none */
    ml_tile_grid grid;
    int32_t patches;
    int32_t end; /* the last node */
    int32_t n_members; /* nodes that run, from the last backwards */
    int32_t n_needs;
    int64_t outputs; /* bytes of whole tensors that the range makes */
    double more; /* work beyond that of the whole nodes */
    ml_tile_member members[ML_TILE_NODES];
    ml_tile_tensor_need needs[ML_TILE_NODES * (ML_TILE_OPERANDS + 1)];
} ml_tile_walk;

ml_status ml_tile_walk_new(const ml_tile_facts *facts, ml_tile_walk **walk, ml_error *error);
void ml_tile_walk_free(ml_tile_walk *walk);
/* Begins a range that ends with node `end`; ml_tile_walk_add adds the node before those that it
 * has, `end` first. False if that node cannot run patch by patch, or a patch would have no rows or
 * columns. */
void ml_tile_walk_begin(ml_tile_walk *walk, int32_t end, ml_tile_grid grid);
bool ml_tile_walk_add(ml_tile_walk *walk, int32_t node);
/* The largest of the parts in bytes, rounded. */
int64_t ml_tile_bytes(const ml_tile_walk *walk, int32_t tensor, const ml_rectangle *parts);
/* True if each part is one piece of the memory of what lies around it. */
bool ml_tile_is_piece(const ml_tile_walk *walk, int32_t tensor, const ml_rectangle *parts,
                      const ml_rectangle *around);
/* True if both are the same in all patches. */
static inline bool ml_tile_same(const ml_tile_walk *w, const ml_rectangle *a,
                                const ml_rectangle *b) {
    return memcmp(a, b, (size_t)w->patches * sizeof *a) == 0;
}
/* The most bytes that are live while the range runs, whole tensors and patches; `first` is its
 * first node. Whole tensors before and after it stay live to its end and from its beginning. */
int64_t ml_tile_walk_live(const ml_tile_walk *walk, int32_t first);

#endif
