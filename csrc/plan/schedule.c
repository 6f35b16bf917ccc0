/* schedule.c -- finds when tensors are live, and which outputs overwrite inputs.
 *
 * A tensor lives from the node that computes it to its last reader. An output that overwrites an
 * input gets its place: both have one root, which lives as long as either. */
#include "plan/schedule.h"

/* True if the caller has fixed the offset of every graph input. */
static bool inputs_are_fixed(const ml_schedule *s, const ml_tensor_usage *u) {
    bool all = true;
    for (int32_t i = 0; i < s->graph->n_inputs; i++)
        all &= s->graph->inputs[i] < 0 || u->fixed[s->graph->inputs[i]] >= 0;
    return all;
}

/* Lifetimes: from the allocating node to the last reader; kept tensors and (in TFLite) unread ones
 * are never freed. A graph input without readers whose place is fixed is dead when the first node
 * runs: its lifetime ends at -1. Even so it must not overlap other inputs, which layout.c
 * checks. */
static void find_lifetimes(ml_schedule *s, const ml_tensor_usage *u) {
    const ml_planner_graph *g = s->graph;
    for (int32_t t = 0; t < s->count; t++) {
        s->first[t] = s->last[t] = -1;
        s->uses[t] = 0;
        s->root[t] = t;
        s->edge[t] = 0;
    }
    for (int32_t i = 0; i < g->n_inputs; i++) {
        int32_t t = g->inputs[i];
        if (t < 0) continue;
        s->edge[t] |= 1;
        s->first[t] = 0;
        if ((s->options & ML_KEEP_INPUTS) && u->fixed[t] < 0) s->uses[t]++;
    }
    for (int32_t i = 0; i < g->n_outputs; i++)
        if (g->outputs[i] >= 0) {
            s->edge[g->outputs[i]] |= 2;
            s->uses[g->outputs[i]]++;
        }
    for (int32_t n = 0; n < g->n_nodes; n++) {
        if (u->skipped[n]) continue;
        const ml_node_io *node = &g->nodes[n];
        for (int32_t i = 0; i < node->n_outputs; i++)
            if (node->outputs[i] >= 0 && s->first[node->outputs[i]] < 0)
                s->first[node->outputs[i]] = n;
        for (int32_t i = 0; i < node->n_inputs; i++)
            if (node->inputs[i] >= 0) {
                s->uses[node->inputs[i]]++;
                s->last[node->inputs[i]] = n;
            }
        s->first[g->n_tensors + n] = s->last[g->n_tensors + n] = n;
    }
    for (int32_t t = 0; t < g->n_tensors; t++)
        if (u->memory[t] == ML_MEMORY_PERSISTENT)
            s->first[t] = 0; /* variables exist before the first node */
    bool free_unread = (s->options & ML_FREE_UNREAD) != 0, all_given = inputs_are_fixed(s, u);
    for (int32_t t = 0; t < g->n_tensors; t++) {
        bool fixed = u->fixed[t] >= 0; /* then it is freed after its last reader */
        bool keep_input = (s->edge[t] & 1) && (s->options & ML_KEEP_INPUTS) && !fixed;
        bool kept = (s->edge[t] & 2) || keep_input || (s->options & ML_KEEP_ALL);
        if (kept || (s->last[t] < 0 && !free_unread && !fixed)) s->last[t] = ML_FOREVER;
        else if (s->last[t] < 0 && s->edge[t] & 1 && all_given) continue;
        else if (s->last[t] < s->first[t]) s->last[t] = s->first[t];
    }
}

/* TFLite: the input is read only here, and so is its root. Wide: this node is the last reader of
 * all tensors that share the place. A root lies in the arena, and is not kept as an input or an
 * output: it was the input of this function when the first tensor joined it. */
static bool may_overwrite(const ml_schedule *s, const ml_tensor_usage *u, int32_t n, int32_t input,
                          int32_t output, bool view) {
    int32_t root = s->root[input];
    if (u->memory[input] != ML_MEMORY_ARENA || u->memory[output] != ML_MEMORY_ARENA) return false;
    if (s->edge[output] & 2 || u->bytes[input] != u->bytes[output]) return false;
    if (u->fixed[output] != u->fixed[root])
        return false; /* a longer lifetime could overlap another fixed tensor */
    if (s->edge[input] && ((s->options & ML_KEEP_INPUTS) || s->edge[input] & 2)) return false;
    if (view) return true;
    if (u->pinned[input] == ML_PINNED || u->pinned[output] != ML_NOT_PINNED) return false;
    if (s->options & ML_SHARE_WIDE) return s->last[root] <= n;
    return !s->edge[input] && u->bytes[input] > 4 && s->uses[input] <= 1 && s->uses[root] <= 1;
}

static void share_in_place(ml_schedule *s, const ml_tensor_usage *u) {
    const ml_planner_graph *g = s->graph;
    if (s->options & ML_KEEP_ALL || !(s->options & (ML_SHARE_TFLITE | ML_SHARE_WIDE))) return;
    for (int32_t n = 0; n < g->n_nodes; n++) {
        const ml_node_io *node = &g->nodes[n];
        bool view = node->flags & ML_NODE_VIEW;
        if (u->skipped[n] || node->n_outputs == 0 || node->outputs[0] < 0) continue;
        if (!(s->options & ML_SHARE_WIDE) && !(node->flags & ML_NODE_TFLITE_SHARES)) continue;
        for (int32_t i = 0; i < node->n_inputs && i < (s->options & ML_SHARE_WIDE ? 8 : 3); i++) {
            int32_t input = node->inputs[i], output = node->outputs[0];
            if (input < 0 || !(node->flags & (ML_NODE_IN_PLACE << i)) ||
                !may_overwrite(s, u, n, input, output, view))
                continue;
            int32_t root = s->root[input];
            s->root[output] = root;
            if (s->last[output] > s->last[root]) s->last[root] = s->last[output];
            if (!view) s->uses[root] = s->uses[output] > 1 ? s->uses[output] : 1;
            else s->uses[root] += s->uses[output] - 1;
            break;
        }
    }
}

static void group_by_first(ml_schedule *s) {
    int32_t nodes = s->graph->n_nodes;
    memset(s->group, 0, (size_t)(nodes + 2) * sizeof s->group[0]);
    for (int32_t t = 0; t < s->count; t++)
        if (s->first[t] >= 0) s->group[s->first[t] + 1]++;
    for (int32_t n = 0; n <= nodes; n++) s->group[n + 1] += s->group[n];
    for (int32_t t = 0; t < s->count; t++)
        if (s->first[t] >= 0) s->by_first[s->group[s->first[t]]++] = t;
    for (int32_t n = nodes + 1; n > 0; n--) s->group[n] = s->group[n - 1];
    s->group[0] = 0;
}

void ml_schedule_find(ml_schedule *s, const ml_tensor_usage *usage) {
    find_lifetimes(s, usage);
    share_in_place(s, usage);
    group_by_first(s);
}
