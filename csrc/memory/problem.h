/* problem.h -- the one signature of every planning strategy: usage records in, offsets out.
 *
 * A strategy gives each record an offset such that no two records that are live at once overlap. It
 * is a pure function of the problem: no globals, no I/O; working memory comes from malloc and is
 * freed before it returns.
 *
 *   - `first` and `last` are node numbers, both inclusive; last == ML_FOREVER means never freed.
 *   - `size` is in bytes and is NOT rounded; a strategy rounds sizes up to `alignment` unless its
 *     rule says otherwise (tflite). Records of size 0 get offset 0 and conflict with nothing.
 *   - a record whose offset is not ML_UNPLACED on entry is fixed: it stays, the others are placed
 *     around it (its offset need not be a multiple of `alignment`; it then takes up its first and
 *     last block of that size whole). Strategies that do not support fixed records say so in their
 *     header comment and return ML_STRATEGY_UNSUPPORTED.
 *   - on return every other record has an offset, a multiple of `alignment`, and `arena_bytes` is
 *     the high-water mark max(offset + size) rounded up to `alignment`.
 *   - all sums are checked: a total beyond INT64_MAX / 2 returns ML_STRATEGY_OVERFLOW and leaves
 *   the offsets as they were. */
#ifndef ML_MEMORY_PROBLEM_H
#define ML_MEMORY_PROBLEM_H

#include "api/minilite.h"

struct ml_conflicts;

/* The facts that are known about a problem before it is planned. Only the default strategy uses
 * them. */
typedef struct ml_hints {
    /* Read, the first `hinted` records: the order of a good plan of a similar problem. Written, all
     * records: the order of this plan. */
    int32_t *order;
    int32_t hinted;
    bool longer; /* all of the budget may go into the search */
    const struct ml_conflicts *conflicts; /* or NULL */
    int64_t bound; /* the lower bound; -1 = not known yet */
    /* Read: the budget of the search, in placed records looked at; -1 = the usual one. Written: the
     * rest of it. */
    int64_t work;
} ml_hints;

/* A look takes about 1.3 ns. So this allows 0.2 us per record for a new size, and 200 us in all. */
enum { ML_WORK_A_RECORD = 150, ML_WORK = 150000 };

/* A planning strategy: plans `problem`. The table ml_strategies (strategies.c) lists them by
 * name. */
typedef ml_strategy_status (*ml_strategy_fn)(ml_problem *problem);

typedef struct ml_strategy {
    const char *name;
    ml_strategy_fn plan;
    bool aligns; /* supports problem->alignments */
} ml_strategy;

/* The index of a strategy in the table (ml_memory_strategy_name); -1 if there is none
 * of that name. */
int32_t ml_strategy_named(const char *name);

#endif
