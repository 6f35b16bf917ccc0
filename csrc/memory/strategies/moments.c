/* moments.c -- finds the moments of a problem, and the busiest of each record. */
#include "memory/strategies/moments.h"

#include <stdlib.h>

#include "core/shape.h"

/* The number of moments up to `node`. */
static int32_t moments_until(const ml_moments *m, int32_t node) {
    int32_t low = 0, high = m->count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (m->at[middle].node <= node) low = middle + 1;
        else high = middle;
    }
    return low;
}

bool ml_moments_find(ml_moments *m, const ml_problem *p) {
    size_t n = (size_t)p->count + 1;
    *m = (ml_moments){.at = malloc(n * sizeof *m->at), .first = malloc(2 * n * sizeof *m->first)};
    m->last = m->first ? m->first + n : NULL;
    m->count = m->at && m->first ? ml_breadths(p, m->at) : -1;
    if (m->count < 0) {
        ml_moments_free(m);
        return false;
    }
    for (int32_t i = 0; i < p->count; i++) {
        const ml_record *r = &p->records[i];
        m->first[i] = r->size > 0 ? moments_until(m, r->first) - 1 : 0;
        m->last[i] = r->size > 0 ? moments_until(m, r->last) - 1 : 0;
    }
    return true;
}

void ml_moments_free(ml_moments *m) {
    free(m->at);
    free(m->first);
    *m = (ml_moments){0};
}

int64_t ml_moments_peak(const ml_moments *m) {
    int64_t most = 0;
    for (int32_t k = 0; k < m->count; k++) most = ml_max_s64(most, m->at[k].bytes);
    return most;
}

bool ml_moments_busiest(const ml_moments *m, const ml_problem *p, int64_t *bytes) {
    size_t leaves = (size_t)m->count;
    int64_t *most = malloc((2 * leaves + 1) * sizeof *most); /* a tree: of 2 k and 2 k + 1 at k */
    if (!most) return false;
    for (size_t k = 0; k < leaves; k++) most[leaves + k] = m->at[k].bytes;
    for (size_t k = leaves; k-- > 1;) most[k] = ml_max_s64(most[2 * k], most[2 * k + 1]);
    for (int32_t i = 0; i < p->count; i++) {
        bytes[i] = 0;
        if (p->records[i].size <= 0) continue;
        size_t low = leaves + (size_t)m->first[i], high = leaves + (size_t)m->last[i] + 1;
        for (; low < high; low /= 2, high /= 2) {
            if (low % 2) bytes[i] = ml_max_s64(bytes[i], most[low++]);
            if (high % 2) bytes[i] = ml_max_s64(bytes[i], most[--high]);
        }
    }
    free(most);
    return true;
}
