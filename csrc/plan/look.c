/* look.c -- reads a plan for reports; all numbers passed in are checked.
 *
 * A plan keeps offsets and roots, but not lifetimes, which only reports need. A planner that gets
 * the same sizes finds them again, and the roots tell it which tensors share a place. The plan may
 * also be the copy of a residence; then it has the capacities, the scratch and the rooms that runs
 * have left. */
#include <stdlib.h>

#include "plan/plan.h"
#include "simd/simd.h"

static bool has_frame(const ml_plan *plan, int32_t frame) {
    return frame >= 0 && frame < plan->graph->n_frames;
}

int32_t ml_plan_frames(const ml_plan *plan) { return plan->graph->n_frames; }

int32_t ml_plan_frame_subgraph(const ml_plan *plan, int32_t frame, int32_t *parent, int32_t *node) {
    *parent = *node = -1;
    if (!has_frame(plan, frame)) return -1;
    *parent = plan->graph->frames[frame].parent;
    *node = plan->graph->frames[frame].parent_node;
    return plan->graph->frames[frame].subgraph;
}

const ml_tensor *ml_plan_tensor(const ml_plan *plan, int32_t frame, int32_t tensor) {
    if (!has_frame(plan, frame) || tensor < 0 ||
        tensor >= ml_frame_subgraph(plan->graph, frame)->io.n_tensors)
        return NULL;
    return ml_row_of(plan->graph, &plan->rows, frame, tensor);
}

int64_t ml_plan_arena_bytes(const ml_plan *plan) { return plan->rows.frames[0].region_bytes; }

int64_t ml_plan_work_bytes(const ml_plan *plan) {
    int64_t most = 0;
    for (int32_t n = 0; n < plan->graph->total_nodes; n++) {
        const ml_node_plan *row = &plan->rows.nodes[n];
        if (row->scratch_block < 0 && ml_scratch_bytes(row) > most) most = ml_scratch_bytes(row);
    }
    return most;
}

int64_t ml_plan_lower_bound(const ml_plan *plan) { return plan->rows.frames[0].lower_bound; }

/* Folded values count for the plan that computed them, not for its copies. */
int64_t ml_plan_own_bytes(const ml_plan *plan) {
    int64_t bytes = ml_plan_block_bytes(plan->graph, plan->words, plan->n_bound);
    for (const ml_folded *pool = plan->folded; pool; pool = pool->next)
        bytes += (int64_t)sizeof *pool + 1024;
    return bytes;
}

const char *ml_plan_kernel(const ml_plan *plan, int32_t frame, int32_t position,
                           const char **types) {
    *types = NULL;
    if (!has_frame(plan, frame) || position < 0 ||
        position >= ml_frame_subgraph(plan->graph, frame)->io.n_nodes)
        return NULL;
    const ml_node *node = &ml_frame_subgraph(plan->graph, frame)->nodes[position];
    if (node->typed) *types = node->typed->types;
    return node->kernel->name;
}

const char *ml_plan_level(const ml_plan *plan) { return plan->graph->simd->level; }

int32_t ml_plan_node(const ml_plan *plan, int32_t frame, int32_t position, int32_t *index) {
    *index = -1;
    if (!has_frame(plan, frame) || position < 0 ||
        position >= ml_frame_subgraph(plan->graph, frame)->io.n_nodes)
        return -1;
    *index = ml_frame_subgraph(plan->graph, frame)->nodes[position].index;
    const ml_node_plan *row = &plan->rows.nodes[plan->graph->frames[frame].node_base + position];
    return row->stale ? ML_NODE_WAITS : row->status;
}

int32_t ml_plan_part_of(const ml_plan *p, int32_t frame, int32_t position) {
    int32_t index;
    if (ml_plan_node(p, frame, position, &index) < 0) return -1;
    const ml_node *nodes = ml_frame_subgraph(p->graph, frame)->nodes;
    int32_t whole = nodes[position].part_of;
    return whole < 0 ? -1 : nodes[whole].index;
}

/* A planner that knows the sizes of a plan, and finds lifetimes; it places nothing itself. */
static ml_planner *planner_of(const ml_plan *plan, int32_t frame, bool shares) {
    const int32_t options = plan->options, sharing = ML_SHARE_TFLITE | ML_SHARE_WIDE;
    const ml_graph *g = plan->graph;
    const int64_t *planned = plan->capacities;
    ml_placing placing = {.graph = g,
                          .rows = (ml_rows *)(uintptr_t)&plan->rows, /* only read */
                          .strategy = ml_memory_strategy_name(plan->strategy),
                          .options = options,
                          .capacities = planned,
                          .scratch = planned ? planned + g->total_slots : NULL,
                          .rooms = planned ? planned + g->total_slots + g->total_nodes : NULL,
                          .offline = plan->words == 0};
    return ml_place_planner(&placing, frame, shares ? options : options & ~sharing);
}

