/* graph.c -- ml_graph: copies the loading description and makes the frames, one for each place
 * where a subgraph is called. */
#include "graph/graph.h"

#include <stdlib.h>

#include "graph/inputs.h"
#include "os/os.h"

static void *copy_bytes(const void *source, int64_t bytes) {
    void *copy = malloc(bytes ? (size_t)bytes : 1);
    if (copy && bytes) memcpy(copy, source, (size_t)bytes);
    return copy;
}

static void copy_node(ml_graph *g, const ml_graph_def *def, int64_t number, ml_subgraph *to,
                      int32_t position) {
    const ml_node_def *d = &def->nodes[number];
    const int32_t *io = g->io + d->io_start;
    ml_node_io *node_io = &g->node_io[number];
    *node_io = (ml_node_io){io, io + d->n_inputs, d->n_inputs, d->n_outputs, d->flags, 0};
    bool in_c = d->typed >= 0 && !(d->flags & ML_NODE_PYTHON);
    to->nodes[position] = (ml_node){.kernel = d->kernel,
                                    .typed = in_c ? &d->kernel->typed[d->typed] : NULL,
                                    .params = g->params + d->params_start,
                                    .io = node_io,
                                    .blob_start = to->blob_bytes,
                                    .memory_start = to->memory_bytes,
                                    .index = d->index,
                                    .handler = d->handler,
                                    .pack_start = -1,
                                    .child_start = to->n_children,
                                    .n_children = d->n_subgraphs,
                                    .part_of = -1,
                                    .subgraphs = io + d->n_inputs + d->n_outputs};
    if (in_c && to->nodes[position].typed->pack) to->nodes[position].pack_start = to->n_packs++;
    to->blob_bytes += ml_round_up(d->kernel->blob_bytes, 8);
    to->memory_bytes += ml_round_up(d->kernel->memory_bytes, 64);
    to->n_children += d->n_subgraphs;
}

/* Copies the nodes of all subgraphs; they point to their parameters and tensor numbers. */
static void copy_subgraphs(ml_graph *g, const ml_graph_def *def) {
    int64_t tensor = 0, node = 0;
    for (int32_t s = 0; s < def->n_subgraphs; s++) {
        const ml_subgraph_def *from = &def->subgraphs[s];
        ml_subgraph *to = &g->subgraphs[s];
        to->tensors = g->tensor_defs + tensor;
        to->nodes = g->nodes + node;
        to->io = (ml_planner_graph){g->node_io + node,
                                    g->io + from->inputs_start,
                                    g->io + from->outputs_start,
                                    from->n_nodes,
                                    from->n_tensors,
                                    from->n_inputs,
                                    from->n_outputs};
        for (int32_t n = 0; n < from->n_nodes; n++) copy_node(g, def, node + n, to, n);
        for (int32_t t = 0; t < from->n_tensors; t++)
            to->planned_offline |= to->tensors[t].offline_offset >= 0;
        tensor += from->n_tensors;
        node += from->n_nodes;
    }
}

/* Counts the readers of every slot after `start`, then lists them in ascending order. */
static int32_t list_readers(const ml_subgraph *sub, int32_t *start, int32_t *readers,
                            int32_t *seen) {
    for (int32_t slot = 0; slot <= sub->n_slots; slot++) start[slot] = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int32_t slot = 0; slot < sub->n_slots; slot++) seen[slot] = -1;
        for (int32_t n = 0; n < sub->io.n_nodes; n++) {
            const ml_node_io *io = sub->nodes[n].io;
            for (int32_t i = 0; i < io->n_inputs; i++) {
                int32_t slot = sub->slots[io->inputs[i]];
                if (slot < 0 || seen[slot] == n) continue;
                seen[slot] = n;
                if (pass == 0) start[slot + 1]++;
                else readers[start[slot]++] = n;
            }
        }
        if (pass == 0)
            for (int32_t slot = 0; slot < sub->n_slots; slot++) start[slot + 1] += start[slot];
    }
    int32_t total = sub->n_slots > 0 ? start[sub->n_slots - 1] : 0;
    for (int32_t slot = sub->n_slots; slot > 0; slot--) start[slot] = start[slot - 1];
    start[0] = 0;
    return total;
}

static int64_t count_inputs(const ml_subgraph *sub) {
    int64_t inputs = 0;
    for (int32_t n = 0; n < sub->io.n_nodes; n++) inputs += sub->nodes[n].io->n_inputs;
    return inputs;
}

