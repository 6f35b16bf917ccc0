/* tile_fit.c -- has parts of a plan run patch by patch, until its arena has at most so many
 * bytes. */
#include "plan/tile_fit.h"

#include <stdlib.h>

#include "plan/tile_groups.h"

/* The search finds groups by what is live; records of a few sizes may need somewhat more. Then it
 * is asked for less. */
enum { MOST_TRIES = 4 };

typedef struct fitting {
    ml_plan *plan;
    const ml_plan_request *request;
    ml_rows saved; /* those of the plan without tiles */
    ml_error *error;
} fitting;

static int64_t arena_of(const fitting *x) { return x->plan->rows.frames[0].region_bytes; }

static void forget_tiles(const fitting *x) {
    ml_tiled_free(x->plan->tiled);
    x->plan->tiled = NULL;
    ml_rows_copy(&x->plan->rows, &x->saved, x->plan->graph);
}

/* Places the plan with these groups; *fits says whether the arena is small enough then. */
static ml_status try_groups(const fitting *x, const ml_tiling *tiling, bool *fits) {
    ml_plan *p = x->plan;
    *fits = false;
    ml_status status = ml_tiled_new(p, tiling, &p->tiled, x->error);
    if (status != ML_OK || !p->tiled) return status;
    ml_tiled_note(p->tiled, p->graph, &p->rows);
    status = ml_plan_place_rows(p, &p->rows, x->request->family, NULL, 0, x->error);
    *fits = status == ML_OK && arena_of(x) <= x->request->most_arena;
    return status;
}

/* Tries the groups of least work, then those of less memory, last those of the least: where the
 * search found none within the limit, it gave these at once. *least becomes the smallest arena that
 * was found. */
static ml_status search(const fitting *x, int64_t *least, bool *fits) {
    const int64_t most = x->request->most_arena;
    int64_t limit = most;
    ml_tiling *tiling = x->request->tiling;
    for (int32_t i = 1; i <= MOST_TRIES; i++) {
        if (i == MOST_TRIES) limit = 0;
        ml_status status = ml_plan_tile(x->plan, NULL, limit, -1, tiling, x->error);
        if (status == ML_OK) status = try_groups(x, tiling, fits);
        if (status != ML_OK || *fits) return status;
        const int64_t over = ml_max_s64(arena_of(x) - most, 1);
        *least = ml_min_s64(*least, arena_of(x));
        forget_tiles(x);
        if (tiling->bound > limit) return ML_OK;
        limit = ml_max_s64(limit - over, 0);
    }
    return ML_OK;
}

static ml_status fit(const fitting *x) {
    bool fits = false;
    int64_t least = arena_of(x);
    ml_status status = ML_OK;
    if (x->request->tiling->n_groups > 0) { /* those of the size before */
        status = try_groups(x, x->request->tiling, &fits);
        if (status == ML_OK && !fits) forget_tiles(x);
    }
    if (status == ML_OK && !fits) status = search(x, &least, &fits);
    if (status != ML_OK || fits) return status;
    x->error->needed = least;
    x->error->available = x->request->most_arena;
    x->request->tiling->n_groups = 0;
    return ml_error_set(x->error, ML_ARENA_ERROR,
                        "the arena needs %lld bytes at these shapes, and max_arena is %lld: run "
                        "patch by patch, it needs at least %lld",
                        (long long)arena_of(x), (long long)x->request->most_arena,
                        (long long)least);
}

static ml_status fit_plan(ml_plan *p, const ml_plan_request *request, ml_error *error) {
    fitting x = {.plan = p, .request = request, .error = error};
    const int64_t bytes = ml_rows_bytes(p->graph);
    void *memory = malloc((size_t)bytes);
    if (!memory) return ml_error_memory(error, "tiles", bytes, 0);
    x.saved = ml_rows_in(memory, p->graph);
    ml_rows_copy(&x.saved, &p->rows, p->graph);
    const ml_status status = fit(&x);
    free(memory);
    return status;
}

ml_status ml_plan_make(const ml_plan_request *request, ml_plan **plan, ml_error *error) {
    ml_status status = ml_plan_new(request, plan, error);
    const int64_t most = request->most_arena;
    if (status != ML_OK || most <= 0 || (*plan)->rows.frames[0].region_bytes <= most) return status;
    status = fit_plan(*plan, request, error);
    if (status == ML_OK) return ML_OK;
    ml_plan_free(*plan);
    *plan = NULL;
    return status;
}
