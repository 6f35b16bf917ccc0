/* rnn.c -- RNN, UNIDIRECTIONAL_SEQUENCE_RNN, BIDIRECTIONAL_SEQUENCE_RNN: the weighted input and the last output, activated. */
#include "rules/matmul.h"
#include "rules/recurrent.h"

#define RNN_FIELDS(X, S)                                                             \
    X(S, i32, activation) X(S, i32, asymmetric) X(S, i32, time_major) X(S, i32, rank) \
    X(S, i32, merged)
ML_PARAMS(rnn_params, RNN_FIELDS)

/* Where the operands of one direction stand: weights, those of the last output, bias and state from `first` on. */
typedef struct rnn_place {
    int32_t first;
    int32_t x;
    int32_t aux; /* an input beside x; 0: it has none */
    int32_t aux_weights;
    int32_t output;
    bool backward;
    bool behind; /* its outputs stand behind the other direction's */
} rnn_place;

enum { WEIGHTS, RECURRENT, BIAS, STATE };

typedef struct rnn_run {
    rnn_place at;
    ml_sequence sequence;
    ml_gates input, aux, recurrent; /* n = 0: it has none */
    int64_t bytes; /* of packed weights, which lie one behind the other in that order */
    bool known; /* the file has the weights, and derived the packed ones */
    int64_t weights_at; /* in derived, or in scratch */
    int64_t input_sums_at; /* scratch, and so are the next */
    int64_t aux_sums_at;
    int64_t recurrent_sums_at;
    int64_t quantized_at;
    int64_t scales_at;
    int64_t scratch; /* bytes; -1 where they overflow */
} rnn_run;

/* The directions of a node: one, or two. An auxiliary input without weights is what goes backwards. */
static int32_t places_of(const ml_call *c, rnn_place places[2]) {
    places[0] = (rnn_place){.first = 1};
    if (c->n_inputs <= 5) return 1;
    bool crossed = ml_input(c, 9) && ml_input(c, 10);
    bool merged = ((const rnn_params *)c->params)->merged;
    if (crossed) places[0].aux = 9, places[0].aux_weights = 10;
    places[1] = (rnn_place){.first = 5,
                            .x = ml_input(c, 9) && !crossed ? 9 : 0,
                            .aux = crossed ? 9 : 0,
                            .aux_weights = 11,
                            .output = merged ? 0 : 1,
                            .backward = true,
                            .behind = merged};
    return 2;
}

static bool describe(const ml_call *c, const rnn_place *at, int64_t derived, rnn_run *run) {
    *run = (rnn_run){.at = *at, .weights_at = derived};
    if (!ml_gates_of(c, at->first + WEIGHTS, 1, &run->input) ||
        !ml_gates_of(c, at->first + RECURRENT, 1, &run->recurrent) ||
        (at->aux && !ml_gates_of(c, at->aux_weights, 1, &run->aux)))
        return false;
    run->known = ml_gates_known(c, &run->input) && ml_gates_known(c, &run->recurrent) &&
                 ml_gates_known(c, &run->aux);
    run->bytes = ml_pack_gates(c, &run->input, NULL) + ml_pack_gates(c, &run->aux, NULL) +
                 ml_pack_gates(c, &run->recurrent, NULL);
    return true;
}

static char *pack(const ml_call *c, const rnn_run *run, char *to) {
    char *at = to;
    at += ml_pack_gates(c, &run->input, at);
    at += ml_pack_gates(c, &run->aux, at);
    ml_pack_gates(c, &run->recurrent, at);
    return to;
}

static int64_t derive_weights(const ml_call *c, void *to) {
    rnn_place places[2];
    rnn_run run;
    int64_t bytes = 0;
    for (int32_t i = 0, n = places_of(c, places); i < n; i++) {
        if (!describe(c, &places[i], bytes, &run) || !run.known) continue;
        if (to) pack(c, &run, (char *)to + bytes);
        bytes += run.bytes;
    }
    return bytes;
}

