/* share.h -- shares the blocks of one piece of work among threads. Each has a range of neighbouring
 * blocks, and helps the others when its own is done. So threads rarely contend for a counter, and
 * the outputs that a thread has written are in its cache when it reads them for the next node.
 *
 * A range counts down its blocks that nobody has taken; `unfinished` counts down the blocks of all
 * ranges that are not done. A thread reads the work only after it has taken a block: until
 * that block is finished, nobody opens the next work, and without blocks to take nobody can take
 * one. If a counter has the same value again in later work, that is harmless: the thread takes a
 * block of that work. */
#ifndef ML_SHARE_H
#define ML_SHARE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { ML_CACHE_LINE = 64 };

typedef struct ml_range {
    alignas(ML_CACHE_LINE) atomic_llong untaken;
    int64_t end; /* the block after the last */
    atomic_int begun; /* its owner has taken a block */
} ml_range;

typedef struct ml_share {
    alignas(ML_CACHE_LINE) atomic_llong unfinished;
    alignas(ML_CACHE_LINE) atomic_llong limit; /* blocks from this one on are skipped */
    atomic_uint opened; /* how often */
    ml_range *ranges; /* one per thread; owned by the caller */
    int32_t threads;
} ml_share;

/* Empties the ranges, which no other thread uses any more. */
void ml_share_make(ml_share *s, ml_range *ranges, int32_t threads);
/* Opens blocks 0 to blocks - 1. Everything that they need must be written, and the previous work
 * finished. */
void ml_share_open(ml_share *s, int64_t blocks);

/* Takes a block of range `range`, in ascending order: false when none is left. Once the owner has
 * begun, others leave its last block to it: the owner is about to take it, and on cores that share
 * no cache, fetching its data costs as much as computing a block. Blocks beyond the limit are taken
 * and finished at once, and counted in `finished`, which the caller passes to ml_share_finish
 * together with the blocks it computed. */
bool ml_share_take(ml_share *s, int32_t range, bool own, int64_t *block, int64_t *finished);
/* True for the thread that finishes the last block. */
bool ml_share_finish(ml_share *s, int64_t finished);
/* Skips the blocks from `block` on that nobody has taken. */
void ml_share_limit(ml_share *s, int64_t block);

static inline bool ml_share_is_finished(ml_share *s) { return atomic_load(&s->unfinished) == 0; }
/* True if blocks were skipped. */
static inline bool ml_share_is_limited(ml_share *s) { return atomic_load(&s->limit) != INT64_MAX; }

#endif
