/* lstm.c -- LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM, BIDIRECTIONAL_SEQUENCE_LSTM: shapes, and where everything lies. */
#include "lstm.h"

ML_FIELDS(lstm_params, LSTM_FIELDS)

static const lstm_place one = {.first = 1, .output_state = 18, .cell_state = 19, .norms = 20};
static const lstm_place forwards = {
    .first = 1, .output_state = 35, .cell_state = 36, .aux = 39, .aux_weights = 40};
static const lstm_place backwards = {.first = 18,
                                     .output_state = 37,
                                     .cell_state = 38,
                                     .aux = 39,
                                     .aux_weights = 44,
                                     .output = 1,
                                     .backward = true};

/* An auxiliary input without weights is what goes backwards. */
int32_t ml_lstm_places(const ml_call *c, lstm_place places[2]) {
    const lstm_params *params = c->params;
    if (c->n_inputs <= 24) {
        places[0] = one;
        if (c->n_inputs <= 20 || !ml_input(c, 21)) places[0].norms = 0;
        return 1;
    }
    places[0] = forwards;
    places[1] = backwards;
    for (int i = 0; i < 2; i++)
        if (!ml_input(c, 39) || !ml_input(c, 41)) places[i].aux = 0;
    if (ml_input(c, 39) && !ml_input(c, 41)) places[1].x = 39;
    if (params->merged) places[1].output = 0, places[1].behind = true;
    return 2;
}

/* Layout --------------------------------------------------------------------------------------------------------------- */

bool ml_lstm_describe(const ml_call *c, const lstm_place *at, int64_t derived, lstm_run *run) {
    *run = (lstm_run){.at = *at, .skipped = !ml_input(c, at->first), .known = true};
    int32_t skipped = run->skipped, n = ML_MAX_GATES - skipped;
    if (!ml_gates_of(c, at->first + skipped, n, &run->input) ||
        !ml_gates_of(c, at->first + 4 + skipped, n, &run->recurrent))
        return false;
    if (at->aux && !ml_gates_of(c, at->aux_weights + skipped, n, &run->aux)) return false;
    if (ml_input(c, at->first + 15) && !ml_gates_of(c, at->first + 15, 1, &run->projection))
        return false;
    const ml_gates *all[] = {&run->input, &run->aux, &run->recurrent, &run->projection};
    for (int i = 0; i < 4; i++)
        if (all[i]->n > 0) {
            run->known &= ml_gates_known(c, all[i]);
            run->bytes += ml_pack_gates(c, all[i], NULL);
        }
    run->weights_at = derived;
    return true;
}

static void pack(const ml_call *c, const lstm_run *run, char *to) {
    const ml_gates *all[] = {&run->input, &run->aux, &run->recurrent, &run->projection};
    for (int i = 0; i < 4; i++)
        if (all[i]->n > 0) to += ml_pack_gates(c, all[i], to);
}

const char *ml_lstm_weights(const ml_call *c, const lstm_run *run) {
    if (run->known) return (const char *)c->derived + run->weights_at;
    pack(c, run, ml_scratch(c, run->weights_at));
    return ml_scratch(c, run->weights_at);
}

int64_t ml_lstm_derive_floats(const ml_call *c, void *to) {
    lstm_place places[2];
    lstm_run run;
    int64_t bytes = 0;
    for (int32_t i = 0, n = ml_lstm_places(c, places); i < n; i++) {
        if (!ml_lstm_describe(c, &places[i], bytes, &run) || !run.known) continue;
        if (to) pack(c, &run, (char *)to + bytes);
        bytes += run.bytes;
    }
    return bytes;
}

static int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }

