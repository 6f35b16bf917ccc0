/* recurrent.h -- rows of an input or of a state times the weights of several gates, and what activates their sums. */
#ifndef ML_RULES_RECURRENT_H
#define ML_RULES_RECURRENT_H

#include "kernel.h"

enum { ML_MAX_GATES = 4 };

/* Weights of `n` gates, all of one type: floats, or bytes of s8 (u8 is another name for them). */
typedef struct ml_gates {
    int32_t n;
    int32_t weights
        [ML_MAX_GATES]; /* inputs of shape (outputs, k), or (outputs): the diagonal of floats */
    int32_t outputs; /* of a gate */
    int32_t k;
    int32_t type;
} ml_gates;

/* The weights that stand at inputs first .. first + n - 1; false where they are not there, or of several types or shapes. */
bool ml_gates_of(const ml_call *c, int32_t first, int32_t n, ml_gates *g);
/* Whether they are constants, which derive sees: values that planning computes are not. */
bool ml_gates_known(const ml_call *c, const ml_gates *g);
/* The order that products want, written to `to` unless it is NULL; the bytes. */
int64_t ml_pack_gates(const ml_call *c, const ml_gates *g, void *to);

/* Rows that meet the weights, and where their products go. */
typedef struct ml_gate_rows {
    const void *x; /* floats, or s8 */
    int64_t count;
    int64_t stride; /* elements from row to row */
    int32_t zero; /* zero point of s8 */
    bool asymmetric; /* how floats are quantized that meet integers */
    int16_t *quantized; /* room for `count` rows of ml_padded_row(k), where weights are integers */
    float *scales; /* room for one a row, where x are floats too */
    void *y; /* [gate][row][output]: floats, or the sums of s8 as int32 */
} ml_gate_rows;

/* Eval. The gates may be shared among threads. */
ml_status ml_multiply_gates(const ml_call *c, const ml_gates *g, const void *packed,
                            const ml_gate_rows *rows);

/* The steps of a sequence, (time, batch, values) or (batch, time, values); a matrix is one step. */
typedef struct ml_sequence {
    int32_t steps;
    int32_t batches;
    int32_t chunk; /* steps whose inputs are multiplied at once */
    bool time_major;
    bool backward;
} ml_sequence;
ml_sequence ml_sequence_of(const ml_shape *x, bool time_major, bool backward);
/* Which row of an input or output has step t of batch b. */
static inline int64_t ml_sequence_row(const ml_sequence *s, int64_t t, int64_t b) {
    return s->time_major ? t * s->batches + b : b * s->steps + t;
}
/* A chunk, behind `done` steps in the sequence's direction: so many steps from number *first on. */
int64_t ml_sequence_chunk(const ml_sequence *s, int64_t done, int64_t *first);

/* How far it is in the products of a chunk from gate to gate, step to step, batch to batch. */
typedef struct ml_pitches {
    int64_t gate;
    int64_t step;
    int64_t batch;
} ml_pitches;
ml_pitches ml_pitches_of(const ml_sequence *s, const ml_gates *g, int64_t steps);
/* The products of `steps` steps of an input, from number `first` on. `room` says how, with what, and where to. */
ml_status ml_multiply_sequence(const ml_call *c, const ml_sequence *s, const ml_gates *g,
                               const void *packed, int32_t input, int64_t first, int64_t steps,
                               const ml_gate_rows *room);

/* The state of a direction, a row a batch of n floats, to step t of an output: its last columns (`behind`), or its first. */
void ml_put_rows(const ml_call *c, const ml_sequence *s, int32_t output, bool behind,
                 const float *state, int64_t n, int64_t t);

/* Prepare. Input `i`, where it is there, has `rank` dimensions (1 or 2) of these sizes; ML_SHAPE_ERROR else. */
ml_status ml_expect(const ml_call *c, int32_t i, int32_t rank, int64_t rows, int64_t columns);
/* Input 0 has so many dimensions, and input `aux`, where it is there, as many, all but the last of one size. */
ml_status ml_check_sequence(const ml_call *c, int32_t aux, int32_t rank);
/* Sets an output of shape `y` with `width` values in the last dimension. */
ml_status ml_set_width(const ml_call *c, int32_t output, ml_shape *y, int64_t width);
/* Room for `a` times `b` pieces of so many bytes behind the *used bytes of scratch; *used is -1 once they overflow. */
int64_t ml_room(int64_t *used, int64_t a, int64_t b, int64_t bytes);

/* The fused activations: NONE, RELU, RELU_N1_TO_1, RELU6, TANH, SIGN_BIT, numbered as in minilite/ops_shared/recurrent.py. */
void ml_activate(int32_t activation, float *v, int64_t n);
/* v = 1 / (1 + exp(-v)). */
void ml_logistic(float *v, int64_t n);

#endif
