/* memory.c -- taking memory: all that a residence needs is obtained, then swapped in; a refusal changes nothing.
 *
 * The order makes it so. What is replaced (variables, the work block) is allocated beside what there is; the pool and its
 * scratch may be left larger than the plan in force needs, which does no harm; the arena comes last, for it grows in place
 * and either does or does not. After that nothing can fail. The caller then resolves: pointers may have become stale.
 *
 * The arena never shrinks but by trim and release, so going back and forth between sizes takes no memory at all. */
#include <stdlib.h>

#include "state/state.h"

static ml_status refuse_view(const ml_state *s, int64_t needs, ml_error *error) {
    return ml_error_set(
        error, ML_VIEW_HELD,
        "the arena has to grow from %lld to %lld bytes while a view of it is held: drop the view",
        (long long)s->arena.capacity, (long long)needs);
}

/* With a view held the arena does not grow even where it would not move: what is refused does not hang on the system. No
 * bytes are kept: what is about to be put in force has no values yet. */
ml_status ml_acquire(ml_state *s, const ml_residence *r, ml_error *error) {
    int64_t needs = r->rows->frames[0].region_bytes, variables = r->rows->persistent_bytes;
    if (s->pinned && needs > s->arena.capacity) return refuse_view(s, needs, error);
    uint8_t *persistent = NULL, *work = NULL;
    if (variables > s->persistent_capacity) {
        persistent = variables > INT64_MAX - 128
                         ? NULL
                         : aligned_alloc(64, (size_t)ml_round_up(variables, 64));
        if (!persistent)
            return ml_error_memory(error, "variable tensors", variables, s->persistent_capacity);
    }
    if (!s->work && !(work = aligned_alloc(64, ML_WORK_BYTES))) {
        free(persistent);
        return ml_error_memory(error, "a work block", ML_WORK_BYTES, 0);
    }
    bool threads = s->interpreter->threads > 1 || r->rows->worker_bytes > 0;
    if (threads && !ml_interpreter_pool(s->interpreter, r->rows->worker_bytes, error)) {
        free(persistent);
        free(work);
        return ML_ARENA_ERROR;
    }
    /* The last step that can fail; an arena that cannot grow stays as it is. */
    ml_status status = ml_arena_commit(&s->arena, needs, 0, error);
    if (status != ML_OK) {
        free(persistent);
        free(work);
        return status;
    }
    s->counters.arena_moves = s->arena.moves;
    if (persistent) {
        free(s->persistent);
        s->persistent = persistent;
        s->persistent_capacity = variables;
    }
    if (work) s->work = work;
    return ML_OK;
}

static ml_status refuse_views(const ml_state *s, ml_error *error) {
    if (!s->pinned) return ML_OK;
    return ml_error_set(error, ML_VIEW_HELD,
                        "the arena cannot be given back while a view of it is held: drop the view");
}

/* The plan in force goes on as it is, with its arena up to its end. Blocks keep their room, and so do frames that have
 * moved out. */
ml_status ml_state_trim(ml_state *s, ml_error *error) {
    ml_status status = ml_enter(s->interpreter);
    if (status != ML_OK) return status;
    status = refuse_views(s, error);
    if (status == ML_OK) {
        ml_cache_drop_all_but(s, s->now);
        ml_arena_shrink(&s->arena, s->now ? s->now->rows->frames[0].region_bytes : 0);
        ml_heap_trim(s);
        if (s->now && s->graph->n_heap > 0) {
            ml_resolve_loose(s, s->now);
            ml_changed(s);
        }
    }
    ml_leave(s->interpreter);
    return status;
}

/* Where addresses are reserved only pages go: copies that take no turn (see ml_interpreter_sequence) may still look there. */
ml_status ml_state_release_memory(ml_state *s, ml_error *error) {
    ml_status status = ml_enter(s->interpreter);
    if (status != ML_OK) return status;
    status = refuse_views(s, error);
    if (status == ML_OK) {
        if (s->arena.reserved) ml_arena_shrink(&s->arena, 0);
        else ml_arena_release(&s->arena);
        if (s->now) ml_resolve(s, s->now, NULL);
        ml_changed(s);
    }
    ml_leave(s->interpreter);
    return status;
}

ml_status ml_state_acquire_memory(ml_state *s, ml_error *error) {
    ml_status status = ml_enter(s->interpreter);
    if (status != ML_OK) return status;
    if (s->now) {
        status = ml_acquire(s, s->now, error);
        if (status == ML_OK) ml_resolve(s, s->now, NULL);
        ml_changed(s);
    }
    ml_leave(s->interpreter);
    return status;
}

void ml_begin_variables(ml_state *s, const ml_residence *r) {
    const ml_graph *g = s->graph;
    if (r->rows->persistent_bytes > 0) memset(s->persistent, 0, (size_t)r->rows->persistent_bytes);
    if (s->node_memory) memset(s->node_memory, 0, (size_t)g->memory_bytes);
    for (int32_t frame = 0; g->n_centered > 0 && frame < g->n_frames; frame++) {
        const ml_subgraph *sub = ml_frame_subgraph(g, frame);
        uint8_t *persistent = s->persistent + r->rows->frames[frame].persistent_start;
        for (int32_t slot = 0; slot < sub->n_slots; slot++) {
            const ml_tensor *t = &r->rows->tensors[g->frames[frame].slot_base + slot];
            int8_t first = ml_first_byte(g, &sub->tensors[sub->numbers[slot]]);
            if (first != 0 && t->storage == ML_STORAGE_PERSISTENT && t->offset >= 0)
                memset(persistent + t->offset, first, (size_t)t->bytes);
        }
    }
}

/* What kernels keep from run to run is state of the model like its variables. Resources are not:
 * ml_interpreter_reset_resources. */
ml_status ml_state_reset_variables(ml_state *s, ml_error *error) {
    ml_status status = ml_enter(s->interpreter);
    if (status != ML_OK) return status;
    (void)error;
    if (s->now) ml_begin_variables(s, s->now);
    ml_heap_reset_variables(s);
    ml_leave(s->interpreter);
    return ML_OK;
}
