/* greedy.c -- the greedy strategies of one pass: by size and by breadth. */
#include "memory/strategies.h"
#include "memory/strategies/passes.h"

/* Places the largest key first, and ends the passes. */
static ml_strategy_status place_by(ml_passes *s, ml_problem *p, const int64_t *key) {
    int64_t height = 0;
    if (key && ml_passes_order(s, key, s->order)) {
        height = ml_passes_place(s, s->order, ML_BEST_FIT, INT64_MAX);
        ml_passes_keep(s, s->order);
    } else {
        s->short_of_memory = true;
    }
    return ml_passes_end(s, p, height, 1);
}

ml_strategy_status ml_strategy_greedy_by_size(ml_problem *p) {
    ml_strategy_status status = ml_check_sizes(p);
    if (status != ML_STRATEGY_OK) return status;
    ml_passes s;
    if (!ml_passes_begin(&s, p)) return ML_STRATEGY_NO_MEMORY;
    return place_by(&s, p, s.size);
}

/* Takes the bytes live at a record's busiest node: records of broad nodes go first, the larger ones
 * before the smaller. */
ml_strategy_status ml_strategy_greedy_by_breadth(ml_problem *p) {
    ml_strategy_status status = ml_check_sizes(p);
    if (status != ML_STRATEGY_OK) return status;
    ml_passes s;
    if (!ml_passes_begin(&s, p)) return ML_STRATEGY_NO_MEMORY;
    return place_by(&s, p, ml_passes_busiest(&s, s.key) ? s.key : NULL);
}
