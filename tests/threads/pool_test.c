/* pool_test.c -- the pool of threads on its own: a program that ends with 0 when all is well, meant
 * for sanitizers too. */
#include "board.h"
#include "grain.h"
#include "os/os.h"
#include "threads/share.h"
#ifndef _WIN32
#include <sys/wait.h>
#endif

/* Each range has neighbouring blocks, all of them together cover all blocks, and their sizes differ
 * by at most one. Blocks beyond a limit are counted as finished when a thread reaches them. */
static void test_share(int32_t threads, int64_t blocks) {
    ml_range ranges[MOST];
    ml_share share;
    int64_t block, next = 0, left_out = 0;
    ml_share_make(&share, ranges, threads);
    for (int round = 0; round < 2; round++, next = 0) {
        ml_share_open(&share, blocks);
        for (int32_t r = 0; r < threads; r++) {
            int64_t count = 0, most = (blocks + threads - 1) / threads;
            for (; ml_share_take(&share, r, true, &block, &left_out); count++)
                CHECK(block == next++);
            CHECK(count == most || count == blocks / threads);
        }
        CHECK(next == blocks && left_out == 0 && !ml_share_is_limited(&share));
        CHECK(!ml_share_finish(&share, blocks - 1) && !ml_share_is_finished(&share));
        CHECK(ml_share_finish(&share, 1) && ml_share_is_finished(&share));
    }
    ml_share_open(&share, blocks);
    ml_share_limit(&share, blocks / 2);
    ml_share_limit(&share, blocks - 1); /* the lower one counts */
    for (int32_t r = threads - 1; r >= 0; r--)
        for (; ml_share_take(&share, r, true, &block, &left_out); next++) CHECK(block < blocks / 2);
    CHECK(next == blocks / 2 && left_out == blocks - blocks / 2 && ml_share_is_limited(&share));
    CHECK(ml_share_finish(&share, next + left_out));
}

/* A helper takes a whole range whose owner has not begun; an owner who has begun keeps its last
 * block. */
static void test_last_block(void) {
    ml_range ranges[2];
    ml_share share;
    int64_t block, left_out = 0;
    ml_share_make(&share, ranges, 2);
    ml_share_open(&share, 8);
    for (int64_t k = 4; k < 8; k++)
        CHECK(ml_share_take(&share, 1, false, &block, &left_out) && block == k);
    for (int64_t k = 0; k < 4; k++) CHECK(ml_share_take(&share, 0, true, &block, &left_out));
    CHECK(!ml_share_take(&share, 1, true, &block, &left_out) && ml_share_finish(&share, 8));
    ml_share_open(&share, 8);
    CHECK(ml_share_take(&share, 1, true, &block, &left_out) && block == 4);
    for (int64_t k = 5; k < 7; k++)
        CHECK(ml_share_take(&share, 1, false, &block, &left_out) && block == k);
    CHECK(!ml_share_take(&share, 1, false, &block, &left_out));
    CHECK(ml_share_take(&share, 1, true, &block, &left_out) && block == 7 && left_out == 0);
}

/* Each block waits for all the others, so that it takes as many threads as there are blocks. */
static ml_status meet(const void *call, int64_t first, int64_t end, int32_t worker, void *args) {
    (void)first, (void)end, (void)worker;
    atomic_int *here = args;
    atomic_fetch_add(here, 1);
    for (int i = 0; i < 10000 && atomic_load(here) < *(const int32_t *)call; i++) usleep(1000);
    return atomic_load(here) < *(const int32_t *)call ? ML_KERNEL_ERROR : ML_OK;
}

static void test_all_threads_work(ml_pool *pool) {
    ml_error error = ML_NO_ERROR;
    int32_t threads = ml_pool_threads(pool);
    for (int round = 0; round < 5; round++) {
        atomic_int here = 0;
        CHECK(ml_pool_parallel(pool, threads, 1, meet, &threads, &here, &error) == ML_OK);
        if (round == 2) usleep(2000);
    }
}

/* Each item once, for all numbers of threads, sizes and grains; runs that follow each other at once
 * or after a rest. */
