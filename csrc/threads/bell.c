/* bell.c -- lets threads sleep until another thread wakes them. */
#define _GNU_SOURCE /* syscall */
#include "threads/bell.h"

uint32_t ml_bell_look(ml_bell *bell) { return atomic_load(&bell->rung); }

#ifdef ML_FUTEX

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void ml_bell_make(ml_bell *bell) { atomic_init(&bell->rung, 0); }

void ml_bell_sleep(ml_bell *bell, uint32_t seen) {
    syscall(SYS_futex, &bell->rung, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

void ml_bell_ring(ml_bell *bell, int32_t sleepers) {
    atomic_fetch_add(&bell->rung, 1);
    syscall(SYS_futex, &bell->rung, FUTEX_WAKE_PRIVATE, sleepers, NULL, NULL, 0);
}

#else

void ml_bell_make(ml_bell *bell) {
    atomic_init(&bell->rung, 0);
    pthread_mutex_init(&bell->mutex, NULL);
    pthread_cond_init(&bell->changed, NULL);
}

void ml_bell_sleep(ml_bell *bell, uint32_t seen) {
    pthread_mutex_lock(&bell->mutex);
    while (atomic_load(&bell->rung) == seen) pthread_cond_wait(&bell->changed, &bell->mutex);
    pthread_mutex_unlock(&bell->mutex);
}

void ml_bell_ring(ml_bell *bell, int32_t sleepers) {
    pthread_mutex_lock(&bell->mutex);
    atomic_fetch_add(&bell->rung, 1);
    pthread_mutex_unlock(&bell->mutex);
    while (sleepers-- > 0) pthread_cond_signal(&bell->changed);
}

#endif