/* The first row of a tensor that is not a constant; only variables have a shape already. */
static ml_tensor fresh_row(const ml_tensor_def *def, int32_t number) {
    bool variable = (def->flags & ML_TENSOR_VARIABLE) != 0;
    return (ml_tensor){.offset = -1,
                       .bytes = variable ? ml_bytes_of(ml_elements(&def->shape), def->type) : 0,
                       .shape = def->shape,
                       .root = number,
                       .type = (uint8_t)def->type,
                       .dynamic = !variable, /* until planning finds out */
                       .storage = def->flags & ML_TENSOR_HIDDEN ? ML_STORAGE_NONE
                                  : ml_type_is_heap(def->type)  ? ML_STORAGE_HEAP
                                  : variable                    ? ML_STORAGE_PERSISTENT
                                                                : ML_STORAGE_ARENA,
                       .shaped = variable};
}

/* Allocates one block for last_packed and for `words` of index tables. */
static bool allocate_tables(ml_graph *g, int64_t words) {
    int64_t packs = 0;
    for (int32_t s = 0; s < g->n_subgraphs; s++) packs += g->subgraphs[s].n_packs;
    g->last_packed =
        calloc(1, (size_t)packs * sizeof *g->last_packed + (size_t)words * sizeof *g->index_tables);
    if (!g->last_packed) return false;
    g->index_tables = (int32_t *)(void *)(g->last_packed + packs);
    for (int64_t i = 0; i < packs; i++) atomic_init(&g->last_packed[i], NULL);
    packs = 0;
    for (int32_t s = 0; s < g->n_subgraphs; s++) {
        g->subgraphs[s].last_packed = g->last_packed + packs;
        packs += g->subgraphs[s].n_packs;
    }
    return true;
}

/* Assigns rows to constants and slots to other tensors, lists the readers of each slot, and judges
 * inputs. */
static ml_status index_tensors(ml_graph *g, ml_error *error) {
    int64_t words = 0, constants = 1, all = 1, most = 0;
    for (int32_t s = 0; s < g->n_subgraphs; s++) {
        const ml_subgraph *sub = &g->subgraphs[s];
        words += 3 * (int64_t)sub->io.n_tensors + 4 + count_inputs(sub) + sub->io.n_inputs;
        most = sub->io.n_tensors > most ? sub->io.n_tensors : most;
        for (int32_t t = 0; t < sub->io.n_tensors; t++) constants += sub->tensors[t].data != NULL;
        all += sub->io.n_tensors;
    }
    bool tables = allocate_tables(g, words + most);
    g->constants = calloc((size_t)constants, sizeof *g->constants);
    g->fresh = calloc((size_t)(all - constants + 1), sizeof *g->fresh);
    if (!tables || !g->constants || !g->fresh) return ml_error_refused(error, "a graph's tables");
    int32_t *at = g->index_tables;
    ml_tensor *constant = g->constants + 1, *fresh = g->fresh;
    for (int32_t s = 0; s < g->n_subgraphs; s++) {
        ml_subgraph *sub = &g->subgraphs[s];
        int32_t *slots = at + 1, *numbers = slots + sub->io.n_tensors;
        slots[-1] = ~0; /* the absent tensor */
        sub->fresh = fresh;
        for (int32_t t = 0; t < sub->io.n_tensors; t++) {
            const ml_tensor_def *def = &sub->tensors[t];
            if (!def->data) {
                numbers[sub->n_slots] = t;
                slots[t] = sub->n_slots++;
                *fresh++ = fresh_row(def, t);
                continue;
            }
            *constant = (ml_tensor){.known = def->data,
                                    .offset = -1,
                                    .bytes = def->bytes,
                                    .shape = def->shape,
                                    .root = t,
                                    .type = (uint8_t)def->type,
                                    .storage = ML_STORAGE_CONSTANT,
                                    .shaped = 1};
            slots[t] = ~(int32_t)(constant++ - g->constants);
        }
        int32_t *start = numbers + sub->n_slots, *readers = start + sub->n_slots + 1;
        sub->slots = slots;
        sub->numbers = numbers;
        sub->constants = g->constants;
        int32_t *uses = readers + list_readers(sub, start, readers, g->index_tables + words);
        sub->reader_start = start;
        sub->readers = readers;
        ml_inputs_judge(sub, uses, g->index_tables + words);
        sub->input_uses = uses;
        at = uses + sub->io.n_inputs;
    }
    return ML_OK;
}

