/* recurrent.h -- operators that step through a sequence and keep a state: weights, scratch and
 * steps of each direction. */
#ifndef ML_RULES_RECURRENT_H
#define ML_RULES_RECURRENT_H

#include "rules/gates.h"

/* The steps of a sequence, (time, batch, values) or (batch, time, values); a matrix is one step. */
typedef struct ml_sequence {
    int32_t steps;
    int32_t batches;
    int32_t chunk; /* steps whose inputs are multiplied at once */
    bool time_major;
    bool backward;
} ml_sequence;
ml_sequence ml_sequence_of(const ml_shape *x, bool time_major, bool backward);
/* The row of an input or output that has step t of batch b. */
static inline int64_t ml_sequence_row(const ml_sequence *s, int64_t t, int64_t b) {
    return s->time_major ? t * s->batches + b : b * s->steps + t;
}

/* The four factors of weights: the input, an auxiliary input, the state, and values that a step
 * projects to the state. */
enum { ML_OF_INPUT, ML_OF_AUX, ML_OF_STATE, ML_OF_HIDDEN, ML_PRODUCTS };

/* One direction of a node. The kernel sets the numbers of its operands. */
typedef struct ml_recurrent {
    int32_t x; /* inputs */
    int32_t aux;
    int32_t state;
    int32_t output;
    bool behind; /* its outputs come after those of another direction */
    ml_gates gates[ML_PRODUCTS]; /* n = 0: none */
    ml_sequence sequence;
    bool known; /* its packed weights are in derived; else each run packs them */
    int64_t bytes; /* of all packed weights together */
    int64_t weights_at; /* in derived, or in scratch */
    /* Offsets in scratch. Sums are of a chunk for the input and the auxiliary input, of a step for
     * the state. */
    int64_t sums_at[ML_OF_HIDDEN];
    int64_t quantized_at;
    int64_t factors_at;
    int64_t scales_at;
} ml_recurrent;

/* Called once `gates` are filled in: finds out whether weights are known, and places them after the
 * *derived bytes of derived. */
void ml_place_weights(const ml_call *c, ml_recurrent *r, int64_t *derived);
/* Derive: packs known weights to the derived block at `to`. */
void ml_pack_known(const ml_call *c, const ml_recurrent *r, void *to);
/* Prepare and eval: describes the sequence, and places scratch after the *scratch bytes (-1 after
 * an overflow). */
void ml_place_scratch(const ml_call *c, ml_recurrent *r, bool time_major, bool backward,
                      int64_t *scratch);

/* The products that a step reads, [gate][batch][output], floats or int32. */
typedef struct ml_step {
    const void *input; /* of gate 0 and batch 0, like the next two */
    const void *aux; /* NULL: no auxiliary input */
    const void *state;
    int64_t gate; /* elements from gate to gate, for the inputs */
    int64_t batch;
    int64_t state_gate; /* the same for the state, whose batches are rows of outputs */
    const char *projection; /* packed weights */
    ml_gate_rows room; /* for products that the step itself makes */
} ml_step;
/* Computes the new state from the products of a step. */
typedef ml_status ml_step_fn(const ml_call *c, const ml_recurrent *r, const ml_step *step,
                             const void *context);
/* Eval. Steps through the sequence; each new state is a row of the output, for each batch. */
ml_status ml_run_recurrent(const ml_call *c, const ml_recurrent *r, bool asymmetric,
                           ml_step_fn *step, const void *context);
/* Multiplies rows of hidden values minus `zero`, one per batch, with the projection's weights: a
 * part of a step. */
ml_status ml_project(const ml_call *c, const ml_recurrent *r, const ml_step *step,
                     const void *hidden, int32_t zero, void *y);

/* Prepare. Checks that input `i`, if present, has `rank` dimensions (1 or 2) of these sizes; else
 * ML_SHAPE_ERROR. */
ml_status ml_expect(const ml_call *c, int32_t i, int32_t rank, int64_t rows, int64_t columns);
/* Checks that input 0 has `rank` dimensions, and that input `aux`, if present, has the same, except
 * for the last. */
ml_status ml_check_sequence(const ml_call *c, int32_t aux, int32_t rank);
/* Sets an output of shape `y` with `width` values in the last dimension. */
ml_status ml_set_width(const ml_call *c, int32_t output, ml_shape *y, int64_t width);
/* Reserves `a` times `b` pieces of `bytes` bytes after the *used bytes of scratch, and returns
 * their offset; *used is -1 after an overflow. */
int64_t ml_room(int64_t *used, int64_t a, int64_t b, int64_t bytes);

#endif
