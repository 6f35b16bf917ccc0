/* arena.c -- the memory of an arena: a reserved range of addresses, of which the needed part is
 * committed, so that it hardly ever moves.
 *
 * Small arenas lie in a block from malloc: loading a small model takes no longer than a few system
 * calls, and malloc's pages are often in the cache, since other interpreters or arrays have used
 * them. An arena that outgrows a block moves to the next one; the old block stays until the arena
 * is released, because others may be reading it. An arena that starts large skips the blocks. An
 * arena starts with zeros at any size. Bytes that are added later are not cleared, because that
 * takes longer than planning, and after a resize the values of tensors are undefined anyway.
 *
 * ML_ARENA_RESERVED bytes of address space are reserved without access, which costs the system only
 * a table entry (1000 interpreters take 64 TiB of the 128 TiB that a process has); the used part is
 * made accessible in steps. If the system refuses the range (because address space is limited),
 * pages are mapped as needed, and growing may move them. */
#include <stdlib.h>

#include "core/shape.h"
#include "memory/account.h"
#include "os/os.h"

#define ML_ARENA_RESERVED ((int64_t)1 << 36)
enum { HUGE_PAGE = 2 << 20 };

/* The size of a block from malloc; at least a page, so that the smallest arena fits into the first
 * block. */
static int64_t block_bytes(int block) {
    static const int64_t bytes[ML_ARENA_BLOCKS] = {32 << 10, 512 << 10, 2 << 20};
    return ml_max_s64(bytes[block], ml_os_page_bytes());
}

/* The number of the block that the arena lies in; ML_ARENA_BLOCKS if it has pages of its own. */
static int block_of(const ml_arena *arena) {
    int block = 0;
    while (block < ML_ARENA_BLOCKS && arena->base != arena->blocks[block]) block++;
    return block;
}

static bool in_block(const ml_arena *arena) {
    return arena->base && block_of(arena) < ML_ARENA_BLOCKS;
}

/* The pointer from malloc is stored before the first whole page. (With aligned_alloc, glibc would
 * request the larger blocks from the system again each time.) */
static uint8_t *new_block(int64_t bytes) {
    const size_t page = (size_t)ml_os_page_bytes();
    uint8_t *given = malloc((size_t)bytes + page + sizeof(void *));
    if (!given) return NULL;
    uint8_t *base = given + page - (uintptr_t)given % page;
    if (base - given < (ptrdiff_t)sizeof(void *)) base += page;
    memcpy(base - sizeof given, &given, sizeof given);
    return base;
}

static void free_block(uint8_t *base) {
    void *given = NULL;
    if (base) memcpy(&given, base - sizeof given, sizeof given);
    free(given);
}

static bool commit_block(ml_arena *arena, int block, int64_t bytes, int64_t keep) {
    uint8_t *base = arena->blocks[block] ? arena->blocks[block] : new_block(block_bytes(block));
    if (!base) return false;
    if (!arena->base) memset(base, 0, (size_t)bytes);
    if (base != arena->base) {
        if (keep > 0) memcpy(base, arena->base, (size_t)keep);
        arena->copied += keep;
        arena->moves++;
    }
    arena->base = arena->blocks[block] = base;
    arena->reserved = block_bytes(block);
    arena->capacity = bytes;
    return true;
}