static void lay_out(const ml_call *c, int64_t scratch, rnn_run *run) {
    const rnn_params *params = c->params;
    ml_sequence *s = &run->sequence;
    *s = ml_sequence_of(&ml_input(c, run->at.x)->shape, params->time_major, run->at.backward);
    int64_t rows = (int64_t)s->chunk * s->batches, units = run->input.outputs;
    int64_t k = ml_padded_row(run->input.k > run->aux.k ? run->input.k : run->aux.k);
    int64_t last = ml_padded_row(run->recurrent.k);
    run->scratch = scratch;
    if (!run->known) run->weights_at = ml_room(&run->scratch, 1, 1, run->bytes);
    run->input_sums_at = ml_room(&run->scratch, rows, units, sizeof(float));
    run->aux_sums_at = ml_room(&run->scratch, rows, run->aux.outputs, sizeof(float));
    run->recurrent_sums_at = ml_room(&run->scratch, s->batches, units, sizeof(float));
    if (run->input.type == ML_F32) return;
    run->quantized_at = ml_room(&run->scratch, rows, k > last ? k : last, sizeof(int16_t));
    run->scales_at = ml_room(&run->scratch, rows, 1, sizeof(float));
}

/* Shapes --------------------------------------------------------------------------------------------------------------- */

static ml_status check_shapes(const ml_call *c, const rnn_run *run) {
    const rnn_place *at = &run->at;
    const ml_shape *x = &ml_input(c, at->x)->shape;
    int64_t units = run->input.outputs, batches = run->sequence.batches;
    ml_status status = ml_expect(c, at->first + WEIGHTS, 2, units, x->dims[x->rank - 1]);
    if (status == ML_OK) status = ml_expect(c, at->first + RECURRENT, 2, units, units);
    if (status == ML_OK) status = ml_expect(c, at->first + BIAS, 1, units, 0);
    if (status == ML_OK) status = ml_expect(c, at->first + STATE, 2, batches, units);
    if (status != ML_OK || !at->aux) return status;
    return ml_expect(c, at->aux_weights, 2, units, ml_input(c, at->aux)->shape.dims[x->rank - 1]);
}

static ml_status prepare_rnn(const ml_call *c, ml_wish *wish) {
    const rnn_params *params = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape;
    rnn_place places[2];
    rnn_run run = {.scratch = 0};
    ml_status status = ml_check_sequence(c, 9, params->rank);
    int64_t width = 0;
    ml_shape y = *x;
    for (int32_t i = 0, n = places_of(c, places); i < n && status == ML_OK; i++) {
        int64_t scratch = run.scratch;
        if (!describe(c, &places[i], 0, &run))
            return ml_fail(c, ML_SHAPE_ERROR, "inputs %d and %d are no matrices of weights",
                           places[i].first, places[i].first + 1);
        lay_out(c, scratch, &run);
        status = check_shapes(c, &run);
        width = run.input.outputs + (places[i].behind ? width : 0);
        if (status == ML_OK) status = ml_set_width(c, places[i].output, &y, width);
    }
    ml_reserve(wish, run.scratch);
    return status;
}

/* Steps ---------------------------------------------------------------------------------------------------------------- */

static ml_status run_step(const ml_call *c, const rnn_run *run, const char *recurrent,
                          const float *input, const float *aux, int64_t pitch, int64_t t) {
    const rnn_params *params = c->params;
    const float *bias = ml_in(c, run->at.first + BIAS);
    float *state = ml_variable(c, run->at.first + STATE);
    const float *sums = ml_scratch(c, run->recurrent_sums_at);
    int64_t n = run->input.outputs, batches = run->sequence.batches;
    ml_gate_rows rows = {.x = state,
                         .count = batches,
                         .stride = n,
                         .asymmetric = params->asymmetric,
                         .quantized = ml_scratch(c, run->quantized_at),
                         .scales = ml_scratch(c, run->scales_at),
                         .y = ml_scratch(c, run->recurrent_sums_at)};
    ml_status status = ml_multiply_gates(c, &run->recurrent, recurrent, &rows);
    if (status != ML_OK) return status;
    for (int64_t b = 0; b < batches; b++)
        for (int64_t i = 0; i < n; i++) {
            float sum = input[b * pitch + i] + sums[b * n + i] + bias[i];
            state[b * n + i] = aux ? sum + aux[b * pitch + i] : sum;
        }
    ml_activate(params->activation, state, batches * n);
    ml_put_rows(c, &run->sequence, run->at.output, run->at.behind, state, n, t);
    return ML_OK;
}

