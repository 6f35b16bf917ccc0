/* planner.c -- makes and frees an ml_planner, and reads what it has placed. */
#include "plan/planner.h"

#include <stdlib.h>

/* Lists the operands that may be overwritten; without `to`, only counts them. */
static int32_t list_overwrites(const ml_planner_graph *graph, int32_t options, ml_overwrite *to) {
    int32_t count = 0;
    for (int32_t n = 0; n < graph->n_nodes; n++) {
        const ml_node_io *node = &graph->nodes[n];
        int32_t may = node->flags / ML_NODE_IN_PLACE;
        bool any_size = options & ML_SHARE_WIDE || node->flags & ML_NODE_VIEW;
        if (may == 0 || node->n_outputs == 0 || node->outputs[0] < 0) continue;
        for (int32_t i = 0; i < node->n_inputs && i < 8; i++) {
            if (!(may >> i & 1) || node->inputs[i] < 0) continue;
            if (to) to[count] = (ml_overwrite){node->inputs[i], node->outputs[0], any_size, false};
            count++;
        }
    }
    return count;
}

ml_status ml_planner_new(const ml_planner_graph *graph, const char *strategy, int32_t options,
                         int32_t alignment, ml_planner **planner, ml_error *error) {
    size_t count = (size_t)graph->n_tensors + (size_t)graph->n_nodes,
           nodes = (size_t)graph->n_nodes;
    int32_t overwrites = list_overwrites(graph, options, NULL);
    size_t total = sizeof(ml_planner) +
                   count * (6 * sizeof(int64_t) + sizeof(ml_record) + 10 * sizeof(int32_t) + 4) +
                   (nodes + 2) * sizeof(int32_t) + nodes +
                   (size_t)overwrites * sizeof(ml_overwrite) + 64;
    ml_planner *p = *planner = calloc(1, total);
    if (!p) return ml_error_memory(error, "a planner", (int64_t)total, 0);
    strncpy(p->strategy, strategy, sizeof p->strategy - 1);
    p->searches = strcmp(strategy, "default") == 0;
    p->alignment = alignment;
    ml_tensor_usage *u = &p->usage;
    ml_schedule *s = &p->schedule;
    s->graph = graph;
    s->options = options;
    s->count = (int32_t)count;
    u->bytes = (int64_t *)(p + 1);
    u->fixed = u->bytes + count;
    p->offset = u->fixed + count;
    p->placed = p->offset + count;
    p->listing.sizes = p->placed + count;
    p->listing.ends = p->listing.sizes + count;
    p->records = (ml_record *)(p->listing.ends + count);
    p->overwrites = (ml_overwrite *)(p->records + count);
    p->n_overwrites = list_overwrites(graph, options, p->overwrites);
    s->first = (int32_t *)(p->overwrites + overwrites);
    s->last = s->first + count;
    s->uses = s->last + count;
    s->root = s->uses + count;
    s->by_first = s->root + count;
    s->group = s->by_first + count;
    p->active = s->group + nodes + 2;
    p->listing.tensors = p->active + count;
    p->listing.by_last = p->listing.tensors + count;
    p->listing.record_of = p->listing.by_last + count;
    p->listing.divided = p->listing.record_of + count;
    u->memory = (uint8_t *)(p->listing.divided + count);
    u->pinned = u->memory + count;
    p->marked = u->pinned + count;
    s->edge = p->marked + count;
    u->skipped = s->edge + count;
    for (size_t t = 0; t < count; t++) p->offset[t] = u->fixed[t] = -1;
    p->last_active = p->purged = -1;
    p->bound = -1;
    return ML_OK;
}

void ml_planner_free(ml_planner *p) {
    if (p) ml_conflicts_free(&p->listing.conflicts);
    free(p);
}

int64_t *ml_planner_bytes(ml_planner *p) { return p->usage.bytes; }
const int64_t *ml_planner_offsets(const ml_planner *p) { return p->offset; }
const int64_t *ml_planner_placed(const ml_planner *p) { return p->placed; }
const int32_t *ml_planner_roots(const ml_planner *p) { return p->schedule.root; }
const int32_t *ml_planner_first_nodes(const ml_planner *p) { return p->schedule.first; }
const int32_t *ml_planner_last_nodes(const ml_planner *p) { return p->schedule.last; }
int32_t ml_planner_active(const ml_planner *p) { return p->n_active; }

int64_t ml_planner_high_water(const ml_planner *p, int32_t memory) {
    return ml_round_up(p->high_water[memory], p->alignment);
}
