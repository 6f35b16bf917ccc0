/* copy.c -- copies values into and out of tensors, and tells where tensors lie; safe against runs,
 * resizes and trims on other threads.
 *
 * All functions here take the turn of a copy, so that no call changes anything meanwhile, and give
 * it back before they return. Python copies in two steps: it asks for the place (and makes an array
 * of that shape), then it copies. In between another thread may have put another size into use. So
 * the second step passes the generation that the first one returned; if that has changed, C refuses
 * the copy, and Python asks again. Pointers are valid only during the turn; pins keep views
 * valid, and are taken in the same two steps. */
#include <stdlib.h>

#include "plan/inputs.h"
#include "state/in_turn.h"

static bool has_tensor(const ml_state *s, int32_t tensor) {
    return tensor >= 0 && tensor < ml_frame_subgraph(s->graph, 0)->io.n_tensors;
}

/* True if a tensor has room for the bytes in its row: a run that failed may have set its shape
 * without giving it room. The capacity tells, because it is raised only after a place was found. */
static bool has_room(const ml_state *s, int32_t tensor, const ml_tensor *t) {
    const ml_residence *r = s->now;
    if (t->storage != ML_STORAGE_ARENA || !r->learnt || !t->dynamic) return true;
    const ml_subgraph *sub = ml_frame_subgraph(s->graph, 0);
    return t->bytes <= r->rows->reserved[s->graph->frames[0].slot_base + sub->slots[tensor]].bytes;
}

/* The current address of the tensor's bytes; NULL if it has none. A hidden tensor has none: what
 * READ_VARIABLE points it at may be freed by the next ASSIGN_VARIABLE. */
static void *find_bytes(const ml_state *s, int32_t tensor, int64_t *bytes) {
    const ml_tensor *t = ml_row_of(s->graph, s->now->rows, 0, tensor);
    *bytes = t->bytes;
    if (t->storage == ML_STORAGE_HEAP) {
        const ml_block *block = ml_heap_block(s, s->now, 0, tensor);
        *bytes = block->assigned ? block->bytes : 0;
        return block->assigned ? block->data : NULL;
    }
    bool arena_gone = t->storage == ML_STORAGE_ARENA && !ml_shares_arena(s) && s->own.capacity == 0;
    const bool hidden = t->storage == ML_STORAGE_NONE;
    return !t->shaped || hidden || arena_gone || !has_room(s, tensor, t)
               ? NULL
               : ml_now_data(s->now, 0)[tensor];
}

/* True if runs may change its shape or place. Other tensors stay where they are until the layout
 * number changes. */
static bool runs_move(const ml_tensor *t) { return t->dynamic || t->storage == ML_STORAGE_HEAP; }

/* The number (layout or generation) that changes with a tensor's shape or place. */
static uint64_t number_of(const ml_state *s, const ml_tensor *t) {
    return s->now->changes[runs_move(t) ? ML_GENERATION : ML_LAYOUT];
}

static int64_t buffer_of(const ml_state *s, const ml_tensor *t, int32_t tensor) {
    int32_t i = 0;
    if (t->storage != ML_STORAGE_BOUND) return 0;
    while (s->bound[i].tensor != tensor) i++; /* it is bound, its row says */
    return s->bound[i].number;
}

static bool in_arena(const ml_state *s, int32_t tensor) {
    return ml_row_of(s->graph, s->now->rows, 0, tensor)->storage == ML_STORAGE_ARENA;
}

/* Tensors without memory are allowed, because reports ask about all tensors. */
ml_status ml_state_place(ml_state *s, int32_t tensor, ml_place_now *place, ml_error *error) {
    ml_status status = ml_enter_copy(s->interpreter);
    if (status != ML_OK) return status;
    *place = (ml_place_now){.data = NULL};
    if (!s->now) status = ml_error_set(error, ML_NOT_READY, "no tensors are allocated");
    else if (!has_tensor(s, tensor))
        status = ml_error_set(error, ML_NOT_READY, "there is no tensor %d", tensor);
    if (status == ML_OK) {
        place->tensor = *ml_row_of(s->graph, s->now->rows, 0, tensor);
        place->data = find_bytes(s, tensor, &place->bytes);
        place->generation = number_of(s, &place->tensor);
        place->layout = s->now->changes[ML_LAYOUT];
        place->buffer = buffer_of(s, &place->tensor, tensor);
        place->settled = !s->now->learnt;
        place->shared = in_arena(s, tensor) && ml_shares_arena(s);
        place->moves = runs_move(&place->tensor);
        place->lendable = place->tensor.storage == ML_STORAGE_INPUT &&
                          ml_input_may_be_lent(s->now->rows, &place->tensor);
    }
    ml_leave(s->interpreter);
    return status;
}

