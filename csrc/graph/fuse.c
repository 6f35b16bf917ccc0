/* fuse.c -- merges nodes, so that one node does the work of two or more in a single pass over
 * memory.
 *
 * Kernels are recognized by their flags (ml_kernel_flag). Merged are: a clamp into a producer that
 * can clamp; zero padding of an image into the window operator that reads it; a square into the sum
 * that is its only reader; and six nodes that together compute PRELU into one. The tensor between
 * two merged nodes is hidden: it gets a shape, since its node is still prepared, but no memory. For
 * a clamp the hidden tensor is the clamp's input. Producer and clamp swap outputs, so that shapes
 * are still computed from front to back.
 *
 * Integer results do not change. Nodes are not merged where the caller, another node or the memory
 * plan in the file could use the tensor between them. */
#include <math.h>
#include <stdlib.h>

#include "graph/graph.h"

enum { PATCHES = ML_KERNEL_CLAMPS | ML_KERNEL_TAKES_PADDING | ML_KERNEL_TAKES_SQUARES };
enum {
    FUSES = ML_KERNEL_IS_CLAMP | ML_KERNEL_TAKES_PADDING | ML_KERNEL_TAKES_SQUARES | ML_KERNEL_ADDS
};
enum { OUTPUT = INT32_MAX / 2 }; /* a number of readers that is never 1 */

/* One subgraph, while its nodes are merged. */
typedef struct fusing {
    ml_graph *graph;
    const ml_subgraph *sub;
    int32_t *producers; /* by tensor: the node that computes it; -1 = none */
    int32_t *readers; /* by tensor: the number of its readers */
    int64_t most; /* bytes available for changed parameters, enough for all nodes */
    int64_t room; /* bytes of these in use */
} fusing;

static int32_t *operands_of(const fusing *f, const ml_node *node) {
    return f->graph->io + (node->io->inputs - f->graph->io);
}

static const ml_field *field_of(const ml_kernel *kernel, const char *name) {
    const ml_field *field = kernel->fields;
    while (strcmp(field->name, name) != 0) field++;
    return field;
}

/* The node's parameters in a copy of its own, which may be changed (nodes may share the original).
 * NULL if memory is missing; then nothing is merged. */
static uint8_t *own_params(fusing *f, ml_node *node) {
    if (!f->graph->fused_params) f->graph->fused_params = malloc((size_t)f->most);
    uint8_t *fused = f->graph->fused_params;
    if (!fused) return NULL;
    const uint8_t *params = node->params;
    if (params >= fused && params < fused + f->room) return fused + (params - fused);
    uint8_t *own = fused + f->room;
    memcpy(own, params, (size_t)node->kernel->params_bytes);
    f->room += ml_round_up(node->kernel->params_bytes, 16);
    node->params = own;
    return own;
}

static void set_number(fusing *f, ml_node *node, const char *name, int32_t value) {
    memcpy(own_params(f, node) + field_of(node->kernel, name)->offset, &value, sizeof value);
}

static float limit_of(const ml_node *node, const char *name) {
    float limit;
    memcpy(&limit, (const uint8_t *)node->params + field_of(node->kernel, name)->offset,
           sizeof limit);
    return limit;
}

/* True if both tensors, of the same type, are floats or have the same quantization. */
static bool alike(const fusing *f, int32_t a, int32_t b) {
    const ml_tensor_def *x = &f->sub->tensors[a], *y = &f->sub->tensors[b];
    if (x->type == ML_F32) return true;
    if ((x->type != ML_S8 && x->type != ML_U8) || x->quantization < 0) return false;
    const ml_quantization *p = &f->graph->quantizations[x->quantization];
    if (p->n_scales != 1) return false;
    /* b is an output of a clamp, or the image of a window: beside an a with a scale it has one. */
    const ml_quantization *q = &f->graph->quantizations[y->quantization];
    return memcmp(p->scales, q->scales, sizeof *p->scales) == 0 &&
           p->zero_points[0] == q->zero_points[0];
}

