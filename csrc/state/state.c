/* state.c -- ml_state: plans by key, the arena, persistent memory, and the table of resolved pointers. */
#include <stdlib.h>

#include "run/engine.h"

/* Life --------------------------------------------------------------------------------------------------------------- */

ml_status ml_state_new(ml_graph *graph, const char *strategy, int32_t options,
                       const ml_hooks *hooks, ml_state **state, ml_error *error) {
    ml_state *s = calloc(1, sizeof *s);
    *state = s;
    if (s) {
        s->graph = ml_graph_hold(graph);
        s->hooks = *hooks;
        s->options = options;
        strncpy(s->strategy, strategy, sizeof s->strategy - 1);
        s->frames = calloc((size_t)graph->n_frames, sizeof *s->frames);
        s->resources = calloc((size_t)graph->n_resources + 1, sizeof *s->resources);
        s->envs = calloc((size_t)graph->n_frames, sizeof *s->envs);
        s->engines = calloc((size_t)graph->n_frames, sizeof *s->engines);
        s->called_once = calloc((size_t)graph->n_subgraphs + 1, sizeof *s->called_once);
        if (s->frames && s->resources && s->called_once && s->envs && s->engines) return ML_OK;
        ml_state_free(s);
        *state = NULL;
    }
    return ml_error_set(error, ML_ARENA_ERROR, "no memory for an interpreter of %d tensors",
                        graph->total_tensors);
}

static void free_buffers(ml_buffer *buffers, int32_t count) {
    for (int32_t i = 0; buffers && i < count; i++) free(buffers[i].data);
    free(buffers);
}

void ml_state_free(ml_state *s) {
    if (!s) return;
    for (int i = 0; i < ML_CACHED_PLANS; i++) ml_plan_free(s->plans[i]);
    ml_arena_release(&s->arena);
    for (int32_t f = 0; s->frames && f < s->graph->n_frames; f++) free(s->frames[f].spill);
    free_buffers(s->resources, s->graph->n_resources);
    free_buffers(s->carries, 2 * s->graph->total_tensors);
    free(s->persistent);
    free(s->work);
    free(s->frames);
    free(s->envs);
    free(s->engines);
    free(s->predictions);
    free(s->bound);
    free(s->called_once);
    ml_graph_free(s->graph);
    free(s);
}

ml_status ml_buffer_reserve(ml_buffer *b, int64_t bytes, ml_error *error) {
    if (bytes <= b->capacity && b->data) return ML_OK;
    int64_t rounded = (bytes + 127) & ~(int64_t)63;
    void *data = aligned_alloc(64, (size_t)rounded);
    if (!data) {
        error->needed = bytes;
        error->available = b->capacity;
        return ml_error_set(error, ML_ARENA_ERROR,
                            "a variable needs %lld bytes, has %lld, and the system gives no more",
                            (long long)bytes, (long long)b->capacity);
    }
    free(b->data);
    b->data = data;
    b->capacity = rounded;
    return ML_OK;
}

ml_status ml_buffer_set(ml_buffer *b, const ml_tensor *tensor, const void *data, ml_error *error) {
    ml_status status = ml_buffer_reserve(b, tensor->bytes, error);
    if (status != ML_OK) return status;
    if (tensor->bytes > 0) memcpy(b->data, data, (size_t)tensor->bytes);
    b->shape = tensor->shape;
    b->type = tensor->type;
    b->bytes = tensor->bytes;
    b->assigned = true;
    return ML_OK;
}

/* Points the tensors of the plan in force at their memory. One that was in force before and has no frame but the main one
 * kept its pointers, which hold if memory has not moved since. */
static void resolve(ml_state *s) {
    ml_plan *plan = s->plan;
    s->data = plan->data;
    s->steps = plan->steps;
    s->resolved = plan;
    if (s->graph->n_frames == 1 && plan->n_steps > 0 && plan->at_base == s->arena.base &&
        plan->at_persistent == s->persistent) {
        s->frames[0].region = s->arena.base;
        s->envs[0].tensors = ml_frame_tensors(plan, 0);
        s->engines[0].plan = plan;
        s->frames[0].n_steps = plan->n_steps;
        ml_bind_buffers(s);
        s->generation++;
        return;
    }
    memset(s->data, 0, (size_t)s->graph->total_tensors * sizeof *s->data);
    ml_bind_frame(s, 0, s->arena.base);
    plan->at_base = s->arena.base;
    plan->at_persistent = s->persistent;
}

/* Preparing ------------------------------------------------------------------------------------------------------------ */

/* A refused call leaves the error alone: it may be the one of the call that is running. */
static ml_status enter(ml_state *s, ml_error *error) {
    if (atomic_exchange_explicit(&s->running, 1, memory_order_acquire)) return ML_BUSY;
    s->error = error;
    return ML_OK;
}

