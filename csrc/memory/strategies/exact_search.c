/* exact_search.c -- a depth-first search for a plan within a capacity; see exact.c for the ideas
 * and their source.
 *
 * Blocks are placed from the bottom up, by non-decreasing offset, equal offsets by rank. So a block
 * always lies on top of everything placed in its sections: `lowest[block]` is the only offset to
 * try. The front is the (offset, rank) placed last. */
#include "memory/strategies/exact.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PREORDERS = 3, FIRST_LIMIT = 2048, CLOCK_EVERY = 4096 };

typedef struct saved {
    int64_t value;
    int64_t at;
} saved;

/* The last candidate tried: its offset and its position in the list of unplaced blocks. */
typedef struct front {
    int64_t offset;
    int32_t position;
} front;

/* The records left to place in sections [from, to], solved piece by piece; and in the piece that is
 * being solved, the block that was placed last. Each level places one block more than the level
 * before it. Levels lie in memory of the search, because a thread's stack may be small. */
typedef struct level {
    int32_t *list; /* unplaced ranks */
    int32_t count, from, to;
    front front;
    int32_t next; /* the section at which the next piece begins */
    int32_t *piece; /* its unplaced ranks */
    int32_t pieces, first, last; /* their number, and the piece's sections */
    int64_t ceiling; /* candidates lie below it */
    front tried;
    int32_t block;
    bool bare; /* nothing unplaced is live together with the block */
    int64_t mark; /* of the trail, before the block was placed */
} level;

typedef struct search {
    int64_t capacity;
    int32_t count, sections;
    /* Arrays by rank. */
    int64_t *size, *lowest, *offset;
    int64_t *crowd; /* the most bytes left in one of its sections when its piece was cut out */
    bool by_crowd; /* the preorder begins with it */
    int32_t *low, *high, *minor;
    bool *placed;
    /* Arrays by section. */
    int64_t *top; /* the end of what is placed */
    int64_t *left; /* bytes not placed yet */
    int32_t *cut; /* unplaced blocks in this section and the next */
    int32_t *witness;
    /* members[first_member[s] .. first_member[s + 1]): the ranks live in s. */
    int32_t *first_member;
    int32_t *members;
    int32_t *lists; /* stack of lists of unplaced ranks */
    saved *trail; /* stack of overwritten values of lowest and top */
    int64_t trail_count;
    level *levels;
    ml_budget *budget;
    int64_t stop_at; /* nodes at which this attempt ends */
} search;

double ml_cpu_seconds(void) { return (double)clock() / CLOCKS_PER_SEC; }

static bool out_of_budget(search *s) {
    int64_t nodes = ++s->budget->nodes;
    if (nodes >= s->stop_at) return true;
    if (nodes % CLOCK_EVERY != 0 || s->budget->end <= 0 || ml_cpu_seconds() < s->budget->end)
        return false;
    s->stop_at = nodes;
    return true;
}

/* True if block a comes before block b, both in one piece. */
static bool comes_before(const search *s, int32_t a, int32_t b) {
    return s->crowd[a] != s->crowd[b] ? s->crowd[a] > s->crowd[b] : s->minor[a] < s->minor[b];
}

/* True if some block can still start low enough in the section that all its remaining bytes fit
 * above. */
static bool section_can_be_filled(search *s, int32_t section, front f) {
    int64_t limit = s->capacity - s->left[section];
    if (limit < f.offset) return false;
    int32_t w = s->witness[section];
    if (!s->placed[w] && s->lowest[w] <= limit) return true;
    for (int32_t k = s->first_member[section]; k < s->first_member[section + 1]; k++) {
        w = s->members[k];
        if (s->placed[w] || s->lowest[w] > limit) continue;
        s->witness[section] = w;
        return true;
    }
    return false;
}

static void save(search *s, int64_t *value, int64_t at) {
    s->trail[s->trail_count++] = (saved){*value, at};
}

/* Puts `rank` on its lowest offset. `out` gets the other unplaced ranks of `list`; false when one
 * no longer fits. */
