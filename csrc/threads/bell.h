/* bell.h -- a bell, on which threads sleep until it is rung: a futex, or a condition variable if
 * there is none.
 *
 * A waiting thread looks at the bell, then checks its condition, and sleeps only if that does not
 * hold:
 *     uint32_t seen = ml_bell_look(bell);
 *     if (!there(...)) ml_bell_sleep(bell, seen);
 * It wakes when the bell has been rung since it looked, or for no reason. */
#ifndef ML_BELL_H
#define ML_BELL_H

#include <stdatomic.h>
#include <stdint.h>

#if defined(__linux__) && !defined(ML_NO_FUTEX)
#define ML_FUTEX 1
#else
#include <pthread.h>
#endif

typedef struct ml_bell {
    atomic_uint rung; /* how often */
#ifndef ML_FUTEX
    pthread_mutex_t mutex;
    pthread_cond_t changed;
#endif
} ml_bell;

/* Makes a bell. In the child of a fork, makes it usable again. */
void ml_bell_make(ml_bell *bell);
uint32_t ml_bell_look(ml_bell *bell);
void ml_bell_sleep(ml_bell *bell, uint32_t seen);
/* Wakes at most `sleepers`. */
void ml_bell_ring(ml_bell *bell, int32_t sleepers);

#endif
