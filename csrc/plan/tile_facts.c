/* tile_facts.c -- finds the facts of a plan that the search for tiles needs. */
#include "plan/tile_facts.h"

#include <stdlib.h>

static ml_status allocate(const ml_plan *plan, ml_tile_facts *f, ml_error *error) {
    const int64_t nodes = f->n_nodes + (int64_t)1, tensors = f->sub->io.n_tensors;
    const int64_t bytes = nodes * (int64_t)(3 * sizeof(int64_t) + sizeof(double)) +
                          (2 * tensors + 1) * (int64_t)sizeof(int32_t);
    char *block = calloc((size_t)bytes, 1);
    if (!block) return ml_error_memory(error, "a search for tiles", bytes, 0);
    f->live = (int64_t *)(void *)block;
    f->scratch = f->live + nodes;
    f->across = f->scratch + nodes;
    f->work = (double *)(f->across + nodes);
    f->made = (int32_t *)(f->work + nodes);
    f->last = f->made + tensors;
    return ML_OK;
}

/* The first and last node of each tensor, as schedule.c finds them, without sharing. */
static void find_lives(ml_tile_facts *f) {
    const ml_planner_graph *io = &f->sub->io;
    const int32_t options = f->plan->options;
    for (int32_t t = 0; t < io->n_tensors; t++) f->made[t] = f->last[t] = -1;
    for (int32_t n = 0; n < io->n_nodes; n++) {
        if (ml_tile_skips(f, n)) continue;
        for (int32_t i = 0; i < io->nodes[n].n_inputs; i++)
            if (io->nodes[n].inputs[i] >= 0) f->last[io->nodes[n].inputs[i]] = n;
        for (int32_t i = 0; i < io->nodes[n].n_outputs; i++)
            if (io->nodes[n].outputs[i] >= 0) f->made[io->nodes[n].outputs[i]] = n;
    }
    for (int32_t t = 0; t < io->n_tensors; t++)
        if (f->last[t] < 0) f->last[t] = options & ML_FREE_UNREAD ? f->made[t] : ML_FOREVER;
    for (int32_t i = 0; i < io->n_inputs && options & ML_KEEP_INPUTS; i++)
        f->last[io->inputs[i]] = ML_FOREVER;
    for (int32_t i = 0; i < io->n_outputs; i++) f->last[io->outputs[i]] = ML_FOREVER;
}

/* Adds up `bytes` from index `first` on, no longer after `last`: sums are made later. */
static void add_between(int64_t *table, int32_t n, int32_t first, int32_t last, int64_t bytes) {
    if (first > last || first >= n) return;
    table[first < 0 ? 0 : first] += bytes;
    if (last < n - 1) table[last + 1] -= bytes;
}

static void sum_up(int64_t *table, int32_t n) {
    for (int32_t i = 1; i < n; i++) table[i] += table[i - 1];
}

/* Tensors that share a place are one record, from the first that is made to the last read. */
static ml_status find_across(ml_tile_facts *f, ml_error *error) {
    const int32_t n_tensors = f->sub->io.n_tensors;
    int32_t *made = malloc((size_t)(2 * n_tensors + 1) * sizeof *made), *last = made + n_tensors;
    if (!made) return ml_error_memory(error, "a search for tiles", 8 * (int64_t)n_tensors, 0);
    for (int32_t t = 0; t < n_tensors; t++) made[t] = f->made[t], last[t] = f->last[t];
    for (int32_t t = 0; t < n_tensors; t++) {
        const ml_tensor *row = ml_tile_tensor(f, t);
        if (row->storage != ML_STORAGE_ARENA) continue;
        if (f->made[t] < made[row->root]) made[row->root] = f->made[t];
        if (f->last[t] > last[row->root]) last[row->root] = f->last[t];
    }
    for (int32_t t = 0; t < n_tensors; t++) {
        const ml_tensor *row = ml_tile_tensor(f, t);
        if (row->storage == ML_STORAGE_ARENA && row->root == t)
            add_between(f->across, f->n_nodes, made[t] + 1, last[t],
                        ml_round_up(row->bytes, ML_ALIGNMENT));
    }
    sum_up(f->across, f->n_nodes);
    free(made);
    return ML_OK;
}

static ml_status find_live(ml_tile_facts *f, ml_error *error) {
    const int32_t n_tensors = f->sub->io.n_tensors, room = ml_plan_records(f->plan, 0, NULL, 0);
    ml_record *records = malloc(((size_t)room + 1) * sizeof *records);
    if (!records)
        return ml_error_memory(error, "a search for tiles", room * (int64_t)sizeof *records, 0);
    ml_plan_records(f->plan, 0, records, room);
    for (int32_t i = 0; i < room; i++) {
        const int64_t size = ml_round_up(records[i].size, ML_ALIGNMENT);
        add_between(f->live, f->n_nodes, records[i].first, records[i].last, size);
        if (records[i].tensor >= n_tensors) f->scratch[records[i].tensor - n_tensors] = size;
    }
    sum_up(f->live, f->n_nodes);
    for (int32_t n = 0; n < f->n_nodes; n++) f->most_live = ml_max_s64(f->most_live, f->live[n]);
    free(records);
    return ML_OK;
}

double ml_tile_work(const ml_node *node, const ml_operand_shapes *of) {
    return (double)(node->kernel->multiply_adds ? node->kernel->multiply_adds(of)
                                                : ml_elements(of->output));
}

static void find_work(ml_tile_facts *f) {
    enum { MOST = 8 };
    ml_shape inputs[MOST] = {{0}};
    for (int32_t n = 0; n < f->n_nodes; n++) {
        const ml_node_io *io = f->sub->nodes[n].io;
        if (f->nodes[n].status != ML_NODE_RUNS || io->n_outputs < 1 || io->outputs[0] < 0) continue;
        const int32_t count = io->n_inputs < MOST ? io->n_inputs : MOST;
        for (int32_t i = 0; i < count; i++)
            inputs[i] = io->inputs[i] < 0 ? (ml_shape){0} : ml_tile_tensor(f, io->inputs[i])->shape;
        const ml_operand_shapes of = {inputs, count, &ml_tile_tensor(f, io->outputs[0])->shape};
        if (!ml_tile_tensor(f, io->outputs[0])->shaped) continue;
        f->work[n] = ml_tile_work(&f->sub->nodes[n], &of);
        f->all_work += f->work[n];
    }
}

ml_status ml_tile_lives_find(const ml_plan *plan, ml_tile_facts *f, ml_error *error) {
    const ml_subgraph *sub = ml_frame_subgraph(plan->graph, 0);
    *f = (ml_tile_facts){.plan = plan,
                         .sub = sub,
                         .nodes = plan->rows.nodes + plan->graph->frames[0].node_base,
                         .n_nodes = sub->io.n_nodes};
    ml_status status = allocate(plan, f, error);
    if (status == ML_OK) find_lives(f);
    return status;
}

ml_status ml_tile_facts_find(const ml_plan *plan, ml_tile_facts *f, ml_error *error) {
    ml_status status = ml_tile_lives_find(plan, f, error);
    if (status != ML_OK) return status;
    find_work(f);
    status = find_live(f, error);
    if (status == ML_OK) status = find_across(f, error);
    if (status != ML_OK) ml_tile_facts_free(f);
    return status;
}

void ml_tile_facts_free(ml_tile_facts *f) {
    free(f->live);
    f->live = NULL;
}
