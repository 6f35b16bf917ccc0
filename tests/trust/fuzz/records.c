/* records.c -- fuzzes the planners: the input is a strategy and usage records, the plan has to be
 * valid. */
#include "use.h"

#include <stdlib.h>
#include <string.h>

#include "api/minilite.h"

enum { MOST = 64, EACH = 8, ALIGNMENT = 64 };

static int64_t rounded(int64_t bytes) { return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* Ends the process if two records that are live at once overlap, or one leaves the arena. */
static void check(const ml_problem *problem) {
    for (int32_t i = 0; i < problem->count; i++) {
        const ml_record *a = &problem->records[i];
        if (a->size == 0) continue;
        if (a->offset < 0 || a->offset % ALIGNMENT != 0) abort();
        if (a->offset + rounded(a->size) > problem->arena_bytes) abort();
        for (int32_t j = 0; j < i; j++) {
            const ml_record *b = &problem->records[j];
            const bool at_once = b->size > 0 && a->first <= b->last && b->first <= a->last;
            if (at_once && a->offset < b->offset + rounded(b->size) &&
                b->offset < a->offset + rounded(a->size))
                abort();
        }
    }
}

/* Eight bytes are a record: its size (3 bytes), its first and its last node (2 bytes each), and by
 * how many bits the size is shifted. */
static ml_record record(const uint8_t *d, int32_t tensor) {
    const int64_t size = (d[0] | d[1] << 8 | (int64_t)d[2] << 16);
    const int32_t one = d[3] | d[4] << 8, other = d[5] | d[6] << 8;
    const bool ordered = one <= other;
    return (ml_record){.size = size << (d[7] >= 250 ? 39 : d[7] % 16),
                       .offset = ML_UNPLACED,
                       .first = ordered ? one : other,
                       .last = ordered ? other : one,
                       .tensor = tensor};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    ml_record records[MOST];
    int32_t strategies = 0, count = 0;
    if (bytes == 0) return 0;
    while (ml_memory_strategy_name(strategies)) strategies++;
    const char *name = ml_memory_strategy_name(data[0] % strategies);
    for (size_t at = 1; at + EACH <= bytes && count < MOST; at += EACH, count++)
        records[count] = record(data + at, count);
    ml_problem problem = {
        .records = records, .count = count, .alignment = ALIGNMENT, .max_nodes = 2000};
    if (ml_memory_plan(name, &problem) == ML_STRATEGY_OK) {
        check(&problem);
        if (problem.arena_bytes < ml_memory_lower_bound(&problem)) abort();
    }
    return 0;
}
