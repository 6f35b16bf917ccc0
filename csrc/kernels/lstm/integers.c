/* integers.c -- LSTM of bytes: gates and cells have 16 bits, sums have 32; each is requantized with
 * double rounding. */
#include "lstm.h"
#include "math/fixed_s16.h"
#include "rules/quantized.h"
#include "rules/work.h"

typedef struct multiplier {
    int32_t mantissa;
    int32_t shift;
} multiplier;

/* Derived from the quantization, per gate. */
typedef struct lstm_integers_derived {
    multiplier input[ML_MAX_GATES];
    multiplier recurrent[ML_MAX_GATES];
    multiplier peephole[ML_MAX_GATES];
    multiplier norm[ML_MAX_GATES];
    int32_t guard[ML_MAX_GATES]; /* replaces a variance of 0 */
    multiplier hidden;
    multiplier projection;
    int32_t exponent; /* of the cell state's scale, a power of two */
    int32_t cell_clip; /* 0: none */
    int32_t proj_clip;
    int32_t state_zero;
} lstm_integers_derived;

enum { HEAD = (int)((sizeof(lstm_integers_derived) + 63) / 64 * 64) };

/* Derive --------------------------------------------------------------------------------------- */

static multiplier multiplier_of(float real) {
    multiplier m;
    ml_quantize_multiplier((double)real, &m.mantissa, &m.shift);
    return m;
}

/* The scale of an input; 1 where it is absent. */
static float scale_of(const ml_call *c, int32_t i) {
    const ml_quantization *q = ml_input(c, i) ? ml_input_quantization(c, i) : NULL;
    return q && q->n_scales > 0 ? q->scales[0] : 1.0f;
}

static int32_t clip_of(float limit, float scale, float most) {
    return limit > 0.0f ? (int32_t)(limit / scale < most ? limit / scale : most) : 0;
}

static void fill_integers(const ml_call *c, const lstm_run *at, lstm_integers_derived *d) {
    const lstm_params *params = c->params;
    const float *gate = params->scales.data, hidden = gate[4];
    float x = scale_of(c, 0), state = scale_of(c, at->r.state), cell = scale_of(c, at->cell_state);
    while (d->exponent > -30 && cell < 0.75f * __builtin_ldexpf(1.0f, d->exponent)) d->exponent--;
    double unit = __builtin_ldexp(1.0, d->exponent);
    for (int32_t g = 0; g < ML_MAX_GATES; g++) {
        int32_t first = at->first + g, peephole = at->first + 8 + (g < 2 ? g : 2);
        float norm = at->norms ? scale_of(c, at->norms + g) : 1.0f;
        d->input[g] = multiplier_of(scale_of(c, first) * x / gate[g]);
        d->recurrent[g] = multiplier_of(scale_of(c, first + 4) * state / gate[g]);
        d->peephole[g] =
            multiplier_of((float)(unit * (double)scale_of(c, peephole) / (double)gate[g]));
        d->norm[g] = multiplier_of(norm);
        d->guard[g] = 10000.0f * norm < 1.0f ? 1 : (int32_t)(10000.0f * norm);
    }
    d->hidden = multiplier_of((float)(0x1p-15 / (double)hidden * 0x1p-15));
    d->projection = multiplier_of(scale_of(c, at->first + 15) * hidden / state);
    d->cell_clip = clip_of(params->cell_clip, cell, 32767.0f);
    d->proj_clip = clip_of(params->proj_clip, ml_output_affine(c, 0).scale, 127.0f);
    d->state_zero = ml_input_affine(c, at->r.state).zero_point;
}

int64_t ml_lstm_derive_integers(const ml_call *c, void *to) {
    lstm_run runs[2];
    int64_t bytes = HEAD;
    if (ml_lstm_describe(c, runs, &bytes) < 0) return HEAD; /* prepare refuses */
    if (to) fill_integers(c, runs, to);
    if (to) ml_lstm_pack(c, HEAD, to);
    return bytes;
}

/* Gates ---------------------------------------------------------------------------------------- */

/* One row of gates: a batch at a step. */
typedef struct integer_row {
    const int32_t *input; /* sums of gate 0, the others `pitch` elements apart */
    int64_t pitch;
    const int32_t *state;
    int64_t state_pitch;
    int16_t *cell;
    int16_t *gates; /* of four rows */
    int64_t first; /* cells before this row, of those that are stepped together */
    int64_t together; /* rows that are stepped together */
} integer_row;

