/* reader.c -- fuzzes the reader of .tflite files: verifies the input, and touches all its rows. */
#include "use.h"

#include <string.h>

#include "api/minilite.h"

static unsigned sum; /* so that reading is not left out */

static void touch(const void *from, int64_t bytes) {
    const uint8_t *data = from;
    for (int64_t i = 0; data && i < bytes; i++) sum += data[i];
}

static void touch_span(const ml_file *file, ml_span span) {
    if (span.at) touch(file->data + span.at, span.bytes);
}

static void touch_ints(const int32_t *numbers, int64_t count) {
    touch(numbers, count * (int64_t)sizeof *numbers);
}

static void touch_subgraph(const ml_file *file, const ml_subgraph_row *rows) {
    for (int32_t t = 0; t < rows->n_tensors; t++) {
        const ml_tensor_row *tensor = &rows->tensors[t];
        touch(tensor->data, tensor->bytes);
        touch_ints(tensor->shape, tensor->rank);
        touch_ints(tensor->signature, tensor->signature_rank);
        touch_span(file, tensor->name);
    }
    for (int32_t n = 0; n < rows->n_nodes; n++) {
        const ml_node_row *node = &rows->nodes[n];
        touch_ints(node->inputs, node->n_inputs);
        touch_ints(node->outputs, node->n_outputs);
        touch_ints(node->intermediates, node->n_intermediates);
        touch(node->options, node->n_options * (int64_t)sizeof *node->options);
        touch_span(file, node->custom_options);
        sum += (unsigned)file->operators[node->code].op;
    }
    touch_ints(rows->inputs, rows->n_inputs);
    touch_ints(rows->outputs, rows->n_outputs);
    touch_span(file, rows->name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    static ml_file_error error;
    ml_file *file = NULL;
    memset(&error, 0, sizeof error);
    if (ml_file_new(data, (int64_t)bytes, &file, &error) != ML_OK) return 0;
    for (int32_t i = 0; i < file->n_subgraphs; i++) touch_subgraph(file, &file->subgraphs[i]);
    for (int32_t i = 0; i < file->n_operators; i++) touch_span(file, file->operators[i].name);
    for (int32_t i = 0; i < file->n_buffers; i++) {
        touch_span(file, file->buffers[i].data);
        touch(file->buffers[i].copy, file->buffers[i].copied);
    }
    for (int32_t i = 0; i < file->n_metadata; i++) {
        touch_span(file, file->metadata[i].name);
        touch_span(file, file->metadata[i].data);
    }
    for (int32_t i = 0; i < file->n_signatures; i++) touch_span(file, file->signatures[i].key);
    ml_file_free(file);
    return 0;
}
