/* failing.c -- lets a chosen request for memory or for a thread fail, and the clock go as tests
 * say, to test what follows.
 *
 * Part of builds with ML_FAILING alone. The linker turns each call of a function NAME that is named
 * here into one of __wrap_NAME (option --wrap), and __real_NAME is the function itself, so no other
 * file knows of this one. Tests find the functions ml_failing_... by their names in the library. */
#include <stdatomic.h>
#include <stdlib.h>

#include "os/os.h"

#define EXPORTED __attribute__((visibility("default")))

static atomic_llong made; /* requests since the last call of ml_failing_begin */
static atomic_llong failed; /* those of them that failed */
static atomic_llong from, until; /* the requests that fail: numbers from 1, both ends inclusive */
static atomic_llong blocks; /* that the core has from malloc, calloc, realloc, aligned_alloc */
static atomic_uintptr_t place; /* where the last one that failed was made */
static atomic_llong clock_step; /* nanoseconds per look at a clock; 0: they go as they do */
static atomic_llong looks; /* at clocks since ml_failing_clock */

EXPORTED void ml_failing_begin(int64_t first, int64_t last);
EXPORTED int64_t ml_failing_made(void);
EXPORTED int64_t ml_failing_failed(void);
EXPORTED int64_t ml_failing_blocks(void);
EXPORTED uintptr_t ml_failing_place(void);
EXPORTED void ml_failing_clock(int64_t step);

/* Counts anew: requests `first` to `last` will fail; none if `first` is 0. */
void ml_failing_begin(int64_t first, int64_t last) {
    atomic_store(&from, 0);
    atomic_store(&until, last);
    atomic_store(&made, 0);
    atomic_store(&failed, 0);
    atomic_store(&from, first);
}
int64_t ml_failing_made(void) { return atomic_load(&made); }
int64_t ml_failing_failed(void) { return atomic_load(&failed); }
int64_t ml_failing_blocks(void) { return atomic_load(&blocks); }
uintptr_t ml_failing_place(void) { return atomic_load(&place); }

/* From now on clocks go by `step` with each look at one, so that a run polls after an amount of
 * work, not of time; 0: as they do by themselves. */
void ml_failing_clock(int64_t step) {
    atomic_store(&looks, 0);
    atomic_store(&clock_step, step);
}

static bool fails(void *caller) {
    const long long number = atomic_fetch_add(&made, 1) + 1, first = atomic_load(&from);
    if (first == 0 || number < first || number > atomic_load(&until)) return false;
    atomic_fetch_add(&failed, 1);
    atomic_store(&place, (uintptr_t)caller);
    return true;
}
#define FAILS() fails(__builtin_return_address(0))

static void *counted(void *block) {
    if (block) atomic_fetch_add(&blocks, 1);
    return block;
}

/* The C library ------------------------------------------------------------------------------ */

/* Begins the definition of __wrap_NAME. */
#define WRAPPED(type, name, parameters) \
    type __real_##name parameters;      \
    type __wrap_##name parameters;      \
    type __wrap_##name parameters
/* All of one that answers `refused` if it fails. */
#define REFUSABLE(type, name, refused, parameters, arguments) \
    WRAPPED(type, name, parameters) { return FAILS() ? refused : __real_##name arguments; }

WRAPPED(void *, malloc, (size_t bytes)) { return FAILS() ? NULL : counted(__real_malloc(bytes)); }

WRAPPED(void *, calloc, (size_t count, size_t each)) {
    return FAILS() ? NULL : counted(__real_calloc(count, each));
}

WRAPPED(void *, realloc, (void *block, size_t bytes)) {
    if (FAILS()) return NULL;
    void *grown = __real_realloc(block, bytes);
    return block ? grown : counted(grown);
}

WRAPPED(void *, aligned_alloc, (size_t alignment, size_t bytes)) {
    return FAILS() ? NULL : counted(__real_aligned_alloc(alignment, bytes));
}

WRAPPED(void, free, (void *block)) {
    if (block) atomic_fetch_sub(&blocks, 1);
    __real_free(block);
}

/* The operating system ----------------------------------------------------------------------- */

REFUSABLE(void *, ml_os_reserve, NULL, (int64_t bytes), (bytes))
REFUSABLE(bool, ml_os_commit, false, (void *pages, int64_t bytes), (pages, bytes))
REFUSABLE(void *, ml_os_map, NULL, (int64_t bytes), (bytes))
REFUSABLE(void *, ml_os_grow, NULL, (void *pages, int64_t had, int64_t bytes), (pages, had, bytes))
REFUSABLE(bool, ml_os_cut, false, (void *pages, int64_t had, int64_t bytes), (pages, had, bytes))
REFUSABLE(bool, ml_os_drop, false, (void *pages, int64_t bytes), (pages, bytes))
REFUSABLE(int32_t, ml_os_map_file, 0, (ml_mapping * mapping, int32_t descriptor, int64_t bytes),
          (mapping, descriptor, bytes))
REFUSABLE(bool, ml_os_map_file_over, false,
          (void *pages, int32_t descriptor, int64_t at, int64_t bytes),
          (pages, descriptor, at, bytes))
REFUSABLE(bool, ml_os_start, false, (ml_os_thread * thread, void (*run)(void *), void *argument),
          (thread, run, argument))

#define CLOCK(name)                                                             \
    WRAPPED(int64_t, name, (void)) {                                            \
        const int64_t step = atomic_load(&clock_step);                          \
        return step == 0 ? __real_##name() : (atomic_fetch_add(&looks, 1) + 1) * step; \
    }
CLOCK(ml_os_recently)
CLOCK(ml_os_now)
