/* lower.c -- ml_lowering: a file's nodes become nodes of the loading description, each by its
 * operator's row. */
#include "graph/lower.h"

#include <stdlib.h>

#include "graph/store.h"
#include "os/os.h"
#include "simd/simd.h"

void ml_lowering_free(ml_lowering *shown) {
    lowering *l = (lowering *)shown;
    for (kept *k = l->kept; k;) {
        kept *next = k->next;
        ml_os_free(k->data);
        free(k);
        k = next;
    }
    ml_store_free(l->store);
    free(l->codes);
    free(l->quantizations);
    free(l->subgraphs);
    free(l->nodes);
    free(l->io);
    free(l->params);
    free(l->refused);
    free(l->resources);
    free(l->operands);
    free(l->slots);
    free(shown->tensors);
    free(l);
}

/* Room for `count` more things of `each` bytes after the `used` there are. */
static bool make_room(void **things, int64_t *room, int64_t used, int64_t count, size_t each) {
    if (used + count <= *room) return true;
    int64_t wanted = 2 * (used + count) + 64;
    void *grown = realloc(*things, (size_t)wanted * each);
    if (!grown) return false;
    *things = grown;
    *room = wanted;
    return true;
}

/* Tensors -------------------------------------------------------------------------------------- */

static void fill_tensor(lowering *l, const ml_tensor_row *row, ml_tensor_def *t) {
    *t = (ml_tensor_def){.data = row->data,
                         .bytes = row->bytes,
                         .type = row->type,
                         .flags = (row->flags & ML_ROW_VARIABLE ? ML_TENSOR_VARIABLE : 0) |
                                  (row->sparsity_at ? ML_TENSOR_SPARSE : 0) |
                                  (row->data ? ML_TENSOR_OF_FILE : 0),
                         .quantization = -1,
                         .offline_offset = -1};
    if (row->rank <= ML_MAX_RANK) {
        t->shape.rank = row->rank;
        for (int32_t d = 0; d < row->rank; d++) t->shape.dims[d] = row->shape[d];
    } else l->shown.n_deep++;
    if (row->quantization.n_scales > 0) {
        t->quantization = l->shown.description.n_quantizations;
        l->quantizations[l->shown.description.n_quantizations++] = row->quantization;
    }
}

static void fill_tensors(lowering *l) {
    ml_tensor_def *to = l->shown.tensors;
    for (int32_t g = 0; g < l->shown.file->n_subgraphs; g++) {
        const ml_subgraph_row *rows = &l->shown.file->subgraphs[g];
        for (int32_t t = 0; t < rows->n_tensors; t++) fill_tensor(l, &rows->tensors[t], to++);
    }
}

/* Counts tensors and nodes; the handlers of nodes are their numbers, which have 31 bits. */
static ml_status count_rows(ml_lowering *shown, int64_t *quantized, int64_t *most,
                            ml_error *error) {
    const ml_file *file = shown->file;
    for (int32_t g = 0; g < file->n_subgraphs; g++) {
        const ml_subgraph_row *rows = &file->subgraphs[g];
        shown->n_tensors += rows->n_tensors;
        shown->n_nodes += rows->n_nodes;
        *most = rows->n_tensors > *most ? rows->n_tensors : *most;
        for (int32_t t = 0; t < rows->n_tensors; t++)
            *quantized += rows->tensors[t].quantization.n_scales > 0;
    }
    if (shown->n_tensors > INT32_MAX || shown->n_nodes > INT32_MAX)
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "%lld tensors and %lld nodes, at most %d of each are supported",
                            (long long)shown->n_tensors, (long long)shown->n_nodes, INT32_MAX);
    return ML_OK;
}

