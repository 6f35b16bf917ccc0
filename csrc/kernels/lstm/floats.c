/* floats.c -- LSTM of floats; weights are floats or bytes. */
#include <math.h>

#include "lstm.h"
#include "rules/work.h"

/* One row of gates: a batch at a step. */
typedef struct float_row {
    const float *input; /* products of gate 0, the others `pitch` elements apart */
    const float *aux; /* NULL: it has none */
    int64_t pitch;
    const float *state;
    int64_t state_pitch;
    float *cell;
    float *gates; /* of four rows */
    float *hidden;
} float_row;

/* v += the cell's weights (floats or scaled bytes) times cells. */
static void add_peephole(const ml_call *c, int32_t input, const float *cell, float *v, int64_t n) {
    if (ml_in_tensor(c, input)->type == ML_F32) {
        const float *w = ml_in(c, input);
        for (int64_t i = 0; i < n; i++) v[i] += w[i] * cell[i];
        return;
    }
    const int8_t *w = ml_in(c, input);
    float scale = ml_input_quantization(c, input)->scales[0];
    for (int64_t i = 0; i < n; i++) v[i] += scale * (float)w[i] * cell[i];
}

/* (v - mean) / standard deviation * coefficients. */
static void normalize(const float *coefficients, float *v, int64_t n) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (double)v[i];
    float mean = (float)(sum / (double)n);
    for (int64_t i = 0; i < n; i++) squares += (double)(v[i] - mean) * (double)(v[i] - mean);
    float inverse = 1.0f / sqrtf((float)(squares / (double)n) + 1e-8f);
    for (int64_t i = 0; i < n; i++) v[i] = (v[i] - mean) * inverse * coefficients[i];
}

/* Computes the sum that a gate's activation takes. */
static float *sum_gate(const ml_call *c, const lstm_run *run, const float_row *row, int32_t gate) {
    int64_t n = run->r.gates[ML_OF_INPUT].outputs, k = gate - run->skipped;
    const float *x = row->input + k * row->pitch, *h = row->state + k * row->state_pitch;
    float *v = row->gates + gate * n;
    for (int64_t i = 0; i < n; i++) v[i] = x[i] + h[i];
    if (row->aux)
        for (int64_t i = 0; i < n; i++) v[i] += (row->aux + k * row->pitch)[i];
    int32_t peephole = run->first + 8 + (gate < 2 ? gate : 2);
    if (gate != CELL_GATE && ml_in_optional(c, peephole))
        add_peephole(c, peephole, row->cell, v, n);
    if (run->norms) normalize(ml_in(c, run->norms + gate), v, n);
    const float *bias = ml_in(c, run->first + 11 + gate);
    for (int64_t i = 0; i < n; i++) v[i] += bias[i];
    return v;
}

static inline float clip(float v, float limit) {
    v = v > limit ? limit : v;
    return v < -limit ? -limit : v;
}

static void step_row(const ml_call *c, const lstm_run *run, const float_row *row) {
    const lstm_params *params = c->params;
    int64_t n = run->r.gates[ML_OF_INPUT].outputs;
    float *forget = sum_gate(c, run, row, FORGET_GATE), *take = row->gates, *cell = row->cell;
    ml_logistic(forget, n);
    if (run->skipped)
        for (int64_t i = 0; i < n; i++) take[i] = 1.0f - forget[i];
    else ml_logistic(sum_gate(c, run, row, INPUT_GATE), n);
    float *add = sum_gate(c, run, row, CELL_GATE);
    ml_activate(params->activation, add, n);
    for (int64_t i = 0; i < n; i++) cell[i] = forget[i] * cell[i] + take[i] * add[i];
    if (params->cell_clip > 0.0f)
        for (int64_t i = 0; i < n; i++) cell[i] = clip(cell[i], params->cell_clip);
    float *output = sum_gate(c, run, row, OUTPUT_GATE);
    ml_logistic(output, n);
    memcpy(row->hidden, cell, (size_t)n * sizeof *cell);
    ml_activate(params->activation, row->hidden, n);
    for (int64_t i = 0; i < n; i++) row->hidden[i] *= output[i];
}

/* Writes the hidden rows, projected if there is a projection, to the output's state. */
static ml_status project(const ml_call *c, const lstm_run *run, const ml_step *at) {
    float limit = ((const lstm_params *)c->params)->proj_clip;
    float *state = ml_variable(c, run->r.state);
    const float *hidden = ml_scratch(c, run->hidden_at), *bias = ml_in_optional(c, run->first + 16);
    int64_t n = run->r.gates[ML_OF_STATE].k, count = n * run->r.sequence.batches;
    if (!run->r.gates[ML_OF_HIDDEN].n) {
        memcpy(state, hidden, (size_t)count * sizeof *state);
        return ML_OK;
    }
    ml_status status = ml_project(c, &run->r, at, hidden, 0, state);
    for (int64_t i = 0; bias && i < count; i++) state[i] += bias[i % n];
    for (int64_t i = 0; limit > 0.0f && i < count; i++) state[i] = clip(state[i], limit);
    return status;
}

static ml_status step(const ml_call *c, const ml_recurrent *r, const ml_step *at,
                      const void *context) {
    const lstm_run *run = context;
    int64_t cells = r->gates[ML_OF_INPUT].outputs, work = 0;
    ml_status status = ML_OK;
    for (int64_t b = 0; b < r->sequence.batches && status == ML_OK; b++) {
        float_row row = {
            .input = (const float *)at->input + b * at->batch,
            .aux = at->aux ? (const float *)at->aux + b * at->batch : NULL,
            .pitch = at->gate,
            .state = (const float *)at->state + b * cells,
            .state_pitch = at->state_gate,
            .cell = (float *)ml_variable(c, run->cell_state) + b * cells,
            .gates = ml_scratch(c, run->gates_at),
            .hidden = (float *)ml_scratch(c, run->hidden_at) + b * cells,
        };
        step_row(c, run, &row);
        status = ml_count_work(c, ML_MAX_GATES * cells, &work);
    }
    return status == ML_OK ? project(c, run, at) : status;
}

ml_status ml_lstm_floats(const ml_call *c) { return ml_lstm_run(c, 0, step); }
