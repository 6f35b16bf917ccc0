/* planner.c -- stepwise allocation over a graph with dynamic tensors, in every step of the
 * ladder. */
#include "ladder.h"

#if defined LADDER_STORE_LIST
#include "store_list.h"
#elif defined LADDER_STORE_TREE
#include "store_tree.h"
#else
#include "store_vector.h"
#endif

struct planner {
    graph *graph;
    store store;
    record *allocated; /* by tensor; size 0 = not allocated */
    int32_t *order; /* tensors of the stretch under way, largest first */
    int32_t n_order;
    /* Tensors by the node that allocates them: by_node[start[n] .. start[n + 1]). */
    int32_t *by_node;
    int32_t *start;
    uint8_t *base;
    int64_t capacity;
    int64_t high_water;
    costs costs;
};

/* Phases are functions of their own, so that a profiler that counts instructions can tell them
 * apart. */
#define PHASE __attribute__((noinline)) static

/* How the planner comes to tensors and their number. */
static tensor *tensor_at(planner *p, int32_t index) {
    p->costs.tensors++;
#if LADDER_STEP == 0
    return p->graph->functions->tensor(p->graph, index);
#else
    return &p->graph->tensors[index];
#endif
}

#if LADDER_STEP == 0
#define COUNT_TENSORS(p) ((p)->graph->functions->count((p)->graph))
#else
#define COUNT_TENSORS(p) n_tensors
#endif

planner *ladder_planner_new(graph *g) {
    planner *p = calloc(1, sizeof *p);
    if (!p) abort();
    p->graph = g;
    store_start(&p->store);
    p->allocated = calloc((size_t)g->n_tensors, sizeof *p->allocated);
    p->order = calloc((size_t)g->n_tensors, sizeof *p->order);
    p->by_node = calloc((size_t)g->n_tensors, sizeof *p->by_node);
    p->start = calloc((size_t)g->n_nodes + 2, sizeof *p->start);
    if (!p->allocated || !p->order || !p->by_node || !p->start) abort();
    int32_t filled = 0;
    for (int32_t n = 0; n < g->n_nodes; n++) {
        p->start[n] = filled;
        for (int32_t t = 0; t < g->n_tensors; t++)
            if (g->first[t] == n) p->by_node[filled++] = t;
    }
    p->start[g->n_nodes] = filled;
    return p;
}

void ladder_planner_free(planner *p) {
    store_end(&p->store);
    free(p->allocated);
    free(p->order);
    free(p->by_node);
    free(p->start);
    free(p->base);
    free(p);
}

/* Largest first, of equal ones the one allocated first. */
static bool comes_before(planner *p, int32_t a, int32_t b) {
    int64_t of_a = tensor_at(p, a)->bytes, of_b = tensor_at(p, b)->bytes;
    return of_a != of_b ? of_a > of_b : p->graph->first[a] < p->graph->first[b];
}

static void sort_order(planner *p) {
    for (int32_t i = 1; i < p->n_order; i++) {
        int32_t moving = p->order[i], at = i;
        for (; at > 0 && comes_before(p, moving, p->order[at - 1]); at--)
            p->order[at] = p->order[at - 1];
        p->order[at] = moving;
    }
}

/* The tensors that nodes first..last allocate. */
PHASE void find_order(planner *p, int32_t first, int32_t last) {
    p->n_order = 0;
#if LADDER_STEP < 2
    int32_t n_tensors = p->graph->n_tensors;
    (void)n_tensors;
    for (int32_t t = 0; t < COUNT_TENSORS(p); t++)
        if (p->graph->first[t] >= first && p->graph->first[t] <= last) p->order[p->n_order++] = t;
#else
    for (int32_t i = p->start[first]; i < p->start[last + 1]; i++)
        p->order[p->n_order++] = p->by_node[i];
#endif
    sort_order(p);
}

#if LADDER_STEP < 4
/* Takes one tensor's record out: looks for it from the lowest offset up. */
static void deallocate(planner *p, int32_t t) {
    if (p->allocated[t].size == 0) return;
    p->allocated[t].size = 0;
    for (place_in_store at = store_first(&p->store); at; at = store_next(&p->store, at)) {
        p->costs.scanned++;
        if (store_at(at)->tensor == t) {
            store_erase(&p->store, at);
            return;
        }
    }
}
#endif

/* Best fit: the smallest gap between records live at the same time that takes the tensor, else
 * after them all. */
