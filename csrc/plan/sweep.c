/* sweep.c -- the prepare sweep: shapes, blobs and folded values, node by node, as far as shapes are
 * known.
 *
 * A sweep goes through the nodes in the order of execution. After a node
 *
 *   - an output that is shaped and not dynamic has the shape that it will have in every run, so its
 *   readers may rely on it;
 *   - any other output is dynamic: the node's prepare left it open, or the node waits;
 *   - the node is stale, unless its prepare has accepted exactly the shapes that are in the rows.
 *
 * A node waits if an input is dynamic. Its prepare is not called, because it has nothing to check,
 * so it is not known yet whether the node would be open: the run finds out (run/dynamic.c).
 *
 * Runs call the same prepare, with values. That is why ml_prepare_call, and what it calls, know
 * neither plan nor run, and write to the rows that their engine has. */
#include <stdlib.h>

#include "plan/fold.h"
#include "plan/repeats.h"
#include "plan/sweep.h"

/* The environment of a frame; all its nodes share it, so that a call is small. */
ml_env ml_frame_env(const ml_engine *engine, struct ml_frame_engine *fe) {
    const ml_frame *f = &engine->graph->frames[fe->frame];
    const ml_subgraph *sub = &engine->graph->subgraphs[f->subgraph];
    fe->place = f;
    fe->sub = sub;
    fe->nodes = sub->nodes;
    return (ml_env){.slots = sub->slots,
                    .tensors = engine->rows ? engine->rows->tensors + f->slot_base : NULL,
                    .constants = sub->constants,
                    .error = engine->error,
                    .core = engine->core,
                    .simd = engine->simd,
                    .engine = fe,
                    .fast_convolutions = engine->graph->fast_convolutions};
}

void ml_sweep_reset(ml_engine *engine, int32_t frame) {
    const ml_graph *g = engine->graph;
    const ml_frame *f = &g->frames[frame];
    const ml_subgraph *sub = &g->subgraphs[f->subgraph];
    ml_tensor *tensors = engine->rows->tensors + f->slot_base;
    for (int32_t slot = 0; slot < sub->n_slots; slot++) tensors[slot] = sub->fresh[slot];
    /* Operands of a subgraph lie in slots, which the calling node places. */
    for (int32_t i = 0; frame > 0 && i < sub->io.n_inputs; i++) {
        int32_t slot = sub->slots[sub->io.inputs[i]];
        if (slot < 0) continue;
        tensors[slot].storage = ML_STORAGE_SLOT;
        tensors[slot].known = NULL;
    }
    for (int32_t n = 0; n < sub->io.n_nodes; n++)
        engine->rows->nodes[f->node_base + n] =
            (ml_node_plan){.scratch_block = -1, .stale = true, .ticks = 1};
}

/* Child frames come first, so the error keeps naming the node that failed, and not the WHILE around
 * it. */
ml_status ml_blame(const ml_call *c, ml_status status) {
    const struct ml_frame_engine *fe = c->env->engine;
    ml_error *error = c->env->error;
    if (error->node >= 0) return status;
    error->subgraph = fe->subgraph;
    error->node = fe->nodes[c->node].index;
    error->status = status;
    const bool named = error->n_tensors > 0;
    for (int i = 0; i < c->n_inputs && !named; i++) {
        const ml_tensor *t = ml_input(c, i);
        if (t) ml_error_about(error, ml_number_of(c, i), t->shaped ? &t->shape : NULL);
    }
    return status;
}

/* After an overflow ml_reserve keeps returning -1, so kernels need not check each sum. Rows count
 * scratch in blocks. */
static ml_status note_scratch(ml_error *error, ml_node_plan *row, const ml_wish *wish) {
    int64_t blocks = ml_round_up(wish->scratch_bytes, ML_ALIGNMENT) / ML_ALIGNMENT;
    if (wish->scratch_bytes < 0)
        return ml_error_set(error, ML_SHAPE_ERROR,
                            "its scratch memory adds up to more bytes than an int64 counts");
    if (blocks > UINT32_MAX)
        return ml_error_set(error, ML_SHAPE_ERROR,
                            "its scratch memory adds up to %lld bytes, at most %lld are supported",
                            (long long)wish->scratch_bytes, (long long)UINT32_MAX * ML_ALIGNMENT);
#ifdef ML_DEBUG
    blocks += blocks > 0 && blocks < UINT32_MAX; /* one more for the guard of run/debug.c */
#endif
    row->scratch_blocks = (uint32_t)blocks;
    return ML_OK;
}

/* A constant operand, packed by a store. Constants of the file are in the store of the Model; those
 * that lowering made are in the store of the graph, which is freed with it. Of everything that
 * identifies a packed block, only the layout may differ from plan to plan. If it does not, the
 * node's last answer is still right, and the store is not asked. */
