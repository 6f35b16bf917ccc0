/* core_table.c -- the core as kernels see it, and as the hooks of Python do.
 *
 * Kernels reach the engine through this table alone, while planning and in runs. Which of the two
 * it is, the engine behind the call says: it has a residence and a state in a run, neither while
 * planning. Kernels do not ask; what makes no sense yet (workers, memory kept from run to run) is
 * NULL while planning, and prepare does not use it. */
#include <stdarg.h>
#include <stdlib.h>

#include "run/run.h"

static ml_status fail(const ml_call *c, ml_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    ml_error_set_list(c->env->error, status, format, arguments);
    va_end(arguments);
    return status;
}

/* Whether a row may take the shape, and its elements. Shapes may come from files, from values and
 * from functions of the caller's, so this is the one place that every computed shape goes through;
 * bytes need no check of their own, for ml_elements leaves room for the largest type. */
static ml_status check_shape(const ml_call *c, int i, const ml_tensor *t, const ml_shape *shape,
                             int64_t *elements) {
    char text[96], other[96];
    if (shape->rank < 0 || shape->rank > ML_MAX_RANK)
        return ml_fail(c, ML_SHAPE_ERROR, "output %d would have rank %d, at most %d is supported",
                       i, shape->rank, ML_MAX_RANK);
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dims[d] < 0)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "output %d would have the shape %s, with a negative dimension", i,
                           ml_shape_text(shape, text));
    *elements = ml_elements(shape);
    if (*elements < 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "output %d would have the shape %s, more elements than an int64 counts", i,
                       ml_shape_text(shape, text));
    if (t->storage == ML_STORAGE_PERSISTENT && !ml_same_shape(&t->shape, shape))
        return ml_fail(c, ML_SHAPE_ERROR,
                       "output %d would have the shape %s, it is a variable of shape %s", i,
                       ml_shape_text(shape, text), ml_shape_text(&t->shape, other));
    return ML_OK;
}

/* The only writer of shapes of computed tensors. While planning it fills the new plan's rows. In a
 * run a shape that is the same changes nothing and tells nobody, which is what makes steady runs
 * cheap; another one marks the readers at once, so that rows and marks are never apart. Rows of a
 * plan without dynamic tensors are shared by everyone who uses the plan: there another shape is a
 * kernel's or a reference's mistake. */
static ml_status set_output(const ml_call *c, int i, const ml_shape *shape) {
    const struct ml_frame_engine *fe = c->env->engine;
    int32_t number = i >= 0 && i < c->n_outputs ? c->inputs[c->n_inputs + i] : -1;
    if (number < 0 || c->env->slots[number] < 0)
        return ml_fail(c, ML_KERNEL_ERROR, "there is no output %d", i);
    ml_tensor *t = &c->env->tensors[c->env->slots[number]];
    const ml_residence *r = fe->engine->residence;
    if (r && t->shaped && ml_same_shape(&t->shape, shape)) return ML_OK;
    int64_t elements = 0;
    ml_status status = check_shape(c, i, t, shape, &elements);
    if (status != ML_OK) return status;
    if (r && !r->learnt) { /* the plan's rows, which runs do not write */
        char before[96], now[96];
        return ml_fail(c, ML_KERNEL_ERROR, "output %d came with shape %s, its prepare said %s", i,
                       ml_shape_text(shape, now), ml_shape_text(&t->shape, before));
    }
    if (&t->shape != shape) t->shape = *shape;
    t->bytes = ml_bytes_of(elements, t->type);
    t->shaped = 1;
    if (!r) return ML_OK;
    ml_mark_readers(fe->engine->residence, fe->sub, fe->place, c->env->slots[number]);
    fe->engine->state->run_changed = true;
    return ML_OK;
}

static ml_status settle(const ml_call *c) { return ml_settle_outputs(c); }

/* The block of a tensor of no fixed size; NULL for all others, and while planning. */
static ml_block *heap_of(const ml_call *c, int32_t tensor) {
    const struct ml_frame_engine *fe = c->env->engine;
    ml_residence *r = fe->engine->residence;
    return r ? ml_heap_block(fe->engine->state, r, fe->frame, tensor) : NULL;
}

/* Strings are settled by this alone: their shape says how many there are, and nothing of their
 * bytes. */
static ml_status set_bytes(const ml_call *c, int i, int64_t bytes) {
    int32_t tensor = i >= 0 && i < c->n_outputs ? c->inputs[c->n_inputs + i] : -1;
    ml_block *block = heap_of(c, tensor);
    if (!block) return ml_fail(c, ML_KERNEL_ERROR, "there is no output %d of no fixed size", i);
    if (bytes < 0)
        return ml_fail(c, ML_KERNEL_ERROR, "output %d asks for %lld bytes", i, (long long)bytes);
    ml_status status = ml_block_reserve(&c->env->engine->engine->state->interpreter->account, block,
                                        bytes, c->env->error);
    if (status != ML_OK) return status;
    block->bytes = bytes;
    block->shape = ml_output(c, i)->shape;
    block->assigned = true;
    ml_now_data(c->env->engine->engine->residence, c->env->engine->frame)[tensor] = block->data;
    return ML_OK;
}

static int64_t bytes_of(const ml_call *c, int32_t tensor) {
    const ml_block *block = heap_of(c, tensor);
    return block ? block->bytes : tensor < 0 ? 0 : ml_tensor_of(c, tensor)->bytes;
}

