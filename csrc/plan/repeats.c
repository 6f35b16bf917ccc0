/* repeats.c -- finds nodes that repeat an earlier one, and gives them its results.
 *
 * Prepare is pure: from parameters, shapes, types and known values to the same blob and the same
 * output shapes each time. So of two nodes between which all of these are equal only one has to be
 * prepared. What the file decides is compared once for a graph, shapes in each plan.
 *
 * A constant is compared byte by byte, because prepare may read axes, sizes or paddings in it. But
 * weights, biases and scales differ from layer to layer, so kernels say what their prepare reads of
 * them (ml_kernel.prepare_reads). */
#include "plan/repeats.h"

#include <stdlib.h>

enum { MOST_BYTES = 256 }; /* of a constant that is compared: axes, sizes and paddings have fewer */

static bool same_bytes(const void *a, const void *b, size_t bytes) {
    return a == b || bytes == 0 || (a && b && memcmp(a, b, bytes) == 0);
}

static const ml_quantization *quantization_of(const ml_graph *g, const ml_tensor_def *def) {
    static const ml_quantization none = {0};
    return def->quantization < 0 ? &none : &g->quantizations[def->quantization];
}

static bool same_quantization(const ml_quantization *a, const ml_quantization *b) {
    return a->n_zero_points == b->n_zero_points && a->n_scales == b->n_scales &&
           a->dimension == b->dimension && a->block_size == b->block_size &&
           same_bytes(a->zero_points, b->zero_points,
                      (size_t)a->n_zero_points * sizeof *a->zero_points) &&
           same_bytes(a->scales, b->scales, (size_t)a->n_scales * sizeof *a->scales);
}

/* True if all that prepare may read of two tensors is equal. If the kernel tells itself what it
 * reads of values and quantization (`told`), these are not compared. The shapes that the file has
 * for computed tensors prove nothing for other sizes, but tell layers of different widths apart. */
static bool same_operand(const ml_graph *g, const ml_subgraph *sub, int32_t a, int32_t b,
                         bool told) {
    if (a < 0 || b < 0) return a == b;
    const bool constant = sub->slots[a] < 0;
    const ml_tensor_def *x = &sub->tensors[a], *y = &sub->tensors[b];
    if (constant != (sub->slots[b] < 0) || x->type != y->type || x->flags != y->flags) return false;
    if (!told && !same_quantization(quantization_of(g, x), quantization_of(g, y))) return false;
    if (!constant) return ml_same_shape(&x->shape, &y->shape);
    const ml_tensor *row = &sub->constants[~sub->slots[a]],
                    *other = &sub->constants[~sub->slots[b]];
    if (!ml_same_shape(&row->shape, &other->shape) || row->bytes != other->bytes) return false;
    return told || row->known == other->known ||
           (row->bytes <= MOST_BYTES && same_bytes(row->known, other->known, (size_t)row->bytes));
}

static bool may_repeat(const ml_node *node) {
    const int32_t excluded = ML_KERNEL_HAS_EFFECTS | ML_KERNEL_SETS_SHAPES;
    return node->typed && !(node->kernel->flags & excluded) && node->kernel->memory_bytes == 0 &&
           node->n_children == 0 && node->part_of < 0;
}

static bool repeats(const ml_graph *g, const ml_subgraph *sub, const ml_node *a, const ml_node *b) {
    const ml_node_io *x = a->io, *y = b->io;
    if (a->kernel != b->kernel || a->typed != b->typed || x->flags != y->flags ||
        x->n_inputs != y->n_inputs || x->n_outputs != y->n_outputs ||
        !same_bytes(a->params, b->params, (size_t)a->kernel->params_bytes))
        return false;
    const bool told = a->kernel->prepare_reads != NULL;
    for (int32_t i = 0; i < x->n_inputs; i++)
        if (!same_operand(g, sub, x->inputs[i], y->inputs[i], told)) return false;
    for (int32_t i = 0; i < x->n_outputs; i++)
        if (!same_operand(g, sub, x->outputs[i], y->outputs[i], told)) return false;
    return true;
}

/* A hash of everything that is cheap to compare. */
static uint32_t hash_of(const ml_subgraph *sub, const ml_node *node, int64_t reads) {
    uint64_t hash = (uint64_t)(uintptr_t)node->typed ^ (uint64_t)reads;
    for (int32_t i = 0; i < node->io->n_inputs; i++) {
        const int32_t t = node->io->inputs[i], slot = t < 0 ? 0 : sub->slots[t];
        hash = (hash ^ (slot < 0 ? (uint64_t)sub->constants[~slot].bytes : 1)) * 1099511628211u;
    }
    return (uint32_t)(hash ^ hash >> 32);
}

