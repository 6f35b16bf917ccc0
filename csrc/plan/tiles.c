/* tiles.c -- chooses tile groups: ranges of nodes that run patch by patch until the arena fits.
 *
 * A group changes what is live at its own nodes alone. So all groups that lower the peak of their
 * nodes are listed once, with the bytes live there and the work they add; the best set of them for
 * a limit is then found from node to node: the least work for all nodes before one. */
#include <float.h>
#include <stdlib.h>

#include "plan/tile_walk.h"

/* Grids as rows and columns. Those of rows alone come first: of equal ones they are taken. */
static const ml_tile_grid grids[] = {{{2, 1}}, {{4, 1}}, {{8, 1}}, {{2, 2}},
                                     {{3, 3}}, {{4, 4}}, {{6, 6}}};
enum { GRIDS = sizeof grids / sizeof grids[0], LEAST_PART = 16 };

typedef struct group_list {
    ml_tile_group *groups; /* by ascending last node */
    int32_t count;
    int32_t room;
} group_list;

static ml_status append(group_list *list, const ml_tile_group *group, ml_error *error) {
    if (list->count == list->room) {
        const int32_t room = list->room ? 2 * list->room : 1024;
        void *groups = realloc(list->groups, (size_t)room * sizeof *group);
        if (!groups)
            return ml_error_memory(error, "a search for tiles", room * (int64_t)sizeof *group, 0);
        list->groups = groups;
        list->room = room;
    }
    list->groups[list->count++] = *group;
    return ML_OK;
}

/* Lists the groups that end with node `end`, by one grid. `hot`: the last node at or before it that
 * has to be within a group. */
static ml_status list_of_grid(ml_tile_walk *walk, int32_t end, int32_t hot,
                              const ml_tile_grid *grid, group_list *list, ml_error *error) {
    const ml_tile_facts *f = walk->facts;
    int64_t peak = 0;
    ml_status status = ML_OK;
    ml_tile_walk_begin(walk, end, *grid);
    for (int32_t n = end; n >= 0 && end - n < 4 * ML_TILE_NODES && status == ML_OK; n--) {
        if (!ml_tile_walk_add(walk, n)) break;
        peak = ml_max_s64(peak, f->live[n]);
        if (n > hot || f->across[n] + walk->outputs >= peak || ml_tile_skips(f, n)) continue;
        const ml_tile_group group = {.live = ml_tile_walk_live(walk, n),
                                     .more = walk->more > 0 ? walk->more : 0,
                                     .first = n,
                                     .last = end,
                                     .rows = grid->parts[0],
                                     .columns = grid->parts[1]};
        if (group.live < peak) status = append(list, &group, error);
    }
    return status;
}

static ml_status list_groups(const ml_tile_facts *f, int64_t limit, group_list *list,
                             ml_error *error) {
    const int64_t warm = ml_max_s64(limit, f->most_live / LEAST_PART);
    ml_tile_walk *walk;
    ml_status status = ml_tile_walk_new(f, &walk, error);
    if (status != ML_OK) return status;
    int32_t hot = -1;
    for (int32_t end = 0; end < f->n_nodes && status == ML_OK; end++) {
        if (f->live[end] > warm) hot = end;
        if (hot < 0 || end - hot >= ML_TILE_NODES || ml_tile_skips(f, end)) continue;
        for (int32_t i = 0; i < GRIDS && status == ML_OK; i++)
            status = list_of_grid(walk, end, hot, &grids[i], list, error);
    }
    ml_tile_walk_free(walk);
    return status;
}

/* Choosing ------------------------------------------------------------------------------------- */

/* The best way to run all nodes before one. */
typedef struct way {
    double more; /* work; DBL_MAX: there is no way */
    int64_t peak;
    int32_t count; /* groups */
    int32_t taken; /* the group that ends there, -1 = none */
} way;

static bool is_better(const way *a, const way *b) {
    if (a->more != b->more) return a->more < b->more;
    if (a->count != b->count) return a->count < b->count;
    return a->peak < b->peak;
}

