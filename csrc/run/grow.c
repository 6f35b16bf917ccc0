/* grow.c -- takes memory for a tensor or scratch that has outgrown its place during a run; where it
 * goes, plan/layout.c decides.
 *
 * Everything that was planned stays where it is, and the old place stays unused. If such records
 * make the region much larger than its lower bound, the next run first places everything again. */
#include "run/grow.h"

/* Moves a child frame that has outgrown its caller's scratch, with everything in it, into memory of
 * its own. */
static ml_status spill(ml_state *s, ml_residence *r, int32_t frame, int64_t had, int64_t needs) {
    ml_arena *arena = &s->spills[frame];
    const uint8_t *from = r->frames[frame].region;
    int64_t room = r->rows->frames[frame].room;
    bool out = r->frames[frame].spilled;
    ml_status status = ml_check_most_arena(s, r->rows->frames[0].region_bytes + needs, &s->error);
    if (status == ML_OK) status = ml_arena_commit(arena, needs, out ? had : 0, &s->error);
    if (status != ML_OK) return status;
    s->fresh = true;
    if (out && arena->base == from) return ML_OK;
    int64_t lies = out || room > had ? had : room;
    if (!out && from && lies > 0) {
        memcpy(arena->base, from, (size_t)lies);
        s->counters.bytes_copied += lies;
    }
    if (from && lies > 0) ml_relocate(s, r, frame, from, lies, arena->base);
    r->frames[frame].region = arena->base;
    r->frames[frame].spilled = true;
    return ML_OK;
}

/* Gives a frame more memory if it needs more, and keeps what is live. A child frame has only the
 * room that was planned in its caller's scratch; memory after that belongs to the caller. */
static ml_status enlarge(ml_state *s, ml_residence *r, int32_t frame, int64_t needs) {
    int64_t had = r->rows->frames[frame].region_bytes;
    if (frame > 0) {
        bool fits = !r->frames[frame].spilled && needs <= r->rows->frames[frame].room;
        return fits ? ML_OK : spill(s, r, frame, had, needs);
    }
    ml_status status = ml_check_most_arena(s, needs, &s->error); /* it may have more, whole pages */
    if (status != ML_OK) return status;
    if (needs <= s->arena->capacity) {
        ml_arena_needed(s, needs, s->arena->capacity);
        return ML_OK;
    }
    const uint8_t *from = s->arena->base;
    int64_t capacity = s->arena->capacity;
    status = ml_region_commit(s, needs, had, &s->error);
    if (status != ML_OK) return status;
    if (s->arena->base != from && from) {
        ml_relocate(s, r, 0, from, capacity, s->arena->base);
        ml_changed(s);
    }
    r->frames[0].region = s->arena->base;
    ml_arena_needed(s, needs, capacity);
    return ML_OK;
}

/* Outputs are placed when their node is reached; carried values are placed before. */
static ml_record record_of(const ml_graph *g, const ml_rows *rows, int32_t frame, int32_t id) {
    const ml_subgraph *sub = ml_frame_subgraph(g, frame);
    const int32_t node = id - sub->io.n_tensors;
    ml_record record = {.first = node, .last = node, .tensor = id, .memory = ML_MEMORY_ARENA};
    if (node >= 0) return record;
    const ml_reserved *reserved = &rows->reserved[g->frames[frame].slot_base + sub->slots[id]];
    record.first = reserved->first;
    record.last = reserved->last;
    return record;
}

/* Refused while views are held, even if the arena would stay where it is: a view of this tensor
 * would show its old place. */
ml_status ml_grow(ml_state *s, ml_residence *r, int32_t frame, int32_t id, int64_t bytes,
                  int64_t *offset) {
    ml_late_records *late = &r->learnt->late[frame];
    if (s->pinned)
        return ml_error_set(
            &s->error, ML_VIEW_HELD,
            "tensors have to move while a view of the arena is held: drop the view");
    if (bytes > INT64_MAX / 4)
        return ml_error_memory(&s->error, "a tensor", bytes, s->arena->capacity);
    ml_record record = record_of(s->graph, r->rows, frame, id);
    record.size = ml_round_up(bytes, ML_ALIGNMENT);
    record.offset = ml_late_find(late, &record);
    int64_t end;
    if (__builtin_add_overflow(record.offset, record.size, &end))
        return ml_error_memory(&s->error, "the arena", bytes, s->arena->capacity);
    /* The old place is given up only here, after the last step that can fail: until then the row
     * refers to it. */
    ml_status status =
        ml_late_reserve(late, ml_frame_subgraph(s->graph, frame)->io.n_nodes, &s->error);
    if (status == ML_OK) status = enlarge(s, r, frame, end);
    if (status != ML_OK) return status;
    ml_late_add(late, &record);
    if (end > r->rows->frames[frame].region_bytes) r->rows->frames[frame].region_bytes = end;
    *offset = record.offset;
    r->learnt->grew = true;
    s->counters.capacity_misses++;
    s->run_changed = true;
    return ML_OK;
}
