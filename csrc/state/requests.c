/* requests.c -- the shapes and buffers that callers request: noted one by one, put into use or
 * withdrawn together.
 *
 * A plan's key names the shapes that differ from the file's, by ascending tensor, so every size has
 * exactly one key. It is made from these rows when a plan is needed.
 *
 * A request takes no turn, since threads may make one while others run. It is noted under a lock of
 * a few instructions; requests that come while a plan is being made are kept apart from those that
 * the plan is made for. */
#include <stdlib.h>

#include "os/os.h"
#include "state/state.h"

static void lock(ml_requests *a) {
    while (atomic_flag_test_and_set_explicit(&a->taken, memory_order_acquire)) ml_os_yield();
}
static void unlock(ml_requests *a) { atomic_flag_clear_explicit(&a->taken, memory_order_release); }

/* A request takes no turn, so it reads nothing that belongs to calls. */
static void withhold(ml_state *s) {
    atomic_store_explicit(&s->changes[ML_LAYOUT], 0, memory_order_relaxed);
}

/* Writes ML_LAYOUT in the turn of a call, and under the lock: a request that comes at the same time
 * is not missed. */
static void publish(ml_state *s) {
    const ml_requests *a = &s->requests;
    bool waits = !s->now || s->released || a->rebinds;
    for (int32_t i = 0; i < a->count && !waits; i++) waits = a->rows[i].pending;
    atomic_store_explicit(&s->changes[ML_LAYOUT], waits ? 0 : s->now->changes[ML_LAYOUT],
                          memory_order_relaxed);
}

void ml_changed(ml_state *s) {
    ml_run_changed(s);
    s->now->changes[ML_LAYOUT] = s->generations;
    lock(&s->requests);
    publish(s);
    unlock(&s->requests);
}

static const ml_shape *file_shape(const ml_state *s, int32_t tensor) {
    return &ml_frame_subgraph(s->graph, 0)->tensors[tensor].shape;
}

