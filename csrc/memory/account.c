/* account.c -- counts the bytes that arenas and blocks take, up to a limit. */
#include "memory/account.h"

ml_status ml_account_take(ml_account *a, const char *what, int64_t bytes, ml_error *error) {
    if (!a) return ML_OK;
    int64_t taken = atomic_load_explicit(&a->taken, memory_order_relaxed);
    const int64_t most = atomic_load_explicit(&a->most, memory_order_relaxed);
    if (most > 0 && bytes > most - taken) {
        if (error->status == ML_OK) {
            error->needed = bytes;
            error->available = most - taken;
        }
        return ml_error_set(error, ML_ARENA_ERROR,
                            "%s needs %lld bytes more, %lld are taken, max_bytes is %lld%s", what,
                            (long long)bytes, (long long)taken, (long long)most,
                            a->most_at_first ? " unless it is given or an input is resized" : "");
    }
    atomic_fetch_add_explicit(&a->taken, bytes, memory_order_relaxed);
    return ML_OK;
}