static int32_t requantized(int32_t x, multiplier m) {
    return ml_multiply_quantized(x, m.mantissa, m.shift);
}
static int16_t saturated(int32_t x) { return (int16_t)ml_clamp_s32(x, INT16_MIN, INT16_MAX); }

/* TFLite takes the number of outputs as the length of a row of cells. Where a projection makes
 * outputs fewer than cells, weights are applied to other cells, and the last cells get none. */
static void add_peephole(const ml_call *c, const lstm_run *run, const integer_row *row,
                         int32_t gate, multiplier m, int16_t *v) {
    const int16_t *w = ml_in(c, run->first + 8 + (gate < 2 ? gate : 2));
    int64_t n = run->r.gates[ML_OF_INPUT].outputs, outputs = run->r.gates[ML_OF_STATE].k;
    for (int64_t i = 0; i < n && row->first + i < row->together * outputs; i++) {
        int32_t product = w[(row->first + i) % outputs] * row->cell[i];
        v[i] = saturated(v[i] + requantized(product, m));
    }
}

/* (v - mean) / standard deviation * coefficients + bias: TFLite's ApplyLayerNorm. */
static void normalize(const int16_t *coefficients, const int32_t *bias, multiplier m, int32_t guard,
                      int16_t *v, int64_t n) {
    int64_t sum = 0, squares = 0;
    if (n == 0) return; /* nodes with variables run in any case */
    for (int64_t i = 0; i < n; i++) {
        sum += v[i];
        squares += (int32_t)v[i] * v[i];
    }
    int32_t mean = (int32_t)(sum * 1024 / n), part = (int32_t)((1 << 20) / n), mantissa, shift;
    int32_t variance = (int32_t)((squares * part - (int64_t)mean * mean) / (1 << 20));
    ml_inverse_sqrt(variance < 1 ? guard : variance, &mantissa, &shift);
    for (int64_t i = 0; i < n; i++) {
        int32_t rescaled = ml_multiply_quantized(1024 * v[i] - mean, mantissa, shift);
        int64_t weighed =
            (int32_t)((uint32_t)rescaled * (uint32_t)coefficients[i] + (uint32_t)bias[i]);
        int32_t part_of_1024 = (int32_t)((weighed > 0 ? weighed + 512 : weighed - 512) / 1024);
        v[i] = saturated(ml_multiply_quantized(part_of_1024, m.mantissa, m.shift + 12));
    }
}

/* Computes the sum that a gate's activation takes, in Q3.12. */
static int16_t *sum_gate(const ml_call *c, const lstm_run *run, const integer_row *row,
                         int32_t gate) {
    const lstm_integers_derived *d = c->derived;
    int64_t n = run->r.gates[ML_OF_INPUT].outputs, k = gate - run->skipped;
    const int32_t *x = row->input + k * row->pitch, *h = row->state + k * row->state_pitch;
    const int32_t *bias = ml_in(c, run->first + 11 + gate);
    int16_t *v = row->gates + gate * n;
    for (int64_t i = 0; i < n; i++) {
        uint32_t sum = (uint32_t)x[i] + (run->norms ? 0 : (uint32_t)bias[i]);
        v[i] = saturated(requantized((int32_t)sum, d->input[gate]));
        v[i] = saturated(v[i] + requantized(h[i], d->recurrent[gate]));
    }
    if (gate != CELL_GATE && ml_in_optional(c, run->first + 10))
        add_peephole(c, run, row, gate, d->peephole[gate], v);
    if (run->norms)
        normalize(ml_in(c, run->norms + gate), bias, d->norm[gate], d->guard[gate], v, n);
    return v;
}

static void logistic(int16_t *v, int64_t n) {
    for (int64_t i = 0; i < n; i++) v[i] = ml_logistic_q3(v[i]);
}

/* Computes the cells, then the hidden values: the output, or with a projection its input. TFLite
 * knows no tanh of cells whose scale is below 2^-15; so it multiplies the output gate with the
 * input gate, which lies in the place of the result. */