static void leave(ml_state *s) { atomic_store_explicit(&s->running, 0, memory_order_release); }

/* The slot of the plan with this key, else the slot to use for it: a free one, or the one longest unused. */
static ml_plan **find_plan(ml_state *s, const int32_t *spec, int32_t words, bool *found) {
    ml_plan **best = NULL;
    *found = false;
    for (int i = 0; i < ML_CACHED_PLANS; i++) {
        ml_plan *p = s->plans[i];
        if (p && !p->broken && p->words == words && ml_same_bound(s, p) &&
            (words == 0 || memcmp(p->spec, spec, (size_t)words * sizeof *spec) == 0)) {
            *found = true;
            return &s->plans[i];
        }
        if (p == s->plan && p) continue;
        if (!best || (*best && (!p || p->used < (*best)->used))) best = &s->plans[i];
    }
    return best;
}

/* The plan's own tables of pointers and steps. */
static ml_status make_tables(ml_plan *plan, ml_error *error) {
    if (!plan->data)
        plan->data = calloc((size_t)plan->graph->total_tensors + 1, sizeof *plan->data);
    if (!plan->steps)
        plan->steps = calloc((size_t)plan->graph->total_nodes + 1, sizeof *plan->steps);
    if (plan->data && plan->steps) return ML_OK;
    return ml_error_set(error, ML_ARENA_ERROR, "no memory for the steps of %d nodes",
                        plan->graph->total_nodes);
}

static ml_status acquire(ml_state *s, ml_plan *plan, ml_error *error) {
    if (make_tables(plan, error) != ML_OK) return ML_ARENA_ERROR;
    if (s->pinned && plan->frames[0].region_bytes > s->arena.capacity)
        return ml_error_set(
            error, ML_VIEW_HELD,
            "the arena has to grow from %lld to %lld bytes while a view of it is held: drop the view",
            (long long)s->arena.capacity, (long long)plan->frames[0].region_bytes);
    ml_status status = ml_arena_commit(&s->arena, plan->frames[0].region_bytes, 0, error);
    if (status != ML_OK) return status;
    s->counters.arena_moves = s->arena.moves;
    for (int32_t f = 1; f < s->graph->n_frames && status == ML_OK; f++)
        if (plan->frames[f].planner && ml_outgrew_room(plan, f))
            status = ml_reserve_spill(s, f, plan->frames[f].region_bytes, error);
    if (status != ML_OK) return status;
    if (!s->work) s->work = aligned_alloc(64, ML_WORK_BYTES);
    if (!s->work)
        return ml_error_set(error, ML_ARENA_ERROR, "no memory for a work block of %d bytes",
                            ML_WORK_BYTES);
    if (plan->persistent_bytes > s->persistent_capacity) {
        uint8_t *persistent =
            aligned_alloc(64, (size_t)((plan->persistent_bytes + 63) & ~(int64_t)63));
        if (!persistent)
            return ml_error_set(
                error, ML_ARENA_ERROR,
                "variable tensors need %lld bytes, have %lld, and the system gives no more",
                (long long)plan->persistent_bytes, (long long)s->persistent_capacity);
        free(s->persistent);
        s->persistent = persistent;
        s->persistent_capacity = plan->persistent_bytes;
    }
    return ML_OK;
}

/* Whether a plan and every pointer of it but those into the caller's buffers are in force. */
static bool in_force(const ml_state *s, const ml_plan *plan) {
    return s->plan == plan && s->resolved == plan && s->frames[0].region == s->arena.base;
}

/* The default planner searches for at most about 200 us. A plan that it left above its bound gets a longer search when its
 * shapes come back, once; a smaller one takes its place. */
static void improve(ml_state *s, ml_plan **slot) {
    ml_plan *plan = *slot, *better = NULL;
    if (plan->improved || plan == s->plan || strcmp(s->strategy, "default") != 0) return;
    if (plan->frames[0].region_bytes <= plan->lower_bound) return;
    plan->improved = true;
    ml_counters counters = s->counters;
    ml_error quiet = {.node = -1, .subgraph = -1, .tensor = -1, .other = -1};
    s->options |= ML_SEARCH_LONG;
    ml_status status = ml_plan_new(s, plan->spec, plan->words, &better, &quiet);
    s->options &= ~(int32_t)ML_SEARCH_LONG;
    s->counters = counters;
    if (status != ML_OK) return;
    better->improved = true;
    bool smaller = better->frames[0].region_bytes < plan->frames[0].region_bytes;
    ml_plan_free(smaller ? plan : better);
    if (!smaller) return;
    *slot = better;
    s->counters.plans_improved++;
}

