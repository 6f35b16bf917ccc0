/* frames.c -- places the memory of a whole plan: schedule, records and layout of each frame,
 * callees first, so that a caller's scratch can hold them.
 *
 * A plan is placed with the sizes it knows; tensors whose shape is open take no bytes. A residence
 * with such tensors is placed by the same code, in its own rows, with what runs needed in place of
 * unknown sizes. In both cases only places are written: offsets, roots, and what is reserved there
 * from which node to which. Shapes, blobs and folded values do not change. After a failure the rows
 * are thrown away before anyone has used them. */
#include "plan/frames.h"

#include "plan/inputs.h"
#include "plan/layout.h"

/* The frame that is placed. */
typedef struct placing {
    const ml_placing *all;
    ml_relations *relations; /* NULL: nothing is kept */
    int32_t frame;
    ml_error *error;
} placing;

static const ml_subgraph *subgraph_of(const placing *x) {
    return ml_frame_subgraph(x->all->demand.graph, x->frame);
}

static const ml_planner_graph *io_of(const placing *x) {
    if (x->frame > 0 || !x->all->tiled_io) return &subgraph_of(x)->io;
    return x->relations ? x->relations->io
                        : x->all->tiled_io; /* a kept planner outlives the plan */
}

ml_status ml_set_scratch_offset(ml_node_plan *row, int64_t offset, ml_error *error) {
    int64_t most = INT32_MAX * (int64_t)ML_ALIGNMENT;
    if (offset > most) return ml_error_memory(error, "scratch memory in the arena", offset, most);
    row->scratch_block = offset < 0 ? -1 : (int32_t)(offset / ML_ALIGNMENT);
    return ML_OK;
}

static bool shares(int32_t options) { return options & (ML_SHARE_TFLITE | ML_SHARE_WIDE); }

/* A planner of the frame with its schedule, nothing placed. It is kept only from the second plan
 * on, because many graphs are planned once; and not with the memory plan of the file, which is for
 * one size only. */
static ml_status planner_of(const placing *x, int32_t options, ml_planner **out) {
    const ml_placing *all = x->all;
    ml_kept_planner *kept =
        x->relations ? ml_family_kept(all->family, x->relations, x->frame, shares(options)) : NULL;
    bool keeps = kept && kept->order.count > 0 && !ml_follows_file(&all->demand, x->frame);
    if (x->frame > 0)
        options &= ~(int32_t)ML_KEEP_INPUTS; /* operands lie in slots; inputs need not be kept */
    ml_planner *planner = *out = keeps ? kept->planner : NULL;
    if (!planner) {
        ml_status status = ml_planner_new(io_of(x), ml_memory_strategy_name(all->strategy), options,
                                          ML_ALIGNMENT, out, x->error);
        if (status != ML_OK) return status;
        planner = *out;
    }
    if (keeps) kept->planner = planner;
    planner->order = kept ? &kept->order : NULL;
    ml_family_schedule(planner, ml_records_describe(&all->demand, x->frame, planner));
    return ML_OK;
}

static void drop_planner(const placing *x, ml_planner *planner) {
    bool kept = x->relations && ml_family_keeps(x->all->family, x->relations, x->frame, planner);
    if (!kept) ml_planner_free(planner);
}

/* `spent`: how much of the budget was used before. */
static ml_status place_whole(const placing *x, int64_t spent, ml_planner *planner) {
    planner->longer = x->all->longer;
    planner->spent = spent;
    ml_layout_start_anew(planner);
    ml_status status = ml_layout_nodes(planner, 0, subgraph_of(x)->io.n_nodes - 1, x->error);
    if (x->error->n_tensors > 0)
        x->error->subgraph = x->all->demand.graph->frames[x->frame].subgraph;
    return status;
}

/* Stacks the records in the order of the size before; false if that is not near the bound. */
static bool place_again(ml_planner *planner, int64_t most) {
    ml_error ignored = ML_NO_ERROR;
    return ml_family_stack(planner, most) && ml_layout_variables(planner, &ignored) == ML_OK;
}

static int64_t height_of(const ml_planner *planner) {
    return ml_planner_high_water(planner, ML_MEMORY_ARENA);
}

/* Also plans without sharing, if that may be smaller, and gives the better of both plans. On entry
 * `*planner` is the one that shares. */
