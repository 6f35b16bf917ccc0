/* account.h -- counts the bytes that arenas and blocks have taken together, up to a limit.
 *
 * Owners take their bytes before they ask the system for them, and give them back when they are
 * freed. An account is atomic, because the memory of a view is given back on whichever thread
 * releases the view. */
#ifndef ML_MEMORY_ACCOUNT_H
#define ML_MEMORY_ACCOUNT_H

#include <stdatomic.h>

#include "core/error.h"

typedef struct ml_account {
    atomic_int_least64_t taken; /* bytes */
    atomic_int_least64_t most; /* 0 = no limit */
    int64_t most_at_first; /* a limit that holds until a shape is requested; 0 = none such */
} ml_account;

/* Ends a limit that holds until a shape is requested. */
static inline void ml_account_end_first_limit(ml_account *account) {
    if (account->most_at_first) atomic_store_explicit(&account->most, 0, memory_order_relaxed);
}

/* Adds `bytes` for `what`. ML_ARENA_ERROR if that exceeds the limit; then nothing is added. */
ml_status ml_account_take(ml_account *account, const char *what, int64_t bytes, ml_error *error);
/* Subtracts `bytes`. A negative number adds without checking the limit, for bytes that round growth
 * up to whole pages. */
static inline void ml_account_give(ml_account *account, int64_t bytes) {
    if (account) atomic_fetch_sub_explicit(&account->taken, bytes, memory_order_relaxed);
}

#endif
