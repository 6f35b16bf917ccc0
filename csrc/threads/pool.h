/* pool.h -- the threads of one interpreter, which share the blocks of one node's work at a time.
 *
 * The caller of ml_pool_parallel is worker 0 and works like the others. Workers are started when
 * there is first work with blocks for them. Each has a range of neighbouring blocks, and takes
 * blocks from other ranges when its own is done (share.h). So a worker that sleeps or is late costs
 * nothing: the caller waits for blocks that were taken, never for workers. After a piece of work,
 * workers spin for a while, waiting for the next one in this run or another; then they sleep.
 *
 * Blocks have `grain` items for any number of threads, and if several fail, the first one counts.
 * So neither results nor errors depend on the number of threads, as long as no item's result
 * depends on another's.
 *
 * A pool serves one thread at a time; its functions must not be called from within a body. In the
 * child of a fork, workers are started again. */
#ifndef ML_POOL_H
#define ML_POOL_H

#include "api/minilite.h"
#include "core/cancel.h"

enum { ML_MAX_THREADS = 256 };

typedef struct ml_pool ml_pool;

/* Computes items first .. end - 1; it may write into its worker's scratch; if it fails, it writes
 * the error to ml_pool_error. */
typedef ml_status (*ml_pool_body)(const void *call, int64_t first, int64_t end, int32_t worker,
                                  void *args);

/* Can stop a run. */
typedef struct ml_watch {
    /* Once set, no more blocks are begun. NULL = none. */
    const ml_cancel_flags *cancel;
    /* Called between blocks, on the caller's thread only. NULL = none. */
    ml_status (*poll)(void *owner);
    void *owner;
} ml_watch;

/* `threads` counts the caller's too, and is clamped to 1 to ML_MAX_THREADS. */
ml_status ml_pool_new(int32_t threads, ml_pool **pool, ml_error *error);
/* Ends the workers. NULL is allowed. */
void ml_pool_free(ml_pool *pool);
/* To be called between runs. On failure nothing changes. */
ml_status ml_pool_set_threads(ml_pool *pool, int32_t threads, ml_error *error);
int32_t ml_pool_threads(const ml_pool *pool);

/* Makes room for `bytes` (>= 0) in every worker's scratch, and drops its content. On failure
 * nothing changes. */
ml_status ml_pool_reserve(ml_pool *pool, int64_t bytes, ml_error *error);
/* The bytes of scratch of all workers together. */
int64_t ml_pool_bytes(const ml_pool *pool);
/* The worker's own scratch, 64-byte aligned; NULL if nothing is reserved. */
void *ml_pool_scratch(const ml_pool *pool, int32_t worker);
/* The error of a worker, to which bodies write. */
ml_error *ml_pool_error(ml_pool *pool, int32_t worker);

/* Called when a run begins and when it ends; `watch` is copied. */
void ml_pool_enter_run(ml_pool *pool, const ml_watch *watch);
void ml_pool_leave_run(ml_pool *pool);

/* Runs body over 0 .. items - 1 in blocks of `grain` (the last one may be shorter). When a block
 * fails, blocks not yet begun are skipped. Returns the status of the first block that failed, and
 * copies its error to `error` unless that is set already. A failure of poll takes precedence. */
ml_status ml_pool_parallel(ml_pool *pool, int64_t items, int64_t grain, ml_pool_body body,
                           const void *call, void *args, ml_error *error);

#endif
