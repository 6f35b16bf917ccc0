/* turn.h -- the lock of an interpreter, and of a workspace. */
#ifndef ML_STATE_TURN_H
#define ML_STATE_TURN_H

#include <stdatomic.h>

#include "core/error.h"
#include "os/os.h"

/* Who has the turn: nobody, a copy into or out of a tensor, or a call that changes something. */
enum { ML_TURN_FREE = 0, ML_TURN_COPY = 1, ML_TURN_CALL = 2 };

/* Copies are short, so others wait for one by yielding their time slice. Nobody waits for a
 * call. */
static inline ml_status ml_take_turn(atomic_int *turn, int kind) {
    for (;;) {
        int found = ML_TURN_FREE;
        if (atomic_compare_exchange_weak_explicit(turn, &found, kind, memory_order_acquire,
                                                  memory_order_relaxed))
            return ML_OK;
        if (found == ML_TURN_CALL) return ML_BUSY;
        if (found == ML_TURN_COPY) ml_os_yield();
    }
}
static inline void ml_give_turn(atomic_int *turn) {
    atomic_store_explicit(turn, ML_TURN_FREE, memory_order_release);
}

#endif
