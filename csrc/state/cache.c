/* cache.c -- residences by the key of their plan: found by hash, bounded in bytes, the longest unused leave first.
 *
 * The residence in force is in the cache like any other, so that going back to it is going anywhere. It counts towards the
 * bound but never leaves, and neither does anything while it is the only one: a bound of 0 keeps just that one. Plans that
 * somebody holds live on without their residence. */
#include <stdlib.h>

#include "state/state.h"

/* O(1) while there are about as many residences as buckets; beyond that buckets are searched. Keys are compared in full: a
 * hash that two sizes share does no harm. */
ml_residence *ml_cache_find(ml_state *s, const ml_plan_request *request) {
    for (ml_residence *r = s->buckets[request->hash % ML_BUCKETS]; r; r = r->next)
        if (ml_plan_has_key(r->plan, request)) return r;
    return NULL;
}

void ml_cache_add(ml_state *s, ml_residence *r) {
    ml_residence **bucket = &s->buckets[r->plan->hash % ML_BUCKETS];
    r->next = *bucket;
    *bucket = r;
    s->n_cached++;
    s->cached_bytes += ml_residence_bytes(r);
}

static void drop(ml_state *s, ml_residence *r) {
    ml_residence **at = &s->buckets[r->plan->hash % ML_BUCKETS];
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    s->n_cached--;
    s->cached_bytes -= ml_residence_bytes(r);
    ml_residence_free(r);
}

/* A search through all for each that leaves: that happens when a new size was made, which costs far more. */
void ml_cache_evict(ml_state *s) {
    while (s->cached_bytes > s->cache_bytes && s->n_cached > 1) {
        ml_residence *oldest = NULL;
        for (int i = 0; i < ML_BUCKETS; i++)
            for (ml_residence *r = s->buckets[i]; r; r = r->next)
                if (r != s->now && (!oldest || r->used < oldest->used)) oldest = r;
        if (!oldest) return;
        drop(s, oldest);
        s->counters.plans_evicted++;
    }
}

void ml_cache_drop_all_but(ml_state *s, const ml_residence *kept) {
    for (int i = 0; i < ML_BUCKETS && s->n_cached > (kept != NULL); i++)
        for (ml_residence *r = s->buckets[i], *next; r; r = next) {
            next = r->next;
            if (r != kept) drop(s, r);
        }
}

/* Never the residence in force, whose tensors would move under their values; it gets its chance when it comes back. A
 * dynamic one is placed anew after runs, and its bound is not the plan's. The better plan is a new plan, for somebody may
 * hold the old one; its folded values are the old one's, which it keeps alive. Any failure, memory included, leaves things
 * as they were. */
ml_residence *ml_cache_improve(ml_state *s, ml_residence *r) {
    ml_plan *plan = r->plan, *better;
    if (r->improved || r == s->now || r->learnt ||
        strcmp(ml_memory_strategy_name(s->strategy), "default") != 0)
        return r;
    if (plan->rows.frames[0].region_bytes <= plan->rows.frames[0].lower_bound) return r;
    r->improved = true;
    ml_error quiet = ML_NO_ERROR;
    if (ml_plan_copy(plan, &plan->rows, &better, &quiet) != ML_OK) return r;
    ml_residence *fresh = NULL;
    ml_placing placing = {.graph = plan->graph,
                          .rows = &better->rows,
                          .strategy = ml_memory_strategy_name((int32_t)plan->strategy),
                          .options = (int32_t)plan->options,
                          .planners = s->planners,
                          .longer = true,
                          .offline = plan->words == 0};
    ml_status status = ml_place_frames(&placing, NULL, NULL, &quiet);
    bool smaller =
        status == ML_OK && better->rows.frames[0].region_bytes < plan->rows.frames[0].region_bytes;
    if (!smaller || ml_residence_new(s, better, &fresh, &quiet) != ML_OK) {
        ml_plan_free(better);
        return r;
    }
    fresh->improved = true;
    drop(s, r);
    ml_cache_add(s, fresh);
    s->counters.plans_improved++;
    return fresh;
}
