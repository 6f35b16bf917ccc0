/* plan.c -- ml_plan: made for a set of input shapes; lifetimes and offsets of every frame. */
#include "run/engine.h"

#include <stdlib.h>

/* Building ------------------------------------------------------------------------------------------------------- */

void ml_plan_reset_tensors(ml_plan *plan, int32_t frame) {
    const ml_subgraph *sub = &plan->graph->subgraphs[plan->graph->frames[frame].subgraph];
    ml_tensor *tensors = ml_frame_tensors(plan, frame);
    for (int32_t t = 0; t < sub->io.n_tensors; t++) {
        const ml_tensor_def *def = &sub->tensors[t];
        bool variable = (def->flags & ML_TENSOR_VARIABLE) != 0;
        bool constant = def->data != NULL;
        ml_tensor old = tensors[t];
        tensors[t] = (ml_tensor){.known = def->data,
                                 .capacity = old.capacity,
                                 .offset = -1,
                                 .shape = def->shape,
                                 .type = def->type,
                                 .storage = constant   ? ML_STORAGE_CONSTANT
                                            : variable ? ML_STORAGE_PERSISTENT
                                                       : ML_STORAGE_ARENA,
                                 .shaped = constant || variable,
                                 .root = t,
                                 .fold_room = old.fold_room,
                                 .fold_place = old.fold_place};
        if (constant) tensors[t].bytes = def->bytes;
        else if (variable) tensors[t].bytes = ml_bytes_of(ml_elements(&def->shape), def->type);
    }
}

static ml_status allocate_plan(const ml_graph *g, ml_plan **plan, ml_error *error) {
    ml_plan *p = calloc(1, sizeof *p);
    *plan = p;
    if (p) {
        p->graph = ml_graph_hold(g);
        atomic_init(&p->holders, 1);
        p->tensors = calloc((size_t)g->total_tensors + 1, sizeof *p->tensors);
        p->nodes = calloc((size_t)g->total_nodes + 1, sizeof *p->nodes);
        p->frames = calloc((size_t)g->n_frames, sizeof *p->frames);
        p->blobs = aligned_alloc(64, ((size_t)g->blob_bytes + 127) / 64 * 64);
        if (p->tensors && p->nodes && p->frames && p->blobs) return ML_OK;
    }
    return ml_error_set(error, ML_ARENA_ERROR, "no memory for a plan of %d tensors",
                        g->total_tensors);
}

ml_plan *ml_plan_hold(ml_plan *plan) {
    atomic_fetch_add(&plan->holders, 1);
    return plan;
}

void ml_plan_free(ml_plan *plan) {
    if (!plan || atomic_fetch_sub(&plan->holders, 1) > 1) return;
    for (int32_t f = 0; plan->frames && f < plan->graph->n_frames; f++)
        ml_planner_free(plan->frames[f].planner);
    for (ml_pool *pool = plan->folded; pool;) {
        ml_pool *next = pool->next;
        free(pool);
        pool = next;
    }
    free(plan->data);
    free(plan->steps);
    free(plan->tensors);
    free(plan->nodes);
    free(plan->frames);
    free(plan->blobs);
    free(plan->spec);
    ml_graph_free((ml_graph *)(uintptr_t)plan->graph);
    free(plan);
}

/* Places --------------------------------------------------------------------------------------------------------------- */

/* The file's own memory plan holds for the file's own shapes, and where tensors may share memory at all. */
static bool follows_file(const ml_prepare_context *x, int32_t frame) {
    return frame == 0 && x->plan->words == 0 && x->plan->graph->planned_offline &&
           !(x->state->options & ML_KEEP_ALL);
}