static const void *constant_weights(ml_engine *engine, const ml_call *c, const ml_node *node,
                                    int32_t layout) {
    const ml_graph *g = engine->graph;
    const ml_subgraph *sub = &g->subgraphs[c->env->engine->subgraph];
    _Atomic(const ml_packed_weights *) *last = &sub->last_packed[node->pack_start];
    const ml_packed_weights *packed = atomic_load_explicit(last, memory_order_acquire);
    if (packed && packed->layout == layout) return packed->bytes;
    const ml_tensor_def *constant = &sub->tensors[ml_number_of(c, node->kernel->packs)];
    ml_store *store = constant->flags & ML_TENSOR_OF_FILE ? g->store : g->own;
    packed = ml_store_packed(store, c, node->kernel, node->typed, constant, layout);
    engine->counters->store_lookups++;
    if (!packed) return NULL;
    atomic_store_explicit(last, packed, memory_order_release);
    return packed->bytes;
}

/* Gives the node its weights in the layout of the level: from a store, or else room in scratch, to
 * pack them in each run. It comes after prepare, because pack reads the blob. Folded weights are
 * packed in each run too, because a store outlives the plan that owns them. */
static ml_status provide_packed(ml_engine *engine, const ml_call *c, int32_t frame,
                                const ml_node *node, ml_node_plan *row, ml_wish *wish) {
    int32_t t = node->kernel->packs < c->n_inputs ? c->inputs[node->kernel->packs] : -1;
    ml_packed *packed = ml_packed_of(engine->graph, engine->rows, frame, (int32_t)c->node);
    *packed = (ml_packed){.weights = NULL, .offset = -1, .layout = wish->layout};
    row->packs_in_run = 0;
    if (t < 0) return ML_OK;
    const ml_tensor *operand = ml_tensor_of(c, t);
    if (operand->storage == ML_STORAGE_CONSTANT) {
        packed->weights = constant_weights(engine, c, node, wish->layout);
        return packed->weights ? ML_OK : (ml_status)c->env->error->status;
    }
    int64_t bytes = node->typed->pack(c, NULL);
    if (bytes < 0) return (ml_status)c->env->error->status;
    packed->offset = ml_reserve(wish, bytes);
    row->packs_in_run = 1;
    return ML_OK;
}

/* Blobs are zeroed first, so that the result does not depend on an earlier prepare. If an output is
 * open, the blob may be incomplete, so weights are not packed by it. Room for workers only grows,
 * and is the maximum over all nodes, because they run one at a time. */
ml_status ml_prepare_call(ml_engine *engine, const ml_call *c, ml_node_plan *row, ml_wish *wish) {
    const struct ml_frame_engine *fe = c->env->engine;
    const ml_node *node = &fe->nodes[c->node];
    const ml_kernel *kernel = node->kernel;
    *wish = (ml_wish){0};
    if (kernel->blob_bytes > 0) memset(c->blob, 0, (size_t)kernel->blob_bytes);
    engine->counters->nodes_prepared++;
    ml_status status = kernel->prepare(c, wish);
    if (status == ML_OK && node->pack_start >= 0 && !wish->open)
        status = provide_packed(engine, c, fe->frame, node, row, wish);
    if (status == ML_OK && wish->scratch_bytes == 0) row->scratch_blocks = 0;
    else if (status == ML_OK) status = note_scratch(c->env->error, row, wish);
    if (wish->worker_bytes > engine->rows->worker_bytes)
        engine->rows->worker_bytes = wish->worker_bytes;
    return status == ML_OK ? ML_OK : ml_blame(c, status);
}

static inline bool is_open(uint32_t open, int32_t i) {
    return open && open >> (i < 31 ? i : 31) & 1;
}

/* Marks outputs whose shapes are set by runs: those that prepare left open, or all. The shape in
 * the file is at best a hint for them, and is dropped: unknown is better than wrong. */
static void leave_open(const ml_call *c, uint32_t open) {
    for (int32_t i = 0; i < c->n_outputs; i++) {
        if (!is_open(open, i)) continue;
        ml_tensor *t = ml_output_row(c, i);
        t->dynamic = 1;
        t->shaped = 0;
        t->bytes = 0;
    }
}

/* Checks that prepare has shaped all other outputs. Returns the bytes of all. */
static inline int64_t shaped_bytes(const ml_call *c, uint32_t open) {
    int64_t bytes = 0;
    if (open) leave_open(c, open);
    for (int32_t i = 0; i < c->n_outputs; i++) {
        ml_tensor *t = ml_output_row(c, i);
        if (is_open(open, i)) continue;
        t->dynamic = 0;
        bytes += t->bytes;
        if (!t->shaped) ml_fail(c, ML_SHAPE_ERROR, "its prepare gave output %d no shape", i);
    }
    return bytes;
}

/* The bytes of all inputs together; -1 if the size of one is unknown. */
static int64_t known_bytes(const ml_call *c) {
    int64_t bytes = 0;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (c->inputs[i] < 0) continue;
        const ml_tensor *t = ml_tensor_of(c, c->inputs[i]);
        if (!t->shaped) return -1;
        bytes += t->bytes;
    }
    return bytes;
}