/* Finds the bytes for a copy, until leave_copy; NULL and a status if size or generation differ from
 * what the caller expects. */
static void *find_for_copy(ml_state *s, int32_t tensor, uint64_t generation, int64_t bytes,
                           ml_status *status) {
    *status = ml_enter_copy(s->interpreter);
    if (*status != ML_OK) return NULL;
    int64_t there = -1;
    void *data = NULL;
    *status = ML_NOT_READY;
    if (s->now && has_tensor(s, tensor) &&
        number_of(s, ml_row_of(s->graph, s->now->rows, 0, tensor)) == generation) {
        const bool found = !in_arena(s, tensor) || ml_workspace_enter_copy(s);
        if (!found) *status = ML_SHARED;
        else data = find_bytes(s, tensor, &there);
        if (found && in_arena(s, tensor)) ml_arena_clear(s->arena);
        if (found && there == bytes && (data || bytes == 0)) {
            *status = ML_OK;
            return data;
        }
        if (found && in_arena(s, tensor)) ml_workspace_leave(s);
    }
    ml_leave(s->interpreter);
    return NULL;
}

static void leave_copy(ml_state *s, int32_t tensor) {
    if (in_arena(s, tensor)) ml_workspace_leave(s);
    ml_leave(s->interpreter);
}

ml_status ml_state_read(ml_state *s, int32_t tensor, uint64_t generation, void *to, int64_t bytes) {
    ml_status status;
    const void *data = find_for_copy(s, tensor, generation, bytes, &status);
    if (status != ML_OK) return status;
    if (bytes > 0) memcpy(to, data, (size_t)bytes);
    leave_copy(s, tensor);
    return ML_OK;
}

/* memmove, because the source may be a view of the same tensor. Constants and folded values are
 * refused: constants lie in the mapped file, folded values belong to a plan that others share. */
ml_status ml_state_write(ml_state *s, int32_t tensor, uint64_t generation, const void *from,
                         int64_t bytes) {
    ml_status status;
    void *data = find_for_copy(s, tensor, generation, bytes, &status);
    if (status != ML_OK) return status;
    uint8_t storage = ml_row_of(s->graph, s->now->rows, 0, tensor)->storage;
    if (storage == ML_STORAGE_CONSTANT || storage == ML_STORAGE_FOLDED) status = ML_NOT_READY;
    else if (bytes > 0) memmove(data, from, (size_t)bytes);
    leave_copy(s, tensor);
    return status;
}

/* While a view is held no memory grows, so inputs get theirs before; if there is none, a call that
 * needs it says so. The first line has no turn: a resize in another thread may come after it, and
 * then the view is refused by its generation. */
static ml_status make_room_for_inputs(ml_state *s) {
    ml_error quiet = ML_NO_ERROR;
    if (s->pinned || !s->lacks_inputs) return ML_OK;
    ml_status status = ml_enter(s->interpreter);
    if (status != ML_OK) return status;
    if (s->now && !s->released) ml_inputs_acquire(s, &quiet);
    ml_leave(s->interpreter);
    return ML_OK;
}

ml_status ml_state_pin(ml_state *s, int32_t tensor, uint64_t generation, int64_t bytes,
                       ml_pin *pin) {
    ml_status status = make_room_for_inputs(s);
    if (status == ML_OK) find_for_copy(s, tensor, generation, bytes, &status);
    if (status != ML_OK) return status;
    atomic_fetch_add(&s->holders, 1);
    atomic_fetch_add(&s->pinned, 1);
    pin->state = s;
    pin->shares = in_arena(s, tensor) && ml_shares_arena(s);
    if (pin->shares) ml_workspace_pin(s->interpreter->workspace, 1);
    leave_copy(s, tensor);
    return ML_OK;
}

/* Overwriting ---------------------------------------------------------------------------------- */

/* Runs do not store whether an intermediate tensor still has its own bytes: it follows from the
 * plan, and is found out on request. A tensor is overwritten either by another record that gets its
 * place after its last reader, or by a node that computes in place.
 *
 * This is the first record, in the order of the run, that takes bytes of [offset, end) after node
 * `last`; -1 if none does. */
static int32_t find_overwriter(const ml_record *records, int32_t count, int64_t offset, int64_t end,
                               int32_t last) {
    int32_t found = -1;
    for (int32_t i = 0; i < count; i++) {
        const ml_record *r = &records[i];
        bool later = r->first > last && r->offset < end && offset < r->offset + r->size;
        if (later && (found < 0 || r->first < records[found].first)) found = i;
    }
    return found;
}

/* The first node after `producer` (-1: an input) that computes another tensor into the same
 * memory, in place; -1 if none does. */