/* Tells the planner every tensor's bytes and where it may lie. */
static void describe_tensors(ml_prepare_context *x, int32_t frame) {
    const ml_graph *g = x->plan->graph;
    const ml_frame *f = &g->frames[frame];
    const ml_subgraph *sub = &g->subgraphs[f->subgraph];
    ml_planner *planner = x->plan->frames[frame].planner;
    int64_t *bytes = ml_planner_bytes(planner);
    uint8_t *places = ml_planner_places(planner), *pinned = ml_planner_pinned(planner),
            *skipped = ml_planner_skipped(planner);
    ml_tensor *tensors = ml_frame_tensors(x->plan, frame);
    const ml_prediction *predictions = x->state ? x->state->predictions : NULL;
    bool offline = follows_file(x, frame);
    for (int32_t t = 0; t < sub->io.n_tensors; t++) {
        ml_tensor *tensor = &tensors[t];
        if (tensor->dynamic && predictions &&
            predictions[f->tensor_base + t].capacity > tensor->capacity)
            tensor->capacity = predictions[f->tensor_base + t].capacity;
        if (!tensor->dynamic || tensor->capacity < tensor->bytes) tensor->capacity = tensor->bytes;
        bytes[t] = tensor->capacity;
        pinned[t] = tensor->dynamic;
        places[t] = tensor->storage == ML_STORAGE_ARENA        ? ML_PLACE_ARENA
                    : tensor->storage == ML_STORAGE_PERSISTENT ? ML_PLACE_PERSISTENT
                                                               : ML_PLACE_NONE;
        if (offline && !tensor->dynamic && tensor->storage == ML_STORAGE_ARENA &&
            sub->tensors[t].offline_offset >= 0)
            ml_planner_fix(planner, t, sub->tensors[t].offline_offset);
    }
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        const ml_node_plan *np = &x->plan->nodes[f->node_base + n];
        bool in_arena = ml_scratch_in_arena(&sub->nodes[n], np);
        skipped[n] = np->status == ML_NODE_FOLDED;
        bytes[sub->io.n_tensors + n] = in_arena ? np->scratch_bytes : 0;
        places[sub->io.n_tensors + n] = in_arena ? ML_PLACE_ARENA : ML_PLACE_NONE;
        if (!in_arena && np->scratch_bytes > x->plan->work_bytes)
            x->plan->work_bytes = np->scratch_bytes;
    }
}

void ml_plan_take_offsets(ml_plan *plan, int32_t frame) {
    const ml_graph *g = plan->graph;
    const ml_frame *f = &g->frames[frame];
    const ml_subgraph *sub = &g->subgraphs[f->subgraph];
    const ml_planner *planner = plan->frames[frame].planner;
    const int64_t *offsets = ml_planner_offsets(planner);
    const int32_t *roots = ml_planner_roots(planner);
    ml_tensor *tensors = ml_frame_tensors(plan, frame);
    for (int32_t t = 0; t < sub->io.n_tensors; t++) {
        tensors[t].offset = offsets[t];
        tensors[t].root = roots[t];
    }
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        ml_node_plan *np = &plan->nodes[f->node_base + n];
        const ml_node_io *io = sub->nodes[n].io;
        if (np->status == ML_NODE_FOLDED || np->status == ML_NODE_WAITS || np->dynamic ||
            !(io->flags & ML_NODE_VIEW))
            continue;
        np->status = roots[io->outputs[0]] == roots[io->inputs[0]] ? ML_NODE_IS_VIEW : ML_NODE_RUNS;
    }
    plan->frames[frame].region_bytes = ml_planner_high_water(planner, ML_PLACE_ARENA);
}

static ml_status plan_once(ml_prepare_context *x, int32_t frame, int32_t options) {
    const ml_graph *g = x->plan->graph;
    ml_frame_plan *fp = &x->plan->frames[frame];
    const ml_planner_graph *io = &g->subgraphs[g->frames[frame].subgraph].io;
    if (frame > 0)
        options &=
            ~(int32_t)ML_KEEP_INPUTS; /* carries live in slots; an input nobody else reads may go */
    ml_planner_free(fp->planner);
    fp->planner = ml_planner_new(io, x->state->strategy, options, ML_ALIGNMENT);
    if (!fp->planner)
        return ml_error_set(x->error, ML_ARENA_ERROR, "no memory to plan %d tensors",
                            io->n_tensors);
    describe_tensors(x, frame);
    ml_planner_plan_allocations(fp->planner);
    ml_status status = ml_planner_execute_allocations(fp->planner, 0, io->n_nodes - 1, x->error);
    if (x->error->other >= 0) x->error->subgraph = g->frames[frame].subgraph;
    return status;
}