#ifdef ML_DEBUG
/* Prepares a node that was given the results of another, and fails if they are not its own. */
static ml_status check_repeated(ml_engine *engine, const ml_call *c, ml_node_plan *row) {
    const size_t bytes = (size_t)c->env->engine->nodes[c->node].kernel->blob_bytes;
    const ml_node_plan given = *row;
    const ml_shape shape = ml_output(c, 0)->shape;
    void *blob = malloc(bytes + 1);
    if (!blob) return ML_OK;
    memcpy(blob, c->blob, bytes);
    ml_wish wish;
    ml_status status = ml_prepare_call(engine, c, row, &wish);
    engine->counters->nodes_prepared--;
    if (status == ML_OK &&
        (wish.open || memcmp(blob, c->blob, bytes) != 0 ||
         !ml_same_shape(&shape, &ml_output(c, 0)->shape) ||
         row->scratch_blocks != given.scratch_blocks || row->packs_in_run != given.packs_in_run))
        status = ml_blame(c, ml_fail(c, ML_KERNEL_ERROR,
                                     "its prepare reads more than prepare_reads of %s says",
                                     c->env->engine->nodes[c->node].kernel->name));
    free(blob);
    return status;
}
#endif

/* A node that repeats an earlier one has weights of its own, in the same layout. Computed ones lie
 * at the same place of its scratch. */
static ml_status repeat_packed(ml_engine *engine, const ml_call *c, int32_t earlier) {
    const struct ml_frame_engine *fe = c->env->engine;
    const ml_node *node = &fe->nodes[c->node];
    if (node->pack_start < 0) return ML_OK;
    ml_packed *packed = ml_packed_of(engine->graph, engine->rows, fe->frame, (int32_t)c->node);
    *packed = *ml_packed_of(engine->graph, engine->rows, fe->frame, earlier);
    if (!packed->weights) return ML_OK;
    packed->weights = constant_weights(engine, c, node, packed->layout);
    return packed->weights ? ML_OK : ml_blame(c, (ml_status)c->env->error->status);
}

/* An estimate is enough: it only spaces out readings of the clock. Above ML_TICKS_PER_LOOK the
 * exact value does not matter. */
static uint8_t ticks_of(int64_t bytes) {
    return (uint8_t)(bytes >> 12 >= UINT8_MAX ? UINT8_MAX : 1 + (bytes >> 12));
}

/* An open node has been prepared and is not stale: it waits for values, not for shapes. */
static ml_status sweep_node(ml_engine *engine, const ml_call *c, const ml_node *node,
                            ml_node_plan *row) {
    const int32_t earlier = engine->repeats ? engine->repeats[node - engine->graph->nodes] : -1;
    if (earlier >= 0 && ml_repeat_node(c, earlier, row)) {
        ml_status repeated = repeat_packed(engine, c, earlier);
#ifdef ML_DEBUG
        if (repeated == ML_OK) repeated = check_repeated(engine, c, row);
#endif
        return repeated;
    }
    int64_t bytes = known_bytes(c);
    if (bytes < 0) {
        row->status = ML_NODE_WAITS;
        leave_open(c, UINT32_MAX);
        return ML_OK;
    }
    ml_wish wish;
    ml_status status = ml_prepare_call(engine, c, row, &wish);
    if (status != ML_OK) return status;
    row->stale = false;
    row->open = wish.open != 0;
    row->status = ML_NODE_RUNS;
    const int64_t written = shaped_bytes(c, wish.open);
    row->ticks = ticks_of(bytes + written);
    if (node->io->flags & ML_NODE_FUSED) row->status = ML_NODE_IS_FUSED;
    if (row->open || row->status == ML_NODE_IS_FUSED) return (ml_status)engine->error->status;
    status = (ml_status)engine->error->status;
    const ml_tensor *first = ml_input(c, 0);
    bool by_shape = node->kernel->flags & ML_KERNEL_NEEDS_SHAPES_ONLY, folded = false;
    if (status == ML_OK && (!first || ml_known(first) || by_shape))
        status = ml_fold(engine, c, &wish, c->env->engine->frame, &folded);
    if (folded) row->status = ML_NODE_FOLDED;
    else if (written == 0 && ml_writes_nothing(node, c)) row->status = ML_NODE_IS_EMPTY;
    return status;
}

ml_status ml_sweep_frame(ml_engine *engine, int32_t frame) {
    struct ml_frame_engine fe = {
        .engine = engine, .frame = frame, .subgraph = engine->graph->frames[frame].subgraph};
    ml_env env = ml_frame_env(engine, &fe);
    ml_node_plan *rows = engine->rows->nodes + fe.place->node_base;
    for (int32_t n = 0; n < fe.sub->io.n_nodes; n++) {
        ml_call c = ml_call_of(engine, &env, n);
        ml_status status = sweep_node(engine, &c, &fe.nodes[n], &rows[n]);
        if (status != ML_OK) return ml_blame(&c, status);
    }
    return ML_OK;
}
