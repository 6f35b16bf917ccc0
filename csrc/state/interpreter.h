/* interpreter.h -- ml_interpreter: what the states of all signatures share; and blocks of memory
 * outside their arenas. */
#ifndef ML_STATE_INTERPRETER_H
#define ML_STATE_INTERPRETER_H

#include <stdatomic.h>

#include "core/cancel.h"
#include "core/shape.h"
#include "memory/account.h"
#include "state/turn.h"
#include "state/workspace.h"
#include "threads/pool.h"

/* A block of memory outside the arena, for a resource variable, a carried value of a loop whose
 * shapes change, or a value of variable size. It keeps its room from run to run. */
typedef struct ml_block {
    void *data;
    int64_t capacity;
    int64_t bytes;
    ml_shape shape;
    int32_t type;
    bool assigned;
} ml_block;

struct ml_interpreter {
    atomic_int holders;
    atomic_int turn;
    atomic_uint_fast64_t sequence; /* odd while a call has the turn */
    ml_cancel_flags cancel;
    int32_t n_resources;
    int32_t n_subgraphs;
    int32_t threads;
    ml_block *resources;
    bool *called_once; /* by subgraph */
    ml_account account; /* memory of tensors, and scratch of workers */
    ml_workspace *workspace; /* held; NULL: states have arenas of their own */
    int64_t max_iterations; /* of a WHILE; 0 = no limit */
    /* Made when a plan first needs scratch for workers, or when there is a second thread. */
    ml_pool *pool;
};

ml_interpreter *ml_interpreter_hold(ml_interpreter *interpreter);
/* Takes the turn of a call: waits for copies, ML_BUSY while another call has it. */
ml_status ml_enter(ml_interpreter *interpreter);
/* Takes the turn of a copy: waits for other copies, ML_BUSY while a call has it. */
ml_status ml_enter_copy(ml_interpreter *interpreter);
void ml_leave(ml_interpreter *interpreter);

/* The pool, with `worker_bytes` of scratch per worker; without memory NULL, and the error is
 * set. */
ml_pool *ml_interpreter_pool(ml_interpreter *interpreter, int64_t worker_bytes, ml_error *error);

/* blocks.c: makes room for `bytes` and drops the content; counted in `account`, that of the
 * interpreter. */
ml_status ml_block_reserve(ml_account *account, ml_block *block, int64_t bytes, ml_error *error);
ml_status ml_block_set(ml_account *account, ml_block *block, const ml_shape *shape, int32_t type,
                       const void *data, int64_t bytes, ml_error *error);
/* Shrinks a block to the size of its value, or to nothing if it has none. */
void ml_block_fit(ml_account *account, ml_block *block);
void ml_block_free(ml_account *account, ml_block *block);
int64_t ml_blocks_bytes(const ml_block *blocks, int64_t count);
void ml_blocks_free(ml_account *account, ml_block *blocks, int64_t count);

#endif