static int32_t find_heir(const ml_subgraph *sub, const ml_plan *plan, int32_t tensor,
                         int32_t producer) {
    int32_t root = ml_plan_tensor(plan, 0, tensor)->root;
    for (int32_t n = producer + 1; n < sub->io.n_nodes; n++) {
        const ml_node_io *io = sub->nodes[n].io;
        if (io->n_outputs == 0 || io->flags & ML_NODE_VIEW) continue;
        const ml_tensor *out = ml_plan_tensor(plan, 0, io->outputs[0]);
        if (out->storage == ML_STORAGE_ARENA && out->root == root) return n;
    }
    return -1;
}

static int32_t producer_of(const ml_subgraph *sub, int32_t tensor) {
    for (int32_t n = 0; n < sub->io.n_nodes; n++)
        for (int32_t i = 0; i < sub->nodes[n].io->n_outputs; i++)
            if (sub->nodes[n].io->outputs[i] == tensor) return n;
    return -1;
}

int32_t ml_debug_build(void) {
#ifdef ML_DEBUG
    return 1;
#else
    return 0;
#endif
}

ml_status ml_state_overwriter(ml_state *s, int32_t tensor, int32_t *node, ml_error *error) {
    ml_plan *plan;
    *node = -1;
    ml_status status = ml_enter_copy(s->interpreter);
    if (status != ML_OK) return status;
    bool ran = s->now && s->now->ran;
    ml_leave(s->interpreter);
    if (!ran) return ML_OK; /* nothing was computed yet */
    status = ml_state_memory(s, &plan, error);
    if (status != ML_OK || !plan) return status;
    const ml_tensor *t = ml_plan_tensor(plan, 0, tensor);
    const ml_subgraph *sub = ml_frame_subgraph(s->graph, 0);
    bool there = t && t->storage == ML_STORAGE_ARENA && t->offset >= 0;
    int32_t count = there ? ml_plan_records(plan, 0, NULL, 0) : 0;
    ml_record *records = count > 0 ? malloc((size_t)count * sizeof *records) : NULL;
    if (count < 0 || (count > 0 && (!records || ml_plan_records(plan, 0, records, count) < 0))) {
        status = ml_error_refused(error, "a plan's records");
    } else if (records) {
        int32_t last = -1, heir = find_heir(sub, plan, tensor, producer_of(sub, tensor));
        for (int32_t i = 0; i < count; i++)
            if (records[i].tensor == t->root) last = records[i].last;
        int32_t found = find_overwriter(records, count, t->offset, t->offset + t->bytes, last);
        int32_t position = heir >= 0 ? heir : found >= 0 ? records[found].first : -1;
#ifdef ML_DEBUG
        if (position < 0) position = last; /* dead tensors are overwritten at once */
#endif
        if (position >= 0 && position < sub->io.n_nodes) *node = sub->nodes[position].index;
    }
    free(records);
    ml_plan_free(plan);
    return status;
}

/* Reading the state ---------------------------------------------------------------------------- */

ml_status ml_state_plan(ml_state *s, ml_plan **plan, ml_error *error) {
    *plan = NULL;
    ml_status status = ml_enter_copy(s->interpreter);
    if (status != ML_OK) return status;
    if (s->now) *plan = ml_plan_hold(s->now->plan);
    ml_leave(s->interpreter);
    return ML_OK;
}

/* Outputs that runs have moved away from the inputs they were placed with get roots of their own;
 * outputs placed with such an output move with it. An empty output may still point where its input
 * used to be, in memory that others have by now, so it gets no address. */
static void tell_apart(const ml_subgraph *sub, const ml_late_records *late,
                       const ml_reserved *reserved, ml_tensor *tensors) {
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        const ml_node_io *io = sub->nodes[n].io;
        ml_tensor *out = io->n_outputs > 0 ? &tensors[sub->slots[io->outputs[0]]] : NULL;
        if (!out || !out->dynamic || out->storage != ML_STORAGE_ARENA ||
            out->offset == tensors[sub->slots[out->root]].offset)
            continue;
        const int32_t root = out->root;
        out->root = io->outputs[0];
        for (int32_t i = 0; i < io->n_inputs && i < 8; i++) {
            const int32_t slot = io->inputs[i] < 0 ? -1 : sub->slots[io->inputs[i]];
            if (slot >= 0 && tensors[slot].storage == ML_STORAGE_ARENA &&
                tensors[slot].offset == out->offset && tensors[slot].root != root)
                out->root = tensors[slot].root;
        }
    }
    for (int32_t slot = 0; slot < sub->n_slots; slot++) {
        ml_tensor *t = &tensors[slot];
        if (t->dynamic && t->storage == ML_STORAGE_ARENA &&
            !ml_late_has(late, reserved[sub->slots[t->root]].first, t->root, t->offset))
            t->offset = -1;
    }
}

