/* grid.c -- keeps placed records in a grid over time, and finds gaps between those live at once. */
#include "memory/strategies/grid.h"

#include <stdlib.h>
#include <string.h>

#include "memory/strategies/taken.h"

enum {
    ROWS = 32,
    FINE = 3, /* a column is 2^-FINE of the longest life in its row wide */
    BLOCK = 256, /* beginnings and ends in a block, unless one moment has more */
    SORT_LOOKS = 4, /* the costs of sorting a stretch and of going to the next set, in looks at a */
    RISE_LOOKS = 2, /* slot */
    FEW_SPANS = 16 /* are sorted by insertion, and searched one by one */
};

typedef struct range {
    int32_t first;
    int32_t last;
} range;

/* A slot is for a range of moments in which a record is live. Until the record is placed, its last
 * moment is kept as -1 - last, which lies before any moment. */
struct ml_grid {
    const ml_problem *problem;
    const ml_moments *moments;
    range *live; /* by slot */
    ml_stretch *place;
    int32_t *slot_of; /* by record, two each: -1 = none */
    int32_t *columns; /* by row and column: the first slot; and the end of the last column */
    int32_t *row[ROWS]; /* where a row begins in `columns` */
    int32_t *block_of; /* by moment */
    int32_t *block_start; /* by block: its first moment; and the number of moments */
    int32_t *crowded; /* by block: blocks before it of a moment with more than BLOCK */
    int32_t n_blocks;
    int32_t n_rows;
    int32_t n_long;
    int32_t n_long_waiting;
    ml_taken taken; /* only if there are long-lived records */
    int32_t *hits; /* working memory: slots of live records */
    ml_stretch *found; /* their places */
    ml_stretch *sorted; /* the same in bins */
    int32_t *counts; /* by bin */
};

/* Time ----------------------------------------------------------------------------------------- */

/* Cuts time into blocks of at most BLOCK beginnings and ends, or of a single moment. `weight` has
 * their number by moment. */
static void cut_blocks(ml_grid *g, const int32_t *weight) {
    int64_t held = 0;
    int32_t n = 0, crowded = 0;
    for (int32_t m = 0; m < g->moments->count; m++) {
        if (m == 0 || held + weight[m] > BLOCK) {
            crowded += held > BLOCK;
            g->block_start[n] = m;
            g->crowded[n++] = crowded;
            held = 0;
        }
        held += weight[m];
        g->block_of[m] = n - 1;
    }
    g->block_start[n] = g->moments->count;
    g->crowded[n] = crowded + (held > BLOCK);
    g->n_blocks = n;
}

static ml_extent extent_of(const ml_grid *g, int32_t i) {
    int32_t first = g->moments->first[i], last = g->moments->last[i];
    int32_t a = g->block_of[first], b = g->block_of[last];
    if (b - a < ML_SHORT_BLOCKS && g->crowded[b + 1] == g->crowded[a])
        return (ml_extent){a, b, 1, 0};
    return (ml_extent){a, b, first == g->block_start[a] ? a : a + 1,
                       last + 1 == g->block_start[b + 1] ? b : b - 1};
}

/* The ranges of moments for which a record has slots: its life, or what of it lies outside whole
 * blocks. Returns how many, at most two. */
static int32_t parts_of(const ml_grid *g, int32_t i, const ml_extent *x, range parts[2]) {
    int32_t first = g->moments->first[i], last = g->moments->last[i], n = 0;
    if (x->from > x->to) {
        parts[n++] = (range){first, last};
        return n;
    }
    if (x->from > x->first) parts[n++] = (range){first, g->block_start[x->from] - 1};
    if (x->to < x->last) parts[n++] = (range){g->block_start[x->last], last};
    return n;
}

static int32_t row_of(int32_t life) {
    int32_t row = 0;
    while ((int64_t)1 << row < life) row++;
    return row;
}

static int32_t *column_at(const ml_grid *g, int32_t row, int32_t moment) {
    return g->row[row] + (moment >> (row > FINE ? row - FINE : 0));
}

/* Making a grid -------------------------------------------------------------------------------- */

static bool make_rows(ml_grid *g) {
    int64_t total = 0;
    g->n_rows = row_of(g->moments->count) + 1;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1) g->columns = calloc((size_t)total + 1, sizeof *g->columns);
        if (pass == 1 && !g->columns) return false;
        total = 0;
        for (int32_t r = 0; r < g->n_rows; r++) {
            g->row[r] = g->columns ? g->columns + total : NULL;
            total += ((g->moments->count - 1) >> (r > FINE ? r - FINE : 0)) + 2;
        }
    }
    return true;
}

