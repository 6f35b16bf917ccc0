/* while.c -- WHILE: runs its body for as long as its condition says so.
 *
 * A carry is a value that one iteration passes to the next. A loop whose carries keep their shapes
 * has two slots per carry in its scratch: one holds the value, the body writes the other, and they
 * swap after each iteration. A carry that the body passes through needs no slots. A carry whose new
 * value is another input, a constant or a second copy of an output is copied into its slot. When a
 * carry changes shape, or its shape is not known while planning, it has two blocks in place of the
 * slots, which grow as needed and are kept by the state from run to run. The nodes of the body that
 * read what changed are prepared again, each when it is reached. */
#include "control/control.h"
#include "run/watch.h"

typedef struct while_blob {
    /* Carries keep their shapes: scratch has two slots, in order, for each carry that is not passed
     * through. */
    int32_t fixed;
} while_blob;

enum { CONDITION = 0, BODY = 1 };

static int64_t slot_bytes(const ml_tensor *carry) { return ml_round_up(carry->bytes, 64); }

static ml_status check_types(const ml_call *c, const ml_child *condition, const ml_child *body) {
    ml_status status = ml_child_check(c, condition, 0, 1, "condition", -1);
    if (status == ML_OK) status = ml_child_check(c, body, 0, c->n_outputs, "body", -1);
    if (status != ML_OK) return status;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        int32_t carry = ml_input(c, i)->type, back = ml_child_output(c, body, i)->type,
                out = ml_output(c, i)->type;
        if (carry != back || carry != out)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "carried value %d has type %s, the body returns %s, the output has %s",
                           i, ml_type_name(carry), ml_type_name(back), ml_type_name(out));
    }
    const ml_tensor *t = ml_child_output(c, condition, 0);
    if (t->type != ML_B8)
        return ml_fail(c, ML_SHAPE_ERROR, "the condition's output has type %s, must be b8",
                       ml_type_name(t->type));
    return ML_OK;
}

static ml_status check_condition(const ml_call *c, const ml_child *condition) {
    const ml_tensor *t = ml_child_output(c, condition, 0);
    if (!t->shaped || ml_elements(&t->shape) == 1) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "the condition's output has %lld elements, must have 1",
                   (long long)ml_elements(&t->shape));
}

/* True if the body's outputs have the shapes of its inputs, so that carries can be in slots. */
static bool keeps_shapes(const ml_call *c, const ml_child *body) {
    for (int32_t i = 0; i < c->n_inputs; i++) {
        const ml_tensor *out = ml_child_output(c, body, i), *in = ml_input(c, i);
        if (!out->shaped || out->dynamic || ml_type_is_heap(in->type) ||
            !ml_same_shape(&out->shape, &in->shape))
            return false;
    }
    return true;
}

static ml_status prepare_while(const ml_call *c, ml_wish *wish) {
    while_blob *blob = c->blob;
    ml_child condition = ml_child_of(c, CONDITION), body = ml_child_of(c, BODY);
    ml_status status = check_types(c, &condition, &body);
    if (status != ML_OK) return status;
    if (ml_reached(c)) return ml_open_all(wish); /* in a run: shapes follow from running */
    status = ml_child_sweep(c, &condition, false, false);
    if (status == ML_OK) status = ml_child_sweep(c, &body, false, false);
    if (status == ML_OK) status = check_condition(c, &condition);
    if (status != ML_OK) return status;
    blob->fixed = keeps_shapes(c, &body);
    if (!blob->fixed) {
        status = ml_child_sweep(c, &condition, true, false);
        if (status == ML_OK) status = ml_child_sweep(c, &body, true, false);
        for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++)
            ml_child_place_output(c, &body, i);
        return status == ML_OK ? ml_open_all(wish) : status;
    }
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++) {
        ml_child_place_output(c, &body, i);
        if (!ml_passes_through(&body, i)) ml_reserve(wish, 2 * slot_bytes(ml_input(c, i)));
        status = ml_set_output(c, i, &ml_input(c, i)->shape);
    }
    return status;
}

static void copy(void *to, const void *from, int64_t bytes) {
    if (bytes > 0 && to != from) memcpy(to, from, (size_t)bytes);
}

