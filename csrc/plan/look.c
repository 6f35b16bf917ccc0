/* look.c -- reads a plan for reports; all numbers passed in are checked. The plan may also be the
 * copy of a residence, with the places that runs have left. */
#include <stdlib.h>

#include "plan/patch.h"
#include "plan/plan.h"
#include "plan/tiled.h"
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

int64_t ml_plan_input_bytes(const ml_plan *plan) { return plan->rows.frames[0].input_bytes; }

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
    if (plan->tiled && !plan->source) bytes += plan->tiled->bytes;
    return bytes;
}

int32_t ml_plan_tiles(const ml_plan *plan, ml_tile_group *groups, int32_t room) {
    const int32_t count = plan->tiled ? plan->tiled->n_groups : 0;
    for (int32_t i = 0; i < count && i < room; i++) groups[i] = plan->tiled->groups[i].range;
    return count;
}

static const ml_node *node_at(const ml_plan *plan, int32_t frame, int32_t position) {
    if (!has_frame(plan, frame) || position < 0) return NULL;
    const ml_subgraph *sub = ml_frame_subgraph(plan->graph, frame);
    return position < sub->io.n_nodes ? &sub->nodes[position] : NULL;
}

const char *ml_plan_kernel(const ml_plan *plan, int32_t frame, int32_t position,
                           const char **types) {
    const ml_node *node = node_at(plan, frame, position);
    *types = node && node->typed ? node->typed->types : NULL;
    return node ? node->kernel->name : NULL;
}

const char *ml_plan_way(const ml_plan *plan, int32_t frame, int32_t position) {
    const ml_node *node = node_at(plan, frame, position);
    if (!node || !node->typed || !node->kernel->way) return NULL;
    return node->kernel->way(plan->rows.blobs + plan->graph->frames[frame].blob_base +
                             node->blob_start);
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

static bool has_node(const ml_plan *plan, int32_t position) {
    return position >= 0 && position < ml_frame_subgraph(plan->graph, 0)->io.n_nodes;
}

int32_t ml_plan_window(const ml_plan *plan, int32_t position, ml_rectangle *out, ml_rectangle *in,
                       int32_t n_inputs, void *params) {
    if (!has_node(plan, position)) return 0;
    ml_error quiet = ML_NO_ERROR;
    ml_rows rows = plan->rows;
    ml_engine engine = {.graph = plan->graph,
                        .core = &ml_planning_core,
                        .simd = plan->graph->simd,
                        .error = &quiet,
                        .rows = &rows};
    struct ml_frame_engine fe = {.engine = &engine, .subgraph = plan->graph->frames[0].subgraph};
    const ml_env env = ml_frame_env(&engine, &fe);
    const ml_call c = ml_call_of(&engine, &env, position);
    if (rows.nodes[plan->graph->frames[0].node_base + position].status != ML_NODE_RUNS) return 0;
    if (c.n_inputs != n_inputs) return 0;
    return ml_patch_needs(&c, out, in, params);
}

/* The record of a tensor that shares no place, or is the first of those that do. */
static ml_record tensor_record(const ml_plan *plan, int32_t frame, int32_t number) {
    const int32_t slot = ml_frame_subgraph(plan->graph, frame)->slots[number];
    if (slot < 0) return (ml_record){.size = 0};
    const int32_t base = plan->graph->frames[frame].slot_base;
    const ml_tensor *t = &plan->rows.tensors[base + slot];
    const ml_reserved *reserved = &plan->rows.reserved[base + slot];
    if (t->storage != ML_STORAGE_ARENA || t->root != number || reserved->first < 0)
        return (ml_record){.size = 0};
    int64_t size = t->dynamic ? reserved->bytes : t->bytes;
    return (ml_record){size, t->offset, reserved->first, reserved->last, number, ML_MEMORY_ARENA};
}

static ml_record scratch_record(const ml_plan *plan, int32_t frame, int32_t n) {
    const ml_node_plan *row = &plan->rows.nodes[plan->graph->frames[frame].node_base + n];
    int64_t size = ml_children_room(plan->graph, &plan->rows, frame, n) + ml_scratch_reserved(row);
    int32_t id = ml_frame_subgraph(plan->graph, frame)->io.n_tensors + n;
    return (ml_record){size, ml_scratch_offset(row), n, n, id, ML_MEMORY_ARENA};
}

int32_t ml_plan_records(const ml_plan *plan, int32_t frame, ml_record *records, int32_t room) {
    if (!has_frame(plan, frame)) return 0;
    const ml_planner_graph *io = &ml_frame_subgraph(plan->graph, frame)->io;
    int32_t count = 0;
    for (int32_t id = 0; id < io->n_tensors + io->n_nodes; id++) {
        ml_record record = id < io->n_tensors ? tensor_record(plan, frame, id)
                                              : scratch_record(plan, frame, id - io->n_tensors);
        if (record.size == 0 || record.last < record.first || record.offset < 0) continue;
        if (count < room) records[count] = record;
        count++;
    }
    return count;
}
