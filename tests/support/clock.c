/* clock.c -- a monotonic clock that goes on by 60 ms each time it is looked at, so that a run asks
 * Python for signals whenever it looks: loaded in front of the system's. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t id, struct timespec *now) {
    static long looks;
    const long status = syscall(SYS_clock_gettime, id, now);
    if (id != CLOCK_MONOTONIC && id != CLOCK_MONOTONIC_COARSE) return (int)status;
    const long ms = 60 * __atomic_add_fetch(&looks, 1, __ATOMIC_RELAXED);
    now->tv_sec += ms / 1000;
    now->tv_nsec += ms % 1000 * 1000000;
    if (now->tv_nsec >= 1000000000) now->tv_sec++, now->tv_nsec -= 1000000000;
    return (int)status;
}

/* The calendar's clock, which csrc/os/plain.c looks at, is this one too. */
int timespec_get(struct timespec *now, int base) {
    return clock_gettime(CLOCK_MONOTONIC, now) ? 0 : base;
}
