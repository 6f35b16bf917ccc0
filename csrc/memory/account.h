/* account.h -- counts the bytes that arenas and blocks have taken together, up to a limit.
 *
 * Owners take their bytes before they ask the system for them, and give them back when they are
 * freed. An account is atomic, for what goes with a view is given back by whichever thread lets go
 * of it. */
#ifndef ML_MEMORY_ACCOUNT_H
#define ML_MEMORY_ACCOUNT_H

#include <stdatomic.h>

#include "core/error.h"

typedef struct ml_account {
    atomic_int_least64_t taken; /* bytes */
    int64_t most; /* 0 = any */
} ml_account;

/* Counts `bytes` more for `what`. ML_ARENA_ERROR where they are too many; then nothing is
 * counted. */
ml_status ml_account_take(ml_account *account, const char *what, int64_t bytes, ml_error *error);
/* Counts `bytes` less, or more where it is negative: pages that round a growth up are counted, and
 * refuse none. */
static inline void ml_account_give(ml_account *account, int64_t bytes) {
    if (account) atomic_fetch_sub_explicit(&account->taken, bytes, memory_order_relaxed);
}

#endif
