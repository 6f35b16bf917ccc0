/* prepare.c -- the prepare sweep: shapes, blobs and folded values, node by node; subgraphs of control flow likewise. */
#include "engine.h"

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
static bool can_fold(const ml_prepare *p, const ml_node *node) {
    if (node->kernel->flags & (ML_KERNEL_HAS_EFFECTS | ML_KERNEL_SETS_SHAPES) || !node->kernel->eval) return false;
    for (int32_t i = 0; i < p->n_inputs; i++) {
        const ml_tensor *t = ml_input(p, i);
        if (t && !t->known && !(node->kernel->flags & ML_KERNEL_NEEDS_SHAPES_ONLY)) return false;
        if (t && t->dynamic) return false;
    }
    for (int32_t i = 0; i < p->n_outputs; i++)
        if (ml_elements(&ml_output(p, i)->shape) > ML_FOLD_ELEMENTS || ml_type_bytes(ml_output(p, i)->type) == 0) return false;
    return p->scratch_bytes == 0 && p->n_inputs + p->n_outputs <= 64;
}

/* Runs eval on known values, through a table of pointers of its own. */
static ml_status fold(ml_prepare *p, const ml_node *node, bool *folded) {
    void *data[65] = {NULL};
    ml_tensor tensors[65];
    int32_t places[64];
    memset(&tensors[0], 0, sizeof tensors[0]);
    int32_t count = p->n_inputs + p->n_outputs;
    for (int32_t i = 0; i < count; i++) {
        int32_t t = i < p->n_inputs ? p->inputs[i] : p->outputs[i - p->n_inputs];
        places[i] = t < 0 ? -1 : i;
        if (t < 0) continue;
        tensors[i + 1] = p->tensors[t];
        data[i + 1] = i < p->n_inputs ? (void *)(uintptr_t)p->tensors[t].known : fold_place(p->plan, &p->tensors[t]);
        if (i >= p->n_inputs && !data[i + 1]) return ML_OK; /* no room: the node runs instead */
    }
    ml_call call = {.params = p->params,
                    .blob = p->blob,
                    .inputs = places,
                    .outputs = places + p->n_inputs,
                    .data = data + 1,
                    .tensors = tensors + 1,
                    .error = p->error,
                    .n_inputs = p->n_inputs,
                    .n_outputs = p->n_outputs};
    ml_status status = node->kernel->eval(&call);
    if (status != ML_OK) return status;
    for (int32_t i = 0; i < p->n_outputs; i++) {
        ml_output(p, i)->known = data[p->n_inputs + i + 1];
        ml_output(p, i)->storage = ML_STORAGE_FOLDED;
    }
    *folded = true;
    return ML_OK;
}

/* The sweep ------------------------------------------------------------------------------------------------------------ */

/* Marks the outputs of a node whose shapes are not known; a prediction from earlier runs stands in where there is one. */
static void leave_open(ml_prepare_context *x, int32_t frame, const ml_prepare *p, bool predict) {
    const ml_prediction *predictions = x->state ? x->state->predictions : NULL;
    int32_t base = x->plan->graph->frames[frame].tensor_base;
    for (int32_t i = 0; i < p->n_outputs; i++) {
        ml_tensor *t = ml_output(p, i);
        t->dynamic = 1;
        t->touched = 1;
        t->shaped = 0;
        t->bytes = 0;
        const ml_prediction *guess = predictions ? &predictions[base + p->outputs[i]] : NULL;
        if (guess && guess->known && predict) {
            t->shape = guess->shape;
            t->bytes = ml_elements(&t->shape) * ml_type_bytes(t->type);
            t->shaped = 1;
        }
    }
}

/* The scratch of a node that calls subgraphs has room for the larger of the two; they take turns there. */
static void give_room(ml_plan *plan, int32_t frame, int32_t node) {
    const int32_t *children = plan->graph->children[plan->graph->frames[frame].node_base + node];
    int64_t room = 0;
    for (int k = 0; k < 2; k++)
        if (children[k] >= 0 && plan->frames[children[k]].region_bytes > room) room = plan->frames[children[k]].region_bytes;
    for (int k = 0; k < 2; k++)
        if (children[k] >= 0) plan->frames[children[k]].room = room;
}

