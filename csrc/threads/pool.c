/* pool.c -- the threads of one interpreter: starts and ends them, runs blocks on them, waits for
 * them. share.c shares the blocks among them. */
#include "threads/pool.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/shape.h"
#include "os/os.h"
#include "threads/float_mode.h"
#include "threads/share.h"

enum { SPINS = 4000 /* 50 to 100 us */, PATIENCE = 600 /* about the longest block */ };

typedef struct pool_worker {
    alignas(ML_CACHE_LINE) ml_pool *pool;
    int32_t number;
    ml_status status; /* of the first block that failed on this worker, in the current work */
    int64_t failed; /* that block */
    ml_error failure; /* its error */
    ml_error error; /* bodies write their errors here */
    ml_os_thread thread;
} pool_worker;

typedef struct pool_work {
    int64_t items;
    int64_t grain;
    int64_t blocks;
    ml_pool_body body;
    const void *call;
    void *args;
    const ml_cancel_flags *cancel;
    uint32_t float_mode; /* the caller's rounding and flushing of subnormals */
} pool_work;

struct ml_pool {
    ml_share share;
    alignas(ML_CACHE_LINE) atomic_int sleepers;
    atomic_int caller_sleeps;
    atomic_int ending; /* makes workers end */
    ml_bell work_bell; /* rung when there is work, or at the end */
    ml_bell finish_bell; /* rung when all blocks are finished */
    alignas(ML_CACHE_LINE) pool_work work;
    ml_watch watch;
    pool_worker *workers; /* `threads` workers; the caller is the first */
    ml_range *ranges; /* the ranges of `share` */
    uint8_t *scratch; /* `scratch_bytes` per worker */
    int64_t scratch_bytes;
    int32_t threads;
    int32_t started; /* running workers, without the caller */
    bool may_start; /* false if the system refused a thread in this run */
    int64_t process; /* the process in which workers were started */
};

static inline void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Blocks ------------------------------------------------------------------------------------- */

static ml_status run_body(const pool_work *work, int64_t block, pool_worker *worker) {
    if (work->cancel && ml_is_cancelled(work->cancel)) return ml_cancelled_error(&worker->error);
    int64_t first = block * work->grain, left = work->items - first;
    return work->body(work->call, first, left < work->grain ? work->items : first + work->grain,
                      worker->number, work->args);
}

/* Stores the failure if it is the first: a worker may fail again, in an earlier block of another
 * range. */
static void note_failure(pool_worker *worker, int64_t block, ml_status status) {
    if (worker->status == ML_OK || block < worker->failed) {
        worker->status = status;
        worker->failed = block;
        worker->failure = worker->error;
    }
    worker->error = ML_NO_ERROR;
    ml_share_limit(&worker->pool->share, block);
}

static void run_block(ml_pool *pool, pool_worker *worker, int64_t block) {
    const ml_status status = run_body(&pool->work, block, worker);
    if (status != ML_OK) note_failure(worker, block, status);
}

static void finish(ml_pool *pool, int64_t blocks) {
    if (ml_share_finish(&pool->share, blocks) && atomic_load(&pool->caller_sleeps))
        ml_bell_ring(&pool->finish_bell, 1);
}

/* The range that a worker visits as number `i`; its own is number 0. */
static int32_t range_of(const ml_pool *pool, const pool_worker *worker, int32_t i) {
    const int32_t range = worker->number + i;
    return range < pool->threads ? range : range - pool->threads;
}

/* Workers ------------------------------------------------------------------------------------ */

static void help(ml_pool *pool, pool_worker *worker) {
    __builtin_prefetch(&pool->work); /* loaded while a block is taken */
    for (int32_t i = 0; i < pool->threads; i++) {
        const int32_t range = range_of(pool, worker, i);
        int64_t block, finished = 0;
        for (; ml_share_take(&pool->share, range, i == 0, &block, &finished); finished++) {
            ml_set_float_mode(pool->work.float_mode);
            run_block(pool, worker, block);
        }
        finish(pool, finished);
    }
}

static bool has_news(ml_pool *pool, uint32_t opened) {
    return atomic_load(&pool->share.opened) != opened || atomic_load(&pool->ending);
}

/* Waits until there is work newer than `opened`, or the end: spins for a while, then sleeps. It
 * spins after a run too: waking a thread costs 20 to 50 us, half of a short run, so runs in quick
 * succession should find the workers awake. Spinning costs no more than waking. */
static void await_work(ml_pool *pool, uint32_t opened) {
    for (int i = 0; i < SPINS; i++) {
        if (has_news(pool, opened)) return;
        pause_briefly();
    }
    uint32_t seen = ml_bell_look(&pool->work_bell);
    atomic_fetch_add(&pool->sleepers, 1);
    if (!has_news(pool, opened)) ml_bell_sleep(&pool->work_bell, seen);
    atomic_fetch_sub(&pool->sleepers, 1);
}

static void work(void *argument) {
    pool_worker *worker = argument;
    ml_pool *pool = worker->pool;
    while (!atomic_load(&pool->ending)) {
        const uint32_t opened = atomic_load(&pool->share.opened);
        help(pool, worker);
        await_work(pool, opened);
    }
}

