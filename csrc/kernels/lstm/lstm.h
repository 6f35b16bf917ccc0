/* lstm.h -- types and functions that the files of LSTM share: the numbers of operands, by
 * direction. */
#ifndef ML_KERNELS_LSTM_H
#define ML_KERNELS_LSTM_H

#include "rules/recurrent.h"

/* One row of parameters for all LSTMs. */
#define LSTM_FIELDS(X, S)                                                                  \
    X(S, i32, activation, ML_OPTION("fused_activation_function"))                          \
    X(S, f32, cell_clip) X(S, f32, proj_clip)                                              \
    X(S, i32, asymmetric, ML_OPTION("asymmetric_quantize_inputs"))                         \
    X(S, i32, time_major, ML_BY_CHECK) X(S, i32, rank, ML_BY_CHECK)                        \
    X(S, i32, merged, ML_BY_CHECK) X(S, array, scales, ML_BY_CHECK)                        \
    X(S, i32, hidden_zero, ML_BY_CHECK)
typedef struct lstm_params {
    LSTM_FIELDS(ML_MEMBER, S)
} lstm_params;

enum { INPUT_GATE, FORGET_GATE, CELL_GATE, OUTPUT_GATE };

/* One direction of a node. After the weights of the input for each gate come those of the output,
 * 3 peepholes, 4 biases, the projection and its bias. */
typedef struct lstm_run {
    ml_recurrent r;
    int32_t first; /* the input gate's weights of the input */
    int32_t cell_state;
    int32_t norms; /* coefficients for each gate; 0: none */
    int32_t skipped; /* 1: no input gate; 1 - forget gate is used instead */
    int64_t hidden_at; /* scratch: a row per batch */
    int64_t projected_at; /* the same, of integers */
    int64_t gates_at; /* scratch: the gates of one row */
} lstm_run;

/* Describes the directions of a node and their weights; returns their number, one or two, or a
 * negative number if weights do not fit together. Derived begins with *derived bytes for other
 * data. */
int32_t ml_lstm_describe(const ml_call *c, lstm_run runs[2], int64_t *derived);
/* Derive: packs the weights that are known. */
void ml_lstm_pack(const ml_call *c, int64_t head, void *to);
/* Prepare and eval: places scratch; -1 bytes after an overflow. */
void ml_lstm_place_scratch(const ml_call *c, lstm_run runs[2], int32_t n, int64_t *scratch);
/* The eval of all LSTMs; their derived block begins with `head` bytes of other data. */
ml_status ml_lstm_run(const ml_call *c, int64_t head, ml_step_fn *step);

int64_t ml_lstm_derive_floats(const ml_call *c, void *to);
int64_t ml_lstm_derive_integers(const ml_call *c, void *to);
ml_status ml_lstm_floats(const ml_call *c);
ml_status ml_lstm_integers(const ml_call *c);

#endif