static void test_each_item_once(uint32_t seed, int rounds) {
    ml_pool *pool = new_pool(1);
    ml_error error = ML_NO_ERROR;
    board *b = malloc(sizeof *b);
    for (int round = 0; round < rounds; round++) {
        CHECK(ml_pool_set_threads(pool, 1 + (int32_t)(draw(&seed) % MOST), &error) == ML_OK);
        CHECK(ml_pool_reserve(pool, 100 + draw(&seed) % 1000, &error) == ML_OK);
        if (round % 8 == 0) test_all_threads_work(pool);
        for (int runs = 0; runs < 4; runs++) {
            ml_pool_enter_run(pool, &nobody);
            for (int calls = 0; calls < 10; calls++) {
                int64_t items = draw(&seed) % 2 ? draw(&seed) % 40 : draw(&seed) % ITEMS;
                int64_t grain = draw(&seed) % 2 ? 1 + draw(&seed) % 8 : draw(&seed) % 600;
                prepare_board(b, pool);
                b->work = draw(&seed) % 4 ? 0 : (int32_t)(draw(&seed) % 5000);
                CHECK(run(b, items, grain, &error) == ML_OK);
                for (int64_t i = 0; i < ITEMS; i++) CHECK(b->times[i] == (i < items));
                int64_t blocks = 0, size = grain < 1 ? 1 : grain;
                for (int w = 0; w < MOST; w++) blocks += b->blocks_of[w];
                CHECK(blocks == (items + size - 1) / size);
            }
            ml_pool_leave_run(pool);
            if (draw(&seed) % 4 == 0) usleep(draw(&seed) % 500);
        }
    }
    free(b);
    ml_pool_free(pool);
}

/* The failure of the first item counts, whichever comes first in time; nothing of it is left for
 * the next work. */
static void test_first_failure(uint32_t seed, int rounds) {
    ml_pool *pool = new_pool(4);
    ml_error error;
    board *b = malloc(sizeof *b);
    ml_pool_enter_run(pool, &nobody);
    for (int round = 0; round < rounds; round++) {
        prepare_board(b, pool);
        b->fails_step = 1 + draw(&seed) % 7;
        b->fails_from = draw(&seed) % ITEMS;
        b->work = (int32_t)(draw(&seed) % 300);
        int64_t first = (b->fails_from + b->fails_step - 1) / b->fails_step * b->fails_step;
        ml_status status = run(b, ITEMS, 1 + draw(&seed) % 50, &error);
        char text[64];
        snprintf(text, sizeof text, "item %lld", (long long)first);
        CHECK(status == (first < ITEMS ? ML_KERNEL_ERROR : ML_OK));
        CHECK((int32_t)error.status == (int32_t)status);
        CHECK(first >= ITEMS || strcmp(error.text, text) == 0);
        for (int64_t i = 0; i < first && i < ITEMS; i++) CHECK(b->times[i] == 1);
        prepare_board(b, pool);
        CHECK(run(b, ITEMS, 10, &error) == ML_OK);
        CHECK(error.status == ML_OK);
    }
    ml_pool_leave_run(pool);
    free(b);
    ml_pool_free(pool);
}

static void test_failure_leaves_out_the_rest(int32_t threads) {
    ml_pool *pool = new_pool(threads);
    ml_error error;
    board *b = malloc(sizeof *b);
    prepare_board(b, pool);
    b->fails_from = 100;
    CHECK(run(b, ITEMS, 1, &error) == ML_KERNEL_ERROR);
    CHECK(atomic_load(&b->begun) < ITEMS / 2);
    /* An error that the caller has already stays. */
    ml_error before = ML_NO_ERROR;
    ml_error_set(&before, ML_SHAPE_ERROR, "before");
    CHECK(ml_pool_parallel(pool, ITEMS, 1, mark, b, b, &before) == ML_KERNEL_ERROR);
    CHECK(before.status == ML_SHAPE_ERROR && strcmp(before.text, "before") == 0);
    free(b);
    ml_pool_free(pool);
}

static void test_cancel(int32_t threads) {
    ml_pool *pool = new_pool(threads);
    ml_error error;
    board *b = malloc(sizeof *b);
    ml_cancel_flags cancel = {.own = 0};
    ml_pool_enter_run(pool, &(ml_watch){.cancel = &cancel});
    for (int round = 0; round < 50; round++) {
        prepare_board(b, pool);
        b->cancel = &cancel.own;
        b->cancel_at = round;
        CHECK(run(b, ITEMS, 1, &error) == ML_CANCELLED);
        CHECK(error.status == ML_CANCELLED && error.text[0]);
        CHECK(atomic_load(&b->begun) <= round + threads);
        CHECK(run(b, ITEMS, 1, &error) == ML_CANCELLED);
        CHECK(run(b, 1, 1, &error) == ML_CANCELLED);
        atomic_store(&cancel.own, 0);
    }
    ml_pool_leave_run(pool);
    free(b);
    ml_pool_free(pool);
}

typedef struct poller {
    const void *caller;
    int polls;
    int fails_at;
} poller;

