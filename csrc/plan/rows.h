/* rows.h -- the results of preparing: shapes, blobs, folded values, places.
 *
 * A plan's rows never change once it is made. A residence of a plan with dynamic tensors starts
 * with a copy of them, which its runs write. */
#ifndef ML_PLAN_ROWS_H
#define ML_PLAN_ROWS_H

#include "graph/graph.h"

enum { ML_ALIGNMENT = 64 };
/* Scratch is counted in blocks of ML_ALIGNMENT bytes. */
typedef struct ml_node_plan {
    /* Where it starts in its frame's region, the room of children first; -1: in the work block, or
     * none. */
    int32_t scratch_block;
    uint32_t scratch_blocks; /* for the kernel and for packing, without children */
    uint32_t reserved_blocks; /* of them, or more: what placement has reserved in the region */
    uint8_t status; /* ml_node_status */
    uint8_t ticks; /* one per about 4 KiB of operands, by the first known shapes; at least 1 */
    bool open; /* its shapes depend on values: it is prepared whenever a run reaches it */
    bool packs_in_run; /* its weights are computed at run time */
    bool stale; /* not prepared for the shapes it reads now */
} ml_node_plan;

static inline int64_t ml_scratch_bytes(const ml_node_plan *row) {
    return (int64_t)row->scratch_blocks * ML_ALIGNMENT;
}
static inline int64_t ml_scratch_reserved(const ml_node_plan *row) {
    return (int64_t)row->reserved_blocks * ML_ALIGNMENT;
}
static inline int64_t ml_scratch_offset(const ml_node_plan *row) {
    return row->scratch_block < 0 ? -1 : (int64_t)row->scratch_block * ML_ALIGNMENT;
}

/* Weights in the layout of the level. */
typedef struct ml_packed {
    const void *weights; /* constant ones, in a store; else NULL */
    int64_t offset; /* where in the node's own scratch runs pack computed ones; else -1 */
    int32_t layout; /* the one that prepare asked for */
} ml_packed;

/* The memory that placement has reserved for a slot: the usage record of the tensor whose place it
 * shares, which may be its own. */
typedef struct ml_reserved {
    int64_t bytes; /* at its offset; 0 = it has no place */
    int32_t first; /* nodes, both inclusive; -1 = never live */
    int32_t last;
} ml_reserved;

typedef struct ml_frame_plan {
    int64_t region_bytes; /* peak of the frame, in its caller's scratch (frame 0: in the arena) */
    int64_t room; /* bytes that its caller's scratch has for it */
    int64_t lower_bound;
    int64_t persistent_start; /* of its variable tensors, in the state's persistent memory */
    /* Frame 0: of inputs outside the region; and of those that runs never read in arrays of the
     * caller, which come first. */
    int64_t input_bytes;
    int64_t copied_bytes;
} ml_frame_plan;

/* The tables of all rows, in one block that begins with the frames. */
typedef struct ml_rows {
    ml_frame_plan *frames;
    ml_packed *packed; /* of nodes that pack weights */
    ml_node_plan *nodes;
    ml_tensor *tensors; /* by slot, all frames */
    ml_reserved *reserved; /* the same */
    uint8_t *blobs;
    int64_t persistent_bytes;
    int64_t worker_bytes; /* scratch that every thread needs */
} ml_rows;

/* The tables in `memory`, which has ml_rows_bytes bytes and is aligned for int64_t. */
ml_rows ml_rows_in(void *memory, const ml_graph *graph);
void ml_rows_copy(ml_rows *to, const ml_rows *from, const ml_graph *graph);
int64_t ml_rows_bytes(const ml_graph *graph);

/* A tensor's row in a frame; for a constant, the row in the graph. */
static inline const ml_tensor *ml_row_of(const ml_graph *g, const ml_rows *rows, int32_t frame,
                                         int32_t tensor) {
    const ml_subgraph *sub = ml_frame_subgraph(g, frame);
    int32_t at = sub->slots[tensor];
    return at >= 0 ? &rows->tensors[g->frames[frame].slot_base + at] : &sub->constants[~at];
}

/* The bytes of a node's scratch that the frames of its subgraphs have; all of them have the
 * same. */
static inline int64_t ml_children_room(const ml_graph *g, const ml_rows *rows, int32_t frame,
                                       int32_t node) {
    const bool calls = ml_frame_subgraph(g, frame)->nodes[node].n_children > 0;
    return calls ? rows->frames[ml_child_frame(g, frame, node, 0)].room : 0;
}

static inline ml_packed *ml_packed_of(const ml_graph *g, const ml_rows *rows, int32_t frame,
                                      int32_t node) {
    int32_t at = ml_frame_subgraph(g, frame)->nodes[node].pack_start;
    return at < 0 ? NULL : &rows->packed[g->frames[frame].pack_base + at];
}
/* The node's packed constant weights; NULL if it packs nothing, or packs in runs. */
static inline const void *ml_constant_weights(const ml_graph *g, const ml_rows *rows, int32_t frame,
                                              int32_t node) {
    const ml_packed *packed = ml_packed_of(g, rows, frame, node);
    return packed ? packed->weights : NULL;
}
/* The offset in the node's scratch at which runs pack its weights; -1 if they do not. */
static inline int64_t ml_computed_weights(const ml_graph *g, const ml_rows *rows, int32_t frame,
                                          int32_t node) {
    const ml_packed *packed = ml_packed_of(g, rows, frame, node);
    return packed ? packed->offset : -1;
}

#endif
