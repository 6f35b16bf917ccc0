/* heap.c -- values of variable size (strings): blocks of the state, one per tensor, which keep
 * their room between runs.
 *
 * A computed tensor has a value once its node has set one. Inputs and variables have a value from
 * the start (as many empty strings as elements), so that no node reads a missing value. */
#include <stdlib.h>

#include "core/strings.h"
#include "state/state.h"

static int64_t slot_of(const ml_state *s, int32_t frame, int32_t tensor) {
    return s->graph->frames[frame].slot_base + ml_frame_subgraph(s->graph, frame)->slots[tensor];
}

ml_block *ml_heap_block(const ml_state *s, const ml_residence *r, int32_t frame, int32_t tensor) {
    if (!s->heap || tensor < 0 || ml_frame_subgraph(s->graph, frame)->slots[tensor] < 0)
        return NULL;
    int64_t slot = slot_of(s, frame, tensor);
    return r->rows->tensors[slot].storage == ML_STORAGE_HEAP ? &s->heap[slot] : NULL;
}

/* Values from the start ------------------------------------------------------------------------ */

static bool is_variable(const ml_subgraph *sub, int32_t tensor) {
    return (sub->tensors[tensor].flags & ML_TENSOR_VARIABLE) != 0;
}

/* True if the tensor of the main subgraph has a value before any node has run. */
static bool is_given(const ml_subgraph *sub, int32_t tensor) {
    for (int32_t i = 0; i < sub->io.n_inputs; i++)
        if (sub->io.inputs[i] == tensor) return true;
    return is_variable(sub, tensor);
}

/* Fills a block, which has room for them, with empty strings. */
static void fill_empty(ml_block *b, const ml_shape *shape) {
    int64_t count = ml_elements(shape), head = ml_strings_head(count);
    ml_set_string_word(b->data, 0, count);
    for (int64_t i = 0; i <= count; i++) ml_set_string_word(b->data, i + 1, head);
    b->bytes = head;
    b->shape = *shape;
    b->type = ML_STRING;
    b->assigned = true;
}

static ml_status make_empty(ml_account *account, ml_block *b, const ml_shape *shape,
                            ml_error *error) {
    int64_t head = ml_strings_head(ml_elements(shape));
    if (head > INT32_MAX) return ml_error_memory(error, "the strings of an input", head, INT32_MAX);
    ml_status status = ml_block_reserve(account, b, head, error);
    if (status == ML_OK) fill_empty(b, shape);
    return status;
}

/* True if a slot of the main subgraph needs a new block for the residence. */
static bool wants_block(const ml_state *s, const ml_residence *r, int32_t slot) {
    const ml_subgraph *sub = ml_frame_subgraph(s->graph, 0);
    const ml_tensor *t = &r->rows->tensors[slot];
    const ml_block *b = &s->heap[slot];
    return t->storage == ML_STORAGE_HEAP && t->type == ML_STRING && t->shaped &&
           is_given(sub, sub->numbers[slot]) &&
           !(b->assigned && ml_same_shape(&b->shape, &t->shape));
}

ml_status ml_heap_acquire(const ml_state *s, const ml_residence *r, ml_block **fresh,
                          ml_error *error) {
    int32_t slots = ml_frame_subgraph(s->graph, 0)->n_slots;
    ml_account *account = &s->interpreter->account;
    *fresh = NULL;
    for (int32_t slot = 0; s->heap && slot < slots; slot++) {
        if (!wants_block(s, r, slot)) continue;
        if (!*fresh) *fresh = calloc((size_t)slots, sizeof **fresh);
        ml_status status =
            *fresh ? make_empty(account, &(*fresh)[slot], &r->rows->tensors[slot].shape, error)
                   : ml_error_refused(error, "strings");
        if (status == ML_OK) continue;
        ml_blocks_free(account, *fresh, *fresh ? slots : 0);
        *fresh = NULL;
        return status;
    }
    return ML_OK;
}

void ml_heap_enter(ml_state *s, const ml_residence *r, ml_block *fresh) {
    const ml_subgraph *sub = ml_frame_subgraph(s->graph, 0);
    for (int32_t slot = 0; s->heap && slot < sub->n_slots; slot++) {
        if (r->rows->tensors[slot].storage != ML_STORAGE_HEAP) continue;
        ml_block *b = &s->heap[slot];
        if (fresh && fresh[slot].data) {
            ml_block_free(&s->interpreter->account, b);
            *b = fresh[slot];
        } else if (is_variable(sub, sub->numbers[slot])) {
            if (b->assigned) fill_empty(b, &b->shape);
        } else if (!is_given(sub, sub->numbers[slot])) b->assigned = false;
    }
    free(fresh);
}

void ml_heap_reset_variables(ml_state *s) {
    const ml_subgraph *sub = ml_frame_subgraph(s->graph, 0);
    for (int32_t slot = 0; s->heap && slot < sub->n_slots; slot++)
        if (s->heap[slot].assigned && is_variable(sub, sub->numbers[slot]))
            fill_empty(&s->heap[slot], &s->heap[slot].shape);
}

/* Reading and writing -------------------------------------------------------------------------- */

ml_status ml_state_write_heap(ml_state *s, int32_t tensor, uint64_t generation, const void *from,
                              int64_t bytes, ml_error *error) {
    ml_status status = ml_enter_copy(s->interpreter);
    if (status != ML_OK) return status;
    bool there = s->now && s->now->changes[ML_GENERATION] == generation && tensor >= 0 &&
                 tensor < ml_frame_subgraph(s->graph, 0)->io.n_tensors;
    ml_block *block = there ? ml_heap_block(s, s->now, 0, tensor) : NULL;
    if (!block)
        status = ml_error_set(error, ML_NOT_READY, "tensor %d is no longer where it was", tensor);
    else {
        const ml_tensor *t = ml_row_of(s->graph, s->now->rows, 0, tensor);
        status =
            ml_block_set(&s->interpreter->account, block, &t->shape, t->type, from, bytes, error);
        ml_now_data(s->now, 0)[tensor] = block->data;
    }
    ml_leave(s->interpreter);
    return status;
}

/* Giving back ---------------------------------------------------------------------------------- */

void ml_heap_trim(ml_state *s) {
    int32_t main_slots = ml_frame_subgraph(s->graph, 0)->n_slots;
    ml_account *account = &s->interpreter->account;
    for (int32_t slot = 0; s->heap && slot < s->graph->total_slots; slot++) {
        if (slot >= main_slots) s->heap[slot].assigned = false; /* computed again in each run */
        ml_block_fit(account, &s->heap[slot]);
    }
    ml_blocks_free(account, s->carries, 2 * (int64_t)s->graph->total_slots);
    s->carries = NULL;
    for (int32_t r = 0; r < s->interpreter->n_resources; r++)
        ml_block_fit(account, &s->interpreter->resources[r]);
}