ml_status ml_plan_place(ml_prepare_context *x, int32_t frame) {
    int32_t options = x->state->options, sharing = ML_SHARE_TFLITE | ML_SHARE_WIDE;
    ml_status status = plan_once(x, frame, options);
    if (status != ML_OK) return status;
    ml_frame_plan *fp = &x->plan->frames[frame];
    int64_t shared = ml_planner_high_water(fp->planner, ML_PLACE_ARENA);
    if ((options & ML_KEEP_SMALLER) && (options & sharing) && !follows_file(x, frame) &&
        shared > ml_planner_lower_bound(fp->planner)) {
        ml_planner *first = fp->planner;
        fp->planner = NULL;
        status = plan_once(x, frame, options & ~sharing);
        bool better =
            status == ML_OK && ml_planner_high_water(fp->planner, ML_PLACE_ARENA) < shared;
        if (better) ml_planner_free(first);
        else {
            ml_planner_free(fp->planner);
            fp->planner = first;
        }
        if (status != ML_OK) return status;
    }
    ml_plan_take_offsets(x->plan, frame);
    return ML_OK;
}

/* The whole ------------------------------------------------------------------------------------------------------------ */

/* Applies the resized shapes of the main subgraph; the rows were checked by the caller in Python, ranges are checked here. */
static ml_status apply_spec(ml_plan *plan, ml_error *error) {
    const ml_planner_graph *io = &plan->graph->subgraphs[plan->graph->frames[0].subgraph].io;
    ml_tensor *tensors = ml_frame_tensors(plan, 0);
    for (int32_t i = 0; i < plan->words;) {
        int32_t t = plan->spec[i], rank = plan->spec[i + 1];
        if (t < 0 || t >= io->n_tensors || rank < 0 || rank > ML_MAX_RANK)
            return ml_error_set(error, ML_SHAPE_ERROR,
                                "tensor %d cannot take rank %d: at most %d dimensions", t, rank,
                                ML_MAX_RANK);
        if (tensors[t].known)
            return ml_error_set(error, ML_SHAPE_ERROR, "tensor %d is constant: it keeps its shape",
                                t);
        tensors[t].shape.rank = rank;
        memcpy(tensors[t].shape.dims, plan->spec + i + 2, (size_t)rank * sizeof(int32_t));
        i += 2 + rank;
        if (tensors[t].storage != ML_STORAGE_PERSISTENT) continue;
        int64_t elements = ml_elements(&tensors[t].shape);
        char text[96];
        if (elements < 0)
            return ml_error_set(
                error, ML_SHAPE_ERROR,
                "variable tensor %d cannot take the shape %s: more elements than an int64 counts",
                t, ml_shape_text(&tensors[t].shape, text));
        tensors[t].bytes = ml_bytes_of(elements, tensors[t].type);
    }
    return ML_OK;
}

static ml_status shape_inputs(ml_prepare_context *x) {
    const ml_planner_graph *io = &x->plan->graph->subgraphs[x->plan->graph->frames[0].subgraph].io;
    ml_tensor *tensors = ml_frame_tensors(x->plan, 0);
    char text[96];
    for (int32_t i = 0; i < io->n_inputs; i++) {
        ml_tensor *t = &tensors[io->inputs[i]];
        int64_t elements = ml_elements(&t->shape);
        x->error->tensor = io->inputs[i];
        for (int32_t d = 0; d < t->shape.rank; d++)
            if (t->shape.dims[d] < 0)
                return ml_error_set(
                    x->error, ML_SHAPE_ERROR,
                    "input tensor %d has the shape %s: resize it, no dimension may be negative",
                    io->inputs[i], ml_shape_text(&t->shape, text));
        if (elements < 0)
            return ml_error_set(
                x->error, ML_SHAPE_ERROR,
                "input tensor %d of shape %s has more elements than an int64 counts", io->inputs[i],
                ml_shape_text(&t->shape, text));
        x->error->tensor = -1;
        if (t->known) continue;
        t->bytes = ml_bytes_of(elements, t->type);
        t->shaped = 1;
    }
    return ML_OK;
}