static ml_status run_direction(const ml_call *c, const rnn_run *run) {
    const ml_sequence *s = &run->sequence;
    const char *packed = run->known ? (const char *)c->derived + run->weights_at
                                    : pack(c, run, ml_scratch(c, run->weights_at)),
               *aux = packed + ml_pack_gates(c, &run->input, NULL),
               *recurrent = aux + ml_pack_gates(c, &run->aux, NULL);
    ml_gate_rows room = {.asymmetric = ((const rnn_params *)c->params)->asymmetric,
                         .quantized = ml_scratch(c, run->quantized_at),
                         .scales = ml_scratch(c, run->scales_at)};
    float *sums = ml_scratch(c, run->input_sums_at), *more = ml_scratch(c, run->aux_sums_at);
    ml_status status = ML_OK;
    for (int64_t done = 0, steps, low; done < s->steps && status == ML_OK; done += steps) {
        steps = ml_sequence_chunk(s, done, &low);
        ml_pitches pitches = ml_pitches_of(s, &run->input, steps);
        room.y = sums;
        status = ml_multiply_sequence(c, s, &run->input, packed, run->at.x, low, steps, &room);
        room.y = more;
        if (status == ML_OK && run->at.aux)
            status = ml_multiply_sequence(c, s, &run->aux, aux, run->at.aux, low, steps, &room);
        for (int64_t i = 0; i < steps && status == ML_OK; i++) {
            int64_t t = s->backward ? steps - 1 - i : i, offset = t * pitches.step;
            status = run_step(c, run, recurrent, sums + offset, run->at.aux ? more + offset : NULL,
                              pitches.batch, low + t);
        }
    }
    return status;
}

static ml_status rnn(const ml_call *c) {
    rnn_place places[2];
    rnn_run run = {.scratch = 0};
    int64_t derived = 0;
    ml_status status = ML_OK;
    for (int32_t i = 0, n = places_of(c, places); i < n && status == ML_OK; i++) {
        int64_t scratch = run.scratch;
        describe(c, &places[i], derived, &run);
        lay_out(c, scratch, &run);
        derived += run.known ? run.bytes : 0;
        status = run_direction(c, &run);
    }
    return status;
}

#define BOTH(w) "f32 " w " " w " f32 f32 " w " " w " f32 f32 f32? " w "? " w "? -> f32 f32?"
ML_KERNELS(rnn) = {
    {.abi = ML_KERNEL_ABI,
     .flags = ML_KERNEL_HAS_EFFECTS,
     .name = "rnn",
     ML_PARAMS_OF(rnn_params),
     .prepare = prepare_rnn,
     ML_TYPED({"f32 f32 f32 f32 f32 -> f32", derive_weights, NULL, rnn},
              {"f32 s8 s8 f32 f32 -> f32", derive_weights, NULL, rnn},
              {"f32 u8 u8 f32 f32 -> f32", derive_weights, NULL, rnn})},
    {.abi = ML_KERNEL_ABI,
     .flags = ML_KERNEL_HAS_EFFECTS,
     .name = "bidirectional_sequence_rnn",
     ML_PARAMS_OF(rnn_params),
     .prepare = prepare_rnn,
     ML_TYPED({BOTH("f32"), derive_weights, NULL, rnn}, {BOTH("s8"), derive_weights, NULL, rnn},
              {BOTH("u8"), derive_weights, NULL, rnn})},
    ML_KERNELS_END,
};