/* The node that computes input `i` of `node`, which is there, if `node` is its only reader; else
 * NULL. That node is no part of another: nobody else reads what a part computes. */
static ml_node *sole_producer_of(const fusing *f, const ml_node *node, int i) {
    const int32_t between = node->io->inputs[i];
    if (f->producers[between] < 0 || f->readers[between] != 1) return NULL;
    ml_node *producer = &f->sub->nodes[f->producers[between]];
    return producer->typed && producer->io->n_outputs == 1 ? producer : NULL;
}

static ml_node *sole_producer(const fusing *f, const ml_node *node) {
    return sole_producer_of(f, node, 0);
}

/* Marks `node` as a part of `whole`, and hides the tensor between them. */
static void join(fusing *f, ml_node *node, const ml_node *whole, int32_t tensor) {
    node->part_of = (int32_t)(whole - f->sub->nodes);
    f->graph->node_io[node->io - f->graph->node_io].flags |= ML_NODE_FUSED;
    f->graph->tensor_defs[&f->sub->tensors[tensor] - f->graph->tensor_defs].flags |=
        ML_TENSOR_HIDDEN;
}

/* Clamps that were merged into the producer before now read its new output: the parts that come
 * after it. */
static void read_latest(fusing *f, const ml_node *producer, int32_t n, int32_t y) {
    const int32_t whole = (int32_t)(producer - f->sub->nodes);
    for (int32_t k = whole + 1; k < n; k++)
        if (f->sub->nodes[k].part_of == whole) operands_of(f, &f->sub->nodes[k])[0] = y;
}

/* Swaps the outputs of producer and clamp: the producer now writes the clamp's output, and the
 * clamp reads that and nothing else. */
static void fuse_clamp(fusing *f, int32_t n) {
    ml_node *clamp = &f->sub->nodes[n], *producer = sole_producer(f, clamp);
    if (!producer || !(producer->kernel->flags & ML_KERNEL_CLAMPS)) return;
    int32_t between = clamp->io->inputs[0], y = clamp->io->outputs[0];
    if (!alike(f, between, y)) return;
    const float least = limit_of(clamp, "minimum"), most = limit_of(clamp, "maximum");
    const float limits[2] = {fminf(fmaxf(limit_of(producer, "minimum"), least), most),
                             fminf(fmaxf(limit_of(producer, "maximum"), least), most)};
    uint8_t *params = own_params(f, producer);
    if (!params) return;
    memcpy(params + field_of(producer->kernel, "minimum")->offset, &limits[0], sizeof limits[0]);
    memcpy(params + field_of(producer->kernel, "maximum")->offset, &limits[1], sizeof limits[1]);
    read_latest(f, producer, n, y);
    operands_of(f, producer)[producer->io->n_inputs] = y;
    operands_of(f, clamp)[0] = y;
    operands_of(f, clamp)[clamp->io->n_inputs] = between;
    f->producers[y] = f->producers[between];
    f->producers[between] = n;
    join(f, clamp, producer, between); /* not counted as a reader of y, because it never runs */
}

/* The node reads the producer's input instead of its output. */
static void read_through(fusing *f, ml_node *node, ml_node *producer) {
    int32_t between = node->io->inputs[0], x = producer->io->inputs[0];
    operands_of(f, node)[0] = x;
    f->readers[x]++;
    join(f, producer, node, between);
}

/* Reads constant paddings: (before, after) for dimensions 0 to 3. */
static bool read_paddings(const ml_tensor_def *t, int64_t pads[8]) {
    const ml_shape pairs = {.rank = 2, .dims = {4, 2}};
    if (!t->data || !ml_same_shape(&t->shape, &pairs) || ml_type_bytes(t->type) < 4) return false;
    for (int i = 0; i < 8; i++) {
        int32_t narrow;
        if (t->type == ML_S64) memcpy(&pads[i], (const char *)t->data + i * 8, 8);
        else {
            memcpy(&narrow, (const char *)t->data + i * 4, 4);
            pads[i] = narrow;
        }
    }
    return true;
}

