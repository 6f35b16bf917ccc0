/* greedy.c -- the greedy strategies of one pass: by size and by breadth. */
#include <stdlib.h>

#include "memory/strategies.h"
#include "memory/strategies/breadth.h"
#include "memory/strategies/passes.h"

ml_strategy_status ml_strategy_greedy_by_size(ml_problem *p) {
    ml_strategy_status status = ml_check_sizes(p);
    if (status != ML_STRATEGY_OK) return status;
    ml_passes s;
    if (!ml_passes_begin(&s, p)) return ML_STRATEGY_NO_MEMORY;
    ml_order_by(p, s.size, s.order);
    int64_t height = ml_passes_place(&s, s.order, ML_BEST_FIT, INT64_MAX);
    ml_passes_keep(&s, s.order);
    ml_passes_end(&s, p, height, 1);
    return ML_STRATEGY_OK;
}

/* The bytes live at a record's busiest node: records of broad nodes go first, the larger ones
 * before the smaller. */
static bool key_by_breadth(ml_passes *s, const ml_problem *p) {
    ml_breadth *nodes = malloc(((size_t)p->count + 1) * sizeof *nodes);
    int32_t n_nodes = nodes ? ml_breadths(p, nodes) : -1;
    for (int32_t i = 0; i < p->count && n_nodes >= 0; i++) {
        s->key[i] = 0;
        for (int32_t n = 0; n < n_nodes && nodes[n].node <= p->records[i].last; n++)
            if (nodes[n].node >= p->records[i].first && nodes[n].bytes > s->key[i])
                s->key[i] = nodes[n].bytes;
    }
    free(nodes);
    return n_nodes >= 0;
}

ml_strategy_status ml_strategy_greedy_by_breadth(ml_problem *p) {
    ml_strategy_status status = ml_check_sizes(p);
    if (status != ML_STRATEGY_OK) return status;
    ml_passes s;
    if (!ml_passes_begin(&s, p)) return ML_STRATEGY_NO_MEMORY;
    ml_order_by(p, s.size, s.trial);
    if (!key_by_breadth(&s, p)) {
        free(s.size);
        return ML_STRATEGY_NO_MEMORY;
    }
    /* A stable sort by breadth, on top of the order by size. */
    for (int32_t i = 0; i < s.waiting; i++) {
        int32_t moving = s.trial[i], at = i;
        for (; at > 0 && s.key[s.order[at - 1]] < s.key[moving]; at--)
            s.order[at] = s.order[at - 1];
        s.order[at] = moving;
    }
    int64_t height = ml_passes_place(&s, s.order, ML_BEST_FIT, INT64_MAX);
    ml_passes_keep(&s, s.order);
    ml_passes_end(&s, p, height, 1);
    return ML_STRATEGY_OK;
}
