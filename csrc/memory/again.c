/* again.c -- plans the same graph for other sizes: reuses what sizes do not change, and the order
 * in which the plan before was placed.
 *
 * A plan for another size usually differs from the one before only in bytes: the same tensors have
 * memory, with the same lifetimes, and share it in the same way. Then records, lists of neighbours
 * and the order of placing stay valid too, and planning is one pass over them: each record goes on
 * top of those of its neighbours that are already placed. If that meets the lower bound, there is
 * nothing to search for. If it comes near, no search is made for a size that may never come
 * back. */
#include "core/shape.h"
#include "memory/planner.h"

/* Whether the same operands as before are as large as the outputs that may overwrite them; stores
 * which ones are. */
static bool overwrites_stand(ml_planner *p) {
    bool stand = true;
    for (int32_t i = 0; i < p->n_overwrites; i++) {
        ml_overwrite *o = &p->overwrites[i];
        int64_t bytes = p->bytes[o->input];
        bool equal = bytes == p->bytes[o->output] && (o->any_size || bytes > 4);
        stand &= equal == o->equal;
        o->equal = equal;
    }
    return stand;
}

void ml_planner_plan_again(ml_planner *p, bool stands) {
    stands &= overwrites_stand(p);
    p->bound = -1;
    if (stands && p->found && p->n_fixed == 0) p->stood = true;
    else ml_planner_find_lifetimes(p);
}

/* Computes the rounded sizes of all records; false if their sums could overflow. */
static bool take_sizes(ml_planner *p) {
    const ml_listing *l = &p->listing;
    int64_t most = INT64_MAX / 4 / l->count, align = p->alignment;
    for (int32_t i = 0; i < l->count; i++) {
        int64_t bytes = p->bytes[l->tensors[i]];
        if (bytes > most) return false;
        p->records[i].size = bytes;
        l->sizes[i] = (bytes + align - 1) & -align;
        l->offsets[i] = -1;
    }
    return true;
}

/* Places the records in the order of the plan before, each on top of its neighbours. Returns the
 * height, INT64_MAX if that exceeds `most`. */
static int64_t stack(const ml_planner *p, int64_t most) {
    const ml_listing *l = &p->listing;
    const ml_conflicts *c = &l->conflicts;
    int64_t height = 0;
    int32_t placed = 0;
    for (int32_t i = 0; i < p->order->count; i++) {
        int32_t k = l->record_of[p->order->tensors[i]];
        if (k < 0) continue;
        int64_t at = 0;
        for (int32_t j = c->start[k]; j < c->start[k + 1]; j++) {
            int32_t other = c->others[j];
            int64_t end = l->offsets[other] + l->sizes[other];
            if (l->offsets[other] >= 0 && end > at) at = end;
        }
        l->offsets[k] = at;
        placed++;
        if (at + l->sizes[k] > height) height = at + l->sizes[k];
        if (height > most) return INT64_MAX;
    }
    return placed == l->count ? height : INT64_MAX;
}

static bool place_variables(ml_planner *p) {
    ml_error ignored = ML_NO_ERROR;
    p->persistent = 0;
    for (int32_t k = p->group[0]; k < p->group[1]; k++) {
        int32_t t = p->by_first[k];
        if (p->place[t] != ML_PLACE_PERSISTENT) continue;
        p->placed[t] = 0;
        if (ml_planner_place_persistent(p, t, &ignored) != ML_OK) return false;
    }
    return true;
}

bool ml_planner_place_again(ml_planner *p, int64_t most) {
    const ml_listing *l = &p->listing;
    if (!p->stood || !p->searches || !p->order || l->count == 0 || !l->listed ||
        l->conflicts.count == 0 || !take_sizes(p))
        return false;
    p->bound = ml_planner_listed_bound(p);
    int64_t near = p->bound + p->bound / 8, height = stack(p, near < most ? near : most);
    if (height == INT64_MAX || !place_variables(p)) return false;
    p->high_water = height;
    for (int32_t i = 0; i < l->count; i++) p->offset[l->tensors[i]] = l->offsets[i];
    return true;
}