/* Counts the slots of each column, and the long-lived records; returns the number of slots. */
static int32_t count_slots(ml_grid *g) {
    range parts[2];
    int32_t slots = 0;
    for (int32_t i = 0; i < g->problem->count; i++) {
        if (g->problem->records[i].size <= 0) continue;
        ml_extent x = extent_of(g, i);
        int32_t n = parts_of(g, i, &x, parts);
        g->n_long += x.from <= x.to;
        slots += n;
        for (int32_t k = 0; k < n; k++)
            ++*column_at(g, row_of(parts[k].last - parts[k].first + 1), parts[k].first);
    }
    return slots;
}

/* Gives each part a slot in its column, from the column's end to its start, which is then what
 * `columns` has. */
static void give_slots(ml_grid *g) {
    range parts[2];
    for (int32_t i = g->problem->count - 1; i >= 0; i--) {
        int32_t n = 0;
        if (g->problem->records[i].size > 0) {
            ml_extent x = extent_of(g, i);
            n = parts_of(g, i, &x, parts);
        }
        for (int32_t k = 0; k < 2; k++) {
            int32_t *slot = &g->slot_of[2 * (size_t)i + (size_t)k];
            *slot = -1;
            if (k >= n) continue;
            int32_t row = row_of(parts[k].last - parts[k].first + 1);
            *slot = --*column_at(g, row, parts[k].first);
            g->live[*slot] = (range){parts[k].first, -1 - parts[k].last};
        }
    }
}

static bool make_slots(ml_grid *g) {
    int32_t n = count_slots(g);
    int32_t *last = column_at(g, g->n_rows - 1, g->moments->count - 1) + 1;
    for (int32_t *c = g->columns + 1; c <= last; c++) *c += c[-1];
    size_t room = (size_t)n + 1;
    g->live = malloc(room * sizeof *g->live);
    g->place = malloc(room * sizeof *g->place);
    g->found = malloc(2 * room * sizeof *g->found);
    g->counts = malloc((3 * room + 2) * sizeof *g->counts);
    if (g->counts) g->hits = g->counts + 2 * room + 2;
    if (g->found) g->sorted = g->found + room;
    if (!g->live || !g->place || !g->found || !g->counts) return false;
    give_slots(g);
    return true;
}

static bool make_blocks(ml_grid *g) {
    size_t moments = (size_t)g->moments->count + 1;
    g->block_of = malloc(3 * moments * sizeof *g->block_of);
    int32_t *weight = calloc(moments, sizeof *weight);
    if (g->block_of && weight) {
        g->block_start = g->block_of + moments;
        g->crowded = g->block_start + moments;
        for (int32_t i = 0; i < g->problem->count; i++) {
            if (g->problem->records[i].size <= 0) continue;
            weight[g->moments->first[i]]++;
            weight[g->moments->last[i]]++;
        }
        cut_blocks(g, weight);
    }
    free(weight);
    return g->block_of && weight;
}

ml_grid *ml_grid_new(const ml_problem *problem, const ml_moments *moments) {
    ml_grid *g = calloc(1, sizeof *g);
    if (!g) return NULL;
    g->problem = problem;
    g->moments = moments;
    g->slot_of = malloc((2 * (size_t)problem->count + 1) * sizeof *g->slot_of);
    bool made = g->slot_of && make_blocks(g) && make_rows(g) && make_slots(g);
    if (made && g->n_long > 0) made = ml_taken_begin(&g->taken, g->n_blocks);
    if (made) return g;
    ml_grid_free(g);
    return NULL;
}

void ml_grid_free(ml_grid *g) {
    if (!g) return;
    ml_taken_free(&g->taken);
    free(g->live);
    free(g->place);
    free(g->slot_of);
    free(g->columns);
    free(g->block_of);
    free(g->found);
    free(g->counts);
    free(g);
}

/* Looking for gaps ----------------------------------------------------------------------------- */

/* Finds the placed records that are live at some moment from first to last, in their slots. */
static int32_t gather(const ml_grid *g, range live, int32_t found, int64_t *looks) {
    for (int32_t r = 0; r < g->n_rows; r++) {
        int64_t reach = (int64_t)live.first - ((int64_t)1 << r) + 1;
        int32_t slot = *column_at(g, r, reach < 0 ? 0 : (int32_t)reach);
        const int32_t stop = column_at(g, r, live.last)[1];
        *looks += stop - slot;
        for (; slot < stop; slot++) {
            g->hits[found] = slot;
            found += (g->live[slot].first <= live.last) & (g->live[slot].last >= live.first);
        }
    }
    return found;
}

