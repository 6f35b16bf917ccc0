/* lstm.c -- LSTM, UNIDIRECTIONAL_SEQUENCE_LSTM, BIDIRECTIONAL_SEQUENCE_LSTM: which operand is
 * which, and which of them must be given together. */
#include "lstm.h"

#include <math.h>

#include "rules/checks.h"
#include "rules/products.h"

ML_FIELDS(lstm_params, LSTM_FIELDS)

/* An auxiliary input without weights is the input of the backward direction. */
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

/* Checks that inputs first .. first + n - 1 are all present, or all absent. */
static ml_status together(const ml_call *c, int32_t first, int32_t n, bool wanted) {
    for (int32_t i = first; i < first + n; i++)
        if ((ml_input(c, i) != NULL) != wanted)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "input %d is %s, but other inputs of its group are not", i,
                           wanted ? "absent" : "given");
    return ML_OK;
}

/* Checks which operands are present together: the input gate's, peepholes, coefficients, the
 * projection. `aux` is 0 if there are no weights for an auxiliary input. */
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

/* Checks the weights of one product: matrices of k columns, or diagonals, which are floats. */
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
/* Checks --------------------------------------------------------------------------------------- */

/* Indices of the operands of an integer node that the checks read. */
enum { OUTPUT_STATE = 18, CELL_STATE = 19, FORGET_NORM = 21, INTERMEDIATES = 5, HIDDEN = 4 };

static bool is_quantized_type(int32_t type) {
    return type == ML_S8 || type == ML_U8 || type == ML_S16;
}

/* An older LSTM, which only the numpy reference runs: five inputs and four outputs; bytes of scale
 * 1/128 and zero point 128, cells with four integer bits. */
static ml_status check_basic(const ml_call *c) {
    const char *kind = ml_option_word(c, "kernel_type");
    if (strcmp(kind, "BASIC") != 0 || c->n_inputs != 5 || c->n_outputs != 4)
        return ml_fail(c, ML_UNSUPPORTED,
                       "%d inputs and %d outputs of kernel type %s, it takes 5 and 4 of BASIC",
                       c->n_inputs, c->n_outputs, kind);
    if (ml_input(c, 0)->type != ML_U8) return ML_OK;
    const int32_t cell = ml_output_tensor(c, 1);
    ml_status status = ml_check_quantized(c, c->inputs[2]);
    if (status == ML_OK) status = ml_check_quantized(c, cell);
    if (status == ML_OK) status = ml_check_quantized(c, c->inputs[3]);
    if (status != ML_OK || ml_scale_of(c, cell) == 1.0 / 2048) return status;
    return ml_fail(c, ML_UNSUPPORTED, "the cell state's scale must be 2**-11, it is %g",
                   ml_scale_of(c, cell));
}

/* The quantization of an intermediate tensor, which describes values inside the node. */
static const ml_quantization *intermediate(const ml_call *c, int32_t number) {
    const ml_node_row *row = c->env->core->node_row(c);
    const int32_t tensor = number < row->n_intermediates ? row->intermediates[number] : -1;
    const ml_quantization *q = c->env->core->quantization(c, tensor);
    if (q->n_scales) return q;
    ml_fail(c, ML_UNSUPPORTED, "intermediate tensor %d must have a scale", number);
    return NULL;
}

static float only_scale(const ml_quantization *q) { return q->n_scales == 1 ? q->scales[0] : 0.0f; }

