/* work.c -- copying and filling in blocks. */
#include "rules/work.h"

typedef struct copy_job {
    uint8_t *to;
    const uint8_t *from;
    int64_t element;
} copy_job;

static ml_status copy_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    const copy_job *m = args;
    memcpy(m->to + first, m->from + first, (size_t)(end - first));
    return ML_OK;
}

ml_status ml_copy_bytes(const ml_call *c, void *to, const void *from, int64_t bytes) {
    copy_job m = {to, from, 1};
    if (bytes > ML_BLOCK_BYTES) return ml_parallel(c, bytes, ML_BLOCK_BYTES, copy_some, &m);
    /* An empty variable has no memory. */
    if (bytes > 0) memcpy(to, from, (size_t)bytes);
    return ML_OK;
}

static ml_status fill_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    const copy_job *m = args;
    memcpy(m->to + first, m->from, (size_t)m->element);
    ml_repeat(m->to + first, m->element, (end - first) / m->element - 1);
    return ML_OK;
}

ml_status ml_fill_bytes(const ml_call *c, void *to, int64_t bytes, const void *one,
                        int64_t element) {
    copy_job m = {to, one, element};
    if (bytes > ML_BLOCK_BYTES) return ml_parallel(c, bytes, ML_BLOCK_BYTES, fill_some, &m);
    /* Nodes that refuse values run without elements, too. */
    return bytes > 0 ? fill_some(c, 0, bytes, 0, &m) : ML_OK;
}

typedef struct runs {
    uint8_t *to;
    const uint8_t *from;
    int64_t run;
    int64_t piece; /* bytes of a run that are copied at a time */
    int64_t pieces; /* of a run */
    ml_turns outer;
    ml_turns inner;
} runs;

/* Copies pieces of runs, or whole runs: those of one outer iteration together. */
static ml_status move_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                           void *args) {
    const runs *r = args;
    for (int64_t i = first, n; i < end; i += n) {
        const int64_t run = i / r->pieces, skip = i % r->pieces * r->piece;
        const int64_t o = run / r->inner.count, k = run % r->inner.count;
        ml_turns inner = r->inner;
        n = inner.count = r->pieces > 1 ? 1 : ml_min_s64(inner.count - k, end - i);
        ml_copy_runs(r->to + o * r->outer.to + k * inner.to + skip,
                     r->from + o * r->outer.from + k * inner.from + skip,
                     ml_min_s64(r->run - skip, r->piece), (ml_turns){1, 0, 0}, inner);
    }
    return ML_OK;
}

ml_status ml_move_runs(const ml_call *c, void *to, const void *from, int64_t run, ml_turns outer,
                       ml_turns inner) {
    const int64_t count = outer.count * inner.count;
    if (run * count <= ML_BLOCK_BYTES) {
        ml_copy_runs(to, from, run, outer, inner);
        return ML_OK;
    }
    const int64_t pieces = ml_ceil_div(run, ML_BLOCK_BYTES);
    const int64_t grain = run < ML_BLOCK_BYTES ? ML_BLOCK_BYTES / run : 1;
    runs r = {to, from, run, pieces > 1 ? ML_BLOCK_BYTES : run, pieces, outer, inner};
    return ml_parallel(c, count * pieces, grain, move_some, &r);
}

/* Writes bytes first .. end - 1 after the first `element` bytes, which are repeated. */
static ml_status repeat_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    const copy_job *m = args;
    for (int64_t at = first, n; at < end; at += n) {
        n = ml_min_s64(end - at, m->element - at % m->element);
        memcpy(m->to + at, m->from + at % m->element, (size_t)n);
    }
    return ML_OK;
}

ml_status ml_repeat_run(const ml_call *c, void *to, int64_t run, int64_t count) {
    const int64_t times = run < ML_BLOCK_BYTES ? ml_min_s64(count, ML_BLOCK_BYTES / run) : 0;
    copy_job m = {to, to, run * (times + 1)};
    ml_repeat(to, run, times);
    if (times == count) return ML_OK;
    m.to += m.element;
    return ml_parallel(c, run * (count - times), ML_BLOCK_BYTES, repeat_some, &m);
}
