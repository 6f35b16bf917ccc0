/* place.c -- lifetimes and offsets: gives each frame's sizes to a planner, and copies the offsets
 * it finds to the rows.
 *
 * Frames are numbered callers first, so walking them backwards places callees before the scratch
 * that holds them. The scratch record of a node with subgraphs is
 *
 *     | room: the largest region of its frames | the kernel's own scratch |
 *
 * and is live at that node only. So the peak of a loop is a record like others, and one lower bound
 * covers the model.
 *
 * A plan is placed with the sizes it knows; tensors whose shape is open take no bytes. A residence
 * with such tensors is placed by the same code, in its own rows, with what runs needed in place of
 * unknown sizes. In both cases only places are written: offsets, roots, and what is reserved there
 * from which node to which. Shapes, blobs and folded values do not change. After a failure the rows
 * are thrown away before anyone has used them. */
#include "plan/place.h"

static bool grows(const ml_graph *g, const ml_rows *rows, int32_t frame) {
    const ml_tensor *tensors = rows->tensors + g->frames[frame].slot_base;
    for (int32_t slot = 0; slot < ml_frame_subgraph(g, frame)->n_slots; slot++)
        if (tensors[slot].dynamic && tensors[slot].storage == ML_STORAGE_ARENA) return true;
    return false;
}

ml_status ml_set_scratch_offset(ml_node_plan *row, int64_t offset, ml_error *error) {
    int64_t most = INT32_MAX * (int64_t)ML_ALIGNMENT;
    if (offset > most) return ml_error_memory(error, "scratch memory in the arena", offset, most);
    row->scratch_block = offset < 0 ? -1 : (int32_t)(offset / ML_ALIGNMENT);
    return ML_OK;
}

/* How much of a node's scratch its children need: the largest of their regions, because they run
 * one after the other. An eighth more if the frame has dynamic tensors, so that one that outgrows
 * its place still fits. */
static int64_t room_for_children(const ml_placing *x, int32_t frame, int32_t n) {
    const ml_graph *g = x->graph;
    const ml_rows *rows = x->rows;
    if (x->as_placed) return ml_children_room(g, rows, frame, n);
    int64_t room = 0;
    for (int32_t k = 0; k < ml_frame_subgraph(g, frame)->nodes[n].n_children; k++) {
        int32_t child = ml_child_frame(g, frame, n, k);
        int64_t region = rows->frames[child].region_bytes;
        if (grows(g, rows, child)) region += region / 8;
        room = region > room ? region : room;
    }
    return ml_round_up(room, ML_ALIGNMENT);
}

/* The memory plan in the file is valid for the shapes in the file, and if tensors may share memory
 * at all. It does not cover subgraphs that nodes call. */
static bool follows_file(const ml_placing *x, int32_t frame) {
    return frame == 0 && x->offline && ml_frame_subgraph(x->graph, 0)->planned_offline &&
           !(x->options & ML_KEEP_ALL);
}

/* Gives views the bytes of their input, whatever either needed in the past: the planner lets
 * tensors share memory only if their sizes are equal, and a view with another place would have to
 * be copied. Goes from front to back, so chains of views become equal too. */
static void level_views(const ml_subgraph *sub, const ml_tensor *tensors, int64_t *bytes) {
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        const ml_node_io *io = sub->nodes[n].io;
        if (!(io->flags & ML_NODE_VIEW)) continue;
        int32_t from = io->inputs[0], to = io->outputs[0];
        if (sub->slots[from] < 0 || !tensors[sub->slots[to]].dynamic) continue;
        if (tensors[sub->slots[from]].dynamic && bytes[to] > bytes[from]) bytes[from] = bytes[to];
        bytes[to] = bytes[from];
    }
}

/* Stores a fact; false if it has changed in a way on which lifetimes may depend. */
static bool note(int64_t *bytes, uint8_t *place, int64_t bytes_now, ml_place place_now) {
    bool same = *place == place_now && (*bytes > 0) == (bytes_now > 0);
    *bytes = bytes_now;
    *place = (uint8_t)place_now;
    return same;
}