static int32_t bits_of(int64_t number) {
    return number > 0 ? 64 - __builtin_clzll((unsigned long long)number) : 0;
}

/* Stretches by offset. Those of a set do not overlap, so their ends are in order as well. Those
 * that were found are in bins by the highest bits of their offsets; a bin is sorted when it is
 * reached, because mostly a gap comes before. */
typedef struct source {
    const ml_stretch *at;
    const ml_stretch *stop;
    ml_stretch *bins; /* NULL: all are between `at` and `stop` */
    const int32_t *bin_end;
    int32_t bin; /* the next one */
    int32_t n_bins;
    bool whole_bins; /* no gap in a bin is large enough: a bin counts as one stretch */
} source;

/* Puts what was found into about as many bins as there are stretches. */
static source sort_into_bins(const ml_grid *g, int32_t count, int64_t size) {
    int64_t all_bits = 0;
    for (int32_t i = 0; i < count; i++) all_bits |= g->found[i].offset;
    int32_t bits = bits_of(count), shift = bits_of(all_bits) - bits, start = 0;
    if (shift < 0) shift = 0;
    memset(g->counts, 0, sizeof *g->counts << bits);
    for (int32_t i = 0; i < count; i++) g->counts[g->found[i].offset >> shift]++;
    for (int32_t k = 0; k < 1 << bits; k++) {
        int32_t many = g->counts[k];
        g->counts[k] = start;
        start += many;
    }
    for (int32_t i = 0; i < count; i++)
        g->sorted[g->counts[g->found[i].offset >> shift]++] = g->found[i];
    return (source){
        g->sorted, g->sorted, g->sorted, g->counts, 0, 1 << bits, size >= (int64_t)1 << shift};
}

static void sort_bin(ml_stretch *s, int32_t count) {
    if (count > FEW_SPANS) {
        ml_sort_by_offset(s, count);
        return;
    }
    for (int32_t i = 1; i < count; i++) {
        ml_stretch moving = s[i];
        int32_t at = i;
        for (; at > 0 && s[at - 1].offset > moving.offset; at--) s[at] = s[at - 1];
        s[at] = moving;
    }
}

/* The lowest offset and the highest end of a bin, in its first stretch. */
static void join_bin(ml_stretch *s, int32_t count) {
    for (int32_t i = 1; i < count; i++) {
        s[0].offset = ml_min_s64(s[0].offset, s[i].offset);
        s[0].end = ml_max_s64(s[0].end, s[i].end);
    }
}

/* Goes to the next bin that has any stretches; false after the last. */
static bool next_bin(source *s) {
    while (s->bin < s->n_bins) {
        int32_t from = s->bin > 0 ? s->bin_end[s->bin - 1] : 0, end = s->bin_end[s->bin];
        s->bin++;
        if (from == end) continue;
        if (s->whole_bins) join_bin(s->bins + from, end - from);
        else sort_bin(s->bins + from, end - from);
        s->at = s->bins + from;
        s->stop = s->whole_bins ? s->at + 1 : s->bins + end;
        return true;
    }
    return false;
}

