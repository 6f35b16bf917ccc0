/* lstm.h -- what the files of LSTM share: where operands stand, what shapes make of a node, packed weights. */
#ifndef ML_KERNELS_LSTM_H
#define ML_KERNELS_LSTM_H

#include "rules/matmul.h"
#include "rules/recurrent.h"

/* One row of parameters for all LSTMs. */
#define LSTM_FIELDS(X, S)                                                                  \
    X(S, i32, activation) X(S, f32, cell_clip) X(S, f32, proj_clip) X(S, i32, asymmetric) \
    X(S, i32, time_major) X(S, i32, rank) X(S, i32, merged) X(S, array, scales) X(S, i32, hidden_zero)
typedef struct lstm_params {
    LSTM_FIELDS(ML_MEMBER, S)
} lstm_params;

enum { INPUT_GATE, FORGET_GATE, CELL_GATE, OUTPUT_GATE };

/* Where the operands of one direction stand among the inputs. Behind the weights of the input for each gate come those of the
 * output, 3 peepholes, 4 biases, projection and its bias. */
typedef struct lstm_place {
    int32_t first;
    int32_t output_state;
    int32_t cell_state;
    int32_t norms; /* coefficients for each gate; 0: it has none */
    int32_t x;
    int32_t aux; /* an input beside x; 0: it has none */
    int32_t aux_weights;
    int32_t output;
    bool backward;
    bool behind; /* its outputs stand behind the other direction's */
} lstm_place;

/* What the shapes of one direction come to, and where its scratch lies. */
typedef struct lstm_run {
    lstm_place at;
    int32_t skipped; /* 1: no input gate, the forget gate's complement stands in */
    ml_sequence sequence;
    ml_gates input, aux, recurrent, projection; /* n = 0: it has none */
    int64_t bytes; /* of packed weights, which lie one behind the other in that order */
    bool known; /* the file has the weights, and derived the packed ones */
    int64_t weights_at; /* in derived, or in scratch */
    int64_t input_sums_at; /* scratch: [gate][row][cell] of a chunk */
    int64_t aux_sums_at;
    int64_t recurrent_sums_at;
    int64_t hidden_at; /* a row a batch */
    int64_t quantized_at; /* rows of 16 bits */
    int64_t scales_at;
    int64_t gates_at; /* those of one row */
    int64_t scratch; /* bytes */
} lstm_run;

/* The directions of a node: one, or two. */
int32_t ml_lstm_places(const ml_call *c, lstm_place places[2]);
/* Gates, packed weights: what hangs on weights alone. `derived` is where known ones lie in derived; false where shapes of
 * weights do not go together. */
bool ml_lstm_describe(const ml_call *c, const lstm_place *at, int64_t derived, lstm_run *run);
/* Steps and scratch, from `scratch` bytes on; bytes of -1 where they overflow. */
void ml_lstm_lay_out(const ml_call *c, int64_t scratch, lstm_run *run);
/* Both, in eval, for direction `i` of those that lie one behind the other; derived begins with `head` bytes of other things. */
int32_t ml_lstm_runs(const ml_call *c, int64_t head, lstm_run runs[2]);

/* The packed weights, packed now where the file does not have them. */
const char *ml_lstm_weights(const ml_call *c, const lstm_run *run);

/* An input's rows of `steps` steps, from number `step` on, times weights, to the scratch at `to`. */
ml_status ml_lstm_multiply_input(const ml_call *c, const lstm_run *run, const ml_gates *g,
                                 const char *packed, int32_t input, int64_t step, int64_t steps,
                                 int64_t to);
/* A row a batch, of a state or of hidden values, less `zero`, times weights. */
ml_status ml_lstm_multiply_rows(const ml_call *c, const lstm_run *run, const ml_gates *g,
                                const char *packed, const void *rows, int32_t zero, void *sums);
/* Derives: packed weights, behind what integers need beside them. */
int64_t ml_lstm_derive_floats(const ml_call *c, void *to);
int64_t ml_lstm_derive_integers(const ml_call *c, void *to);
ml_status ml_lstm_floats(const ml_call *c);
ml_status ml_lstm_integers(const ml_call *c);

#endif
