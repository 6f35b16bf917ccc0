/* look.h -- reading a plan, for reports. Numbers of tensors and nodes are checked: for one out of
 * range the functions return NULL, -1 or 0. */

int32_t ml_plan_frames(const ml_plan *plan);
/* The subgraph that a frame runs, and the frame and node (its position) that call it; -1 for the
 * main frame. */
int32_t ml_plan_frame_subgraph(const ml_plan *plan, int32_t frame, int32_t *parent, int32_t *node);
const ml_tensor *ml_plan_tensor(const ml_plan *plan, int32_t frame, int32_t tensor);
int64_t ml_plan_arena_bytes(const ml_plan *plan);
int64_t ml_plan_input_bytes(const ml_plan *plan); /* of inputs, beside these bytes */
int64_t ml_plan_lower_bound(const ml_plan *plan);
/* Bytes of the work block that small scratch is taken from, beside the arena: at most 64 KiB,
 * whatever the model. */
int64_t ml_plan_work_bytes(const ml_plan *plan);
/* Bytes of the plan itself; and of the plan together with a residence of it. */
int64_t ml_plan_own_bytes(const ml_plan *plan);
typedef enum {
    ML_NODE_WAITS = 0,
    ML_NODE_RUNS = 1,
    ML_NODE_FOLDED = 2,
    /* From here on there is nothing to compute. */
    ML_NODE_IS_VIEW = 3,
    ML_NODE_IS_FUSED = 4,
    ML_NODE_IS_EMPTY = 5, /* its outputs have no elements */
    /* Part of a tile group, whose last node runs all of it, patch by patch. */
    ML_NODE_IN_PATCHES = 6,
    ML_NODE_RUNS_PATCHES = 7
} ml_node_status;
/* The way in which the node at a position is run (ml_node_status); -1 after the last. *index is its
 * number in the file. */
int32_t ml_plan_node(const ml_plan *plan, int32_t frame, int32_t position, int32_t *index);
/* For a fused node: the number, in the file, of the node that does its work. -1 for other nodes. */
int32_t ml_plan_part_of(const ml_plan *plan, int32_t frame, int32_t position);
/* The kernel that runs the node; NULL if there is no such node. *types gets the operand types of
 * the row whose eval runs it, or NULL if numpy runs it. */
const char *ml_plan_kernel(const ml_plan *plan, int32_t frame, int32_t position,
                           const char **types);
/* The way in which the kernel computes the node, in a few words; NULL: the usual one. */
const char *ml_plan_way(const ml_plan *plan, int32_t frame, int32_t position);
/* The name of the level whose primitives it uses. */
const char *ml_plan_level(const ml_plan *plan);
/* Copies up to `room` usage records of a frame (scratch of the node at position n has tensor number
 * n_tensors + n); returns their number, -1 without memory. */
int32_t ml_plan_records(const ml_plan *plan, int32_t frame, ml_record *records, int32_t room);
/* Tells what the node at a position of the main frame needs to compute the rectangle `out` of its
 * output, which may grow: `in` by input, and `params` in place of its parameters, as `window` of
 * kernel.h says. 0 if it cannot be cut there, or has other than `n_inputs` inputs. */
int32_t ml_plan_window(const ml_plan *plan, int32_t position, ml_rectangle *out, ml_rectangle *in,
                       int32_t n_inputs, void *params);
/* Tiles: ranges of nodes that run patch by patch, so that what lies between them never exists
 * whole. The outputs of a range are cut into rows x columns parts. */
typedef struct ml_tile_group {
    int64_t live; /* the most bytes that are live while it runs */
    double more; /* work beyond that of the whole nodes */
    int32_t first; /* positions of nodes, both inclusive */
    int32_t last;
    int32_t rows;
    int32_t columns;
} ml_tile_group;
enum { ML_MOST_TILE_GROUPS = 64 };
/* Work is counted in multiply-adds; operators without products count one per element of the
 * output. */
typedef struct ml_tiling {
    int64_t untiled; /* lower bound of the main frame's arena without tiles */
    int64_t smallest; /* the lowest that tiles reach, by any work, if that is above the limit */
    int64_t bound; /* with these groups */
    double work; /* of the whole nodes */
    double more; /* of all groups */
    int32_t n_groups;
    int32_t reserved;
    ml_tile_group groups[ML_MOST_TILE_GROUPS]; /* ascending, apart from each other */
} ml_tiling;
/* Finds the groups of least work whose bound is within `limit`. If there are none, or their work
 * beyond that of the whole nodes is above `most` (as a share of it; below 0: any), the groups of
 * the lowest bound that is possible within `most`. `whole` has a byte per node, by position: 1 =
 * it may not run patch by patch; NULL: none. */
ml_status ml_plan_tile(const ml_plan *plan, const uint8_t *whole, int64_t limit, double most,
                       ml_tiling *tiling, ml_error *error);
/* The groups that run patch by patch in this plan, up to `room` of them; returns their number. */
int32_t ml_plan_tiles(const ml_plan *plan, ml_tile_group *groups, int32_t room);
/* The main frame's arena as the same strategy would plan it without these tensors. */
typedef struct ml_outlook {
    int64_t arena_bytes;
    int64_t lower_bound;
    int32_t peaks; /* nodes at which lower_bound bytes are live */
    int32_t reserved;
} ml_outlook;
ml_status ml_plan_without(const ml_plan *plan, const int32_t *tensors, int32_t count,
                          ml_outlook *outlook, ml_error *error);
