/* lstm.c -- LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM, BIDIRECTIONAL_SEQUENCE_LSTM: what stands where,
 * what goes with which. */
#include "lstm.h"

ML_FIELDS(lstm_params, LSTM_FIELDS)

/* An auxiliary input without weights is what goes backwards. */
static void set_places(const ml_call *c, lstm_run runs[2]) {
    const lstm_params *params = c->params;
    if (c->n_inputs <= 24) {
        bool normed = c->n_inputs > 20 && ml_input(c, 21);
        runs[0] =
            (lstm_run){.r = {.state = 18}, .first = 1, .cell_state = 19, .norms = normed ? 20 : 0};
        return;
    }
    runs[0] = (lstm_run){.r = {.aux = 39, .state = 35}, .first = 1, .cell_state = 36};
    runs[1] = (lstm_run){.r = {.aux = 39, .state = 37, .output = params->merged ? 0 : 1},
                         .first = 18,
                         .cell_state = 38};
    runs[1].r.behind = params->merged;
    if (ml_input(c, 39) && !ml_input(c, 41)) runs[1].r.x = 39;
}

int32_t ml_lstm_describe(const ml_call *c, lstm_run runs[2], int64_t *derived) {
    bool crossed = ml_input(c, 39) && ml_input(c, 41);
    int32_t n = c->n_inputs <= 24 ? 1 : 2;
    set_places(c, runs);
    for (int32_t i = 0; i < n; i++) {
        lstm_run *run = &runs[i];
        ml_gates *gates = run->r.gates;
        int32_t first = run->first, skipped = run->skipped = !ml_input(c, first);
        int32_t count = ML_MAX_GATES - skipped;
        if (!ml_gates_of(c, first + skipped, count, &gates[ML_OF_INPUT]) ||
            !ml_gates_of(c, first + 4 + skipped, count, &gates[ML_OF_STATE]) ||
            (crossed && !ml_gates_of(c, 40 + 4 * i + skipped, count, &gates[ML_OF_AUX])) ||
            (ml_input(c, first + 15) && !ml_gates_of(c, first + 15, 1, &gates[ML_OF_HIDDEN])))
            return -1;
        ml_place_weights(c, &run->r, derived);
    }
    return n;
}

void ml_lstm_pack(const ml_call *c, int64_t head, void *to) {
    lstm_run runs[2];
    for (int32_t i = 0, n = ml_lstm_describe(c, runs, &head); i < n; i++)
        ml_pack_known(c, &runs[i].r, to);
}

int64_t ml_lstm_derive_floats(const ml_call *c, void *to) {
    lstm_run runs[2];
    int64_t bytes = 0;
    if (ml_lstm_describe(c, runs, &bytes) < 0) return 0; /* prepare refuses */
    if (to) ml_lstm_pack(c, 0, to);
    return bytes;
}

void ml_lstm_place_scratch(const ml_call *c, lstm_run runs[2], int32_t n, int64_t *scratch) {
    for (int32_t i = 0; i < n; i++) {
        ml_recurrent *r = &runs[i].r;
        int64_t cells = r->gates[ML_OF_INPUT].outputs;
        ml_place_scratch(c, r, ((const lstm_params *)c->params)->time_major, i == 1, scratch);
        int64_t batches = r->sequence.batches, outputs = r->gates[ML_OF_HIDDEN].outputs;
        runs[i].hidden_at = ml_room(scratch, batches, cells, sizeof(float));
        runs[i].projected_at = ml_room(scratch, batches, outputs, sizeof(int32_t));
        runs[i].gates_at = ml_room(scratch, ML_MAX_GATES, cells, sizeof(float));
    }
}

ml_status ml_lstm_run(const ml_call *c, int64_t head, ml_step_fn *step) {
    lstm_run runs[2];
    int64_t scratch = 0;
    int32_t n = ml_lstm_describe(c, runs, &head);
    ml_status status = ML_OK;
    ml_lstm_place_scratch(c, runs, n, &scratch);
    for (int32_t i = 0; i < n && status == ML_OK; i++)
        status = ml_run_recurrent(c, &runs[i].r, ((const lstm_params *)c->params)->asymmetric, step,
                                  &runs[i]);
    return status;
}

/* Shapes --------------------------------------------------------------------------------------- */

/* Inputs first .. first + n - 1 are all there, or all absent. */
static ml_status together(const ml_call *c, int32_t first, int32_t n, bool wanted) {
    for (int32_t i = first; i < first + n; i++)
        if ((ml_input(c, i) != NULL) != wanted)
            return ml_fail(c, ML_SHAPE_ERROR, "input %d is %s, which does not go with the others",
                           i, wanted ? "absent" : "there");
    return ML_OK;
}

