/* interpreter.h -- ml_interpreter: what the states of all signatures share; blocks of memory beside
 * their arenas. */
#ifndef ML_STATE_INTERPRETER_H
#define ML_STATE_INTERPRETER_H

#include <stdatomic.h>

#include "core/cancel.h"
#include "core/shape.h"
#include "memory/account.h"
#include "threads/pool.h"

/* A block outside the arena: resource variables, carries of loops whose shapes change, values of no
 * fixed size. It keeps its room from run to run. */
typedef struct ml_block {
    void *data;
    int64_t capacity;
    int64_t bytes;
    ml_shape shape;
    int32_t type;
    bool assigned;
} ml_block;

/* Whose turn it is: nobody's, a copy's in or out of a tensor, or a call's that changes things. */
enum { ML_TURN_FREE = 0, ML_TURN_COPY = 1, ML_TURN_CALL = 2 };

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
    ml_account account; /* of all memory that tensors take, and the scratch of workers */
    int64_t max_iterations; /* of a WHILE; 0 = any */
    /* Made by the first plan that asks for workers' scratch, or by the second thread. */
    ml_pool *pool;
};

ml_interpreter *ml_interpreter_hold(ml_interpreter *interpreter);
/* Takes the turn of a call: waits for copies, ML_BUSY while another call has it. */
ml_status ml_enter(ml_interpreter *interpreter);
/* Takes the turn of a copy: waits for other copies, ML_BUSY while a call has it. */
ml_status ml_enter_copy(ml_interpreter *interpreter);
void ml_leave(ml_interpreter *interpreter);

/* The pool, with scratch for `worker_bytes` a worker; NULL, and the error, without memory. */
ml_pool *ml_interpreter_pool(ml_interpreter *interpreter, int64_t worker_bytes, ml_error *error);

/* blocks.c, counted in the account of the block's interpreter: makes room for `bytes`, dropping the
 * content. */
ml_status ml_block_reserve(ml_account *account, ml_block *block, int64_t bytes, ml_error *error);
ml_status ml_block_set(ml_account *account, ml_block *block, const ml_shape *shape, int32_t type,
                       const void *data, int64_t bytes, ml_error *error);
/* Leaves a block the room of its value, none without one. */
void ml_block_fit(ml_account *account, ml_block *block);
void ml_block_free(ml_account *account, ml_block *block);
int64_t ml_blocks_bytes(const ml_block *blocks, int64_t count);
void ml_blocks_free(ml_account *account, ml_block *blocks, int64_t count);

#endif