/* Whether a dynamic tensor may be computed in place. In a plan its size is unknown and cannot be
 * compared. In a residence, runs move it if sizes differ (run/dynamic.c). */
static uint8_t pin_of(const ml_placing *x, const ml_tensor *t) {
    return t->dynamic && !x->needs && !x->as_placed ? ML_PINNED : ML_NOT_PINNED;
}

/* The known size, or what earlier runs needed if that is larger; 0 for tensors that a plan leaves
 * open. */
static int64_t bytes_of(const ml_placing *x, int32_t slot, const ml_tensor *t) {
    int64_t bytes = t->shaped ? t->bytes : 0;
    if (!t->dynamic) return bytes;
    if (x->needs) bytes = ml_max_s64(bytes, ml_need_capacity(&x->needs[slot], x->now));
    return x->as_placed ? ml_max_s64(bytes, x->rows->reserved[slot].bytes) : bytes;
}

/* Placing anew does not prepare settled nodes again. So it pins outputs whose size now differs from
 * their input's, whatever was needed before: they are not computed in place. True if no pin has
 * changed. */
static bool pin_unequal(const ml_placing *x, const ml_subgraph *sub, const ml_tensor *tensors,
                        uint8_t *pinned) {
    bool stand = true;
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        const ml_node_io *io = sub->nodes[n].io;
        int32_t out = io->n_outputs > 0 ? io->outputs[0] : -1;
        if (out < 0 || io->flags & ML_NODE_VIEW || !tensors[sub->slots[out]].dynamic) continue;
        for (int32_t i = 0; i < io->n_inputs && i < 8; i++) {
            int32_t slot = io->inputs[i] < 0 ? -1 : sub->slots[io->inputs[i]];
            if (!(io->flags & (ML_NODE_IN_PLACE << i)) || slot < 0 ||
                tensors[slot].bytes == tensors[sub->slots[out]].bytes)
                continue;
            stand &= pinned[out] == ML_PINNED_AS_OUTPUT;
            pinned[out] = ML_PINNED_AS_OUTPUT;
        }
    }
    return stand;
}

static bool describe_tensors(const ml_placing *x, int32_t frame, ml_planner *planner) {
    const ml_frame *f = &x->graph->frames[frame];
    const ml_subgraph *sub = &x->graph->subgraphs[f->subgraph];
    const ml_tensor *tensors = x->rows->tensors + f->slot_base;
    int64_t *bytes = ml_planner_bytes(planner);
    uint8_t *places = ml_planner_places(planner), *pinned = ml_planner_pinned(planner);
    bool offline = follows_file(x, frame), stand = true, levels = false;
    for (int32_t slot = 0; slot < sub->n_slots; slot++) {
        const ml_tensor *t = &tensors[slot];
        int32_t number = sub->numbers[slot];
        int64_t now = bytes_of(x, f->slot_base + slot, t);
        ml_place place = t->storage == ML_STORAGE_ARENA        ? ML_PLACE_ARENA
                         : t->storage == ML_STORAGE_PERSISTENT ? ML_PLACE_PERSISTENT
                                                               : ML_PLACE_NONE;
        uint8_t pin = pin_of(x, t);
        stand &= note(&bytes[number], &places[number], now, place) && pinned[number] == pin;
        pinned[number] = pin;
        levels |= t->dynamic;
        if (offline && !t->dynamic && t->storage == ML_STORAGE_ARENA &&
            sub->tensors[number].offline_offset >= 0)
            ml_planner_fix(planner, number, sub->tensors[number].offline_offset);
    }
    if (levels) level_views(sub, tensors, bytes);
    if (levels && (x->needs || x->as_placed)) stand &= pin_unequal(x, sub, tensors, pinned);
    return stand;
}