void ml_lstm_lay_out(const ml_call *c, int64_t scratch, lstm_run *run) {
    const lstm_params *params = c->params;
    const ml_shape *x = &ml_input(c, run->at.x)->shape;
    bool integers = run->input.type != ML_F32;
    int64_t cells = run->input.outputs, gates = run->input.n;
    run->sequence = ml_sequence_of(x, params->time_major, run->at.backward);
    run->scratch = scratch;
    if (!run->known) run->weights_at = ml_room(&run->scratch, 1, 1, run->bytes);
    int64_t rows = (int64_t)run->sequence.chunk * run->sequence.batches,
            batches = run->sequence.batches;
    run->input_sums_at = ml_room(&run->scratch, rows, cells, gates * 4);
    if (run->aux.n) run->aux_sums_at = ml_room(&run->scratch, rows, cells, gates * 4);
    run->recurrent_sums_at =
        ml_room(&run->scratch, batches, max(cells * gates, run->recurrent.k), sizeof(float));
    run->hidden_at = ml_room(&run->scratch, batches, cells, sizeof(float));
    run->gates_at = ml_room(&run->scratch, ML_MAX_GATES, cells, sizeof(float));
    if (!integers) return;
    int64_t input = rows * ml_padded_row(max(run->input.k, run->aux.k)),
            state = batches * ml_padded_row(max(run->recurrent.k, cells));
    run->quantized_at = ml_room(&run->scratch, 1, max(input, state), sizeof(int16_t));
    run->scales_at = ml_room(&run->scratch, 1, max(rows, batches), sizeof(float));
}

int32_t ml_lstm_runs(const ml_call *c, int64_t head, lstm_run runs[2]) {
    lstm_place places[2];
    int32_t n = ml_lstm_places(c, places);
    int64_t derived = head, scratch = 0;
    for (int32_t i = 0; i < n; i++) {
        ml_lstm_describe(c, &places[i], derived, &runs[i]);
        ml_lstm_lay_out(c, scratch, &runs[i]);
        if (runs[i].known) derived += runs[i].bytes;
        scratch = runs[i].scratch;
    }
    return n;
}

/* Products ------------------------------------------------------------------------------------------------------------- */

static ml_gate_rows room(const ml_call *c, const lstm_run *run, int32_t zero, void *y) {
    return (ml_gate_rows){.zero = zero,
                          .asymmetric = ((const lstm_params *)c->params)->asymmetric,
                          .quantized = ml_scratch(c, run->quantized_at),
                          .scales = ml_scratch(c, run->scales_at),
                          .y = y};
}

ml_status ml_lstm_multiply_input(const ml_call *c, const lstm_run *run, const ml_gates *g,
                                 const char *packed, int32_t input, int64_t step, int64_t steps,
                                 int64_t to) {
    const ml_quantization *q = ml_input_quantization(c, input);
    ml_gate_rows rows =
        room(c, run, q && q->n_zero_points > 0 ? (int32_t)q->zero_points[0] : 0, ml_scratch(c, to));
    return ml_multiply_sequence(c, &run->sequence, g, packed, input, step, steps, &rows);
}

ml_status ml_lstm_multiply_rows(const ml_call *c, const lstm_run *run, const ml_gates *g,
                                const char *packed, const void *rows, int32_t zero, void *sums) {
    ml_gate_rows all = room(c, run, zero, sums);
    all.x = rows;
    all.count = run->sequence.batches;
    all.stride = g->k;
    return ml_multiply_gates(c, g, packed, &all);
}

/* Shapes --------------------------------------------------------------------------------------------------------------- */

/* Inputs first .. first + n - 1 are all there, or all absent. */
static ml_status together(const ml_call *c, int32_t first, int32_t n, bool wanted) {
    for (int32_t i = first; i < first + n; i++)
        if ((ml_input(c, i) != NULL) != wanted)
            return ml_fail(c, ML_SHAPE_ERROR, "input %d is %s, which does not go with the others",
                           i, wanted ? "absent" : "there");
    return ML_OK;
}

