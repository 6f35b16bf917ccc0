/* arena.c -- the memory of an arena: a reserved range of addresses, of which the needed part is
 * committed, so that it hardly ever moves.
 *
 * Small arenas lie in a block from malloc: loading a small model takes no longer than a few system
 * calls, and malloc's pages are often in the cache, since other interpreters or arrays have used
 * them. An arena that outgrows the block moves to a range; the block stays until the arena is
 * released, because others may be reading it. An arena that starts large skips the block.
 *
 * Whoever reads an arena before anything was written there finds zeros, at any size. But a run
 * writes what it reads, so bytes that others have used, malloc's or those of an arena before, are
 * only counted (`unclear`), and ml_arena_clear clears them for the first reader, if there is one.
 * Bytes that are added later are not cleared, because that takes longer than planning, and after a
 * resize the values of tensors are undefined anyway.
 *
 * ML_ARENA_RESERVED bytes of address space are reserved without access, which costs the system only
 * a table entry (1000 interpreters take 64 TiB of the 128 TiB that a process has); the used part is
 * made accessible in steps. If the system refuses the range (because address space is limited),
 * there are larger blocks; above those, pages are mapped as needed, and growing may move them.
 *
 * Kept pages: what makes the first run of a size slower than the next ones is that the system gives
 * pages when they are touched, about two microseconds each. Programs make a new interpreter per
 * size or per request, so the process keeps the range of a released arena, with its pages, for the
 * next arena that needs a range. That one takes the range whole, so that growing finds pages too.
 *   Owner: the process, which keeps at most one range; whoever exchanges its address for NULL owns
 *     it. The bytes that are kept, there and after arenas that took a range larger than they need,
 *     are never more than ML_MOST_KEPT, nor than the largest arena that was released.
 *   Lock: none, because the address changes hands in one exchange and the bytes are counted by
 *     atomic additions.
 *   Fork: the child has the same range, as pages of its own that are copied when they are written.
 *     No thread that is gone can have left the address half changed. */
#include <stdatomic.h>
#include <stdlib.h>

#include "core/shape.h"
#include "memory/account.h"
#include "os/os.h"

#define ML_ARENA_RESERVED ((int64_t)1 << 36)
enum { HUGE_PAGE = 2 << 20, ML_MOST_KEPT = 64 << 20 };

/* The range that is kept; its first bytes say how many bytes of it are accessible. */
static _Atomic(uint8_t *) kept_range;
static atomic_int_least64_t kept_bytes; /* accessible, and used by no arena */
static atomic_int_least64_t largest_released;

/* The size of a block from malloc; at least a page, so that the smallest arena fits into the first
 * block. */
static int64_t block_bytes(int block) {
    static const int64_t bytes[ML_ARENA_BLOCKS] = {32 << 10, 512 << 10, 2 << 20};
    return ml_max_s64(bytes[block], ml_os_page_bytes());
}

/* The number of the block that the arena lies in, the first one before it lies anywhere;
 * ML_ARENA_BLOCKS if it has pages of its own. */
static int block_of(const ml_arena *arena) {
    int block = 0;
    while (block < ML_ARENA_BLOCKS && arena->base != arena->blocks[block]) block++;
    return block;
}

static bool in_block(const ml_arena *arena) {
    return arena->base && block_of(arena) < ML_ARENA_BLOCKS;
}

/* The pointer from malloc is stored before the first whole page. (With aligned_alloc, glibc would
 * request larger blocks from the system again each time.) */
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

/* Counts `bytes` more as kept, unless that makes too many. */
static bool count_kept(int64_t bytes) {
    int64_t most = atomic_load(&largest_released);
    if (most > ML_MOST_KEPT) most = ML_MOST_KEPT;
    int64_t kept = atomic_load(&kept_bytes);
    do {
        if (bytes > most - kept) return false;
    } while (!atomic_compare_exchange_weak(&kept_bytes, &kept, kept + bytes));
    return true;
}

/* Takes the range that is kept, or NULL; *bytes of it are accessible, and still counted. */
static uint8_t *take_range(int64_t *bytes) {
    uint8_t *base = atomic_exchange(&kept_range, NULL);
    *bytes = 0;
    if (base) memcpy(bytes, base, sizeof *bytes);
    return base;
}

/* Keeps a range of which `bytes` are accessible and not counted, or gives it back to the system. */
static void keep_or_unmap(uint8_t *base, int64_t bytes) {
    uint8_t *none = NULL;
    if (bytes > ML_MOST_KEPT && ml_os_drop(base + ML_MOST_KEPT, bytes - ML_MOST_KEPT))
        bytes = ML_MOST_KEPT;
    if (count_kept(bytes)) {
        memcpy(base, &bytes, sizeof bytes);
        if (atomic_compare_exchange_strong(&kept_range, &none, base)) return;
        atomic_fetch_sub(&kept_bytes, bytes);
    }
    ml_os_unmap(base, ML_ARENA_RESERVED);
}

/* Keeps this range or the one that is kept now, whichever has more pages. */
static void release_range(ml_arena *arena) {
    int64_t most = atomic_load(&largest_released), other = 0;
    while (most < arena->capacity &&
           !atomic_compare_exchange_weak(&largest_released, &most, arena->capacity)) {}
    const int64_t bytes = arena->capacity + arena->kept;
    uint8_t *range = take_range(&other);
    atomic_fetch_sub(&kept_bytes, arena->kept + other);
    const bool keeps = arena->keeps_pages && bytes > other;
    if (keeps) keep_or_unmap(arena->base, bytes);
    else ml_os_unmap(arena->base, ML_ARENA_RESERVED);
    if (range && keeps) ml_os_unmap(range, ML_ARENA_RESERVED);
    if (range && !keeps) keep_or_unmap(range, other);
}

