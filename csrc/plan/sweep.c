/* sweep.c -- the prepare sweep: shapes, blobs and folded values, node by node; subgraphs of control flow likewise. */
#include "run/engine.h"

#include <stdlib.h>

/* Folding ---------------------------------------------------------------------------------------------------------- */

static void *take_from_pool(ml_plan *plan, int64_t bytes) {
    int64_t rounded = (bytes + 15) & ~(int64_t)15;
    if (!plan->folded || plan->folded->used + rounded > (int64_t)sizeof plan->folded->bytes) {
        ml_pool *pool = malloc(sizeof *pool);
        if (!pool || rounded > (int64_t)sizeof pool->bytes) {
            free(pool);
            return NULL;
        }
        pool->next = plan->folded;
        pool->used = 0;
        plan->folded = pool;
    }
    void *place = plan->folded->bytes + plan->folded->used;
    plan->folded->used += rounded;
    return place;
}

/* A tensor keeps the place of its folded value, so that preparing again and again takes no more memory. */
static void *fold_place(ml_plan *plan, ml_tensor *t) {
    if (t->fold_place && t->fold_room >= t->bytes) return t->fold_place;
    t->fold_place = take_from_pool(plan, t->bytes);
    t->fold_room = (int32_t)t->bytes;
    return t->fold_place;
}

/* Whether the node's outputs can be computed now: everything it reads is known, and they are small. */
static bool can_fold(const ml_call *c, const ml_wish *w, const ml_node *node) {
    if (node->kernel->flags & (ML_KERNEL_HAS_EFFECTS | ML_KERNEL_SETS_SHAPES) || !node->typed)
        return false;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        const ml_tensor *t = ml_input(c, i);
        if (t && !t->known && !(node->kernel->flags & ML_KERNEL_NEEDS_SHAPES_ONLY)) return false;
        if (t && t->dynamic) return false;
    }
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (ml_elements(&ml_output(c, i)->shape) > ML_FOLD_ELEMENTS ||
            ml_type_bytes(ml_output(c, i)->type) == 0)
            return false;
    return w->scratch_bytes == 0 && c->n_inputs + c->n_outputs <= 64;
}

/* Runs eval on known values, through a table of pointers of its own. */
static ml_status fold(ml_plan *plan, const ml_call *c, const ml_node *node, bool *folded) {
    void *data[65] = {NULL};
    ml_tensor tensors[65];
    int32_t places[64];
    memset(&tensors[0], 0, sizeof tensors[0]);
    int32_t count = c->n_inputs + c->n_outputs;
    for (int32_t i = 0; i < count; i++) {
        int32_t t = c->inputs[i];
        places[i] = t < 0 ? -1 : i;
        if (t < 0) continue;
        ml_tensor *tensor = &c->env->tensors[t];
        tensors[i + 1] = *tensor;
        data[i + 1] = i < c->n_inputs ? (void *)(uintptr_t)tensor->known : fold_place(plan, tensor);
        if (i >= c->n_inputs && !data[i + 1]) return ML_OK; /* no room: the node runs instead */
    }
    ml_env env = *c->env;
    env.tensors = tensors + 1;
    ml_call call = *c;
    call.inputs = places;
    call.data = data + 1;
    call.env = &env;
    ml_status status = node->typed->eval(&call);
    if (status != ML_OK) return status;
    for (int32_t i = 0; i < c->n_outputs; i++) {
        ml_tensor *t = &c->env->tensors[c->inputs[c->n_inputs + i]];
        t->known = data[c->n_inputs + i + 1];
        t->storage = ML_STORAGE_FOLDED;
    }
    *folded = true;
    return ML_OK;
}

/* The sweep ------------------------------------------------------------------------------------------------------------ */

