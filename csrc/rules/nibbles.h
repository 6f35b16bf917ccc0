/* nibbles.h -- fully connected layers whose weights of 4 bits, with a scale for each output, stay
 * nibbles: they take half the memory, and a single row, whose speed is that of reading them, half
 * the time. */
#ifndef ML_RULES_NIBBLES_H
#define ML_RULES_NIBBLES_H

#include "rules/matmul_s8.h"

/* True if the node's weights, n rows of k, are kept so: s4, for rows of s8, or of floats quantized
 * at run time, at a level that reads them faster. */
bool ml_keeps_nibbles(const ml_call *c, int64_t k);
/* Their bytes, and packing: panels of matmul_s4, then the sum of each output's weights. */
int64_t ml_pack_nibbles(const ml_call *c, void *to, int64_t n, int64_t k);
/* Prepare: scratch. */
void ml_prepare_nibbles(const ml_call *c, ml_wish *wish, const ml_integers *p,
                        const ml_integer_rule *rule);
/* Eval: rows of p, of s8 or quantized. Few rows read the nibbles, once each; for more, panels of
 * them become bytes. */
ml_status ml_multiply_nibbles(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule,
                              float minimum, float maximum);

#endif
