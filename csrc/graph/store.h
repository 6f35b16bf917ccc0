/* store.h -- weights packed for the inner loops, once per Model: shared by all its graphs,
 * interpreters and threads.
 *
 * A block is found, in constant time, by its key: the address of the operand's bytes (constants
 * never move), its type and shape, the kernel's line, the layout requested, the level, and how many
 * bytes pack writes, so that no node reads beyond what another one packed. A block lives as
 * long as the store, and the store as long as its last holder. */
#ifndef ML_GRAPH_STORE_H
#define ML_GRAPH_STORE_H

#include "kernel.h"

/* A block of a store. It never changes, so any thread may read it. */
typedef struct ml_packed_weights {
    const void *bytes; /* 64-byte aligned */
    int32_t layout;    /* the layout that prepare requested */
} ml_packed_weights;

/* The packed constant operand of a call whose prepare has run, by one of the kernel's lines; packs
 * it at the first request, unless a file that the store has taken holds it. NULL, with the error,
 * when memory is missing or pack refused. Safe to call from several threads. */
const ml_packed_weights *ml_store_packed(ml_store *store, const ml_call *c, const ml_kernel *kernel,
                                         const ml_typed *typed, const ml_tensor_def *constant,
                                         int32_t layout);
/* A constant of the file in 16-bit floats as float32, once per Model, unless a file that the store
 * has taken holds it; 64-byte aligned. NULL, with the error, when memory is missing. */
const float *ml_store_widened(ml_store *store, const struct ml_simd *simd,
                              const ml_tensor_def *halves, ml_error *error);
/* The files that `store` takes serve this one too, which ends before it. */
void ml_store_share_files(ml_store *of, ml_store *store);

#endif
