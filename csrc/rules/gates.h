/* gates.h -- rows of an input or of a state times the weights of several gates, and what activates
 * their sums. */
#ifndef ML_RULES_GATES_H
#define ML_RULES_GATES_H

#include "kernel.h"

enum { ML_MAX_GATES = 4 };

/* Weights of `n` gates, all of one type: floats, or bytes of s8 (u8 is another name for them). */
typedef struct ml_gates {
    int32_t n;
    /* Inputs of shape (outputs, k), or (outputs): the diagonal of floats. */
    int32_t weights[ML_MAX_GATES];
    int32_t outputs; /* of a gate */
    int32_t k;
    int32_t type;
} ml_gates;

/* The weights that stand at inputs first .. first + n - 1; false where they are not there, or of
 * several types or shapes. */
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
    uint8_t *quantized; /* room for `count` rows of k, where weights are integers */
    int32_t *factors; /* room for one per row */
    float *scales; /* the same, where x are floats too */
    void *y; /* [gate][row][output]: floats, or the sums of s8 as int32 */
} ml_gate_rows;

/* Eval. The gates may be shared among threads. */
ml_status ml_multiply_gates(const ml_call *c, const ml_gates *g, const void *packed,
                            const ml_gate_rows *rows);

/* The fused activations: NONE, RELU, RELU_N1_TO_1, RELU6, TANH, SIGN_BIT, numbered as in
 * minilite/ops_shared/recurrent.py. */
void ml_activate(int32_t activation, float *v, int64_t n);
/* v = 1 / (1 + exp(-v)). */
void ml_logistic(float *v, int64_t n);

#endif
