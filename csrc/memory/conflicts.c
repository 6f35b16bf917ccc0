/* conflicts.c -- which records of a problem are live at once.
 *
 * A pass over a problem looks, for each record, at all that are placed. Most of them live at other times: graphs are long and
 * thin. Lists of those that do not are found once for many sizes, as lifetimes stay what they are. */
#include "memory/conflicts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ON_AVERAGE = 32 };

/* Walks over the records with those still live at hand; `degree` counts the pairs of each, and `start`, where it is given, says
 * where to list them. Returns the number of pairs. */
static int64_t walk(const ml_record *records, int32_t count, int32_t *live, int32_t *degree,
                    const int32_t *start, int32_t *others) {
    int64_t pairs = 0;
    int32_t n_live = 0;
    memset(degree, 0, (size_t)count * sizeof *degree);
    for (int32_t i = 0; i < count; i++) {
        int32_t kept = 0;
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
    int32_t *live = malloc(2 * ((size_t)count + 1) * sizeof *live), *degree = live + count + 1;
    if (!live) return;
    int64_t pairs = walk(records, count, live, degree, NULL, NULL);
    if (count > 0 && pairs <= (int64_t)count * MOST_ON_AVERAGE / 2)
        c->start = malloc(((size_t)count + 1 + 2 * (size_t)pairs) * sizeof *c->start);
    if (c->start) {
        c->others = c->start + count + 1;
        c->start[0] = 0;
        c->most = 0;
        for (int32_t i = 0; i < count; i++) {
            c->start[i + 1] = c->start[i] + degree[i];
            if (degree[i] > c->most) c->most = degree[i];
        }
        walk(records, count, live, degree, c->start, c->others);
        c->count = count;
    }
    free(live);
}

void ml_conflicts_free(ml_conflicts *c) {
    free(c->start);
    *c = (ml_conflicts){0};
}

int64_t ml_conflicts_place(const ml_conflicts *c, int32_t i, const int64_t *size,
                           const int64_t *offset, ml_placed *room, ml_fit fit) {
    int32_t count = 0;
    for (int32_t k = c->start[i]; k < c->start[i + 1]; k++) {
        int32_t other = c->others[k], at = count;
        if (offset[other] < 0 || size[other] == 0) continue;
        for (; at > 0 && room[at - 1].offset > offset[other]; at--) room[at] = room[at - 1];
        room[at] = (ml_placed){.offset = offset[other], .end = offset[other] + size[other]};
        count++;
    }
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
