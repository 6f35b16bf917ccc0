/* plan.h -- ml_plan: everything that depends on shapes alone; made once for its key, and never
 * changed. */
#ifndef ML_PLAN_PLAN_H
#define ML_PLAN_PLAN_H

#include "plan/fold.h"
#include "plan/records.h"
#include "plan/family.h"
#include "plan/rows.h"
#include "plan/sweep.h"

/* One block, rows included. */
struct ml_plan {
    atomic_int holders;
    uint32_t hash; /* of the key */
    const ml_graph *graph;
    ml_rows rows;
    ml_plan *source; /* of a copy: the plan whose folded values it shares; held */
    ml_folded *folded; /* NULL in copies */
    struct ml_tiled *tiled; /* of the plan, or of its source; NULL: all nodes run whole */
    int32_t options;
    int32_t strategy; /* its index in the table */
    int32_t n_bound;
    bool dynamic; /* some node is open, or waits for an open one */
    int32_t words; /* of the key's shapes */
    int32_t key[]; /* shapes: rows of [tensor, rank, dims...]; then the bound tensors */
};

/* The bound tensors by ascending number; part of the key. */
static inline int32_t *ml_plan_bound(const ml_plan *p) {
    return (int32_t *)(uintptr_t)(p->key + p->words);
}

/* The request that a plan is made from. */
typedef struct ml_plan_request {
    const ml_graph *graph;
    int32_t strategy; /* its index in the table */
    int32_t options;
    uint32_t hash; /* of the key: of spec and bound */
    const int32_t *spec;
    int32_t words;
    const ml_binding *bound;
    int32_t n_bound;
    const ml_hooks *hooks;
    const struct ml_simd *simd;
    ml_counters *counters;
    ml_family *family; /* of the graph */
    int64_t most_arena; /* bytes that the arena may have; 0 = any */
    ml_tiling *tiling; /* the groups of the size before, replaced by those of this one */
} ml_plan_request;

ml_status ml_plan_new(const ml_plan_request *request, ml_plan **plan, ml_error *error);
ml_plan *ml_plan_hold(ml_plan *plan);
/* Makes a plan with the same key and a copy of `rows`, which are those of the plan or of a
 * residence. */
ml_status ml_plan_copy(ml_plan *plan, const ml_rows *rows, ml_plan **copy, ml_error *error);
/* Makes a plan with the same key in a smaller arena, by the rest of the budget for the search; NULL
 * if none was found. */
ml_plan *ml_plan_improve(ml_plan *plan, ml_family *family);
/* Places `rows`, which a residence of the plan has and its runs write, for what runs needed. */
ml_status ml_plan_place_rows(const ml_plan *plan, ml_rows *rows, ml_family *family,
                             const ml_need *needs, int64_t runs, ml_error *error);
uint32_t ml_plan_hash(const int32_t *spec, int32_t words, const ml_binding *bound, int32_t n_bound);
bool ml_plan_has_key(const ml_plan *plan, const ml_plan_request *request);
/* The bytes of a plan's block. */
int64_t ml_plan_block_bytes(const ml_graph *graph, int32_t words, int32_t n_bound);

#endif
