/* loop.c -- the one loop that runs nodes, and what happens when a node's shapes are only known once it is reached. */
#include <stdlib.h>
#include <time.h>

#include "run/engine.h"

enum { TICKS_PER_LOOK = 64 };
static const int64_t poll_every_ns = 50 * 1000 * 1000;

/* Interruption ------------------------------------------------------------------------------------------------------ */

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static ml_status look_at_clock(ml_state *s) {
    s->ticks = TICKS_PER_LOOK;
    int64_t now = now_ns();
    if (s->poll_at == 0) s->poll_at = now + poll_every_ns;
    if (now < s->poll_at || !s->hooks.poll) return ML_OK;
    s->poll_at = now + poll_every_ns;
    return s->hooks.poll(s->hooks.owner)
               ? ml_error_set(s->error, ML_PYTHON_ERROR, "a signal handler raised")
               : ML_OK;
}

ml_status ml_check_interrupt(ml_state *s, int32_t ticks) {
    if (atomic_load_explicit(&s->cancel, memory_order_relaxed))
        return ml_error_set(s->error, ML_CANCELLED, "the run was cancelled");
    return (s->ticks -= ticks) < 0 ? look_at_clock(s) : ML_OK;
}

/* The loop ----------------------------------------------------------------------------------------------------------- */

static ml_status blame(ml_state *s, int32_t frame, const ml_call *call, ml_status status) {
    if (s->error->node < 0) {
        const ml_frame *f = &s->graph->frames[frame];
        s->error->subgraph = f->subgraph;
        s->error->node = s->graph->subgraphs[f->subgraph].nodes[call->node].index;
        s->error->status = status;
    }
    return status;
}

#ifdef ML_DEBUG
/* Debug builds fill the memory of tensors that nobody reads any more, so that a lifetime or a sharing that is wrong shows. */
static void poison_dead(ml_state *s, int32_t frame, int32_t node) {
    const ml_planner_graph *io = &s->graph->subgraphs[s->graph->frames[frame].subgraph].io;
    const ml_tensor *tensors = ml_frame_tensors(s->plan, frame);
    const int32_t *last = ml_planner_last_nodes(s->plan->frames[frame].planner);
    for (int32_t t = 0; t < io->n_tensors; t++)
        if (tensors[t].storage == ML_STORAGE_ARENA && tensors[t].root == t && last[t] == node &&
            tensors[t].offset >= 0 && tensors[t].bytes > 0)
            memset(s->data[s->graph->frames[frame].tensor_base + t], 0xA5,
                   (size_t)tensors[t].bytes);
}
#endif

ml_status ml_run_frame(ml_state *s, int32_t frame) {
    ml_frame_state *fs = &s->frames[frame];
    const ml_step *steps = s->steps + s->graph->frames[frame].node_base;
    /* n_steps is read each time: settling lays out the steps behind the current one anew. */
    for (int32_t i = 0; i < fs->n_steps; i++) {
        const ml_step *step = &steps[i];
        fs->current = i;
        ml_status status = ml_check_interrupt(s, step->ticks);
        if (status == ML_OK) status = step->eval(&step->call);
        if (status != ML_OK) return blame(s, frame, &step->call, status);
#ifdef ML_DEBUG
        poison_dead(s, frame, step->call.node);
#endif
    }
    return ML_OK;
}

ml_status ml_run_packing(const ml_call *call) {
    const struct ml_frame_engine *e = call->env->engine;
    const ml_node *node = &e->graph->subgraphs[e->subgraph].nodes[call->node];
    void *to = ml_scratch(
        call, e->plan->nodes[e->graph->frames[e->frame].node_base + call->node].pack_offset);
    node->typed->pack(call, to);
    ml_call packed = *call;
    packed.packed = to;
    return node->typed->eval(&packed);
}

ml_status ml_run_python(const ml_call *call) {
    ml_state *s = call->env->engine->state;
    ml_status status = (ml_status)s->hooks.eval(s->hooks.owner, call);
    if (status != ML_OK && s->error->status == ML_OK)
        ml_error_set(s->error, status, "its Python function raised");
    return status;
}

/* Dynamic shapes ------------------------------------------------------------------------------------------------------- */