/* The least work for a peak within `limit`. */
static void find_ways(const ml_tile_facts *f, const group_list *list, int64_t limit, way *ways) {
    int32_t at = 0;
    ways[0] = (way){0, 0, 0, -1};
    for (int32_t n = 0; n < f->n_nodes; n++) {
        ways[n + 1] = ways[n];
        ways[n + 1].taken = -1;
        ways[n + 1].peak = ml_max_s64(ways[n].peak, f->live[n]);
        if (f->live[n] > limit) ways[n + 1].more = DBL_MAX;
        for (; at < list->count && list->groups[at].last == n; at++) {
            const ml_tile_group *group = &list->groups[at];
            const way *before = &ways[group->first];
            if (group->live > limit || before->more == DBL_MAX) continue;
            const way by = {before->more + group->more, ml_max_s64(before->peak, group->live),
                            before->count + 1, at};
            if (by.count <= ML_MOST_TILE_GROUPS && is_better(&by, &ways[n + 1])) ways[n + 1] = by;
        }
    }
}

/* The lowest peak, by any work. */
static int64_t find_smallest(const ml_tile_facts *f, const group_list *list, way *ways) {
    int32_t at = 0;
    ways[0] = (way){0, 0, 0, -1};
    for (int32_t n = 0; n < f->n_nodes; n++) {
        ways[n + 1] = ways[n];
        ways[n + 1].peak = ml_max_s64(ways[n].peak, f->live[n]);
        for (; at < list->count && list->groups[at].last == n; at++) {
            const ml_tile_group *group = &list->groups[at];
            const way *before = &ways[group->first];
            const int64_t peak = ml_max_s64(before->peak, group->live);
            if (before->count < ML_MOST_TILE_GROUPS && peak < ways[n + 1].peak)
                ways[n + 1] = (way){0, peak, before->count + 1, at};
        }
    }
    return ways[f->n_nodes].peak;
}

/* The lowest limit, from `limit` on, for which the work is within `most`. */
static int64_t raise_limit(const ml_tile_facts *f, const group_list *list, int64_t limit,
                           double most, way *ways) {
    int64_t high = ml_max_s64(limit, f->most_live), low = limit - 1;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        find_ways(f, list, middle, ways);
        if (ways[f->n_nodes].more <= most) high = ways[f->n_nodes].peak;
        else low = middle;
        if (high <= low) high = low + 1;
    }
    return high;
}

static void take_groups(const ml_tile_facts *f, const group_list *list, const way *ways,
                        ml_tiling *tiling) {
    const way *end = &ways[f->n_nodes];
    tiling->bound = end->peak;
    tiling->more = end->more;
    tiling->n_groups = end->count;
    int32_t at = end->count;
    for (int32_t n = f->n_nodes; n > 0 && at > 0;) {
        if (ways[n].taken < 0) {
            n--;
            continue;
        }
        tiling->groups[--at] = list->groups[ways[n].taken];
        n = tiling->groups[at].first;
    }
}

static ml_status choose(const ml_tile_facts *f, const group_list *list, int64_t limit, double most,
                        ml_tiling *tiling, ml_error *error) {
    const int64_t bytes = (f->n_nodes + (int64_t)1) * (int64_t)sizeof(way);
    way *ways = malloc((size_t)bytes);
    if (!ways) return ml_error_memory(error, "a search for tiles", bytes, 0);
    tiling->untiled = f->most_live;
    tiling->work = f->all_work;
    tiling->smallest = find_smallest(f, list, ways);
    limit = ml_max_s64(limit, tiling->smallest);
    if (most >= 0) limit = raise_limit(f, list, limit, most * f->all_work, ways);
    find_ways(f, list, limit, ways);
    take_groups(f, list, ways, tiling);
    free(ways);
    return ML_OK;
}

ml_status ml_plan_tile(const ml_plan *plan, const uint8_t *whole, int64_t limit, double most,
                       ml_tiling *tiling, ml_error *error) {
    ml_tile_facts facts;
    group_list list = {0};
    *tiling = (ml_tiling){0};
    ml_status status = ml_tile_facts_find(plan, &facts, error);
    if (status != ML_OK) return status;
    facts.whole = whole;
    /* A tensor that is kept must exist whole. */
    if (!(plan->options & ML_KEEP_ALL) && limit < facts.most_live)
        status = list_groups(&facts, limit, &list, error);
    if (status == ML_OK) status = choose(&facts, &list, limit, most, tiling, error);
    free(list.groups);
    ml_tile_facts_free(&facts);
    return status;
}