/* Reads the scales of each gate's sums and of the hidden values. */
static ml_status read_scales(const ml_call *c, lstm_params *p) {
    const bool normed = ml_input_tensor(c, FORGET_NORM) >= 0;
    float *scales = ml_keep(c, INTERMEDIATES * (int64_t)sizeof *scales);
    if (!scales) return c->env->error->status;
    for (int32_t g = 0; g < HIDDEN; g++) {
        const ml_quantization *q = normed ? intermediate(c, g) : NULL;
        if (normed && !q) return ML_UNSUPPORTED;
        scales[g] = q ? only_scale(q) : 1.0f / 4096;
    }
    const ml_quantization *hidden = intermediate(c, HIDDEN);
    if (!hidden) return ML_UNSUPPORTED;
    scales[HIDDEN] = only_scale(hidden);
    p->scales = (ml_array){scales, INTERMEDIATES * (int64_t)sizeof *scales};
    p->hidden_zero = hidden->n_zero_points == 1 ? (int32_t)hidden->zero_points[0] : 0;
    return ML_OK;
}

/* Checks that all s8 and s16 tensors have scales and zero points, and that the cells' scale is a
 * power of two. */
static ml_status check_integers(const ml_call *c, lstm_params *p) {
    ml_status status = ml_check_quantized(c, c->inputs[0]);
    if (status == ML_OK && ml_input_tensor(c, OUTPUT_STATE) >= 0)
        status = ml_check_quantized(c, c->inputs[OUTPUT_STATE]);
    if (status == ML_OK) status = ml_check_quantized(c, ml_output_tensor(c, 0));
    for (int i = 1; i < c->n_inputs && status == ML_OK; i++) {
        if (i == OUTPUT_STATE || !ml_input(c, i) || !is_quantized_type(ml_input(c, i)->type))
            continue;
        status = ml_check_quantized(c, c->inputs[i]);
        if (status == ML_OK) status = ml_check_symmetric(c, c->inputs[i]);
    }
    if (status != ML_OK) return status;
    const int32_t cell = ml_input_tensor(c, CELL_STATE);
    const double scale = cell < 0 ? 1.0 : ml_scale_of(c, cell), exponent = log2(scale);
    const double whole = rint(exponent);
    if (!(fabs(exponent - whole) < 1e-3) || whole < -30 || whole > -9)
        return ml_fail(c, ML_UNSUPPORTED,
                       "the cell state's scale must be a power of two from 2**-30 to 2**-9, it is "
                       "%g",
                       scale);
    if (whole < -15 && !ml_input(c, 1)) /* see step_row in integers.c */
        return ml_fail(c, ML_UNSUPPORTED,
                       "the cell state's scale must be at least 2**-15 without an input gate, it "
                       "is %g",
                       scale);
    const int32_t intermediates = c->env->core->node_row(c)->n_intermediates;
    if (intermediates != INTERMEDIATES)
        return ml_fail(c, ML_UNSUPPORTED, "%d intermediate tensors, it takes %d", intermediates,
                       INTERMEDIATES);
    return read_scales(c, p);
}

/* LSTM is one step on matrices; the other operators step through a sequence. */
static ml_status check_lstm(const ml_call *c, void *params) {
    lstm_params *p = params;
    p->rank = strcmp(c->env->core->operator_name(c, c->env->core->node_row(c)), "LSTM") ? 3 : 2;
    p->time_major = ml_flag_option(c, "time_major", true);
    p->merged = ml_flag_option(c, "merge_outputs", false);
    if (strcmp(ml_option_word(c, "kernel_type"), "BASIC") == 0 || c->n_outputs > 2)
        return check_basic(c);
    if (!(p->cell_clip >= 0.0f) || !(p->proj_clip >= 0.0f))
        return ml_fail(c, ML_UNSUPPORTED, "%s must be at least 0, it is %g",
                       p->cell_clip >= 0.0f ? "proj_clip" : "cell_clip",
                       (double)(p->cell_clip >= 0.0f ? p->proj_clip : p->cell_clip));
    if (ml_input(c, 0)->type == ML_S8) return check_integers(c, p);
    ml_status status = ML_OK;
    for (int i = 0; i < c->n_inputs && status == ML_OK; i++)
        if (ml_input(c, i) && is_quantized_type(ml_input(c, i)->type))
            status = ml_check_quantized(c, c->inputs[i]);
    return status;
}

