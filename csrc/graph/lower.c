/* lower.c -- ml_lowering: rows become tensors of the loading description, and nodes by the answers
 * to their kinds. */
#include "graph/lower.h"

#include <stdlib.h>
#include <string.h>

#include "core/shape.h"
#include "math/float_math.h"

/* A lowering and what it owns. */
typedef struct lowering {
    ml_lowering shown;
    ml_kinds kinds;
    ml_subgraph_def *subgraphs;
    ml_node_def *nodes;
    ml_quantization *quantizations;
    int32_t *node_kinds;
    int32_t *io;
    uint8_t *params;
    struct widened *widened;
    ml_known_answer **known; /* by kind */
    int32_t known_room;
} lowering;

/* Constants that were widened, aligned to 64 as those of arenas are. */
typedef struct widened {
    struct widened *next;
    float *values;
} widened;

void ml_lowering_free(ml_lowering *shown) {
    if (!shown) return;
    lowering *l = (lowering *)shown;
    for (widened *w = l->widened; w;) {
        widened *next = w->next;
        free(w->values);
        free(w);
        w = next;
    }
    for (int32_t k = 0; k < l->kinds.n_kinds && k < l->known_room; k++) free(l->known[k]);
    free(l->known);
    free(l->kinds.kinds);
    free(l->kinds.table);
    free(l->kinds.keys);
    free(l->shown.tensors);
    free(l->subgraphs);
    free(l->nodes);
    free(l->quantizations);
    free(l->node_kinds);
    free(l->io);
    free(l->params);
    free(l);
}

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

/* Gives output 0 the type of the input that the operator says, as TFLite's Prepare has it. */
static void follow(const ml_node_row *n, int32_t traits, ml_tensor_def *tensors) {
    int32_t position = 0;
    while (position < 8 && !(traits & ML_TRAIT_FOLLOWS << position)) position++;
    if (position < n->n_inputs && n->inputs[position] >= 0 && n->n_outputs > 0)
        tensors[n->outputs[0]].type = tensors[n->inputs[position]].type;
}

/* Asks what the newest kind lowers to, by its first node. */
static ml_status ask(lowering *l, const ml_sorted *s, int32_t node, ml_error *error) {
    int32_t kind = l->kinds.n_kinds - 1;
    if (kind >= l->known_room) {
        int32_t room = l->kinds.kind_room;
        ml_known_answer **known = realloc(l->known, (size_t)room * sizeof *known);
        if (!known) return ml_error_memory(error, "answers", room, 0);
        memset(known + l->known_room, 0, (size_t)(room - l->known_room) * sizeof *known);
        l->known = known;
        l->known_room = room;
    }
    if (!l->kinds.kinds[kind].key_bytes) return ML_OK;
    ml_status status = ml_answer_kind(s, node, &l->known[kind], error);
    l->shown.n_known += l->known[kind] != NULL;
    return status;
}

static ml_status sort_nodes(lowering *l, ml_sorted *s, ml_tensor_def *tensors, int32_t *node_kinds,
                            ml_error *error) {
    for (int32_t n = 0; n < s->rows->n_nodes; n++) {
        const ml_node_row *row = &s->rows->nodes[n];
        int32_t trait = ml_traits_of(&l->shown.file->operators[row->code]);
        int32_t kinds = l->kinds.n_kinds;
        if (trait >= ML_TRAIT_FOLLOWS) follow(row, trait, tensors);
        node_kinds[n] = ml_kind_of(&l->kinds, s, n, trait);
        if (node_kinds[n] < 0)
            return ml_error_memory(error, "kinds of nodes", l->kinds.key_bytes, 0);
        ml_status status = l->kinds.n_kinds > kinds ? ask(l, s, n, error) : ML_OK;
        if (status != ML_OK) return status;
    }
    return ML_OK;
}

static ml_status sort_subgraphs(lowering *l, ml_error *error) {
    const ml_file *file = l->shown.file;
    int64_t tensor = 0, node = 0, most = 1;
    for (int32_t g = 0; g < file->n_subgraphs; g++)
        most = file->subgraphs[g].n_tensors > most ? file->subgraphs[g].n_tensors : most;
    uint16_t *classes = malloc((size_t)most * (sizeof *classes + 1));
    if (!classes) return ml_error_memory(error, "classes of tensors", most, 0);
    ml_status status = ML_OK;
    for (int32_t g = 0; g < file->n_subgraphs && status == ML_OK; g++) {
        const ml_subgraph_row *rows = &file->subgraphs[g];
        ml_tensor_def *tensors = l->shown.tensors + tensor;
        ml_sorted s = {.file = file,
                       .rows = rows,
                       .tensors = tensors,
                       .classes = classes,
                       .folded = (uint8_t *)(classes + most),
                       .subgraph = g};
        memset(classes, 0, (size_t)most * (sizeof *classes + 1));
        for (int32_t t = 0; t < rows->n_tensors; t++)
            fill_tensor(l, &rows->tensors[t], &tensors[t]);
        status = sort_nodes(l, &s, tensors, l->node_kinds + node, error);
        tensor += rows->n_tensors;
        node += rows->n_nodes;
    }
    free(classes);
    return status;
}

