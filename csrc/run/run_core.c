/* run_core.c -- the core's functions for kernels in a run.
 *
 * graph/planning_core.c has those for planning. Kernels need not know which of the two they
 * have. */
#include "run/run_core.h"

#include "os/os.h"
#include "run/dynamic.h"
#include "run/watch.h"

/* Only this function writes shapes of computed tensors in a run. If the shape is the same, nothing
 * happens, which makes steady runs cheap. A new shape marks the readers at once, so rows and marks
 * always agree. Rows of a plan without dynamic tensors are shared by all its users; there a new
 * shape is a mistake of the kernel or the reference. */
static ml_status set_output(const ml_call *c, int i, const ml_shape *shape) {
    const struct ml_frame_engine *fe = c->env->engine;
    ml_tensor *t = ml_core_output(c, i);
    if (t && t->shaped && ml_same_shape(&t->shape, shape)) return ML_OK;
    int64_t elements = t ? ml_core_elements(shape) : -1;
    if (elements < 0) return ml_core_refuse_shape(c, i, shape);
    ml_residence *r = fe->engine->residence;
    if (!r->learnt) { /* these are the plan's rows, which runs must not write */
        char before[96], now[96];
        return ml_fail(c, ML_KERNEL_ERROR, "output %d was given shape %s, but prepare has set %s",
                       i, ml_shape_text(shape, now), ml_shape_text(&t->shape, before));
    }
    ml_core_give_shape(t, shape, elements);
    ml_mark_readers(r, fe->sub, fe->place, c->env->slots[c->inputs[c->n_inputs + i]]);
    fe->engine->state->run_changed = true;
    return ML_OK;
}

static ml_status settle(const ml_call *c) { return ml_settle_outputs(c); }

/* The block of a tensor of variable size; NULL for other tensors. */
static ml_block *heap_of(const ml_call *c, int32_t tensor) {
    const struct ml_frame_engine *fe = c->env->engine;
    if (fe->numbers && tensor >= 0) tensor = fe->numbers[tensor];
    return ml_heap_block(fe->engine->state, fe->engine->residence, fe->frame, tensor);
}

/* For strings only this gives the size: their shape tells their number, not their bytes. */
static ml_status set_bytes(const ml_call *c, int i, int64_t bytes) {
    int32_t tensor = i >= 0 && i < c->n_outputs ? c->inputs[c->n_inputs + i] : -1;
    ml_block *block = heap_of(c, tensor);
    if (!block)
        return ml_fail(c, ML_KERNEL_ERROR, "output %d does not hold values of variable size", i);
    if (bytes < 0 || bytes > INT64_MAX / 4)
        return ml_fail(c, ML_KERNEL_ERROR, "output %d was given %lld bytes", i, (long long)bytes);
    ml_status status = ml_block_reserve(&c->env->engine->engine->state->interpreter->account, block,
                                        bytes, c->env->error);
    if (status != ML_OK) return status;
    block->bytes = bytes;
    block->shape = ml_output(c, i)->shape;
    block->assigned = true;
    ml_point_output(c, i, block->data);
    return ML_OK;
}

static int64_t bytes_of(const ml_call *c, int32_t tensor) {
    const ml_block *block = heap_of(c, tensor);
    return block ? block->bytes : tensor < 0 ? 0 : ml_tensor_of(c, tensor)->bytes;
}

/* The arguments of a block on a pool thread: the body gets a call whose error belongs to its
 * worker. */
typedef struct relayed {
    ml_pool *pool;
    ml_body body;
    void *args;
} relayed;

static ml_status poll(const ml_call *c) { return ml_poll_state(c->env->engine->engine->state); }

/* Workers do not handle Python's signals; the caller's thread does. */
static ml_status poll_in_worker(const ml_call *c) {
    const ml_state *s = c->env->engine->engine->state;
    return ml_is_cancelled(&s->interpreter->cancel) ? ml_cancelled_error(c->env->error) : ML_OK;
}