/* What goes with which: the input gate's operands, peepholes, coefficients, the projection; `aux`
 * is 0 where there are no weights of an auxiliary input. */
static ml_status check_presence(const ml_call *c, const lstm_run *run, int32_t aux) {
    int32_t first = run->first, norms = run->norms, skipped = !ml_input(c, first);
    bool peepholes = ml_input(c, first + 10) != NULL;
    ml_status status = together(c, first + 4, 1, !skipped);
    if (status == ML_OK) status = together(c, first + 11, 1, !skipped);
    if (status == ML_OK) status = together(c, first + 8, 1, peepholes && !skipped);
    if (status == ML_OK) status = together(c, first + 9, 2, peepholes);
    if (status == ML_OK && norms) status = together(c, norms, 1, !skipped);
    if (status == ML_OK && norms) status = together(c, norms + 1, 3, true);
    if (status == ML_OK && aux) status = together(c, aux, 1, !skipped);
    if (status == ML_OK && aux) status = together(c, aux + 1, 3, true);
    if (status == ML_OK && !ml_input(c, first + 15)) status = together(c, first + 16, 1, false);
    return status;
}

static ml_status check_state(const ml_call *c, int32_t i, int64_t batches, int64_t each) {
    const ml_shape *shape = &ml_input(c, i)->shape;
    char text[96];
    if (ml_elements(shape) == batches * each) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "state %d has the shape %s, expected (%lld, %lld)", i,
                   ml_shape_text(shape, text), (long long)batches, (long long)each);
}

/* The weights of one product: matrices of k columns, or diagonals where they are floats among
 * others. */
static ml_status check_gates(const ml_call *c, const ml_gates *g, int32_t type, int64_t cells,
                             int64_t k) {
    ml_status status = ML_OK;
    for (int32_t i = 0; i < g->n && status == ML_OK; i++) {
        int32_t rank = g->type == type ? ml_input(c, g->weights[i])->shape.rank : 1;
        status = ml_expect(c, g->weights[i], rank, cells, k);
    }
    return status;
}

static ml_status check_shapes(const ml_call *c, const lstm_run *run) {
    const ml_gates *gates = run->r.gates, *of_state = &gates[ML_OF_STATE];
    int64_t cells = gates[ML_OF_INPUT].outputs, outputs = of_state->k;
    const ml_shape *x = &ml_input(c, run->r.x)->shape;
    int32_t type = gates[ML_OF_INPUT].type, last = x->rank - 1, first = run->first;
    ml_status status = check_gates(c, &gates[ML_OF_INPUT], type, cells, x->dims[last]);
    if (status == ML_OK) status = check_gates(c, of_state, type, cells, outputs);
    if (status == ML_OK && gates[ML_OF_AUX].n)
        status = check_gates(c, &gates[ML_OF_AUX], type, cells,
                             ml_input(c, run->r.aux)->shape.dims[last]);
    for (int32_t g = 0; g < ML_MAX_GATES && status == ML_OK; g++) {
        status = ml_expect(c, first + 11 + g, 1, cells, 0);
        if (status == ML_OK && run->norms) status = ml_expect(c, run->norms + g, 1, cells, 0);
        if (status == ML_OK && g < 3) status = ml_expect(c, first + 8 + g, 1, cells, 0);
    }
    if (status == ML_OK) status = ml_expect(c, first + 15, 2, outputs, cells);
    if (status == ML_OK) status = ml_expect(c, first + 16, 1, outputs, 0);
    if (status == ML_OK && !gates[ML_OF_HIDDEN].n && outputs != cells)
        status = ml_fail(c, ML_SHAPE_ERROR, "%lld cells do not match %lld outputs",
                         (long long)cells, (long long)outputs);
    int64_t batches = run->r.sequence.batches;
    if (status == ML_OK) status = check_state(c, run->r.state, batches, outputs);
    return status == ML_OK ? check_state(c, run->cell_state, batches, cells) : status;
}

/* The basic kernel, of 5 inputs: x, the last output, weights of both for four gates, biases, cells.
 * Its outputs are the next output, cells, rows of both inputs, and sums of gates. */
