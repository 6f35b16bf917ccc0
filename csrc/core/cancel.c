/* cancel.c -- cancel tokens: ending a run from another thread. */
#include <stdlib.h>

#include "core/cancel.h"

ml_cancel *ml_cancel_new(void) {
    ml_cancel *cancel = malloc(sizeof *cancel);
    if (cancel) atomic_init(&cancel->set, 0);
    return cancel;
}

void ml_cancel_free(ml_cancel *cancel) { free(cancel); }

void ml_cancel_set(ml_cancel *cancel) { atomic_store(&cancel->set, 1); }

int32_t ml_cancel_is_set(const ml_cancel *cancel) { return atomic_load(&cancel->set); }
