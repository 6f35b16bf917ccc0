/* os.h -- the operating system, as the core needs it: memory, files, time, threads, and features
 * of the processor that only the system knows. Nothing else in csrc/ includes a system's headers.
 *
 * posix.c and linux.c serve Linux; posix.c and macos.c macOS and other POSIX systems; windows.c
 * Windows; plain.c has all functions in ISO C, without threads and without saving memory. The build
 * takes one of these sets (ML_OS). No function here keeps anything between calls. */
#ifndef ML_OS_OS_H
#define ML_OS_OS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "api/minilite.h" /* ml_os_map_file and ml_os_unmap_file, which Python calls */

/* Memory ------------------------------------------------------------------------------------- */

/* Bytes of a page, a power of two: 4 KiB on most x86, 16 KiB on a Raspberry Pi 5 and on Macs, up to
 * 64 KiB on servers. Access is granted and memory given back in whole pages. */
int64_t ml_os_page_bytes(void);

/* Memory of `bytes` (>= 0), aligned to 64 bytes, not cleared, its size rounded up to a multiple of
 * 64, at least 64; NULL if memory is short. The caller frees it by ml_os_free. */
void *ml_os_allocate(int64_t bytes);
void ml_os_free(void *memory);

/* Addresses without memory, which cost almost nothing; NULL if the system grants none. */
void *ml_os_reserve(int64_t bytes);
/* Makes whole pages of a reserved range accessible; they hold zeros. False: nothing has changed. */
bool ml_os_commit(void *pages, int64_t bytes);
/* Whole pages of zeros, or NULL. */
void *ml_os_map(int64_t bytes);
/* Makes `had` bytes from ml_os_map `bytes`, elsewhere if need be, without copying them; NULL if the
 * system cannot do that: the pages are where they were. */
void *ml_os_grow(void *pages, int64_t had, int64_t bytes);
/* Gives back the pages after the first `bytes` of `had` from ml_os_map. False: they stay. */
bool ml_os_cut(void *pages, int64_t had, int64_t bytes);
/* Gives back all pages of ml_os_reserve or ml_os_map, whose size this is. */
void ml_os_unmap(void *pages, int64_t bytes);
/* Gives back the memory of whole pages, whose addresses stay valid. What they hold is lost. False:
 * the memory stays in use. */
bool ml_os_drop(void *pages, int64_t bytes);
/* Gives back the memory of a mapped file's pages that have these bytes; who touches them reads them
 * from the file again. */
void ml_os_leave_file(const void *data, int64_t bytes);
/* Puts bytes of a file, from `at`, in place of whole pages from ml_os_map, whose addresses stay
 * valid meanwhile; from then on they can only be read. Both are multiples of the page, but for
 * the file's end. False: nothing has changed. */
bool ml_os_map_file_over(void *pages, int32_t descriptor, int64_t at, int64_t bytes);
/* Suggests pages of 2 MiB or so where the system has them. */
void ml_os_prefer_large_pages(void *pages, int64_t bytes);
/* The number of these bytes (whole pages) that are in memory; all of them if the system cannot
 * tell. */
int64_t ml_os_resident(const void *pages, int64_t bytes);

/* Time --------------------------------------------------------------------------------------- */

/* Nanoseconds of a clock that never goes back. */
int64_t ml_os_now(void);
/* The same clock, at most some milliseconds late, for a third of the cost; or the exact clock if
 * there is none. */
int64_t ml_os_recently(void);

/* Pages that this thread was the first to touch; 0 where the system does not count them. */
int64_t ml_os_page_faults(void);

/* Threads ------------------------------------------------------------------------------------ */

/* Room for what the system keeps of a thread, a lock or a bell. */
typedef struct ml_os_thread {
    alignas(16) unsigned char system[32];
} ml_os_thread;
typedef struct ml_os_lock {
    alignas(16) unsigned char system[64];
} ml_os_lock;

/* Starts a thread in which no signal is handled, so that all are left to the caller. False: the
 * system has no more threads, or none at all. */
bool ml_os_start(ml_os_thread *thread, void (*run)(void *), void *argument);
/* Waits for its end. */
void ml_os_join(ml_os_thread *thread);
/* Lets another thread run. */
void ml_os_yield(void);
/* The number of this process, which differs in the child of a fork. */
int64_t ml_os_process(void);

void ml_os_make_lock(ml_os_lock *lock);
void ml_os_free_lock(ml_os_lock *lock);
void ml_os_take(ml_os_lock *lock);
void ml_os_give(ml_os_lock *lock);

/* Threads that sleep until another one rings. A thread that waits reads the bell, then looks for
 * what it waits for, and sleeps only if that is not there:
 *     uint32_t seen = ml_bell_look(bell);
 *     if (!there(...)) ml_bell_sleep(bell, seen);
 * It wakes when the bell has been rung since it was read, or without a reason. */
typedef struct ml_bell {
    atomic_uint rung; /* how often */
    alignas(16) unsigned char system[128];
} ml_bell;

/* Also makes a bell usable again in the child of a fork. */
void ml_bell_make(ml_bell *bell);
static inline uint32_t ml_bell_look(ml_bell *bell) { return atomic_load(&bell->rung); }
void ml_bell_sleep(ml_bell *bell, uint32_t seen);
/* Wakes at most `sleepers`. */
void ml_bell_ring(ml_bell *bell, int32_t sleepers);

/* The processor ------------------------------------------------------------------------------ */

typedef enum ml_os_feature {
    ML_OS_TILES, /* x86-64: AMX; asks for permission to use tiles, which may be refused */
    ML_OS_DOT_PRODUCTS, /* aarch64: SDOT and UDOT */
    ML_OS_INT8_MATRIX, /* aarch64: SMMLA */
    ML_OS_NEON, /* 32-bit Arm: with fused multiply-adds */
} ml_os_feature;

/* True if this process may use the feature. May be asked again. */
bool ml_os_has(ml_os_feature feature);

#endif
