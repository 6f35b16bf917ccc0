/* account.c -- counts the bytes that arenas and blocks take, up to a limit. */
#include "memory/account.h"

ml_status ml_account_take(ml_account *a, const char *what, int64_t bytes, ml_error *error) {
    if (!a) return ML_OK;
    int64_t taken = atomic_load_explicit(&a->taken, memory_order_relaxed);
    if (a->most > 0 && bytes > a->most - taken) {
        if (error->status == ML_OK) {
            error->needed = bytes;
            error->available = a->most - taken;
        }
        return ml_error_set(error, ML_ARENA_ERROR,
                            "%s needs %lld bytes more, %lld are taken, max_bytes is %lld", what,
                            (long long)bytes, (long long)taken, (long long)a->most);
    }
    atomic_fetch_add_explicit(&a->taken, bytes, memory_order_relaxed);
    return ML_OK;
}