static int64_t reads_of(const ml_graph *g, int32_t subgraph, int32_t n) {
    const ml_subgraph *sub = &g->subgraphs[subgraph];
    const ml_node *node = &sub->nodes[n];
    if (!node->kernel->prepare_reads) return 0;
    ml_error ignored = ML_NO_ERROR;
    ml_engine planning = {.graph = g, .core = &ml_planning_core, .simd = g->simd};
    struct ml_frame_engine engine = {.engine = &planning, .subgraph = subgraph};
    const ml_env env = ml_env_of_file(&engine, (ml_tensor *)(uintptr_t)sub->fresh, &ignored);
    const ml_call call = ml_call_of_file(&env, node, n);
    return node->kernel->prepare_reads(&call);
}

/* Kinds of one hash are chained, the newest first. Only the newest ones are compared, so that files
 * of many nodes that differ in little take no longer than others. */
typedef struct kind {
    int64_t reads;
    int32_t next; /* node: the kind before, of the same hash; -1 = none */
    int32_t latest; /* its latest node so far */
} kind;

static void find_repeats(const ml_graph *g, int32_t s, int32_t *earlier, kind *kinds) {
    enum { BUCKETS = 256, MOST_COMPARED = 16 };
    const ml_subgraph *sub = &g->subgraphs[s];
    int32_t newest[BUCKETS];
    memset(newest, -1, sizeof newest);
    for (int32_t n = 0; n < sub->io.n_nodes; n++) {
        const ml_node *node = &sub->nodes[n];
        earlier[n] = -1;
        if (!may_repeat(node)) continue;
        const int64_t reads = reads_of(g, s, n);
        int32_t *bucket = &newest[hash_of(sub, node, reads) % BUCKETS], m = *bucket, compared = 0;
        while (m >= 0 && (kinds[m].reads != reads || !repeats(g, sub, &sub->nodes[m], node)))
            m = ++compared < MOST_COMPARED ? kinds[m].next : -1;
        if (m >= 0) {
            earlier[n] = kinds[m].latest;
            kinds[m].latest = n;
            continue;
        }
        kinds[n] = (kind){.reads = reads, .next = *bucket, .latest = n};
        *bucket = n;
    }
}

int32_t *ml_repeats_find(const ml_graph *g) {
    int32_t *earlier = malloc(((size_t)g->n_nodes + 1) * sizeof *earlier);
    kind *kinds = malloc(((size_t)g->n_nodes + 1) * sizeof *kinds);
    for (int32_t s = 0; earlier && kinds && s < g->n_subgraphs; s++)
        find_repeats(g, s, earlier + (g->subgraphs[s].nodes - g->nodes), kinds);
    if (!kinds) {
        free(earlier);
        earlier = NULL;
    }
    free(kinds);
    return earlier;
}

/* The row of an operand that has a slot; NULL for constants and absent ones. */
static inline ml_tensor *slot_row(const ml_env *env, int32_t tensor) {
    const int32_t slot = tensor < 0 ? -1 : env->slots[tensor];
    return slot < 0 ? NULL : &env->tensors[slot];
}

/* A known value is left to prepare, and to folding. The earlier node's inputs had their shapes, as
 * it runs. */
bool ml_repeat_node(const ml_call *c, int32_t earlier, ml_node_plan *row) {
    const struct ml_frame_engine *fe = c->env->engine;
    const ml_node *from = &fe->nodes[earlier];
    const ml_node_plan *result = row - ((int32_t)c->node - earlier);
    const int32_t *theirs = from->io->inputs;
    if (result->stale || result->open || result->status != ML_NODE_RUNS) return false;
    for (int32_t i = 0; i < c->n_inputs; i++) {
        const ml_tensor *t = slot_row(c->env, c->inputs[i]);
        if (!t) continue;
        const ml_tensor *other = slot_row(c->env, theirs[i]);
        if (!t->shaped || t->known || !ml_same_shape(&t->shape, &other->shape)) return false;
    }
    for (int32_t i = c->n_inputs; i < c->n_inputs + c->n_outputs; i++) {
        ml_tensor *t = slot_row(c->env, c->inputs[i]);
        const ml_tensor *other = slot_row(c->env, theirs[i]);
        t->shape = other->shape;
        t->bytes = other->bytes;
        t->shaped = 1;
        t->dynamic = 0;
    }
    const uint8_t *blob =
        (const uint8_t *)c->blob - fe->nodes[c->node].blob_start + from->blob_start;
    memcpy(c->blob, blob, (size_t)from->kernel->blob_bytes);
    *row = *result;
    return true;
}
