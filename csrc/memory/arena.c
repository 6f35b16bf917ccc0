/* arena.c -- the arena's memory: page-aligned, zero when new, given back whole. */
#define _GNU_SOURCE /* mremap */
#include <sys/mman.h>

#include "core/error.h"
#include "core/shape.h"

/* Where the system can move pages instead of bytes, growing copies nothing. */
static uint8_t *map_pages(int64_t bytes) {
    void *base =
        mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return base == MAP_FAILED ? NULL : base;
}

ml_status ml_arena_commit(ml_arena *arena, int64_t bytes, int64_t keep, ml_error *error) {
    if (bytes <= arena->capacity) return ML_OK;
    int64_t rounded = bytes > INT64_MAX - 4095 ? -1 : (bytes + 4095) & ~(int64_t)4095;
    uint8_t *base = NULL;
    if (rounded > 0) {
#ifdef __linux__
        if (arena->base && keep > 0) {
            void *moved =
                mremap(arena->base, (size_t)arena->capacity, (size_t)rounded, MREMAP_MAYMOVE);
            base = moved == MAP_FAILED ? NULL : moved;
        } else
#endif
        {
            base = map_pages(rounded);
            if (base && keep > 0) memcpy(base, arena->base, (size_t)keep);
            if (base && arena->base) munmap(arena->base, (size_t)arena->capacity);
        }
    }
    if (!base) {
        error->needed = bytes;
        error->available = arena->capacity;
        return ml_error_set(error, ML_ARENA_ERROR,
                            "the arena needs %lld bytes, has %lld, and the system gives no more",
                            (long long)bytes, (long long)arena->capacity);
    }
    if (base != arena->base) arena->moves++;
    arena->base = base;
    arena->capacity = rounded;
    return ML_OK;
}

void ml_arena_release(ml_arena *arena) {
    if (arena->base) munmap(arena->base, (size_t)arena->capacity);
    arena->base = NULL;
    arena->capacity = 0;
}

void ml_arena_shrink(ml_arena *arena, int64_t bytes) {
    int64_t rounded = (bytes + 4095) & ~(int64_t)4095;
    if (rounded >= arena->capacity) return;
    if (rounded == 0) {
        ml_arena_release(arena);
        return;
    }
    munmap(arena->base + rounded, (size_t)(arena->capacity - rounded));
    arena->capacity = rounded;
}
