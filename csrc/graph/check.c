/* check.c -- checks the description of a graph before it is copied: every index, dimension and
 * count, and the order in which tensors are computed.
 *
 * One rule prevents most invalid writes: each tensor is computed by at most one node, which comes
 * before all its readers; constants, variables and inputs of the subgraph are computed by none.
 * (Kernels that keep state write their variable inputs.) */
#include <stdlib.h>

#include "core/strings.h"
#include "graph/graph.h"

/* State of a tensor while the nodes are checked in order. */
enum { UNSEEN = 0, THERE = 1, CONSTANT = 2, INPUT = 3, VARIABLE = 4, COMPUTED = 5 };

static ml_status refuse(ml_error *error, int32_t subgraph, int32_t node) {
    error->subgraph = subgraph;
    error->node = node;
    return (ml_status)error->status;
}

static ml_status refuse_tensor(ml_error *error, int32_t subgraph, int32_t node, int32_t tensor,
                               const ml_shape *shape) {
    ml_error_about(error, tensor, shape);
    return refuse(error, subgraph, node);
}

static ml_status check_tensor(const ml_graph_def *def, const ml_tensor_def *t, int32_t s,
                              int32_t number, ml_error *error) {
    char text[96];
    if (t->shape.rank < 0 || t->shape.rank > ML_MAX_RANK) {
        ml_error_set(error, ML_GRAPH_ERROR, ML_FIRST " has rank %d, at most %d is supported",
                     t->shape.rank, ML_MAX_RANK);
        return refuse_tensor(error, s, -1, number, NULL);
    }
    if (t->quantization < -1 || t->quantization >= def->n_quantizations) {
        ml_error_set(error, ML_GRAPH_ERROR, ML_FIRST " refers to quantization %d of %d",
                     t->quantization, def->n_quantizations);
        return refuse_tensor(error, s, -1, number, NULL);
    }
    bool fixed = t->data || t->flags & ML_TENSOR_VARIABLE;
    int64_t elements = ml_elements(&t->shape);
    for (int32_t d = 0; fixed && d < t->shape.rank; d++)
        if (t->shape.dims[d] < 0) elements = -1;
    if (fixed && elements < 0) {
        ml_error_set(error, ML_GRAPH_ERROR,
                     ML_FIRST ", a %s, has the shape %s: no dimension may be negative or overflow",
                     t->data ? "constant" : "variable", ml_shape_text(&t->shape, text));
        return refuse_tensor(error, s, -1, number, &t->shape);
    }
    bool dense = !ml_type_is_heap(t->type) && !(t->flags & ML_TENSOR_SPARSE);
    if (t->data && dense && t->bytes < ml_bytes_of(elements, t->type)) {
        ml_error_set(error, ML_GRAPH_ERROR,
                     ML_FIRST ", a constant of shape %s, has %lld bytes, needs %lld",
                     ml_shape_text(&t->shape, text), (long long)t->bytes,
                     (long long)ml_bytes_of(elements, t->type));
        return refuse_tensor(error, s, -1, number, &t->shape);
    }
    char why[128];
    if (t->data && t->type == ML_STRING &&
        !ml_strings_are_whole(t->data, t->bytes, elements, why)) {
        ml_error_set(error, ML_GRAPH_ERROR, ML_FIRST ", a constant, %s", why);
        return refuse_tensor(error, s, -1, number, NULL);
    }
    return ML_OK;
}

/* Refuses io[start .. start + count) unless all are tensor numbers of the subgraph (or -1, if
 * `absent`). */