/* Marks the outputs of a node whose shapes are not known; a prediction from earlier runs stands in where there is one. */
static void leave_open(ml_prepare_context *x, int32_t frame, const ml_call *c, bool predict) {
    const ml_prediction *predictions = x->state ? x->state->predictions : NULL;
    int32_t base = x->plan->graph->frames[frame].tensor_base;
    for (int32_t i = 0; i < c->n_outputs; i++) {
        int32_t number = c->inputs[c->n_inputs + i];
        ml_tensor *t = &c->env->tensors[number];
        t->dynamic = 1;
        t->touched = 1;
        t->shaped = 0;
        t->bytes = 0;
        const ml_prediction *guess = predictions ? &predictions[base + number] : NULL;
        if (guess && guess->known && predict) {
            t->shape = guess->shape;
            t->bytes = ml_bytes_of(ml_elements(&t->shape), t->type);
            t->shaped = 1;
        }
    }
}

/* The scratch of a node that calls subgraphs has room for the larger of the two; they take turns there. */
static void give_room(ml_plan *plan, int32_t frame, int32_t node) {
    const int32_t *children = plan->graph->children[plan->graph->frames[frame].node_base + node];
    int64_t room = 0;
    for (int k = 0; k < 2; k++)
        if (children[k] >= 0 && plan->frames[children[k]].region_bytes > room)
            room = plan->frames[children[k]].region_bytes;
    for (int k = 0; k < 2; k++)
        if (children[k] >= 0) plan->frames[children[k]].room = room;
}

static ml_status blame(ml_error *error, const ml_plan *plan, int32_t frame, const ml_node *node,
                       ml_status status) {
    if (error->node < 0) {
        error->subgraph = plan->graph->frames[frame].subgraph;
        error->node = node->index;
    }
    return status;
}

/* The node's weights in the layout of the level: from the store, or room in scratch to pack them in each run. */
static ml_status pack(ml_prepare_context *x, const ml_call *c, ml_wish *w, const ml_node *node,
                      ml_node_plan *np) {
    int32_t t = c->inputs[node->kernel->packs];
    const ml_tensor *operand = &c->env->tensors[t];
    const ml_graph *g = x->plan->graph;
    const ml_tensor_def *def = &g->subgraphs[c->env->engine->subgraph].tensors[t];
    if (def->data) {
        ml_store *store = def->flags & ML_TENSOR_OF_FILE ? g->store : g->own;
        np->packed = ml_store_packed(store, c, node->typed->pack, operand, w->layout);
        return np->packed ? ML_OK : (ml_status)x->error->status;
    }
    int64_t bytes = node->typed->pack(c, NULL);
    if (bytes < 0) return (ml_status)x->error->status;
    np->pack_offset = ml_reserve(w, bytes);
    return w->scratch_bytes < 0
               ? ml_error_set(x->error, ML_SHAPE_ERROR,
                              "its scratch memory adds up to more bytes than an int64 counts")
               : ML_OK;
}