/* Only for VALID windows, since SAME would add padding of its own. Each window must contain a part
 * of the image. */
static void fuse_padding(fusing *f, ml_node *node) {
    static const char *const names[4] = {"pad_top", "pad_bottom", "pad_left", "pad_right"};
    ml_node *producer = sole_producer(f, node);
    if (!producer || !(producer->kernel->flags & ML_KERNEL_PADS) || producer->io->n_inputs != 2)
        return;
    int32_t x = producer->io->inputs[0], paddings = producer->io->inputs[1];
    int32_t filter = node->io->inputs[1], same;
    if (f->sub->tensors[x].flags & ML_TENSOR_VARIABLE) return;
    memcpy(&same, (const uint8_t *)node->params + field_of(node->kernel, "same")->offset, 4);
    const ml_tensor_def *w = &f->sub->tensors[filter];
    int64_t pads[8];
    if (same || !w->data || w->shape.rank != 4 || !alike(f, x, node->io->inputs[0]) ||
        !read_paddings(&f->sub->tensors[paddings], pads))
        return;
    for (int i = 0; i < 8; i++) {
        int32_t taps = i < 2 || i > 5 ? 1 : w->shape.dims[i / 2];
        if (pads[i] < 0 || pads[i] >= taps) return;
    }
    if (!own_params(f, node)) return;
    for (int i = 0; i < 4; i++) set_number(f, node, names[i], (int32_t)pads[2 + i]);
    read_through(f, node, producer);
}

static void fuse_square(fusing *f, ml_node *node) {
    ml_node *producer = sole_producer(f, node);
    if (!producer || !(producer->kernel->flags & ML_KERNEL_MULTIPLIES)) return;
    int32_t x = producer->io->inputs[0];
    if (x != producer->io->inputs[1] || f->sub->tensors[x].type != ML_F32 ||
        f->sub->tensors[x].flags & ML_TENSOR_VARIABLE || f->sub->tensors[x].data)
        return;
    if (limit_of(producer, "minimum") > -HUGE_VALF) return;
    if (!own_params(f, node)) return;
    set_number(f, node, "squares", 1);
    read_through(f, node, producer);
}

/* Slopes --------------------------------------------------------------------------------------- */

static bool is_named(const ml_node *node, const char *name) {
    return node && strcmp(node->kernel->name, name) == 0;
}

/* No activation has a maximum without a minimum. */
static bool is_unclamped(const ml_node *node, const char *name) {
    return is_named(node, name) && limit_of(node, "minimum") == -HUGE_VALF;
}

/* RELU alone of the nodes named "relu" has no maximum. */
static bool is_relu(const ml_node *node) {
    return is_named(node, "relu") && limit_of(node, "maximum") == HUGE_VALF;
}

/* True if the tensor is a constant with one value, or one per channel of x. */
static bool is_slope(const fusing *f, int32_t tensor, int32_t x) {
    const ml_tensor_def *slope = &f->sub->tensors[tensor], *of = &f->sub->tensors[x];
    const int64_t count = ml_elements(&slope->shape);
    return slope->data && slope->type == ML_F32 && of->shape.rank > 0 &&
           slope->shape.rank <= of->shape.rank &&
           (count == 1 || (count == slope->shape.dims[slope->shape.rank - 1] &&
                           count == of->shape.dims[of->shape.rank - 1]));
}

/* Finds NEG(RELU(NEG(x))), the part of x below 0; nodes are listed from the outermost. */
static bool find_below(const fusing *f, const ml_node *from, int i, ml_node *found[3]) {
    found[0] = sole_producer_of(f, from, i);
    found[1] = is_named(found[0], "neg") ? sole_producer(f, found[0]) : NULL;
    found[2] = is_relu(found[1]) ? sole_producer(f, found[1]) : NULL;
    return is_named(found[2], "neg");
}