static ml_status poll(void *owner) {
    poller *p = owner;
    CHECK(this_thread() == p->caller);
    return ++p->polls == p->fails_at ? ML_PYTHON_ERROR : ML_OK;
}

static void test_poll(int32_t threads) {
    ml_pool *pool = new_pool(threads);
    ml_error error;
    board *b = malloc(sizeof *b);
    poller p = {.caller = this_thread()};
    ml_pool_enter_run(pool, &(ml_watch){.poll = poll, .owner = &p});
    prepare_board(b, pool);
    CHECK(run(b, 100, 1, &error) == ML_OK);
    CHECK(threads > 1 ? p.polls < 100 : p.polls == 99);
    p.polls = 0;
    CHECK(run(b, 100, 100, &error) == ML_OK);
    CHECK(p.polls == 0); /* one block has no boundary */
    p.fails_at = 1;
    for (int round = 0; round < 50; round++) {
        prepare_board(b, pool);
        p.polls = 0;
        b->work = 1000;
        ml_status status = run(b, ITEMS, 1, &error);
        CHECK(p.polls <= 1);
        CHECK(status == (p.polls ? ML_PYTHON_ERROR : ML_OK)); /* others may have done all of it */
    }
    ml_pool_leave_run(pool);
    prepare_board(b, pool);
    CHECK(run(b, ITEMS, 1, &error) == ML_OK); /* nobody watches now */
    free(b);
    ml_pool_free(pool);
}

static void test_scratch(void) {
    ml_pool *pool = new_pool(5);
    ml_error error = ML_NO_ERROR;
    CHECK(ml_pool_scratch(pool, 0) == NULL);
    CHECK(ml_pool_reserve(pool, 70, &error) == ML_OK);
    for (int32_t w = 0; w < 5; w++) {
        CHECK((uintptr_t)ml_pool_scratch(pool, w) % 64 == 0);
        memset(ml_pool_scratch(pool, w), w, 70);
    }
    for (int32_t w = 0; w < 5; w++)
        for (int i = 0; i < 70; i++) CHECK(((char *)ml_pool_scratch(pool, w))[i] == w);
    void *kept = ml_pool_scratch(pool, 0);
    CHECK(ml_pool_reserve(pool, 10, &error) == ML_OK);
    CHECK(ml_pool_scratch(pool, 0) == kept);
    /* A request that cannot be met leaves everything as it was. */
    CHECK(ml_pool_reserve(pool, INT64_MAX / 2, &error) == ML_ARENA_ERROR);
    CHECK(error.needed == INT64_MAX / 2 && error.available >= 70);
    CHECK(ml_pool_scratch(pool, 0) == kept);
    error = ML_NO_ERROR;
    CHECK(ml_pool_reserve(pool, INT64_MAX, &error) == ML_ARENA_ERROR);
    error = ML_NO_ERROR;
    CHECK(ml_pool_set_threads(pool, 9, &error) == ML_OK);
    CHECK(ml_pool_threads(pool) == 9);
    memset(ml_pool_scratch(pool, 8), 1, 70);
    CHECK(ml_pool_set_threads(pool, 0, &error) == ML_OK);
    CHECK(ml_pool_threads(pool) == 1);
    CHECK(ml_pool_set_threads(pool, 1 << 30, &error) == ML_OK);
    CHECK(ml_pool_threads(pool) == ML_MAX_THREADS);
    ml_pool_free(pool);
    ml_pool_free(NULL);
}

#if defined(__x86_64__)
typedef struct tiny_products {
    atomic_int here;
    float of[MOST];
} tiny_products;

static ml_status underflow(const void *call, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    tiny_products *products = args;
    volatile float tiny = 1e-30f;
    products->of[first] = tiny * 1e-10f;
    return meet(call, first, end, worker, &products->here);
}

/* Workers flush denormals, or do not, as the caller does. */
static void test_float_mode(void) {
    int32_t threads = 4;
    ml_pool *pool = new_pool(threads);
    ml_error error = ML_NO_ERROR;
    uint32_t mode = __builtin_ia32_stmxcsr();
    for (int round = 0; round < 4; round++) {
        __builtin_ia32_ldmxcsr(round % 2 ? mode : mode | 0x8040);
        tiny_products products = {.here = 0};
        CHECK(ml_pool_parallel(pool, threads, 1, underflow, &threads, &products, &error) == ML_OK);
        for (int32_t i = 0; i < threads; i++) CHECK((products.of[i] > 0) == (round % 2));
    }
    __builtin_ia32_ldmxcsr(mode);
    ml_pool_free(pool);
}
#else
static void test_float_mode(void) {}
#endif