/* A block of a pool's work: the body sees the call with an error of its worker's own. */
typedef struct relayed {
    ml_pool *pool;
    ml_body body;
    void *args;
} relayed;

/* What is folded while a plan is made is small, and nobody can stop it. */
static ml_status poll(const ml_call *c) {
    ml_state *s = c->env->engine->engine->state;
    return s ? ml_poll_state(s) : ML_OK;
}

/* Python's signals are for the caller's thread. */
static ml_status poll_in_worker(const ml_call *c) {
    const ml_state *s = c->env->engine->engine->state;
    if (!atomic_load_explicit(&s->interpreter->cancel, memory_order_relaxed)) return ML_OK;
    return ml_error_set(c->env->error, ML_CANCELLED, "the run was cancelled");
}

static const ml_core worker_core;

/* Workers may fail at the same time, and the state has one error; the pool picks the first
 * block's. */
static ml_status relay(const void *call, int64_t first, int64_t end, int32_t worker, void *args) {
    const relayed *r = args;
    ml_call c = *(const ml_call *)call;
    ml_env env = *c.env;
    env.error = ml_pool_error(r->pool, worker);
    if (worker > 0) env.core = &worker_core;
    c.env = &env;
    return r->body(&c, first, end, worker, r->args);
}

/* With one thread, or one block, the loop is here: no pool, the same blocks in the same order, so
 * the same bits. Its polls are between blocks too, but for the first, before which the loop over
 * nodes has polled. */
static ml_status run_blocks(const ml_call *c, int64_t items, int64_t grain, ml_body body,
                            void *args) {
    ml_state *s = c->env->engine->engine->state;
    ml_pool *pool = s ? s->interpreter->pool : NULL;
    if (pool && ml_pool_threads(pool) > 1 && items > grain) {
        relayed work = {pool, body, args};
        return ml_pool_parallel(pool, items, grain, relay, c, &work, c->env->error);
    }
    for (int64_t first = 0; first < items; first += grain) {
        ml_status status = s && first > 0 ? ml_poll_state(s) : ML_OK;
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
    if (!s || !s->times || items <= grain) return run_blocks(c, items, grain, body, args);
    const int64_t from = ml_now_ns();
    const ml_status status = run_blocks(c, items, grain, body, args);
    s->shared.ns += ml_now_ns() - from;
    s->shared.blocks += (items - 1) / grain + 1;
    return status;
}

static void *worker_scratch(const ml_call *c, int32_t worker) {
    const ml_state *s = c->env->engine->engine->state;
    return s && s->interpreter->pool ? ml_pool_scratch(s->interpreter->pool, worker) : NULL;
}

/* Zeroed with the variables; a frame has its own, so two loops that share a body do not share what
 * its kernels keep. */
static void *memory(const ml_call *c) {
    const struct ml_frame_engine *fe = c->env->engine;
    const ml_graph *g = fe->engine->graph;
    ml_state *s = fe->engine->state;
    if (!s || !s->node_memory) return NULL;
    return s->node_memory + g->frames[fe->frame].memory_base +
           g->subgraphs[fe->subgraph].nodes[c->node].memory_start;
}

static const ml_quantization *quantization(const ml_call *c, int32_t tensor) {
    const struct ml_frame_engine *fe = c->env->engine;
    const ml_graph *g = fe->engine->graph;
    if (fe->numbers && tensor >= 0) tensor = fe->numbers[tensor];
    int32_t number = tensor < 0 ? -1 : g->subgraphs[fe->subgraph].tensors[tensor].quantization;
    return number < 0 ? NULL : &g->quantizations[number];
}

#define CORE(POLL)                                                                         \
    {.fail = fail, .set_output = set_output, .settle = settle, .set_bytes = set_bytes,     \
     .parallel = parallel, .worker_scratch = worker_scratch, .memory = memory,             \
     .bytes = bytes_of, .quantization = quantization, .poll = (POLL)}
const ml_core ml_core_table = CORE(poll);
static const ml_core worker_core = CORE(poll_in_worker);

/* Hooks ---------------------------------------------------------------------------------------- */

int32_t ml_call_handler(const ml_call *c) {
    const struct ml_frame_engine *fe = c->env->engine;
    return fe->engine->graph->subgraphs[fe->subgraph].nodes[c->node].handler;
}

/* Before the node is reached only known values have bytes: a shape function may look at
 * constants. */
static ml_operand operand(const ml_call *c, int32_t t) {
    if (t < 0) return (ml_operand){NULL, NULL, 0};
    const ml_tensor *tensor = ml_tensor_of(c, t);
    void *data = ml_reached(c) ? c->env->data[t] : (void *)(uintptr_t)ml_known(tensor);
    return (ml_operand){tensor, data, bytes_of(c, t)};
}

ml_operand ml_call_operand(const ml_call *c, int32_t input) {
    return operand(c, input >= 0 && input < c->n_inputs ? c->inputs[input] : -1);
}

ml_operand ml_call_output(const ml_call *c, int32_t output) {
    return operand(c, output >= 0 && output < c->n_outputs ? c->inputs[c->n_inputs + output] : -1);
}

ml_status ml_call_set_output(const ml_call *c, int32_t i, const ml_shape *shape) {
    return set_output(c, i, shape);
}
ml_status ml_call_set_bytes(const ml_call *c, int32_t i, int64_t bytes) {
    return set_bytes(c, i, bytes);
}
ml_status ml_call_settle(const ml_call *c) { return settle(c); }