/* The index of the tensor's row, or of where it would be inserted. */
static int32_t find(const ml_requests *a, int32_t tensor) {
    int32_t low = 0, high = a->count;
    while (low < high) {
        int32_t middle = (low + high) / 2;
        if (a->rows[middle].tensor < tensor) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool read_shape(const ml_state *s, int32_t tensor, const void *dims, int32_t rank,
                       ml_shape *shape) {
    const ml_subgraph *sub = ml_frame_subgraph(s->graph, 0);
    if (tensor < 0 || tensor >= sub->io.n_tensors || rank < 0 || rank > ML_MAX_RANK) return false;
    *shape = (ml_shape){.rank = rank};
    if (rank > 0) memcpy(shape->dims, dims, (size_t)rank * sizeof *shape->dims);
    for (int32_t d = 0; d < rank; d++)
        if (shape->dims[d] < 0) return false;
    return sub->slots[tensor] >= 0 || ml_same_shape(shape, file_shape(s, tensor));
}

/* A first request for the shape in the file changes nothing. */
static ml_request_answer note(ml_requests *a, int32_t tensor, const ml_shape *shape, bool file) {
    int32_t at = find(a, tensor);
    if (at < a->count && a->rows[at].tensor == tensor) {
        if (ml_same_shape(&a->rows[at].shape, shape)) return ML_REQUEST_SAME;
    } else {
        if (a->count == a->room) {
            int32_t room = a->room ? 2 * a->room : 4;
            ml_request *rows = realloc(a->rows, (size_t)room * sizeof *rows);
            if (!rows) return ML_REQUEST_NO_MEMORY;
            a->rows = rows;
            a->room = room;
        }
        memmove(a->rows + at + 1, a->rows + at, (size_t)(a->count++ - at) * sizeof *a->rows);
        a->rows[at] = (ml_request){.tensor = tensor};
    }
    a->rows[at].shape = *shape;
    if (!a->rows[at].stands && !a->rows[at].pending && file) return ML_REQUEST_SAME;
    a->rows[at].pending = true;
    return ML_REQUEST_NOTED;
}

int32_t ml_state_request(ml_state *s, int32_t tensor, const void *dims, int32_t rank) {
    ml_shape shape;
    if (!read_shape(s, tensor, dims, rank, &shape)) return ML_REQUEST_WRONG;
    bool file = ml_same_shape(&shape, file_shape(s, tensor));
    lock(&s->requests);
    ml_request_answer answer = note(&s->requests, tensor, &shape, file);
    if (answer == ML_REQUEST_NOTED) withhold(s);
    unlock(&s->requests);
    if (answer == ML_REQUEST_NOTED && !file) ml_account_end_first_limit(&s->interpreter->account);
    return answer;
}

int32_t ml_state_requested(ml_state *s, int32_t tensor, ml_shape *shape) {
    ml_requests *a = &s->requests;
    lock(a);
    int32_t at = find(a, tensor);
    bool pending = at < a->count && a->rows[at].tensor == tensor && a->rows[at].pending;
    if (pending) *shape = a->rows[at].shape;
    unlock(a);
    return pending;
}

static int32_t write_row(int32_t *spec, int32_t tensor, const int32_t *dims, int32_t rank) {
    spec[0] = tensor;
    spec[1] = rank;
    memcpy(spec + 2, dims, (size_t)rank * sizeof *dims);
    return 2 + rank;
}

/* Merges two lists in ascending order; if both have a tensor, the second one counts. Shapes equal
 * to the file's are left out. */
static int32_t merge(const ml_state *s, const int32_t *rows, int32_t words, int32_t *spec) {
    const ml_requests *a = &s->requests;
    int32_t count = 0, at = 0;
    for (int32_t i = 0; i < a->count || at < words;) {
        bool given = at < words && (i == a->count || rows[at] <= a->rows[i].tensor);
        if (given && i < a->count && rows[at] == a->rows[i].tensor) i++;
        int32_t tensor = given ? rows[at] : a->rows[i].tensor;
        ml_shape shape = given ? (ml_shape){.rank = rows[at + 1]} : a->rows[i++].shape;
        if (given) {
            memcpy(shape.dims, rows + at + 2, (size_t)shape.rank * sizeof *shape.dims);
            at += 2 + shape.rank;
        }
        if (ml_same_shape(&shape, file_shape(s, tensor))) continue;
        count += write_row(spec + count, tensor, shape.dims, shape.rank);
    }
    return count;
}

static ml_status check_rows(const ml_state *s, const int32_t *rows, int32_t words,
                            ml_error *error) {
    int32_t tensors = ml_frame_subgraph(s->graph, 0)->io.n_tensors;
    for (int32_t i = 0; i < words;) {
        int32_t number = rows[i], rank = i + 1 < words ? rows[i + 1] : -1;
        if (number < 0 || number >= tensors || rank < 0 || rank > ML_MAX_RANK ||
            rank > words - i - 2)
            return ml_error_set(error, ML_SHAPE_ERROR,
                                "tensor %d of %d cannot take rank %d: at most %d dimensions",
                                number, tensors, rank, ML_MAX_RANK);
        i += 2 + rank;
    }
    return ML_OK;
}

/* Called in the turn. Requests that come later, while memory is taken, do not concern this plan. */
ml_status ml_requests_spec(ml_state *s, const int32_t *rows, int32_t words, bool *resized,
                           ml_error *error) {
    ml_requests *a = &s->requests;
    *resized = false;
    ml_status status = check_rows(s, rows, words, error);
    if (status != ML_OK) return status;
    lock(a);
    int32_t room = a->count * (2 + ML_MAX_RANK) + words;
    if (room > a->spec_room) {
        int32_t *spec = realloc(a->spec, (size_t)room * sizeof *spec);
        if (!spec) {
            unlock(a);
            return ml_error_memory(error, "the shapes asked for", room * (int64_t)sizeof *spec, 0);
        }
        a->spec = spec;
        a->spec_room = room;
    }
    a->words = merge(s, rows, words, a->spec);
    for (int32_t i = 0; i < a->count && !rows; i++) {
        a->rows[i].plan = a->rows[i].shape;
        a->rows[i].planned = true;
        *resized |= a->rows[i].pending;
    }
    unlock(a);
    return ML_OK;
}

/* Buffers -------------------------------------------------------------------------------------- */

/* Replaces, adds or removes one buffer; there is room. Returns whether that changes anything. */
static bool note_buffer(ml_requests *a, const ml_binding *row) {
    int32_t at = 0;
    while (at < a->n_bound && a->bound[at].tensor < row->tensor) at++;
    ml_binding *here = a->bound + at;
    const bool there = at < a->n_bound && here->tensor == row->tensor;
    const size_t after = (size_t)(a->n_bound - at) * sizeof *here;
    if (row->bytes < 0) {
        if (!there) return false;
        memmove(here, here + 1, after - sizeof *here);
        a->n_bound--;
        return true;
    }
    if (!there) {
        memmove(here + 1, here, after);
        a->n_bound++;
    }
    *here = *row;
    return true;
}

static ml_request_answer note_buffers(ml_requests *a, const ml_binding *rows, int32_t count) {
    for (int32_t i = 0; i < count; i++)
        if (rows[i].bytes >= 0 && rows[i].number <= a->newest) return ML_REQUEST_WRONG;
    if (a->n_bound + count > a->bound_room) {
        const int32_t room = a->n_bound + count;
        ml_binding *bound = realloc(a->bound, (size_t)room * sizeof *bound);
        if (!bound) return ML_REQUEST_NO_MEMORY;
        a->bound = bound;
        a->bound_room = room;
    }
    bool changed = false;
    for (int32_t i = 0; i < count; i++) {
        changed |= note_buffer(a, &rows[i]);
        a->newest = ml_max_s64(a->newest, rows[i].number);
    }
    a->rebinds |= changed;
    return changed ? ML_REQUEST_NOTED : ML_REQUEST_SAME;
}

int32_t ml_state_bind(ml_state *s, const ml_binding *rows, int32_t count) {
    lock(&s->requests);
    ml_request_answer answer = note_buffers(&s->requests, rows, count);
    if (answer == ML_REQUEST_NOTED) withhold(s);
    unlock(&s->requests);
    return answer;
}

static bool has_number(const ml_binding *rows, int32_t count, int64_t number) {
    for (int32_t i = 0; i < count; i++)
        if (rows[i].number == number) return true;
    return false;
}

int32_t ml_state_holds(ml_state *s, int64_t number) {
    const ml_requests *a = &s->requests;
    lock(&s->requests);
    bool holds = number > a->newest || has_number(a->bound, a->n_bound, number) ||
                 has_number(s->bound, s->n_bound, number);
    unlock(&s->requests);
    return holds;
}

int64_t ml_state_requested_buffer(ml_state *s, int32_t tensor) {
    const ml_requests *a = &s->requests;
    int64_t number = 0;
    lock(&s->requests);
    for (int32_t i = 0; i < a->n_bound; i++)
        if (a->bound[i].tensor == tensor) number = a->bound[i].number;
    unlock(&s->requests);
    return number;
}

ml_status ml_requests_bound(ml_state *s, ml_binding **bound, int32_t *n_bound, ml_error *error) {
    ml_requests *a = &s->requests;
    lock(a);
    const size_t bytes = (size_t)a->n_bound * sizeof *a->bound;
    ml_binding *copy = a->rebinds && bytes > 0 ? malloc(bytes) : NULL;
    if (copy) memcpy(copy, a->bound, bytes);
    *bound = a->rebinds ? copy : s->bound;
    *n_bound = a->rebinds ? a->n_bound : s->n_bound;
    const bool refused = a->rebinds && bytes > 0 && !copy;
    unlock(a);
    return refused ? ml_error_refused(error, "bound tensors") : ML_OK;
}

/* Under the lock, because ml_state_holds reads them. */
void ml_requests_use_bound(ml_state *s, ml_binding *bound, int32_t n_bound) {
    if (bound == s->bound) return;
    lock(&s->requests);
    free(s->bound);
    s->bound = bound;
    s->n_bound = n_bound;
    unlock(&s->requests);
}

/* The end of a plan being made ----------------------------------------------------------------- */

void ml_requests_accepted(ml_state *s) {
    ml_requests *a = &s->requests;
    lock(a);
    for (int32_t i = 0; i < a->count; i++) {
        ml_request *row = &a->rows[i];
        if (!row->planned) continue;
        row->now = row->plan;
        row->pending = !ml_same_shape(&row->shape, &row->now);
        row->stands = true;
        row->planned = false;
    }
    a->rebinds = a->n_bound != s->n_bound;
    for (int32_t i = 0; i < a->n_bound && !a->rebinds; i++)
        a->rebinds = a->bound[i].number != s->bound[i].number;
    publish(s);
    unlock(a);
}

void ml_requests_refused(ml_state *s) {
    ml_requests *a = &s->requests;
    int32_t kept = 0;
    lock(a);
    for (int32_t i = 0; i < a->count; i++) {
        ml_request row = a->rows[i];
        if (!row.stands) continue;
        row.shape = row.now;
        row.pending = row.planned = false;
        a->rows[kept++] = row;
    }
    a->count = kept;
    if (s->n_bound > 0) memcpy(a->bound, s->bound, (size_t)s->n_bound * sizeof *a->bound);
    a->n_bound = s->n_bound; /* there is room: they were requested once */
    a->rebinds = false;
    publish(s);
    unlock(a);
}

void ml_requests_free(ml_state *s) {
    free(s->requests.rows);
    free(s->requests.spec);
    free(s->requests.bound);
}
