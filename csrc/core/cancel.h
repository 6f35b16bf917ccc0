/* cancel.h -- ends a run before its last node: the interpreter's own flag, which is cleared
 * when a run begins, and a token passed by the caller, which stays set. */
#ifndef ML_CORE_CANCEL_H
#define ML_CORE_CANCEL_H

#include <stdatomic.h>
#include <stdbool.h>

#include "api/minilite.h"
#include "core/error.h"

struct ml_cancel {
    atomic_int set;
};

typedef struct ml_cancel_flags {
    atomic_int own;
    const ml_cancel *token; /* token of the current run, or NULL */
} ml_cancel_flags;

static inline bool ml_is_cancelled(const ml_cancel_flags *flags) {
    return atomic_load_explicit(&flags->own, memory_order_relaxed) ||
           (flags->token && atomic_load_explicit(&flags->token->set, memory_order_relaxed));
}
static inline ml_status ml_cancelled_error(ml_error *error) {
    return ml_error_set(error, ML_CANCELLED, "the run was cancelled");
}

#endif