/* The bytes of a node's own scratch, in whole blocks. */
static int64_t scratch_of(const ml_placing *x, int32_t node) {
    const ml_node_plan *row = &x->rows->nodes[node];
    int64_t bytes = ml_scratch_bytes(row);
    if (x->needs) {
        const ml_need *need = &x->needs[x->graph->total_slots + node];
        bytes = ml_max_s64(bytes, ml_need_capacity(need, x->now));
    }
    if (x->as_placed) bytes = ml_max_s64(bytes, ml_scratch_reserved(row));
    return ml_round_up(bytes, ML_ALIGNMENT);
}

/* Scratch by node. Small scratch is in the work block, because nodes run one at a time. But a node
 * with effects may run others while its scratch is in use, so its scratch always gets a record. */
static bool describe_nodes(const ml_placing *x, int32_t frame, ml_planner *planner) {
    const ml_frame *f = &x->graph->frames[frame];
    const ml_subgraph *sub = &x->graph->subgraphs[f->subgraph];
    int64_t *bytes = ml_planner_bytes(planner) + sub->io.n_tensors;
    uint8_t *places = ml_planner_places(planner) + sub->io.n_tensors,
            *skipped = ml_planner_skipped(planner);
    bool stand = true;
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        const ml_node_plan *row = &x->rows->nodes[f->node_base + n];
        const ml_node *node = &sub->nodes[n];
        int64_t own = scratch_of(x, f->node_base + n), wants = 0;
        if ((own > 0 || node->n_children > 0) && ml_scratch_in_arena(node, own))
            wants = room_for_children(x, frame, n) + own;
        bool folded = row->status == ML_NODE_FOLDED;
        stand &= note(&bytes[n], &places[n], wants, wants > 0 ? ML_PLACE_ARENA : ML_PLACE_NONE);
        stand &= skipped[n] == folded;
        skipped[n] = folded;
    }
    return stand;
}

static bool shares(int32_t options) { return options & (ML_SHARE_TFLITE | ML_SHARE_WIDE); }

/* The kept planner for plans of a frame with these options, or NULL. If it has no order yet, it
 * takes that of the other options, which is better than none. */
static ml_kept_planner *kept_for(const ml_placing *x, int32_t frame, int32_t options) {
    if (!x->planners) return NULL;
    ml_frame_planner *both = &x->planners[frame];
    ml_kept_planner *kept = shares(options) ? &both->sharing : &both->apart;
    const ml_kept_planner *other = shares(options) ? &both->apart : &both->sharing;
    if (kept->order.count == 0 && other->order.count > 0) {
        kept->order.count = other->order.count;
        memcpy(kept->order.tensors, other->order.tensors,
               (size_t)other->order.count * sizeof *other->order.tensors);
    }
    return kept;
}

/* The planner is kept only from the second plan on, because many graphs are planned once; and not
 * with the memory plan of the file, which is for one size only. */
static ml_planner *planner_of(const ml_placing *x, int32_t frame, int32_t options) {
    const ml_planner_graph *io = &ml_frame_subgraph(x->graph, frame)->io;
    ml_kept_planner *kept = kept_for(x, frame, options);
    bool keeps = kept && kept->order.count > 0 && !follows_file(x, frame);
    if (frame > 0)
        options &= ~(int32_t)ML_KEEP_INPUTS; /* operands lie in slots; inputs need not be kept */
    ml_planner *planner = keeps && kept->planner
                              ? kept->planner
                              : ml_planner_new(io, x->strategy, options, ML_ALIGNMENT);
    if (!planner) return NULL;
    if (keeps) kept->planner = planner;
    bool stand = describe_tensors(x, frame, planner);
    stand &= describe_nodes(x, frame, planner);
    if (kept) ml_planner_use_order(planner, &kept->order);
    ml_planner_plan_again(planner, stand);
    return planner;
}