/* The first stretch of a set that ends above `offset`. */
static const ml_stretch *first_above(const ml_stretch *low, const ml_stretch *high,
                                     int64_t offset) {
    while (low < high) {
        const ml_stretch *middle = low + (high - low) / 2;
        if (middle->end <= offset) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Skips stretches that end at or below `offset`. */
static void skip_below(source *s, int64_t offset) {
    int32_t skipped = 0;
    do {
        for (; s->at < s->stop && s->at->end <= offset; s->at++)
            if (!s->bins && ++skipped > FEW_SPANS) {
                s->at = first_above(s->at, s->stop, offset);
                return;
            }
    } while (s->at == s->stop && next_bin(s));
}

/* Raises `offset` until `size` bytes are free there in all sources. */
static int64_t rise_to_gap(source *sources, int32_t count, int64_t offset, int64_t size,
                           int64_t alignment, int64_t *looks) {
    for (int32_t k = 0, agreed = 0; agreed < count; k = k + 1 < count ? k + 1 : 0, agreed++) {
        source *s = &sources[k];
        *looks += RISE_LOOKS;
        for (skip_below(s, offset); s->at < s->stop && s->at->offset < offset + size;
             skip_below(s, offset)) {
            offset = ml_round_up(s->at->end, alignment);
            agreed = 0;
        }
    }
    return offset;
}

/* The offset of the lowest stretch that was not skipped; INT64_MAX if there is none. */
static int64_t next_taken(const source *sources, int32_t count) {
    int64_t next = INT64_MAX;
    for (int32_t k = 0; k < count; k++)
        if (sources[k].at < sources[k].stop) next = ml_min_s64(next, sources[k].at->offset);
    return next;
}

static int64_t top_of(const source *sources, int32_t count, int64_t alignment) {
    int64_t top = 0;
    for (int32_t k = 0; k < count; k++)
        for (const ml_stretch *s = sources[k].at; s < sources[k].stop; s++)
            top = ml_max_s64(top, s->end);
    return ml_round_up(top, alignment);
}

static int64_t find_gap(source *sources, int32_t count, int64_t size, int64_t alignment, ml_fit fit,
                        int64_t *looks) {
    int64_t best = -1, slack = INT64_MAX, offset = 0;
    if (fit == ML_ON_TOP) return top_of(sources, count, alignment);
    for (;;) {
        offset = rise_to_gap(sources, count, offset, size, alignment, looks);
        int64_t next = next_taken(sources, count);
        if (next == INT64_MAX) return best < 0 ? offset : best;
        if (fit == ML_FIRST_FIT) return offset;
        if (next - offset - size < slack) {
            best = offset;
            slack = next - offset - size;
        }
        if (slack == 0) return best;
        offset = next;
    }
}

/* Placing -------------------------------------------------------------------------------------- */

static void fill(ml_grid *g, int32_t i, const ml_extent *x, ml_stretch taken) {
    for (int32_t k = 0; k < 2; k++) {
        int32_t slot = g->slot_of[2 * (size_t)i + (size_t)k];
        if (slot < 0) continue;
        g->place[slot] = taken;
        g->live[slot].last = -1 - g->live[slot].last;
    }
    bool is_long = x->from <= x->to;
    if (is_long || g->n_long_waiting > 0) ml_taken_add(&g->taken, *x, taken);
    g->n_long_waiting -= is_long;
}

void ml_grid_clear(ml_grid *g) {
    const ml_problem *p = g->problem;
    for (int32_t i = 0; i < p->count; i++)
        for (int32_t k = 0; k < 2; k++) {
            int32_t slot = g->slot_of[2 * (size_t)i + (size_t)k];
            if (slot >= 0 && g->live[slot].last >= 0) g->live[slot].last = -1 - g->live[slot].last;
        }
    if (g->n_long > 0) ml_taken_clear(&g->taken);
    g->n_long_waiting = g->n_long;
    for (int32_t i = 0; i < p->count; i++) {
        const ml_record *r = &p->records[i];
        if (r->offset == ML_UNPLACED || r->size <= 0) continue;
        ml_extent x = extent_of(g, i);
        fill(g, i, &x,
             (ml_stretch){r->offset - r->offset % p->alignment,
                          ml_round_up(r->offset + r->size, p->alignment)});
    }
}

int64_t ml_grid_place(ml_grid *g, int32_t i, int64_t size, int64_t alignment, ml_fit fit,
                      int64_t *looks) {
    const ml_stretches *sets[ML_MOST_SETS];
    source sources[ML_MOST_SETS + 1];
    range parts[2];
    ml_extent x = extent_of(g, i);
    int32_t found = 0, n_parts = parts_of(g, i, &x, parts);
    for (int32_t k = 0; k < n_parts; k++) found = gather(g, parts[k], found, looks);
    for (int32_t k = 0; k < found; k++) g->found[k] = g->place[g->hits[k]];
    int32_t count = 0, n_sets = g->n_long > 0 ? ml_taken_list(&g->taken, x, sets) : 0;
    sources[count++] = fit == ML_ON_TOP ? (source){.at = g->found, .stop = g->found + found}
                                        : sort_into_bins(g, found, size);
    for (int32_t k = 0; k < n_sets; k++)
        sources[count++] = (source){.at = sets[k]->at, .stop = sets[k]->at + sets[k]->count};
    *looks += (int64_t)SORT_LOOKS * found;
    int64_t offset = find_gap(sources, count, size, alignment, fit, looks);
    fill(g, i, &x, (ml_stretch){offset, offset + size});
    return g->taken.short_of_memory ? -1 : offset;
}