ml_status ml_plan_prepare_node(ml_prepare_context *x, int32_t frame, int32_t n, void **data) {
    const ml_frame *f = &x->plan->graph->frames[frame];
    const ml_node *node = &x->plan->graph->subgraphs[f->subgraph].nodes[n];
    ml_node_plan *np = &x->plan->nodes[f->node_base + n];
    ml_error quiet = {.node = -1};
    struct ml_frame_engine engine = {x->plan->graph, x->plan, x->state, frame, f->subgraph};
    ml_env env = {.tensors = ml_frame_tensors(x->plan, frame),
                  .error = x->error,
                  .core = &ml_core_table,
                  .engine = &engine};
    ml_call c = {.params = node->params,
                 .derived = node->derived,
                 .blob = x->plan->blobs + f->blob_base + node->blob_start,
                 .inputs = node->io->inputs,
                 .data = data,
                 .env = &env,
                 .n_inputs = node->io->n_inputs,
                 .n_outputs = node->io->n_outputs,
                 .node = n};
    ml_wish w = {0};
    bool waits = false, dynamic = false;
    for (int32_t i = 0; i < c.n_inputs; i++) {
        const ml_tensor *t = ml_input(&c, i);
        waits |= t && !t->shaped;
        dynamic |= t && t->dynamic;
    }
    if (x->state) x->state->counters.nodes_prepared++;
    if (!waits) {
        memset(c.blob, 0, (size_t)node->kernel->blob_bytes);
        if (dynamic && !data)
            env.error =
                &quiet; /* shapes are guesses: a refusal only means that the node has to wait */
        ml_status status = node->kernel->prepare(&c, &w);
        if (status == ML_OK && w.scratch_bytes < 0)
            status = ml_error_set(env.error, ML_SHAPE_ERROR,
                                  "its scratch memory adds up to more bytes than an int64 counts");
        if (status != ML_OK && env.error == &quiet && quiet.status == ML_SHAPE_ERROR) waits = true;
        else if (status != ML_OK) {
            if (env.error == &quiet) *x->error = quiet;
            return blame(x->error, x->plan, frame, node, status);
        }
    }
    bool open = w.open != 0;
    np->packed = NULL;
    np->pack_offset = -1;
    if (!waits && !open && node->typed && node->typed->pack &&
        !(node->io->flags & ML_NODE_PYTHON)) {
        ml_status status = pack(x, &c, &w, node, np);
        if (status != ML_OK) return blame(x->error, x->plan, frame, node, status);
        c.packed = np->packed;
    }
    np->scratch_bytes = waits ? 0 : w.scratch_bytes;
    if (!waits) give_room(x->plan, frame, n);
    np->open = open;
    if (!data) np->dynamic = open;
    np->status = waits ? ML_NODE_WAITS : ML_NODE_RUNS;
    if (waits || (open && !data)) {
        leave_open(x, frame, &c, !waits);
        return ML_OK;
    }
    if (data) return ML_OK;
    for (int32_t i = 0; i < c.n_outputs; i++)
        env.tensors[c.inputs[c.n_inputs + i]].dynamic = dynamic;
    bool folded = false;
    env.error = x->error;
    if (can_fold(&c, &w, node)) {
        ml_status status = fold(x->plan, &c, node, &folded);
        if (status != ML_OK) return blame(x->error, x->plan, frame, node, status);
        if (folded) np->status = ML_NODE_FOLDED;
    }
    return ML_OK;
}

ml_status ml_plan_sweep(ml_prepare_context *x, int32_t frame) {
    const ml_subgraph *sub = &x->plan->graph->subgraphs[x->plan->graph->frames[frame].subgraph];
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        ml_status status = ml_plan_prepare_node(x, frame, n, NULL);
        if (status != ML_OK) return status;
    }
    return ML_OK;
}

/* Children ------------------------------------------------------------------------------------------------------------- */

int32_t ml_child_frame(const ml_call *c, int child) {
    const ml_graph *g = c->env->engine->plan->graph;
    return g->children[g->frames[c->env->engine->frame].node_base + c->node][child];
}

ml_status ml_child_sweep(const ml_call *c, int child, const ml_shape *const *shapes,
                         int32_t count) {
    int32_t frame = ml_child_frame(c, child);
    const ml_graph *g = c->env->engine->plan->graph;
    const ml_planner_graph *io = &g->subgraphs[g->frames[frame].subgraph].io;
    if (io->n_inputs != count)
        return ml_error_set(c->env->error, ML_SHAPE_ERROR,
                            "subgraph %d takes %d inputs, the node gives %d",
                            g->frames[frame].subgraph, io->n_inputs, count);
    ml_plan_reset_tensors(c->env->engine->plan, frame);
    ml_tensor *tensors = ml_frame_tensors(c->env->engine->plan, frame);
    for (int32_t i = 0; i < count; i++) {
        ml_tensor *t = &tensors[io->inputs[i]];
        t->shape = *shapes[i];
        t->bytes = ml_bytes_of(ml_elements(&t->shape), t->type);
        t->shaped = 1;
        t->storage = ML_STORAGE_SLOT;
        t->known = NULL;
    }
    ml_prepare_context x = {c->env->engine->plan, c->env->engine->state, c->env->error};
    return ml_plan_sweep(&x, frame);
}

ml_status ml_child_place(const ml_call *c, int child, int64_t *region_bytes) {
    int32_t frame = ml_child_frame(c, child);
    ml_prepare_context x = {c->env->engine->plan, c->env->engine->state, c->env->error};
    ml_status status = ml_plan_place(&x, frame);
    *region_bytes = c->env->engine->plan->frames[frame].region_bytes;
    return status;
}