static ml_status check_range(const ml_graph_def *def, int64_t start, int64_t count, int32_t limit,
                             bool absent, const char *what, int32_t s, int32_t node,
                             ml_error *error) {
    if (start < 0 || count < 0 || start > def->n_io || count > def->n_io - start) {
        ml_error_set(error, ML_GRAPH_ERROR, "%s %lld to %lld are out of range: there are %lld",
                     what, (long long)start, (long long)(start + count), (long long)def->n_io);
        return refuse(error, s, node);
    }
    for (int64_t i = start; i < start + count; i++)
        if (def->io[i] >= limit || def->io[i] < (absent ? -1 : 0)) {
            ml_error_set(error, ML_GRAPH_ERROR, "%s refers to number %d, there are %d", what,
                         def->io[i], limit);
            return refuse(error, s, node);
        }
    return ML_OK;
}

static ml_status check_node_tables(const ml_graph_def *def, const ml_subgraph_def *sub,
                                   const ml_node_def *n, int32_t s, ml_error *error) {
    int64_t io = n->io_start;
    if (n->n_inputs > ML_MOST_OPERANDS || n->n_outputs > ML_MOST_OPERANDS) {
        ml_error_set(error, ML_GRAPH_ERROR,
                     "it has %d inputs and %d outputs, at most %d of each are supported",
                     n->n_inputs, n->n_outputs, ML_MOST_OPERANDS);
        return refuse(error, s, n->index);
    }
    ml_status status =
        check_range(def, io, n->n_inputs, sub->n_tensors, true, "its inputs", s, n->index, error);
    if (status == ML_OK)
        status = check_range(def, io + n->n_inputs, n->n_outputs, sub->n_tensors, false,
                             "its outputs", s, n->index, error);
    if (status == ML_OK)
        status = check_range(def, io + n->n_inputs + n->n_outputs, n->n_subgraphs, def->n_subgraphs,
                             false, "its subgraphs", s, n->index, error);
    if (status != ML_OK) return status;
    if (n->params_start < 0 || n->params_start > def->params_bytes ||
        n->kernel->params_bytes > def->params_bytes - n->params_start) {
        ml_error_set(error, ML_GRAPH_ERROR,
                     "its %d bytes of parameters are out of range: there are %lld",
                     n->kernel->params_bytes, (long long)def->params_bytes);
        return refuse(error, s, n->index);
    }
    int32_t rows = 0;
    while (n->kernel->typed[rows].types) rows++;
    if (n->typed < rows) return ML_OK;
    ml_error_set(error, ML_GRAPH_ERROR, "it takes row %d of its kernel's table of %d", n->typed,
                 rows);
    return refuse(error, s, n->index);
}

/* Refuses outputs that a node must not compute; marks the others in `seen`. */
static ml_status check_outputs(const ml_graph_def *def, const ml_node_def *n, uint8_t *seen,
                               int32_t s, ml_error *error) {
    static const char *const why[] = {[CONSTANT] = "is a constant",
                                      [INPUT] = "is an input of its subgraph",
                                      [VARIABLE] = "is a variable",
                                      [COMPUTED] = "is computed by another node already"};
    for (int32_t i = 0; i < n->n_outputs; i++) {
        int32_t t = def->io[n->io_start + n->n_inputs + i];
        const char *fault = seen[t] == UNSEEN ? NULL : why[seen[t]];
        if (fault) {
            ml_error_set(error, ML_GRAPH_ERROR,
                         ML_FIRST ", its output %d, %s: no node may compute it", i, fault);
            return refuse_tensor(error, s, n->index, t, NULL);
        }
        seen[t] = COMPUTED;
    }
    return ML_OK;
}

