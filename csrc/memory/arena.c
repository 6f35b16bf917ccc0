/* arena.c -- the arena's memory: a reserved range of addresses, committed as far as it is needed, so that it never moves.
 *
 * ML_ARENA_RESERVED bytes of address space are reserved without access, which costs the system nothing but a table entry (1000
 * interpreters take 64 TiB of the 128 TiB a process has); what is used is made accessible in steps. Where the system refuses
 * the range (a limit on address space), pages are mapped as needed, and growing may move them. */
#define _GNU_SOURCE /* mremap */
#include <sys/mman.h>

#include "core/shape.h"
#include "memory/account.h"

#define ML_ARENA_RESERVED ((int64_t)1 << 36)
enum { PAGE = 4096, HUGE_PAGE = 2 << 20 };

static uint8_t *map_pages(int64_t bytes, int access) {
    void *base = mmap(NULL, (size_t)bytes, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

/* Makes the first `bytes` of the reserved range accessible; the first time somewhat more, so that small models grow at once. */
static bool commit_reserved(ml_arena *arena, int64_t bytes) {
    if (!arena->base) {
        arena->base = map_pages(ML_ARENA_RESERVED, PROT_NONE);
        if (!arena->base) return false;
        arena->reserved = ML_ARENA_RESERVED;
        arena->moves++;
    }
    if (bytes > arena->reserved) return false;
    uint8_t *from = arena->base + arena->capacity;
    if (mprotect(from, (size_t)(bytes - arena->capacity), PROT_READ | PROT_WRITE) != 0)
        return false;
#ifdef MADV_HUGEPAGE
    if (bytes >= HUGE_PAGE) madvise(arena->base, (size_t)bytes, MADV_HUGEPAGE);
#endif
    arena->capacity = bytes;
    return true;
}

/* Without a reservation: moves pages where the system can, else bytes. The old pages stay until the new ones are there. */
static bool commit_mapped(ml_arena *arena, int64_t bytes, int64_t keep) {
    uint8_t *base = NULL;
#ifdef __linux__
    if (arena->base && keep > 0) {
        void *moved = mremap(arena->base, (size_t)arena->capacity, (size_t)bytes, MREMAP_MAYMOVE);
        base = moved == MAP_FAILED ? NULL : moved;
    } else
#endif
    {
        base = map_pages(bytes, PROT_READ | PROT_WRITE);
        if (base && keep > 0) memcpy(base, arena->base, (size_t)keep);
        if (base) arena->copied += keep;
        if (base && arena->base) munmap(arena->base, (size_t)arena->capacity);
    }
    if (!base) return false;
    if (base != arena->base) arena->moves++;
    arena->base = base;
    arena->capacity = bytes;
    return true;
}

ml_status ml_arena_commit(ml_arena *arena, int64_t bytes, int64_t keep, ml_error *error) {
    if (bytes <= arena->capacity) return ML_OK;
    int64_t rounded = bytes > INT64_MAX - PAGE ? -1 : ml_round_up(bytes, PAGE);
    bool reserves = !arena->base || arena->reserved > 0;
    int64_t had = arena->capacity, more = bytes - had;
    ml_status status = ml_account_take(arena->account, "the arena", more, error);
    if (status != ML_OK) return status;
    bool there = rounded > 0 && reserves && commit_reserved(arena, rounded);
    there = there || (rounded > 0 && arena->reserved == 0 && commit_mapped(arena, rounded, keep));
    ml_account_give(arena->account, had + more - arena->capacity);
    return there ? ML_OK : ml_error_memory(error, "the arena", bytes, had);
}

void ml_arena_release(ml_arena *arena) {
    if (arena->base)
        munmap(arena->base, (size_t)(arena->reserved ? arena->reserved : arena->capacity));
    ml_account_give(arena->account, arena->capacity);
    arena->base = NULL;
    arena->capacity = arena->reserved = 0;
}

void ml_arena_shrink(ml_arena *arena, int64_t bytes) {
    int64_t rounded = ml_round_up(bytes, PAGE);
    if (rounded >= arena->capacity) return;
    uint8_t *from = arena->base + rounded;
    size_t rest = (size_t)(arena->capacity - rounded);
    /* Pages go, addresses stay: who copies out of them without a turn meets zeros, not a fault. */
    if (arena->reserved) {
        if (madvise(from, rest, MADV_DONTNEED) != 0) return;
    } else if (rounded == 0) {
        ml_arena_release(arena);
        return;
    } else {
        munmap(from, rest);
    }
    ml_account_give(arena->account, arena->capacity - rounded);
    arena->capacity = rounded;
}

int64_t ml_arena_resident(const ml_arena *arena) {
#ifdef __linux__
    unsigned char found[512];
    int64_t pages = 0;
    for (int64_t at = 0; at < arena->capacity; at += (int64_t)sizeof found * PAGE) {
        int64_t bytes = ml_min_s64(arena->capacity - at, (int64_t)sizeof found * PAGE);
        if (mincore(arena->base + at, (size_t)bytes, found) != 0) return arena->capacity;
        for (int64_t i = 0; i < bytes / PAGE; i++) pages += found[i] & 1;
    }
    return pages * PAGE;
#else
    return arena->capacity;
#endif
}