static ml_status prepare_basic(const ml_call *c) {
    const ml_shape *x = &ml_input(c, 0)->shape, *last = &ml_input(c, 1)->shape;
    ml_status status = ml_check_sequence(c, 5, 2);
    if (status == ML_OK) status = ml_expect(c, 1, 2, x->dims[0], last->dims[last->rank - 1]);
    if (status != ML_OK) return status;
    int64_t batches = x->dims[0], n = last->dims[1], rows = n + x->dims[1];
    const int64_t widths[] = {n, n, rows, 4 * n};
    status = ml_expect(c, 2, 2, 4 * n, rows);
    if (status == ML_OK) status = ml_expect(c, 3, 1, 4 * n, 0);
    if (status == ML_OK) status = ml_expect(c, 4, 2, batches, n);
    ml_shape y = *x;
    for (int32_t i = 0; i < 4 && status == ML_OK; i++) status = ml_set_width(c, i, &y, widths[i]);
    return status;
}

static ml_status prepare_lstm(const ml_call *c, ml_wish *wish) {
    const lstm_params *params = c->params;
    if (c->n_outputs == 4) return prepare_basic(c);
    lstm_run runs[2];
    int64_t derived = 0, scratch = 0, width = 0;
    ml_status status = ml_check_sequence(c, 39, params->rank);
    if (status != ML_OK) return status;
    ml_shape y = ml_input(c, 0)->shape;
    int32_t n = c->n_inputs <= 24 ? 1 : 2;
    bool crossed = ml_input(c, 39) && ml_input(c, 41);
    set_places(c, runs);
    for (int32_t i = 0; i < n && status == ML_OK; i++)
        status = check_presence(c, &runs[i], crossed ? 40 + 4 * i : 0);
    if (status == ML_OK && ml_lstm_describe(c, runs, &derived) < 0)
        status = ml_fail(c, ML_SHAPE_ERROR, "the weights of some gates differ in type or shape");
    if (status != ML_OK) return status;
    ml_lstm_place_scratch(c, runs, n, &scratch);
    for (int32_t i = 0; i < n && status == ML_OK; i++) {
        int64_t outputs = runs[i].r.gates[ML_OF_STATE].k;
        width = outputs + (runs[i].r.behind ? width : 0);
        status = check_shapes(c, &runs[i]);
        if (status == ML_OK) status = ml_set_width(c, runs[i].r.output, &y, width);
    }
    ml_reserve(wish, scratch);
    return status;
}

/* Operands of a direction, from the weights to the projection's bias. */
#define GATES(type) type "? " type " " type " " type " "
#define DIRECTION(w, r, peephole, bias)                                              \
    GATES(w) GATES(r) peephole "? " peephole "? " peephole "? " GATES(bias) w "? " bias "? "
#define ONE(x, w, r, peephole, bias, norm, cell)                                     \
    x " " DIRECTION(w, r, peephole, bias) x " " cell " " norm "? " norm "? " norm "? " norm "? -> " x
#define FLOATS(w, r) \
    {ONE("f32", w, r, w, "f32", "f32", "f32"), ml_lstm_derive_floats, NULL, ml_lstm_floats}
#define EACH_AUX(w) w "? " w "? " w "? " w "? "
#define BOTH(w)                                                                    \
    "f32 " DIRECTION(w, w, w, "f32") DIRECTION(w, w, w, "f32") "f32 f32 f32 f32 f32? "   \
    EACH_AUX(w) EACH_AUX(w) "-> f32 f32?"
static const ml_typed lstm[] = {
    FLOATS("f32", "f32"),
    FLOATS("s8", "s8"),
    FLOATS("u8", "u8"),
    FLOATS("s8", "f32"), /* diagonals */
    FLOATS("u8", "f32"),
    {ONE("s8", "s8", "s8", "s16", "s32", "s16", "s16"), ml_lstm_derive_integers, NULL,
     ml_lstm_integers},
    {NULL, NULL, NULL, NULL},
};
static const ml_typed bidirectional[] = {
    {BOTH("f32"), ml_lstm_derive_floats, NULL, ml_lstm_floats},
    {BOTH("s8"), ml_lstm_derive_floats, NULL, ml_lstm_floats},
    {BOTH("u8"), ml_lstm_derive_floats, NULL, ml_lstm_floats},
    {NULL, NULL, NULL, NULL},
};

ML_KERNELS(lstm) = {
    {.abi = ML_KERNEL_ABI,
     .flags = ML_KERNEL_HAS_EFFECTS,
     .name = "lstm",
     ML_PARAMS_OF(lstm_params),
     .prepare = prepare_lstm,
     .typed = lstm},
    {.abi = ML_KERNEL_ABI,
     .flags = ML_KERNEL_HAS_EFFECTS,
     .name = "bidirectional_sequence_lstm",
     ML_PARAMS_OF(lstm_params),
     .prepare = prepare_lstm,
     .typed = bidirectional},
    ML_KERNELS_END,
};
