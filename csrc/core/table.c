/* table.c -- checks that bytes have the layout of a table. */
#include "core/table.h"

bool ml_table_is_whole(const void *data, int64_t bytes) {
    const ml_table *t = data;
    char why[128];
    /* The last two keep the sum below from overflowing. */
    if (bytes < (int64_t)sizeof *t || t->count < 0 || t->slots <= t->count ||
        (t->slots & (t->slots - 1)) != 0 || t->slots > bytes / 4 || t->count > bytes / 8)
        return false;
    const int64_t before = (int64_t)sizeof *t + 4 * t->slots + 8 * t->count;
    if (before > bytes || !ml_strings_are_whole(ml_table_strings(t), bytes - before, t->count, why))
        return false;
    int64_t used = 0;
    for (int64_t i = 0; i < t->slots; i++) {
        const int32_t pair = ml_table_slots(t)[i];
        if (pair < 0 || pair > t->count) return false;
        used += pair > 0;
    }
    return used <= t->count;
}
