/* pick.h -- outputs made of a tensor's elements one by one: the way for types whose elements are no
 * whole bytes. */
#ifndef ML_RULES_PICK_H
#define ML_RULES_PICK_H

#include "kernel.h"

/* Which element of the input comes `k`-th in the output; `index` is the one before, when k is not
 * 0. */
typedef ml_status ml_pick(const ml_call *c, int64_t k, int64_t *index);

/* Eval. Makes output 0, of strings or 4-bit elements, from input 0. */
ml_status ml_pick_elements(const ml_call *c, ml_pick *pick);

#endif
