/* residence.c -- a plan in a state's memory: its tables of pointers and steps, and what runs learn beyond it.
 *
 * Without dynamic tensors a residence reads the plan's own rows, and runs write nothing but values. With them it has a copy of the
 * rows, which runs keep true (run/dynamic.c), and `learnt`: what placement gave each tensor, and when it lives. Then
 *
 *   - offsets of rows are the residence's, placed with capacities; the plan's own offsets serve nobody;
 *   - `capacities[slot]` bytes lie at a tensor's offset, whatever its shape is now; 0 where it has no place;
 *   - shapes, blobs, `open` and `stale` outlive a placement anew: they are knowledge, not places.
 *
 * What a tensor needed is noted in the state, not here, so that a size never seen before starts with what other sizes took. */
#include <stdlib.h>

#include "state/state.h"

/* What the cache counts. Places of what grew are not in it: the next placement drops them. */
static int64_t table_bytes(const ml_graph *g, bool learns) {
    int64_t bytes = (int64_t)sizeof(ml_residence) + g->total_tensors * (int64_t)sizeof(void *) +
                    g->total_nodes * (int64_t)sizeof(ml_step) +
                    g->n_frames * (int64_t)(sizeof(ml_env) + sizeof(struct ml_frame_engine) +
                                            sizeof(ml_frame_now));
    if (learns) bytes += ml_rows_bytes(g) + g->total_slots * 16 + g->total_nodes * 8;
    return bytes;
}

static ml_status allocate_learnt(ml_residence *r, const ml_graph *g, ml_error *error) {
    ml_learnt *l = r->learnt = calloc(1, sizeof *l);
    if (l) {
        l->capacities = calloc((size_t)g->total_slots + 1, sizeof *l->capacities);
        l->scratch = calloc((size_t)g->total_nodes + 1, sizeof *l->scratch);
        l->first = calloc((size_t)g->total_slots + 1, sizeof *l->first);
        l->last = calloc((size_t)g->total_slots + 1, sizeof *l->last);
        l->alone = calloc((size_t)g->n_frames, sizeof *l->alone);
        r->rows = (ml_rows){0};
        if (l->capacities && l->scratch && l->first && l->last && l->alone)
            return ml_rows_allocate(&r->rows, g, error);
    }
    return ml_error_memory(error, "what runs learn", table_bytes(g, true), 0);
}

/* All tables at once, by the graph's counts. They are never resized: no run can need more. */
static ml_status allocate(ml_residence *r, ml_plan *plan, ml_error *error) {
    const ml_graph *g = plan->graph;
    r->plan = plan;
    r->rows = plan->rows;
    r->data = calloc((size_t)g->total_tensors + 1, sizeof *r->data);
    r->steps = calloc((size_t)g->total_nodes + 1, sizeof *r->steps);
    r->envs = calloc((size_t)g->n_frames, sizeof *r->envs);
    r->frame_engines = calloc((size_t)g->n_frames, sizeof *r->frame_engines);
    r->frames = calloc((size_t)g->n_frames, sizeof *r->frames);
    if (!r->data || !r->steps || !r->envs || !r->frame_engines || !r->frames)
        return ml_error_memory(error, "a plan's pointers", table_bytes(g, false), 0);
    r->bytes = ml_plan_own_bytes(plan) + table_bytes(g, plan->dynamic);
    return plan->dynamic ? allocate_learnt(r, g, error) : ML_OK;
}

/* Notes what the planner gave each record of a frame, and how long it lives: a class that shares memory has one record, so
 * each of its tensors gets the capacity and the life of the root. Whatever lay alone has a place among the others now, and
 * frames that had moved out are back in their callers' scratch. */
static ml_status note_placed(void *context, int32_t frame, ml_planner *planner) {
    ml_residence *r = context;
    const ml_graph *g = r->plan->graph;
    const ml_frame *f = &g->frames[frame];
    const ml_subgraph *sub = &g->subgraphs[f->subgraph];
    const int64_t *bytes = ml_planner_bytes(planner);
    const int32_t *roots = ml_planner_roots(planner), *last = ml_planner_last_nodes(planner);
    for (int32_t slot = 0; slot < sub->n_slots; slot++) {
        int32_t root = roots[sub->numbers[slot]];
        bool placed = ml_planner_offsets(planner)[root] >= 0;
        r->learnt->capacities[f->slot_base + slot] = placed ? bytes[root] : 0;
        r->learnt->first[f->slot_base + slot] = ml_planner_first_nodes(planner)[root];
        r->learnt->last[f->slot_base + slot] = last[root];
    }
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        int64_t planned = bytes[sub->io.n_tensors + n] - ml_children_room(g, &r->rows, frame, n);
        r->learnt->scratch[f->node_base + n] = planned > 0 ? planned : 0;
    }
    ml_alone_list *alone = &r->learnt->alone[frame];
    alone->count = alone->live = 0;
    alone->planned = r->rows.frames[frame].region_bytes;
    r->frames[frame].spilled = false;
    return ML_OK;
}

