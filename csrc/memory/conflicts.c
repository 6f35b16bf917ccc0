/* conflicts.c -- lists the records of a problem that are live at the same time.
 *
 * A pass over a problem looks, for each record, at all placed records. Most of them are live at
 * other times, because graphs are long and thin. The lists of those that are live at the same time
 * are made once for many sizes, because lifetimes do not change. */
#include "memory/conflicts.h"

#include <stdlib.h>
#include <string.h>

/* So many pairs are listed: of a record on average, and in all where records are few. */
enum { MOST_ON_AVERAGE = 32, FEW_PAIRS = 1 << 13 };

static int node_order(const void *x, const void *y) {
    const ml_record_at *a = x, *b = y;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    return (a->record > b->record) - (a->record < b->record);
}

void ml_sort_by_node(ml_record_at *records, int32_t count) {
    qsort(records, (size_t)count, sizeof *records, node_order);
}

/* Goes through the records by first node, and keeps those that are still live. `degree` counts the
 * pairs of each record; if `start` is given, it says where to list them. Returns the number of
 * pairs; ends early once there are more than `most`. */
static int64_t walk(const ml_record *records, const ml_record_at *begin, int32_t count,
                    int32_t *live, int32_t *degree, const int32_t *start, int32_t *others,
                    int64_t most) {
    int64_t pairs = 0;
    int32_t n_live = 0;
    memset(degree, 0, (size_t)count * sizeof *degree);
    for (int32_t next = 0; next < count && pairs <= most; next++) {
        int32_t i = begin[next].record, kept = 0;
        for (int32_t k = 0; k < n_live; k++) {
            int32_t other = live[k];
            if (records[other].last < records[i].first) continue;
            live[kept++] = other;
            if (start) {
                others[start[i] + degree[i]] = other;
                others[start[other] + degree[other]] = i;
            }
            degree[i]++;
            degree[other]++;
        }
        pairs += kept;
        live[kept++] = i;
        n_live = kept;
    }
    return pairs;
}

void ml_conflicts_find(ml_conflicts *c, const ml_record *records, int32_t count) {
    ml_conflicts_free(c);
    ml_record_at *begin = malloc(((size_t)count + 1) * (sizeof *begin + 2 * sizeof(int32_t)));
    if (!begin) return;
    int32_t *live = (int32_t *)(begin + count + 1), *degree = live + count + 1;
    bool sorted = true;
    for (int32_t i = 0; i < count; i++) {
        begin[i] = (ml_record_at){records[i].first, i};
        sorted &= i == 0 || begin[i - 1].node <= begin[i].node;
    }
    if (!sorted) ml_sort_by_node(begin, count);
    int64_t most = ml_max_s64((int64_t)count * MOST_ON_AVERAGE / 2, FEW_PAIRS);
    int64_t pairs = walk(records, begin, count, live, degree, NULL, NULL, most);
    if (count > 0 && pairs <= most)
        c->start = malloc((2 * (size_t)count + 1 + 2 * (size_t)pairs) * sizeof *c->start);
    if (c->start) {
        c->before = c->start + count + 1;
        c->others = c->before + count;
        c->start[0] = 0;
        c->most = 0;
        for (int32_t i = 0; i < count; i++) {
            c->start[i + 1] = c->start[i] + degree[i];
            if (degree[i] > c->most) c->most = degree[i];
        }
        walk(records, begin, count, live, degree, c->start, c->others, most);
        c->count = count;
    }
    free(begin);
}

void ml_conflicts_free(ml_conflicts *c) {
    free(c->start);
    *c = (ml_conflicts){0};
}

void ml_conflicts_divide(ml_conflicts *c, const int64_t *place) {
    for (int32_t i = 0; i < c->count; i++) {
        int32_t *at = c->others + c->start[i];
        for (int32_t k = c->start[i]; k < c->start[i + 1]; k++) {
            const int32_t other = c->others[k];
            if (place[other] >= place[i]) continue;
            c->others[k] = *at;
            *at++ = other;
        }
        c->before[i] = (int32_t)(at - (c->others + c->start[i]));
    }
}

/* Insertion sort is fastest for few records; but long-lived tensors of a wide graph have hundreds
 * of neighbours. */
void ml_sort_by_offset(ml_stretch *spans, int32_t count) {
    for (int32_t gap = count > 16 ? count / 2 : 1; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int32_t i = gap; i < count; i++) {
            ml_stretch moving = spans[i];
            int32_t at = i;
            for (; at >= gap && spans[at - gap].offset > moving.offset; at -= gap)
                spans[at] = spans[at - gap];
            spans[at] = moving;
        }
}

/* The end of the highest placed record that is live with record `i`. */
static int64_t end_below(const ml_conflicts *c, int32_t i, const int64_t *size,
                         const int64_t *offset) {
    int64_t top = 0;
    for (int32_t k = c->start[i]; k < c->start[i + 1]; k++) {
        const int32_t other = c->others[k];
        if (offset[other] >= 0) top = ml_max_s64(top, offset[other] + size[other]);
    }
    return top;
}

int64_t ml_conflicts_place(const ml_conflicts *c, int32_t i, const int64_t *size,
                           const int64_t *offset, ml_stretch *room, ml_fit fit) {
    int32_t count = 0;
    if (fit == ML_ON_TOP) return end_below(c, i, size, offset);
    for (int32_t k = c->start[i]; k < c->start[i + 1]; k++) {
        int32_t other = c->others[k];
        if (offset[other] < 0 || size[other] == 0) continue;
        room[count++] = (ml_stretch){offset[other], offset[other] + size[other]};
    }
    ml_sort_by_offset(room, count);
    int64_t end = 0, best = -1, slack = INT64_MAX;
    for (int32_t k = 0; k < count; k++) {
        int64_t gap = room[k].offset - end;
        if (gap >= size[i] && gap - size[i] < slack) {
            best = end;
            slack = gap - size[i];
            if (fit == ML_FIRST_FIT || slack == 0) break;
        }
        if (room[k].end > end) end = room[k].end;
    }
    return best >= 0 ? best : end;
}