static ml_status prepare(ml_state *s, const int32_t *spec, int32_t words, bool rebind,
                         ml_error *error) {
    bool found;
    ml_plan **slot = find_plan(s, spec, words, &found), *plan;
    if (found) improve(s, slot);
    plan = *slot;
    ml_status status =
        found ? ml_check_bound(s, plan, error) : ml_plan_new(s, spec, words, &plan, error);
    if (status == ML_OK) status = acquire(s, plan, error);
    if (status != ML_OK) {
        if (!found) ml_plan_free(plan);
        return status;
    }
    if (!found) {
        ml_plan_free(*slot);
        *slot = plan;
    } else {
        s->counters.plan_hits++;
    }
    plan->used = ++s->clock;
    if (rebind && in_force(s, plan)) {
        ml_bind_buffers(s);
        s->generation++;
        s->counters.rebinds++;
        return ML_OK;
    }
    s->plan = plan;
    if (plan->persistent_bytes > 0) memset(s->persistent, 0, (size_t)plan->persistent_bytes);
    resolve(s);
    return ML_OK;
}

/* True when other buffers are bound than before. */
static bool differ(const ml_binding *a, int32_t count_a, const ml_binding *b, int32_t count_b) {
    return count_a != count_b || (count_a > 0 && memcmp(a, b, (size_t)count_a * sizeof *a) != 0);
}

ml_status ml_state_prepare(ml_state *s, const int32_t *spec, int32_t words,
                           const ml_binding *bindings, int32_t n_bindings, ml_error *error) {
    ml_status status = enter(s, error);
    if (status != ML_OK) return status;
    ml_binding *old = s->bound,
               *copy = n_bindings > 0 ? malloc((size_t)n_bindings * sizeof *copy) : NULL;
    int32_t n_old = s->n_bound;
    if (n_bindings > 0 && !copy) {
        status =
            ml_error_set(error, ML_ARENA_ERROR, "no memory to note %d bound tensors", n_bindings);
    } else {
        if (copy) memcpy(copy, bindings, (size_t)n_bindings * sizeof *copy);
        s->bound = copy;
        s->n_bound = n_bindings;
        status = prepare(s, spec, words, differ(old, n_old, copy, n_bindings), error);
        free(status == ML_OK ? old : copy);
        if (status != ML_OK) {
            s->bound = old;
            s->n_bound = n_old;
        }
    }
    leave(s);
    return status;
}

ml_status ml_state_plan_for(ml_state *s, const int32_t *spec, int32_t words, ml_plan **plan,
                            ml_error *error) {
    ml_status status = enter(s, error);
    if (status != ML_OK) return status;
    ml_counters counters = s->counters;
    status = ml_plan_new(s, spec, words, plan, error);
    s->counters = counters;
    leave(s);
    return status;
}

/* Running ---------------------------------------------------------------------------------------------------------------- */

/* The bytes of all graph inputs in the arena, one after the other, copied out into `saved` or back in; returns their sum. */
static int64_t move_inputs(ml_state *s, uint8_t *saved, bool out) {
    const ml_planner_graph *io = &s->graph->subgraphs[s->graph->frames[0].subgraph].io;
    const ml_tensor *tensors = ml_frame_tensors(s->plan, 0);
    void **data = s->data + s->graph->frames[0].tensor_base;
    int64_t at = 0;
    for (int32_t i = 0; i < io->n_inputs; i++) {
        int32_t t = io->inputs[i];
        if (t < 0 || tensors[t].storage != ML_STORAGE_ARENA || tensors[t].bytes == 0 || !data[t])
            continue;
        if (saved && out) memcpy(saved + at, data[t], (size_t)tensors[t].bytes);
        else if (saved) memcpy(data[t], saved + at, (size_t)tensors[t].bytes);
        at += tensors[t].bytes;
    }
    return at;
}

/* A run that failed while re-preparing left its plan half-way: make it anew from its key, keeping inputs and variables. */
static ml_status mend(ml_state *s, ml_error *error) {
    ml_plan *plan, *broken = s->plan;
    if (s->pinned)
        return ml_error_set(
            error, ML_VIEW_HELD,
            "tensors have to move while a view of the arena is held: drop the view");
    uint8_t *inputs = malloc((size_t)move_inputs(s, NULL, true) + 1);
    if (!inputs)
        return ml_error_set(error, ML_ARENA_ERROR,
                            "no memory to keep the inputs while their places change");
    move_inputs(s, inputs, true);
    ml_status status = ml_plan_new(s, broken->spec, broken->words, &plan, error);
    if (status == ML_OK && (status = acquire(s, plan, error)) != ML_OK) ml_plan_free(plan);
    if (status == ML_OK) {
        for (int i = 0; i < ML_CACHED_PLANS; i++)
            if (s->plans[i] == broken) s->plans[i] = plan;
        ml_plan_free(broken);
        s->plan = plan;
        plan->used = s->clock;
        resolve(s);
        move_inputs(s, inputs, false);
    }
    free(inputs);
    return status;
}