/* Starts the workers that are missing. */
static void start_workers(ml_pool *pool) {
    pool->process = ml_os_process();
    while (pool->may_start && pool->started < pool->threads - 1) {
        pool_worker *worker = &pool->workers[pool->started + 1];
        pool->may_start = ml_os_start(&worker->thread, work, worker);
        pool->started += pool->may_start;
    }
}

static void make_idle(ml_pool *pool) {
    ml_share_make(&pool->share, pool->ranges, pool->threads);
    atomic_init(&pool->sleepers, 0);
    atomic_init(&pool->caller_sleeps, 0);
    atomic_init(&pool->ending, 0);
    ml_bell_make(&pool->work_bell);
    ml_bell_make(&pool->finish_bell);
    pool->started = 0;
    pool->may_start = true;
}

/* True if this process is a fork of the one that started the workers, and so has none. */
static bool lost_workers(const ml_pool *pool) {
    return pool->started > 0 && pool->process != ml_os_process();
}

static void end_workers(ml_pool *pool) {
    if (!lost_workers(pool)) {
        atomic_store(&pool->ending, 1);
        ml_bell_ring(&pool->work_bell, ML_MAX_THREADS);
        for (int32_t i = 1; i <= pool->started; i++) ml_os_join(&pool->workers[i].thread);
    }
}

/* The pool ----------------------------------------------------------------------------------- */

static void clear_failure(pool_worker *worker) {
    worker->status = ML_OK;
    worker->failure = worker->error = ML_NO_ERROR;
}

/* `count` aligned pieces of memory of `bytes` each; NULL without memory. */
static void *aligned(int64_t bytes, int32_t count) {
    int64_t total;
    if (bytes > INT64_MAX - ML_CACHE_LINE ||
        __builtin_mul_overflow(ml_round_up(bytes, ML_CACHE_LINE), count, &total))
        return NULL;
    return ml_os_allocate(total);
}

/* Replaces workers and scratch by `threads` workers with `bytes` of scratch each. */
static ml_status furnish(ml_pool *pool, int32_t threads, int64_t bytes, ml_error *error) {
    pool_worker *workers = aligned(sizeof *workers, threads);
    ml_range *ranges = aligned(sizeof *ranges, threads);
    uint8_t *scratch = bytes > 0 ? aligned(bytes, threads) : NULL;
    if (!workers || !ranges || (bytes > 0 && !scratch)) {
        ml_os_free(workers);
        ml_os_free(ranges);
        ml_os_free(scratch);
        return bytes > 0 ? ml_error_memory(error, "the scratch of a worker", bytes, 0)
                         : ml_error_refused(error, "the workers of a pool");
    }
    for (int32_t i = 0; i < threads; i++) {
        workers[i] = (pool_worker){.pool = pool, .number = i};
        clear_failure(&workers[i]);
    }
    end_workers(pool);
    ml_os_free(pool->workers);
    ml_os_free(pool->ranges);
    ml_os_free(pool->scratch);
    pool->workers = workers;
    pool->ranges = ranges;
    pool->scratch = scratch;
    pool->scratch_bytes = bytes > 0 ? ml_round_up(bytes, ML_CACHE_LINE) : 0;
    pool->threads = threads;
    make_idle(pool);
    return ML_OK;
}

static int32_t possible(int32_t threads) {
    return threads < 1 ? 1 : threads > ML_MAX_THREADS ? ML_MAX_THREADS : threads;
}

ml_status ml_pool_new(int32_t threads, ml_pool **pool, ml_error *error) {
    *pool = aligned(sizeof **pool, 1);
    if (!*pool) return ml_error_memory(error, "the pool of threads", sizeof **pool, 0);
    memset(*pool, 0, sizeof **pool);
    ml_status status = furnish(*pool, possible(threads), 0, error);
    if (status == ML_OK) return ML_OK;
    ml_os_free(*pool);
    *pool = NULL;
    return status;
}

void ml_pool_free(ml_pool *pool) {
    if (!pool) return;
    end_workers(pool);
    ml_os_free(pool->workers);
    ml_os_free(pool->ranges);
    ml_os_free(pool->scratch);
    ml_os_free(pool);
}

ml_status ml_pool_set_threads(ml_pool *pool, int32_t threads, ml_error *error) {
    threads = possible(threads);
    return threads == pool->threads ? ML_OK : furnish(pool, threads, pool->scratch_bytes, error);
}

int32_t ml_pool_threads(const ml_pool *pool) { return pool->threads; }

ml_status ml_pool_reserve(ml_pool *pool, int64_t bytes, ml_error *error) {
    if (bytes <= pool->scratch_bytes) return ML_OK;
    uint8_t *scratch = aligned(bytes, pool->threads);
    if (!scratch)
        return ml_error_memory(error, "the scratch of a worker", bytes, pool->scratch_bytes);
    ml_os_free(pool->scratch);
    pool->scratch = scratch;
    pool->scratch_bytes = ml_round_up(bytes, ML_CACHE_LINE);
    return ML_OK;
}

