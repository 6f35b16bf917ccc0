/* look.h -- looking: what a plan says, for reports. */

int32_t ml_plan_frames(const ml_plan *plan);
/* The subgraph that a frame runs, and the frame and node (its position) that call it; -1 for the main frame. */
int32_t ml_plan_frame_subgraph(const ml_plan *plan, int32_t frame, int32_t *parent, int32_t *node);
const ml_tensor *ml_plan_tensor(const ml_plan *plan, int32_t frame, int32_t tensor);
int64_t ml_plan_arena_bytes(const ml_plan *plan);
int64_t ml_plan_lower_bound(const ml_plan *plan);
/* Bytes of the work block that small scratch is taken from, beside the arena: at most 64 KiB, whatever the model. */
int64_t ml_plan_work_bytes(const ml_plan *plan);
/* What becomes of a node: 0 waits for shapes, 1 runs, 2 is folded, 3 is a view; -1 past the last. */
int32_t ml_plan_node_status(const ml_plan *plan, int32_t frame, int32_t node);
/* What the main frame's arena would be if these tensors left it, planned by the strategy that planned it. */
typedef struct ml_outlook {
    int64_t arena_bytes;
    int64_t lower_bound;
    int32_t peaks; /* nodes at which lower_bound bytes are live */
    int32_t reserved;
} ml_outlook;
ml_status ml_plan_without(const ml_plan *plan, const int32_t *tensors, int32_t count,
                          ml_outlook *outlook, ml_error *error);
