/* looks_test.c -- how long a caller waits for workers that are late: a program of its own, which
 * counts the looks at unfinished blocks, and in which a worker's processor may be busy. Ends with 0
 * when all is well. */
#include "board.h"
#include "os/os.h"
#include "threads/share.h"

enum { LOOKS = 600 }; /* docs/threads_core.md */

static atomic_int looks;
static bool busy; /* workers are started and never run */

static bool look(ml_share *share) {
    atomic_fetch_add(&looks, 1);
    return ml_share_is_finished(share);
}

static bool start(ml_os_thread *thread, void (*body)(void *), void *argument) {
    return busy || ml_os_start(thread, body, argument);
}

static void join(ml_os_thread *thread) {
    if (!busy) ml_os_join(thread);
}

#define ml_share_is_finished look
#define ml_os_start start
#define ml_os_join join
#include "threads/pool.c"

typedef struct late {
    int32_t threads;
    int64_t each; /* blocks of a thread's range */
    atomic_int held; /* blocks that workers have taken, and keep until they may go on */
    atomic_int go_on;
    int64_t by_caller;
} late;

static void wait_for(atomic_int *value, int32_t wanted) {
    for (int i = 0; i < 20000 && atomic_load(value) < wanted; i++) usleep(1000);
    CHECK(atomic_load(value) >= wanted);
}

/* Workers keep their first block until the caller has computed all that it can. */
static ml_status hold_first(const void *call, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    late *l = args;
    (void)call;
    CHECK(end == first + 1);
    if (worker > 0) {
        CHECK(first == worker * l->each);
        atomic_fetch_add(&l->held, 1);
        wait_for(&l->go_on, 1);
        return ML_OK;
    }
    if (first == 0) wait_for(&l->held, l->threads - 1);
    const bool is_left =
        first >= l->each && (first + 1) % l->each == 0; /* to its owner, at first */
    CHECK(atomic_load(&looks) == (is_left ? LOOKS : 0));
    if (++l->by_caller == l->threads * l->each - (l->threads - 1)) atomic_store(&l->go_on, 1);
    return ML_OK;
}

static ml_status nothing(const void *call, int64_t first, int64_t end, int32_t worker, void *args) {
    (void)call, (void)first, (void)end, (void)worker, (void)args;
    return ML_OK;
}

/* If workers lose their processors in a block, the caller computes all others: those that are left
 * to their owners after one wait for all of them, of a fixed number of looks. */
static void test_workers_that_keep_a_block(int32_t threads, int64_t each) {
    ml_pool *pool = new_pool(threads);
    ml_error error = ML_NO_ERROR;
    CHECK(ml_pool_parallel(pool, threads, 1, nothing, NULL, NULL, &error) == ML_OK);
    for (int round = 0; round < 3; round++) {
        wait_for(&pool->sleepers, threads - 1); /* so each wakes, and begins with its own range */
        late l = {.threads = threads, .each = each};
        atomic_store(&looks, 0);
        CHECK(ml_pool_parallel(pool, threads * each, 1, hold_first, NULL, &l, &error) == ML_OK);
        CHECK(l.by_caller == threads * each - (threads - 1));
    }
    ml_pool_free(pool);
}

static ml_status in_order(const void *call, int64_t first, int64_t end, int32_t worker,
                          void *args) {
    int64_t *next = args;
    (void)call;
    CHECK(worker == 0 && first == *next && atomic_load(&looks) == 0);
    *next = end;
    return ML_OK;
}

/* If workers never get a processor, the caller computes all blocks as if it were alone, and waits
 * for nobody: both of its looks find everything finished. */
static void test_workers_that_never_run(int32_t threads, int64_t blocks) {
    busy = true;
    ml_pool *pool = new_pool(threads);
    ml_error error = ML_NO_ERROR;
    for (int round = 0; round < 3; round++) {
        int64_t next = 0;
        atomic_store(&looks, 0);
        CHECK(ml_pool_parallel(pool, blocks, 1, in_order, NULL, &next, &error) == ML_OK);
        CHECK(next == blocks && atomic_load(&looks) == 2);
    }
    ml_pool_free(pool);
    busy = false;
}

int main(void) {
    for (int32_t threads = 2; threads <= 5; threads++)
        for (int64_t each = 1; each <= 6; each++) {
            test_workers_that_keep_a_block(threads, each);
            test_workers_that_never_run(threads, threads * each);
        }
    puts("all well");
    return 0;
}