int64_t ml_pool_bytes(const ml_pool *pool) { return pool->threads * pool->scratch_bytes; }

void *ml_pool_scratch(const ml_pool *pool, int32_t worker) {
    return pool->scratch ? pool->scratch + worker * pool->scratch_bytes : NULL;
}

ml_error *ml_pool_error(ml_pool *pool, int32_t worker) { return &pool->workers[worker].error; }

void ml_pool_enter_run(ml_pool *pool, const ml_watch *watch) {
    if (lost_workers(pool)) make_idle(pool);
    pool->watch = *watch;
    pool->may_start = true;
}

void ml_pool_leave_run(ml_pool *pool) { pool->watch = (ml_watch){.cancel = NULL}; }

/* Parallel work ------------------------------------------------------------------------------ */

/* True if all blocks are finished within `spins` looks. */
static bool finishes_within(ml_pool *pool, int spins) {
    for (int i = 0; i < spins; i++) {
        if (ml_share_is_finished(&pool->share)) return true;
        pause_briefly();
    }
    return false;
}

/* Waits until all blocks that were taken are finished; false if they never will be. */
static bool await_finish(ml_pool *pool) {
    if (finishes_within(pool, SPINS)) return true;
    bool lost = false;
    atomic_store(&pool->caller_sleeps, 1);
    for (;;) {
        uint32_t seen = ml_bell_look(&pool->finish_bell);
        lost = lost_workers(pool);
        if (lost || ml_share_is_finished(&pool->share)) break;
        ml_bell_sleep(&pool->finish_bell, seen);
    }
    atomic_store(&pool->caller_sleeps, 0);
    return !lost;
}

static void clear_failures(ml_pool *pool) {
    for (int32_t i = 0; i < pool->threads; i++) clear_failure(&pool->workers[i]);
}

/* Returns status and error of the first block that failed, if any, and clears them in the pool. */
static ml_status first_failure(ml_pool *pool, ml_error *error) {
    const pool_worker *first = NULL;
    for (int32_t i = 0; i <= pool->started; i++) {
        const pool_worker *worker = &pool->workers[i];
        if (worker->status != ML_OK && (!first || worker->failed < first->failed)) first = worker;
    }
    if (!first) return ML_OK;
    const ml_status status = first->status;
    if (error->status == ML_OK && first->failure.status != ML_OK) *error = first->failure;
    clear_failures(pool);
    return status;
}

/* Runs the caller's part: takes blocks of all ranges, and polls between them. `all`: also blocks
 * that are left to their owners. */
static ml_status work_along(ml_pool *pool, bool all) {
    ml_status polled = ML_OK;
    int64_t block, finished = 0;
    bool is_first = true;
    for (int32_t i = 0; i < pool->threads; i++)
        for (; ml_share_take(&pool->share, i, all || i == 0, &block, &finished);
             finished++, is_first = false) {
            if (!is_first && polled == ML_OK && pool->watch.poll)
                polled = pool->watch.poll(pool->watch.owner);
            if (polled == ML_OK) run_block(pool, &pool->workers[0], block);
            else ml_share_limit(&pool->share, 0);
        }
    finish(pool, finished);
    return polled;
}

/* Opens the pool's work to all workers, and wakes as many as are needed besides those that spin. */
static void open_work(ml_pool *pool) {
    const int64_t blocks = pool->work.blocks;
    if (pool->may_start && pool->started < pool->threads - 1) start_workers(pool);
    ml_share_open(&pool->share, blocks);
    const int32_t sleepers = atomic_load(&pool->sleepers), awake = pool->started - sleepers;
    if (sleepers > 0 && blocks - 1 > awake && !lost_workers(pool))
        ml_bell_ring(&pool->work_bell,
                     blocks - 1 - awake < sleepers ? (int32_t)(blocks - 1) - awake : sleepers);
}

ml_status ml_pool_parallel(ml_pool *pool, int64_t items, int64_t grain, ml_pool_body body,
                           const void *call, void *args, ml_error *error) {
    if (items <= 0) return ML_OK;
    if (grain < 1) grain = 1;
    ml_status polled = ML_OK;
    pool->work = (pool_work){.items = items,
                             .grain = grain,
                             .blocks = (items - 1) / grain + 1,
                             .body = body,
                             .call = call,
                             .args = args,
                             .cancel = pool->watch.cancel,
                             .float_mode = ml_float_mode()};
    if (pool->work.blocks == 1) {
        run_block(pool, &pool->workers[0], 0);
    } else {
        open_work(pool);
        polled = work_along(pool, false);
        if (!finishes_within(pool, PATIENCE)) {
            const ml_status late = work_along(pool, true);
            polled = polled == ML_OK ? late : polled;
        }
        if (!await_finish(pool)) {
            make_idle(pool);
            clear_failures(pool);
            return ml_error_set(error, ML_KERNEL_ERROR,
                                "this process was forked while threads worked on parts of it");
        }
    }
    const ml_status failed = ml_share_is_limited(&pool->share) ? first_failure(pool, error) : ML_OK;
    return polled != ML_OK ? polled : failed;
}