static void step_row(const ml_call *c, const lstm_run *run, const integer_row *row,
                     int8_t *hidden) {
    const lstm_integers_derived *d = c->derived;
    int32_t zero = ((const lstm_params *)c->params)->hidden_zero;
    int64_t n = run->r.gates[ML_OF_INPUT].outputs;
    int16_t *forget = sum_gate(c, run, row, FORGET_GATE), *take = row->gates, *cell = row->cell;
    logistic(forget, n);
    if (run->skipped)
        for (int64_t i = 0; i < n; i++) take[i] = (int16_t)(INT16_MAX - forget[i]);
    else logistic(sum_gate(c, run, row, INPUT_GATE), n);
    int16_t *add = sum_gate(c, run, row, CELL_GATE);
    for (int64_t i = 0; i < n; i++) {
        int32_t kept = (int16_t)ml_rounding_shift_right(forget[i] * cell[i], 15);
        int32_t added = take[i] * ml_tanh_q15(add[i], 3);
        cell[i] = saturated(kept + (int16_t)ml_rounding_shift_right(added, 30 + d->exponent));
        if (d->cell_clip > 0) cell[i] = (int16_t)ml_clamp_s32(cell[i], -d->cell_clip, d->cell_clip);
    }
    int16_t *output = sum_gate(c, run, row, OUTPUT_GATE);
    logistic(output, n);
    zero = run->r.gates[ML_OF_HIDDEN].n ? -zero : zero;
    const bool activated = d->exponent >= -15;
    for (int64_t i = 0; i < n; i++) {
        int32_t product =
            output[i] * (activated ? ml_tanh_q15(cell[i], 15 + d->exponent) : take[i]);
        hidden[i] =
            (int8_t)ml_clamp_s32(requantized(product, d->hidden) + zero, INT8_MIN, INT8_MAX);
    }
}

/* Steps ---------------------------------------------------------------------------------------- */

/* Writes the hidden rows, projected if there is a projection, to the output's state. */
static ml_status project(const ml_call *c, const lstm_run *run, const ml_step *at) {
    const lstm_integers_derived *d = c->derived;
    int8_t *state = ml_variable(c, run->r.state);
    const int8_t *hidden = ml_scratch(c, run->hidden_at);
    const int32_t *bias = ml_in_optional(c, run->first + 16);
    int64_t n = run->r.gates[ML_OF_STATE].k, count = n * run->r.sequence.batches;
    if (!run->r.gates[ML_OF_HIDDEN].n) {
        memcpy(state, hidden, (size_t)count);
        return ML_OK;
    }
    int32_t *sums = ml_scratch(c, run->projected_at);
    int32_t zero = -((const lstm_params *)c->params)->hidden_zero;
    ml_status status = ml_project(c, &run->r, at, hidden, zero, sums);
    for (int64_t i = 0; i < count; i++) {
        uint32_t sum = (uint32_t)sums[i] + (bias ? (uint32_t)bias[i % n] : 0);
        int32_t y = requantized((int32_t)sum, d->projection) + d->state_zero;
        y = ml_clamp_s32(y, INT8_MIN, INT8_MAX);
        if (d->proj_clip > 0) y = ml_clamp_s32(y, -d->proj_clip, d->proj_clip);
        state[i] = (int8_t)y;
    }
    return status;
}

static ml_status step(const ml_call *c, const ml_recurrent *r, const ml_step *at,
                      const void *context) {
    const lstm_run *run = context;
    int64_t cells = r->gates[ML_OF_INPUT].outputs, work = 0;
    bool major = r->sequence.time_major;
    ml_status status = ML_OK;
    for (int64_t b = 0; b < r->sequence.batches && status == ML_OK; b++) {
        integer_row row = {.input = (const int32_t *)at->input + b * at->batch,
                           .pitch = at->gate,
                           .state = (const int32_t *)at->state + b * cells,
                           .state_pitch = at->state_gate,
                           .cell = (int16_t *)ml_variable(c, run->cell_state) + b * cells,
                           .gates = ml_scratch(c, run->gates_at),
                           .first = major ? b * cells : 0,
                           .together = major ? r->sequence.batches : 1};
        step_row(c, run, &row, (int8_t *)ml_scratch(c, run->hidden_at) + b * cells);
        status = ml_count_work(c, ML_MAX_GATES * cells, &work);
    }
    return status == ML_OK ? project(c, run, at) : status;
}

ml_status ml_lstm_integers(const ml_call *c) { return ml_lstm_run(c, HEAD, step); }
