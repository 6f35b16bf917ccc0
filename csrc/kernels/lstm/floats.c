/* floats.c -- LSTM of floats, with weights of floats or of bytes. */
#include <math.h>

#include "lstm.h"

/* One row of gates: a batch at a step. */
typedef struct float_row {
    const float *input; /* sums of gate 0, the others `pitch` elements apart */
    const float *aux; /* NULL: it has none */
    int64_t pitch;
    const float *recurrent;
    int64_t recurrent_pitch;
    float *cell;
    float *gates; /* of four rows */
    float *hidden;
} float_row;

/* v += weights of the cell, floats or scaled bytes, times cells. */
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

/* Less the mean, over the standard deviation, times coefficients. */
static void normalize(const float *coefficients, float *v, int64_t n) {
    double sum = 0.0, squares = 0.0;
    for (int64_t i = 0; i < n; i++) sum += (double)v[i];
    float mean = (float)(sum / (double)n);
    for (int64_t i = 0; i < n; i++) squares += (double)(v[i] - mean) * (double)(v[i] - mean);
    float inverse = 1.0f / sqrtf((float)(squares / (double)n) + 1e-8f);
    for (int64_t i = 0; i < n; i++) v[i] = (v[i] - mean) * inverse * coefficients[i];
}

/* What the activation of a gate takes. */
static float *sum_gate(const ml_call *c, const lstm_run *run, const float_row *row, int32_t gate) {
    const lstm_place *at = &run->at;
    int64_t n = run->input.outputs, k = gate - run->skipped;
    const float *x = row->input + k * row->pitch, *h = row->recurrent + k * row->recurrent_pitch;
    float *v = row->gates + gate * n;
    for (int64_t i = 0; i < n; i++) v[i] = x[i] + h[i];
    if (row->aux)
        for (int64_t i = 0; i < n; i++) v[i] += (row->aux + k * row->pitch)[i];
    int32_t peephole = at->first + 8 + (gate < 2 ? gate : 2);
    if (gate != CELL_GATE && ml_in_optional(c, peephole))
        add_peephole(c, peephole, row->cell, v, n);
    if (at->norms) normalize(ml_in(c, at->norms + gate), v, n);
    const float *bias = ml_in(c, at->first + 11 + gate);
    for (int64_t i = 0; i < n; i++) v[i] += bias[i];
    return v;
}

static inline float clip(float v, float limit) {
    v = v > limit ? limit : v;
    return v < -limit ? -limit : v;
}

static void step_row(const ml_call *c, const lstm_run *run, const float_row *row) {
    const lstm_params *params = c->params;
    int64_t n = run->input.outputs;
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

/* Hidden rows become the output's state, by way of a projection where there is one. */
static ml_status project(const ml_call *c, const lstm_run *run, const char *packed) {
    const lstm_params *params = c->params;
    float *state = ml_variable(c, run->at.output_state);
    const float *hidden = ml_scratch(c, run->hidden_at),
                *bias = ml_in_optional(c, run->at.first + 16);
    int64_t n = run->recurrent.k, count = n * run->sequence.batches;
    if (!run->projection.n) {
        memcpy(state, hidden, (size_t)count * sizeof *state);
        return ML_OK;
    }
    ml_status status = ml_lstm_multiply_rows(c, run, &run->projection, packed, hidden, 0, state);
    for (int64_t i = 0; bias && i < count; i++) state[i] += bias[i % n];
    for (int64_t i = 0; params->proj_clip > 0.0f && i < count; i++)
        state[i] = clip(state[i], params->proj_clip);
    return status;
}

/* Where the packed weights of each product lie. */
typedef struct packed_weights {
    const char *input, *aux, *recurrent, *projection;
} packed_weights;

static ml_status step(const ml_call *c, const lstm_run *run, const packed_weights *w,
                      const float_row *first, int64_t batch_pitch) {
    const float *state = ml_variable(c, run->at.output_state);
    int64_t cells = run->input.outputs;
    float *sums = ml_scratch(c, run->recurrent_sums_at);
    ml_status status = ml_lstm_multiply_rows(c, run, &run->recurrent, w->recurrent, state, 0, sums);
    for (int64_t b = 0; b < run->sequence.batches && status == ML_OK; b++) {
        float_row row = *first;
        row.input += b * batch_pitch;
        if (row.aux) row.aux += b * batch_pitch;
        row.recurrent = sums + b * cells;
        row.recurrent_pitch = run->sequence.batches * cells;
        row.cell += b * cells;
        row.hidden += b * cells;
        step_row(c, run, &row);
    }
    return status == ML_OK ? project(c, run, w->projection) : status;
}

static ml_status run_chunk(const ml_call *c, const lstm_run *run, const packed_weights *w,
                           int64_t low, int64_t steps) {
    const lstm_place *at = &run->at;
    ml_pitches pitches = ml_pitches_of(&run->sequence, &run->input, steps);
    ml_status status = ml_lstm_multiply_input(c, run, &run->input, w->input, at->x, low, steps,
                                              run->input_sums_at);
    if (status == ML_OK && at->aux)
        status = ml_lstm_multiply_input(c, run, &run->aux, w->aux, at->aux, low, steps,
                                        run->aux_sums_at);
    for (int64_t i = 0; i < steps && status == ML_OK; i++) {
        int64_t s = at->backward ? steps - 1 - i : i, offset = s * pitches.step;
        float_row row = {.input = (const float *)ml_scratch(c, run->input_sums_at) + offset,
                         .aux = at->aux ? (const float *)ml_scratch(c, run->aux_sums_at) + offset
                                        : NULL,
                         .pitch = pitches.gate,
                         .cell = ml_variable(c, at->cell_state),
                         .gates = ml_scratch(c, run->gates_at),
                         .hidden = ml_scratch(c, run->hidden_at)};
        status = step(c, run, w, &row, pitches.batch);
        if (status == ML_OK)
            ml_put_rows(c, &run->sequence, at->output, at->behind, ml_variable(c, at->output_state),
                        run->recurrent.k, low + s);
    }
    return status;
}

ml_status ml_lstm_floats(const ml_call *c) {
    lstm_run runs[2];
    ml_status status = ML_OK;
    for (int32_t i = 0, n = ml_lstm_runs(c, 0, runs); i < n; i++) {
        const lstm_run *run = &runs[i];
        packed_weights w = {.input = ml_lstm_weights(c, run)};
        w.aux = w.input + ml_pack_gates(c, &run->input, NULL);
        w.recurrent = w.aux + (run->aux.n ? ml_pack_gates(c, &run->aux, NULL) : 0);
        w.projection = w.recurrent + ml_pack_gates(c, &run->recurrent, NULL);
        for (int64_t done = 0, steps, low; done < run->sequence.steps && status == ML_OK;
             done += steps) {
            steps = ml_sequence_chunk(&run->sequence, done, &low);
            status = run_chunk(c, run, &w, low, steps);
        }
    }
    return status;
}
