/* structure.c -- a hash of what a file says of its subgraphs, without the values of constants. */
#include "api/minilite.h"
#include "core/hash.h"

static uint64_t hash_ints(uint64_t hash, const int32_t *numbers, int64_t count) {
    return ml_hash(hash, numbers, count * (int64_t)sizeof *numbers);
}

/* Constants of the file by their place, for it says which values they have; copies by value. */
static uint64_t hash_tensor(uint64_t hash, const ml_tensor_row *t) {
    const ml_quantization *q = &t->quantization;
    const int64_t numbers[] = {t->bytes,     t->data_at,   t->sparsity_at,   t->type,
                               t->rank,      t->flags,     t->scales_tensor, t->zero_points_tensor,
                               q->dimension, q->block_size};
    hash = ml_hash(hash, numbers, (int64_t)sizeof numbers);
    hash = hash_ints(hash, t->shape, t->rank);
    hash = ml_hash(hash, q->scales, q->n_scales * (int64_t)sizeof *q->scales);
    hash = ml_hash(hash, q->zero_points, q->n_zero_points * (int64_t)sizeof *q->zero_points);
    return t->data && t->data_at < 0 ? ml_hash(hash, t->data, t->bytes) : hash;
}

static uint64_t hash_node(uint64_t hash, const ml_node_row *n) {
    const int64_t numbers[] = {n->op, n->code, n->version, n->custom_options.bytes};
    hash = ml_hash(hash, numbers, (int64_t)sizeof numbers);
    hash = hash_ints(hash, n->inputs, n->n_inputs);
    hash = hash_ints(hash, n->outputs, n->n_outputs);
    for (int32_t i = 0; i < n->n_options; i++) {
        hash = ml_hash_word(hash, (uint64_t)n->options[i].integer);
        hash = ml_hash_word(hash, (uint64_t)n->options[i].count);
    }
    return hash;
}

uint64_t ml_file_structure(const ml_file *file) {
    uint64_t hash = ml_hash_word(ML_HASH_START, (uint64_t)file->bytes);
    for (int32_t s = 0; s < file->n_subgraphs; s++) {
        const ml_subgraph_row *sub = &file->subgraphs[s];
        hash = ml_hash_word(hash, (uint64_t)sub->n_tensors);
        for (int32_t t = 0; t < sub->n_tensors; t++) hash = hash_tensor(hash, &sub->tensors[t]);
        for (int32_t n = 0; n < sub->n_nodes; n++) hash = hash_node(hash, &sub->nodes[n]);
        hash = hash_ints(hash, sub->inputs, sub->n_inputs);
        hash = hash_ints(hash, sub->outputs, sub->n_outputs);
    }
    return hash;
}