static bool place(search *s, int32_t rank, const int32_t *list, int32_t count, int32_t *out) {
    int64_t end = s->lowest[rank] + s->size[rank];
    int32_t low = s->low[rank], high = s->high[rank];
    s->placed[rank] = true;
    s->offset[rank] = s->lowest[rank];
    for (int32_t i = low; i <= high; i++) {
        save(s, &s->top[i], -1 - (int64_t)i);
        s->top[i] = end;
        s->left[i] -= s->size[rank];
        if (i < high) s->cut[i]--;
    }
    bool fits = true;
    for (int32_t k = 0; k < count; k++) {
        int32_t v = list[k];
        if (v == rank) continue;
        *out++ = v;
        if (s->low[v] > high || s->high[v] < low || s->lowest[v] >= end) continue;
        save(s, &s->lowest[v], v);
        s->lowest[v] = end;
        if (end + s->size[v] > s->capacity) fits = false;
    }
    return fits;
}

static void take_back(search *s, int32_t rank, int64_t trail_count) {
    while (s->trail_count > trail_count) {
        saved old = s->trail[--s->trail_count];
        if (old.at < 0) s->top[-1 - old.at] = old.value;
        else s->lowest[old.at] = old.value;
    }
    for (int32_t i = s->low[rank]; i <= s->high[rank]; i++) {
        s->left[i] += s->size[rank];
        if (i < s->high[rank]) s->cut[i]++;
    }
    s->placed[rank] = false;
}

/* Copies the blocks of `list` that are live in [from, to] to `piece`, the most crowded first if the
 * preorder says so. */
static int32_t cut_out(search *s, const int32_t *list, int32_t count, int32_t from, int32_t to,
                       int32_t *piece) {
    int32_t n = 0;
    for (int32_t k = 0; k < count; k++) {
        int32_t v = list[k];
        if (s->low[v] < from || s->high[v] > to) continue;
        if (!s->by_crowd) {
            piece[n++] = v;
            continue;
        }
        int64_t crowd = 0;
        for (int32_t i = s->low[v]; i <= s->high[v]; i++)
            if (s->left[i] > crowd) crowd = s->left[i];
        s->crowd[v] = crowd;
        int32_t at = n++;
        for (; at > 0 && comes_before(s, v, piece[at - 1]); at--) piece[at] = piece[at - 1];
        piece[at] = v;
    }
    return n;
}

/* True if nothing unplaced is live together with `rank`. */
static bool hatless(const search *s, int32_t rank) {
    for (int32_t i = s->low[rank]; i <= s->high[rank]; i++)
        if (s->left[i] != s->size[rank]) return false;
    return true;
}

/* The position of the candidate that follows `after` in the order of (offset, position) below
 * `ceiling`, or -1. */
static int32_t next_candidate(const search *s, const int32_t *list, int32_t count, front after,
                              int64_t ceiling) {
    int32_t best = -1;
    int64_t best_offset = ceiling;
    for (int32_t k = 0; k < count; k++) {
        int64_t offset = s->lowest[list[k]];
        if (offset >= best_offset || offset < after.offset ||
            (offset == after.offset && k <= after.position))
            continue;
        best = k;
        best_offset = offset;
    }
    return best;
}

/* True if every section of the level can still be filled. */
static bool level_can_be_filled(search *s, const level *l) {
    for (int32_t i = l->from; i <= l->to; i++)
        if (s->left[i] > 0 && !section_can_be_filled(s, i, l->front)) return false;
    return true;
}

/* A block that fits below another's offset should come before it; and nothing can start above the
 * highest offset that leaves a section room for all its bytes. */
static int64_t ceiling_of(const search *s, const level *l) {
    int64_t ceiling = INT64_MAX;
    for (int32_t k = 0; k < l->pieces; k++) {
        int64_t end = s->lowest[l->piece[k]] + s->size[l->piece[k]];
        if (end < ceiling) ceiling = end;
    }
    for (int32_t i = l->first; i <= l->last; i++)
        if (s->left[i] > 0 && s->capacity - s->left[i] < ceiling - 1)
            ceiling = s->capacity - s->left[i] + 1;
    return ceiling;
}

