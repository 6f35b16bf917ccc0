/* family.c -- plans a graph for another size: keeps what sizes do not change, and the order in
 * which the size before was placed.
 *
 * Planning is then one pass over the records: each goes on top of those of its neighbours that are
 * already placed. If that meets the lower bound, there is nothing to search for. If it comes near,
 * no search is made for a size that may never come back.
 *
 * Lists of neighbours are valid as long as the same tensors need memory. They are made at once for
 * the first records, because a kept planner will plan again; for other records, when a second size
 * has the same ones. */
#include "plan/family.h"

#include <stdlib.h>

#include "plan/repeats.h"

/* Life ----------------------------------------------------------------------------------------- */

ml_status ml_family_new(ml_graph *graph, ml_family **family, ml_error *error) {
    ml_family *f = *family = calloc(1, sizeof *f);
    if (!f) return ml_error_memory(error, "a family of sizes", (int64_t)sizeof *f, 0);
    atomic_init(&f->holders, 1);
    f->graph = ml_graph_hold(graph);
    ml_os_make_lock(&f->lock);
    return ML_OK;
}

ml_family *ml_family_hold(ml_family *f) {
    atomic_fetch_add(&f->holders, 1);
    return f;
}

static bool same_list(const int32_t *a, int32_t count_a, const int32_t *b, int32_t count_b) {
    return count_a == count_b && (count_a == 0 || memcmp(a, b, (size_t)count_a * sizeof *a) == 0);
}

static bool same_io(const ml_planner_graph *a, const ml_planner_graph *b) {
    bool same = a->n_nodes == b->n_nodes;
    for (int32_t n = 0; n < a->n_nodes && same; n++) {
        const ml_node_io *x = &a->nodes[n], *y = &b->nodes[n];
        same = x->flags == y->flags && same_list(x->inputs, x->n_inputs, y->inputs, y->n_inputs) &&
               same_list(x->outputs, x->n_outputs, y->outputs, y->n_outputs);
    }
    return same;
}

/* A copy in one block; graph inputs and outputs are those of the subgraph. */
static ml_planner_graph *copy_io(const ml_planner_graph *from) {
    size_t operands = 0;
    for (int32_t n = 0; n < from->n_nodes; n++)
        operands += (size_t)(from->nodes[n].n_inputs + from->nodes[n].n_outputs);
    ml_planner_graph *to = malloc(sizeof *to + (size_t)from->n_nodes * sizeof *to->nodes +
                                  (operands + 1) * sizeof(int32_t));
    if (!to) return NULL;
    ml_node_io *nodes = (ml_node_io *)(void *)(to + 1);
    int32_t *at = (int32_t *)(void *)(nodes + from->n_nodes);
    *to = *from;
    to->nodes = nodes;
    for (int32_t n = 0; n < from->n_nodes; n++) {
        const ml_node_io *io = &from->nodes[n];
        nodes[n] = *io;
        nodes[n].inputs = at;
        for (int32_t i = 0; i < io->n_inputs; i++) *at++ = io->inputs[i];
        nodes[n].outputs = at;
        for (int32_t i = 0; i < io->n_outputs; i++) *at++ = io->outputs[i];
    }
    return to;
}

/* Forgets what was kept of frame 0, with and without sharing, if this is another one; false without
 * memory. */
static bool keep_io(ml_relations *r, const ml_planner_graph *tiled, int32_t frames) {
    if (!tiled || (r->io && same_io(r->io, tiled))) return true;
    for (int32_t i = 0; i < 2 * frames; i += frames) {
        ml_planner_free(r->kept[i].planner);
        r->kept[i].planner = NULL;
        r->kept[i].order.count = 0;
    }
    free(r->io);
    return (r->io = copy_io(tiled)) != NULL;
}

static void free_relations(ml_relations *r, int32_t frames) {
    for (int32_t i = 0; i < 2 * frames; i++) {
        free(r->kept[i].order.tensors);
        ml_planner_free(r->kept[i].planner);
    }
    free(r->io);
    free(r);
}

void ml_family_free(ml_family *f) {
    if (!f || atomic_fetch_sub(&f->holders, 1) > 1) return;
    for (ml_relations *r = f->relations; r;) {
        ml_relations *next = r->next;
        free_relations(r, f->graph->n_frames);
        r = next;
    }
    free(f->repeats);
    ml_os_free_lock(&f->lock);
    ml_graph_free(f->graph);
    free(f);
}

static ml_relations *new_relations(const ml_graph *g, int32_t strategy, int32_t options,
                                   bool tiled) {
    const size_t frames = (size_t)g->n_frames;
    ml_relations *r = calloc(1, sizeof *r + 2 * frames * sizeof *r->kept);
    if (!r) return NULL;
    *r = (ml_relations){.strategy = strategy,
                        .options = options,
                        .tiled = tiled,
                        .kept = (ml_kept_planner *)(void *)(r + 1)};
    for (size_t i = 0; i < 2 * frames; i++) {
        const ml_planner_graph *io = &ml_frame_subgraph(g, (int32_t)(i % frames))->io;
        const size_t room = (size_t)(io->n_tensors + io->n_nodes) + 1;
        r->kept[i].order.tensors = malloc(room * sizeof(int32_t));
        if (r->kept[i].order.tensors) continue;
        free_relations(r, g->n_frames);
        return NULL;
    }
    return r;
}