/* Makes the first `bytes` of a block or of the reserved range accessible. */
static bool commit_kept(ml_arena *arena, int64_t bytes, int64_t keep) {
    bool outgrown = in_block(arena);
    int last = arena->base ? ML_ARENA_BLOCKS : 1;
    for (int block = arena->base ? block_of(arena) : 0; block < last; block++)
        if (bytes <= block_bytes(block)) return commit_block(arena, block, bytes, keep);
    if (bytes > ML_ARENA_RESERVED) return false;
    uint8_t *base = arena->base;
    if (!base || outgrown) base = ml_os_reserve(ML_ARENA_RESERVED);
    if (!base) return false;
    int64_t had = outgrown ? 0 : arena->capacity;
    if (!ml_os_commit(base + had, bytes - had)) {
        if (base != arena->base) ml_os_unmap(base, ML_ARENA_RESERVED);
        return false;
    }
    if (bytes >= HUGE_PAGE) ml_os_prefer_large_pages(base, bytes);
    if (outgrown && keep > 0) memcpy(base, arena->base, (size_t)keep);
    if (outgrown) arena->copied += keep;
    arena->moves += base != arena->base;
    arena->base = base;
    arena->reserved = ML_ARENA_RESERVED;
    arena->capacity = bytes;
    return true;
}

/* Without a reservation: moves pages if the system can, else copies bytes. The old pages stay until
 * the new ones are there; blocks stay until release. */
static bool commit_mapped(ml_arena *arena, int64_t bytes, int64_t keep) {
    const bool had_pages = arena->base && !in_block(arena);
    uint8_t *base = had_pages && keep > 0 ? ml_os_grow(arena->base, arena->capacity, bytes) : NULL;
    if (!base) {
        if (!(base = ml_os_map(bytes))) return false;
        if (keep > 0) memcpy(base, arena->base, (size_t)keep);
        arena->copied += keep;
        if (had_pages) ml_os_unmap(arena->base, arena->capacity);
    }
    if (base != arena->base) arena->moves++;
    arena->base = base;
    arena->reserved = 0;
    arena->capacity = bytes;
    return true;
}

ml_status ml_arena_commit(ml_arena *arena, int64_t bytes, int64_t keep, ml_error *error) {
    if (bytes <= arena->capacity) return ML_OK;
    if (!arena->base) keep = 0;
    const int64_t page = ml_os_page_bytes();
    int64_t rounded = bytes > INT64_MAX - page ? -1 : ml_round_up(bytes, page);
    bool reserves = !arena->base || arena->reserved > 0;
    int64_t had = arena->capacity, more = bytes - had;
    ml_status status = ml_account_take(arena->account, "the arena", more, error);
    if (status != ML_OK) return status;
    bool may_map = rounded > 0 && (arena->reserved == 0 || in_block(arena));
    bool there = rounded > 0 && reserves && commit_kept(arena, rounded, keep);
    there = there || (may_map && commit_mapped(arena, rounded, keep));
    ml_account_give(arena->account, had + more - arena->capacity);
    return there ? ML_OK : ml_error_memory(error, "the arena", bytes, had);
}

void ml_arena_release(ml_arena *arena) {
    if (arena->base && !in_block(arena))
        ml_os_unmap(arena->base, arena->reserved ? arena->reserved : arena->capacity);
    for (int block = 0; block < ML_ARENA_BLOCKS; block++) free_block(arena->blocks[block]);
    ml_account_give(arena->account, arena->capacity);
    memset(arena->blocks, 0, sizeof arena->blocks);
    arena->base = NULL;
    arena->capacity = arena->reserved = 0;
}

void ml_arena_shrink(ml_arena *arena, int64_t bytes) {
    int64_t rounded = ml_round_up(bytes, ml_os_page_bytes());
    if (rounded >= arena->capacity) return;
    /* Addresses stay valid: code that copies from them without the turn reads other bytes instead
     * of crashing. */
    if (arena->reserved) {
        /* A block stays malloc's whether or not the system can take its pages. */
        bool dropped = ml_os_drop(arena->base + rounded, arena->capacity - rounded);
        if (!dropped && !in_block(arena)) return;
    } else if (rounded == 0) {
        ml_arena_release(arena);
        return;
    } else if (!ml_os_cut(arena->base, arena->capacity, rounded)) {
        return;
    }
    ml_account_give(arena->account, arena->capacity - rounded);
    arena->capacity = rounded;
}

int64_t ml_arena_resident(const ml_arena *arena) {
    return ml_os_resident(arena->base, arena->capacity);
}
