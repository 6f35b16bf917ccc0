/* dynamic.c -- prepares nodes during a run, if their shapes depend on values or have changed.
 *
 * A node is unsettled if it is open (its shapes depend on values, so every run calls its prepare
 * again) or stale (a shape that it reads is not the one it was prepared for). Then its step points
 * here instead of at its eval. When the run reaches it, everything it reads has been computed. It
 * is prepared once, and only readers of outputs whose shape has really changed become stale. So a
 * run that changes nothing prepares only the open nodes, and the cost of a run that changes k nodes
 * is proportional to k.
 *
 * Invariant: a step points at its eval only while the node is prepared for the shapes in the rows.
 * Readers are marked at the moment a row gets another shape (ml_set_output). So nothing has to be
 * repaired after a run that fails half-way: nodes that were not prepared are still stale in the
 * next run. */
#include "run/dynamic.h"

#include <stdlib.h>

#include "plan/frames.h"
#include "run/grow.h"
#include "run/loop.h"

typedef struct reached {
    ml_state *state;
    ml_residence *residence;
    const ml_frame *place;
    const ml_node *node;
    ml_node_plan *row;
    int32_t frame;
} reached;

static reached where(const ml_call *call) {
    const struct ml_frame_engine *fe = call->env->engine;
    ml_engine *engine = fe->engine;
    return (reached){.state = engine->state,
                     .residence = engine->residence,
                     .place = fe->place,
                     .node = &fe->nodes[call->node],
                     .row = &engine->rows->nodes[fe->place->node_base + call->node],
                     .frame = fe->frame};
}

/* The node's step, for writing. (Calls are passed as const.) */
static ml_step *step_of(const reached *at, const ml_call *c) {
    const ml_residence *r = at->residence;
    return &r->steps[r->learnt->steps[at->place->node_base + (int32_t)c->node]];
}

/* The cost is proportional to the number of readers. Folded nodes have no step; the step of a stale
 * reader points here already. Readers come after the running node, so its own step does not change.
 * In the frame of a subgraph the calling node sets the shapes of inputs before it runs the
 * frame. */
void ml_mark_readers(ml_residence *r, const ml_subgraph *sub, const ml_frame *place, int32_t slot) {
    ml_node_plan *rows = r->rows->nodes + place->node_base;
    const int32_t *steps = r->learnt->steps + place->node_base;
    for (int32_t i = sub->reader_start[slot]; i < sub->reader_start[slot + 1]; i++) {
        int32_t node = sub->readers[i];
        if (rows[node].stale || steps[node] < 0) continue;
        rows[node].stale = 1;
        r->steps[steps[node]].eval = ml_run_unsettled;
    }
}

/* Places --------------------------------------------------------------------------------------- */

/* The input whose place placement has given to output `i`; -1 if none. */
static int32_t shares_with(const reached *at, const ml_call *c, int32_t i) {
    const ml_tensor *t = ml_output_row(c, i);
    if (i > 0 || t->root == c->inputs[c->n_inputs]) return -1;
    if (at->node->io->flags & ML_NODE_VIEW) return 0;
    for (int32_t k = 0; k < c->n_inputs && k < 8; k++) {
        const ml_tensor *input = ml_input(c, k);
        if (at->node->io->flags & (ML_NODE_IN_PLACE << k) && input &&
            input->storage == ML_STORAGE_ARENA && input->root == t->root)
            return k;
    }
    return -1;
}

/* The output lies elsewhere than before. Tensors that share its place have to follow, so its
 * readers are prepared again. */
static void moved(const reached *at, const ml_call *c, int32_t i) {
    ml_mark_readers(at->residence, c->env->engine->sub, at->place,
                    c->env->slots[c->inputs[c->n_inputs + i]]);
    at->state->run_changed = true;
}

/* Puts an output where input `k` lies: a view always; an output computed in place only if it has as
 * many bytes as the input, so that it fits. */
static bool follow(const reached *at, const ml_call *c, int32_t i, int32_t k) {
    const ml_tensor *input = ml_input(c, k);
    ml_tensor *t = ml_output_row(c, i);
    int32_t number = c->inputs[c->n_inputs + i], from = c->inputs[k];
    if (!(at->node->io->flags & ML_NODE_VIEW) && t->bytes != input->bytes) return false;
    ml_reserved *reserved = at->residence->rows->reserved + at->place->slot_base;
    if (c->env->slots[from] >= 0)
        reserved[c->env->slots[number]].bytes = reserved[c->env->slots[from]].bytes;
    bool moves = t->offset != input->offset;
    t->offset = input->offset;
    ml_point_output(c, i, c->env->data[from]);
    if (moves) moved(at, c, i);
    return true;
}

