/* state.c -- ml_state: puts plans into use, one at a time.
 *
 * That is a transaction. First comes everything that can fail, without changing anything in use:
 * find or make the residence, check the buffers, take memory. Then comes what cannot fail: buffers,
 * the order of the cache, pointers, variables.
 *
 * The generation belongs to the residence in use. The state never gives the same number to other
 * pointers or shapes. It comes back with the residence, so what Python has stored about places
 * under a number stays valid. */
#include "state/state.h"

#include <stdlib.h>

#include "memory/problem.h"
#include "os/os.h"
#include "plan/tile_fit.h"
#include "state/in_turn.h"

/* Life ----------------------------------------------------------------------------------------- */

static bool allocate_tables(ml_state *s, const ml_graph *g) {
    s->spills = calloc((size_t)g->n_frames, sizeof *s->spills);
    s->frame_engines = calloc((size_t)g->n_frames, sizeof *s->frame_engines);
    s->envs = calloc(2 * (size_t)g->n_frames, sizeof *s->envs);
    s->shape_envs = s->envs + g->n_frames;
    for (int32_t f = 0; s->spills && f < g->n_frames; f++) s->spills[f] = s->own;
    if (g->n_heap > 0) s->heap = calloc((size_t)g->total_slots + 1, sizeof *s->heap);
    if (g->memory_bytes > 0) {
        s->node_memory = ml_os_allocate(g->memory_bytes);
        if (s->node_memory) memset(s->node_memory, 0, (size_t)g->memory_bytes);
    }
    if (s->most_arena > 0) s->tiling = calloc(1, sizeof *s->tiling);
    return s->spills && (s->tiling || s->most_arena == 0) && s->frame_engines && s->envs &&
           (g->n_heap == 0 || s->heap) && (g->memory_bytes == 0 || s->node_memory);
}

/* Sets up the environments that the calls of all residences share. Errors of runs are written to
 * the state's error. */
static void enter_graph(ml_state *s) {
    s->engine = (ml_engine){.graph = s->graph,
                            .core = s->runner->core,
                            .hooks = &s->hooks,
                            .simd = s->simd,
                            .error = &s->error,
                            .counters = &s->counters,
                            .state = s};
    for (int32_t f = 0; f < s->graph->n_frames; f++) {
        s->frame_engines[f] = (struct ml_frame_engine){
            .engine = &s->engine, .frame = f, .subgraph = s->graph->frames[f].subgraph};
        s->envs[f] = s->shape_envs[f] = ml_frame_env(&s->engine, &s->frame_engines[f]);
    }
}

ml_status ml_state_make(ml_family *family, ml_interpreter *interpreter, const ml_state_options *o,
                        ml_state **state, ml_error *error) {
    ml_graph *graph = family->graph;
    *state = NULL;
    if (graph->n_resources > interpreter->n_resources ||
        graph->n_subgraphs > interpreter->n_subgraphs)
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "the graph numbers %d resources, the interpreter has %d",
                            graph->n_resources, interpreter->n_resources);
    int32_t named = ml_strategy_named(o->strategy);
    if (named < 0)
        return ml_error_set(error, ML_ARENA_ERROR, "there is no planning strategy '%s'",
                            o->strategy);
    ml_state *s = calloc(1, sizeof *s);
    if (!s) return ml_error_memory(error, "an interpreter", (int64_t)sizeof *s, 0);
    atomic_store(&s->holders, 1);
    s->family = ml_family_hold(family);
    s->graph = graph;
    s->interpreter = ml_interpreter_hold(interpreter);
    s->runner = o->runner;
    s->hooks = *o->hooks;
    s->strategy = named;
    s->options = o->options;
    s->simd = graph->simd;
    s->cache_bytes = o->cache_bytes;
    s->most_arena = o->most_arena;
    s->buckets = s->first_buckets;
    s->n_buckets = ML_BUCKETS;
    s->error = ML_NO_ERROR;
    s->own = (ml_arena){.account = &interpreter->account,
                        .keeps_pages = (o->options & ML_KEEP_PAGES) != 0};
    s->arena = interpreter->workspace ? &interpreter->workspace->arena : &s->own;
    if (interpreter->workspace) s->options |= ML_KEEP_INPUTS | ML_SHARES_ARENA;
    s->inputs = (ml_arena){.account = &interpreter->account}; /* kept pages are for the arena */
    if (allocate_tables(s, graph)) {
        enter_graph(s);
        *state = s;
        return ML_OK;
    }
    ml_state_free(s);
    return ml_error_refused(error, "an interpreter");
}