/* True if there is another iteration, after `made` of them. */
static ml_status ask_condition(const ml_call *c, const ml_child *condition, int64_t made,
                               bool *go_on) {
    int64_t most = c->env->engine->engine->state->interpreter->max_iterations;
    ml_status status = ml_check_interrupt(c->env->engine->engine->state, 1);
    if (status == ML_OK) status = ml_child_run(c, condition);
    if (status == ML_OK) status = check_condition(c, condition);
    if (status != ML_OK) return status;
    *go_on = *(const uint8_t *)ml_child_value(c, condition, 0).data != 0;
    if (*go_on && most > 0 && made >= most)
        return ml_fail(c, ML_KERNEL_ERROR,
                       "its condition still holds after %lld iterations, max_iterations is %lld",
                       (long long)made, (long long)most);
    return ML_OK;
}

/* Loops whose carries keep their shapes -------------------------------------------------------- */

/* Points the readers and writers of carries to the slots of this turn. Slots are counted again each
 * time, not stored, so that any number is possible. */
static void point_carries(const ml_call *c, const ml_child *condition, const ml_child *body,
                          int turn) {
    uint8_t *slot = c->scratch;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        int64_t bytes = slot_bytes(ml_in_tensor(c, i));
        bool passes = ml_passes_through(body, i);
        void *value = passes ? ml_variable(c, i) : slot + turn * bytes;
        condition->data[condition->io->inputs[i]] = body->data[body->io->inputs[i]] = value;
        if (!passes && ml_child_output_is_placed(c, body, i))
            body->data[body->io->outputs[i]] = slot + (1 - turn) * bytes;
        if (!passes) slot += 2 * bytes;
    }
}

/* Copies into the slots of `turn`, from the node's operands or from the body's outputs. */
static void fill_slots(const ml_call *c, const ml_child *body, int turn, bool first) {
    uint8_t *slot = c->scratch;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (ml_passes_through(body, i)) continue;
        int64_t bytes = ml_in_tensor(c, i)->bytes, room = slot_bytes(ml_in_tensor(c, i));
        copy(slot + turn * room, first ? ml_in(c, i) : body->data[body->io->outputs[i]], bytes);
        slot += 2 * room;
    }
}

static ml_status run_fixed(const ml_call *c, const ml_child *condition, const ml_child *body) {
    int turn = 0;
    fill_slots(c, body, turn, true);
    for (int64_t made = 0;; made++) {
        point_carries(c, condition, body, turn);
        bool go_on;
        ml_status status = ask_condition(c, condition, made, &go_on);
        if (status == ML_OK && go_on) status = ml_child_run(c, body);
        if (status != ML_OK) return status;
        if (!go_on) break;
        fill_slots(c, body, 1 - turn, false);
        turn = 1 - turn;
    }
    for (int32_t i = 0; i < c->n_inputs; i++)
        copy(ml_out(c, i), body->data[body->io->inputs[i]], ml_in_tensor(c, i)->bytes);
    return ML_OK;
}

/* Loops whose carries change shape ------------------------------------------------------------- */

/* The value of a carry: the node's operand before the first iteration (`turn` is -1), and always if
 * the body passes it through; else the block that the body has written. */
typedef struct carried {
    const ml_shape *shape;
    void *data;
    int64_t bytes;
} carried;

static carried carried_now(const ml_call *c, const ml_child *body, int32_t i, int turn) {
    if (turn < 0 || ml_passes_through(body, i))
        return (carried){&ml_in_tensor(c, i)->shape, ml_variable(c, i), ml_in_bytes(c, i)};
    const ml_block *b = &ml_carry_blocks(c, body, i)[turn];
    return (carried){&b->shape, b->data, b->bytes};
}

static void offer_carries(const ml_call *c, const ml_child *child, const ml_child *body, int turn) {
    for (int32_t i = 0; i < c->n_inputs; i++) {
        const carried now = carried_now(c, body, i, turn);
        ml_child_set_input(c, child, i, now.shape, now.data, now.bytes);
    }
}

/* Points what the body computes at the blocks that it writes now, with room for the shapes of the
 * iteration before; where a shape grows, its node asks for more room (run/dynamic.c). */
