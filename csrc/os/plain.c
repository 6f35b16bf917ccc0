/* plain.c -- ISO C alone, for systems without a file of their own: one thread, memory from malloc,
 * files that are read instead of mapped. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "os/os.h"

enum { PAGE = 4096, LINE = 64 };

/* Memory ------------------------------------------------------------------------------------- */

int64_t ml_os_page_bytes(void) { return PAGE; }

/* The pointer from malloc is stored before the aligned bytes. */
static void *aligned(int64_t bytes, size_t alignment) {
    if (bytes < 0 || bytes > PTRDIFF_MAX - 4 * (int64_t)alignment) return NULL;
    uint8_t *given = malloc((size_t)bytes + 2 * alignment + sizeof given);
    if (!given) return NULL;
    uint8_t *base = given + sizeof given;
    base += alignment - (uintptr_t)base % alignment;
    memcpy(base - sizeof given, &given, sizeof given);
    return base;
}

void *ml_os_allocate(int64_t bytes) { return aligned(bytes, LINE); }

void ml_os_free(void *memory) {
    uint8_t *given = NULL;
    if (memory) memcpy(&given, (uint8_t *)memory - sizeof given, sizeof given);
    free(given);
}

void *ml_os_reserve(int64_t bytes) { return NULL; }

bool ml_os_commit(void *pages, int64_t bytes) { return false; }

void *ml_os_map(int64_t bytes) {
    void *pages = aligned(bytes, PAGE);
    return pages ? memset(pages, 0, (size_t)bytes) : NULL;
}

void *ml_os_grow(void *pages, int64_t had, int64_t bytes) { return NULL; }

bool ml_os_cut(void *pages, int64_t had, int64_t bytes) { return false; }

void ml_os_unmap(void *pages, int64_t bytes) { ml_os_free(pages); }

bool ml_os_drop(void *pages, int64_t bytes) { return false; }

void ml_os_prefer_large_pages(void *pages, int64_t bytes) {}

int64_t ml_os_resident(const void *pages, int64_t bytes) { return bytes; }

int32_t ml_os_map_file(ml_mapping *mapping, int32_t descriptor, int64_t bytes) { return 0; }

void ml_os_unmap_file(ml_mapping *mapping) {}

void ml_os_leave_file(const void *data, int64_t bytes) {}

bool ml_os_map_file_over(void *pages, int32_t descriptor, int64_t at, int64_t bytes) {
    return false;
}

/* Time --------------------------------------------------------------------------------------- */

/* The calendar's clock. If it is set back, signals are handled late. */
int64_t ml_os_now(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t ml_os_recently(void) { return ml_os_now(); }

int64_t ml_os_page_faults(void) { return 0; }

/* Threads ------------------------------------------------------------------------------------ */

bool ml_os_start(ml_os_thread *thread, void (*run)(void *), void *argument) { return false; }

void ml_os_join(ml_os_thread *thread) {}

void ml_os_yield(void) {}

int64_t ml_os_process(void) { return 0; }

/* The caller may still have threads, so the lock is a flag on which they spin. */
static atomic_flag *flag_of(ml_os_lock *lock) { return (atomic_flag *)lock->system; }

void ml_os_make_lock(ml_os_lock *lock) { atomic_flag_clear(flag_of(lock)); }

void ml_os_free_lock(ml_os_lock *lock) {}

void ml_os_take(ml_os_lock *lock) {
    while (atomic_flag_test_and_set_explicit(flag_of(lock), memory_order_acquire)) continue;
}

void ml_os_give(ml_os_lock *lock) {
    atomic_flag_clear_explicit(flag_of(lock), memory_order_release);
}

void ml_bell_make(ml_bell *bell) { atomic_init(&bell->rung, 0); }

/* Nobody sleeps, because there are no threads. */
void ml_bell_sleep(ml_bell *bell, uint32_t seen) {}

void ml_bell_ring(ml_bell *bell, int32_t sleepers) { atomic_fetch_add(&bell->rung, 1); }

/* The processor ------------------------------------------------------------------------------ */

bool ml_os_has(ml_os_feature feature) { return false; }
