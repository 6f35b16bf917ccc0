/* planning_core.c -- the core's functions for kernels before any run, and the view of a call that
 * Python hooks get.
 *
 * Here outputs get shapes in rows that nobody else reads yet. Functions that make no sense before a
 * run (workers, memory kept between runs) are NULL, and prepare does not call them. run/run_core.c
 * has the functions for runs. */
#include <stdarg.h>

#include "graph/engine.h"

ml_status ml_core_fail(const ml_call *c, ml_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    ml_error_set_list(c->env->error, status, format, arguments);
    va_end(arguments);
    return status;
}

ml_status ml_core_refuse_shape(const ml_call *c, int i, const ml_shape *shape) {
    char text[96];
    if (!ml_core_output(c, i)) return ml_fail(c, ML_KERNEL_ERROR, "there is no output %d", i);
    if (shape->rank < 0 || shape->rank > ML_MAX_RANK)
        return ml_fail(c, ML_SHAPE_ERROR, "output %d would have rank %d, at most %d is supported",
                       i, shape->rank, ML_MAX_RANK);
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dims[d] < 0)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "output %d would have the shape %s, with a negative dimension", i,
                           ml_shape_text(shape, text));
    return ml_fail(c, ML_SHAPE_ERROR,
                   "output %d would have the shape %s, more elements than an int64 counts", i,
                   ml_shape_text(shape, text));
}

const ml_quantization *ml_core_quantization(const ml_call *c, int32_t tensor) {
    const struct ml_frame_engine *fe = c->env->engine;
    const ml_graph *g = fe->engine->graph;
    if (fe->numbers && tensor >= 0) tensor = fe->numbers[tensor];
    int32_t number = tensor < 0 ? -1 : g->subgraphs[fe->subgraph].tensors[tensor].quantization;
    return number < 0 ? NULL : &g->quantizations[number];
}

/* Before any run ------------------------------------------------------------------------------- */

static ml_status set_output(const ml_call *c, int i, const ml_shape *shape) {
    ml_tensor *t = ml_core_output(c, i);
    int64_t elements = t ? ml_core_elements(shape) : -1;
    if (elements < 0) return ml_core_refuse_shape(c, i, shape);
    ml_core_give_shape(t, shape, elements);
    return ML_OK;
}

/* Memory is assigned later, by the plan. */
static ml_status settle(const ml_call *c) { return ML_OK; }

/* Only a state has memory for values of variable size. */
static ml_status set_bytes(const ml_call *c, int i, int64_t bytes) {
    return ml_fail(c, ML_KERNEL_ERROR, "output %d does not hold values of variable size", i);
}

static int64_t bytes_of(const ml_call *c, int32_t tensor) {
    return tensor < 0 ? 0 : ml_tensor_of(c, tensor)->bytes;
}

/* Folded nodes are small: they run on one thread and cannot be cancelled. */
static ml_status parallel(const ml_call *c, int64_t items, int64_t grain, ml_body body,
                          void *args) {
    ml_status status = ML_OK;
    grain = grain < 1 ? 1 : grain;
    for (int64_t first = 0; first < items && status == ML_OK; first += grain)
        status = body(c, first, items - first < grain ? items : first + grain, 0, args);
    return status;
}

static ml_status poll(const ml_call *c) { return ML_OK; }

static void *worker_scratch(const ml_call *c, int32_t worker) { return NULL; }

static void *memory(const ml_call *c) { return NULL; }

const ml_core ml_planning_core = {.fail = ml_core_fail,
                                  .set_output = set_output,
                                  .settle = settle,
                                  .set_bytes = set_bytes,
                                  .parallel = parallel,
                                  .worker_scratch = worker_scratch,
                                  .memory = memory,
                                  .bytes = bytes_of,
                                  .quantization = ml_core_quantization,
                                  .poll = poll};

/* Hooks ---------------------------------------------------------------------------------------- */

int32_t ml_call_handler(const ml_call *c) { return c->env->engine->nodes[c->node].handler; }

/* Before the run reaches the node only known values have bytes: a shape function may read
 * constants. */
static ml_operand operand(const ml_call *c, int32_t t) {
    if (t < 0) return (ml_operand){NULL, NULL, 0};
    const ml_tensor *tensor = ml_tensor_of(c, t);
    void *data = ml_reached(c) ? c->env->data[t] : (void *)(uintptr_t)ml_known(tensor);
    return (ml_operand){tensor, data, c->env->core->bytes(c, t)};
}

ml_operand ml_call_operand(const ml_call *c, int32_t input) {
    return operand(c, input >= 0 && input < c->n_inputs ? c->inputs[input] : -1);
}

ml_operand ml_call_output(const ml_call *c, int32_t output) {
    return operand(c, output >= 0 && output < c->n_outputs ? c->inputs[c->n_inputs + output] : -1);
}

ml_status ml_call_set_output(const ml_call *c, int32_t i, const ml_shape *shape) {
    return ml_set_output(c, i, shape);
}
ml_status ml_call_set_bytes(const ml_call *c, int32_t i, int64_t bytes) {
    return ml_set_bytes(c, i, bytes);
}
ml_status ml_call_settle(const ml_call *c) { return ml_settle(c); }