/* What went wrong stays in the caller's error; if mending fails too, the next run tries again and says why. */
static void mend_after_failure(ml_state *s) {
    ml_error ignored = {.node = -1};
    if (s->plan && s->plan->broken) mend(s, &ignored);
}

/* Calls point at the error of the run under way; only the address changes from call to call. */
static void point_errors(ml_state *s, ml_error *error) {
    for (int32_t f = 0; f < s->graph->n_frames; f++) s->envs[f].error = error;
}

ml_status ml_state_run(ml_state *s, ml_error *error) {
    ml_status status = enter(s, error);
    if (status != ML_OK) return status;
    if (!s->plan) status = ml_error_set(error, ML_NOT_READY, "no tensors are allocated");
    else if (!s->arena.base && s->plan->frames[0].region_bytes > 0)
        status = ml_error_set(error, ML_NOT_READY, "the arena's memory was released");
    else if (s->plan->broken) status = mend(s, error);
    if (status == ML_OK) {
        atomic_store_explicit(&s->cancel, 0, memory_order_relaxed);
        s->poll_at = 0;
        point_errors(s, error);
        status = ml_run_frame(s, 0);
        s->counters.invokes++;
        if (status != ML_OK) mend_after_failure(s);
    }
    leave(s);
    return status;
}

void ml_state_cancel(ml_state *s) { atomic_store(&s->cancel, 1); }
void ml_state_pin(ml_state *s, int32_t pinned) { s->pinned = pinned; }
int32_t ml_state_is_running(const ml_state *s) {
    return atomic_load_explicit(&s->running, memory_order_acquire);
}

/* Memory ----------------------------------------------------------------------------------------------------------------- */

static ml_status refuse_views(const ml_state *s, ml_error *error) {
    return s->pinned
               ? ml_error_set(
                     error, ML_VIEW_HELD,
                     "the arena cannot be given back while a view of it is held: drop the view")
               : ML_OK;
}

static void drop_plans(ml_state *s) {
    for (int i = 0; i < ML_CACHED_PLANS; i++)
        if (s->plans[i] != s->plan) {
            ml_plan_free(s->plans[i]);
            s->plans[i] = NULL;
        }
}

ml_status ml_state_trim(ml_state *s, ml_error *error) {
    ml_status status = enter(s, error);
    if (status != ML_OK) return status;
    status = refuse_views(s, error);
    if (status == ML_OK) {
        drop_plans(s);
        ml_arena_shrink(&s->arena, s->plan ? s->plan->frames[0].region_bytes : 0);
    }
    leave(s);
    return status;
}

ml_status ml_state_release_memory(ml_state *s, ml_error *error) {
    ml_status status = enter(s, error);
    if (status != ML_OK) return status;
    status = refuse_views(s, error);
    if (status == ML_OK) {
        ml_arena_release(&s->arena);
        if (s->plan) resolve(s);
    }
    leave(s);
    return status;
}

ml_status ml_state_acquire_memory(ml_state *s, ml_error *error) {
    ml_status status = enter(s, error);
    if (status != ML_OK) return status;
    if (s->plan) {
        status = acquire(s, s->plan, error);
        if (status == ML_OK) resolve(s);
    }
    leave(s);
    return status;
}

ml_status ml_state_reset_variables(ml_state *s, ml_error *error) {
    ml_status status = enter(s, error);
    if (status != ML_OK) return status;
    if (s->plan && s->plan->persistent_bytes > 0)
        memset(s->persistent, 0, (size_t)s->plan->persistent_bytes);
    leave(s);
    return ML_OK;
}

ml_status ml_state_reset_resources(ml_state *s, ml_error *error) {
    ml_status status = enter(s, error);
    if (status != ML_OK) return status;
    for (int32_t r = 0; r < s->graph->n_resources; r++) s->resources[r].assigned = false;
    memset(s->called_once, 0, (size_t)s->graph->n_subgraphs);
    leave(s);
    return ML_OK;
}

/* Readers ---------------------------------------------------------------------------------------------------------------- */

const ml_counters *ml_state_counters(const ml_state *s) { return &s->counters; }
ml_plan *ml_state_plan(const ml_state *s) { return s->plan; }
int64_t ml_state_arena_capacity(const ml_state *s) { return s->arena.capacity; }
uint64_t ml_state_generation(const ml_state *s) { return s->generation; }

void *ml_state_data(const ml_state *s, int32_t frame, int32_t tensor) {
    bool known = s->plan && !s->plan->broken && frame >= 0 && frame < s->graph->n_frames;
    return known ? s->data[s->graph->frames[frame].tensor_base + tensor] : NULL;
}