/* Goes to the level's next piece, cut where no unplaced block crosses; false after the last. */
static bool next_piece(search *s, level *l) {
    while (l->next <= l->to) {
        const int32_t first = l->next;
        int32_t last = first;
        while (last < l->to && s->cut[last] > 0) last++;
        l->next = last + 1;
        if (s->left[first] == 0) continue;
        l->first = first;
        l->last = last;
        l->piece = l->list;
        l->pieces = l->count;
        l->tried = l->front;
        if (first > l->from || last < l->to) {
            l->piece = l->list + l->count;
            l->pieces = cut_out(s, l->list, l->count, first, last, l->piece);
            l->tried.position = -1;
        }
        l->ceiling = ceiling_of(s, l);
        return true;
    }
    return false;
}

/* Places the next candidate of the level's piece, and starts the level after it: FOUND. NONE if no
 * candidate is left that allows for the others. */
static ml_search_status place_next(search *s, level *l) {
    int32_t k;
    while ((k = next_candidate(s, l->piece, l->pieces, l->tried, l->ceiling)) >= 0) {
        l->block = l->piece[k];
        l->tried = (front){s->lowest[l->block], k};
        if (out_of_budget(s)) return ML_SEARCH_OUT_OF_BUDGET;
        l->mark = s->trail_count;
        l->bare = hatless(s, l->block);
        level *after = l + 1;
        *after = (level){.list = l->piece + l->pieces,
                         .count = l->pieces - 1,
                         .from = l->first,
                         .to = l->last,
                         .front = {l->tried.offset, k - 1},
                         .next = l->first};
        if (place(s, l->block, l->piece, l->pieces, after->list) && level_can_be_filled(s, after))
            return ML_SEARCH_FOUND;
        take_back(s, l->block, l->mark);
        if (l->bare) return ML_SEARCH_NONE;
    }
    return ML_SEARCH_NONE;
}

/* Solves the first level. `status` says how the pieces of level `l` went so far: all FOUND, or
 * which of them ended it. A block is taken back on the way up in any case; its offset stays. */
static ml_search_status search_levels(search *s) {
    level *l = s->levels;
    ml_search_status status = level_can_be_filled(s, l) ? ML_SEARCH_FOUND : ML_SEARCH_NONE;
    for (;;) {
        bool more = status == ML_SEARCH_FOUND && next_piece(s, l);
        while (!more) {
            if (l == s->levels) return status;
            l--;
            take_back(s, l->block, l->mark);
            if (status == ML_SEARCH_NONE) more = !l->bare;
            else more = status == ML_SEARCH_FOUND && next_piece(s, l);
        }
        status = place_next(s, l);
        if (status == ML_SEARCH_FOUND) l++;
    }
}

static int by_span(const void *x, const void *y) {
    const ml_block *a = x, *b = y;
    if (a->span != b->span) return a->span > b->span ? -1 : 1;
    if (a->size != b->size) return a->size > b->size ? -1 : 1;
    return (a->record > b->record) - (a->record < b->record);
}

static int by_area(const void *x, const void *y) {
    const ml_block *a = x, *b = y;
    double area_a = (double)a->size * (double)a->span, area_b = (double)b->size * (double)b->span;
    return area_a != area_b ? (area_a > area_b ? -1 : 1) : by_span(x, y);
}

static int by_crowd(const void *x, const void *y) {
    const ml_block *a = x, *b = y;
    if (a->crowd != b->crowd) return a->crowd > b->crowd ? -1 : 1;
    return (a->minor > b->minor) - (a->minor < b->minor);
}

/* The orders in which candidates of equal offset are tried. */
static const struct {
    int (*minor)(const void *, const void *);
    bool crowded_first;
} preorders[] = {{by_span, false}, {by_area, true}, {by_span, true}};

static void sort_blocks(ml_block *blocks, int32_t count, int32_t preorder) {
    qsort(blocks, (size_t)count, sizeof *blocks, preorders[preorder].minor);
    for (int32_t k = 0; k < count; k++) blocks[k].minor = k;
    if (preorders[preorder].crowded_first) qsort(blocks, (size_t)count, sizeof *blocks, by_crowd);
}

/* All memory of a search: fixed arrays, the section members, and stacks as deep as the search can
 * get. */