/* A value that the frame hands to its caller, for which the caller has a block with room for
 * another size; of a fixed shape it has room already. */
static ml_status place_carried(const reached *at, const ml_call *c, int32_t i) {
    const ml_tensor *t = ml_output_row(c, i);
    if (!t->dynamic) return ML_OK;
    ml_block *block =
        ml_state_carries(at->state, at->frame, ~t->root) + at->residence->frames[at->frame].writes;
    ml_status status =
        ml_block_reserve(&at->state->interpreter->account, block, t->bytes, &at->state->error);
    if (status == ML_OK) ml_point_output(c, i, block->data);
    return status;
}

/* Points an output at memory that has room for it. How much it needs is always stored, even if it
 * fits, to know what is still needed. An output that was placed where an input lies follows that
 * input. If their sizes differ now, it cannot be computed in place and must not stay there. */
static ml_status place_output(const reached *at, const ml_call *c, int32_t i) {
    ml_residence *r = at->residence;
    int32_t number = c->inputs[c->n_inputs + i];
    int64_t slot = at->place->slot_base + c->env->slots[number];
    ml_tensor *t = ml_output_row(c, i);
    if (t->storage == ML_STORAGE_SLOT) return place_carried(at, c, i);
    if (t->storage != ML_STORAGE_ARENA)
        return t->storage == ML_STORAGE_BOUND
                   ? ml_bound_check_bytes(at->state, r, number, &at->state->error)
                   : ML_OK;
    ml_need_note(&at->state->needs[slot], t->bytes, at->state->counters.invokes);
    int32_t with = shares_with(at, c, i);
    if (with >= 0 && follow(at, c, i, with)) return ML_OK;
    bool taken = with >= 0 && t->bytes > 0 &&
                 (t->offset == ml_input(c, with)->offset ||
                  !ml_late_has(&r->learnt->late[at->frame], r->rows->reserved[slot].first, number,
                               t->offset));
    if (taken || t->bytes > r->rows->reserved[slot].bytes) {
        int64_t room = ml_need_room(&at->state->needs[slot], t->bytes);
        ml_status status = ml_grow(at->state, r, at->frame, number, room, &t->offset);
        if (status != ML_OK) return status;
        r->rows->reserved[slot].bytes = ml_round_up(room, ML_ALIGNMENT); /* as in its record */
        moved(at, c, i);
    }
    uint8_t *region = r->frames[at->frame].region;
    /* Tensors of 0 bytes may point anywhere, since nothing is written there. */
    ml_point_output(c, i, t->offset >= 0 && region ? region + t->offset : at->state->work);
    return ML_OK;
}

/* Scratch that becomes larger than the work block moves into the region, like a tensor that grew.
 * It stays there until the next placement, even if later runs need less. */
static ml_status place_scratch(const reached *at, const ml_call *c) {
    ml_residence *r = at->residence;
    int64_t number = at->place->node_base + c->node, needs = ml_scratch_bytes(at->row);
    ml_need_note(&at->state->scratch_needs[number], needs, at->state->counters.invokes);
    bool in_arena = ml_scratch_in_arena(at->node, needs);
    if (in_arena && (needs > ml_scratch_reserved(at->row) || at->row->scratch_block < 0)) {
        int32_t id = ml_frame_subgraph(at->state->graph, at->frame)->io.n_tensors + c->node;
        int64_t room = ml_children_room(at->state->graph, r->rows, at->frame, c->node),
                offset = ml_scratch_offset(at->row);
        ml_status status = ml_grow(at->state, r, at->frame, id, room + needs, &offset);
        if (status == ML_OK) status = ml_set_scratch_offset(at->row, offset, &at->state->error);
        if (status != ML_OK) return status;
        at->row->reserved_blocks = at->row->scratch_blocks;
    }
    if (at->node->n_children > 0)
        return ML_OK; /* their room never grows during a run: frames that outgrow it move out */
    uint8_t *region = r->frames[at->frame].region;
    step_of(at, c)->call.scratch =
        at->row->scratch_block >= 0 ? region + ml_scratch_offset(at->row) : at->state->work;
    return ML_OK;
}

/* Settling ------------------------------------------------------------------------------------- */

/* Outputs without a shape are left to an eval that sets shapes: it settles them once it has. */
static ml_status place_outputs(const reached *at, const ml_call *c) {
    ml_status status = ML_OK;
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++)
        if (ml_output_row(c, i)->shaped) status = place_output(at, c, i);
    return status;
}

