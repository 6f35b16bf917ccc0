/* linux.c -- functions of os.h for which Linux has better calls than POSIX, and its features of the
 * processor. */
#define _GNU_SOURCE /* mremap, mincore, RUSAGE_THREAD, syscall */
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "os/os.h"

/* From linux/futex.h, a header of the kernel, which musl's compiler does not find. */
enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };

/* Memory ------------------------------------------------------------------------------------- */

void *ml_os_grow(void *pages, int64_t had, int64_t bytes) {
    if (bytes > PTRDIFF_MAX) return NULL;
    void *moved = mremap(pages, (size_t)had, (size_t)bytes, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
}

void ml_os_prefer_large_pages(void *pages, int64_t bytes) {
    madvise(pages, (size_t)bytes, MADV_HUGEPAGE);
}

int64_t ml_os_resident(const void *pages, int64_t bytes) {
    unsigned char found[512];
    const int64_t page = ml_os_page_bytes(), step = (int64_t)sizeof found * page;
    int64_t resident = 0;
    for (int64_t at = 0; at < bytes; at += step) {
        const int64_t length = bytes - at < step ? bytes - at : step;
        /* mincore only reads; its argument lacks a const. */
        if (mincore((void *)((uintptr_t)pages + (uintptr_t)at), (size_t)length, found) != 0)
            return bytes;
        for (int64_t i = 0; i < length / page; i++) resident += found[i] & 1;
    }
    return resident * page;
}

/* Time --------------------------------------------------------------------------------------- */

int64_t ml_os_recently(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t ml_os_page_faults(void) {
    struct rusage usage;
    if (getrusage(RUSAGE_THREAD, &usage) != 0) return 0;
    return usage.ru_minflt + usage.ru_majflt;
}

/* Threads ------------------------------------------------------------------------------------ */

void ml_bell_make(ml_bell *bell) { atomic_init(&bell->rung, 0); }

void ml_bell_sleep(ml_bell *bell, uint32_t seen) {
    syscall(SYS_futex, &bell->rung, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

void ml_bell_ring(ml_bell *bell, int32_t sleepers) {
    atomic_fetch_add(&bell->rung, 1);
    syscall(SYS_futex, &bell->rung, FUTEX_WAKE_PRIVATE, sleepers, NULL, NULL, 0);
}

/* The processor ------------------------------------------------------------------------------ */

#if defined(__x86_64__)

bool ml_os_has(ml_os_feature feature) {
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM */
    return feature == ML_OS_TILES && syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

#elif defined(__aarch64__) || defined(__arm__)

/* Bits of AT_HWCAP and AT_HWCAP2, which the headers of older systems have no names for. */
bool ml_os_has(ml_os_feature feature) {
#if defined(__aarch64__)
    enum { ASIMDDP = 1 << 20, I8MM = 1 << 13 };
    if (feature == ML_OS_DOT_PRODUCTS) return (getauxval(AT_HWCAP) & ASIMDDP) != 0;
    if (feature == ML_OS_INT8_MATRIX) return (getauxval(AT_HWCAP2) & I8MM) != 0;
    return false;
#else
    enum { NEON = 1 << 12, FUSED = 1 << 16 }; /* VFPv4 */
    return feature == ML_OS_NEON && (~getauxval(AT_HWCAP) & (NEON | FUSED)) == 0;
#endif
}

#else

bool ml_os_has(ml_os_feature feature) { return false; }

#endif
