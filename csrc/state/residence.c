/* residence.c -- a plan in a state's memory: its tables of pointers and steps, and what runs learn
 * about it.
 *
 * Without dynamic tensors, a residence reads the rows of the plan, and runs write only values. With
 * dynamic tensors it has a copy of the rows, which runs keep up to date (run/dynamic.c), and
 * `learnt`: what runs have placed, and the step of each node. Then
 *
 *   - places in its rows were made for what runs needed; those in the plan are not used;
 *   - as many bytes as the row has reserved lie at a tensor's offset, whatever its shape is now;
 *   - placing it again changes places, but not shapes, blobs, `open` and `stale`.
 *
 * How much a tensor needed is stored in the state, not here, so that a new size starts with what
 * other sizes took. */
#include <stdlib.h>

#include "state/state.h"

static size_t learnt_bytes(const ml_graph *g) {
    return sizeof(ml_learnt) + (size_t)ml_rows_bytes(g) + (size_t)g->total_nodes * sizeof(int32_t) +
           (size_t)g->n_frames * sizeof(ml_late_records);
}

static ml_learnt *new_learnt(const ml_graph *g) {
    ml_learnt *l = calloc(1, learnt_bytes(g));
    if (!l) return NULL;
    l->rows = ml_rows_in(l + 1, g);
    l->late = (ml_late_records *)(void *)((uint8_t *)(l + 1) + ml_rows_bytes(g));
    l->steps = (int32_t *)(void *)(l->late + g->n_frames);
    return l;
}

static void free_learnt(ml_learnt *l, const ml_graph *g) {
    for (int32_t f = 0; f < g->n_frames; f++) ml_late_free(&l->late[f]);
    free(l);
}

static int32_t count_steps(const ml_plan *plan, int32_t frame) {
    const ml_node_plan *rows = plan->rows.nodes + plan->graph->frames[frame].node_base;
    int32_t count = 0;
    for (int32_t n = 0; n < ml_frame_subgraph(plan->graph, frame)->io.n_nodes; n++)
        count += ml_has_step(&rows[n], plan->dynamic);
    return count;
}

static size_t block_bytes(const ml_graph *g, size_t steps) {
    return sizeof(ml_residence) + (size_t)g->n_frames * sizeof(ml_frame_now) +
           (size_t)g->total_tensors * sizeof(void *) + steps * sizeof(ml_step);
}

int64_t ml_residence_bytes(const ml_residence *r) {
    const ml_graph *g = r->plan->graph;
    const ml_frame_now *last = &r->frames[g->n_frames - 1];
    size_t bytes = block_bytes(g, (size_t)(last->first_step + last->n_steps)) +
                   (r->learnt ? learnt_bytes(g) : 0);
    return ml_plan_own_bytes(r->plan) + (int64_t)bytes;
}

void ml_residence_copy_pointers(ml_residence *to, const ml_residence *from) {
    const ml_graph *g = to->plan->graph;
    memcpy(to->frames + g->n_frames, from->frames + g->n_frames,
           (size_t)g->total_tensors * sizeof(void *));
}

/* At most two blocks. The plan's steps and the graph's counts give their sizes: no run can need
 * more. */
static ml_status allocate(ml_plan *plan, ml_residence **residence, ml_error *error) {
    const ml_graph *g = plan->graph;
    size_t steps = 0;
    for (int32_t frame = 0; frame < g->n_frames; frame++) steps += (size_t)count_steps(plan, frame);
    ml_residence *r = *residence = malloc(block_bytes(g, steps));
    if (!r) return ml_error_memory(error, "a plan's pointers", (int64_t)block_bytes(g, steps), 0);
    memset(r, 0, sizeof *r + (size_t)g->n_frames * sizeof *r->frames);
    r->plan = plan;
    r->rows = &plan->rows;
    r->steps = (ml_step *)(void *)((uint8_t *)r + block_bytes(g, 0));
    for (int32_t frame = 0, first = 0; frame < g->n_frames; frame++) {
        r->frames[frame].first_step = first;
        r->frames[frame].n_steps = count_steps(plan, frame);
        first += r->frames[frame].n_steps;
        ml_now_data(r, frame)[-1] = NULL; /* all others are resolved before use */
    }
    if (!plan->dynamic) return ML_OK;
    r->learnt = new_learnt(g);
    if (!r->learnt) return ml_error_memory(error, "what runs learn", (int64_t)learnt_bytes(g), 0);
    r->rows = &r->learnt->rows;
    return ML_OK;
}