static void drop_planner(const ml_placing *x, int32_t frame, ml_planner *planner) {
    if (!x->planners) {
        ml_planner_free(planner);
        return;
    }
    const ml_frame_planner *both = &x->planners[frame];
    if (planner != both->sharing.planner && planner != both->apart.planner)
        ml_planner_free(planner);
}

static ml_status plan_once(const ml_placing *x, int32_t frame, int64_t spent, ml_planner *planner,
                           ml_error *error) {
    ml_planner_search(planner, x->longer, spent);
    ml_planner_start_anew(planner);
    ml_status status = ml_planner_execute_allocations(
        planner, 0, ml_frame_subgraph(x->graph, frame)->io.n_nodes - 1, error);
    if (error->n_tensors > 0) error->subgraph = x->graph->frames[frame].subgraph;
    return status;
}

/* Also plans without sharing, if that may be smaller, and gives the better of both plans. On entry
 * `*planner` is the one that shares. */
static ml_status plan_apart(const ml_placing *x, int32_t frame, bool again, ml_planner **planner,
                            ml_error *error) {
    int32_t sharing = ML_SHARE_TFLITE | ML_SHARE_WIDE;
    ml_planner *apart = planner_of(x, frame, x->options & ~sharing);
    if (!apart) return ml_error_refused(error, "planning");
    int64_t least = ml_planner_lower_bound(*planner), shared;
    bool better = again && ml_planner_place_again(apart, least + least / 8);
    ml_status status = ML_OK;
    if (!better) {
        if (again) status = plan_once(x, frame, 0, *planner, error);
        shared = ml_planner_high_water(*planner, ML_PLACE_ARENA);
        if (status == ML_OK && shared > least) {
            status = plan_once(x, frame, ml_planner_spent(*planner), apart, error);
            better = status == ML_OK && ml_planner_high_water(apart, ML_PLACE_ARENA) < shared;
        }
    }
    drop_planner(x, frame, better ? *planner : apart);
    if (better) *planner = apart;
    return status;
}

/* First tries the order of the plan before, with and without sharing in place, and takes it if it
 * is near the lower bound. Else plans with sharing, and, if that misses its bound, also without.
 * (Sharing lengthens lifetimes: tensors that share a place are one record, from the first node of
 * the first to the last node of the last, which is harder to fit between others.) Both searches
 * share one budget. */
static ml_status plan_frame(const ml_placing *x, int32_t frame, ml_planner **planner,
                            ml_error *error) {
    bool two = x->options & ML_KEEP_SMALLER && !follows_file(x, frame);
    *planner = planner_of(x, frame, x->options);
    if (!*planner) return ml_error_refused(error, "planning");
    if (!x->longer && ml_planner_place_again(*planner, INT64_MAX)) return ML_OK;
    if (two && !x->longer && ml_planner_stood(*planner))
        return plan_apart(x, frame, true, planner, error);
    ml_status status = plan_once(x, frame, 0, *planner, error);
    bool met = ml_planner_high_water(*planner, ML_PLACE_ARENA) <= ml_planner_lower_bound(*planner);
    return status != ML_OK || !two || met ? status : plan_apart(x, frame, false, planner, error);
}

/* Tensors that share a place get the lifetime and the bytes of its record, up to the next multiple
 * of the alignment. (A memory plan in the file may align tensors less.) */
static void take_place(ml_planner *planner, int32_t number, bool packed, ml_tensor *t,
                       ml_reserved *reserved) {
    const int32_t root = ml_planner_roots(planner)[number];
    const int64_t offset = ml_planner_offsets(planner)[root],
                  bytes = ml_planner_bytes(planner)[root];
    *reserved = (ml_reserved){.first = ml_planner_first_nodes(planner)[root],
                              .last = ml_planner_last_nodes(planner)[root]};
    if (offset >= 0) reserved->bytes = packed ? bytes : ml_round_up(bytes, ML_ALIGNMENT);
    if (t->storage == ML_STORAGE_SLOT) return; /* its caller places it */
    t->root = root;
    t->offset = offset;
}

