/* board.h -- the board that the bodies of pool_test.c write into, and the checks of it
 * afterwards. */
#ifndef BOARD_H
#define BOARD_H

#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/error.h"
#include "threads/pool.h"

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);         \
            exit(1);                                                                \
        }                                                                           \
    } while (0)

enum { ITEMS = 5000, MOST = 16 };

static const ml_watch nobody = {.cancel = NULL};

static uint32_t draw(uint32_t *seed) { return *seed = *seed * 1664525u + 1013904223u, *seed >> 8; }

/* An address that differs from thread to thread. */
static const void *this_thread(void) {
    static _Thread_local char here;
    return &here;
}

static ml_pool *new_pool(int32_t threads) {
    ml_error error = ML_NO_ERROR;
    ml_pool *pool;
    CHECK(ml_pool_new(threads, &pool, &error) == ML_OK);
    return pool;
}

/* What bodies write into, and what they do on the way. */
typedef struct board {
    ml_pool *pool;
    int32_t times[ITEMS]; /* not atomic: an item is one thread's */
    int32_t blocks_of[MOST];
    int64_t fails_from; /* items from this one on fail */
    int64_t fails_step;
    atomic_int inside[MOST];
    atomic_int begun;
    /* Set by the block that begins with item cancel_at; those after wait for it. */
    atomic_int *cancel;
    int64_t cancel_at;
    const void *caller; /* its this_thread() */
    int32_t work;
} board;

static ml_status mark(const void *call, int64_t first, int64_t end, int32_t worker, void *args) {
    board *b = args;
    CHECK(call == b);
    CHECK(worker >= 0 && worker < ml_pool_threads(b->pool));
    CHECK((worker == 0) == (this_thread() == b->caller));
    CHECK(atomic_fetch_add(&b->inside[worker], 1) == 0); /* one thread at a time is this worker */
    b->blocks_of[worker]++;
    atomic_fetch_add(&b->begun, 1);
    if (b->cancel) {
        if (first == b->cancel_at) atomic_store(b->cancel, 1);
        while (first > b->cancel_at && !atomic_load(b->cancel)) continue;
    }
    unsigned char *scratch = ml_pool_scratch(b->pool, worker);
    if (scratch) memset(scratch, worker, 100);
    for (volatile int32_t i = 0; i < b->work; i++) continue;
    ml_status status = ML_OK;
    for (int64_t i = first; i < end && status == ML_OK; i++) {
        b->times[i]++;
        if (i >= b->fails_from && i % b->fails_step == 0)
            status = ml_error_set(ml_pool_error(b->pool, worker), ML_KERNEL_ERROR, "item %lld",
                                  (long long)i);
    }
    if (scratch)
        for (int i = 0; i < 100; i++) CHECK(scratch[i] == worker);
    atomic_fetch_sub(&b->inside[worker], 1);
    return status;
}

static void prepare_board(board *b, ml_pool *pool) {
    memset(b, 0, sizeof *b);
    b->pool = pool;
    b->fails_from = ITEMS;
    b->fails_step = 1;
    b->caller = this_thread();
}

static ml_status run(board *b, int64_t items, int64_t grain, ml_error *error) {
    *error = ML_NO_ERROR;
    return ml_pool_parallel(b->pool, items, grain, mark, b, b, error);
}

#endif