static ml_status place_apart(const placing *x, bool again, ml_planner **planner) {
    ml_planner *apart;
    ml_status status =
        planner_of(x, x->all->demand.options & ~(ML_SHARE_TFLITE | ML_SHARE_WIDE), &apart);
    if (status != ML_OK) return status;
    int64_t least = ml_layout_bound(*planner), shared;
    bool better = again && place_again(apart, least + least / 8);
    if (!better) {
        if (again) status = place_whole(x, 0, *planner);
        shared = height_of(*planner);
        if (status == ML_OK && shared > least) {
            status = place_whole(x, (*planner)->spent, apart);
            better = status == ML_OK && height_of(apart) < shared;
        }
    }
    drop_planner(x, better ? *planner : apart);
    if (better) *planner = apart;
    return status;
}

/* First tries the order of the plan before, with and without sharing in place, and takes it if it
 * is near the lower bound. Else plans with sharing, and, if that misses its bound, also without.
 * (Sharing lengthens lifetimes: tensors that share a place are one record, from the first node of
 * the first to the last node of the last, which is harder to fit between others.) Both searches
 * share one budget. */
static ml_status place_frame(const placing *x, ml_planner **planner) {
    const ml_placing *all = x->all;
    bool two = all->demand.options & ML_KEEP_SMALLER && !ml_follows_file(&all->demand, x->frame);
    ml_status status = planner_of(x, all->demand.options, planner);
    if (status != ML_OK) return status;
    if (!all->longer && place_again(*planner, INT64_MAX)) return ML_OK;
    if (two && !all->longer && (*planner)->stood) return place_apart(x, true, planner);
    status = place_whole(x, 0, *planner);
    bool met = (*planner)->stacked || height_of(*planner) <= ml_layout_bound(*planner);
    return status != ML_OK || !two || met ? status : place_apart(x, false, planner);
}

/* Results -------------------------------------------------------------------------------------- */

/* Tensors that share a place get the lifetime and the bytes of its record, up to the next multiple
 * of the alignment. (A memory plan in the file may align tensors less.) Tensors in slots are placed
 * by their caller. */
static void take_tensors(const placing *x, const ml_planner *planner) {
    const ml_subgraph *sub = subgraph_of(x);
    const int32_t base = x->all->demand.graph->frames[x->frame].slot_base, n_slots = sub->n_slots;
    const int32_t *numbers = sub->numbers, *roots = planner->schedule.root,
                  *first = planner->schedule.first, *last = planner->schedule.last;
    const int64_t *offsets = planner->offset, *bytes = planner->usage.bytes;
    const int64_t align = x->frame == 0 && sub->planned_offline ? 1 : ML_ALIGNMENT;
    ml_tensor *tensors = x->all->rows->tensors + base;
    ml_reserved *reserved = x->all->rows->reserved + base;
    for (int32_t slot = 0; slot < n_slots; slot++) {
        const int32_t root = roots[numbers[slot]];
        const int64_t offset = offsets[root];
        reserved[slot] = (ml_reserved){.bytes = offset < 0 ? 0 : ml_round_up(bytes[root], align),
                                       .first = first[root],
                                       .last = last[root]};
        if (tensors[slot].storage == ML_STORAGE_SLOT) continue;
        tensors[slot].root = root;
        tensors[slot].offset = offset;
    }
}

/* Reserves scratch of the node, the room of its children first. */
static ml_status take_scratch(const placing *x, int32_t n, int64_t bytes, int64_t offset) {
    const ml_graph *g = x->all->demand.graph;
    const int64_t room = ml_records_room(&x->all->demand, x->frame, n);
    ml_node_plan *row = &x->all->rows->nodes[g->frames[x->frame].node_base + n];
    for (int32_t k = 0; k < subgraph_of(x)->nodes[n].n_children; k++)
        x->all->rows->frames[ml_child_frame(g, x->frame, n, k)].room = room;
    row->reserved_blocks = bytes > room ? (uint32_t)((bytes - room) / ML_ALIGNMENT) : 0;
    return ml_set_scratch_offset(row, offset, x->error);
}

/* Only here it turns out whether a view really shares its input's place: if there is no sharing, or
 * not for this tensor because it is a graph output or bound, the node runs and copies. */