/* What goes with which: the input gate's operands, peepholes, coefficients, the projection. */
static ml_status check_presence(const ml_call *c, const lstm_place *at) {
    int32_t first = at->first, skipped = !ml_input(c, first);
    bool peepholes = ml_input(c, first + 10) != NULL;
    ml_status status = together(c, first + 4, 1, !skipped);
    if (status == ML_OK) status = together(c, first + 11, 1, !skipped);
    if (status == ML_OK) status = together(c, first + 8, 1, peepholes && !skipped);
    if (status == ML_OK) status = together(c, first + 9, 2, peepholes);
    if (status == ML_OK && at->norms) status = together(c, at->norms, 1, !skipped);
    if (status == ML_OK && at->norms) status = together(c, at->norms + 1, 3, true);
    if (status == ML_OK && at->aux) status = together(c, at->aux_weights, 1, !skipped);
    if (status == ML_OK && at->aux) status = together(c, at->aux_weights + 1, 3, true);
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

static ml_status check_shapes(const ml_call *c, const lstm_run *run) {
    const lstm_place *at = &run->at;
    int64_t cells = run->input.outputs, outputs = run->recurrent.k;
    const ml_shape *x = &ml_input(c, at->x)->shape;
    int32_t depth = x->dims[x->rank - 1];
    ml_status status = ML_OK;
    for (int32_t g = 0; g < ML_MAX_GATES && status == ML_OK; g++) {
        status = ml_expect(c, at->first + g, 2, cells, depth);
        if (status == ML_OK && ml_input(c, at->first + 4 + g)) {
            int32_t rank = run->recurrent.type == run->input.type
                               ? ml_input(c, at->first + 4 + g)->shape.rank
                               : 1;
            status = ml_expect(c, at->first + 4 + g, rank, cells, outputs);
        }
        if (status == ML_OK) status = ml_expect(c, at->first + 11 + g, 1, cells, 0);
        if (status == ML_OK && at->norms) status = ml_expect(c, at->norms + g, 1, cells, 0);
        if (status == ML_OK && at->aux) {
            const ml_shape *aux = &ml_input(c, at->aux)->shape;
            status = ml_expect(c, at->aux_weights + g, 2, cells, aux->dims[aux->rank - 1]);
        }
    }
    for (int32_t p = 0; p < 3 && status == ML_OK; p++)
        status = ml_expect(c, at->first + 8 + p, 1, cells, 0);
    if (status == ML_OK) status = ml_expect(c, at->first + 15, 2, outputs, cells);
    if (status == ML_OK) status = ml_expect(c, at->first + 16, 1, outputs, 0);
    if (status == ML_OK && !run->projection.n && outputs != cells)
        status = ml_fail(c, ML_SHAPE_ERROR, "%lld cells do not match %lld outputs",
                         (long long)cells, (long long)outputs);
    if (status == ML_OK) status = check_state(c, at->output_state, run->sequence.batches, outputs);
    return status == ML_OK ? check_state(c, at->cell_state, run->sequence.batches, cells) : status;
}

/* The basic kernel, of 5 inputs: x, the last output, weights of both for four gates, biases, cells. Its outputs are the next
 * output, cells, rows of both inputs, and sums of gates. */
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
    lstm_place places[2];
    int64_t scratch = 0, width = 0;
    ml_status status = ml_check_sequence(c, 39, params->rank);
    if (status != ML_OK) return status;
    ml_shape y = ml_input(c, 0)->shape;
    int32_t n = ml_lstm_places(c, places);
    for (int32_t i = 0; i < n && status == ML_OK; i++) {
        lstm_run run;
        status = check_presence(c, &places[i]);
        if (status == ML_OK && !ml_lstm_describe(c, &places[i], 0, &run))
            status = ml_fail(c, ML_SHAPE_ERROR, "the gates' weights, from input %d on, differ",
                             places[i].first);
        if (status != ML_OK) break;
        ml_lstm_lay_out(c, scratch, &run);
        status = check_shapes(c, &run);
        scratch = run.scratch;
        width = places[i].behind ? width + run.recurrent.k : run.recurrent.k;
        if (status == ML_OK) status = ml_set_width(c, places[i].output, &y, width);
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