static ml_status allocate(lowering *l, int64_t quantized, int64_t most, ml_error *error) {
    ml_lowering *shown = &l->shown;
    const ml_file *file = shown->file;
    shown->tensors = malloc((size_t)(shown->n_tensors + 1) * sizeof *shown->tensors);
    l->quantizations = malloc((size_t)(quantized + 1) * sizeof *l->quantizations);
    l->nodes = malloc((size_t)(shown->n_nodes + 1) * sizeof *l->nodes);
    l->subgraphs = calloc((size_t)file->n_subgraphs + 1, sizeof *l->subgraphs);
    l->codes = calloc((size_t)file->n_operators + 1, sizeof *l->codes);
    l->operands = calloc((size_t)most + 1, sizeof *l->operands);
    l->slots = malloc((size_t)(most + 1) * sizeof *l->slots);
    if (!shown->tensors || !l->quantizations || !l->nodes || !l->subgraphs || !l->codes ||
        !l->operands || !l->slots)
        return ml_error_refused(error, "lowering");
    for (int32_t t = -1; t < most; t++) l->slots[t + 1] = t < 0 ? ~0 : t;
    return ML_OK;
}

ml_status ml_lowering_new(const ml_file *file, ml_store *store, const struct ml_simd *simd,
                          const uint8_t *callers, int32_t reference, ml_lowering **out,
                          ml_error *error) {
    *out = NULL;
    lowering *l = calloc(1, sizeof *l);
    if (!l) return ml_error_memory(error, "lowering", sizeof *l, 0);
    l->shown.file = file;
    l->shown.node = -1;
    l->reference = reference != 0;
    l->store = ml_store_hold(store);
    l->simd = simd;
    int64_t quantized = 0, most = 0;
    ml_status status = count_rows(&l->shown, &quantized, &most, error);
    if (status == ML_OK) status = allocate(l, quantized, most, error);
    if (status != ML_OK) {
        ml_lowering_free(&l->shown);
        return status;
    }
    fill_tensors(l);
    for (int32_t code = 0; code < file->n_operators; code++)
        ml_open_code(&l->codes[code], file, &file->operators[code], callers && callers[code]);
    l->shown.description.tensors = l->shown.tensors;
    l->shown.description.quantizations = l->quantizations;
    l->shown.description.n_subgraphs = file->n_subgraphs;
    *out = &l->shown;
    return ML_OK;
}

/* Nodes ---------------------------------------------------------------------------------------- */

static const ml_node_row *standing_at(const lowering *l) {
    return &l->shown.file->subgraphs[l->shown.subgraph].nodes[l->shown.node];
}

/* Makes room for so many numbers in io. False without memory, or beyond 31 bits: such files have
 * 8 GiB. */
static bool room_for_numbers(lowering *l, int64_t count) {
    int64_t start = l->shown.description.n_io;
    return start + count <= INT32_MAX &&
           make_room((void **)&l->io, &l->io_room, start, count, sizeof *l->io);
}

/* Where `count` numbers, for which there is room, were copied to in io. */
static int32_t add_numbers(lowering *l, const int32_t *numbers, int32_t count) {
    int64_t start = l->shown.description.n_io;
    if (count) memcpy(l->io + start, numbers, (size_t)count * sizeof *numbers);
    l->shown.description.n_io += count;
    return (int32_t)start;
}

static int64_t add_params(lowering *l, const void *params, int64_t bytes) {
    int64_t start = l->shown.description.params_bytes, rounded = ml_round_up(bytes, 16);
    if (!make_room((void **)&l->params, &l->params_room, start, rounded + 1, 1)) return -1;
    if (bytes) memcpy(l->params + start, params, (size_t)bytes);
    l->shown.description.params_bytes += rounded;
    return start;
}