int64_t ml_arena_kept(void) { return atomic_load(&kept_bytes); }

void ml_arena_drop_kept(void) {
    int64_t bytes;
    uint8_t *range = take_range(&bytes);
    if (range) ml_os_unmap(range, ML_ARENA_RESERVED);
    atomic_fetch_sub(&kept_bytes, bytes);
}

/* Moves the arena to the first block from this one on that is large enough, or stays there; false
 * if there is none, or no memory. */
static bool commit_block(ml_arena *arena, int block, int64_t bytes, int64_t keep) {
    while (block < ML_ARENA_BLOCKS && bytes > block_bytes(block)) block++;
    if (block >= ML_ARENA_BLOCKS) return false;
    uint8_t *base = arena->blocks[block] ? arena->blocks[block] : new_block(block_bytes(block));
    if (!base) return false;
    if (!arena->base) arena->unclear = bytes;
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

/* Makes the first `bytes` of the range accessible, of which `there` are; a range that the arena has
 * not had before is given back if that fails. */
static bool make_accessible(ml_arena *arena, uint8_t *base, int64_t there, int64_t bytes) {
    if (bytes <= there || ml_os_commit(base + there, bytes - there)) return true;
    if (base != arena->base) {
        atomic_fetch_sub(&kept_bytes, there);
        ml_os_unmap(base, ML_ARENA_RESERVED);
    }
    return false;
}

/* Makes the first `bytes` of the reserved range accessible, which the arena moves to. */
static bool commit_range(ml_arena *arena, int64_t bytes, int64_t keep) {
    const bool moves = !arena->base || in_block(arena), begins = !arena->base;
    if (bytes > ML_ARENA_RESERVED) return false;
    uint8_t *base = moves ? NULL : arena->base;
    int64_t there = arena->capacity + arena->kept, spare = arena->kept;
    if (moves) {
        base = arena->keeps_pages ? take_range(&there) : NULL;
        spare = there = base ? there : 0;
        if (!base) base = ml_os_reserve(ML_ARENA_RESERVED);
    }
    if (!base || !make_accessible(arena, base, there, bytes)) return false;
    if (bytes >= HUGE_PAGE && bytes > there) ml_os_prefer_large_pages(base, bytes);
    if (begins) arena->unclear = ml_min_s64(bytes, there);
    if (moves && keep > 0) memcpy(base, arena->base, (size_t)keep);
    if (moves) arena->copied += keep;
    arena->moves += moves;
    arena->base = base;
    arena->reserved = ML_ARENA_RESERVED;
    arena->capacity = bytes;
    arena->kept = ml_max_s64(there - bytes, 0);
    atomic_fetch_sub(&kept_bytes, spare - arena->kept);
    return true;
}

/* Memory that stays where it is until the arena outgrows it: the block that it lies in, a range, or
 * a larger block. */
static bool commit_kept(ml_arena *arena, int64_t bytes, int64_t keep) {
    const int block = block_of(arena);
    if (block < ML_ARENA_BLOCKS && bytes <= block_bytes(block))
        return commit_block(arena, block, bytes, keep);
    return commit_range(arena, bytes, keep) || commit_block(arena, block + 1, bytes, keep);
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

void ml_arena_clear(ml_arena *arena) {
    if (arena->unclear > 0) memset(arena->base, 0, (size_t)arena->unclear);
    arena->unclear = 0;
}

void ml_arena_release(ml_arena *arena) {
    if (arena->base && !in_block(arena)) {
        if (arena->reserved) release_range(arena);
        else ml_os_unmap(arena->base, arena->capacity);
    }
    for (int block = 0; block < ML_ARENA_BLOCKS; block++) free_block(arena->blocks[block]);
    ml_account_give(arena->account, arena->capacity);
    memset(arena->blocks, 0, sizeof arena->blocks);
    arena->base = NULL;
    arena->capacity = arena->kept = arena->reserved = arena->unclear = 0;
}

void ml_arena_shrink(ml_arena *arena, int64_t bytes) {
    const int64_t there = arena->capacity + arena->kept;
    int64_t rounded = ml_round_up(bytes, ml_os_page_bytes());
    if (rounded > arena->capacity) rounded = arena->capacity;
    if (rounded == there) return;
    /* Addresses stay valid: code that copies from them without the turn reads other bytes instead
     * of crashing. */
    if (arena->reserved) {
        /* A block stays malloc's whether or not the system can take its pages. */
        bool dropped = ml_os_drop(arena->base + rounded, there - rounded);
        if (!dropped && !in_block(arena)) return;
    } else if (rounded == 0) {
        ml_arena_release(arena);
        return;
    } else if (!ml_os_cut(arena->base, arena->capacity, rounded)) {
        return;
    }
    atomic_fetch_sub(&kept_bytes, arena->kept);
    ml_account_give(arena->account, arena->capacity - rounded);
    arena->capacity = rounded;
    arena->kept = 0;
    arena->unclear = ml_min_s64(arena->unclear, rounded);
}

int64_t ml_arena_resident(const ml_arena *arena) {
    return ml_os_resident(arena->base, arena->capacity);
}
