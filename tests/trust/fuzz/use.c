/* use.c -- what the harnesses do with the bytes of a model, by the calls that Python makes. */
#include "use.h"

#include <string.h>

#include "api/minilite.h"
#include "api/simd.h"

enum { MOST_BYTES = 1 << 18, MOST_ITERATIONS = 8, MOST_POLLS = 2000, MOST_RANK = ML_MAX_RANK };

static int32_t refuse_eval(void *owner, const ml_call *call) {
    (void)owner, (void)call;
    return ML_KERNEL_ERROR;
}

static int32_t refuse_shape(void *owner, const ml_call *call, ml_shape *outputs) {
    (void)owner, (void)call, (void)outputs;
    return ML_KERNEL_ERROR;
}

/* Ends a run after so many nodes and blocks: work without an end is found by libFuzzer's limit of
 * time, long work is none. */
static int32_t poll(void *owner) {
    int32_t *polls = owner;
    return --*polls < 0 ? ML_KERNEL_ERROR : ML_OK;
}

/* Fills a tensor with the file's bytes, over and over. */
static void fill(ml_state *state, int32_t tensor, const uint8_t *data, size_t bytes) {
    static uint8_t values[MOST_BYTES];
    ml_error error = {.subgraph = -1, .node = -1};
    ml_place_now place;
    if (ml_state_place(state, tensor, &place, &error) != ML_OK || !place.data) return;
    if (place.bytes > MOST_BYTES) return;
    for (int64_t i = 0; i < place.bytes; i++) values[i] = data[(size_t)i % bytes];
    ml_state_write(state, tensor, place.generation, values, place.bytes);
}

/* Touches every byte of a tensor, as a caller does who reads it. */
static unsigned look(ml_state *state, int32_t tensor) {
    static uint8_t values[MOST_BYTES];
    ml_error error = {.subgraph = -1, .node = -1};
    ml_place_now place;
    unsigned sum = 0;
    if (ml_state_place(state, tensor, &place, &error) != ML_OK || !place.data) return 0;
    if (place.bytes > MOST_BYTES) return 0;
    if (ml_state_read(state, tensor, place.generation, values, place.bytes) != ML_OK) return 0;
    for (int64_t i = 0; i < place.bytes; i++) sum += values[i];
    return sum;
}

static bool prepare(ml_state *state) {
    const uintptr_t failed = ml_state_prepare(state);
    if (failed) ml_error_free((ml_error *)failed);
    return !failed;
}

static void run(ml_state *state, const ml_subgraph_row *rows, const uint8_t *data, size_t bytes) {
    for (int32_t i = 0; i < rows->n_inputs; i++) fill(state, rows->inputs[i], data, bytes);
    const uintptr_t failed = ml_state_run(state);
    if (failed) ml_error_free((ml_error *)failed);
    for (int32_t i = 0; i < rows->n_tensors; i++) look(state, i);
}

/* Runs it in the sizes of the file, in others that its bytes draw, and in the first ones again. */
static void run_resized(ml_state *state, const ml_file *file, const uint8_t *data, size_t bytes) {
    const ml_subgraph_row *rows = &file->subgraphs[0];
    if (prepare(state)) run(state, rows, data, bytes);
    if (rows->n_inputs == 0) return;
    const int32_t tensor = rows->inputs[data[bytes / 2] % rows->n_inputs];
    const ml_tensor_row *row = &rows->tensors[tensor];
    int32_t dims[MOST_RANK], rank = row->rank < MOST_RANK ? row->rank : MOST_RANK;
    for (int32_t d = 0; d < rank; d++) dims[d] = data[((size_t)d * 7 + bytes / 3) % bytes] % 9;
    if (ml_state_request(state, tensor, dims, rank) == ML_REQUEST_NOTED && prepare(state))
        run(state, rows, data, bytes);
    if (ml_state_request(state, tensor, row->shape, rank) == ML_REQUEST_NOTED && prepare(state))
        run(state, rows, data, bytes);
}

static void use_graph(ml_graph *graph, int32_t resources, const ml_file *file, const uint8_t *data,
                      size_t bytes) {
    ml_error error = {.subgraph = -1, .node = -1};
    ml_interpreter *shared = NULL;
    int32_t polls = MOST_POLLS;
    const ml_hooks hooks = {&polls, refuse_eval, refuse_shape, poll};
    const int32_t wide = ML_SHARE_WIDE | ML_KEEP_SMALLER;
    const int32_t options = data[bytes - 1] % 3 == 0   ? ML_KEEP_ALL
                            : data[bytes - 1] % 3 == 1 ? ML_KEEP_INPUTS | ML_INPUTS_APART | wide
                                                       : wide;
    /* Parts of some files run patch by patch. */
    const int64_t most_arena = data[bytes - 1] / 4 % 2 ? 256 << data[bytes - 1] / 8 % 16 : 0;
    ml_state *state = NULL;
    ml_family *family = NULL;
    if (ml_interpreter_new(resources, file->n_subgraphs, MOST_BYTES, MOST_ITERATIONS, &shared,
                           &error) == ML_OK &&
        ml_family_new(graph, &family, &error) == ML_OK &&
        ml_state_new(family, shared, "default", options, 1 << 16, most_arena, &hooks, &state,
                     &error) == ML_OK) {
        run_resized(state, file, data, bytes);
        ml_state_free(state);
    }
    ml_family_free(family);
    if (shared) ml_interpreter_free(shared);
}

static void use_lowering(ml_lowering *low, ml_store *store, const ml_simd *level,
                         const uint8_t *data, size_t bytes) {
    static ml_error errors[64];
    ml_graph_def description = low->description;
    ml_graph *graph = NULL;
    description.store = store;
    description.simd = level;
    description.root = 0;
    description.fuses = data[bytes - 1] & 1;
    memset(errors, 0, sizeof errors);
    if (ml_graph_new(&description, &graph, errors, 64) == ML_OK) {
        use_graph(graph, description.n_resources, low->file, data, bytes);
        ml_graph_free(graph);
    }
}

void ml_fuzz_use(const uint8_t *data, size_t bytes, const int32_t *offsets, int32_t n_offsets) {
    static ml_file_error refusal;
    static const ml_simd *level;
    ml_file *file = NULL;
    ml_store *store = NULL;
    ml_lowering *low = NULL;
    ml_error error = {.subgraph = -1, .node = -1};
    if (!level) ml_simd_choose(NULL, &level, &error);
    if (bytes == 0 || ml_file_new(data, (int64_t)bytes, &file, &refusal) != ML_OK) return;
    if (file->n_subgraphs > 0 && ml_store_new(&store, &error) == ML_OK &&
        ml_lowering_new(file, store, level, NULL, 0, &low, &error) == ML_OK) {
        /* What only Python can do is left out: its node then has no result, and the graph is
         * refused if anything reads that. */
        while (ml_lowering_run(low, &error) == ML_OK && low->need == ML_NEEDS_NODE)
            ml_lowering_skip(low);
        for (int32_t i = 0; i < n_offsets && i < file->subgraphs[0].n_tensors; i++)
            low->tensors[i].offline_offset = offsets[i];
        if (low->need == ML_NEEDS_NOTHING && low->n_refused == 0 && low->n_deep == 0)
            use_lowering(low, store, level, data, bytes);
        ml_lowering_free(low);
    }
    ml_store_free(store);
    ml_file_free(file);
}