/* Reserves scratch of the node, the room of its children first. */
static ml_status take_scratch(const ml_placing *x, int32_t frame, int32_t n, int64_t offset,
                              int64_t bytes, ml_error *error) {
    const int64_t room = room_for_children(x, frame, n);
    ml_node_plan *row = &x->rows->nodes[x->graph->frames[frame].node_base + n];
    for (int32_t k = 0; k < ml_frame_subgraph(x->graph, frame)->nodes[n].n_children; k++)
        x->rows->frames[ml_child_frame(x->graph, frame, n, k)].room = room;
    row->reserved_blocks = bytes > room ? (uint32_t)((bytes - room) / ML_ALIGNMENT) : 0;
    return ml_set_scratch_offset(row, offset, error);
}

/* Copies the planner's results to the rows. Only here it turns out whether a view really shares its
 * input's place: if there is no sharing, or not for this tensor because it is a graph output or
 * bound, the node runs and copies. */
static ml_status take_offsets(const ml_placing *x, int32_t frame, ml_planner *planner,
                              ml_error *error) {
    const ml_graph *g = x->graph;
    const ml_frame *f = &g->frames[frame];
    const ml_subgraph *sub = &g->subgraphs[f->subgraph];
    const int32_t *roots = ml_planner_roots(planner), tensors = sub->io.n_tensors;
    const bool packed = frame == 0 && sub->planned_offline;
    for (int32_t slot = 0; slot < sub->n_slots; slot++)
        take_place(planner, sub->numbers[slot], packed, &x->rows->tensors[f->slot_base + slot],
                   &x->rows->reserved[f->slot_base + slot]);
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        ml_node_plan *row = &x->rows->nodes[f->node_base + n];
        const ml_node_io *io = sub->nodes[n].io;
        ml_status status = take_scratch(x, frame, n, ml_planner_offsets(planner)[tensors + n],
                                        ml_planner_bytes(planner)[tensors + n], error);
        if (status != ML_OK) return status;
        if (!(io->flags & ML_NODE_VIEW) ||
            (row->status != ML_NODE_RUNS && row->status != ML_NODE_IS_VIEW))
            continue;
        bool shares = roots[io->outputs[0]] == roots[io->inputs[0]];
        row->status = shares ? ML_NODE_IS_VIEW : ML_NODE_RUNS;
    }
    x->rows->frames[frame].region_bytes = ml_planner_high_water(planner, ML_PLACE_ARENA);
    x->rows->frames[frame].lower_bound = ml_planner_lower_bound(planner);
    return ML_OK;
}

/* The variables of all frames lie in one block of the state, frame after frame. They do not belong
 * to a region, so they stay where they are when frames are placed anew. */
ml_status ml_place_frames(const ml_placing *x, ml_error *error) {
    int64_t persistent = 0;
    for (int32_t frame = x->graph->n_frames - 1; frame >= 0; frame--) {
        ml_planner *planner;
        ml_status status = plan_frame(x, frame, &planner, error);
        if (status == ML_OK) status = take_offsets(x, frame, planner, error);
        if (status == ML_OK) {
            x->rows->frames[frame].persistent_start = persistent;
            int64_t bytes = ml_planner_high_water(planner, ML_PLACE_PERSISTENT);
            if (__builtin_add_overflow(persistent, bytes, &persistent))
                status = ml_error_set(error, ML_ARENA_ERROR,
                                      "variable tensors add up to more bytes than an int64 counts");
        }
        drop_planner(x, frame, planner);
        if (status != ML_OK) return status;
    }
    x->rows->persistent_bytes = persistent;
    return ML_OK;
}

ml_status ml_place_without(const ml_placing *x, const int32_t *tensors, int32_t count,
                           ml_outlook *outlook, ml_error *error) {
    const ml_planner_graph *io = &ml_frame_subgraph(x->graph, 0)->io;
    ml_planner *planner = planner_of(x, 0, x->options);
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