/* Inputs that the last run read in arrays of the caller. */
static void tell_lent(const ml_state *s, const ml_rows *rows) {
    for (int32_t i = 0; s->lent != 0 && i < ML_MOST_LENT; i++)
        if (s->lent >> i & 1) ml_input_row(s->graph, rows, i)->storage = ML_STORAGE_BOUND;
}

/* If runs change no rows, it is enough to hold the plan. Else rows are copied in a turn, so that
 * the copy shows one moment. */
ml_status ml_state_memory(ml_state *s, ml_plan **plan, ml_error *error) {
    *plan = NULL;
    ml_status status = ml_enter_copy(s->interpreter);
    if (status != ML_OK) return status;
    const ml_residence *r = s->now;
    if (r && !r->learnt && !s->lent) *plan = ml_plan_hold(r->plan);
    else if (r) {
        status = ml_plan_copy(r->plan, r->rows, plan, error);
        if (status == ML_OK) tell_lent(s, &(*plan)->rows);
        for (int32_t f = 0; status == ML_OK && r->learnt && f < s->graph->n_frames; f++)
            tell_apart(ml_frame_subgraph(s->graph, f), &r->learnt->late[f],
                       r->rows->reserved + s->graph->frames[f].slot_base,
                       (*plan)->rows.tensors + s->graph->frames[f].slot_base);
    }
    ml_leave(s->interpreter);
    return status;
}

ml_status ml_state_get_counters(ml_state *s, ml_counters *counters) {
    ml_status status = ml_enter_copy(s->interpreter);
    if (status != ML_OK) return status;
    *counters = s->counters;
    counters->bytes_copied += s->own.copied + s->inputs.copied;
    for (int32_t f = 0; f < s->graph->n_frames; f++) counters->bytes_copied += s->spills[f].copied;
    ml_leave(s->interpreter);
    return ML_OK;
}

static bool stays_mapped(const ml_state *s) {
    return !ml_shares_arena(s) && (!s->own.base || s->own.reserved > 0) &&
           (!s->inputs.base || s->inputs.reserved > 0);
}

/* Who copies without a turn does not come by here each time, so there has to be nothing left to
 * clear. */
ml_status ml_state_needs_turns(ml_state *s, int32_t tensor, int32_t *needs_turns) {
    ml_status status = ml_enter_copy(s->interpreter);
    if (status != ML_OK) return status;
    *needs_turns = !s->now || !has_tensor(s, tensor) || !stays_mapped(s);
    if (!*needs_turns && in_arena(s, tensor)) ml_arena_clear(&s->own);
    ml_leave(s->interpreter);
    return ML_OK;
}

ml_status ml_state_get_usage(ml_state *s, ml_usage *usage) {
    ml_status status = ml_enter_copy(s->interpreter);
    if (status != ML_OK) return status;
    ml_interpreter *p = s->interpreter;
    const bool has_values = ml_workspace_enter_copy(s);
    *usage =
        (ml_usage){.arena_bytes = s->now ? s->now->rows->frames[0].region_bytes : 0,
                   .bound_bytes = s->now ? s->now->rows->frames[0].lower_bound : 0,
                   .resident_bytes = has_values ? ml_arena_resident(s->arena) : 0,
                   .resource_bytes = ml_blocks_bytes(p->resources, p->n_resources),
                   .taken_bytes = p->account.taken,
                   .input_bytes = s->now ? ml_inputs_needed(s, s->now) : 0,
                   .arena_capacity = has_values ? s->arena->capacity : 0,
                   .kept_bytes = ml_arena_kept(),
                   .block_bytes = ml_blocks_bytes(s->heap, s->graph->total_slots) +
                                  ml_blocks_bytes(s->carries, 2 * (int64_t)s->graph->total_slots),
                   .packed_bytes = ml_store_bytes(s->graph->store) + ml_store_bytes(s->graph->own),
                   .mapped_bytes = ml_store_mapped_bytes(s->graph->store) +
                                   ml_store_mapped_bytes(s->graph->own),
                   .larger_bytes = s->graph->larger_bytes,
                   .cached_bytes = s->cached_bytes,
                   .cached_plans = s->n_cached,
                   .views = s->pinned,
                   .stays_mapped = stays_mapped(s)};
    if (has_values) ml_workspace_leave(s);
    ml_leave(s->interpreter);
    return ML_OK;
}

const uint64_t *ml_state_generation(const ml_state *s) {
    _Static_assert(sizeof s->changes == 2 * sizeof(uint64_t),
                   "an atomic number is a number in memory");
    return (const uint64_t *)&s->changes;
}
