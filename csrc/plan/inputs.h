/* inputs.h -- graph inputs, which lie in memory of their own, or in arrays of the caller. */
#ifndef ML_PLAN_INPUTS_H
#define ML_PLAN_INPUTS_H

#include "graph/inputs.h"
#include "plan/rows.h"

/* Smaller inputs are always copied: up to about 100 KiB, passing an address takes as long. */
enum { ML_LEAST_LENT = 128 * 1024 };
/* Bytes before the first of the others. The arena begins with a page, too, and often with the
 * output of the node that reads that input; a processor that compares the low 12 bits of addresses
 * would take each load for one of a value just stored. */
enum { ML_INPUT_GAP = 2048 };

/* Takes inputs out of the region of frame 0: their storage becomes ML_STORAGE_INPUT. */
void ml_inputs_take_out(const ml_graph *graph, ml_rows *rows, int32_t options);
/* Gives them places, one after the other from 0 on, those that are always copied first. */
ml_status ml_inputs_place(const ml_graph *graph, ml_rows *rows, ml_error *error);
/* The row of graph input `i` if it lies outside the region, else NULL. */
static inline ml_tensor *ml_input_row(const ml_graph *g, const ml_rows *rows, int32_t i) {
    const ml_subgraph *sub = ml_frame_subgraph(g, 0);
    const int32_t slot = sub->io.inputs[i] < 0 ? -1 : sub->slots[sub->io.inputs[i]];
    ml_tensor *row = slot < 0 ? NULL : &rows->tensors[slot];
    return row && row->storage == ML_STORAGE_INPUT ? row : NULL;
}
/* True if runs may read the input of this row in an array of the caller. */
static inline bool ml_input_may_be_lent(const ml_rows *rows, const ml_tensor *row) {
    return row->offset >= rows->frames[0].copied_bytes;
}

#endif