static ml_status point_outputs(const ml_call *c, const ml_child *body, int32_t writes) {
    ml_child_writes(c, body, writes);
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (!ml_child_output_is_placed(c, body, i)) continue;
        const ml_tensor *t = ml_child_output(c, body, i);
        ml_block *b = &ml_carry_blocks(c, body, i)[writes];
        ml_status status =
            ml_block_reserve(ml_account_of(c), b, t->shaped ? t->bytes : 0, c->env->error);
        if (status != ML_OK) return status;
        body->data[body->io->outputs[i]] = b->data;
    }
    return ML_OK;
}

/* Notes what the body has written, and copies what lies elsewhere: another input, a constant, a
 * second copy of an output, a string. */
static ml_status carry_on(const ml_call *c, const ml_child *body, int32_t writes) {
    for (int32_t i = 0; i < c->n_inputs; i++) {
        if (ml_passes_through(body, i)) continue;
        ml_value_now value = ml_child_value(c, body, i);
        if (!value.tensor->shaped || (!value.data && value.bytes > 0))
            return ml_fail(c, ML_KERNEL_ERROR, "the body computes no value for carried value %d",
                           i);
        ml_block *b = &ml_carry_blocks(c, body, i)[writes];
        ml_status status = ml_block_set(ml_account_of(c), b, &value.tensor->shape,
                                        value.tensor->type, value.data, value.bytes, c->env->error);
        if (status != ML_OK) return status;
    }
    return ML_OK;
}

static ml_status give_back(const ml_call *c, const ml_child *body, int turn) {
    ml_status status = ML_OK;
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++)
        status = ml_set_output(c, i, carried_now(c, body, i, turn).shape);
    if (status == ML_OK) status = ml_settle(c);
    for (int32_t i = 0; i < c->n_outputs && status == ML_OK; i++) {
        const carried now = carried_now(c, body, i, turn);
        if (ml_type_is_heap(ml_in_tensor(c, i)->type)) status = ml_set_bytes(c, i, now.bytes);
        if (status == ML_OK) copy(ml_out(c, i), now.data, now.bytes);
    }
    return status;
}

static ml_status run_changing(const ml_call *c, const ml_child *condition, const ml_child *body) {
    if (c->n_inputs > 0 && !ml_carry_blocks(c, body, 0)) return ML_ARENA_ERROR;
    int turn = -1;
    ml_status status = ML_OK;
    for (int64_t made = 0; status == ML_OK; made++) {
        offer_carries(c, condition, body, turn);
        offer_carries(c, body, body, turn);
        bool go_on;
        status = ask_condition(c, condition, made, &go_on);
        if (status != ML_OK || !go_on) break;
        turn = turn == 0 ? 1 : 0;
        status = point_outputs(c, body, turn);
        if (status == ML_OK) status = ml_child_run(c, body);
        if (status == ML_OK) status = carry_on(c, body, turn);
    }
    return status == ML_OK ? give_back(c, body, turn) : status;
}

static ml_status run_while(const ml_call *c) {
    const while_blob *blob = c->blob;
    ml_child condition = ml_child_of(c, CONDITION), body = ml_child_of(c, BODY);
    return blob->fixed ? run_fixed(c, &condition, &body) : run_changing(c, &condition, &body);
}

/* Numbers and types of the subgraphs' inputs and outputs are checked in prepare. */
static ml_status check_while(const ml_call *c, void *params) {
    const int64_t condition = ml_option_of(c, "cond_subgraph_index").integer;
    const int64_t body = ml_option_of(c, "body_subgraph_index").integer;
    if (c->n_inputs != c->n_outputs)
        return ml_fail(c, ML_UNSUPPORTED, "%d inputs and %d outputs: the counts must be equal",
                       c->n_inputs, c->n_outputs);
    if (condition >= 0 && body >= 0) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "condition is subgraph %lld and body subgraph %lld: both must be 0 or more",
                   (long long)condition, (long long)body);
}

ML_KERNELS(while) = {
    {ML_OP(WHILE, 1, 1), .name = "while", .takes = "carries...? -> results...?",
     .flags = ML_KERNEL_HAS_EFFECTS | ML_KERNEL_SETS_SHAPES | ML_KERNEL_NO_REFERENCE,
     .calls = "cond_subgraph_index body_subgraph_index", .check = check_while,
     .blob_bytes = (int32_t)sizeof(while_blob), .prepare = prepare_while,
     ML_TYPED({"any...? -> any...?", NULL, NULL, run_while})},
    ML_KERNELS_END,
};
