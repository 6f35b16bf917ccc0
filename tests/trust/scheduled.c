/* scheduled.c -- lets one thread of the core run at a time, in an order that follows from a seed,
 * so that what goes wrong with a seed goes wrong with it again.
 *
 * Part of builds with ML_FAILING alone, and put in place by the linker like failing.c. A thread
 * hands over where it shares blocks, sleeps, rings or waits for an end; the next one is drawn from
 * those that do not wait. If all wait, a wake-up was lost, and the process ends with a message. A
 * thread that was not started by the core has place 0: tests see to it that only one of them is in
 * a run. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "os/os.h"

#define EXPORTED __attribute__((visibility("default")))
enum { MOST = 64 /* places */ };

typedef struct scheduled {
    bool used;
    const void *until; /* waits until somebody wakes whoever waits for this; NULL: may run */
    void *(*run)(void *);
    void *argument;
    pthread_t thread;
} scheduled;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static scheduled places[MOST] = {{.used = true}};
static int32_t current;
static uint64_t dice; /* 0: threads run as they do by themselves */
static long long hand_overs;
static _Thread_local int32_t me;

EXPORTED void ml_scheduled_begin(uint64_t seed);
EXPORTED int64_t ml_scheduled_hand_overs(void);

static uint32_t drawn(uint32_t below) { /* xorshift */
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (uint32_t)((dice >> 32) % below);
}

/* Chooses who runs next; the lock is held. */
static void choose(void) {
    int32_t ready[MOST];
    uint32_t count = 0;
    for (int32_t i = 0; i < MOST; i++)
        if (places[i].used && !places[i].until) ready[count++] = i;
    if (count == 0) {
        fputs("all threads wait: a wake-up was lost\n", stderr);
        abort();
    }
    hand_overs++;
    current = ready[drawn(count)];
    pthread_cond_broadcast(&turned);
}

static void await_turn(void) {
    while (current != me) pthread_cond_wait(&turned, &lock);
}

/* Another thread may run now, and this one again once nobody needs to wake it; the lock is held. */
static void hand_over(const void *until) {
    places[me].until = until;
    choose();
    await_turn();
}

static void point(void) {
    if (dice == 0) return;
    pthread_mutex_lock(&lock);
    hand_over(NULL);
    pthread_mutex_unlock(&lock);
}

/* Wakes at most `count` of those that wait for this; the lock is held. */
static void wake(const void *until, int32_t count) {
    const int32_t from = (int32_t)drawn(MOST);
    for (int32_t i = 0; i < MOST && count > 0; i++) {
        scheduled *place = &places[(from + i) % MOST];
        if (!place->used || place->until != until) continue;
        place->until = NULL;
        count--;
    }
}

/* Begin and end of threads ------------------------------------------------------------------- */

static void before_fork(void) { pthread_mutex_lock(&lock); }
static void after_fork(void) { pthread_mutex_unlock(&lock); }
static void in_child(void) { /* which has none of the threads that wait */
    for (int32_t i = 1; i < MOST; i++) places[i].used = false;
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    turned = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
}

/* From now on the order follows from `seed`; 0: from nothing. To be called when no pool has threads
 * that were started while it was 0. */
void ml_scheduled_begin(uint64_t seed) {
    static bool noted;
    if (!noted) pthread_atfork(before_fork, after_fork, in_child);
    noted = true;
    dice = seed == 0 ? 0 : seed * 0x9E3779B97F4A7C15u | 1;
    hand_overs = 0;
}
int64_t ml_scheduled_hand_overs(void) { return hand_overs; }

static void *run_scheduled(void *argument) {
    scheduled *place = argument;
    pthread_mutex_lock(&lock);
    me = (int32_t)(place - places);
    await_turn();
    pthread_mutex_unlock(&lock);
    place->run(place->argument);
    pthread_mutex_lock(&lock);
    place->used = false;
    wake(place, MOST);
    choose();
    pthread_mutex_unlock(&lock);
    return NULL;
}

/* Begins the definition of __wrap_NAME. */
#define WRAPPED(type, name, parameters) \
    type __real_##name parameters;      \
    type __wrap_##name parameters;      \
    type __wrap_##name parameters

WRAPPED(int, pthread_create,
        (pthread_t * thread, const pthread_attr_t *attributes, void *(*run)(void *),
         void *argument)) {
    if (dice == 0) return __real_pthread_create(thread, attributes, run, argument);
    int32_t at = 1;
    while (at < MOST && places[at].used) at++;
    if (at == MOST) abort();
    scheduled *place = &places[at];
    *place = (scheduled){.used = true, .run = run, .argument = argument};
    const int failed = __real_pthread_create(&place->thread, attributes, run_scheduled, place);
    *thread = place->thread;
    place->used = failed == 0;
    return failed;
}

WRAPPED(int, pthread_join, (pthread_t thread, void **result)) {
    pthread_mutex_lock(&lock);
    for (int32_t i = 1; i < MOST; i++)
        if (places[i].used && pthread_equal(places[i].thread, thread)) {
            hand_over(&places[i]);
            break;
        }
    pthread_mutex_unlock(&lock);
    return __real_pthread_join(thread, result);
}

/* Where threads hand over -------------------------------------------------------------------- */

/* The linker puts these before the functions by which pools share blocks (threads/share.h), a room
 * above this one, of which it knows no more than what they take. */
#define SHARED(type, name, parameters, arguments) \
    type __real_ml_share_##name parameters;       \
    type __wrap_ml_share_##name parameters;       \
    type __wrap_ml_share_##name parameters {      \
        point();                                  \
        return __real_ml_share_##name arguments;  \
    }
SHARED(void, open, (void *share, int64_t blocks), (share, blocks))
SHARED(bool, take, (void *share, int32_t range, bool own, int64_t *block, int64_t *finished),
       (share, range, own, block, finished))
SHARED(bool, finish, (void *share, int64_t finished), (share, finished))

WRAPPED(void, ml_bell_sleep, (ml_bell * bell, uint32_t seen)) {
    if (dice == 0) {
        __real_ml_bell_sleep(bell, seen);
        return;
    }
    pthread_mutex_lock(&lock);
    hand_over(NULL);
    if (ml_bell_look(bell) == seen) hand_over(bell);
    pthread_mutex_unlock(&lock);
}

WRAPPED(void, ml_bell_ring, (ml_bell * bell, int32_t sleepers)) {
    if (dice == 0) {
        __real_ml_bell_ring(bell, sleepers);
        return;
    }
    pthread_mutex_lock(&lock);
    hand_over(NULL);
    atomic_fetch_add(&bell->rung, 1);
    wake(bell, sleepers);
    hand_over(NULL);
    pthread_mutex_unlock(&lock);
}