#ifndef _WIN32
static int child_of(ml_pool *pool, board *b, bool in_run) {
    ml_error error = ML_NO_ERROR;
    if (!in_run) ml_pool_enter_run(pool, &nobody);
    for (int round = 0; round < 20; round++) {
        prepare_board(b, pool);
        b->work = 2000;
        CHECK(run(b, ITEMS, 50, &error) == ML_OK);
        for (int64_t i = 0; i < ITEMS; i++) CHECK(b->times[i] == 1);
    }
    if (!in_run) test_all_threads_work(pool);
    ml_pool_leave_run(pool);
    CHECK(ml_pool_set_threads(pool, 3, &error) == ML_OK);
    CHECK(run(b, ITEMS, 50, &error) == ML_OK);
    test_all_threads_work(pool);
    ml_pool_free(pool);
    return 0;
}

static bool ended_well(pid_t child) {
    int status;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* A child of a fork, made between runs or within one, goes on with threads of its own; so does its
 * parent. */
static void test_fork(void) {
    ml_pool *pool = new_pool(4);
    ml_error error;
    board *b = malloc(sizeof *b);
    for (int in_run = 0; in_run < 2; in_run++) {
        ml_pool_enter_run(pool, &nobody);
        prepare_board(b, pool);
        CHECK(run(b, ITEMS, 10, &error) == ML_OK);
        if (!in_run) ml_pool_leave_run(pool);
        pid_t child = fork();
        if (child == 0) _exit(child_of(pool, b, in_run));
        CHECK(ended_well(child));
        prepare_board(b, pool);
        CHECK(run(b, ITEMS, 10, &error) == ML_OK);
        ml_pool_leave_run(pool);
    }
    free(b);
    ml_pool_free(pool);
}

/* A body that keeps a block until the caller has polled. */
static atomic_int polled;

static ml_status hold(const void *call, int64_t first, int64_t end, int32_t worker, void *args) {
    (void)call, (void)first, (void)end, (void)args;
    for (int i = 0; i < 1000 && worker > 0 && !atomic_load(&polled); i++) usleep(1000);
    if (worker == 0) usleep(20000);
    return ML_OK;
}

static ml_status fork_once(void *owner) {
    pid_t *child = owner;
    if (*child < 0) *child = fork();
    atomic_store(&polled, 1);
    return ML_OK;
}

/* A fork during a poll, while workers hold blocks: the child's run ends with an error, the parent's
 * goes on. */
static void test_fork_while_blocks_are_taken(void) {
    ml_pool *pool = new_pool(3);
    pid_t child = -1;
    ml_pool_enter_run(pool, &(ml_watch){.poll = fork_once, .owner = &child});
    ml_error error = ML_NO_ERROR;
    ml_status status = ml_pool_parallel(pool, 10, 1, hold, NULL, NULL, &error);
    if (child == 0) {
        CHECK(status == ML_KERNEL_ERROR && error.text[0]);
        ml_pool_leave_run(pool);
        board *b = malloc(sizeof *b);
        _exit(child_of(pool, b, false));
    }
    CHECK(status == ML_OK);
    CHECK(ended_well(child));
    ml_pool_leave_run(pool);
    ml_pool_free(pool);
}

static void test_forks(void) {
    test_fork();
    test_fork_while_blocks_are_taken();
}
#else
static void test_forks(void) {}
#endif

static void one_interpreter(void *seed) {
    test_each_item_once(*(uint32_t *)seed, 10);
    test_first_failure(*(uint32_t *)seed, 20);
}

/* Pools of several interpreters do not know of each other. */
static void test_pools_beside_each_other(void) {
    ml_os_thread threads[3];
    uint32_t seeds[3] = {1, 2, 3};
    for (int i = 0; i < 3; i++) CHECK(ml_os_start(&threads[i], one_interpreter, &seeds[i]));
    for (int i = 0; i < 3; i++) ml_os_join(&threads[i]);
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 30;
    test_grain();
    test_even_grain();
    test_last_block();
    for (int32_t threads = 1; threads <= MOST; threads += 5)
        for (int64_t blocks = 2; blocks < 100; blocks += 7) test_share(threads, blocks);
    test_each_item_once(0, rounds);
    test_first_failure(0, rounds);
    test_scratch();
    test_float_mode();
    for (int32_t threads = 1; threads <= 8; threads += 3) {
        test_failure_leaves_out_the_rest(threads);
        test_cancel(threads);
        test_poll(threads);
    }
    test_pools_beside_each_other();
    if (!getenv("POOL_TEST_NO_FORK")) test_forks();
    puts("all well");
    return 0;
}
