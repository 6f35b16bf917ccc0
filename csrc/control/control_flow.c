/* control_flow.c -- WHILE and CALL_ONCE: subgraphs run inside the same loop, their peak is scratch of the calling node.
 *
 * A WHILE whose carries keep their shapes has two slots a carry in its scratch: one holds the value, the body writes the
 * other, and they change hands after each iteration. A carry that the body passes through needs none; one whose new value
 * is another input, a constant or a second copy of an output is copied into its slot. When a carry changes shape the body
 * is prepared again for the new shapes and values travel through buffers that the state keeps from run to run.
 */
#include "run/engine.h"

typedef struct while_blob {
    int64_t slots_start; /* in scratch, behind the region that condition and body share */
    int32_t fixed; /* carries keep their shapes */
    int32_t reserved;
} while_blob;

static int64_t align64(int64_t bytes) { return (bytes + 63) & ~(int64_t)63; }

typedef struct body_view {
    const ml_planner_graph *io;
    ml_tensor *tensors;
    void **data;
    int32_t frame;
} body_view;

static body_view view_child(const ml_graph *g, const ml_plan *plan, void **data, int32_t frame) {
    const ml_frame *f = &g->frames[frame];
    return (body_view){&g->subgraphs[f->subgraph].io, ml_frame_tensors(plan, frame),
                       data ? data + f->tensor_base : NULL, frame};
}

static bool passes_through(const body_view *body, int32_t i) {
    return body->io->outputs[i] == body->io->inputs[i];
}

/* Whether the body computes output `i` straight into a slot: it is no input and stands here for the first time. */
static bool lies_in_slot(const body_view *body, int32_t i) {
    int32_t t = body->io->outputs[i];
    for (int32_t k = 0; k < body->io->n_inputs; k++)
        if (body->io->inputs[k] == t) return false;
    for (int32_t k = 0; k < i; k++)
        if (body->io->outputs[k] == t) return false;
    return body->tensors[t].storage == ML_STORAGE_SLOT;
}

static ml_status check_condition(const ml_call *c, const body_view *condition) {
    if (condition->io->n_outputs != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the condition has %d outputs, must have 1",
                       condition->io->n_outputs);
    const ml_tensor *t = &condition->tensors[condition->io->outputs[0]];
    if (t->type != ML_B8)
        return ml_fail(c, ML_SHAPE_ERROR, "the condition's output has type %d, must be bool",
                       t->type);
    if (t->shaped && ml_elements(&t->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the condition's output has %lld elements, must have 1",
                       (long long)ml_elements(&t->shape));
    return ML_OK;
}

/* Sweeps both subgraphs for the shapes the node is given; true in *fixed when the body gives back what it takes. */
static ml_status sweep_children(const ml_call *c, bool *fixed) {
    const ml_shape *shapes[64];
    if (c->n_inputs > 64 || c->n_inputs != c->n_outputs)
        return ml_fail(c, ML_SHAPE_ERROR, "%d inputs and %d outputs: must be as many, at most 64",
                       c->n_inputs, c->n_outputs);
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (!ml_input(c, i)) return ml_fail(c, ML_SHAPE_ERROR, "carry %d is absent", i);
        shapes[i] = &ml_input(c, i)->shape;
    }
    for (int child = 0; child < 2; child++) {
        ml_status status = ml_child_sweep(c, child, shapes, c->n_inputs);
        if (status != ML_OK) return status;
    }
    body_view condition =
        view_child(c->env->engine->plan->graph, c->env->engine->plan, NULL, ml_child_frame(c, 0));
    body_view body =
        view_child(c->env->engine->plan->graph, c->env->engine->plan, NULL, ml_child_frame(c, 1));
    if (body.io->n_outputs != c->n_outputs)
        return ml_fail(c, ML_SHAPE_ERROR, "the body has %d outputs, the node carries %d",
                       body.io->n_outputs, c->n_outputs);
    *fixed = true;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        const ml_tensor *out = &body.tensors[body.io->outputs[i]];
        if (out->type != ml_input(c, i)->type || out->type != body.tensors[body.io->inputs[i]].type)
            return ml_fail(c, ML_SHAPE_ERROR, "carry %d has type %d, the body gives back type %d",
                           i, ml_input(c, i)->type, out->type);
        *fixed = *fixed && out->shaped && !out->dynamic && ml_same_shape(&out->shape, shapes[i]) &&
                 !ml_input(c, i)->dynamic;
    }
    return check_condition(c, &condition);
}