static ml_status blame(ml_error *error, const ml_plan *plan, int32_t frame, const ml_node *node, ml_status status) {
    if (error->node < 0) {
        error->subgraph = plan->graph->frames[frame].subgraph;
        error->node = node->index;
    }
    return status;
}

ml_status ml_plan_prepare_node(ml_prepare_context *x, int32_t frame, int32_t n, void **data) {
    const ml_frame *f = &x->plan->graph->frames[frame];
    const ml_node *node = &x->plan->graph->subgraphs[f->subgraph].nodes[n];
    ml_node_plan *np = &x->plan->nodes[f->node_base + n];
    ml_error quiet = {.node = -1};
    ml_prepare p = {.params = node->params,
                    .blob = x->plan->blobs + f->blob_base + node->blob_start,
                    .inputs = node->io->inputs,
                    .outputs = node->io->outputs,
                    .n_inputs = node->io->n_inputs,
                    .n_outputs = node->io->n_outputs,
                    .tensors = ml_frame_tensors(x->plan, frame),
                    .data = data,
                    .error = x->error,
                    .plan = x->plan,
                    .state = x->state,
                    .frame = frame,
                    .node = n,
                    .handler = node->handler};
    bool waits = false, dynamic = false;
    for (int32_t i = 0; i < p.n_inputs; i++) {
        const ml_tensor *t = ml_input(&p, i);
        waits |= t && !t->shaped;
        dynamic |= t && t->dynamic;
    }
    if (x->state) x->state->counters.nodes_prepared++;
    if (!waits) {
        memset(p.blob, 0, (size_t)node->kernel->blob_bytes);
        if (dynamic && !data) p.error = &quiet; /* shapes are guesses: a refusal only means that the node has to wait */
        ml_status status = node->kernel->prepare(&p);
        if (status != ML_OK && p.error == &quiet && quiet.status == ML_SHAPE_ERROR) waits = true;
        else if (status != ML_OK) {
            if (p.error == &quiet) *x->error = quiet;
            return blame(x->error, x->plan, frame, node, status);
        }
    }
    np->scratch_bytes = waits ? 0 : p.scratch_bytes;
    if (!waits) give_room(x->plan, frame, n);
    np->open = p.dynamic;
    if (!data) np->dynamic = p.dynamic;
    np->status = waits ? ML_NODE_WAITS : ML_NODE_RUNS;
    if (waits || (p.dynamic && !data)) {
        leave_open(x, frame, &p, !waits);
        return ML_OK;
    }
    if (data) return ML_OK;
    for (int32_t i = 0; i < p.n_outputs; i++) ml_output(&p, i)->dynamic = dynamic;
    bool folded = false;
    if (can_fold(&p, node)) {
        ml_status status = fold(&p, node, &folded);
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

int32_t ml_child_frame(const ml_prepare *p, int child) {
    const ml_graph *g = p->plan->graph;
    return g->children[g->frames[p->frame].node_base + p->node][child];
}

ml_status ml_child_sweep(ml_prepare *p, int child, const ml_shape *const *shapes, int32_t count) {
    int32_t frame = ml_child_frame(p, child);
    const ml_graph *g = p->plan->graph;
    const ml_planner_graph *io = &g->subgraphs[g->frames[frame].subgraph].io;
    if (io->n_inputs != count)
        return ml_fail(p->error, ML_SHAPE_ERROR, "subgraph %d takes %d inputs, the node gives %d", g->frames[frame].subgraph,
                       io->n_inputs, count);
    ml_plan_reset_tensors(p->plan, frame);
    ml_tensor *tensors = ml_frame_tensors(p->plan, frame);
    for (int32_t i = 0; i < count; i++) {
        ml_tensor *t = &tensors[io->inputs[i]];
        t->shape = *shapes[i];
        t->bytes = ml_elements(&t->shape) * ml_type_bytes(t->type);
        t->shaped = 1;
        t->storage = ML_STORAGE_SLOT;
        t->known = NULL;
    }
    ml_prepare_context x = {p->plan, p->state, p->error};
    return ml_plan_sweep(&x, frame);
}

ml_status ml_child_place(ml_prepare *p, int child, int64_t *region_bytes) {
    int32_t frame = ml_child_frame(p, child);
    ml_prepare_context x = {p->plan, p->state, p->error};
    ml_status status = ml_plan_place(&x, frame);
    *region_bytes = p->plan->frames[frame].region_bytes;
    return status;
}