void ml_state_free(ml_state *s) {
    if (!s || atomic_fetch_sub(&s->holders, 1) > 1) return;
    ml_cache_drop_all_but(s, NULL);
    if (s->buckets != s->first_buckets) free(s->buckets);
    ml_workspace_forget(s);
    ml_account_give(&s->interpreter->account, s->charged);
    ml_arena_release(&s->own);
    ml_arena_release(&s->inputs);
    for (int32_t f = 0; s->spills && f < s->graph->n_frames; f++) ml_arena_release(&s->spills[f]);
    ml_blocks_free(&s->interpreter->account, s->heap, s->graph->total_slots);
    ml_blocks_free(&s->interpreter->account, s->carries, 2 * (int64_t)s->graph->total_slots);
    free(s->spills);
    free(s->frame_engines);
    free(s->envs);
    ml_account_give(&s->interpreter->account, s->persistent_capacity);
    ml_os_free(s->persistent);
    ml_os_free(s->work);
    ml_os_free(s->node_memory);
    free(s->needs);
    free(s->tiling);
    free(s->bound);
    ml_requests_free(s);
    ml_family_free(s->family);
    ml_interpreter_free(s->interpreter);
    free(s);
}

/* Errors --------------------------------------------------------------------------------------- */

/* Constant errors: for no memory for an error, and for a call that comes during another one. */
static const ml_error no_memory = {.status = ML_ARENA_ERROR,
                                   .subgraph = -1,
                                   .node = -1,
                                   .text = "no memory to say what went wrong"};
static const ml_error busy = {.status = ML_BUSY, .subgraph = -1, .node = -1};

void ml_error_free(ml_error *error) {
    if (error != &busy && error != &no_memory) free(error);
}

/* Moves the error of a failed run to the caller. */
uintptr_t ml_state_give_error(ml_state *s, ml_status status) {
    ml_error *error = malloc(sizeof *error);
    if (error) *error = s->error;
    if (error && error->status == ML_OK) error->status = status;
    s->error = ML_NO_ERROR;
    return (uintptr_t)(error ? error : &no_memory);
}

uintptr_t ml_busy_error(void) { return (uintptr_t)&busy; }

/* Preparing ------------------------------------------------------------------------------------ */

/* Strategy and options never change in a state, so keys do not contain them. */
static ml_plan_request request_of(ml_state *s, const ml_binding *bound, int32_t n_bound) {
    return (ml_plan_request){.graph = s->graph,
                             .strategy = s->strategy,
                             .options = s->options,
                             .hash =
                                 ml_plan_hash(s->requests.spec, s->requests.words, bound, n_bound),
                             .spec = s->requests.spec,
                             .words = s->requests.words,
                             .bound = bound,
                             .n_bound = n_bound,
                             .hooks = &s->hooks,
                             .simd = s->simd,
                             .counters = &s->counters,
                             .family = s->family,
                             .most_arena = s->most_arena,
                             .tiling = s->tiling};
}

/* Gives the residence with this key, from the cache or new; *made says which. */
static ml_status find_or_make(ml_state *s, const ml_plan_request *request, ml_residence **r,
                              bool *made, ml_error *error) {
    *r = ml_cache_find(s, request);
    *made = !*r;
    if (*r) {
        *r = ml_cache_improve(s, *r);
        return ML_OK;
    }
    ml_plan *plan;
    ml_status status = ml_plan_make(request, &plan, error);
    if (status != ML_OK) return status;
    status = ml_residence_new(s, plan, r, error);
    if (status != ML_OK) ml_plan_free(plan);
    return status;
}

/* If the residence is the same and no shapes were requested, only pointers to buffers change;
 * values and variables stay. Otherwise tensors are allocated again in LiteRT's sense, and variables
 * start from zero, even if the shapes are the same as before. */