/* Capacities go in as what was needed so far, and come out, by note_placed, as what was given. */
static ml_status place(ml_state *s, ml_residence *r, ml_error *error) {
    const ml_graph *g = r->plan->graph;
    ml_learnt *l = r->learnt;
    for (int32_t slot = 0; slot < g->total_slots; slot++)
        l->capacities[slot] = s->needs ? ml_need_capacity(&s->needs[slot], s->counters.invokes) : 0;
    for (int32_t n = 0; n < g->total_nodes; n++)
        l->scratch[n] = s->needs ? ml_need_capacity(&s->scratch_needs[n], s->counters.invokes) : 0;
    ml_placing placing = {.graph = g,
                          .rows = &r->rows,
                          .strategy = r->plan->strategy,
                          .options = r->plan->options,
                          .capacities = l->capacities,
                          .scratch = l->scratch,
                          .orders = s->orders,
                          .offline = r->plan->words == 0};
    return ml_place_frames(&placing, note_placed, r, error);
}

/* A residence of the plan whose rows, if runs write them, start as a copy of `rows`. The plan stays the caller's on
 * failure. Errors of runs go to the state's, so that the calls in steps can point at it for good. */
static ml_status make(ml_state *s, ml_plan *plan, const ml_rows *rows, ml_residence **residence,
                      ml_error *error) {
    ml_residence *r = *residence = calloc(1, sizeof *r);
    if (!r) return ml_error_memory(error, "a plan's pointers", table_bytes(plan->graph, false), 0);
    r->engine = (ml_engine){.graph = plan->graph,
                            .rows = &r->rows,
                            .hooks = &s->hooks,
                            .simd = s->simd,
                            .error = &s->error,
                            .counters = &s->counters,
                            .state = s,
                            .residence = r};
    ml_status status = allocate(r, plan, error);
    if (status == ML_OK && r->learnt) {
        ml_rows_copy(&r->rows, rows, plan->graph);
        status = place(s, r, error);
    }
    if (status == ML_OK) return ML_OK;
    r->plan = NULL;
    if (!r->learnt) r->rows = (ml_rows){0};
    ml_residence_free(r);
    *residence = NULL;
    return status;
}

ml_status ml_residence_new(ml_state *s, ml_plan *plan, ml_residence **residence, ml_error *error) {
    return make(s, plan, &plan->rows, residence, error);
}

/* Made beside the old one, then swapped in where it stands, since the cache and the state point at it. Nothing of the old
 * one is reused but the rows' content; that two of them exist for a moment is the price of a failure that changes nothing. */
bool ml_residence_renew(ml_state *s, ml_residence *r) {
    ml_error quiet = ML_NO_ERROR;
    ml_residence *fresh;
    if (make(s, r->plan, &r->rows, &fresh, &quiet) != ML_OK) return false;
    if (ml_arena_commit(&s->arena, fresh->rows.frames[0].region_bytes, 0, &quiet) != ML_OK) {
        fresh->plan = NULL;
        ml_residence_free(fresh);
        return false;
    }
    ml_residence old = *r;
    *r = *fresh;
    r->next = old.next;
    r->used = old.used;
    r->bytes = old.bytes;
    r->improved = old.improved;
    r->ran = old.ran;
    r->generation = old.generation;
    r->engine.rows = &r->rows;
    r->engine.residence = r;
    *fresh = old;
    fresh->plan = NULL; /* it is r's */
    ml_residence_free(fresh);
    return true;
}

/* Also takes apart what was made half, and what gave its plan away (plan == NULL). */
void ml_residence_free(ml_residence *r) {
    if (!r) return;
    if (r->learnt) {
        for (int32_t f = 0; r->learnt->alone && f < r->engine.graph->n_frames; f++)
            free(r->learnt->alone[f].records);
        free(r->learnt->capacities);
        free(r->learnt->scratch);
        free(r->learnt->first);
        free(r->learnt->last);
        free(r->learnt->alone);
        free(r->learnt);
        ml_rows_free(&r->rows);
    }
    free(r->data);
    free(r->steps);
    free(r->envs);
    free(r->frame_engines);
    free(r->frames);
    ml_plan_free(r->plan);
    free(r);
}
