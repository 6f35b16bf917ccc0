/* memory.c -- takes memory for a residence: first obtains everything, then puts it into use; a
 * refusal changes nothing.
 *
 * The order ensures that. Memory that is replaced (variables, the work block) is allocated beside
 * the old one. The pool and its scratch, and the memory for inputs, which keeps its values, may end
 * up larger than the plan in use needs, which does no harm. The arena comes last, because it grows
 * in place. After that nothing can fail. The caller then resolves, because pointers may be invalid.
 *
 * The arena shrinks only by trims (see ml_next_trim_window) and by release, so switching between
 * sizes takes no memory. */
#include <stdlib.h>

#include "os/os.h"
#include "state/state.h"

static ml_status refuse_view(const char *what, int64_t had, int64_t needs, ml_error *error) {
    return ml_error_set(
        error, ML_VIEW_HELD,
        "the %s has to grow from %lld to %lld bytes while a view of it is held: drop the view",
        what, (long long)had, (long long)needs);
}

enum { FIRST_WINDOW = 64, LONGEST_WINDOW = 1 << 16, LEAST_SPARE = 1 << 20 };

static void note_taken(ml_state *s) {
    s->fresh = true;
    if (s->trim.gave && s->trim.window < LONGEST_WINDOW) s->trim.window *= 2;
    s->trim.gave = false;
}

ml_status ml_check_most_arena(const ml_state *s, int64_t bytes, ml_error *error) {
    if (s->most_arena == 0 || bytes <= s->most_arena) return ML_OK;
    error->needed = bytes;
    error->available = s->most_arena;
    return ml_error_set(error, ML_ARENA_ERROR,
                        "the arena would need %lld bytes, and max_arena is %lld", (long long)bytes,
                        (long long)s->most_arena);
}

/* The workspace's arena is counted for each state as if it were its own. */
ml_status ml_region_commit(ml_state *s, int64_t bytes, int64_t keep, ml_error *error) {
    ml_status status = ml_check_most_arena(s, bytes, error);
    if (status != ML_OK) return status;
    if (!ml_shares_arena(s)) return ml_arena_commit(&s->own, bytes, keep, error);
    ml_account *account = &s->interpreter->account;
    const int64_t more = ml_max_s64(bytes - s->charged, 0);
    status = ml_account_take(account, "the arena", more, error);
    if (status != ML_OK) return status;
    status = ml_arena_commit(s->arena, bytes, keep, error);
    if (status == ML_OK) s->charged += more;
    else ml_account_give(account, more);
    return status;
}

void ml_arena_needed(ml_state *s, int64_t bytes, int64_t had) {
    s->trim.most[0] = ml_max_s64(s->trim.most[0], bytes);
    s->counters.arena_moves = s->arena->moves;
    if (s->arena->capacity != had) note_taken(s);
}

ml_status ml_inputs_commit(ml_state *s, const ml_residence *r, ml_error *error) {
    const int64_t needs = ml_inputs_needed(s, r), had = s->inputs.capacity;
    if (s->pinned && needs > had) return refuse_view("memory of inputs", had, needs, error);
    ml_status status = ml_arena_commit(&s->inputs, needs, had, error);
    if (status != ML_OK) return status;
    ml_arena_clear(&s->inputs); /* a run reads inputs, also those that nobody has set */
    s->trim.most[1] = ml_max_s64(s->trim.most[1], needs);
    if (s->inputs.capacity != had) note_taken(s);
    return ML_OK;
}

/* Done only if addresses are reserved: then nothing moves, and pages come back when they are
 * touched. Views stay valid: while there are any the plan in use stays, and its memory is not given
 * back. */
void ml_next_trim_window(ml_state *s) {
    ml_trim_window *trim = &s->trim;
    ml_arena *const arenas[2] = {&s->own, &s->inputs};
    const int64_t now[2] = {s->now ? s->now->rows->frames[0].region_bytes : 0,
                            s->now ? ml_inputs_needed(s, s->now) : 0};
    const bool begun = trim->window > 0;
    bool gives = false;
    if (!begun) trim->window = FIRST_WINDOW;
    trim->left = trim->window;
    for (int i = 0; i < 2; i++) {
        const int64_t needed = ml_max_s64(trim->most[i], trim->before[i]),
                      spare = arenas[i]->capacity + arenas[i]->kept - needed;
        trim->before[i] = trim->most[i];
        trim->most[i] = now[i];
        if (!begun || !arenas[i]->reserved || spare < LEAST_SPARE || spare < needed) continue;
        ml_arena_shrink(arenas[i], needed);
        gives = true;
    }
    s->counters.given_back += gives;
    trim->gave |= gives;
}

/* While a view is held the arena does not grow, even if it would not move: so refusals do not
 * depend on the system. No bytes are kept, because the new residence has no values yet. */
ml_status ml_acquire(ml_state *s, const ml_residence *r, ml_error *error) {
    const bool shares = ml_shares_arena(s);
    int64_t needs = shares ? 0 : r->rows->frames[0].region_bytes,
            variables = r->rows->persistent_bytes;
    if (s->pinned && needs > s->own.capacity)
        return refuse_view("arena", s->own.capacity, needs, error);
    uint8_t *persistent = NULL, *work = NULL;
    ml_account *account = &s->interpreter->account;
    int64_t more = ml_max_s64(variables - s->persistent_capacity, 0);
    ml_status status = ml_check_most_arena(s, needs, error);
    if (status == ML_OK) status = ml_account_take(account, "variable tensors", more, error);
    if (status != ML_OK) return status;
    if (more > 0) {
        persistent = ml_os_allocate(variables);
        if (!persistent)
            status = ml_error_memory(error, "variable tensors", variables, s->persistent_capacity);
    }
    if (status == ML_OK && !s->work && !(work = ml_os_allocate(ML_WORK_BYTES)))
        status = ml_error_memory(error, "a work block", ML_WORK_BYTES, 0);
    bool threads = s->interpreter->threads > 1 || r->rows->worker_bytes > 0;
    if (status == ML_OK && threads &&
        !ml_interpreter_pool(s->interpreter, r->rows->worker_bytes, error))
        status = ML_ARENA_ERROR;
    if (status == ML_OK) status = ml_inputs_commit(s, r, error);
    /* The last step that can fail; an arena that cannot grow stays as it is. */
    int64_t had = s->own.capacity;
    if (status == ML_OK) status = ml_arena_commit(&s->own, needs, 0, error);
    if (status != ML_OK) {
        ml_account_give(account, more);
        ml_os_free(persistent);
        ml_os_free(work);
        return status;
    }
    if (!shares) ml_arena_needed(s, needs, had);
    if (persistent) {
        ml_os_free(s->persistent);
        s->persistent = persistent;
        s->persistent_capacity = variables;
    }
    if (work) s->work = work;
    return ML_OK;
}

void ml_begin_variables(ml_state *s, const ml_residence *r) {
    const ml_graph *g = s->graph;
    const bool any = r->rows->persistent_bytes > 0;
    if (any) memset(s->persistent, 0, (size_t)r->rows->persistent_bytes);
    if (s->node_memory) memset(s->node_memory, 0, (size_t)g->memory_bytes);
    for (int32_t frame = 0; any && g->n_centered > 0 && frame < g->n_frames; frame++) {
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