/* Remembers what a dynamic tensor needed: its shape, and a capacity that decays towards recent needs. */
static ml_status remember(ml_state *s, int32_t frame, const ml_call *call) {
    if (!s->predictions) {
        s->predictions = calloc((size_t)s->graph->total_tensors + 1, sizeof *s->predictions);
        if (!s->predictions)
            return ml_error_set(s->error, ML_ARENA_ERROR, "no memory to remember dynamic shapes");
    }
    for (int32_t i = 0; i < call->n_outputs; i++) {
        int32_t number = call->inputs[call->n_inputs + i];
        const ml_tensor *t = &call->env->tensors[number];
        ml_prediction *p = &s->predictions[s->graph->frames[frame].tensor_base + number];
        p->shape = t->shape;
        p->known = true;
        p->capacity =
            t->bytes >= p->capacity ? t->bytes : p->capacity - (p->capacity - t->bytes) / 16;
    }
    return ML_OK;
}

/* Prepares again whatever hangs on a touched tensor behind `node`. */
static ml_status prepare_suffix(ml_state *s, int32_t frame, int32_t node) {
    const ml_frame *f = &s->graph->frames[frame];
    const ml_subgraph *sub = &s->graph->subgraphs[f->subgraph];
    ml_tensor *tensors = ml_frame_tensors(s->plan, frame);
    ml_prepare_context x = {s->plan, s, s->error};
    for (int32_t n = node + 1; n < sub->io.n_nodes; n++) {
        const ml_node_io *io = sub->nodes[n].io;
        bool touched = false;
        for (int32_t i = 0; i < io->n_inputs; i++)
            touched |= io->inputs[i] >= 0 && tensors[io->inputs[i]].touched;
        if (!touched) continue;
        uint8_t was = s->plan->nodes[f->node_base + n].status;
        ml_status status = ml_plan_prepare_node(&x, frame, n, NULL);
        if (status != ML_OK) return status;
        /* Sharing was decided with the lifetimes and holds: a view stays a view. */
        if (was == ML_NODE_IS_VIEW && s->plan->nodes[f->node_base + n].status == ML_NODE_RUNS)
            s->plan->nodes[f->node_base + n].status = ML_NODE_IS_VIEW;
    }
    return ML_OK;
}

/* Raises capacities to what is needed now; true if any had to grow. */
static bool raise_capacities(ml_state *s, int32_t frame) {
    const ml_frame *f = &s->graph->frames[frame];
    const ml_planner_graph *io = &s->graph->subgraphs[f->subgraph].io;
    ml_tensor *tensors = ml_frame_tensors(s->plan, frame);
    int64_t *bytes = ml_planner_bytes(s->plan->frames[frame].planner);
    uint8_t *places = ml_planner_places(s->plan->frames[frame].planner);
    bool grown = false;
    for (int32_t t = 0; t < io->n_tensors; t++) {
        tensors[t].touched = 0;
        if (tensors[t].storage != ML_STORAGE_ARENA || tensors[t].bytes <= tensors[t].capacity)
            continue;
        bytes[t] = tensors[t].capacity = tensors[t].bytes;
        grown = true;
    }
    for (int32_t n = 0; n < io->n_nodes; n++) {
        const ml_node_plan *np = &s->plan->nodes[f->node_base + n];
        int64_t scratch = np->scratch_bytes;
        if (scratch <= bytes[io->n_tensors + n] ||
            !ml_scratch_in_arena(&s->graph->subgraphs[f->subgraph].nodes[n], np))
            continue;
        bytes[io->n_tensors + n] = scratch;
        places[io->n_tensors + n] = ML_PLACE_ARENA;
        grown = true;
    }
    return grown;
}