/* True if `parent` may call `subgraph`: not in a cycle, and not deeper than stacks allow. */
static ml_status check_depth(const ml_graph *g, int32_t subgraph, int32_t parent, ml_error *error) {
    int32_t depth = 0;
    for (int32_t f = parent; f >= 0; f = g->frames[f].parent, depth++)
        if (g->frames[f].subgraph == subgraph)
            return ml_error_set(error, ML_GRAPH_ERROR,
                                "subgraph %d calls itself: recursion is not supported", subgraph);
    if (depth <= ML_MAX_DEPTH) return ML_OK;
    return ml_error_set(error, ML_GRAPH_ERROR,
                        "subgraph %d lies %d calls deep, at most %d are supported", subgraph, depth,
                        ML_MAX_DEPTH);
}

/* Adds the frame that runs `subgraph` for `node` of `parent`, then the frames of its own calls. */
static ml_status add_frame(ml_graph *g, int32_t subgraph, int32_t parent, int32_t node,
                           ml_error *error, int32_t *number) {
    if (check_depth(g, subgraph, parent, error) != ML_OK) return ML_GRAPH_ERROR;
    if (g->n_frames == ML_MAX_FRAMES)
        return ml_error_set(error, ML_GRAPH_ERROR, "subgraphs are called from more than %d places",
                            ML_MAX_FRAMES);
    const ml_subgraph *sub = &g->subgraphs[subgraph];
    int64_t tensors = (int64_t)g->total_tensors + sub->io.n_tensors,
            nodes = (int64_t)g->total_nodes + sub->io.n_nodes;
    if (g->n_frames > 0 && (tensors > ML_MAX_UNFOLDED || nodes > ML_MAX_UNFOLDED))
        return ml_error_set(
            error, ML_GRAPH_ERROR,
            "calls of subgraphs expand to %lld tensors and %lld nodes, at most %d of each are supported",
            (long long)tensors, (long long)nodes, ML_MAX_UNFOLDED);
    ml_frame *frames = realloc(g->frames, (size_t)(g->n_frames + 1) * sizeof *frames);
    int32_t *children =
        realloc(g->children, (size_t)(g->total_children + sub->n_children + 1) * sizeof *children);
    if (frames) g->frames = frames;
    if (children) g->children = children;
    if (!frames || !children) return ml_error_refused(error, "a graph's frames");
    int32_t frame = *number = g->n_frames++;
    g->frames[frame] = (ml_frame){.subgraph = subgraph,
                                  .parent = parent,
                                  .parent_node = node,
                                  .tensor_base = g->total_tensors + 1,
                                  .slot_base = g->total_slots,
                                  .node_base = g->total_nodes,
                                  .child_base = g->total_children,
                                  .pack_base = g->total_packs,
                                  .blob_base = g->blob_bytes,
                                  .memory_base = g->memory_bytes};
    g->total_tensors += sub->io.n_tensors + 1;
    g->total_slots += sub->n_slots;
    g->total_nodes += sub->io.n_nodes;
    g->total_children += sub->n_children;
    g->total_packs += sub->n_packs;
    g->blob_bytes += sub->blob_bytes;
    g->memory_bytes += sub->memory_bytes;
    for (int32_t t = 0; t < sub->io.n_tensors; t++) {
        g->n_heap += sub->slots[t] >= 0 && ml_type_is_heap(sub->tensors[t].type);
        g->n_centered += ml_first_byte(g, &sub->tensors[t]) != 0;
    }
    for (int32_t n = 0; n < sub->io.n_nodes; n++)
        for (int32_t k = 0; k < sub->nodes[n].n_children; k++) {
            int32_t child;
            ml_status status = add_frame(g, sub->nodes[n].subgraphs[k], frame, n, error, &child);
            if (status != ML_OK) return status;
            g->children[g->frames[frame].child_base + sub->nodes[n].child_start + k] = child;
        }
    return ML_OK;
}

