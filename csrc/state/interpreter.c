/* interpreter.c -- the part that the states of one interpreter share: the turn, resources, and the
 * subgraphs that CALL_ONCE has run.
 *
 * The turn is the one lock of an interpreter. It is not a mutex: while a call has it, other calls
 * are refused instead of waiting. So a function that is called by a run cannot wait for that same
 * run, and a program that shares an interpreter among threads gets an error.
 *
 * With the turn of a call, everything in an interpreter and its states may be read and written.
 * With the turn of a copy, everything may be read, and bytes of tensors written. Cancel, the
 * sequence and pins need no turn, because they are atomic; nor does the generation, which is
 * compared again in a turn. */
#include <stdlib.h>

#include "os/os.h"
#include "state/interpreter.h"

ml_status ml_interpreter_new(int32_t resources, int32_t subgraphs, int64_t max_bytes,
                             int64_t max_iterations, ml_interpreter **out, ml_error *error) {
    *out = NULL;
    if (resources < 0 || subgraphs < 0)
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "%d resources and %d subgraphs, neither can be negative", resources,
                            subgraphs);
    ml_interpreter *p = calloc(1, sizeof *p);
    if (!p) return ml_error_refused(error, "an interpreter");
    atomic_init(&p->holders, 1);
    atomic_init(&p->turn, ML_TURN_FREE);
    atomic_init(&p->cancel.own, 0);
    p->n_resources = resources;
    p->n_subgraphs = subgraphs;
    p->threads = 1;
    atomic_init(&p->account.most, max_bytes < 0 ? -max_bytes : max_bytes);
    p->account.most_at_first = max_bytes < 0 ? -max_bytes : 0;
    p->max_iterations = max_iterations;
    p->resources = calloc((size_t)resources + 1, sizeof *p->resources);
    p->called_once = calloc((size_t)subgraphs + 1, sizeof *p->called_once);
    if (p->resources && p->called_once) {
        *out = p;
        return ML_OK;
    }
    ml_interpreter_free(p);
    return ml_error_refused(error, "an interpreter's resources");
}

void ml_interpreter_share(ml_interpreter *p, ml_workspace *workspace) {
    p->workspace = ml_workspace_hold(workspace);
}

ml_interpreter *ml_interpreter_hold(ml_interpreter *p) {
    atomic_fetch_add(&p->holders, 1);
    return p;
}

void ml_interpreter_free(ml_interpreter *p) {
    if (!p || atomic_fetch_sub(&p->holders, 1) > 1) return;
    if (p->resources) ml_blocks_free(&p->account, p->resources, p->n_resources);
    ml_pool_free(p->pool);
    ml_workspace_free(p->workspace);
    free(p->called_once);
    free(p);
}

ml_status ml_enter(ml_interpreter *p) {
    ml_status status = ml_take_turn(&p->turn, ML_TURN_CALL);
    if (status == ML_OK) atomic_fetch_add_explicit(&p->sequence, 1, memory_order_acq_rel);
    return status;
}

ml_status ml_enter_copy(ml_interpreter *p) { return ml_take_turn(&p->turn, ML_TURN_COPY); }
void ml_leave(ml_interpreter *p) {
    /* The sequence is odd in the turn of a call; the turn of a copy does not change it. */
    if (atomic_load_explicit(&p->sequence, memory_order_relaxed) & 1)
        atomic_fetch_add_explicit(&p->sequence, 1, memory_order_acq_rel);
    ml_give_turn(&p->turn);
}

const uint64_t *ml_interpreter_sequence(const ml_interpreter *p) {
    return (const uint64_t *)(const void *)&p->sequence;
}

/* Takes no turn, because it has to work during a run. Each run begins by clearing the flag, so a
 * cancel that comes after the end of a run has no effect. */
void ml_interpreter_cancel(ml_interpreter *p) { atomic_store(&p->cancel.own, 1); }

/* Values are forgotten; blocks keep their room. */
ml_status ml_interpreter_reset_resources(ml_interpreter *p) {
    ml_status status = ml_enter(p);
    if (status != ML_OK) return status;
    for (int32_t r = 0; r < p->n_resources; r++) p->resources[r].assigned = false;
    memset(p->called_once, 0, (size_t)p->n_subgraphs);
    ml_leave(p);
    return ML_OK;
}

/* If there is no pool yet, the next plan put into use makes one of the right size. */
ml_status ml_interpreter_set_threads(ml_interpreter *p, int32_t threads) {
    ml_status status = ml_enter(p);
    if (status != ML_OK) return status;
    ml_error quiet = ML_NO_ERROR;
    p->threads = threads < 1 ? 1 : threads;
    if (p->pool) {
        ml_account_give(&p->account, ml_pool_bytes(p->pool));
        status = ml_pool_set_threads(p->pool, p->threads, &quiet);
        ml_account_give(&p->account, -ml_pool_bytes(p->pool));
    }
    ml_leave(p);
    return status;
}

/* Scratch of workers only grows: plans of other sizes will come back. */
ml_pool *ml_interpreter_pool(ml_interpreter *p, int64_t worker_bytes, ml_error *error) {
    if (!p->pool && ml_pool_new(p->threads, &p->pool, error) != ML_OK) return NULL;
    int64_t had = ml_pool_bytes(p->pool), wanted;
    if (__builtin_mul_overflow(worker_bytes, ml_pool_threads(p->pool), &wanted)) wanted = INT64_MAX;
    int64_t more = ml_max_s64(wanted - had, 0);
    if (ml_account_take(&p->account, "the scratch of workers", more, error) != ML_OK) return NULL;
    ml_status status = ml_pool_reserve(p->pool, worker_bytes, error);
    ml_account_give(&p->account, had + more - ml_pool_bytes(p->pool));
    return status == ML_OK ? p->pool : NULL;
}
