/* lifetimes.c -- finds when tensors are live, which outputs overwrite inputs, and how many bytes
 * are live at once. */
#include <stdlib.h>

#include "memory/planner.h"

/* Whether the caller has fixed the offset of every graph input. */
static bool inputs_are_fixed(const ml_planner *p) {
    bool all = true;
    for (int32_t i = 0; i < p->graph->n_inputs; i++)
        all &= p->graph->inputs[i] < 0 || p->fixed[p->graph->inputs[i]] >= 0;
    return all;
}

/* Lifetimes: from the allocating node to the last reader; kept tensors and (in TFLite) unread ones
 * are never freed. A graph input without readers whose place is fixed is dead when the first node
 * runs: its lifetime ends at -1. Even so it must not overlap other inputs, which check_fixed
 * checks. */
static void find_lifetimes(ml_planner *p) {
    const ml_planner_graph *g = p->graph;
    for (int32_t t = 0; t < p->count; t++) {
        p->first[t] = p->last[t] = -1;
        p->uses[t] = 0;
        p->root[t] = t;
        p->edge[t] = 0;
    }
    for (int32_t i = 0; i < g->n_inputs; i++) {
        int32_t t = g->inputs[i];
        if (t < 0) continue;
        p->edge[t] |= 1;
        p->first[t] = 0;
        if ((p->options & ML_KEEP_INPUTS) && p->fixed[t] < 0) p->uses[t]++;
    }
    for (int32_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] >= 0) {
            p->edge[g->outputs[i]] |= 2;
            p->uses[g->outputs[i]]++;
        }
    for (int32_t n = 0; n < g->n_nodes; n++) {
        if (p->skipped[n]) continue;
        const ml_node_io *node = &g->nodes[n];
        for (int32_t i = 0; i < node->n_outputs; i++)
            if (node->outputs[i] >= 0 && p->first[node->outputs[i]] < 0)
                p->first[node->outputs[i]] = n;
        for (int32_t i = 0; i < node->n_inputs; i++)
            if (node->inputs[i] >= 0) {
                p->uses[node->inputs[i]]++;
                p->last[node->inputs[i]] = n;
            }
        p->first[g->n_tensors + n] = p->last[g->n_tensors + n] = n;
    }
    for (int32_t t = 0; t < g->n_tensors; t++)
        if (p->place[t] == ML_PLACE_PERSISTENT)
            p->first[t] = 0; /* variables exist before the first node */
    bool free_unread = (p->options & ML_FREE_UNREAD) != 0, all_given = inputs_are_fixed(p);
    for (int32_t t = 0; t < g->n_tensors; t++) {
        bool fixed = p->fixed[t] >= 0; /* then it is freed after its last reader */
        bool keep_input = (p->edge[t] & 1) && (p->options & ML_KEEP_INPUTS) && !fixed;
        bool kept = (p->edge[t] & 2) || keep_input || (p->options & ML_KEEP_ALL);
        if (kept || (p->last[t] < 0 && !free_unread && !fixed)) p->last[t] = ML_FOREVER;
        else if (p->last[t] < 0 && p->edge[t] & 1 && all_given) continue;
        else if (p->last[t] < p->first[t]) p->last[t] = p->first[t];
    }
}

/* TFLite: the input is read only here, and so is its root. Wide: this node is the last reader of
 * all tensors that share the place. A root lies in the arena, and is not kept as an input or an
 * output: it was the input of this function when the first tensor joined it. */
static bool may_overwrite(const ml_planner *p, int32_t n, int32_t input, int32_t output,
                          bool view) {
    int32_t root = p->root[input];
    if (p->place[input] != ML_PLACE_ARENA || p->place[output] != ML_PLACE_ARENA) return false;
    if (p->edge[output] & 2 || p->bytes[input] != p->bytes[output]) return false;
    if (p->fixed[output] != p->fixed[root])
        return false; /* a longer lifetime could overlap another fixed tensor */
    if (p->edge[input] && ((p->options & ML_KEEP_INPUTS) || p->edge[input] & 2)) return false;
    if (view) return true;
    if (p->pinned[input] == ML_PINNED || p->pinned[output] != ML_NOT_PINNED) return false;
    if (p->options & ML_SHARE_WIDE) return p->last[root] <= n;
    return !p->edge[input] && p->bytes[input] > 4 && p->uses[input] <= 1 && p->uses[root] <= 1;
}

