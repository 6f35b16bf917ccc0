/* store.h -- weights laid out for the inner loops, once per Model: shared by all its graphs,
 * interpreters and threads.
 *
 * A block is found, in constant time, by what it was made of: the operand's bytes (by address:
 * constants are never moved), the shape they have, the pack function, the layout it was asked for
 * and the level it was packed for. It goes with the store, which goes with its last holder. */
#ifndef ML_GRAPH_STORE_H
#define ML_GRAPH_STORE_H

#include "kernel.h"

typedef int64_t (*ml_pack_fn)(const ml_call *c, void *to);

/* A block of a store. It never changes, so any thread may read one that it was given. */
typedef struct ml_packed_weights {
    const void *bytes; /* 64-byte aligned */
    int32_t layout;    /* which one prepare asked for */
} ml_packed_weights;

/* The packed operand of a call whose prepare has run; packs it if nobody did before. NULL, and the
 * error, when the system gives no memory or pack refused. Safe to call from several threads. */
const ml_packed_weights *ml_store_packed(ml_store *store, const ml_call *c, ml_pack_fn pack,
                                         const ml_tensor *operand, int32_t layout);

#endif