ml_status ml_lowering_put(ml_lowering *shown, const ml_kernel *kernel, int32_t typed, int32_t flags,
                          const void *params, const int32_t *subgraphs, int32_t n_subgraphs,
                          ml_error *error) {
    lowering *l = (lowering *)shown;
    const ml_node_row *row = standing_at(l);
    int64_t place = add_params(l, params, kernel->params_bytes);
    if (place < 0 || !room_for_numbers(l, (int64_t)row->n_inputs + row->n_outputs + n_subgraphs))
        return ml_error_refused(error, "the nodes' operands and parameters");
    int32_t start = add_numbers(l, row->inputs, row->n_inputs);
    add_numbers(l, row->outputs, row->n_outputs);
    add_numbers(l, subgraphs, n_subgraphs);
    l->nodes[l->n_nodes++] = (ml_node_def){.kernel = kernel,
                                           .typed = typed,
                                           .flags = flags,
                                           .index = shown->node,
                                           .handler = l->number,
                                           .io_start = start,
                                           .n_inputs = row->n_inputs,
                                           .n_outputs = row->n_outputs,
                                           .n_subgraphs = n_subgraphs,
                                           .params_start = place};
    l->subgraphs[shown->subgraph].n_nodes++;
    shown->need = ML_NEEDS_NOTHING;
    return ML_OK;
}

void ml_lowering_skip(ml_lowering *shown) { shown->need = ML_NEEDS_NOTHING; }

/* The node is refused: by `error`, or, where NULL, for the number or the types of its operands. */
static ml_status collect_refusal(lowering *l, const ml_error *error, ml_error *out) {
    if (!make_room((void **)&l->refused, &l->refused_room, l->shown.n_refused, 1,
                   sizeof *l->refused))
        return ml_error_refused(out, "errors of nodes");
    ml_error *to = &l->refused[l->shown.n_refused++];
    *to = error ? *error : ML_NO_ERROR;
    to->status = ML_UNSUPPORTED;
    to->subgraph = l->shown.subgraph;
    to->node = l->shown.node;
    l->shown.refused = l->refused;
    return ML_OK;
}

/* The reader has checked that the halves have as many bytes as their shape takes. Those of the file
 * are widened in the store, which lives as long as they do. */
static ml_status widen(lowering *l, const ml_tensor_def *x, ml_tensor_def *y, ml_error *error) {
    const int64_t count = ml_elements(&x->shape);
    const bool of_file = (x->flags & ML_TENSOR_OF_FILE) != 0;
    if (of_file) y->data = ml_store_widened(l->store, l->simd, x, error);
    else {
        float *values = ml_lowering_keep(l, 4 * count, error);
        if (values) l->simd->widen_f16(x->data, count, values);
        y->data = values;
    }
    if (!y->data) return error->status;
    y->halves = of_file ? x->data : NULL;
    y->bytes = 4 * count;
    y->shape = x->shape;
    y->flags = (y->flags & ~ML_TENSOR_OF_FILE) | (of_file ? ML_TENSOR_OF_FILE : 0);
    return ML_OK;
}

/* A node of constants: sparse ones become dense here, halves and integers floats; the rare other
 * ones by the numpy reference. */
static ml_status fold(lowering *l, const ml_node_row *row, ml_error *error) {
    ml_tensor_def *x = &l->tensors[row->inputs[0]], *y = &l->tensors[row->outputs[0]];
    const int32_t rank = l->shown.file->subgraphs[l->shown.subgraph].tensors[row->inputs[0]].rank;
    const int64_t sparsity_at =
        l->shown.file->subgraphs[l->shown.subgraph].tensors[row->inputs[0]].sparsity_at;
    bool done = false;
    if (rank <= ML_MAX_RANK && x->flags & ML_TENSOR_SPARSE) {
        const ml_status status = ml_lowering_densify(l, sparsity_at, x, y, &done, error);
        if (!done) l->shown.need = ML_NEEDS_VALUES;
        return status;
    }
    if (x->type == ML_F16 && y->type == ML_F32 && rank <= ML_MAX_RANK) return widen(l, x, y, error);
    const ml_status status =
        rank <= ML_MAX_RANK ? ml_lowering_dequantize(l, x, y, &done, error) : ML_OK;
    if (!done) l->shown.need = ML_NEEDS_VALUES;
    return status;
}