/* Made by the first residence that needs them, so models without dynamic tensors pay nothing. */
static ml_status make_needs(ml_state *s, ml_error *error) {
    if (s->needs) return ML_OK;
    ml_need *needs =
        calloc((size_t)(s->graph->total_slots + s->graph->total_nodes) + 1, sizeof *needs);
    if (!needs) return ml_error_refused(error, "what runs learn");
    s->needs = needs;
    s->scratch_needs = needs + s->graph->total_slots;
    return ML_OK;
}

/* Places everything as planned: tensors that runs had placed, and frames that had moved out, which
 * are back in their callers' scratch. */
static ml_status place(ml_state *s, ml_residence *r, ml_error *error) {
    const ml_graph *g = r->plan->graph;
    ml_status status =
        ml_plan_place_rows(r->plan, r->rows, s->family, s->needs, s->counters.invokes, error);
    for (int32_t frame = 0; frame < g->n_frames; frame++) {
        ml_late_clear(&r->learnt->late[frame], r->rows->frames[frame].region_bytes);
        r->frames[frame].spilled = false;
    }
    return status;
}

/* Makes a residence of the plan. If runs write its rows, they start as a copy of `rows`. On failure
 * the caller keeps the plan. */
static ml_status make(ml_state *s, ml_plan *plan, const ml_rows *rows, ml_residence **residence,
                      ml_error *error) {
    ml_status status = allocate(plan, residence, error);
    ml_residence *r = *residence;
    if (status == ML_OK && r->learnt) {
        ml_rows_copy(r->rows, rows, plan->graph);
        status = make_needs(s, error);
        if (status == ML_OK) status = place(s, r, error);
    }
    if (status == ML_OK) return ML_OK;
    if (r && r->learnt) free_learnt(r->learnt, plan->graph);
    free(r);
    *residence = NULL;
    return status;
}

ml_status ml_residence_new(ml_state *s, ml_plan *plan, ml_residence **residence, ml_error *error) {
    return make(s, plan, &plan->rows, residence, error);
}

void ml_needs_forget(ml_state *s) {
    memset(s->needs, 0, (size_t)(s->graph->total_slots + s->graph->total_nodes) * sizeof *s->needs);
}

bool ml_residence_forget(ml_state *s, ml_residence *r) {
    ml_error quiet = ML_NO_ERROR;
    if (!r->learnt) return false;
    ml_needs_forget(s);
    return place(s, r, &quiet) == ML_OK;
}

/* The new `learnt` is made beside the old one and then swapped in, so that a failure changes
 * nothing. */
bool ml_residence_renew(ml_state *s, ml_residence *r) {
    ml_error quiet = ML_NO_ERROR;
    ml_residence *fresh;
    if (make(s, r->plan, r->rows, &fresh, &quiet) != ML_OK) return false;
    int64_t needs = fresh->rows->frames[0].region_bytes, had = s->arena->capacity;
    bool fits = ml_region_commit(s, needs, 0, &quiet) == ML_OK;
    if (fits) {
        ml_arena_needed(s, needs, had);
        ml_learnt *old = r->learnt;
        r->learnt = fresh->learnt;
        r->rows = &r->learnt->rows;
        fresh->learnt = old;
        for (int32_t frame = 0; frame < r->plan->graph->n_frames; frame++)
            r->frames[frame].spilled = false;
        r->resolved = false;
    }
    free_learnt(fresh->learnt, r->plan->graph);
    free(fresh);
    return fits;
}

void ml_residence_free(ml_residence *r) {
    if (!r) return;
    if (r->learnt) free_learnt(r->learnt, r->plan->graph);
    ml_plan_free(r->plan);
    free(r);
}
