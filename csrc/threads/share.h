/* share.h -- the blocks of one piece of work, shared among threads: a range of neighbouring blocks
 * for each, who helps the others when his own is done. So threads rarely meet at a counter, and
 * what a thread has written for one node it finds near when the next node reads it.
 *
 * A range counts down the blocks that nobody has taken; `unfinished` those of all that are not
 * done. Who takes a block reads what the work is only then: as long as that block is unfinished
 * nobody opens the next work, and while nothing is untaken nobody can take. A number that comes
 * back in a later work does no harm: what is taken then is a block of that work. */
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
    atomic_int begun; /* its owner has taken one */
} ml_range;

typedef struct ml_share {
    alignas(ML_CACHE_LINE) atomic_llong unfinished;
    alignas(ML_CACHE_LINE) atomic_llong limit; /* blocks from this one on are left out */
    atomic_uint opened; /* how often */
    ml_range *ranges; /* one per thread; the owner's */
    int32_t threads;
} ml_share;

/* Nothing to do, in ranges that are not anyone's any more. */
void ml_share_make(ml_share *s, ml_range *ranges, int32_t threads);
/* Blocks 0 to blocks - 1. Everything they need has been written, and the last work is finished. */
void ml_share_open(ml_share *s, int64_t blocks);

/* Takes a block of range `range`, in ascending order: false when none is left. Others than the
 * owner leave him his last one once he has begun: he is about to take it, and to fetch what he has
 * near costs as much as a block, where cores share no cache. Those beyond the limit are taken and
 * finished at once, and counted in `finished`, which the caller gives to ml_share_finish with those
 * that he did. */
bool ml_share_take(ml_share *s, int32_t range, bool own, int64_t *block, int64_t *finished);
/* True for who finishes the last. */
bool ml_share_finish(ml_share *s, int64_t finished);
/* Leaves out the blocks from `block` on that nobody has taken. */
void ml_share_limit(ml_share *s, int64_t block);

static inline bool ml_share_is_finished(ml_share *s) { return atomic_load(&s->unfinished) == 0; }
/* Whether blocks were left out. */
static inline bool ml_share_is_limited(ml_share *s) { return atomic_load(&s->limit) != INT64_MAX; }

#endif
