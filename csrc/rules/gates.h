/* gates.h -- multiplies rows of an input or of a state with the weights of several gates; and their
 * activations. */
#ifndef ML_RULES_GATES_H
#define ML_RULES_GATES_H

#include "kernel.h"

enum { ML_MAX_GATES = 4 };

/* Weights of `n` gates, all of one type: floats or s8 bytes (which some models call u8). */
typedef struct ml_gates {
    int32_t n;
    /* Numbers of the inputs that hold them, of shape (outputs, k); or (outputs), a diagonal matrix
     * of floats. */
    int32_t weights[ML_MAX_GATES];
    int32_t outputs; /* of one gate */
    int32_t k;
    int32_t type;
} ml_gates;

/* Finds the weights at inputs first .. first + n - 1; false if they are missing, or differ in type
 * or shape. */
bool ml_gates_of(const ml_call *c, int32_t first, int32_t n, ml_gates *g);
/* True if the weights are constants, whose values derive can read. Values computed while planning
 * are not. */
bool ml_gates_known(const ml_call *c, const ml_gates *g);
/* Packs the weights to `to`, unless that is NULL; returns the bytes. */
int64_t ml_pack_gates(const ml_call *c, const ml_gates *g, void *to);

/* Rows to multiply with the weights, and where the products go. */
typedef struct ml_gate_rows {
    const void *x; /* floats, or s8 */
    int64_t count;
    int64_t stride; /* elements from row to row */
    int32_t zero; /* zero point of s8 */
    bool asymmetric; /* how floats are quantized for integer weights */
    uint8_t *quantized; /* room for `count` rows of k, if weights are integers */
    int32_t *factors; /* room for one per row */
    float *scales; /* the same, if x are floats */
    void *y; /* [gate][row][output]: floats, or the sums of s8 as int32 */
} ml_gate_rows;

/* Eval. Computes all products; threads may share the gates. */
ml_status ml_multiply_gates(const ml_call *c, const ml_gates *g, const void *packed,
                            const ml_gate_rows *rows);

/* The fused activations: NONE, RELU, RELU_N1_TO_1, RELU6, TANH, SIGN_BIT, numbered as in
 * minilite/ops_shared/recurrent.py. */
void ml_activate(int32_t activation, float *v, int64_t n);
/* v = 1 / (1 + exp(-v)). */
void ml_logistic(float *v, int64_t n);

#endif