/* Gives a frame that outgrew its region more memory, keeping what is live: the arena grows, a child gets its own block. */
static ml_status grow_region(ml_state *s, int32_t frame, int64_t had, int64_t needs) {
    ml_frame_state *fs = &s->frames[frame];
    uint8_t *from = fs->region;
    if (frame == 0) {
        if (needs <= s->arena.capacity) return ML_OK;
        int64_t old_capacity = s->arena.capacity;
        ml_status status = ml_arena_commit(&s->arena, needs, had, s->error);
        if (status != ML_OK) return status;
        if (s->arena.base != from && from) ml_relocate(s, 0, from, old_capacity, s->arena.base);
        s->plan->at_base = fs->region = s->arena.base;
        s->counters.arena_moves = s->arena.moves;
        return ML_OK;
    }
    bool spilled = had > s->plan->frames[frame].room;
    if (needs <= (spilled ? fs->spill_bytes : s->plan->frames[frame].room)) return ML_OK;
    ml_frame_state old = *fs;
    if (spilled) fs->spill = NULL, fs->spill_bytes = 0; /* its content is still needed */
    ml_status status = ml_reserve_spill(s, frame, needs, s->error);
    if (status != ML_OK) {
        *fs = old;
        return status;
    }
    if (from && had > 0) {
        memcpy(fs->spill, from, (size_t)had);
        ml_relocate(s, frame, from, had, fs->spill);
    }
    if (spilled) free(old.spill);
    fs->region = fs->spill;
    return ML_OK;
}

ml_status ml_give_region(ml_state *s, int32_t frame, void *scratch) {
    const ml_frame_plan *fp = &s->plan->frames[frame];
    if (fp->region_bytes <= fp->room) {
        ml_bind_frame(s, frame, scratch);
        return ML_OK;
    }
    ml_status status = ml_reserve_spill(s, frame, fp->region_bytes, s->error);
    if (status == ML_OK) ml_bind_frame(s, frame, s->frames[frame].spill);
    return status;
}

ml_status ml_make_carries(ml_state *s) {
    if (!s->carries)
        s->carries = calloc(2 * (size_t)s->graph->total_tensors + 1, sizeof *s->carries);
    return s->carries
               ? ML_OK
               : ml_error_set(s->error, ML_ARENA_ERROR, "no memory for the carries of a loop");
}

static ml_status plan_suffix(ml_state *s, int32_t frame, int32_t node) {
    ml_planner *planner = s->plan->frames[frame].planner;
    int32_t nodes = s->graph->subgraphs[s->graph->frames[frame].subgraph].io.n_nodes;
    int64_t had = s->plan->frames[frame].region_bytes;
    if (frame == 0 && s->pinned)
        return ml_error_set(
            s->error, ML_VIEW_HELD,
            "tensors have to move while a view of the arena is held: drop the view");
    ml_planner_reset_allocations_after(planner, node);
    ml_status status = ml_planner_execute_allocations(planner, node, nodes - 1, s->error);
    if (status != ML_OK) return status;
    ml_plan_take_offsets(s->plan, frame);
    s->counters.suffix_plans++;
    return grow_region(s, frame, had, s->plan->frames[frame].region_bytes);
}

static ml_status settle(ml_state *s, int32_t frame, int32_t node) {
    ml_status status = prepare_suffix(s, frame, node);
    if (status == ML_OK && frame == 0) status = ml_check_bound_bytes(s, s->plan, s->error);
    bool grown = status == ML_OK && raise_capacities(s, frame);
    if (grown) status = plan_suffix(s, frame, node);
    if (status != ML_OK) {
        s->plan->broken = true;
        return status;
    }
    int32_t current = s->frames[frame].current;
    if (grown) ml_bind_pointers(s, frame);
    ml_bind_steps(s, frame, current, node);
    s->generation++;
    return ML_OK;
}

static ml_status settle_call(const ml_call *call) {
    const struct ml_frame_engine *e = call->env->engine;
    bool touched = false;
    for (int32_t i = 0; i < call->n_outputs; i++) touched |= ml_out_tensor(call, i)->touched != 0;
    return touched ? settle(e->state, e->frame, call->node) : ML_OK;
}

/* What kernels reach of the core ---------------------------------------------------------------------------------- */

static ml_status fail_call(const ml_call *c, ml_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    ml_error_set_list(c->env->error, status, format, arguments);
    va_end(arguments);
    return status;
}

static ml_status set_output(const ml_call *c, int i, const ml_shape *shape) {
    ml_tensor *t = &c->env->tensors[c->inputs[c->n_inputs + i]];
    char text[96];
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dims[d] < 0)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "output %d would have the shape %s, with a negative dimension", i,
                           ml_shape_text(shape, text));
    int64_t elements = ml_elements(shape);
    if (elements < 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "output %d would have the shape %s, more elements than an int64 counts", i,
                       ml_shape_text(shape, text));
    if (!t->shaped || !ml_same_shape(&t->shape, shape)) t->touched = 1;
    if (&t->shape != shape) t->shape = *shape;
    t->bytes = ml_bytes_of(elements, t->type);
    t->shaped = 1;
    return ML_OK;
}

