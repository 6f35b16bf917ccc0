/* tiled.h -- ml_tiled: the tile groups of a plan in the form in which they are placed and run.
 *
 * Parts of tensors are numbered in each group. A part is a rectangle per patch: the whole tensor, a
 * piece of the memory of a larger part, or a record, which has memory of its own in the group's
 * region, as large as its largest rectangle. Nodes run on parts as on tensors: the same kernels,
 * with the parameters and shapes of the patch. Patches of one size share these (a geometry).
 *
 * For the planner a group is one node, in the place of its last: it reads whole tensors, writes
 * whole tensors, and has its region as scratch. Tensors between its nodes have no memory. */
#ifndef ML_PLAN_TILED_H
#define ML_PLAN_TILED_H

#include "plan/rows.h"

/* A grid has at most so many rows, or columns; a group so many nodes, of so many inputs. */
enum { ML_TILE_SIDE = 8, ML_TILE_NODES = 48, ML_TILE_OPERANDS = 8 };
enum {
    ML_TILE_PATCHES = ML_TILE_SIDE * ML_TILE_SIDE,
    /* A part for each operand, and one more for each that several nodes need parts of. */
    ML_TILE_PARTS = 2 * ML_TILE_NODES * (ML_TILE_OPERANDS + 1)
};

typedef enum {
    ML_PART_WHOLE, /* the tensor itself */
    ML_PART_PIECE, /* one piece of the memory of `around` */
    ML_PART_COPIED, /* a record: copied from `around` before its first reader runs */
    ML_PART_MADE /* a record: a node writes it */
} ml_part_kind;

typedef struct ml_tile_part {
    int32_t tensor;
    int32_t around; /* a part; -1: the whole tensor */
    ml_part_kind kind;
    int32_t reader; /* ML_PART_COPIED: the number of its first reader in the group */
    int64_t offset; /* records: in the group's region */
    int64_t bytes; /* records: of the largest rectangle */
    ml_rectangle of[ML_TILE_SIDE]; /* by row and by column of the grid */
} ml_tile_part;

typedef struct ml_tiled_node {
    int32_t node; /* its position in the frame */
    int32_t first_operand; /* in the group's operands: inputs, then the output */
    int32_t n_inputs;
    bool leaves; /* its part is copied to the whole output */
    int64_t scratch; /* offset in the region; -1: in the work block, or none */
} ml_tiled_node;

/* A node's call in the patches of a geometry. */
typedef struct ml_tiled_call {
    const void *params;
    void *blob;
    const void *packed;
    int32_t ticks;
} ml_tiled_call;

/* One block. */
typedef struct ml_geometry {
    ml_tensor *tensors; /* by part */
    ml_tiled_call *calls; /* by node */
} ml_geometry;

typedef struct ml_tiled_group {
    ml_tile_group range;
    ml_tile_part *parts;
    int32_t *numbers; /* by part: its tensor */
    ml_tiled_node *nodes; /* as they run */
    int32_t *operands; /* numbers of parts, -1 = absent */
    ml_geometry *geometries[ML_TILE_PATCHES];
    uint8_t geometry_of[ML_TILE_PATCHES]; /* by patch: row times columns plus column */
    int32_t n_parts;
    int32_t n_nodes;
    int32_t n_operands;
    int32_t n_geometries;
    int64_t region_bytes;
    int64_t block_bytes; /* of all its memory */
} ml_tiled_group;

/* Belongs to a plan; its copies share it. */
typedef struct ml_tiled {
    ml_planner_graph io; /* of the main frame, each group as one node */
    int32_t *slots; /* by part: itself; slots[-1] is the absent one */
    ml_tiled_group *groups;
    int32_t n_groups;
    int64_t bytes;
} ml_tiled;

void ml_tiled_free(ml_tiled *tiled);
/* Notes in the rows which nodes run in groups, and which tensors no longer exist. */
void ml_tiled_note(const ml_tiled *tiled, const ml_graph *graph, ml_rows *rows);
/* The group that runs at the node; NULL if none does. */
static inline const ml_tiled_group *ml_tiled_at(const ml_tiled *tiled, int32_t node) {
    for (int32_t i = 0; tiled && i < tiled->n_groups; i++)
        if (tiled->groups[i].range.last == node) return &tiled->groups[i];
    return NULL;
}
/* The rectangle of a part in the patch at a row and a column of the grid. */
static inline ml_rectangle ml_part_of(const ml_tile_part *part, int32_t row, int32_t column) {
    return (ml_rectangle){{part->of[row].side[0], part->of[column].side[1]}};
}

#endif