static ml_relations *relations_of(ml_family *f, int32_t strategy, int32_t options, bool tiled) {
    for (ml_relations *r = f->relations; r; r = r->next)
        if (r->strategy == strategy && r->options == options && r->tiled == tiled) return r;
    ml_relations *r = new_relations(f->graph, strategy, options, tiled);
    if (!r) return NULL;
    r->next = f->relations;
    return f->relations = r;
}

ml_relations *ml_family_open(ml_family *f, int32_t strategy, int32_t options,
                             const ml_planner_graph *tiled) {
    ml_os_take(&f->lock);
    ml_relations *r = relations_of(f, strategy, options, tiled != NULL);
    if (r && keep_io(r, tiled, f->graph->n_frames)) return r;
    ml_os_give(&f->lock);
    return NULL;
}

void ml_family_close(ml_family *f) { ml_os_give(&f->lock); }

const int32_t *ml_family_repeats(ml_family *f) {
    ml_os_take(&f->lock);
    if (f->relations && !f->repeats) f->repeats = ml_repeats_find(f->graph);
    ml_os_give(&f->lock);
    return f->repeats;
}

ml_kept_planner *ml_family_kept(const ml_family *f, ml_relations *r, int32_t frame, bool shares) {
    ml_kept_planner *sharing = &r->kept[frame], *apart = &r->kept[f->graph->n_frames + frame];
    ml_kept_planner *kept = shares ? sharing : apart;
    const ml_kept_planner *other = shares ? apart : sharing;
    if (kept->order.count == 0 && other->order.count > 0) {
        kept->order.count = other->order.count;
        memcpy(kept->order.tensors, other->order.tensors,
               (size_t)other->order.count * sizeof *other->order.tensors);
    }
    return kept;
}

bool ml_family_keeps(const ml_family *f, const ml_relations *r, int32_t frame,
                     const ml_planner *planner) {
    return planner == r->kept[frame].planner ||
           planner == r->kept[f->graph->n_frames + frame].planner;
}

/* Lists ---------------------------------------------------------------------------------------- */

static bool make_lists(ml_planner *p) {
    ml_listing *l = &p->listing;
    ml_record_at *ends = malloc(((size_t)l->count + 1) * sizeof *ends);
    if (!ends) return false;
    for (int32_t i = 0; i < l->count; i++) ends[i] = (ml_record_at){p->records[i].last, i};
    ml_sort_by_node(ends, l->count);
    for (int32_t i = 0; i < l->count; i++) l->by_last[i] = ends[i].record;
    free(ends);
    ml_conflicts_find(&l->conflicts, p->records, l->count);
    l->n_divided = 0;
    return l->listed = true;
}

bool ml_family_list(ml_planner *p, int32_t count) {
    ml_listing *l = &p->listing;
    bool same = count == l->count && count > 0;
    for (int32_t i = 0; i < count && same; i++) same = l->tensors[i] == p->records[i].tensor;
    if (same) return l->listed || make_lists(p);
    for (int32_t i = 0; i < p->schedule.count; i++) l->record_of[i] = -1;
    for (int32_t i = 0; i < count; i++) {
        l->tensors[i] = p->records[i].tensor;
        l->record_of[l->tensors[i]] = i;
    }
    bool first = !l->used;
    l->used = true;
    l->count = count;
    l->listed = false;
    ml_conflicts_free(&l->conflicts);
    return first && count > 0 && p->order->count > 0 && make_lists(p);
}

/* Records are in ascending order of their first node; at each one, records that ended before it are
 * subtracted. */
static int64_t bound_of(const ml_planner *p) {
    const ml_listing *l = &p->listing;
    int64_t live = 0, most = 0;
    for (int32_t i = 0, ended = 0; i < l->count; i++) {
        const ml_record *r = &p->records[i];
        for (; p->records[l->by_last[ended]].last < r->first; ended++)
            live -= l->sizes[l->by_last[ended]];
        live += l->sizes[i];
        if (live > most) most = live;
    }
    return most;
}

int64_t ml_family_bound(const ml_planner *p) {
    const ml_listing *l = &p->listing;
    for (int32_t i = 0; i < l->count; i++)
        l->sizes[i] = ml_round_up(p->records[i].size, p->alignment);
    return bound_of(p);
}

/* Another size --------------------------------------------------------------------------------- */

/* True if the same operands as before are as large as the outputs that may overwrite them; stores
 * which ones are. */
static bool overwrites_stand(ml_planner *p) {
    bool stand = true;
    for (int32_t i = 0; i < p->n_overwrites; i++) {
        ml_overwrite *o = &p->overwrites[i];
        int64_t bytes = p->usage.bytes[o->input];
        bool equal = bytes == p->usage.bytes[o->output] && (o->any_size || bytes > 4);
        stand &= equal == o->equal;
        o->equal = equal;
    }
    return stand;
}

