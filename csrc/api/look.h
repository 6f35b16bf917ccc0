/* look.h -- reading a plan, for reports. Numbers of tensors and nodes are checked: for one out of
 * range the functions return NULL, -1 or 0. */

int32_t ml_plan_frames(const ml_plan *plan);
/* The subgraph that a frame runs, and the frame and node (its position) that call it; -1 for the
 * main frame. */
int32_t ml_plan_frame_subgraph(const ml_plan *plan, int32_t frame, int32_t *parent, int32_t *node);
const ml_tensor *ml_plan_tensor(const ml_plan *plan, int32_t frame, int32_t tensor);
int64_t ml_plan_arena_bytes(const ml_plan *plan);
int64_t ml_plan_lower_bound(const ml_plan *plan);
/* Bytes of the work block that small scratch is taken from, beside the arena: at most 64 KiB,
 * whatever the model. */
int64_t ml_plan_work_bytes(const ml_plan *plan);
/* Bytes the plan itself takes, and with the residence of a state that uses it. */
int64_t ml_plan_own_bytes(const ml_plan *plan);
typedef enum {
    ML_NODE_WAITS = 0,
    ML_NODE_RUNS = 1,
    ML_NODE_FOLDED = 2,
    ML_NODE_IS_VIEW = 3,
    ML_NODE_IS_FUSED = 4
} ml_node_status;
/* What becomes of the node at a position (ml_node_status); -1 past the last. *index is the file's
 * number of it. */
int32_t ml_plan_node(const ml_plan *plan, int32_t frame, int32_t position, int32_t *index);
/* The file's number of the node that one which is fused has become a part of; -1 for others. */
int32_t ml_plan_part_of(const ml_plan *plan, int32_t frame, int32_t position);
/* The kernel that runs the node, and in *types the operand types of the row that its eval is in,
 * NULL where numpy runs it; NULL for a node that is not there. */
const char *ml_plan_kernel(const ml_plan *plan, int32_t frame, int32_t position,
                           const char **types);
/* The level of instructions its inner loops run at. */
const char *ml_plan_level(const ml_plan *plan);
/* Copies up to `room` usage records of a frame (scratch of the node at position n has tensor number
 * n_tensors + n); returns their number, -1 without memory. */
int32_t ml_plan_records(const ml_plan *plan, int32_t frame, ml_record *records, int32_t room);
/* What the main frame's arena would be if these tensors left it, planned by the strategy that
 * planned it. */
typedef struct ml_outlook {
    int64_t arena_bytes;
    int64_t lower_bound;
    int32_t peaks; /* nodes at which lower_bound bytes are live */
    int32_t reserved;
} ml_outlook;
ml_status ml_plan_without(const ml_plan *plan, const int32_t *tensors, int32_t count,
                          ml_outlook *outlook, ml_error *error);
