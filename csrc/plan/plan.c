/* plan.c -- makes an ml_plan for a key, by a sweep and a placement; holds, copies and frees it.
 *
 * A plan depends on its key alone: the requested shapes, and which tensors are bound. It has
 * offsets, and no pointers into the memory of a state, so it can be printed, kept, and used by
 * several residences while runs go on. Making a plan writes to nothing else (except counters and
 * the store of packed weights), so after a refusal it is simply thrown away.
 *
 * Rows are flat over the frames of the graph, and have no pointers into each other. So a copy is
 * one memcpy. What rows point at (folded values, packed weights, constants) belongs to a plan that
 * the copy holds, to a store, or to the graph. A plan is one block: its own fields, its key, its
 * rows. */
#include "plan/plan.h"

#include <stdlib.h>

#include "plan/frames.h"
#include "plan/inputs.h"
#include "plan/tiled.h"

/* Key ------------------------------------------------------------------------------------------ */

/* The key is hashed as it is: rows ascend by tensor, and the caller leaves out shapes equal to the
 * file's, so every size has exactly one key. Of bindings only the tensors count, because the plan
 * does not depend on the buffer. */
uint32_t ml_plan_hash(const int32_t *spec, int32_t words, const ml_binding *bound,
                      int32_t n_bound) {
    uint64_t hash = 1469598103934665603u; /* FNV-1a over words */
    for (int32_t i = 0; i < words; i++) hash = (hash ^ (uint32_t)spec[i]) * 1099511628211u;
    for (int32_t i = 0; i < n_bound; i++)
        hash = (hash ^ (uint32_t)~bound[i].tensor) * 1099511628211u;
    return (uint32_t)(hash ^ hash >> 32);
}

bool ml_plan_has_key(const ml_plan *p, const ml_plan_request *r) {
    if (p->hash != r->hash || p->words != r->words || p->n_bound != r->n_bound) return false;
    if (r->words && memcmp(p->key, r->spec, (size_t)r->words * sizeof *r->spec) != 0) return false;
    for (int32_t i = 0; i < r->n_bound; i++)
        if (ml_plan_bound(p)[i] != r->bound[i].tensor) return false;
    return true;
}

/* Life ----------------------------------------------------------------------------------------- */

static size_t rows_start(int32_t words, int32_t n_bound) {
    size_t key = ((size_t)words + (size_t)n_bound) * sizeof(int32_t);
    return (offsetof(ml_plan, key) + key + 7) & ~(size_t)7;
}

int64_t ml_plan_block_bytes(const ml_graph *g, int32_t words, int32_t n_bound) {
    return (int64_t)rows_start(words, n_bound) + ml_rows_bytes(g);
}

static ml_status allocate_plan(const ml_graph *g, int32_t words, int32_t n_bound, ml_plan **plan,
                               ml_error *error) {
    int64_t bytes = ml_plan_block_bytes(g, words, n_bound);
    ml_plan *p = *plan = malloc((size_t)bytes);
    if (!p) return ml_error_memory(error, "a plan", bytes, 0);
    memset(p, 0, rows_start(words, n_bound));
    p->rows = ml_rows_in((uint8_t *)p + rows_start(words, n_bound), g);
    p->graph = ml_graph_hold(g);
    atomic_init(&p->holders, 1);
    p->words = words;
    p->n_bound = n_bound;
    return ML_OK;
}

/* Plans are held by residences, by copies that share folded values, and by Python; the last holder
 * frees the plan, on any thread. */
ml_plan *ml_plan_hold(ml_plan *plan) {
    atomic_fetch_add(&plan->holders, 1);
    return plan;
}

void ml_plan_free(ml_plan *plan) {
    if (!plan || atomic_fetch_sub(&plan->holders, 1) > 1) return;
    for (ml_folded *pool = plan->folded; pool;) {
        ml_folded *next = pool->next;
        free(pool);
        pool = next;
    }
    if (!plan->source) ml_tiled_free(plan->tiled);
    ml_plan_free(plan->source);
    ml_graph_free((ml_graph *)(uintptr_t)plan->graph);
    free(plan);
}

/* A copy holds the plan that owns the folded values, never another copy: chains of copies would
 * keep everything that was ever copied. */
ml_status ml_plan_copy(ml_plan *plan, const ml_rows *rows, ml_plan **copy, ml_error *error) {
    ml_status status = allocate_plan(plan->graph, plan->words, plan->n_bound, copy, error);
    if (status != ML_OK) return status;
    ml_plan *p = *copy;
    memcpy(p->key, plan->key, rows_start(plan->words, plan->n_bound) - offsetof(ml_plan, key));
    ml_rows_copy(&p->rows, rows, plan->graph);
    p->source = ml_plan_hold(plan->source ? plan->source : plan);
    p->tiled = plan->tiled;
    p->hash = plan->hash;
    p->options = plan->options;
    p->dynamic = plan->dynamic;
    p->strategy = plan->strategy;
    return ML_OK;
}