static ml_status check_nodes(const ml_graph_def *def, const ml_subgraph_def *sub,
                             const ml_tensor_def *tensors, const ml_node_def *nodes, int32_t s,
                             uint8_t *seen, ml_error *error) {
    for (int32_t t = 0; t < sub->n_tensors; t++)
        seen[t] = tensors[t].data                         ? CONSTANT
                  : tensors[t].flags & ML_TENSOR_VARIABLE ? VARIABLE
                                                          : UNSEEN;
    for (int32_t i = 0; i < sub->n_inputs; i++) {
        int32_t t = def->io[sub->inputs_start + i];
        if (seen[t] == UNSEEN) seen[t] = INPUT;
    }
    for (int32_t k = 0; k < sub->n_nodes; k++) {
        const ml_node_def *n = &nodes[k];
        bool checked = k > 0 && n->kernel == nodes[k - 1].kernel;
        if (!checked && ml_kernel_check(n->kernel, error) != ML_OK)
            return refuse(error, s, n->index);
        ml_status status = check_node_tables(def, sub, n, s, error);
        if (status != ML_OK) return status;
        for (int32_t i = 0; i < n->n_inputs; i++) {
            int32_t t = def->io[n->io_start + i];
            if (t >= 0 &&
                tensors[t].flags & ML_TENSOR_SPARSE) { /* lowering has made others dense */
                ml_error_set(error, ML_UNSUPPORTED,
                             ML_FIRST ", its input %d, is sparse: only dense ones are supported",
                             i);
                return refuse_tensor(error, s, n->index, t, NULL);
            }
            if (t < 0 || seen[t] != UNSEEN) continue;
            ml_error_set(error, ML_GRAPH_ERROR,
                         ML_FIRST ", its input %d, is read before any node computes it", i);
            return refuse_tensor(error, s, n->index, t, NULL);
        }
        status = check_outputs(def, n, seen, s, error);
        if (status != ML_OK) return status;
    }
    for (int32_t i = 0; i < sub->n_outputs; i++) {
        int32_t t = def->io[sub->outputs_start + i];
        if (seen[t] != UNSEEN) continue;
        ml_error_set(error, ML_GRAPH_ERROR,
                     ML_FIRST ", output %d of subgraph %d, is computed by no node", i, s);
        return refuse_tensor(error, s, -1, t, NULL);
    }
    return ML_OK;
}

static ml_status check_subgraph(const ml_graph_def *def, int32_t s, const ml_tensor_def *tensors,
                                const ml_node_def *nodes, ml_error *error) {
    const ml_subgraph_def *sub = &def->subgraphs[s];
    ml_status status = check_range(def, sub->inputs_start, sub->n_inputs, sub->n_tensors, false,
                                   "the inputs", s, -1, error);
    if (status == ML_OK)
        status = check_range(def, sub->outputs_start, sub->n_outputs, sub->n_tensors, false,
                             "the outputs", s, -1, error);
    for (int32_t t = 0; t < sub->n_tensors && status == ML_OK; t++)
        status = check_tensor(def, &tensors[t], s, t, error);
    if (status != ML_OK) return status;
    uint8_t *seen = malloc((size_t)sub->n_tensors + 1);
    if (!seen) return ml_error_refused(error, "checking a graph");
    status = check_nodes(def, sub, tensors, nodes, s, seen, error);
    free(seen);
    return status;
}

ml_status ml_graph_check(const ml_graph_def *def, ml_error *error) {
    if (def->n_subgraphs <= 0 || def->root < 0 || def->root >= def->n_subgraphs || def->n_io < 0 ||
        def->params_bytes < 0 || def->n_resources < 0 || def->n_quantizations < 0 || !def->store ||
        !def->simd)
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "the description of the graph has impossible counts: subgraph %d of %d",
                            def->root, def->n_subgraphs);
    const ml_tensor_def *tensors = def->tensors;
    const ml_node_def *nodes = def->nodes;
    for (int32_t s = 0; s < def->n_subgraphs; s++) {
        const ml_subgraph_def *sub = &def->subgraphs[s];
        if (sub->n_tensors < 0 || sub->n_nodes < 0)
            return ml_error_set(error, ML_GRAPH_ERROR, "subgraph %d has %d tensors and %d nodes", s,
                                sub->n_tensors, sub->n_nodes);
        ml_status status = check_subgraph(def, s, tensors, nodes, error);
        if (status != ML_OK) return status;
        tensors += sub->n_tensors;
        nodes += sub->n_nodes;
    }
    return ML_OK;
}