static void put_in_force(ml_state *s, ml_residence *r, bool rebinds, bool resized,
                         ml_block *fresh) {
    bool stood = ml_stands(s, r), only_buffers = !resized && s->now == r;
    if (only_buffers)
        ml_blocks_free(&s->interpreter->account, fresh, ml_frame_subgraph(s->graph, 0)->n_slots);
    else ml_heap_enter(s, r, fresh);
    const ml_residence *before = s->now;
    if (!only_buffers) ml_workspace_forget(s);
    s->now = r;
    s->lent = 0;
    ml_enter_residence(s, r);
    if (stood) ml_resolve_outside_arena(s, r);
    else ml_resolve(s, r, before);
    s->released = false;
    if (!stood || rebinds) ml_changed(s);
    else
        atomic_store_explicit(&s->changes[ML_GENERATION], r->changes[ML_GENERATION],
                              memory_order_relaxed);
    if (only_buffers) {
        s->counters.rebinds += rebinds;
        return;
    }
    r->ran = false;
    ml_begin_variables(s, r);
}

/* True if tensors are bound to other memory; it may belong to another object of the caller's. */
static bool differ(const ml_binding *a, int32_t count_a, const ml_binding *b, int32_t count_b) {
    bool same = count_a == count_b;
    for (int32_t i = 0; i < count_a && same; i++)
        same = a[i].data == b[i].data && a[i].bytes == b[i].bytes && a[i].tensor == b[i].tensor;
    return !same;
}

/* Takes memory for a residence. The needs of earlier runs are only a hint: if a new residence is
 * refused the memory for them, it is placed without. */
static ml_status acquire(ml_state *s, ml_residence *r, bool made, ml_error *error) {
    ml_status status = ml_acquire(s, r, error);
    if (status != ML_ARENA_ERROR || !made || !ml_residence_forget(s, r)) return status;
    *error = ML_NO_ERROR;
    return ml_acquire(s, r, error);
}

/* Everything that can fail comes first; then the old bindings are dropped and the residence is put
 * into use. */
static ml_status prepare(ml_state *s, const ml_plan_request *request, ml_binding *bound,
                         bool resized, ml_error *error) {
    ml_residence *r;
    bool made;
    ml_status status = find_or_make(s, request, &r, &made, error);
    if (status != ML_OK) return status;
    ml_block *fresh = NULL;
    status = ml_bound_check(r->plan, r->rows, request->bound, request->n_bound, error);
    if (status == ML_OK) status = ml_heap_acquire(s, r, &fresh, error);
    if (status == ML_OK) status = acquire(s, r, made, error);
    if (status != ML_OK) {
        ml_blocks_free(&s->interpreter->account, fresh, ml_frame_subgraph(s->graph, 0)->n_slots);
        if (made) ml_residence_free(r);
        ml_inputs_follow(s);
        return status;
    }
    bool rebinds = differ(s->bound, s->n_bound, request->bound, request->n_bound);
    ml_requests_use_bound(s, bound, request->n_bound);
    if (made) {
        ml_cache_add(s, r);
    } else {
        ml_cache_use(s, r);
        s->counters.plan_hits++;
    }
    put_in_force(s, r, rebinds, resized, fresh);
    if (made) ml_cache_evict(s);
    return ML_OK;
}

/* Takes the turn of a call although nothing changes, because it may pack weights and call shape
 * functions of custom operators. Counters do not count it. */
ml_status ml_state_plan_for(ml_state *s, const int32_t *rows, int32_t words, ml_plan **plan,
                            ml_error *error) {
    static const int32_t none[1] = {0};
    bool resized;
    *plan = NULL;
    ml_status status = ml_enter(s->interpreter);
    if (status != ML_OK) return status;
    ml_counters uncounted = s->counters;
    status = ml_requests_spec(s, rows ? rows : none, words, &resized, error);
    ml_plan_request request = request_of(s, s->bound, s->n_bound);
    request.counters = &uncounted;
    if (status == ML_OK) status = ml_plan_make(&request, plan, error);
    if (status == ML_OK && s->n_bound > 0) {
        status = ml_bound_check(*plan, &(*plan)->rows, s->bound, s->n_bound, error);
        if (status != ML_OK) {
            ml_plan_free(*plan);
            *plan = NULL;
        }
    }
    ml_leave(s->interpreter);
    return status;
}