static ml_status set_bytes(const ml_call *c, int i, int64_t bytes) {
    (void)bytes;
    return ml_fail(c, ML_KERNEL_ERROR, "output %d has a type of no fixed size", i);
}

static ml_status parallel(const ml_call *c, int64_t items, int64_t grain, ml_body body,
                          void *args) {
    (void)grain;
    return items > 0 ? body(c, 0, items, 0, args) : ML_OK;
}

static void *no_memory(const ml_call *c) {
    (void)c;
    return NULL;
}

static void *no_scratch(const ml_call *c, int32_t worker) {
    (void)worker;
    return no_memory(c);
}

static int64_t bytes_of(const ml_call *c, int32_t tensor) { return c->env->tensors[tensor].bytes; }

static const ml_quantization *quantization(const ml_call *c, int32_t tensor) {
    const struct ml_frame_engine *e = c->env->engine;
    const ml_graph *g = e->graph;
    int32_t number = tensor < 0 ? -1 : g->subgraphs[e->subgraph].tensors[tensor].quantization;
    return number < 0 ? NULL : &g->quantizations[number];
}

const ml_core ml_core_table = {fail_call,  set_output, settle_call, set_bytes,   parallel,
                               no_scratch, no_memory,  bytes_of,    quantization};

int32_t ml_call_handler(const ml_call *c) {
    const struct ml_frame_engine *e = c->env->engine;
    const ml_graph *g = e->graph;
    return g->subgraphs[e->subgraph].nodes[c->node].handler;
}

ml_operand ml_call_operand(const ml_call *c, int32_t position) {
    int32_t t = c->inputs[position];
    if (t < 0) return (ml_operand){NULL, NULL};
    return (ml_operand){&c->env->tensors[t],
                        c->data ? c->data[t] : (void *)(uintptr_t)c->env->tensors[t].known};
}

ml_operand ml_call_output(const ml_call *c, int32_t output) {
    return ml_call_operand(c, c->n_inputs + output);
}
ml_status ml_call_set_output(const ml_call *c, int32_t i, const ml_shape *shape) {
    return set_output(c, i, shape);
}
ml_status ml_call_settle(const ml_call *c) { return settle_call(c); }

ml_status ml_run_dynamic(const ml_call *call) {
    ml_state *s = call->env->engine->state;
    int32_t frame = call->env->engine->frame;
    const ml_frame *f = &s->graph->frames[frame];
    const ml_node *node = &s->graph->subgraphs[f->subgraph].nodes[call->node];
    const ml_node_plan *np = &s->plan->nodes[f->node_base + call->node];
    ml_prepare_context x = {s->plan, s, s->error};
    ml_status status = ML_OK;
    bool waited = np->status == ML_NODE_WAITS;
    if (waited) status = ml_plan_prepare_node(&x, frame, call->node, NULL);
    int64_t scratch = np->scratch_bytes;
    if (status == ML_OK && (np->dynamic || np->status == ML_NODE_WAITS))
        status = ml_plan_prepare_node(&x, frame, call->node, s->data + f->tensor_base);
    if (status != ML_OK) {
        s->plan->broken = true;
        return status;
    }
    if (np->status == ML_NODE_WAITS)
        return ml_error_set(s->error, ML_KERNEL_ERROR,
                            "an input has no shape when the node is reached");
    if (np->open && !(node->kernel->flags & ML_KERNEL_SETS_SHAPES))
        return ml_error_set(s->error, ML_KERNEL_ERROR,
                            "its output shapes do not follow from its values");
    bool calls = s->graph->children[f->node_base + call->node][0] >= 0;
    ml_call *settled = &s->steps[f->node_base + s->frames[frame].current].call;
    if (!np->open) status = settle_call(settled);
    if (status == ML_OK && (waited || calls || np->scratch_bytes > scratch))
        status = settle(s, frame, call->node);
    if (status != ML_OK) return status;
    bool python = (node->io->flags & ML_NODE_PYTHON) || !node->typed;
    status = python                 ? ml_run_python(settled)
             : np->pack_offset >= 0 ? ml_run_packing(settled)
                                    : node->typed->eval(settled);
    return status == ML_OK ? remember(s, frame, settled) : status;
}