/* Counts tensors and nodes; the handlers of nodes are their numbers, which have 31 bits. */
static ml_status count_rows(ml_lowering *shown, int64_t *quantized, ml_error *error) {
    const ml_file *file = shown->file;
    for (int32_t g = 0; g < file->n_subgraphs; g++) {
        const ml_subgraph_row *rows = &file->subgraphs[g];
        shown->n_tensors += rows->n_tensors;
        shown->n_nodes += rows->n_nodes;
        for (int32_t t = 0; t < rows->n_tensors; t++)
            *quantized += rows->tensors[t].quantization.n_scales > 0;
    }
    if (shown->n_tensors > INT32_MAX || shown->n_nodes > INT32_MAX)
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "%lld tensors and %lld nodes, at most %d of each are supported",
                            (long long)shown->n_tensors, (long long)shown->n_nodes, INT32_MAX);
    return ML_OK;
}

ml_status ml_lowering_new(const ml_file *file, ml_lowering **out, ml_error *error) {
    *out = NULL;
    lowering *l = calloc(1, sizeof *l);
    if (!l) return ml_error_memory(error, "lowering", sizeof *l, 0);
    ml_lowering *shown = &l->shown;
    shown->file = file;
    int64_t quantized = 0;
    ml_status status = count_rows(shown, &quantized, error);
    if (status == ML_OK) {
        shown->tensors = malloc((size_t)(shown->n_tensors + 1) * sizeof *shown->tensors);
        l->quantizations = malloc((size_t)(quantized + 1) * sizeof *l->quantizations);
        l->node_kinds = malloc((size_t)(shown->n_nodes + 1) * sizeof *l->node_kinds);
        if (!shown->tensors || !l->quantizations || !l->node_kinds)
            status = ml_error_memory(error, "lowering", shown->n_tensors, 0);
    }
    if (status == ML_OK) status = sort_subgraphs(l, error);
    if (status != ML_OK) {
        ml_lowering_free(shown);
        return status;
    }
    shown->kinds = l->kinds.kinds;
    shown->keys = l->kinds.keys;
    shown->key_bytes = l->kinds.key_bytes;
    shown->n_kinds = l->kinds.n_kinds;
    shown->node_kinds = l->node_kinds;
    shown->known = (const ml_answer *const *)l->known; /* an answer stands first in what is known */
    shown->description.tensors = shown->tensors;
    shown->description.quantizations = l->quantizations;
    shown->description.n_subgraphs = file->n_subgraphs;
    *out = shown;
    return ML_OK;
}

/* Copies numbers behind io; says where they begin. */
static int32_t add_numbers(lowering *l, const int32_t *numbers, int32_t count) {
    int64_t start = l->shown.description.n_io;
    if (count) memcpy(l->io + start, numbers, (size_t)count * sizeof *numbers);
    l->shown.description.n_io += count;
    return (int32_t)start;
}

static void fill_node(lowering *l, const ml_node_row *row, const ml_answer *answer, int64_t params,
                      int32_t index, int32_t number, ml_node_def *to) {
    *to = (ml_node_def){.kernel = answer->kernel,
                        .typed = answer->typed,
                        .flags = answer->flags,
                        .index = index,
                        .handler = number,
                        .io_start = add_numbers(l, row->inputs, row->n_inputs),
                        .n_inputs = row->n_inputs,
                        .n_outputs = row->n_outputs,
                        .n_subgraphs = answer->n_subgraphs,
                        .params_start = params};
    add_numbers(l, row->outputs, row->n_outputs);
    add_numbers(l, answer->subgraphs, answer->n_subgraphs);
}

static ml_status widen(lowering *l, const ml_tensor_def *x, ml_tensor_def *y, ml_error *error) {
    int64_t count = ml_elements(&x->shape);
    if (!x->data || count < 0 || x->bytes < 2 * count)
        return ml_error_set(error, ML_GRAPH_ERROR, "a constant of %lld halves has %lld bytes",
                            (long long)count, (long long)x->bytes);
    widened *w = malloc(sizeof *w);
    float *values = aligned_alloc(64, (size_t)ml_round_up(4 * count + 1, 64));
    if (!w || !values) {
        free(w);
        free(values);
        return ml_error_memory(error, "a constant made float32", 4 * count, 0);
    }
    const uint16_t *halves = x->data;
    for (int64_t i = 0; i < count; i++) values[i] = ml_float_of_half(halves[i]);
    *w = (widened){l->widened, values};
    l->widened = w;
    y->data = values;
    y->bytes = 4 * count;
    y->shape = x->shape;
    y->flags &= ~ML_TENSOR_OF_FILE;
    return ML_OK;
}