void ml_family_schedule(ml_planner *p, bool stands) {
    stands &= overwrites_stand(p);
    p->bound = -1;
    p->stood = stands && p->found && p->usage.n_fixed == 0;
    if (p->stood) return;
    p->listing.count = 0;
    ml_schedule_find(&p->schedule, &p->usage);
    p->found = true;
}

/* Computes the rounded sizes of all records; false if their sums could overflow. */
static bool take_sizes(ml_planner *p) {
    const ml_listing *l = &p->listing;
    const int64_t most = INT64_MAX / 4 / l->count;
    for (int32_t i = 0; i < l->count; i++) {
        int64_t bytes = p->usage.bytes[l->tensors[i]];
        if (bytes > most) return false;
        p->records[i].size = bytes;
        l->sizes[i] = ml_round_up(bytes, p->alignment);
    }
    return true;
}

/* Lets each list begin with the neighbours that are placed before the record, which are all that
 * it has to look at. Sizes seldom change the order. */
static void divide_lists(ml_planner *p) {
    ml_listing *l = &p->listing;
    const size_t bytes = (size_t)p->order->count * sizeof *l->divided;
    if (l->n_divided == p->order->count && memcmp(l->divided, p->order->tensors, bytes) == 0)
        return;
    memcpy(l->divided, p->order->tensors, bytes);
    l->n_divided = p->order->count;
    int64_t *place = l->ends; /* free to use: nothing is placed yet */
    for (int32_t i = 0; i < l->count; i++) place[i] = INT64_MAX;
    for (int32_t i = 0; i < p->order->count; i++) {
        const int32_t record = l->record_of[l->divided[i]];
        if (record >= 0) place[record] = i;
    }
    ml_conflicts_divide(&l->conflicts, place);
}

/* Places the records in the order of the plan before, each on top of its neighbours; those of no
 * bytes nowhere, where they are on top of nothing. Returns the height, INT64_MAX if that exceeds
 * `most`. */
static int64_t stack(ml_planner *p, int64_t most) {
    const ml_listing *l = &p->listing;
    divide_lists(p);
    int64_t height = 0;
    int32_t placed = 0;
    for (int32_t i = 0; i < p->order->count; i++) {
        int32_t k = l->record_of[p->order->tensors[i]];
        if (k < 0) continue;
        placed++;
        l->ends[k] = 0;
        if (l->sizes[k] == 0) continue;
        const int64_t end = ml_conflicts_top(&l->conflicts, k, l->ends) + l->sizes[k];
        l->ends[k] = end;
        if (end > height) height = end;
        if (height > most) return INT64_MAX;
    }
    return placed == l->count ? height : INT64_MAX;
}

/* Where `stack` has placed a record; -1: nowhere. */
static int64_t offset_of(const ml_listing *l, int32_t record) {
    return l->sizes[record] > 0 ? l->ends[record] - l->sizes[record] : -1;
}

int32_t ml_family_renew_order(ml_planner *p) {
    const ml_listing *l = &p->listing;
    ml_placing_order *order = p->order;
    uint8_t *named = p->marked; /* free to use: while placing, no tensor is marked */
    int32_t kept = 0;
    for (int32_t i = 0; i < order->count; i++) {
        if (l->record_of[order->tensors[i]] < 0) continue;
        named[order->tensors[i]] = 1;
        order->tensors[kept++] = order->tensors[i];
    }
    const int32_t added = l->count - kept;
    order->count = kept == 0 ? 0 : l->count;
    if (kept == 0) return added;
    for (int32_t i = 0; i < l->count; i++) {
        if (!named[l->tensors[i]]) order->tensors[kept++] = l->tensors[i];
        named[l->tensors[i]] = 0;
    }
    return added;
}

bool ml_family_stack_changed(ml_planner *p) {
    ml_listing *l = &p->listing;
    if (p->longer || !p->searches || p->order->count == 0 || l->count == 0 ||
        (!l->listed && !make_lists(p)) || l->conflicts.count == 0 || !take_sizes(p))
        return false;
    p->bound = bound_of(p);
    if (stack(p, p->bound + p->bound / 64) == INT64_MAX) return false;
    for (int32_t i = 0; i < l->count; i++) p->records[i].offset = offset_of(l, i);
    return true;
}

bool ml_family_stack(ml_planner *p, int64_t most) {
    const ml_listing *l = &p->listing;
    if (!p->stood || !p->searches || !p->order || l->count == 0 || !l->listed ||
        l->conflicts.count == 0 || !take_sizes(p))
        return false;
    p->bound = bound_of(p);
    int64_t near = p->bound + p->bound / 8, height = stack(p, near < most ? near : most);
    if (height == INT64_MAX) return false;
    p->high_water[ML_MEMORY_ARENA] = height;
    for (int32_t i = 0; i < l->count; i++) p->offset[l->tensors[i]] = offset_of(l, i);
    return true;
}