static ml_status prepare_while(const ml_call *c, ml_wish *wish) {
    while_blob *blob = c->blob;
    bool fixed;
    ml_status status = sweep_children(c, &fixed);
    if (status != ML_OK) return status;
    body_view body =
        view_child(c->env->engine->plan->graph, c->env->engine->plan, NULL, ml_child_frame(c, 1));
    for (int32_t i = 0; fixed && i < c->n_outputs; i++) {
        ml_tensor *t = &body.tensors[body.io->outputs[i]];
        if (t->storage == ML_STORAGE_ARENA) t->storage = ML_STORAGE_SLOT;
    }
    int64_t region[2];
    for (int child = 0; child < 2 && status == ML_OK; child++)
        status = ml_child_place(c, child, &region[child]);
    if (status != ML_OK) return status;
    blob->slots_start = align64(region[0] > region[1] ? region[0] : region[1]);
    blob->fixed = fixed;
    wish->scratch_bytes = blob->slots_start;
    if (!fixed) return ml_open_all(wish);
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++) {
        if (!passes_through(&body, i) &&
            __builtin_add_overflow(wish->scratch_bytes, 2 * align64(ml_input(c, i)->bytes),
                                   &wish->scratch_bytes))
            return ml_fail(c, ML_SHAPE_ERROR,
                           "the carries' slots add up to more bytes than an int64 counts");
        status = ml_set_output(c, i, &ml_input(c, i)->shape);
    }
    return status;
}

/* Carry `i` lives in slot `turn`; slots follow each other in carry order, two each. */
static uint8_t *slot_of(const ml_call *c, const body_view *body, int32_t carry, int turn) {
    const while_blob *blob = c->blob;
    uint8_t *slot = (uint8_t *)c->scratch + blob->slots_start;
    for (int32_t i = 0; i < carry; i++)
        if (!passes_through(body, i)) slot += 2 * align64(ml_in_tensor(c, i)->bytes);
    return slot + turn * align64(ml_in_tensor(c, carry)->bytes);
}

static void copy(void *to, const void *from, int64_t bytes) {
    if (bytes > 0 && to != from) memcpy(to, from, (size_t)bytes);
}

static ml_status ask_condition(const ml_call *c, const body_view *condition, bool *go_on) {
    ml_status status = ml_check_interrupt(c->env->engine->state, 1);
    if (status == ML_OK) status = ml_run_frame(c->env->engine->state, condition->frame);
    if (status == ML_OK) *go_on = *(const uint8_t *)condition->data[condition->io->outputs[0]] != 0;
    return status;
}

static ml_status run_fixed(const ml_call *c, const body_view *condition, const body_view *body) {
    int turn = 0;
    uint8_t *slots[64][2];
    for (int32_t i = 0; i < c->n_inputs; i++) {
        slots[i][0] =
            passes_through(body, i) ? (uint8_t *)c->data[c->inputs[i]] : slot_of(c, body, i, 0);
        slots[i][1] = passes_through(body, i) ? slots[i][0] : slot_of(c, body, i, 1);
        copy(slots[i][0], ml_in(c, i), ml_in_tensor(c, i)->bytes);
    }
    for (;;) {
        for (int32_t i = 0; i < c->n_inputs; i++)
            condition->data[condition->io->inputs[i]] = body->data[body->io->inputs[i]] =
                slots[i][turn];
        for (int32_t i = 0; i < c->n_inputs; i++)
            if (lies_in_slot(body, i)) body->data[body->io->outputs[i]] = slots[i][1 - turn];
        bool go_on;
        ml_status status = ask_condition(c, condition, &go_on);
        if (status == ML_OK && go_on) status = ml_run_frame(c->env->engine->state, body->frame);
        if (status != ML_OK) return status;
        if (!go_on) break;
        for (int32_t i = 0; i < c->n_inputs; i++)
            if (!passes_through(body, i))
                copy(slots[i][1 - turn], body->data[body->io->outputs[i]],
                     ml_in_tensor(c, i)->bytes);
        turn = 1 - turn;
    }
    for (int32_t i = 0; i < c->n_inputs; i++)
        copy(ml_out(c, i), slots[i][turn], ml_in_tensor(c, i)->bytes);
    return ML_OK;
}

/* Loops whose carries change shape ------------------------------------------------------------------------------------ */

static ml_buffer *carry(const ml_call *c, const body_view *body, int32_t i, int turn) {
    ml_state *s = c->env->engine->state;
    return &s->carries[2 * (s->graph->frames[body->frame].tensor_base + body->io->inputs[i]) +
                       turn];
}

