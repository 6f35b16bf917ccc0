/* cancel.c -- cancel tokens: ending a run from another thread. */
#include <stdlib.h>

#include "core/cancel.h"

ml_status ml_cancel_new(ml_cancel **out, ml_error *error) {
    ml_cancel *cancel = *out = malloc(sizeof *cancel);
    if (!cancel) return ml_error_refused(error, "a token");
    atomic_init(&cancel->set, 0);
    return ML_OK;
}

void ml_cancel_free(ml_cancel *cancel) { free(cancel); }

void ml_cancel_set(ml_cancel *cancel) { atomic_store(&cancel->set, 1); }

int32_t ml_cancel_is_set(const ml_cancel *cancel) { return atomic_load(&cancel->set); }