/* RELU(x) + NEG(RELU(NEG(x))) * slope is PRELU(x, slope): some converters write it that way. */
static void fuse_slope(fusing *f, ml_node *node) {
    ml_node *parts[5]; /* RELU, MUL, then the nodes of find_below */
    const ml_node *first = sole_producer_of(f, node, 0);
    int above = first && first->kernel->flags & ML_KERNEL_IS_CLAMP ? 0 : 1, product = 0;
    parts[0] = sole_producer_of(f, node, above);
    parts[1] = sole_producer_of(f, node, 1 - above);
    if (!is_relu(parts[0]) || !is_unclamped(parts[1], "mul") || !is_unclamped(node, "add")) return;
    const ml_kernel *prelu = ml_kernel_find("prelu");
    /* The built-in sum has room for the blob of PRELU; one of the caller's may not. */
    if (prelu->blob_bytes > node->kernel->blob_bytes) return;
    while (product < 2 && !find_below(f, parts[1], product, parts + 2)) product++;
    if (product == 2) return;
    const int32_t x = parts[0]->io->inputs[0], slope = parts[1]->io->inputs[1 - product];
    if (parts[4]->io->inputs[0] != x || !is_slope(f, slope, x)) return;
    for (int i = 0; i < 5; i++) join(f, parts[i], node, parts[i]->io->outputs[0]);
    operands_of(f, node)[0] = x;
    operands_of(f, node)[1] = slope;
    node->kernel = prelu;
    node->typed = prelu->typed; /* the entry for floats */
    f->graph->node_io[node->io - f->graph->node_io].flags &= ~(ML_NODE_IN_PLACE << 1);
}

static void count_readers(fusing *f) {
    const ml_planner_graph *io = &f->sub->io;
    for (int32_t t = 0; t < io->n_tensors; t++) {
        f->producers[t] = -1;
        f->readers[t] = 0;
    }
    for (int32_t i = 0; i < io->n_outputs; i++) f->readers[io->outputs[i]] = OUTPUT;
    for (int32_t n = 0; n < io->n_nodes; n++) {
        const ml_node_io *node = f->sub->nodes[n].io;
        for (int32_t i = 0; i < node->n_inputs; i++)
            if (node->inputs[i] >= 0) f->readers[node->inputs[i]]++;
        for (int32_t i = 0; i < node->n_outputs; i++) f->producers[node->outputs[i]] = n;
    }
}

static void fuse_subgraph(fusing *f) {
    count_readers(f);
    for (int32_t n = 0; n < f->sub->io.n_nodes; n++) {
        ml_node *node = &f->sub->nodes[n];
        if (!node->typed) continue;
        const int32_t flags = node->kernel->flags;
        if (flags & ML_KERNEL_IS_CLAMP) fuse_clamp(f, n);
        if (flags & ML_KERNEL_TAKES_PADDING) fuse_padding(f, node);
        if (flags & ML_KERNEL_TAKES_SQUARES) fuse_square(f, node);
        if (flags & ML_KERNEL_ADDS) fuse_slope(f, node);
    }
}

ml_status ml_graph_fuse(ml_graph *g, ml_error *error) {
    int64_t most = 0, bytes = 0;
    bool any = false;
    for (int64_t n = 0; n < g->n_nodes; n++) {
        any |= (g->nodes[n].kernel->flags & FUSES) != 0;
        if (g->nodes[n].kernel->flags & PATCHES)
            bytes += ml_round_up(g->nodes[n].kernel->params_bytes, 16);
    }
    if (!any) return ML_OK;
    for (int32_t s = 0; s < g->n_subgraphs; s++)
        most = ml_max_s64(most, g->subgraphs[s].io.n_tensors);
    int32_t *tables = malloc((size_t)(2 * most + 1) * sizeof *tables);
    if (!tables) return ml_error_refused(error, "a graph's fused nodes");
    fusing f = {.graph = g, .producers = tables, .readers = tables + most, .most = bytes + 1};
    for (int32_t s = 0; s < g->n_subgraphs; s++) {
        f.sub = &g->subgraphs[s];
        if (!f.sub->planned_offline) fuse_subgraph(&f);
    }
    free(tables);
    return ML_OK;
}
