/* rnn.c -- RNN, UNIDIRECTIONAL_SEQUENCE_RNN, BIDIRECTIONAL_SEQUENCE_RNN: the weighted input and the
 * last output, activated. */
#include "rules/checks.h"
#include "rules/products.h"
#include "rules/recurrent.h"
#include "rules/work.h"

#define RNN_FIELDS(X, S)                                                             \
    X(S, i32, activation, ML_OPTION("fused_activation_function")) X(S, i32, asymmetric, ML_OPTION("asymmetric_quantize_inputs")) X(S, i32, time_major, ML_BY_CHECK) X(S, i32, rank, ML_BY_CHECK) \
    X(S, i32, merged, ML_BY_CHECK)
ML_PARAMS(rnn_params, RNN_FIELDS)

/* The inputs of one direction, counted from its first. */
enum { WEIGHTS, RECURRENT, BIAS, STATE };

/* Describes the directions of a node and their weights; returns their number, one or two, or a
 * negative number if weights are not matrices. An auxiliary input without weights is the input of
 * the backward direction. */
static int32_t describe(const ml_call *c, ml_recurrent runs[2], int64_t *derived) {
    bool merged = ((const rnn_params *)c->params)->merged;
    bool crossed = ml_input(c, 9) && ml_input(c, 10);
    int32_t n = c->n_inputs <= 5 ? 1 : 2;
    runs[0] = (ml_recurrent){.aux = 9, .state = 1 + STATE};
    runs[1] = (ml_recurrent){.x = ml_input(c, 9) && !crossed ? 9 : 0,
                             .aux = 9,
                             .state = 5 + STATE,
                             .output = merged ? 0 : 1,
                             .behind = merged};
    for (int32_t i = 0; i < n; i++) {
        ml_recurrent *r = &runs[i];
        int32_t first = r->state - STATE;
        if (!ml_gates_of(c, first + WEIGHTS, 1, &r->gates[ML_OF_INPUT]) ||
            !ml_gates_of(c, first + RECURRENT, 1, &r->gates[ML_OF_STATE]) ||
            (crossed && !ml_gates_of(c, 10 + i, 1, &r->gates[ML_OF_AUX])))
            return -1;
        ml_place_weights(c, r, derived);
    }
    return n;
}

static int64_t derive_weights(const ml_call *c, void *to) {
    ml_recurrent runs[2];
    int64_t bytes = 0;
    int32_t n = describe(c, runs, &bytes);
    for (int32_t i = 0; to && i < n; i++) ml_pack_known(c, &runs[i], to);
    return n < 0 ? 0 : bytes;
}

static void place_scratch(const ml_call *c, ml_recurrent runs[2], int32_t n, int64_t *scratch) {
    for (int32_t i = 0; i < n; i++)
        ml_place_scratch(c, &runs[i], ((const rnn_params *)c->params)->time_major, i == 1, scratch);
}

static ml_status check_shapes(const ml_call *c, const ml_recurrent *r) {
    const ml_shape *x = &ml_input(c, r->x)->shape;
    int64_t units = r->gates[ML_OF_INPUT].outputs, batches = r->sequence.batches;
    int32_t first = r->state - STATE;
    ml_status status = ml_expect(c, first + WEIGHTS, 2, units, x->dims[x->rank - 1]);
    if (status == ML_OK) status = ml_expect(c, first + RECURRENT, 2, units, units);
    if (status == ML_OK) status = ml_expect(c, first + BIAS, 1, units, 0);
    if (status == ML_OK) status = ml_expect(c, first + STATE, 2, batches, units);
    if (status != ML_OK || !r->gates[ML_OF_AUX].n) return status;
    return ml_expect(c, r->gates[ML_OF_AUX].weights[0], 2, units,
                     ml_input(c, r->aux)->shape.dims[x->rank - 1]);
}

static ml_status prepare_rnn(const ml_call *c, ml_wish *wish) {
    ml_status status = ml_check_sequence(c, 9, ((const rnn_params *)c->params)->rank);
    ml_recurrent runs[2];
    int64_t derived = 0, scratch = 0, width = 0;
    if (status != ML_OK) return status;
    ml_shape y = ml_input(c, 0)->shape;
    int32_t n = describe(c, runs, &derived);
    if (n < 0) return ml_fail(c, ML_SHAPE_ERROR, "weights must be matrices");
    place_scratch(c, runs, n, &scratch);
    for (int32_t i = 0; i < n && status == ML_OK; i++) {
        status = check_shapes(c, &runs[i]);
        width = runs[i].gates[ML_OF_INPUT].outputs + (runs[i].behind ? width : 0);
        if (status == ML_OK) status = ml_set_width(c, runs[i].output, &y, width);
    }
    ml_reserve(wish, scratch);
    return status;
}