ml_status ml_plan_new(ml_state *state, const int32_t *spec, int32_t words, ml_plan **plan,
                      ml_error *error) {
    ml_status status = allocate_plan(state->graph, plan, error);
    ml_prepare_context x = {*plan, state, error};
    if (status == ML_OK) {
        (*plan)->words = words;
        (*plan)->spec = malloc((size_t)words * sizeof(int32_t) + 1);
        if (!(*plan)->spec)
            status = ml_error_set(error, ML_ARENA_ERROR, "no memory for a plan's key of %d words",
                                  words);
    }
    if (status == ML_OK) {
        if (words) memcpy((*plan)->spec, spec, (size_t)words * sizeof(int32_t));
        ml_plan_reset_tensors(*plan, 0);
        status = apply_spec(*plan, error);
    }
    if (status == ML_OK) status = shape_inputs(&x);
    if (status == ML_OK) status = ml_mark_bound(&x);
    if (status == ML_OK) status = ml_plan_sweep(&x, 0);
    if (status == ML_OK) status = ml_plan_place(&x, 0);
    if (status == ML_OK) status = ml_check_bound(state, *plan, error);
    if (status != ML_OK) {
        ml_plan_free(*plan);
        *plan = NULL;
        return status;
    }
    state->counters.plans++;
    for (int32_t f = 0; f < state->graph->n_frames; f++) {
        if (!(*plan)->frames[f].planner) continue;
        (*plan)->frames[f].persistent_start = (*plan)->persistent_bytes;
        (*plan)->persistent_bytes +=
            ml_planner_high_water((*plan)->frames[f].planner, ML_PLACE_PERSISTENT);
    }
    (*plan)->lower_bound = ml_planner_lower_bound((*plan)->frames[0].planner);
    return ML_OK;
}

/* Readers -------------------------------------------------------------------------------------------------------------- */

int32_t ml_plan_frames(const ml_plan *plan) { return plan->graph->n_frames; }

int32_t ml_plan_frame_subgraph(const ml_plan *plan, int32_t frame, int32_t *parent, int32_t *node) {
    *parent = plan->graph->frames[frame].parent;
    *node = plan->graph->frames[frame].parent_node;
    return plan->graph->frames[frame].subgraph;
}

const ml_tensor *ml_plan_tensor(const ml_plan *plan, int32_t frame, int32_t tensor) {
    if (frame < 0 || frame >= plan->graph->n_frames) return NULL;
    const ml_subgraph *sub = &plan->graph->subgraphs[plan->graph->frames[frame].subgraph];
    return tensor >= 0 && tensor < sub->io.n_tensors ? ml_frame_tensors(plan, frame) + tensor
                                                     : NULL;
}

int64_t ml_plan_arena_bytes(const ml_plan *plan) { return plan->frames[0].region_bytes; }
int64_t ml_plan_work_bytes(const ml_plan *plan) { return plan->work_bytes; }
int64_t ml_plan_lower_bound(const ml_plan *plan) { return plan->lower_bound; }

int32_t ml_plan_node_status(const ml_plan *plan, int32_t frame, int32_t node) {
    const ml_frame *f = &plan->graph->frames[frame];
    return node < plan->graph->subgraphs[f->subgraph].io.n_nodes
               ? plan->nodes[f->node_base + node].status
               : -1;
}

int32_t ml_plan_records(const ml_plan *plan, int32_t frame, ml_record *records, int32_t room) {
    const ml_planner *planner = plan->frames[frame].planner;
    return planner ? ml_planner_records(planner, records, room) : 0;
}

ml_status ml_plan_without(const ml_plan *plan, const int32_t *tensors, int32_t count,
                          ml_outlook *outlook, ml_error *error) {
    const ml_planner_graph *io = &plan->graph->subgraphs[plan->graph->frames[0].subgraph].io;
    ml_planner *planner = ml_planner_copy(plan->frames[0].planner);
    if (!planner)
        return ml_error_set(error, ML_ARENA_ERROR, "no memory to plan %d tensors", io->n_tensors);
    for (int32_t i = 0; i < count; i++)
        if (tensors[i] >= 0 && tensors[i] < io->n_tensors)
            ml_planner_places(planner)[tensors[i]] = ML_PLACE_NONE;
    ml_planner_plan_allocations(planner);
    ml_status status = ml_planner_execute_allocations(planner, 0, io->n_nodes - 1, error);
    if (status == ML_OK) {
        outlook->arena_bytes = ml_planner_high_water(planner, ML_PLACE_ARENA);
        outlook->lower_bound = ml_planner_peaks(planner, &outlook->peaks);
    }
    ml_planner_free(planner);
    return status;
}
