/* family.h -- ml_family: a graph, and what the plans of its sizes have in common.
 *
 * Another size usually differs only in bytes: the same tensors have memory, with the same
 * lifetimes, and share it in the same way. So a family keeps, for each frame, the order in which
 * the last size was placed, and from the second size on the planner, with its schedule and the
 * lists of its records. All interpreters over one graph share a family. A plan never changes after
 * it is made. But which sizes were planned before decides where a size's tensors lie: never what
 * they hold. */
#ifndef ML_PLAN_FAMILY_H
#define ML_PLAN_FAMILY_H

#include "graph/graph.h"
#include "os/os.h"
#include "plan/planner.h"

/* The order and the planner of one frame, for plans with the same strategy and options. */
typedef struct ml_kept_planner {
    ml_placing_order order;
    ml_planner *planner; /* NULL until the second plan */
} ml_kept_planner;

/* The same of all frames, for plans with the same strategy and options. */
typedef struct ml_relations {
    struct ml_relations *next;
    int32_t strategy;
    int32_t options;
    bool tiled; /* of the main frame with tile groups as nodes, */
    ml_planner_graph *io; /* which is this; NULL: there was none */
    ml_kept_planner *kept; /* by frame: for plans that share in place; then again for others */
} ml_relations;

struct ml_family {
    atomic_int holders; /* the caller and the states */
    ml_graph *graph; /* held; it never changes */
    ml_os_lock lock; /* held while a size is placed */
    ml_relations *relations;
    int32_t *repeats; /* NULL until the second plan; then it never changes */
};

ml_family *ml_family_hold(ml_family *family);
/* Takes the lock, and gives what plans with this strategy and these options have in common; NULL
 * without memory. `tiled`: those whose main frame is this one; other groups than before forget
 * what was kept. */
ml_relations *ml_family_open(ml_family *family, int32_t strategy, int32_t options,
                             const ml_planner_graph *tiled);
void ml_family_close(ml_family *family);
/* Returns the nodes that repeat others (ml_repeats_find), from the second plan on; NULL before, and
 * without memory. The table lives as long as the family. */
const int32_t *ml_family_repeats(ml_family *family);
/* The entry for plans of a frame that do or do not share in place. If it has no order yet, it takes
 * that of the others, which is better than none. */
ml_kept_planner *ml_family_kept(const ml_family *family, ml_relations *relations, int32_t frame,
                                bool shares);
/* True if the planner is one of those kept for the frame. */
bool ml_family_keeps(const ml_family *family, const ml_relations *relations, int32_t frame,
                     const ml_planner *planner);

/* Finds the schedule of a planner whose `usage` was filled in again. `stands`: only bytes have
 * changed in it. Then the schedule found before is used again, if the same operands are as large as
 * the outputs that may overwrite them. */
void ml_family_schedule(ml_planner *planner, bool stands);
/* If the schedule was used again: stacks the records in the order of the size before. True if the
 * result is within an eighth of the lower bound and needs at most `most` bytes; then roots have
 * their offsets in the arena. */
bool ml_family_stack(ml_planner *planner, int64_t most);
/* Drops records from the order that are gone, and adds those that are new at its end; an order that
 * names none of the records becomes empty. Returns how many are new. */
int32_t ml_family_renew_order(ml_planner *planner);
/* For records that are not those of the size before: stacks them in the renewed order. True if the
 * result is within a 64th of the lower bound; then they have their offsets. */
bool ml_family_stack_changed(ml_planner *planner);
/* Stores the planner's first `count` records as those of the whole graph; true if they are the same
 * as before, and lists are there. */
bool ml_family_list(ml_planner *planner, int32_t count);
/* The lower bound of the stored records. */
int64_t ml_family_bound(const ml_planner *planner);

#endif