static ml_status prepare_requested(ml_state *s) {
    bool resized;
    ml_binding *bound;
    int32_t n_bound;
    if (s->pinned)
        return ml_error_set(
            &s->error, ML_VIEW_HELD,
            "There is at least 1 reference to internal data in the interpreter: views of its "
            "memory are held: drop them before allocating again");
    ml_status status = ml_requests_bound(s, &bound, &n_bound, &s->error);
    if (status != ML_OK) return status;
    status = ml_requests_spec(s, NULL, 0, &resized, &s->error);
    ml_plan_request request = request_of(s, bound, n_bound);
    if (status == ML_OK) status = prepare(s, &request, bound, resized, &s->error);
    if (status != ML_OK && bound != s->bound) free(bound);
    return status;
}

uintptr_t ml_state_prepare(ml_state *s) {
    if (ml_enter(s->interpreter) != ML_OK) return ml_busy_error();
    ml_status status = prepare_requested(s);
    if (status == ML_OK) ml_requests_accepted(s);
    else if (status != ML_VIEW_HELD) ml_requests_refused(s);
    uintptr_t failed = status == ML_OK ? 0 : ml_state_give_error(s, status);
    ml_leave(s->interpreter);
    return failed;
}

/* Giving back ---------------------------------------------------------------------------------- */

static ml_status refuse_views(const ml_state *s, ml_error *error) {
    if (!s->pinned) return ML_OK;
    return ml_error_set(error, ML_VIEW_HELD,
                        "the arena cannot be given back while a view of it is held: drop the view");
}

/* The plan in use and its part of the arena stay. Blocks keep their room, and so do frames that
 * have moved out. Pages that the process keeps for its next arenas are given back, too. */
ml_status ml_state_trim(ml_state *s, ml_error *error) {
    ml_status status = ml_enter(s->interpreter);
    if (status != ML_OK) return status;
    status = refuse_views(s, error);
    if (status == ML_OK) {
        ml_cache_drop_all_but(s, s->now);
        ml_arena_shrink(&s->own, s->now ? s->now->rows->frames[0].region_bytes : 0);
        ml_arena_shrink(&s->inputs, s->now ? ml_inputs_needed(s, s->now) : 0);
        ml_arena_drop_kept();
        ml_heap_trim(s);
        if (s->now && s->graph->n_heap > 0) {
            ml_resolve_outside_arena(s, s->now);
            ml_changed(s);
        }
    }
    ml_leave(s->interpreter);
    return status;
}

/* If addresses are reserved, only pages are given back: copies that take no turn (see
 * ml_interpreter_sequence) may still read there. */
static void give_back(ml_arena *arena) {
    if (arena->reserved) ml_arena_shrink(arena, 0);
    else ml_arena_release(arena);
}

ml_status ml_state_release_memory(ml_state *s, ml_error *error) {
    ml_status status = ml_enter(s->interpreter);
    if (status != ML_OK) return status;
    status = refuse_views(s, error);
    if (status == ML_OK) {
        ml_workspace_forget(s);
        give_back(&s->own);
        give_back(&s->inputs);
        ml_arena_drop_kept();
        s->released = true;
        if (s->now) {
            ml_resolve(s, s->now, NULL);
            ml_changed(s);
        }
    }
    ml_leave(s->interpreter);
    return status;
}

/* Memory that kernels keep from run to run is state of the model, like its variables, and is reset
 * too. Resources are not (see ml_interpreter_reset_resources). */
ml_status ml_state_reset_variables(ml_state *s, ml_error *error) {
    ml_status status = ml_enter(s->interpreter);
    if (status != ML_OK) return status;
    if (s->now) ml_begin_variables(s, s->now);
    ml_heap_reset_variables(s);
    ml_leave(s->interpreter);
    return ML_OK;
}

void ml_pin_end(ml_pin *pin) {
    ml_state *s = pin->state;
    if (!s) return;
    pin->state = NULL;
    if (pin->shares) ml_workspace_pin(s->interpreter->workspace, -1);
    atomic_fetch_sub(&s->pinned, 1);
    ml_state_free(s);
}