static bool any_sparse(const lowering *l, const ml_node_row *row) {
    for (int32_t i = 0; i < row->n_inputs; i++)
        if (row->inputs[i] >= 0 && l->tensors[row->inputs[i]].flags & ML_TENSOR_SPARSE) return true;
    return false;
}

static int32_t flags_of(const ml_kernel *k, bool python) {
    int32_t flags = (k->flags & ML_KERNEL_IS_VIEW ? ML_NODE_VIEW : 0) |
                    (k->flags & ML_KERNEL_TFLITE_SHARES ? ML_NODE_TFLITE_SHARES : 0) |
                    (python ? ML_NODE_PYTHON : 0);
    /* numpy writes outputs after reading all inputs; views must stay skippable. */
    if (!python || flags & ML_NODE_VIEW) flags |= (int32_t)k->in_place * ML_NODE_IN_PLACE;
    return flags;
}

/* Lowers a composite to the kernel of its name, if there is one that takes the node; `done` says
 * whether. Without it the node runs its decomposition. */
static ml_status lower_composite(lowering *l, const ml_node_row *row, bool *done, ml_error *error) {
    ml_code code = {.kernel = ml_composite_kernel(l, row)};
    *done = false;
    if (!code.kernel || l->reference || any_sparse(l, row)) return ML_OK;
    const int32_t typed = ml_match_node(l, &code, row);
    if (typed == ML_MATCH_NO_MEMORY)
        return ml_error_refused(error, "the types of a node's operands");
    if (typed < 0 || !code.kernel->typed[typed].eval) return ML_OK;
    const int32_t *subgraphs = NULL;
    int32_t n_subgraphs = 0;
    ml_error refusal = ML_NO_ERROR;
    l->composite = true;
    const ml_status status = ml_read_options(l, &code, row, &refusal, &subgraphs, &n_subgraphs);
    l->composite = false;
    const bool no_memory = refusal.status == ML_ARENA_ERROR;
    if ((status == ML_UNSUPPORTED && !no_memory) ||
        (status == ML_OK && !ml_knows_all_options(l, code.kernel)))
        return ML_OK;
    if (status != ML_OK) {
        *error = refusal;
        return (ml_status)refusal.status;
    }
    *done = true;
    return ml_lowering_put(&l->shown, code.kernel, typed, flags_of(code.kernel, false),
                           l->node_params, NULL, 0, error);
}

/* One node by its operator's row. */
static ml_status lower_node(lowering *l, ml_error *error) {
    const ml_node_row *row = standing_at(l);
    ml_code *code = &l->codes[row->code];
    const ml_kernel *k = code->kernel;
    ml_error refusal = ML_NO_ERROR;
    if (code->callers || !k) {
        l->shown.need = ML_NEEDS_NODE;
        return ML_OK;
    }
    if (row->version < k->first_version || row->version > k->last_version) {
        ml_error_set(&refusal, ML_UNSUPPORTED, "version %d is not supported, versions %d to %d are",
                     row->version, k->first_version, k->last_version);
        return collect_refusal(l, &refusal, error);
    }
    if (k->flags & ML_KERNEL_IS_COMPOSITE) {
        bool done;
        const ml_status status = lower_composite(l, row, &done, error);
        if (done || status != ML_OK) return status;
    }
    if (k->follows && row->n_outputs > 0) {
        int32_t i = __builtin_ctz(k->follows);
        if (i < row->n_inputs && row->inputs[i] >= 0)
            l->tensors[row->outputs[0]].type = l->tensors[row->inputs[i]].type;
    }
    if (!(k->flags & ML_KERNEL_TAKES_SPARSE) && any_sparse(l, row)) {
        l->shown.need = ML_NEEDS_DENSE;
        return ML_OK;
    }
    const int32_t typed = ml_match_node(l, code, row);
    if (typed == ML_MATCH_NO_MEMORY)
        return ml_error_refused(error, "the types of a node's operands");
    if (typed < 0) return collect_refusal(l, NULL, error);
    const int32_t *subgraphs = NULL;
    int32_t n_subgraphs = 0;
    ml_status status = ml_read_options(l, code, row, &refusal, &subgraphs, &n_subgraphs);
    const bool no_memory = refusal.status == ML_ARENA_ERROR; /* which says nothing about the node */
    if (status == ML_UNSUPPORTED && !no_memory) return collect_refusal(l, &refusal, error);
    if (status != ML_OK) {
        *error = refusal;
        return (ml_status)refusal.status;
    }
    if (k->flags & ML_KERNEL_FOLDS && l->tensors[row->inputs[0]].data) return fold(l, row, error);
    const bool in_c = k->typed[typed].eval != NULL;
    const bool python = !(k->flags & ML_KERNEL_NO_REFERENCE) && (l->reference || !in_c);
    return ml_lowering_put(&l->shown, k, in_c ? typed : -1, flags_of(k, python), l->node_params,
                           subgraphs, n_subgraphs, error);
}

