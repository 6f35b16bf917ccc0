/* table.h -- the layout of a table from numbers to strings, or the reverse, in one block of memory:
 * a header, slots with 1 + the number of a pair (0: empty), the numbers of all pairs, and their
 * strings in the form of a string tensor. */
#ifndef ML_CORE_TABLE_H
#define ML_CORE_TABLE_H

#include "core/strings.h"

enum { ML_TABLE_TYPE = -1 }; /* the type of a resource that is a table, not a variable */

typedef struct ml_table {
    int64_t count;
    int64_t slots; /* a power of two above count */
    int32_t key_type;
    int32_t value_type;
} ml_table;

static inline int32_t *ml_table_slots(const ml_table *t) { return (int32_t *)(t + 1); }
static inline int64_t *ml_table_numbers(const ml_table *t) {
    return (int64_t *)(ml_table_slots(t) + t->slots);
}
static inline uint8_t *ml_table_strings(const ml_table *t) {
    return (uint8_t *)(ml_table_numbers(t) + t->count);
}

/* True if `bytes` (aligned to 8) hold a table whose slots and strings are all inside. */
bool ml_table_is_whole(const void *data, int64_t bytes);

#endif
