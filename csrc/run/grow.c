/* grow.c -- gives a tensor or scratch that has outgrown its place during a run a new one, where it
 * overlaps nothing that is live at the same time.
 *
 * Everything that was planned stays where it is. After it, each frame has a heap: records that runs
 * have placed one by one, each with its first and last node. A new record takes the lowest gap
 * there among records whose lifetimes overlap its own. So it cannot overlap planned records (they
 * end where the heap begins), nor others in the heap. Its old place stays unused.
 *
 * A list has the live records first, by offset: [0, live) may still overlap a new record. Those in
 * [live, count) were dead before the current node. Runs go through a frame in order, so only few
 * records are looked at. When a frame is run again, all records are live again, because places are
 * kept from run to run. If the heap makes the region much larger than its lower bound, the next run
 * first places everything anew, and lists are empty again. */
#include <stdlib.h>

#include "run/run.h"

static int by_offset(const void *a, const void *b) {
    int64_t x = ((const ml_alone *)a)->offset, y = ((const ml_alone *)b)->offset;
    return (x > y) - (x < y);
}

/* Moves records that are dead before `node` after the live ones; nothing that is placed from here
 * on can overlap them. */
static void retire(ml_alone_list *list, int32_t node) {
    if (list->live < 0) {
        list->live = list->count;
        if (list->count > 1)
            qsort(list->records, (size_t)list->count, sizeof *list->records, by_offset);
    }
    int32_t kept = 0;
    for (int32_t i = 0; i < list->live; i++) {
        if (list->records[i].last < node) continue;
        ml_alone alive = list->records[i];
        list->records[i] = list->records[kept]; /* a dead record, or itself */
        list->records[kept++] = alive;
    }
    list->live = kept;
}

static void move_records(ml_alone *to, const ml_alone *from, int32_t count) {
    if (count > 0) memmove(to, from, (size_t)count * sizeof *to);
}

/* Removes the record, which gets a new place, from the list. Nothing is copied, because outputs are
 * placed before they are written. */
static void forget(ml_alone_list *list, int32_t id) {
    for (int32_t i = 0; i < list->count; i++) {
        if (list->records[i].id != id) continue;
        if (i < list->live) {
            move_records(list->records + i, list->records + i + 1, list->live - i - 1);
            i = --list->live;
        }
        list->records[i] = list->records[--list->count];
        return;
    }
}

/* The lowest offset after everything planned at which `size` bytes of `id` overlap no other live
 * record whose lifetime overlaps [first, last]. */
static int64_t find_gap(const ml_alone_list *list, int32_t id, int64_t size, int32_t first,
                        int32_t last) {
    int64_t at = list->planned;
    for (int32_t i = 0; i < list->live; i++) {
        const ml_alone *r = &list->records[i];
        if (r->id == id || r->last < first || r->first > last || r->offset + r->size <= at)
            continue;
        if (r->offset - at >= size) break;
        at = r->offset + r->size;
    }
    return at;
}

static ml_status make_room(ml_alone_list *list, ml_error *error) {
    if (list->count < list->room) return ML_OK;
    int32_t room = list->room ? 2 * list->room : 16;
    ml_alone *records = realloc(list->records, (size_t)room * sizeof *records);
    if (!records) return ml_error_refused(error, "places of dynamic tensors");
    list->records = records;
    list->room = room;
    return ML_OK;
}

static void add_record(ml_alone_list *list, ml_alone record) {
    int32_t i = list->live;
    while (i > 0 && list->records[i - 1].offset > record.offset) i--;
    list->records[list->count++] = list->records[list->live]; /* the first dead record makes
                                                                * room */
    move_records(list->records + i + 1, list->records + i, list->live++ - i);
    list->records[i] = record;
}

/* Moves a child frame that has outgrown its caller's scratch, with everything in it, into memory of
 * its own. */
static ml_status spill(ml_state *s, ml_residence *r, int32_t frame, int64_t had, int64_t needs) {
    ml_arena *arena = &s->spills[frame];
    const uint8_t *from = r->frames[frame].region;
    int64_t room = r->rows->frames[frame].room;
    bool out = r->frames[frame].spilled;
    ml_status status = ml_arena_commit(arena, needs, out ? had : 0, &s->error);
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
    if (needs <= s->arena.capacity) {
        ml_arena_needed(s, needs, s->arena.capacity);
        return ML_OK;
    }
    const uint8_t *from = s->arena.base;
    int64_t capacity = s->arena.capacity;
    ml_status status = ml_arena_commit(&s->arena, needs, had, &s->error);
    if (status != ML_OK) return status;
    if (s->arena.base != from && from) {
        ml_relocate(s, r, 0, from, capacity, s->arena.base);
        ml_changed(s);
    }
    r->frames[0].region = s->arena.base;
    ml_arena_needed(s, needs, capacity);
    return ML_OK;
}

/* Refused while views are held, even if the arena would stay where it is: a view of this tensor
 * would show its old place. */
ml_status ml_grow(ml_state *s, ml_residence *r, int32_t frame, int32_t id, int64_t bytes,
                  int64_t *offset) {
    const ml_frame *f = &s->graph->frames[frame];
    const ml_subgraph *sub = &s->graph->subgraphs[f->subgraph];
    ml_alone_list *list = &r->learnt->alone[frame];
    if (s->pinned)
        return ml_error_set(
            &s->error, ML_VIEW_HELD,
            "tensors have to move while a view of the arena is held: drop the view");
    if (bytes > INT64_MAX / 4)
        return ml_error_memory(&s->error, "a tensor", bytes, s->arena.capacity);
    bool tensor = id < sub->io.n_tensors;
    int32_t first = tensor ? 0 : id - sub->io.n_tensors, last = first;
    if (tensor) {
        /* Outputs are placed when their node is reached; carried values are placed before. */
        const ml_reserved *reserved = &r->rows->reserved[f->slot_base + sub->slots[id]];
        first = reserved->first;
        last = reserved->last;
    }
    retire(list, first);
    int64_t size = ml_round_up(bytes, ML_ALIGNMENT), end;
    int64_t at = find_gap(list, id, size, first, last);
    if (__builtin_add_overflow(at, size, &end))
        return ml_error_memory(&s->error, "the arena", bytes, s->arena.capacity);
    /* The old place is given up only here, after the last step that can fail: until then the row
     * refers to it. */
    ml_status status = make_room(list, &s->error);
    if (status == ML_OK) status = enlarge(s, r, frame, end);
    if (status != ML_OK) return status;
    if (*offset >= list->planned) forget(list, id);
    add_record(list, (ml_alone){at, size, id, first, last});
    if (end > r->rows->frames[frame].region_bytes) r->rows->frames[frame].region_bytes = end;
    *offset = at;
    r->learnt->grew = true;
    s->counters.capacity_misses++;
    s->run_changed = true;
    return ML_OK;
}