/* States are inputs 18 and 19, of both directions 35 to 38, and 1 and 4 of the basic form, which
 * has five inputs. */
static int64_t count_lstm(const ml_operand_shapes *of) {
    const uint64_t states = of->n_inputs <= 5    ? ML_INPUT(1) | ML_INPUT(4)
                            : of->n_inputs <= 24 ? ML_INPUT(18) | ML_INPUT(19)
                                                 : UINT64_C(15) << 35;
    return ml_recurrent_products(of, states);
}

/* Rows ----------------------------------------------------------------------------------------- */

/* Names of operands: one per gate, and all of a direction. `mark` is "?" if all may be absent. */
#define EACH_GATE(before, after, mark)                                                           \
    before "input" after "? " before "forget" after mark " " before "cell" after mark " " before \
        "output" after mark " "
#define OPERANDS(way, mark)                                                                      \
    EACH_GATE(way "input_to_", "", mark) EACH_GATE(way "recurrent_to_", "", mark)                \
    way "cell_to_input? " way "cell_to_forget? " way "cell_to_output? "                          \
    EACH_GATE(way, "_bias", mark) way "projection? " way "projection_bias? "
#define NORMS "input_norm? forget_norm? cell_norm? output_norm? "

#define ROW(operator, last, kernel_name, operands, written, ...)                                 \
    {ML_OP(operator, 1, last), .name = (kernel_name), .takes = (operands),                       \
     .flags = ML_KERNEL_HAS_EFFECTS, .writes = (written), .check = check_lstm,                   \
     ML_PARAMS_OF(lstm_params), .multiply_adds = count_lstm, .prepare = prepare_lstm,             \
     ML_TYPED(__VA_ARGS__)}
#define INTEGERS                                                                                 \
    {ONE("s8", "s8", "s8", "s16", "s32", "s16", "s16"), ml_lstm_derive_integers, NULL,           \
     ml_lstm_integers}

ML_KERNELS(lstm) = {
    ROW(LSTM, 4, "lstm",
        "x " OPERANDS("", "?") "output_state? cell_state? " NORMS
                               "-> y basic_cell? basic_rows? basic_sums?",
        ML_INPUT(18) | ML_INPUT(19), FLOATS("f32", "f32"), FLOATS("s8", "s8"), FLOATS("u8", "u8"),
        INTEGERS, {"f32 f32 f32 f32 f32 -> f32 f32 f32 f32", NULL, NULL, NULL},
        {"u8 u8 u8 s32 s16 -> u8 s16 u8 s16", NULL, NULL, NULL}),
    ROW(UNIDIRECTIONAL_SEQUENCE_LSTM, 4, "lstm",
        "x " OPERANDS("", "") "output_state cell_state " NORMS "-> y", ML_INPUT(18) | ML_INPUT(19),
        FLOATS("f32", "f32"), FLOATS("s8", "s8"), FLOATS("u8", "u8"), FLOATS("s8", "f32"),
        FLOATS("u8", "f32"), /* diagonals */
        INTEGERS),
    ROW(BIDIRECTIONAL_SEQUENCE_LSTM, 3, "bidirectional_sequence_lstm",
        "x " OPERANDS("forward_", "") OPERANDS(
            "backward_",
            "") "forward_output_state forward_cell_state backward_output_state backward_cell_state "
                "aux? " EACH_GATE("forward_aux_to_", "", "?")
                    EACH_GATE("backward_aux_to_", "", "?") "-> y backward_y?",
        ML_INPUT(35) | ML_INPUT(36) | ML_INPUT(37) | ML_INPUT(38),
        {BOTH("f32"), ml_lstm_derive_floats, NULL, ml_lstm_floats},
        {BOTH("s8"), ml_lstm_derive_floats, NULL, ml_lstm_floats},
        {BOTH("u8"), ml_lstm_derive_floats, NULL, ml_lstm_floats}),
    ML_KERNELS_END,
};
