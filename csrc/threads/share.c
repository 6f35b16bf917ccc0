/* share.c -- the protocol by which threads share the blocks of a piece of work. */
#include "threads/share.h"

void ml_share_make(ml_share *s, ml_range *ranges, int32_t threads) {
    atomic_init(&s->unfinished, 0);
    atomic_init(&s->limit, INT64_MAX);
    atomic_init(&s->opened, 0);
    s->ranges = ranges;
    s->threads = threads;
    for (int32_t i = 0; i < threads; i++) {
        atomic_init(&ranges[i].untaken, 0);
        atomic_init(&ranges[i].begun, 0);
    }
}

void ml_share_open(ml_share *s, int64_t blocks) {
    const int64_t ranges = blocks < s->threads ? blocks : s->threads;
    const int64_t each = blocks / ranges, more = blocks % ranges;
    int64_t end = 0;
    atomic_store_explicit(&s->limit, INT64_MAX, memory_order_relaxed);
    atomic_store_explicit(&s->unfinished, blocks, memory_order_relaxed);
    for (int32_t i = 0; i < ranges; i++) {
        const int64_t count = each + (i < more);
        s->ranges[i].end = end += count;
        atomic_store_explicit(&s->ranges[i].begun, 0, memory_order_relaxed);
        atomic_store_explicit(&s->ranges[i].untaken, count, memory_order_release);
    }
    atomic_fetch_add(&s->opened, 1);
}

bool ml_share_take(ml_share *s, int32_t range, bool own, int64_t *block, int64_t *finished) {
    ml_range *r = &s->ranges[range];
    long long untaken = atomic_load_explicit(&r->untaken, memory_order_relaxed);
    do {
        if (untaken <= 0) return false;
        if (!own && untaken == 1 && atomic_load_explicit(&r->begun, memory_order_relaxed))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&r->untaken, &untaken, untaken - 1,
                                                    memory_order_acquire, memory_order_relaxed));
    if (own) atomic_store_explicit(&r->begun, 1, memory_order_relaxed);
    *block = r->end - untaken;
    if (*block < atomic_load_explicit(&s->limit, memory_order_relaxed)) return true;
    *finished += 1 + atomic_exchange(&r->untaken, 0);
    return false;
}

bool ml_share_finish(ml_share *s, int64_t finished) {
    return finished > 0 && atomic_fetch_sub(&s->unfinished, finished) == finished;
}

void ml_share_limit(ml_share *s, int64_t block) {
    long long limit = atomic_load(&s->limit);
    while (block < limit && !atomic_compare_exchange_weak(&s->limit, &limit, block)) continue;
}
