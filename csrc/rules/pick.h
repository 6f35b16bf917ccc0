/* pick.h -- makes an output by picking a tensor's elements one by one, for types whose elements are
 * not whole bytes. */
#ifndef ML_RULES_PICK_H
#define ML_RULES_PICK_H

#include "kernel.h"

/* Finds the element of the input that is element `k` of the output. On entry *index is that of
 * element k - 1, if k > 0. */
typedef ml_status ml_pick(const ml_call *c, int64_t k, int64_t *index);

/* Eval. Makes output 0, of strings or 4-bit elements, from input 0. */
ml_status ml_pick_elements(const ml_call *c, ml_pick *pick);

#endif