/* Placing -------------------------------------------------------------------------------------- */

static ml_placing placing_of(const ml_plan *p, ml_rows *rows, ml_family *family) {
    const ml_demand demand = {
        .graph = p->graph, .rows = rows, .options = p->options, .offline = p->words == 0};
    return (ml_placing){.demand = demand,
                        .rows = rows,
                        .strategy = p->strategy,
                        .family = family,
                        .tiled_io = p->tiled ? &p->tiled->io : NULL};
}

ml_status ml_plan_place_rows(const ml_plan *p, ml_rows *rows, ml_family *family,
                             const ml_need *needs, int64_t runs, ml_error *error) {
    ml_placing placing = placing_of(p, rows, family);
    placing.demand.needs = needs;
    placing.demand.now = runs;
    return ml_place_frames(&placing, error);
}

/* A new plan, because somebody may hold the old one. It shares the folded values of the old one and
 * keeps it alive. */
ml_plan *ml_plan_improve(ml_plan *p, ml_family *family) {
    ml_error quiet = ML_NO_ERROR;
    ml_plan *better;
    if (p->rows.frames[0].region_bytes <= p->rows.frames[0].lower_bound ||
        strcmp(ml_memory_strategy_name(p->strategy), "default") != 0 ||
        ml_plan_copy(p, &p->rows, &better, &quiet) != ML_OK)
        return NULL;
    ml_placing placing = placing_of(p, &better->rows, family);
    placing.longer = true;
    if (ml_place_frames(&placing, &quiet) == ML_OK &&
        better->rows.frames[0].region_bytes < p->rows.frames[0].region_bytes)
        return better;
    ml_plan_free(better);
    return NULL;
}

/* False if no tensors share a place: that is not allowed, or the plan was smaller without it. */
static bool shares_places(const ml_plan *p) {
    const ml_subgraph *sub = ml_frame_subgraph(p->graph, 0);
    const ml_tensor *tensors = p->rows.tensors + p->graph->frames[0].slot_base;
    for (int32_t slot = 0; slot < sub->n_slots; slot++)
        if (tensors[slot].root != sub->numbers[slot]) return true;
    return false;
}

/* Tells what binding these tensors would save. The plan may be the copy of a residence. */
ml_status ml_plan_without(const ml_plan *p, const int32_t *tensors, int32_t count,
                          ml_outlook *outlook, ml_error *error) {
    ml_placing placing = placing_of(p, NULL, NULL);
    placing.demand.rows = &p->rows;
    placing.demand.as_placed = true;
    if (!shares_places(p)) placing.demand.options &= ~(ML_SHARE_TFLITE | ML_SHARE_WIDE);
    return ml_place_without(&placing, tensors, count, outlook, error);
}

/* Making --------------------------------------------------------------------------------------- */

static ml_status blame_tensor(const ml_plan *p, ml_error *error, int32_t tensor,
                              const ml_shape *shape) {
    error->subgraph = p->graph->frames[0].subgraph;
    ml_error_about(error, tensor, shape);
    return (ml_status)error->status;
}

/* Any tensor may be resized, as in LiteRT, but a computed tensor gets its shape from its node
 * later. The shape of a variable is set only here, so it is checked here; inputs are checked in
 * shape_inputs, whether they were resized or not. */
static ml_status resize_tensor(ml_plan *p, int32_t number, const ml_shape *shape, ml_error *error) {
    char text[96];
    const ml_subgraph *sub = ml_frame_subgraph(p->graph, 0);
    if (sub->slots[number] < 0) {
        ml_error_set(error, ML_SHAPE_ERROR, ML_FIRST " is constant: it keeps its shape");
        return blame_tensor(p, error, number, shape);
    }
    ml_tensor *t = &p->rows.tensors[sub->slots[number]];
    t->shape = *shape;
    if (t->storage != ML_STORAGE_PERSISTENT) return ML_OK;
    int64_t elements = ml_elements(shape);
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dims[d] < 0) elements = -1;
    if (elements < 0) {
        ml_error_set(
            error, ML_SHAPE_ERROR,
            "variable " ML_FIRST
            " cannot take the shape %s: a dimension is negative, or more elements than an int64 counts",
            ml_shape_text(shape, text));
        return blame_tensor(p, error, number, shape);
    }
    t->bytes = ml_bytes_of(elements, t->type);
    return ML_OK;
}

/* Applies the rows of the key; ml_requests_spec has made them, so their form is right. */
static ml_status apply_spec(ml_plan *p, ml_error *error) {
    for (int32_t i = 0; i < p->words; i += 2 + p->key[i + 1]) {
        ml_shape shape = {.rank = p->key[i + 1]};
        memcpy(shape.dims, p->key + i + 2, (size_t)shape.rank * sizeof(int32_t));
        ml_status status = resize_tensor(p, p->key[i], &shape, error);
        if (status != ML_OK) return status;
    }
    return ML_OK;
}