/* Steps to the next node; false after the last one. */
static bool step(lowering *l, ml_status *status) {
    const ml_file *file = l->shown.file;
    ml_lowering *shown = &l->shown;
    while (shown->subgraph < file->n_subgraphs) {
        const ml_subgraph_row *rows = &file->subgraphs[shown->subgraph];
        if (shown->node < 0) { /* it begins */
            ml_subgraph_def *head = &l->subgraphs[shown->subgraph];
            l->tensors = shown->tensors + l->first_tensor;
            if (!room_for_numbers(l, (int64_t)rows->n_inputs + rows->n_outputs)) {
                *status = ML_ARENA_ERROR;
                return false;
            }
            *head =
                (ml_subgraph_def){.n_tensors = rows->n_tensors,
                                  .inputs_start = add_numbers(l, rows->inputs, rows->n_inputs),
                                  .n_inputs = rows->n_inputs,
                                  .outputs_start = add_numbers(l, rows->outputs, rows->n_outputs),
                                  .n_outputs = rows->n_outputs};
        } else l->number++;
        if (++shown->node < rows->n_nodes) return true;
        l->first_tensor += rows->n_tensors;
        shown->subgraph++;
        shown->node = -1;
    }
    return false;
}

ml_status ml_lowering_run(ml_lowering *shown, ml_error *error) {
    lowering *l = (lowering *)shown;
    ml_status status = ML_OK;
    bool again = shown->need == ML_NEEDS_DENSE; /* its constants are dense now */
    shown->need = ML_NEEDS_NOTHING;
    while (status == ML_OK && shown->need == ML_NEEDS_NOTHING) {
        if (!again && !step(l, &status)) break;
        again = false;
        status = lower_node(l, error);
    }
    if (status == ML_ARENA_ERROR && error->status == ML_OK)
        return ml_error_refused(error, "the nodes' operands");
    ml_graph_def *def = &shown->description;
    def->io = l->io;
    def->params = l->params;
    def->nodes = l->nodes;
    def->subgraphs = l->subgraphs;
    return status;
}

/* Kept from run to run ------------------------------------------------------------------------ */

int32_t ml_lowering_keeps(const ml_lowering *shown, int32_t first_tensor, const ml_node_def *node) {
    const int32_t *operands = shown->description.io + node->io_start;
    bool keeps = node->kernel->memory_bytes > 0;
    for (int32_t i = 0; i < node->n_inputs + node->n_outputs && !keeps; i++) {
        if (operands[i] < 0) continue;
        const ml_tensor_def *t = &shown->tensors[first_tensor + operands[i]];
        keeps = t->type == ML_RESOURCE || t->flags & ML_TENSOR_VARIABLE;
    }
    return keeps;
}

ml_resource_row ml_lowering_resource(const ml_lowering *shown, int32_t index) {
    const ml_resource_name *found = &((const lowering *)shown)->resources[index];
    const ml_node_option *names = found->names;
    return (ml_resource_row){
        .op = found->op,
        .names = {{names[0].data, names[0].count}, {names[1].data, names[1].count}},
        .number = names[0].integer};
}