/* False if no tensors may share a place, or if the plan was smaller without that. */
static bool shares_places(const ml_plan *plan, int32_t frame) {
    const ml_subgraph *sub = ml_frame_subgraph(plan->graph, frame);
    const ml_tensor *tensors = plan->rows.tensors + plan->graph->frames[frame].slot_base;
    for (int32_t slot = 0; slot < sub->n_slots; slot++)
        if (tensors[slot].root != sub->numbers[slot]) return true;
    return false;
}

/* Tensors share places as they do now, and have the bytes that lie there: runs may have moved some,
 * and the next placement would give tensors that are to share a place the bytes of the largest. */
static ml_planner *planner_as_placed(const ml_plan *plan, int32_t frame) {
    const ml_subgraph *sub = ml_frame_subgraph(plan->graph, frame);
    const int32_t slot_base = plan->graph->frames[frame].slot_base;
    const ml_tensor *tensors = plan->rows.tensors + slot_base;
    ml_planner *planner = planner_of(plan, frame, false);
    if (!planner) return NULL;
    int64_t *bytes = ml_planner_bytes(planner);
    for (int32_t slot = 0; plan->capacities && slot < sub->n_slots; slot++)
        if (tensors[slot].dynamic) bytes[sub->numbers[slot]] = plan->capacities[slot_base + slot];
    for (int32_t slot = 0; slot < sub->n_slots; slot++)
        if (tensors[slot].storage == ML_STORAGE_ARENA)
            ml_planner_join(planner, sub->numbers[slot], tensors[slot].root);
    return planner;
}

int32_t ml_plan_records(const ml_plan *plan, int32_t frame, ml_record *records, int32_t room) {
    if (!has_frame(plan, frame)) return 0;
    ml_planner *planner = planner_as_placed(plan, frame);
    if (!planner) return -1;
    const ml_subgraph *sub = ml_frame_subgraph(plan->graph, frame);
    int32_t count = 0;
    for (int32_t id = 0; id < sub->io.n_tensors + sub->io.n_nodes; id++) {
        bool tensor = id < sub->io.n_tensors;
        if (ml_planner_places(planner)[id] != ML_PLACE_ARENA || ml_planner_roots(planner)[id] != id)
            continue;
        int64_t size = ml_planner_bytes(planner)[id];
        int64_t offset =
            tensor ? ml_row_of(plan->graph, &plan->rows, frame, id)->offset
                   : ml_scratch_offset(&plan->rows.nodes[plan->graph->frames[frame].node_base + id -
                                                         sub->io.n_tensors]);
        int32_t first = ml_planner_first_nodes(planner)[id];
        bool lives = first >= 0 && ml_planner_last_nodes(planner)[id] >= first;
        if (size == 0 || !lives || offset < 0) continue;
        if (count < room)
            records[count] =
                (ml_record){size, offset, first, ml_planner_last_nodes(planner)[id], id, 0};
        count++;
    }
    ml_planner_free(planner);
    return count;
}

/* Tells what binding these tensors would save: places the rest, as it would be placed then. */
ml_status ml_plan_without(const ml_plan *plan, const int32_t *tensors, int32_t count,
                          ml_outlook *outlook, ml_error *error) {
    const ml_planner_graph *io = &ml_frame_subgraph(plan->graph, 0)->io;
    ml_planner *planner = planner_of(plan, 0, shares_places(plan, 0));
    if (!planner) return ml_error_refused(error, "planning");
    for (int32_t i = 0; i < count; i++)
        if (tensors[i] >= 0 && tensors[i] < io->n_tensors)
            ml_planner_places(planner)[tensors[i]] = ML_PLACE_NONE;
    ml_planner_plan_allocations(planner);
    ml_status status = ml_planner_execute_allocations(planner, 0, io->n_nodes - 1, error);
    if (status == ML_OK) {
        outlook->arena_bytes = ml_planner_high_water(planner, ML_PLACE_ARENA);
        outlook->lower_bound = ml_planner_peaks(planner, &outlook->peaks);
    }
    ml_planner_free(planner);
    return status;
}