/* Sets the shapes of inputs. With those of constants they are all that a sweep starts from. */
static ml_status shape_inputs(ml_plan *p, ml_error *error) {
    const ml_subgraph *sub = ml_frame_subgraph(p->graph, 0);
    char text[96];
    for (int32_t i = 0; i < sub->io.n_inputs; i++) {
        int32_t number = sub->io.inputs[i];
        if (sub->slots[number] < 0) continue;
        ml_tensor *t = &p->rows.tensors[sub->slots[number]];
        int64_t elements = ml_elements(&t->shape);
        bool negative = false;
        for (int32_t d = 0; d < t->shape.rank; d++) negative |= t->shape.dims[d] < 0;
        if (negative)
            ml_error_set(error, ML_SHAPE_ERROR,
                         "input " ML_FIRST
                         " has the shape %s: resize it, no dimension may be negative",
                         ml_shape_text(&t->shape, text));
        else if (elements < 0)
            ml_error_set(error, ML_SHAPE_ERROR,
                         "input " ML_FIRST " of shape %s has more elements than an int64 counts",
                         ml_shape_text(&t->shape, text));
        if (negative || elements < 0) return blame_tensor(p, error, number, &t->shape);
        t->bytes = ml_bytes_of(elements, t->type);
        t->shaped = 1;
        t->dynamic = 0;
    }
    return ML_OK;
}

/* A bound tensor takes no bytes in the arena and shares no place; its storage tells the planner so.
 * Whether its buffer is large enough is checked elsewhere (state/bound.c), not by the plan. */
static ml_status mark_bound(ml_plan *p, const ml_binding *bound, ml_error *error) {
    const ml_subgraph *sub = ml_frame_subgraph(p->graph, 0);
    for (int32_t i = 0; i < p->n_bound; i++) {
        int32_t number = bound[i].tensor;
        if (number < 0 || number >= sub->io.n_tensors || !bound[i].data)
            return ml_error_set(error, ML_BINDING_ERROR,
                                "there is no tensor %d to bind, or no buffer", number);
        ml_tensor *t = sub->slots[number] >= 0 ? &p->rows.tensors[sub->slots[number]] : NULL;
        if (!t || t->storage != ML_STORAGE_ARENA) {
            const char *what =
                !t                                    ? "constant"
                : t->storage == ML_STORAGE_PERSISTENT ? "a variable"
                : t->storage == ML_STORAGE_NONE
                    ? "hidden between nodes that run as one, which experimental_disable_delegate_node_fusion=True prevents"
                    : "of no fixed size";
            ml_error_set(error, ML_BINDING_ERROR, ML_FIRST " cannot be bound: it is %s", what);
            return blame_tensor(p, error, number, NULL);
        }
        t->storage = ML_STORAGE_BOUND;
        ml_plan_bound(p)[i] = number;
    }
    return ML_OK;
}

/* Child frames are reset here, and swept by the prepare of the node that calls them, which knows
 * their operands. A plan is dynamic if any node of any frame is open. (Nodes that wait for a shape,
 * and those of the frames below them, come after an open one.) */
static ml_status fill(ml_plan *p, const ml_plan_request *r, ml_error *error) {
    ml_engine engine = {.graph = r->graph,
                        .core = &ml_planning_core,
                        .rows = &p->rows,
                        .folded = &p->folded,
                        .repeats = r->family ? ml_family_repeats(r->family) : NULL,
                        .hooks = r->hooks,
                        .simd = r->simd,
                        .error = error,
                        .counters = r->counters};
    for (int32_t frame = 0; frame < r->graph->n_frames; frame++) ml_sweep_reset(&engine, frame);
    ml_status status = apply_spec(p, error);
    if (status == ML_OK) status = shape_inputs(p, error);
    if (status == ML_OK) status = mark_bound(p, r->bound, error);
    if (status == ML_OK) status = ml_sweep_frame(&engine, 0);
    if (status != ML_OK) return status;
    for (int32_t n = 0; n < r->graph->total_nodes && !p->dynamic; n++)
        p->dynamic = p->rows.nodes[n].open;
    ml_inputs_take_out(p->graph, &p->rows, p->options);
    const ml_placing placing = placing_of(p, &p->rows, r->family);
    return ml_place_frames(&placing, error);
}

ml_status ml_plan_new(const ml_plan_request *r, ml_plan **plan, ml_error *error) {
    ml_status status = allocate_plan(r->graph, r->words, r->n_bound, plan, error);
    if (status == ML_OK) {
        ml_plan *p = *plan;
        if (r->words) memcpy(p->key, r->spec, (size_t)r->words * sizeof *r->spec);
        p->hash = r->hash;
        p->options = r->options;
        p->strategy = r->strategy;
        status = fill(p, r, error);
    }
    if (status == ML_OK) {
        r->counters->plans++;
        return ML_OK;
    }
    ml_plan_free(*plan);
    *plan = NULL;
    return status;
}