static ml_status step(const ml_call *c, const ml_recurrent *r, const ml_step *at,
                      const void *context) {
    const float *bias = ml_in(c, r->state - STATE + BIAS), *sums = at->state;
    float *state = ml_variable(c, r->state);
    int64_t n = r->gates[ML_OF_INPUT].outputs, batches = r->sequence.batches, work = 0;
    ml_status status = ML_OK;
    for (int64_t b = 0; b < batches && status == ML_OK; b++) {
        const float *input = (const float *)at->input + b * at->batch;
        const float *aux = at->aux ? (const float *)at->aux + b * at->batch : NULL;
        for (int64_t i = 0; i < n; i++) {
            float sum = input[i] + sums[b * n + i] + bias[i];
            state[b * n + i] = aux ? sum + aux[i] : sum;
        }
        ml_activate(((const rnn_params *)c->params)->activation, state + b * n, n);
        status = ml_count_work(c, n, &work);
    }
    return status;
}

static ml_status rnn(const ml_call *c) {
    ml_recurrent runs[2];
    int64_t derived = 0, scratch = 0;
    int32_t n = describe(c, runs, &derived);
    ml_status status = ML_OK;
    place_scratch(c, runs, n, &scratch);
    for (int32_t i = 0; i < n && status == ML_OK; i++)
        status =
            ml_run_recurrent(c, &runs[i], ((const rnn_params *)c->params)->asymmetric, step, NULL);
    return status;
}

#define BOTH(w) "f32 " w " " w " f32 f32 " w " " w " f32 f32 f32? " w "? " w "? -> f32 f32?"
/* An RNN is one step of matrices. */
static ml_status check_rnn(const ml_call *c, void *params) {
    rnn_params *p = params;
    p->rank = strcmp(c->env->core->operator_name(c, c->env->core->node_row(c)), "RNN") ? 3 : 2;
    p->time_major = ml_flag_option(c, "time_major", true);
    p->merged = ml_flag_option(c, "merge_outputs", false);
    return ML_OK;
}

#define ROW(operator, kernel_name, operands, written, ...)                                       \
    {ML_OP(operator, 1, 3), .name = (kernel_name), .takes = (operands),                          \
     .flags = ML_KERNEL_HAS_EFFECTS, .writes = (written), .quantization = ML_TAKES_QUANTIZED,    \
     .check = check_rnn, ML_PARAMS_OF(rnn_params), .multiply_adds = count_rnn,                    \
     .prepare = prepare_rnn, ML_TYPED(__VA_ARGS__)}
#define ONE(operator)                                                                            \
    ROW(operator, "rnn", "x weights recurrent_weights bias state -> y", ML_INPUT(4),             \
        {"f32 f32 f32 f32 f32 -> f32", derive_weights, NULL, rnn},                               \
        {"f32 s8 s8 f32 f32 -> f32", derive_weights, NULL, rnn},                                 \
        {"f32 u8 u8 f32 f32 -> f32", derive_weights, NULL, rnn})
static int64_t count_rnn(const ml_operand_shapes *of) {
    return ml_recurrent_products(of, ML_INPUT(4) | ML_INPUT(8));
}

ML_KERNELS(rnn) = {
    ONE(RNN),
    ONE(UNIDIRECTIONAL_SEQUENCE_RNN),
    ROW(BIDIRECTIONAL_SEQUENCE_RNN, "bidirectional_sequence_rnn",
        "x forward_weights forward_recurrent forward_bias forward_state backward_weights "
        "backward_recurrent backward_bias backward_state aux? forward_aux? backward_aux? -> y "
        "backward_y?",
        ML_INPUT(4) | ML_INPUT(8), {BOTH("f32"), derive_weights, NULL, rnn},
        {BOTH("s8"), derive_weights, NULL, rnn}, {BOTH("u8"), derive_weights, NULL, rnn}),
    ML_KERNELS_END,
};
