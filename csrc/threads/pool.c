/* pool.c -- the pool's one protocol.
 *
 * `untaken` counts down the blocks that nobody has taken, `unfinished` those that are not done. A worker that takes a block
 * (a compare-and-swap of untaken from a positive number) reads the work only then: as long as that block is unfinished the
 * caller cannot write the next work, and while untaken is 0 nobody can take one. A number that comes back in a later work
 * does no harm: what is taken then is a block of that work. */
#define _GNU_SOURCE /* pthread_sigmask */
#include "threads/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "threads/bell.h"

enum { CACHE_LINE = 64, SPINS = 4000 /* 50 to 100 us */ };

typedef struct pool_worker {
    alignas(CACHE_LINE) ml_pool *pool;
    int32_t number;
    ml_status status; /* of the block that failed here in the work under way */
    int64_t failed;   /* that block */
    ml_error error;
    pthread_t thread;
} pool_worker;

typedef struct pool_work {
    int64_t items;
    int64_t grain;
    int64_t blocks;
    ml_pool_body body;
    const void *call;
    void *args;
    const atomic_int *cancel;
    uint32_t float_mode; /* the caller's rounding and flushing of denormals */
} pool_work;

struct ml_pool {
    alignas(CACHE_LINE) atomic_llong untaken;
    alignas(CACHE_LINE) atomic_llong unfinished;
    alignas(CACHE_LINE) atomic_int sleepers;
    atomic_int caller_sleeps;
    atomic_int ending; /* workers end */
    atomic_int failures;
    ml_bell work_bell;   /* there is work, or the end */
    ml_bell finish_bell; /* unfinished reached 0 */
    alignas(CACHE_LINE) pool_work work;
    ml_watch watch;
    pool_worker *workers; /* `threads`, the caller's first */
    uint8_t *scratch;     /* `scratch_bytes` a worker */
    int64_t scratch_bytes;
    int32_t threads;
    int32_t started; /* workers that run, beside the caller */
    bool may_start;  /* not when the system refused in this run */
    pid_t process;   /* where the workers are */
};

static inline void pause_briefly(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* Bits of MXCSR that are modes, without those that say what has happened; FPCR has modes alone. */
static inline uint32_t float_mode(void) {
#if defined(__x86_64__)
    return __builtin_ia32_stmxcsr() & ~0x3Fu;
#elif defined(__aarch64__)
    uint64_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
    return (uint32_t)mode;
#else
    return 0;
#endif
}

static inline void set_float_mode(uint32_t mode) {
#if defined(__x86_64__)
    if (float_mode() != mode) __builtin_ia32_ldmxcsr(mode);
#elif defined(__aarch64__)
    if (float_mode() != mode) __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)mode));
#else
    (void)mode;
#endif
}

/* Blocks ------------------------------------------------------------------------------------- */

/* Takes a block: how many were untaken with it, 0 when there is none. */
static int64_t take(ml_pool *pool) {
    long long untaken = atomic_load_explicit(&pool->untaken, memory_order_relaxed);
    while (untaken > 0)
        if (atomic_compare_exchange_weak_explicit(&pool->untaken, &untaken, untaken - 1,
                                                  memory_order_acquire, memory_order_relaxed))
            return untaken;
    return 0;
}

/* Leaves out the blocks that nobody has taken; returns how many. */
static int64_t leave_out(ml_pool *pool) { return atomic_exchange(&pool->untaken, 0); }

static ml_status run_body(const pool_work *work, int64_t block, pool_worker *worker) {
    if (work->cancel && atomic_load_explicit(work->cancel, memory_order_relaxed))
        return ml_error_set(&worker->error, ML_CANCELLED, "the run was cancelled");
    int64_t first = block * work->grain, left = work->items - first;
    return work->body(work->call, first, left < work->grain ? work->items : first + work->grain,
                      worker->number, work->args);
}

static void run_block(ml_pool *pool, pool_worker *worker, int64_t untaken) {
    int64_t block = pool->work.blocks - untaken, finished = 1;
    ml_status status = run_body(&pool->work, block, worker);
    if (status != ML_OK) {
        worker->status = status;
        worker->failed = block;
        atomic_fetch_add(&pool->failures, 1);
        finished += leave_out(pool);
    }
    if (atomic_fetch_sub(&pool->unfinished, finished) == finished &&
        atomic_load(&pool->caller_sleeps))
        ml_bell_ring(&pool->finish_bell, 1);
}

