/* graph.h -- ml_graph: everything that never changes after loading, in the form that planning and
 * running use.
 *
 * A tensor that is computed, fed or variable has a slot: plans hold rows by slot. Constants have no
 * slot, but one row per graph. Tables of pointers are indexed by tensor. Each of these tables is
 * one array for all frames. */
#ifndef ML_GRAPH_GRAPH_H
#define ML_GRAPH_GRAPH_H

#include <stdatomic.h>

#include "core/error.h"
#include "graph/store.h"
#include "kernel.h"

/* Limits on calls of subgraphs, so that memory stays in proportion to the file, and that whatever
 * calls itself for each level of calls fits the stack of a thread of 256 KiB. Converters nest three
 * levels. */
enum { ML_MAX_FRAMES = 4096, ML_MAX_UNFOLDED = 1 << 22, ML_MAX_DEPTH = 64 };

typedef struct ml_node {
    const ml_kernel *kernel;
    const ml_typed *typed; /* NULL: the node runs in Python */
    const void *params;
    void *derived;         /* owned */
    const ml_node_io *io;
    int64_t blob_start;    /* position in its frame's blobs */
    int64_t memory_start;  /* position in its frame's node memory */
    int32_t index;         /* the node's number in the file */
    int32_t handler;
    int32_t pack_start;    /* index into its frame's packed weights; -1: it packs none */
    int32_t child_start;   /* index into the children of its frame */
    int32_t n_children;
    int32_t part_of; /* position of the node that it was merged into; -1 = none */
    const int32_t *subgraphs;
} ml_node;

typedef struct ml_subgraph {
    ml_tensor_def *tensors;
    ml_node *nodes;
    ml_planner_graph io;
    const int32_t *slots;      /* by tensor; slots[-1] is the absent tensor: see ml_env */
    const ml_tensor *constants; /* constants[0] is the absent tensor */
    /* A slot's readers are readers[reader_start[slot] .. reader_start[slot + 1]). */
    const int32_t *reader_start;
    const int32_t *readers; /* positions of nodes, ascending, without repeats */
    const int32_t *numbers; /* by slot: the tensor's number */
    const int32_t *input_uses; /* by input: ml_input_use */
    const ml_tensor *fresh; /* by slot: its row before any shape is known */
    /* The last answer of the store, by pack_start; NULL at first. This is the only part of a graph
     * that changes. Plans of several threads read and write it, so each entry is a single pointer
     * to a block that never changes and lives as long as the stores that the graph holds. */
    _Atomic(const ml_packed_weights *) *last_packed;
    int64_t blob_bytes;
    int64_t memory_bytes; /* total memory_bytes of its nodes */
    int32_t n_slots;
    int32_t n_packs; /* number of nodes that pack weights */
    int32_t n_children;
    bool planned_offline; /* some tensor has an offset given in the file */
} ml_subgraph;

/* A place where a subgraph is called. Its rows begin at slot_base (+ slot), its nodes' rows at
 * node_base (+ position), its pointers at tensor_base (+ tensor; tensor_base - 1 is the absent
 * tensor), the frames of its nodes at child_base (+ child_start), their packed weights at pack_base
 * (+ pack_start). */
typedef struct ml_frame {
    int32_t subgraph;
    int32_t parent; /* -1 for frame 0 */
    int32_t parent_node;
    int32_t tensor_base;
    int32_t slot_base;
    int32_t node_base;
    int32_t child_base;
    int32_t pack_base;
    int64_t blob_base;
    int64_t memory_base;
} ml_frame;

struct ml_graph {
    /* references: by the caller, states and plans, which may be freed in any order */
    atomic_int holders;
    ml_subgraph *subgraphs;
    ml_frame *frames;
    int32_t *children;
    ml_tensor_def *tensor_defs;
    ml_node *nodes;
    ml_node_io *node_io;
    int32_t *io;
    uint8_t *params;
    uint8_t *fused_params; /* parameters of nodes that others were merged into; NULL = none */
    ml_quantization *quantizations;
    /* Tables of all subgraphs; slots, reader lists and numbers are in the same block. */
    _Atomic(const ml_packed_weights *) *last_packed;
    int32_t *index_tables;
    ml_tensor *constants;
    ml_tensor *fresh; /* rows of all slots of all subgraphs */
    const struct ml_simd *simd;
    ml_store *store;
    ml_store *own; /* for packed constants that are not in the file */
    int64_t blob_bytes;
    int64_t memory_bytes;
    int64_t derived_bytes;
    int64_t larger_bytes; /* granted to larger forms of weights */
    int64_t n_nodes; /* of all subgraphs */
    int32_t n_subgraphs;
    int32_t n_frames;
    int32_t total_tensors; /* of all frames, each with one absent tensor */
    int32_t total_slots;
    int32_t total_nodes;
    int32_t total_packs;
    int32_t total_children;
    int32_t n_resources;
    bool fast_convolutions; /* see ml_env */
    int32_t n_heap; /* tensors of all frames whose values are in blocks outside the arena */
    int32_t n_centered; /* variables of all frames that do not begin as 0 */
};

/* check.c: every index, dimension and count of the description; ML_GRAPH_ERROR with the first
 * fault. */
ml_status ml_graph_check(const ml_graph_def *def, ml_error *error);
/* ML_GRAPH_ERROR if the row was compiled against another kernel.h, or is incomplete. */
ml_status ml_kernel_check(const ml_kernel *kernel, ml_error *error);
/* fuse.c: merges nodes where that saves a pass over memory. */
ml_status ml_graph_fuse(ml_graph *graph, ml_error *error);
/* borrow.c: lets values of variables be read in place. Runs after ml_graph_fuse. */
ml_status ml_graph_borrow(ml_graph *graph, ml_error *error);
/* derive.c: makes every node's derived block. */
ml_status ml_graph_derive(ml_graph *graph, ml_error *errors, int32_t n_errors);
/* larger.c: grants larger forms of weights, up to `most` bytes in all, after ml_graph_derive. */
ml_status ml_graph_grant_larger(ml_graph *graph, int64_t most, ml_error *error);
/* derive.c: the rows of a subgraph's slots as the file has them, which derive and `larger` see; the
 * caller frees them. NULL without memory. */
ml_tensor *ml_rows_of_file(const ml_subgraph *sub);
ml_graph *ml_graph_hold(const ml_graph *graph);

/* The initial byte of a variable: as in TFLite, the zero point for s8 tensors with one scale, else
 * 0. */
static inline int8_t ml_first_byte(const ml_graph *g, const ml_tensor_def *def) {
    if (!(def->flags & ML_TENSOR_VARIABLE) || def->type != ML_S8 || def->quantization < 0) return 0;
    const ml_quantization *q = &g->quantizations[def->quantization];
    return q->n_scales == 1 ? (int8_t)q->zero_points[0] : 0;
}
static inline const ml_subgraph *ml_frame_subgraph(const ml_graph *g, int32_t frame) {
    return &g->subgraphs[g->frames[frame].subgraph];
}
/* The frame of child `k` of a node. */
static inline int32_t ml_child_frame(const ml_graph *g, int32_t frame, int32_t node, int32_t k) {
    return g->children[g->frames[frame].child_base +
                       ml_frame_subgraph(g, frame)->nodes[node].child_start + k];
}

#endif