static const ml_core worker_core;

/* Workers may fail at the same time, so each has its own error; the pool picks that of the first
 * block. */
static ml_status relay(const void *call, int64_t first, int64_t end, int32_t worker, void *args) {
    const relayed *r = args;
    ml_call c = *(const ml_call *)call;
    ml_env env = *c.env;
    env.error = ml_pool_error(r->pool, worker);
    if (worker > 0) env.core = &worker_core;
    c.env = &env;
    return r->body(&c, first, end, worker, r->args);
}

/* The same in a run whose events are noted. */
static ml_status relay_noted(const void *call, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    const ml_call *c = call;
    const struct ml_frame_engine *fe = c->env->engine;
    ml_state *s = fe->engine->state;
    const int32_t place = s->graph->frames[fe->frame].node_base + (int32_t)c->node;
    const int64_t from = ml_timed_now(s->timing);
    const ml_status status = relay(call, first, end, worker, args);
    ml_note_event(s, (ml_event){from, ml_timed_now(s->timing), place, worker});
    return status;
}

/* With one thread, with one block, or in a run on the caller's thread only, the loop over blocks is
 * here, without the pool: the same blocks in the same order, so the results have the same bits. It
 * polls between blocks, but not before the first, because the loop over nodes has just polled. */
static inline ml_status run_blocks(const ml_call *c, int64_t items, int64_t grain, ml_body body,
                                   void *args, ml_pool_body relayed_by) {
    ml_state *s = c->env->engine->engine->state;
    ml_pool *pool = s->interpreter->pool;
    if (pool && ml_pool_threads(pool) > 1 && items > grain && !s->alone) {
        relayed work = {pool, body, args};
        return ml_pool_parallel(pool, items, grain, relayed_by, c, &work, c->env->error);
    }
    for (int64_t first = 0; first < items; first += grain) {
        ml_status status = first > 0 ? ml_poll_state(s) : ML_OK;
        if (status == ML_OK)
            status = body(c, first, items - first < grain ? items : first + grain, 0, args);
        if (status != ML_OK) return status;
    }
    return ML_OK;
}

static ml_status parallel(const ml_call *c, int64_t items, int64_t grain, ml_body body,
                          void *args) {
    ml_state *s = c->env->engine->engine->state;
    grain = grain < 1 ? 1 : grain;
    const ml_timing *timing = s->timing;
    if (!timing || items <= grain) return run_blocks(c, items, grain, body, args, relay);
    const int64_t from = ml_timed_now(timing);
    const ml_status status =
        run_blocks(c, items, grain, body, args, timing->events ? relay_noted : relay);
    s->shared.ns += ml_timed_now(timing) - from;
    s->shared.blocks += (items - 1) / grain + 1;
    return status;
}

static void *worker_scratch(const ml_call *c, int32_t worker) {
    const ml_state *s = c->env->engine->engine->state;
    return s->interpreter->pool ? ml_pool_scratch(s->interpreter->pool, worker) : NULL;
}

/* Set to zero together with the variables. Each frame has its own memory, so two loops that share a
 * body do not share it. */
static void *memory(const ml_call *c) {
    const struct ml_frame_engine *fe = c->env->engine;
    const ml_graph *g = fe->engine->graph;
    ml_state *s = fe->engine->state;
    if (!s->node_memory) return NULL;
    return s->node_memory + g->frames[fe->frame].memory_base +
           g->subgraphs[fe->subgraph].nodes[c->node].memory_start;
}

#define CORE(POLL)                                                                            \
    {.fail = ml_core_fail, .set_output = set_output, .settle = settle, .set_bytes = set_bytes, \
     .parallel = parallel, .worker_scratch = worker_scratch, .memory = memory,                \
     .bytes = bytes_of, .quantization = ml_core_quantization, .poll = (POLL)}
const ml_core ml_run_core = CORE(poll);
static const ml_core worker_core = CORE(poll_in_worker);