/* Workers ------------------------------------------------------------------------------------ */

static bool has_news(ml_pool *pool) {
    return atomic_load(&pool->untaken) > 0 || atomic_load(&pool->ending);
}

/* Until there is work, or the end: watches for a while, then sleeps. Also after a run: waking costs 20 to 50 us, which is half
 * of a short run, so that those that follow one another should find the workers awake; watching costs no more than that. */
static void await_work(ml_pool *pool) {
    for (int i = 0; i < SPINS; i++) {
        if (has_news(pool)) return;
        pause_briefly();
    }
    uint32_t seen = ml_bell_look(&pool->work_bell);
    atomic_fetch_add(&pool->sleepers, 1);
    if (!has_news(pool)) ml_bell_sleep(&pool->work_bell, seen);
    atomic_fetch_sub(&pool->sleepers, 1);
}

static void *work(void *argument) {
    pool_worker *worker = argument;
    ml_pool *pool = worker->pool;
    while (!atomic_load(&pool->ending)) {
        int64_t untaken = take(pool);
        if (untaken > 0) {
            set_float_mode(pool->work.float_mode);
            run_block(pool, worker, untaken);
        } else {
            await_work(pool);
        }
    }
    return NULL;
}

/* Starts the workers that are missing, with all signals blocked: they are the caller's to handle. */
static void start_workers(ml_pool *pool) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pool->process = getpid();
    while (pool->may_start && pool->started < pool->threads - 1) {
        pool_worker *worker = &pool->workers[pool->started + 1];
        pool->may_start = pthread_create(&worker->thread, NULL, work, worker) == 0;
        pool->started += pool->may_start;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void make_idle(ml_pool *pool) {
    atomic_init(&pool->untaken, 0);
    atomic_init(&pool->unfinished, 0);
    atomic_init(&pool->sleepers, 0);
    atomic_init(&pool->caller_sleeps, 0);
    atomic_init(&pool->ending, 0);
    atomic_init(&pool->failures, 0);
    ml_bell_make(&pool->work_bell);
    ml_bell_make(&pool->finish_bell);
    pool->started = 0;
    pool->may_start = true;
}

/* Whether workers were started in a process of which this one is a fork: they are not here. */
static bool lost_workers(const ml_pool *pool) {
    return pool->started > 0 && pool->process != getpid();
}

static void end_workers(ml_pool *pool) {
    if (!lost_workers(pool)) {
        atomic_store(&pool->ending, 1);
        ml_bell_ring(&pool->work_bell, ML_MAX_THREADS);
        for (int32_t i = 1; i <= pool->started; i++) pthread_join(pool->workers[i].thread, NULL);
    }
    make_idle(pool);
}

/* The pool ----------------------------------------------------------------------------------- */

static void clear_failure(pool_worker *worker) {
    worker->status = ML_OK;
    worker->error = ML_NO_ERROR;
}

static int64_t rounded(int64_t bytes) { return (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE; }

/* `count` pieces of memory of `bytes` each; NULL when there is not so much. */
static void *aligned(int64_t bytes, int32_t count) {
    int64_t total;
    if (bytes > INT64_MAX - CACHE_LINE || __builtin_mul_overflow(rounded(bytes), count, &total))
        return NULL;
    return aligned_alloc(CACHE_LINE, (size_t)total);
}

/* Puts so many workers and so much scratch in place of what there is. */
static ml_status furnish(ml_pool *pool, int32_t threads, int64_t bytes, ml_error *error) {
    pool_worker *workers = aligned(sizeof *workers, threads);
    uint8_t *scratch = bytes > 0 ? aligned(bytes, threads) : NULL;
    if (!workers || (bytes > 0 && !scratch)) {
        free(workers);
        free(scratch);
        return ml_error_memory(error, "the scratch of a worker", bytes, pool->scratch_bytes);
    }
    for (int32_t i = 0; i < threads; i++) {
        workers[i] = (pool_worker){.pool = pool, .number = i};
        clear_failure(&workers[i]);
    }
    end_workers(pool);
    free(pool->workers);
    free(pool->scratch);
    pool->workers = workers;
    pool->scratch = scratch;
    pool->scratch_bytes = bytes > 0 ? rounded(bytes) : 0;
    pool->threads = threads;
    return ML_OK;
}

static int32_t possible(int32_t threads) {
    return threads < 1 ? 1 : threads > ML_MAX_THREADS ? ML_MAX_THREADS : threads;
}

ml_status ml_pool_new(int32_t threads, ml_pool **pool, ml_error *error) {
    *pool = aligned(sizeof **pool, 1);
    if (!*pool) return ml_error_memory(error, "the pool of threads", sizeof **pool, 0);
    memset(*pool, 0, sizeof **pool);
    make_idle(*pool);
    ml_status status = furnish(*pool, possible(threads), 0, error);
    if (status == ML_OK) return ML_OK;
    free(*pool);
    *pool = NULL;
    return status;
}

void ml_pool_free(ml_pool *pool) {
    if (!pool) return;
    end_workers(pool);
    free(pool->workers);
    free(pool->scratch);
    free(pool);
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
    free(pool->scratch);
    pool->scratch = scratch;
    pool->scratch_bytes = rounded(bytes);
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

/* Until all blocks that were taken are finished; false when they never will be. */
static bool await_finish(ml_pool *pool) {
    for (int i = 0; i < SPINS; i++) {
        if (atomic_load(&pool->unfinished) == 0) return true;
        pause_briefly();
    }
    bool lost = false;
    atomic_store(&pool->caller_sleeps, 1);
    for (;;) {
        uint32_t seen = ml_bell_look(&pool->finish_bell);
        lost = lost_workers(pool);
        if (lost || atomic_load(&pool->unfinished) == 0) break;
        ml_bell_sleep(&pool->finish_bell, seen);
    }
    atomic_store(&pool->caller_sleeps, 0);
    return !lost;
}

static void clear_failures(ml_pool *pool) {
    for (int32_t i = 0; i < pool->threads; i++) clear_failure(&pool->workers[i]);
    atomic_store(&pool->failures, 0);
}

/* Status and error of the first block that failed; the pool is as new. */
static ml_status first_failure(ml_pool *pool, ml_error *error) {
    const pool_worker *first = NULL;
    for (int32_t i = 0; i <= pool->started; i++) {
        const pool_worker *worker = &pool->workers[i];
        if (worker->status != ML_OK && (!first || worker->failed < first->failed)) first = worker;
    }
    ml_status status = first->status;
    if (error->status == ML_OK && first->error.status != ML_OK) *error = first->error;
    clear_failures(pool);
    return status;
}

/* The caller's part: blocks, and a poll between them. */
static ml_status work_along(ml_pool *pool) {
    for (int64_t untaken; (untaken = take(pool)) > 0;) {
        run_block(pool, &pool->workers[0], untaken);
        if (!pool->watch.poll || atomic_load_explicit(&pool->untaken, memory_order_relaxed) == 0)
            continue;
        ml_status status = pool->watch.poll(pool->watch.owner);
        if (status == ML_OK) continue;
        atomic_fetch_sub(&pool->unfinished, leave_out(pool));
        return status;
    }
    return ML_OK;
}

/* Opens the work that stands in the pool to all workers. */
static void open_work(ml_pool *pool) {
    int64_t blocks = pool->work.blocks;
    if (pool->may_start && pool->started < pool->threads - 1) start_workers(pool);
    atomic_store(&pool->unfinished, blocks);
    atomic_store(&pool->untaken, blocks);
    int32_t sleepers = atomic_load(&pool->sleepers);
    if (sleepers > 0 && !lost_workers(pool))
        ml_bell_ring(&pool->work_bell, blocks - 1 < sleepers ? (int32_t)(blocks - 1) : sleepers);
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
                             .float_mode = float_mode()};
    if (pool->work.blocks == 1) {
        atomic_store_explicit(&pool->unfinished, 1, memory_order_relaxed);
        run_block(pool, &pool->workers[0], 1);
    } else {
        open_work(pool);
        polled = work_along(pool);
        if (!await_finish(pool)) {
            make_idle(pool);
            clear_failures(pool);
            return ml_error_set(error, ML_KERNEL_ERROR,
                                "this process is a fork made while threads had parts of its work");
        }
    }
    ml_status failed = atomic_load(&pool->failures) ? first_failure(pool, error) : ML_OK;
    return polled != ML_OK ? polled : failed;
}
