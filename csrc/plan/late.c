/* late.c -- places records one by one during runs.
 *
 * What outgrows its place during a run has to be placed while other nodes have run already. It goes
 * after everything that was planned, to the lowest gap among records whose lifetimes overlap its
 * own. So it cannot overlap planned records, which end where that begins, nor others there.
 *
 * Records are chained by the node at which they begin, so a run finds those that begin when it gets
 * there, and those that begin while a new one is live. What a new record costs depends on the
 * records that are live with it, not on how many there are. Nothing is copied, because outputs are
 * placed before they are written. */
#include "plan/late.h"

#include <stdlib.h>

#include "memory/conflicts.h"

void ml_late_clear(ml_late_records *late, int64_t planned) {
    late->count = 0;
    late->planned = planned;
    if (late->first) memset(late->first, -1, (size_t)late->n_nodes * sizeof *late->first);
    ml_late_begin(late);
}

void ml_late_free(ml_late_records *late) {
    free(late->records);
    free(late->first);
    free(late->active);
    free(late->near);
}

/* The number of the tensor's record, which begins at that node; -1 = it has none. */
static int32_t number_of(const ml_late_records *late, int32_t first, int32_t tensor) {
    int32_t i = late->first && first >= 0 ? late->first[first] : -1;
    while (i >= 0 && late->records[i].record.tensor != tensor) i = late->records[i].next;
    return i;
}

bool ml_late_has(const ml_late_records *late, int32_t first, int32_t tensor, int64_t offset) {
    if (offset < late->planned) return true;
    const int32_t i = number_of(late, first, tensor);
    return i >= 0 && late->records[i].record.offset == offset;
}

static void activate(ml_late_records *late, int32_t number) {
    const int64_t offset = late->records[number].record.offset;
    int32_t i = late->n_active++;
    for (; i > 0 && late->records[late->active[i - 1]].record.offset > offset; i--)
        late->active[i] = late->active[i - 1];
    late->active[i] = number;
}

/* Drops the active record of that number, and those that end before the node. */
static void deactivate(ml_late_records *late, int32_t number, int32_t node) {
    int32_t kept = 0;
    for (int32_t i = 0; i < late->n_active; i++) {
        const int32_t k = late->active[i];
        if (k != number && late->records[k].record.last >= node) late->active[kept++] = k;
    }
    late->n_active = kept;
}

static void reach(ml_late_records *late, int32_t node) {
    deactivate(late, -1, node);
    for (int32_t n = late->reached + 1; n <= node; n++)
        for (int32_t i = late->first[n]; i >= 0; i = late->records[i].next)
            if (late->records[i].record.last >= node) activate(late, i);
    if (node > late->reached) late->reached = node;
}

/* Lists what is live with the record: active records, and those that begin while it is live.
 * Returns their number. */
static int32_t list_near(ml_late_records *late, const ml_record *record) {
    const int32_t last = record->last < late->n_nodes ? record->last : late->n_nodes - 1;
    int32_t count = 0;
    for (int32_t i = 0; i < late->n_active; i++) {
        const ml_record *r = &late->records[late->active[i]].record;
        if (r->tensor != record->tensor && r->last >= record->first && r->first <= record->last)
            late->near[count++] = (ml_stretch){r->offset, r->offset + r->size};
    }
    const int32_t sorted = count;
    for (int32_t n = late->reached + 1; n <= last; n++)
        for (int32_t i = late->first[n]; i >= 0; i = late->records[i].next) {
            const ml_record *r = &late->records[i].record;
            late->near[count++] = (ml_stretch){r->offset, r->offset + r->size};
        }
    if (count > sorted) ml_sort_by_offset(late->near, count);
    return count;
}

int64_t ml_late_find(ml_late_records *late, const ml_record *record) {
    int64_t at = late->planned;
    if (late->count == 0) return at;
    reach(late, record->first < 0 ? 0 : record->first);
    const int32_t count = list_near(late, record);
    for (int32_t i = 0; i < count && late->near[i].offset - at < record->size; i++)
        if (late->near[i].end > at) at = late->near[i].end;
    return at;
}

static bool resize(void **array, int64_t count, size_t bytes) {
    void *larger = realloc(*array, (size_t)count * bytes);
    if (larger) *array = larger;
    return larger != NULL;
}

ml_status ml_late_reserve(ml_late_records *late, int32_t n_nodes, ml_error *error) {
    if (late->count < late->room) return ML_OK;
    const int32_t room = late->room ? 2 * late->room : 16;
    bool there = late->first != NULL;
    if (!there && (late->first = malloc((size_t)n_nodes * sizeof *late->first))) {
        memset(late->first, -1, (size_t)n_nodes * sizeof *late->first);
        late->n_nodes = n_nodes;
        there = true;
    }
    if (!there || !resize((void **)&late->records, room, sizeof *late->records) ||
        !resize((void **)&late->active, room, sizeof *late->active) ||
        !resize((void **)&late->near, room, sizeof *late->near))
        return ml_error_refused(error, "places of dynamic tensors");
    late->room = room;
    return ML_OK;
}

void ml_late_add(ml_late_records *late, const ml_record *record) {
    const int32_t node = record->first < 0 ? 0 : record->first;
    reach(late, node);
    int32_t i = number_of(late, node, record->tensor);
    if (i >= 0) deactivate(late, i, node);
    else {
        i = late->count++;
        late->records[i].next = late->first[node];
        late->first[node] = i;
    }
    late->records[i].record = *record;
    activate(late, i);
}