static void share_in_place(ml_planner *p) {
    const ml_planner_graph *g = p->graph;
    if (p->options & ML_KEEP_ALL || !(p->options & (ML_SHARE_TFLITE | ML_SHARE_WIDE))) return;
    for (int32_t n = 0; n < g->n_nodes; n++) {
        const ml_node_io *node = &g->nodes[n];
        bool view = node->flags & ML_NODE_VIEW;
        if (p->skipped[n] || node->n_outputs == 0 || node->outputs[0] < 0) continue;
        if (!(p->options & ML_SHARE_WIDE) && !(node->flags & ML_NODE_TFLITE_SHARES)) continue;
        for (int32_t i = 0; i < node->n_inputs && i < (p->options & ML_SHARE_WIDE ? 8 : 3); i++) {
            int32_t input = node->inputs[i], output = node->outputs[0];
            if (input < 0 || !(node->flags & (ML_NODE_IN_PLACE << i)) ||
                !may_overwrite(p, n, input, output, view))
                continue;
            int32_t root = p->root[input];
            p->root[output] = root;
            if (p->last[output] > p->last[root]) p->last[root] = p->last[output];
            if (!view) p->uses[root] = p->uses[output] > 1 ? p->uses[output] : 1;
            else p->uses[root] += p->uses[output] - 1;
            break;
        }
    }
}

void ml_planner_join(ml_planner *p, int32_t tensor, int32_t root) {
    p->root[tensor] = root;
    p->bytes[root] = ml_max_s64(p->bytes[root], p->bytes[tensor]);
    if (p->last[tensor] > p->last[root]) p->last[root] = p->last[tensor];
}

static void group_by_first(ml_planner *p) {
    int32_t nodes = p->graph->n_nodes;
    memset(p->group, 0, (size_t)(nodes + 2) * sizeof p->group[0]);
    for (int32_t t = 0; t < p->count; t++)
        if (p->first[t] >= 0) p->group[p->first[t] + 1]++;
    for (int32_t n = 0; n <= nodes; n++) p->group[n + 1] += p->group[n];
    for (int32_t t = 0; t < p->count; t++)
        if (p->first[t] >= 0) p->by_first[p->group[p->first[t]]++] = t;
    for (int32_t n = nodes + 1; n > 0; n--) p->group[n] = p->group[n - 1];
    p->group[0] = 0;
}

void ml_planner_find_lifetimes(ml_planner *p) {
    p->found = true;
    p->stood = false;
    p->listing.count = 0;
    find_lifetimes(p);
    share_in_place(p);
    group_by_first(p);
}

/* The largest sum of rounded sizes live at once: a pass over the nodes that adds what starts and
 * subtracts what ends. */
int64_t ml_planner_peaks(ml_planner *p, int32_t *peaks) {
    *peaks = 0;
    int64_t live = 0, most = 0, align = p->alignment;
    int32_t nodes = p->graph->n_nodes > 0 ? p->graph->n_nodes : 1;
    int64_t *ending = calloc((size_t)nodes + 1, sizeof *ending);
    if (!ending) return -1;
    for (int32_t n = 0; n < nodes; n++) {
        for (int32_t k = p->group[n]; k < p->group[n + 1]; k++) {
            int32_t t = p->by_first[k];
            bool lives = p->last[t] >= p->first[t];
            if (p->place[t] != ML_PLACE_ARENA || p->root[t] != t || !lives) continue;
            int64_t size = (p->bytes[t] + align - 1) / align * align;
            live += size;
            if (p->last[t] < nodes) ending[p->last[t] + 1] += size;
        }
        live -= n > 0 ? ending[n] : 0;
        if (live > most) *peaks = 0;
        if (live >= most) {
            most = live;
            ++*peaks;
        }
    }
    free(ending);
    return most;
}

int64_t ml_planner_lower_bound(ml_planner *p) {
    int32_t peaks;
    if (p->bound < 0) p->bound = ml_planner_peaks(p, &peaks);
    return p->bound;
}