static ml_status fill_subgraphs(lowering *l, const ml_answer *const *answers, const int64_t *params,
                                ml_error *error) {
    const ml_file *file = l->shown.file;
    ml_node_def *to = l->nodes;
    ml_tensor_def *tensors = l->shown.tensors;
    ml_status status = ML_OK;
    int32_t number = 0;
    for (int32_t g = 0; g < file->n_subgraphs; g++) {
        const ml_subgraph_row *rows = &file->subgraphs[g];
        ml_subgraph_def *head = &l->subgraphs[g];
        *head = (ml_subgraph_def){.n_tensors = rows->n_tensors,
                                  .inputs_start = add_numbers(l, rows->inputs, rows->n_inputs),
                                  .n_inputs = rows->n_inputs,
                                  .outputs_start = add_numbers(l, rows->outputs, rows->n_outputs),
                                  .n_outputs = rows->n_outputs};
        ml_node_def *first = to;
        for (int32_t n = 0; n < rows->n_nodes && status == ML_OK; n++, number++) {
            const ml_node_row *row = &rows->nodes[n];
            int32_t kind = l->node_kinds[number];
            const ml_answer *answer = answers[kind];
            if (answer && answer->flags == ML_ANSWER_WIDENS)
                status = widen(l, &tensors[row->inputs[0]], &tensors[row->outputs[0]], error);
            else if (answer) fill_node(l, row, answer, params[kind], n, number, to++);
        }
        head->n_nodes = (int32_t)(to - first);
        tensors += rows->n_tensors;
    }
    return status;
}

/* How many numbers the nodes' operands and subgraphs are. */
static int64_t count_io(const lowering *l, const ml_answer *const *answers) {
    const ml_file *file = l->shown.file;
    const int32_t *kind = l->node_kinds;
    int64_t count = 0;
    for (int32_t g = 0; g < file->n_subgraphs; g++) {
        const ml_subgraph_row *rows = &file->subgraphs[g];
        count += (int64_t)rows->n_inputs + rows->n_outputs;
        for (int32_t n = 0; n < rows->n_nodes; n++, kind++)
            if (answers[*kind])
                count += (int64_t)rows->nodes[n].n_inputs + rows->nodes[n].n_outputs +
                         answers[*kind]->n_subgraphs;
    }
    return count;
}

/* Lays out the parameters of all kinds; says where each begins. */
static int64_t place_params(const lowering *l, const ml_answer *const *answers, int64_t *params) {
    int64_t bytes = 0;
    for (int32_t k = 0; k < l->shown.n_kinds; k++) {
        params[k] = bytes;
        if (answers[k]) bytes += ((int64_t)answers[k]->params_bytes + 15) & ~INT64_C(15);
    }
    return bytes;
}

ml_status ml_lowering_fill(ml_lowering *shown, const ml_answer *const *answers, ml_error *error) {
    lowering *l = (lowering *)shown;
    ml_graph_def *def = &shown->description;
    int64_t n_io = count_io(l, answers);
    if (n_io > INT32_MAX)
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "nodes have %lld operands, at most %d are supported", (long long)n_io,
                            INT32_MAX);
    int64_t *params = malloc((size_t)(shown->n_kinds + 1) * sizeof *params);
    if (!params) return ml_error_memory(error, "lowering", shown->n_kinds, 0);
    def->params_bytes = place_params(l, answers, params);
    l->io = malloc((size_t)(n_io + 1) * sizeof *l->io);
    l->params = malloc((size_t)def->params_bytes + 1);
    l->nodes = malloc((size_t)(shown->n_nodes + 1) * sizeof *l->nodes);
    l->subgraphs = malloc((size_t)def->n_subgraphs * sizeof *l->subgraphs);
    bool there = l->io && l->params && l->nodes && l->subgraphs;
    for (int32_t k = 0; there && k < shown->n_kinds; k++)
        if (answers[k] && answers[k]->params_bytes)
            memcpy(l->params + params[k], answers[k]->params, (size_t)answers[k]->params_bytes);
    ml_status status = there ? fill_subgraphs(l, answers, params, error)
                             : ml_error_memory(error, "lowering", n_io, 0);
    free(params);
    if (status != ML_OK) return status;
    def->io = l->io;
    def->params = l->params;
    def->nodes = l->nodes;
    def->subgraphs = l->subgraphs;
    return ML_OK;
}