static ml_status fill(ml_graph *g, const ml_graph_def *def, int64_t tensors, int64_t nodes,
                      ml_error *errors, int32_t n_errors) {
    g->n_subgraphs = def->n_subgraphs;
    g->n_resources = def->n_resources;
    g->n_nodes = nodes;
    g->simd = def->simd;
    g->fast_convolutions = def->fast_convolutions != 0;
    g->store = ml_store_hold(def->store);
    g->subgraphs = calloc((size_t)def->n_subgraphs, sizeof *g->subgraphs);
    g->nodes = calloc((size_t)nodes + 1, sizeof *g->nodes);
    g->node_io = calloc((size_t)nodes + 1, sizeof *g->node_io);
    g->tensor_defs = copy_bytes(def->tensors, tensors * (int64_t)sizeof *def->tensors);
    g->io = copy_bytes(def->io, def->n_io * (int64_t)sizeof *def->io);
    g->quantizations =
        copy_bytes(def->quantizations, def->n_quantizations * (int64_t)sizeof *def->quantizations);
    g->params = copy_bytes(def->params, def->params_bytes);
    if (ml_store_new(&g->own, errors) != ML_OK) return ML_ARENA_ERROR;
    ml_store_share_files(g->store, g->own);
    if (!g->subgraphs || !g->nodes || !g->node_io || !g->tensor_defs || !g->io || !g->params ||
        !g->quantizations)
        return ml_error_refused(errors, "a graph");
    int32_t root;
    copy_subgraphs(g, def);
    ml_status status = def->fuses ? ml_graph_fuse(g, errors) : ML_OK;
    if (status == ML_OK && def->fuses) status = ml_graph_borrow(g, errors);
    if (status == ML_OK) status = index_tensors(g, errors);
    if (status == ML_OK) status = add_frame(g, def->root, -1, -1, errors, &root);
    if (status == ML_OK) status = ml_graph_derive(g, errors, n_errors);
    return status == ML_OK ? ml_graph_grant_larger(g, def->larger_bytes, errors) : status;
}

ml_status ml_graph_new(const ml_graph_def *def, ml_graph **graph, ml_error *errors,
                       int32_t n_errors) {
    *graph = NULL;
    ml_status status = ml_graph_check(def, errors);
    if (status != ML_OK) return status;
    int64_t tensors = 0, nodes = 0;
    for (int32_t s = 0; s < def->n_subgraphs; s++) {
        tensors += def->subgraphs[s].n_tensors;
        nodes += def->subgraphs[s].n_nodes;
    }
    ml_graph *g = calloc(1, sizeof *g);
    if (!g) return ml_error_memory(errors, "a graph", (int64_t)sizeof *g, 0);
    atomic_init(&g->holders, 1);
    status = fill(g, def, tensors, nodes, errors, n_errors);
    if (status == ML_OK) *graph = g;
    else ml_graph_free(g);
    return status;
}

/* The position of the main subgraph's node for which a frame is run. */
static int32_t node_of_frame(const ml_graph *g, int32_t frame) {
    while (g->frames[frame].parent > 0) frame = g->frames[frame].parent;
    return g->frames[frame].parent_node;
}

const void *ml_graph_params(const ml_graph *g, int32_t position, int32_t *bytes) {
    const ml_subgraph *sub = ml_frame_subgraph(g, 0);
    const bool has = position >= 0 && position < sub->io.n_nodes;
    *bytes = has ? sub->nodes[position].kernel->params_bytes : 0;
    return has ? sub->nodes[position].params : NULL;
}

int32_t ml_graph_memories(const ml_graph *g, ml_memory_row *rows, int32_t room) {
    int32_t found = 0;
    for (int32_t frame = 0; frame < g->n_frames; frame++) {
        const ml_subgraph *sub = ml_frame_subgraph(g, frame);
        for (int32_t n = 0; n < sub->io.n_nodes && sub->memory_bytes > 0; n++) {
            const int64_t bytes = ml_round_up(sub->nodes[n].kernel->memory_bytes, 64);
            if (bytes == 0 || found++ >= room) continue;
            const int32_t at = frame > 0 ? node_of_frame(g, frame) : n;
            rows[found - 1] =
                (ml_memory_row){.start = g->frames[frame].memory_base + sub->nodes[n].memory_start,
                                .bytes = bytes,
                                .node = ml_frame_subgraph(g, 0)->nodes[at].index};
        }
    }
    return found;
}

ml_graph *ml_graph_hold(const ml_graph *graph) {
    ml_graph *g = (ml_graph *)(uintptr_t)graph; /* only the count changes */
    atomic_fetch_add(&g->holders, 1);
    return g;
}

void ml_graph_free(ml_graph *g) {
    if (!g || atomic_fetch_sub(&g->holders, 1) > 1) return;
    for (int64_t n = 0; g->nodes && n < g->n_nodes; n++) ml_os_free(g->nodes[n].derived);
    ml_store_free(g->own);
    ml_store_free(g->store);
    free(g->subgraphs);
    free(g->nodes);
    free(g->node_io);
    free(g->frames);
    free(g->children);
    free(g->tensor_defs);
    free(g->io);
    free(g->params);
    free(g->fused_params);
    free(g->quantizations);
    free(g->constants);
    free(g->fresh);
    free(g->last_packed);
    free(g);
}