/* Checks that an eval which sets shapes has set all of them. */
static ml_status check_shaped(const ml_call *c) {
    for (int32_t i = 0; i < c->n_outputs; i++)
        if (!ml_output_row(c, i)->shaped)
            return ml_fail(c, ML_KERNEL_ERROR, "its eval gave output %d no shape", i);
    return ML_OK;
}

/* Prepares a node of which it is unknown whether its shapes depend on values: first without values,
 * to find out. If they do, the node is open from then on, and is prepared with its values whenever
 * it is reached. Control-flow nodes are always prepared with values, unless their shapes are
 * settled. */
static ml_status prepare_closed(const reached *at, const ml_call *c, ml_wish *wish) {
    ml_engine *engine = &at->state->engine;
    int32_t flags = at->node->kernel->flags;
    if (flags & ML_KERNEL_HAS_EFFECTS) {
        ml_status status = ml_prepare_call(engine, c, at->row, wish);
        at->row->open = wish->open || (c->n_outputs > 0 && !(flags & ML_KERNEL_SETS_SHAPES));
        return status;
    }
    ml_call shapes_only = *c;
    shapes_only.env = &at->state->shape_envs[at->frame];
    ml_status status = ml_prepare_call(engine, &shapes_only, at->row, wish);
    at->row->open = status == ML_OK && wish->open;
    return at->row->open ? ml_prepare_call(engine, c, at->row, wish) : status;
}

/* Prepares the node for the shapes it reads now, and finds places for its outputs and scratch. If
 * shapes stay open although all values are known, eval has to set them, which only kernels with the
 * flag for it do. After a failure the node is stale or open as before. */
static ml_status prepare_again(const reached *at, const ml_call *c, ml_wish *wish) {
    ml_status status = at->row->open ? ml_prepare_call(&at->state->engine, c, at->row, wish)
                                     : prepare_closed(at, c, wish);
    if (status != ML_OK) return status;
    if (wish->open && !(at->node->kernel->flags & ML_KERNEL_SETS_SHAPES))
        return ml_fail(c, ML_KERNEL_ERROR, "its output shapes do not follow from its values");
    if (wish->worker_bytes > 0 &&
        !ml_interpreter_pool(at->state->interpreter, at->residence->rows->worker_bytes,
                             &at->state->error))
        return ML_ARENA_ERROR;
    /* A node without scratch, for which none was planned, keeps the work block. */
    if (at->row->scratch_blocks > 0 || at->node->n_children > 0 || at->row->scratch_block >= 0)
        status = place_scratch(at, c);
    return status == ML_OK && !wish->open ? place_outputs(at, c) : status;
}

/* A view that shares its input's memory has nothing to compute. */
static bool is_view(const reached *at, const ml_call *c) {
    if (!(at->node->io->flags & ML_NODE_VIEW)) return false;
    return ml_output_row(c, 0)->root == ml_input(c, 0)->root &&
           ml_output_row(c, 0)->storage == ML_STORAGE_ARENA;
}

/* The steps of open nodes keep pointing here, so that each run prepares them. The steps of other
 * nodes point at their eval again, until a shape that they read changes. */
ml_status ml_run_unsettled(const ml_call *call) {
    reached at = where(call);
    ml_wish wish;
    ml_status status = prepare_again(&at, call, &wish);
    if (status != ML_OK) return status;
    ml_step *step = step_of(&at, call);
    at.row->stale = 0;
    at.row->status = at.node->io->flags & ML_NODE_FUSED ? ML_NODE_IS_FUSED
                     : is_view(&at, call)               ? ML_NODE_IS_VIEW
                     : ml_writes_nothing(at.node, call) ? ML_NODE_IS_EMPTY
                                                        : ML_NODE_RUNS;
    if (at.node->pack_start >= 0)
        step->call.packed =
            ml_constant_weights(at.state->graph, at.residence->rows, at.frame, call->node);
    const ml_eval_fn eval = ml_eval_of(at.node, at.row);
    if (!at.row->open || at.node->io->flags & ML_NODE_BORROWS) step->eval = eval;
    status = eval(&step->call);
    return status == ML_OK && wish.open ? check_shaped(call) : status;
}

/* A plan without dynamic tensors has places for all outputs already. */
ml_status ml_settle_outputs(const ml_call *call) {
    reached at = where(call);
    return at.residence->learnt ? place_outputs(&at, call) : ML_OK;
}