static void *allocate(search *s, const ml_block *blocks) {
    size_t n = (size_t)s->count, m = (size_t)s->sections, incidences = 0, stack = n * (n + 3);
    for (size_t k = 0; k < n; k++) incidences += (size_t)(blocks[k].high - blocks[k].low) + 1;
    size_t levels = (n + 1) * sizeof(level); /* a level per block, and the first */
    size_t longs = 4 * n + 2 * m, ints = 3 * n + 3 * m + 1 + incidences + stack + n;
    char *memory = malloc(levels + longs * sizeof(int64_t) +
                          (stack / 2 + incidences + n) * sizeof(saved) + ints * sizeof(int32_t));
    if (!memory) return NULL;
    s->levels = (level *)(void *)memory;
    s->size = (int64_t *)(void *)(memory + levels);
    s->lowest = s->size + n;
    s->offset = s->lowest + n;
    s->crowd = s->offset + n;
    s->top = s->crowd + n;
    s->left = s->top + m;
    s->trail = (saved *)(void *)(s->left + m);
    s->low = (int32_t *)(void *)(s->trail + stack / 2 + incidences + n);
    s->high = s->low + n;
    s->minor = s->high + n;
    s->cut = s->minor + n;
    s->witness = s->cut + m;
    s->first_member = s->witness + m;
    s->members = s->first_member + m + 1;
    s->lists = s->members + incidences;
    s->placed = (bool *)(void *)(s->lists + stack);
    return memory;
}

/* Fills the arrays from blocks in the order of a preorder. */
static void start(search *s, const ml_block *blocks) {
    int32_t n = s->count, m = s->sections, at = 0;
    memset(s->top, 0, (size_t)m * sizeof *s->top);
    memset(s->left, 0, (size_t)m * sizeof *s->left);
    memset(s->cut, 0, (size_t)m * sizeof *s->cut);
    for (int32_t k = 0; k < n; k++) {
        s->size[k] = blocks[k].size;
        s->low[k] = blocks[k].low;
        s->high[k] = blocks[k].high;
        s->minor[k] = blocks[k].minor;
        s->lowest[k] = 0;
        s->placed[k] = false;
        s->lists[k] = k;
        for (int32_t i = s->low[k]; i <= s->high[k]; i++) {
            s->left[i] += s->size[k];
            if (i < s->high[k]) s->cut[i]++;
        }
    }
    for (int32_t i = 0; i < m; i++) {
        s->first_member[i] = at;
        for (int32_t k = 0; k < n; k++)
            if (s->low[k] <= i && i <= s->high[k]) s->members[at++] = k;
        s->witness[i] = s->members[s->first_member[i]];
    }
    s->first_member[m] = at;
    s->trail_count = 0;
    s->levels[0] = (level){.list = s->lists, .count = n, .to = m - 1, .front = {0, -1}};
}

ml_search_status ml_search_piece(const ml_block *blocks, int32_t count, int64_t capacity,
                                 ml_budget *budget, int64_t *offsets) {
    search s = {
        .capacity = capacity, .count = count, .sections = blocks[0].sections, .budget = budget};
    ml_block *sorted = malloc((size_t)count * sizeof *sorted);
    void *memory = allocate(&s, blocks);
    ml_search_status status = sorted && memory ? ML_SEARCH_OUT_OF_BUDGET : ML_SEARCH_NO_MEMORY;
    int64_t first = budget->slice > 0 ? budget->slice : FIRST_LIMIT;
    for (int64_t limit = first; status == ML_SEARCH_OUT_OF_BUDGET; limit *= 2) {
        for (int32_t p = 0; p < PREORDERS && status == ML_SEARCH_OUT_OF_BUDGET; p++) {
            memcpy(sorted, blocks, (size_t)count * sizeof *sorted);
            sort_blocks(sorted, count, p);
            s.by_crowd = preorders[p].crowded_first;
            start(&s, sorted);
            s.stop_at = budget->nodes + limit;
            bool last = budget->max_nodes && s.stop_at >= budget->max_nodes;
            if (last) s.stop_at = budget->max_nodes;
            status = search_levels(&s);
            if (status == ML_SEARCH_OUT_OF_BUDGET &&
                (last || (budget->end > 0 && ml_cpu_seconds() >= budget->end))) {
                free(sorted);
                free(memory);
                return status;
            }
        }
    }
    for (int32_t k = 0; status == ML_SEARCH_FOUND && k < count; k++)
        offsets[sorted[k].record] = s.offset[k];
    free(sorted);
    free(memory);
    return status;
}
