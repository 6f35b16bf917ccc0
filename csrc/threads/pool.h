/* pool.h -- the threads of one interpreter, which share the blocks of one node's work at a time.
 *
 * The caller of ml_pool_parallel is worker 0 and works like the others. Workers are started by the
 * first work that has blocks for them. Each has a range of neighbouring blocks, and takes from the
 * others' when his is done (share.h), so a worker that sleeps or comes late costs nothing: the
 * caller waits for blocks that were taken, never for workers. After a piece of work they watch for
 * the next one for a while, whether in this run or another; then they sleep.
 *
 * Blocks are of `grain` items whatever the number of threads, and of several that fail the first
 * counts: neither results nor errors depend on the number of threads, provided that an item's
 * result depends on no other item's.
 *
 * A pool serves one thread at a time; its functions are not called from within a body. In the child
 * of a fork workers are started anew. */
#ifndef ML_POOL_H
#define ML_POOL_H

#include "api/minilite.h"
#include "core/cancel.h"

enum { ML_MAX_THREADS = 256 };

typedef struct ml_pool ml_pool;

/* Computes items first .. end - 1; may write into its worker's scratch, and fail with
 * ml_pool_error's text. */
typedef ml_status (*ml_pool_body)(const void *call, int64_t first, int64_t end, int32_t worker,
                                  void *args);

/* What may stop a run. */
typedef struct ml_watch {
    /* Cancelled: no more blocks are begun. NULL = none. */
    const ml_cancel_flags *cancel;
    /* Called between blocks, by the caller's thread alone. NULL = none. */
    ml_status (*poll)(void *owner);
    void *owner;
} ml_watch;

/* `threads` is 1 to ML_MAX_THREADS, the caller's among them; more or less are cut to that. */
ml_status ml_pool_new(int32_t threads, ml_pool **pool, ml_error *error);
/* Ends the workers; NULL is nothing. */
void ml_pool_free(ml_pool *pool);
/* Between runs. On failure all stays as it was. */
ml_status ml_pool_set_threads(ml_pool *pool, int32_t threads, ml_error *error);
int32_t ml_pool_threads(const ml_pool *pool);

/* Every worker's scratch gets room for `bytes` (>= 0), dropping its content. On failure all stays
 * as it was. */
ml_status ml_pool_reserve(ml_pool *pool, int64_t bytes, ml_error *error);
/* Of all workers together. */
int64_t ml_pool_bytes(const ml_pool *pool);
/* 64-byte aligned, the worker's own; NULL while nothing is reserved. */
void *ml_pool_scratch(const ml_pool *pool, int32_t worker);
/* Where a body writes what went wrong. */
ml_error *ml_pool_error(ml_pool *pool, int32_t worker);

/* A run begins and ends; `watch` is copied. */
void ml_pool_enter_run(ml_pool *pool, const ml_watch *watch);
void ml_pool_leave_run(ml_pool *pool);

/* Runs body over 0 .. items - 1 in blocks of `grain` (the last one may be shorter). When blocks
 * fail, those not begun are left out, and the status and error of the first that failed are given
 * back, in `error` unless that says something already; a failure of poll comes before them. */
ml_status ml_pool_parallel(ml_pool *pool, int64_t items, int64_t grain, ml_pool_body body,
                           const void *call, void *args, ml_error *error);

#endif