/* Prepares and binds both subgraphs for the carries' present shapes, unless they already are. */
static ml_status adapt_children(const ml_call *c, const body_view *condition, const body_view *body,
                                int turn) {
    bool same = true;
    const ml_shape *shapes[64];
    for (int32_t i = 0; i < c->n_inputs; i++) {
        shapes[i] = &carry(c, body, i, turn)->shape;
        same = same && ml_same_shape(shapes[i], &body->tensors[body->io->inputs[i]].shape);
    }
    if (same) return ML_OK;
    const body_view *views[2] = {condition, body};
    for (int child = 0; child < 2; child++) {
        int64_t bytes;
        ml_status status = ml_child_sweep(c, child, shapes, c->n_inputs);
        if (status == ML_OK) status = ml_child_place(c, child, &bytes);
        if (status == ML_OK)
            status = ml_give_region(c->env->engine->state, views[child]->frame, c->scratch);
        if (status != ML_OK) {
            c->env->engine->state->plan->broken = true;
            return status;
        }
    }
    c->env->engine->state->counters.suffix_plans++;
    return ML_OK;
}

static ml_status run_changing(const ml_call *c, const body_view *condition, const body_view *body) {
    ml_state *s = c->env->engine->state;
    ml_status status = ml_make_carries(s);
    int turn = 0;
    for (int32_t i = 0; i < c->n_inputs && status == ML_OK; i++)
        status = ml_buffer_set(carry(c, body, i, 0), ml_in_tensor(c, i), ml_in(c, i), s->error);
    for (bool go_on = true; go_on && status == ML_OK;) {
        status = adapt_children(c, condition, body, turn);
        if (status != ML_OK) break;
        for (int32_t i = 0; i < c->n_inputs; i++)
            condition->data[condition->io->inputs[i]] = body->data[body->io->inputs[i]] =
                carry(c, body, i, turn)->data;
        status = ask_condition(c, condition, &go_on);
        if (status != ML_OK || !go_on) break;
        status = ml_run_frame(s, body->frame);
        for (int32_t i = 0; i < c->n_inputs && status == ML_OK; i++) {
            int32_t t = body->io->outputs[i];
            if (!body->tensors[t].shaped)
                return ml_fail(c, ML_KERNEL_ERROR, "the body computes no value for carry %d", i);
            status = ml_buffer_set(carry(c, body, i, 1 - turn), &body->tensors[t], body->data[t],
                                   s->error);
        }
        turn = 1 - turn;
    }
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++)
        status = ml_set_output(c, i, &carry(c, body, i, turn)->shape);
    if (status == ML_OK) status = ml_settle(c);
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++)
        copy(ml_out(c, i), carry(c, body, i, turn)->data, carry(c, body, i, turn)->bytes);
    return status;
}

static ml_status run_while(const ml_call *c) {
    const ml_state *s = c->env->engine->state;
    const int32_t *children =
        s->graph->children[s->graph->frames[c->env->engine->frame].node_base + c->node];
    body_view condition = view_child(s->graph, s->plan, s->data, children[0]);
    body_view body = view_child(s->graph, s->plan, s->data, children[1]);
    const while_blob *blob = c->blob;
    return blob->fixed ? run_fixed(c, &condition, &body) : run_changing(c, &condition, &body);
}

/* CALL_ONCE: the subgraph runs at the node's first turn in an interpreter's life (and again after variables are reset). */
static ml_status prepare_call_once(const ml_call *c, ml_wish *wish) {
    ml_status status = ml_child_sweep(c, 0, NULL, 0);
    return status == ML_OK ? ml_child_place(c, 0, &wish->scratch_bytes) : status;
}

static ml_status run_call_once(const ml_call *c) {
    ml_state *s = c->env->engine->state;
    int32_t child =
        s->graph->children[s->graph->frames[c->env->engine->frame].node_base + c->node][0];
    bool *called = &s->called_once[s->graph->frames[child].subgraph];
    if (*called) return ML_OK;
    ml_status status = ml_run_frame(s, child);
    *called = status == ML_OK;
    return status;
}

ML_KERNELS(control_flow) = {
    ML_KERNEL_NO_PARAMS("while", sizeof(while_blob), ML_KERNEL_HAS_EFFECTS | ML_KERNEL_SETS_SHAPES,
                        prepare_while, run_while),
    ML_KERNEL_NO_PARAMS("call_once", 0, ML_KERNEL_HAS_EFFECTS, prepare_call_once, run_call_once),
    ML_KERNELS_END,
};