static ml_status take_nodes(const placing *x, const ml_planner *planner) {
    const ml_subgraph *sub = subgraph_of(x);
    const int32_t *roots = planner->schedule.root, n_nodes = sub->io.n_nodes;
    const int64_t *bytes = planner->usage.bytes + sub->io.n_tensors,
                  *offsets = planner->offset + sub->io.n_tensors;
    const ml_node *nodes = sub->nodes;
    ml_node_plan *rows = x->all->rows->nodes + x->all->demand.graph->frames[x->frame].node_base;
    for (int32_t n = 0; n < n_nodes; n++) {
        const ml_node_io *io = nodes[n].io;
        rows[n].scratch_block = -1;
        rows[n].reserved_blocks = 0;
        if (bytes[n] > 0 || nodes[n].n_children > 0) {
            ml_status status = take_scratch(x, n, bytes[n], offsets[n]);
            if (status != ML_OK) return status;
        }
        if (!(io->flags & ML_NODE_VIEW) ||
            (rows[n].status != ML_NODE_RUNS && rows[n].status != ML_NODE_IS_VIEW))
            continue;
        bool shares = roots[io->outputs[0]] == roots[io->inputs[0]];
        rows[n].status = shares ? ML_NODE_IS_VIEW : ML_NODE_RUNS;
    }
    return ML_OK;
}

/* Copies the planner's results to the rows. */
static ml_status take_places(const placing *x, ml_planner *planner) {
    take_tensors(x, planner);
    ml_frame_plan *row = &x->all->rows->frames[x->frame];
    row->region_bytes = height_of(planner);
    row->lower_bound = ml_layout_bound(planner);
    return take_nodes(x, planner);
}

/* The variables of all frames lie in one block of the state, frame after frame. They do not belong
 * to a region, so they stay where they are when frames are placed again. */
static ml_status take_variables(const placing *x, const ml_planner *planner, int64_t *persistent) {
    x->all->rows->frames[x->frame].persistent_start = *persistent;
    int64_t bytes = ml_planner_high_water(planner, ML_MEMORY_PERSISTENT);
    if (!__builtin_add_overflow(*persistent, bytes, persistent)) return ML_OK;
    return ml_error_set(x->error, ML_ARENA_ERROR,
                        "variable tensors add up to more bytes than an int64 counts");
}

static ml_status place_all(placing *x) {
    int64_t persistent = 0;
    for (x->frame = x->all->demand.graph->n_frames - 1; x->frame >= 0; x->frame--) {
        ml_planner *planner;
        ml_status status = place_frame(x, &planner);
        if (status == ML_OK) status = take_places(x, planner);
        if (status == ML_OK) status = take_variables(x, planner, &persistent);
        drop_planner(x, planner);
        if (status != ML_OK) return status;
    }
    x->all->rows->persistent_bytes = persistent;
    return ML_OK;
}

ml_status ml_place_frames(const ml_placing *all, ml_error *error) {
    ml_relations *relations =
        all->family ? ml_family_open(all->family, all->strategy, all->demand.options, all->tiled_io)
                    : NULL;
    placing x = {.all = all, .relations = relations, .error = error};
    ml_status status = place_all(&x);
    if (relations) ml_family_close(all->family);
    if (status == ML_OK) status = ml_inputs_place(all->demand.graph, all->rows, error);
    return status;
}

ml_status ml_place_without(const ml_placing *all, const int32_t *tensors, int32_t count,
                           ml_outlook *outlook, ml_error *error) {
    placing x = {.all = all, .error = error};
    const ml_planner_graph *io = &subgraph_of(&x)->io;
    ml_planner *planner;
    ml_status status = planner_of(&x, all->demand.options, &planner);
    if (status != ML_OK) return status;
    for (int32_t i = 0; i < count; i++)
        if (tensors[i] >= 0 && tensors[i] < io->n_tensors)
            planner->usage.memory[tensors[i]] = ML_MEMORY_NONE;
    ml_family_schedule(planner, false);
    status = ml_layout_nodes(planner, 0, io->n_nodes - 1, error);
    if (status == ML_OK) {
        outlook->arena_bytes = height_of(planner);
        outlook->lower_bound = ml_records_bound(planner, &outlook->peaks);
    }
    ml_planner_free(planner);
    return status;
}
