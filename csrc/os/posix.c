/* posix.c -- functions that Linux, macOS and other POSIX systems have in common. */
#define _GNU_SOURCE /* MAP_ANONYMOUS, madvise */
#define _DARWIN_C_SOURCE
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

static_assert(sizeof(pthread_mutex_t) <= sizeof(ml_os_lock), "a mutex fits into a lock");

/* Memory ------------------------------------------------------------------------------------- */

enum { LEAST_PAGE = 4096, LINE = 64 };

int64_t ml_os_page_bytes(void) {
    const long found = sysconf(_SC_PAGESIZE);
    return found > LEAST_PAGE ? found : LEAST_PAGE;
}

void *ml_os_allocate(int64_t bytes) {
    if (bytes < 0 || bytes > PTRDIFF_MAX - LINE) return NULL;
    return aligned_alloc(LINE, bytes == 0 ? LINE : ((size_t)bytes + LINE - 1) / LINE * LINE);
}

void ml_os_free(void *memory) { free(memory); }

static void *map_pages(int64_t bytes, int access) {
    if (bytes > PTRDIFF_MAX) return NULL;
    void *base = mmap(NULL, (size_t)bytes, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

void *ml_os_reserve(int64_t bytes) { return map_pages(bytes, PROT_NONE); }

bool ml_os_commit(void *pages, int64_t bytes) {
    return mprotect(pages, (size_t)bytes, PROT_READ | PROT_WRITE) == 0;
}

void *ml_os_map(int64_t bytes) { return map_pages(bytes, PROT_READ | PROT_WRITE); }

bool ml_os_cut(void *pages, int64_t had, int64_t bytes) {
    return munmap((uint8_t *)pages + bytes, (size_t)(had - bytes)) == 0;
}

void ml_os_unmap(void *pages, int64_t bytes) { munmap(pages, (size_t)bytes); }

bool ml_os_drop(void *pages, int64_t bytes) {
    return madvise(pages, (size_t)bytes, MADV_DONTNEED) == 0;
}

int32_t ml_os_map_file(ml_mapping *mapping, int32_t descriptor, int64_t bytes) {
    if (bytes > PTRDIFF_MAX) return 0;
    void *data = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (data == MAP_FAILED) return 0;
    *mapping = (ml_mapping){data, bytes};
    return 1;
}

void ml_os_unmap_file(ml_mapping *mapping) {
    if (mapping->data) munmap(mapping->data, (size_t)mapping->bytes);
    mapping->data = NULL;
}

void ml_os_leave_file(const void *data, int64_t bytes) {
    const uintptr_t page = (uintptr_t)ml_os_page_bytes(), start = (uintptr_t)data & ~(page - 1);
    madvise((void *)start, (uintptr_t)data + (uintptr_t)bytes - start, MADV_DONTNEED);
}

bool ml_os_map_file_over(void *pages, int32_t descriptor, int64_t at, int64_t bytes) {
    return mmap(pages, (size_t)bytes, PROT_READ, MAP_SHARED | MAP_FIXED, descriptor, (off_t)at) !=
           MAP_FAILED;
}

/* Time --------------------------------------------------------------------------------------- */

int64_t ml_os_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Threads ------------------------------------------------------------------------------------ */

typedef struct posix_thread {
    pthread_t thread;
    void (*run)(void *);
    void *argument;
} posix_thread;
static_assert(sizeof(posix_thread) <= sizeof(ml_os_thread), "a thread fits");

static void *run_thread(void *started) {
    const posix_thread *thread = started;
    thread->run(thread->argument);
    return NULL;
}

bool ml_os_start(ml_os_thread *thread, void (*run)(void *), void *argument) {
    posix_thread *started = (posix_thread *)thread->system;
    sigset_t all, before;
    started->run = run;
    started->argument = argument;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool runs = pthread_create(&started->thread, NULL, run_thread, started) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return runs;
}

void ml_os_join(ml_os_thread *thread) {
    pthread_join(((posix_thread *)thread->system)->thread, NULL);
}

void ml_os_yield(void) { sched_yield(); }

int64_t ml_os_process(void) { return getpid(); }

static pthread_mutex_t *mutex_of(ml_os_lock *lock) { return (pthread_mutex_t *)lock->system; }

void ml_os_make_lock(ml_os_lock *lock) { pthread_mutex_init(mutex_of(lock), NULL); }

void ml_os_free_lock(ml_os_lock *lock) { pthread_mutex_destroy(mutex_of(lock)); }

void ml_os_take(ml_os_lock *lock) { pthread_mutex_lock(mutex_of(lock)); }

void ml_os_give(ml_os_lock *lock) { pthread_mutex_unlock(mutex_of(lock)); }