static void allocate(planner *p, int32_t t) {
    int64_t size = tensor_at(p, t)->bytes, end = 0, best = -1, best_gap = INT64_MAX;
    record wanted = {0, size, t, p->graph->first[t], p->graph->last[t], 0};
    for (place_in_store at = store_first(&p->store); at; at = store_next(&p->store, at)) {
        const record *other = store_at(at);
        p->costs.scanned++;
        if (other->last < wanted.first || other->first > wanted.last) continue;
        int64_t aligned = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (other->offset - aligned >= size && other->offset - aligned < best_gap) {
            best = aligned;
            best_gap = other->offset - aligned;
        }
        if (other->offset + other->size > end) end = other->offset + other->size;
    }
    wanted.offset = best >= 0 ? best : (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (wanted.offset + size > p->high_water) p->high_water = wanted.offset + size;
    p->allocated[t] = wanted;
    store_insert(&p->store, &wanted);
}

static bool commit(planner *p) {
    if (p->high_water <= p->capacity) return false;
    int64_t grown = (p->high_water + p->high_water / 2 + ALIGNMENT) / ALIGNMENT * ALIGNMENT;
    uint8_t *base = aligned_alloc(ALIGNMENT, (size_t)grown);
    if (!base) abort();
    if (p->base) memcpy(base, p->base, (size_t)p->capacity);
    free(p->base);
    p->base = base;
    p->capacity = grown;
    return true;
}

static void resolve(planner *p, int32_t t) {
    tensor *one = tensor_at(p, t);
    if (one->place == PLACE_ARENA && p->allocated[t].size)
        one->data = p->base + p->allocated[t].offset;
}

static void resolve_all(planner *p) {
    int32_t n_tensors = p->graph->n_tensors;
    (void)n_tensors;
    for (int32_t t = 0; t < COUNT_TENSORS(p); t++) resolve(p, t);
}

/* Before the tensors in the order are placed. */
PHASE void deallocate_before(planner *p, int32_t first) {
#if LADDER_STEP < 4
    for (int32_t i = 0; i < p->n_order; i++) deallocate(p, p->order[i]);
#elif LADDER_STEP >= 5
    store_sift(&p->store, first);
#endif
    (void)p, (void)first;
}

PHASE void allocate_order(planner *p) {
    for (int32_t i = 0; i < p->n_order; i++)
        if (tensor_at(p, p->order[i])->place == PLACE_ARENA) allocate(p, p->order[i]);
}

PHASE void resolve_order(planner *p) {
    bool moved = commit(p);
#if LADDER_STEP < 3
    (void)moved;
    resolve_all(p);
#else
    if (moved) resolve_all(p);
    else
        for (int32_t i = 0; i < p->n_order; i++) resolve(p, p->order[i]);
#endif
}

void ladder_execute_allocations(planner *p, int32_t first, int32_t last) {
    find_order(p, first, last);
    deallocate_before(p, first);
    allocate_order(p);
    resolve_order(p);
}

void ladder_reset_allocations_after(planner *p, int32_t node) {
    int32_t n_tensors = p->graph->n_tensors;
    (void)n_tensors;
#if LADDER_STEP < 4
    for (int32_t t = 0; t < COUNT_TENSORS(p); t++)
        if (p->allocated[t].size > 0 && p->allocated[t].first > node) {
            deallocate(p, t);
            tensor_at(p, t)->data = NULL;
        }
#else
    for (place_in_store at = store_first(&p->store); at; at = store_next(&p->store, at)) {
        record *r = store_at(at);
        p->costs.scanned++;
        if (r->first <= node) continue;
        r->marked = 1;
        p->allocated[r->tensor].size = 0;
        tensor_at(p, r->tensor)->data = NULL;
    }
    store_sift(&p->store, INT32_MIN);
#if LADDER_STEP >= \
    5 /* purging dropped records that were dead at the run's end and may live at its start */
    for (int32_t t = 0; t < n_tensors; t++)
        if (p->allocated[t].size > 0 && p->allocated[t].first > node) p->allocated[t].size = 0;
    store_end(&p->store);
    store_start(&p->store);
    for (int32_t t = 0; t < n_tensors; t++)
        if (p->allocated[t].size > 0) store_insert(&p->store, &p->allocated[t]);
#endif
#endif
}

const costs *ladder_costs(const planner *p) { return &p->costs; }
int64_t ladder_high_water(const planner *p) { return p->high_water; }

uint64_t ladder_digest(const planner *p) {
    uint64_t digest = 14695981039346656037u;
    for (int32_t t = 0; t < p->graph->n_tensors; t++) {
        digest = (digest ^ (uint64_t)p->allocated[t].offset) * 1099511628211u;
        digest = (digest ^ (uint64_t)p->allocated[t].size) * 1099511628211u;
    }
    return digest;
}
