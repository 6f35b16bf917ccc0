/* cache.c -- the cache of residences by the key of their plan: found by hash, limited in bytes, the
 * least recently used dropped first.
 *
 * The residence in use is in the cache like any other, so returning to it is no special case. It
 * counts towards the limit but is never dropped: with a limit of 0 it is the only one. Plans that
 * somebody holds live on without their residence. */
#include <stdlib.h>

#include "state/state.h"

static ml_residence **bucket_of(const ml_state *s, uint32_t hash) {
    return &s->buckets[hash % (uint32_t)s->n_buckets];
}

/* Keys are compared in full, so equal hashes of two sizes do no harm. */
ml_residence *ml_cache_find(ml_state *s, const ml_plan_request *request) {
    for (ml_residence *r = *bucket_of(s, request->hash); r; r = r->next)
        if (ml_plan_has_key(r->plan, request)) return r;
    return NULL;
}

/* Puts the residence last in the list, which is in the order of last use. */
static void put_last(ml_state *s, ml_residence *r) {
    r->older = s->newest;
    r->newer = NULL;
    *(s->newest ? &s->newest->newer : &s->oldest) = r;
    s->newest = r;
}

static void take_out(ml_state *s, ml_residence *r) {
    *(r->older ? &r->older->newer : &s->oldest) = r->newer;
    *(r->newer ? &r->newer->older : &s->newest) = r->older;
}

void ml_cache_use(ml_state *s, ml_residence *r) {
    if (r == s->newest) return;
    take_out(s, r);
    put_last(s, r);
}

static void put_in_bucket(ml_state *s, ml_residence *r) {
    ml_residence **bucket = bucket_of(s, r->plan->hash);
    r->next = *bucket;
    *bucket = r;
}

/* Keeps at least as many buckets as residences, so that one is found in O(1). Without memory for
 * more, buckets just become longer. */
static void add_buckets(ml_state *s) {
    ml_residence **more = calloc(2 * (size_t)s->n_buckets, sizeof *more);
    if (!more) return;
    if (s->buckets != s->first_buckets) free(s->buckets);
    s->buckets = more;
    s->n_buckets *= 2;
    for (ml_residence *r = s->oldest; r; r = r->newer) put_in_bucket(s, r);
}

void ml_cache_add(ml_state *s, ml_residence *r) {
    if (s->n_cached == s->n_buckets) add_buckets(s);
    put_last(s, r);
    put_in_bucket(s, r);
    s->n_cached++;
    s->cached_bytes += ml_residence_bytes(r);
}

static void drop(ml_state *s, ml_residence *r) {
    ml_residence **at = bucket_of(s, r->plan->hash);
    while (*at != r) at = &(*at)->next;
    *at = r->next;
    take_out(s, r);
    s->n_cached--;
    s->cached_bytes -= ml_residence_bytes(r);
    ml_residence_free(r);
}

void ml_cache_evict(ml_state *s) {
    while (s->cached_bytes > s->cache_bytes && s->n_cached > 1) {
        drop(s, s->oldest == s->now ? s->oldest->newer : s->oldest);
        s->counters.plans_evicted++;
    }
}

void ml_cache_drop_all_but(ml_state *s, const ml_residence *kept) {
    for (ml_residence *r = s->oldest, *newer; r; r = newer) {
        newer = r->newer;
        if (r != kept) drop(s, r);
    }
}

/* The residence in use is not improved, because its tensors would move away from their values; that
 * happens when its shapes come back. Nor is a dynamic one: it is placed again after runs, and its
 * bound differs from the plan's. After any failure nothing has changed. */
ml_residence *ml_cache_improve(ml_state *s, ml_residence *r) {
    if (r->improved || r == s->now || r->learnt) return r;
    r->improved = true;
    ml_error quiet = ML_NO_ERROR;
    ml_residence *fresh;
    ml_plan *better = ml_plan_improve(r->plan, s->family);
    if (!better) return r;
    if (ml_residence_new(s, better, &fresh, &quiet) != ML_OK) {
        ml_plan_free(better);
        return r;
    }
    fresh->improved = true;
    drop(s, r);
    ml_cache_add(s, fresh);
    s->counters.plans_improved++;
    return fresh;
}
