/* kept.c -- snapshots: packs what an interpreter keeps from run to run into bytes, and puts it
 * back.
 *
 * A snapshot may come from another process, so nothing in it is trusted: bytes become a snapshot
 * only after ml_kept_check, and it is put back in three steps: every row is checked again, now
 * against the model too, room is taken for values that have outgrown their blocks, and then
 * everything is copied, which cannot fail. */
#include <stdlib.h>

#include "core/table.h"
#include "state/state.h"

_Static_assert(sizeof(ml_kept_row) == ML_KEPT_STEP, "values follow their rows");

/* From the start of the memory of a snapshot to its first byte. */
static size_t lead(const void *memory) { return -(uintptr_t)memory % ML_KEPT_STEP; }

/* Packing -------------------------------------------------------------------------------------- */

typedef struct packing {
    uint8_t *to;
    int64_t room;
    int64_t at;
} packing;

static void add_row(packing *p, ml_kept_row row, const void *data) {
    const int64_t padded = ml_round_up(row.bytes, ML_KEPT_STEP),
                  end = p->at + (int64_t)sizeof row + padded;
    if (end <= p->room) {
        uint8_t *at = p->to + p->at;
        for (int32_t d = row.shape.rank; d < ML_MAX_RANK; d++) row.shape.dims[d] = 0;
        memcpy(at, &row, sizeof row);
        at += sizeof row;
        if (row.bytes > 0) memcpy(at, data, (size_t)row.bytes);
        memset(at + row.bytes, 0, (size_t)(padded - row.bytes));
    }
    p->at = end;
}

static void add_block(packing *p, ml_kept_row row, const ml_block *b) {
    row.bytes = b->bytes;
    row.type = b->type;
    if (b->type != ML_TABLE_TYPE) row.shape = b->shape;
    add_row(p, row, b->data);
}

static bool keeps_strings(const ml_state *s, int32_t slot) {
    const ml_subgraph *sub = ml_frame_subgraph(s->graph, 0);
    return s->now->rows->tensors[slot].storage == ML_STORAGE_HEAP &&
           (sub->tensors[sub->numbers[slot]].flags & ML_TENSOR_VARIABLE) != 0;
}

static void add_state(packing *p, const ml_state *s, int32_t number) {
    const int64_t variables = s->now->rows->persistent_bytes, nodes = s->graph->memory_bytes;
    ml_kept_row row = {.bytes = variables, .state = number, .what = ML_KEPT_VARIABLES};
    add_row(p, row, s->persistent);
    row.what = ML_KEPT_NODES;
    row.bytes = nodes;
    if (nodes > 0) add_row(p, row, s->node_memory);
    row.what = ML_KEPT_STRINGS;
    const int32_t slots = s->heap ? ml_frame_subgraph(s->graph, 0)->n_slots : 0;
    for (row.number = 0; row.number < slots; row.number++)
        if (s->heap[row.number].assigned && keeps_strings(s, row.number))
            add_block(p, row, &s->heap[row.number]);
}

int64_t ml_kept_pack(ml_interpreter *interpreter, ml_state *const *states, int32_t n_states,
                     void *to, int64_t room) {
    if (ml_enter_copy(interpreter) != ML_OK) return -1;
    packing p = {(uint8_t *)to + lead(to), room, 0};
    for (int32_t r = 0; r < interpreter->n_resources; r++) {
        const ml_kept_row row = {.state = -1, .what = ML_KEPT_RESOURCE, .number = r};
        if (interpreter->resources[r].assigned) add_block(&p, row, &interpreter->resources[r]);
    }
    const ml_kept_row called = {
        .bytes = interpreter->n_subgraphs, .state = -1, .what = ML_KEPT_CALLED};
    add_row(&p, called, interpreter->called_once);
    for (int32_t i = 0; i < n_states; i++)
        if (states[i]->now) add_state(&p, states[i], i);
    ml_leave(interpreter);
    return p.at;
}

/* Unpacking ------------------------------------------------------------------------------------ */

typedef struct unpacking {
    ml_interpreter *interpreter; /* NULL: rows are only checked by themselves */
    ml_state *const *states;
    int32_t n_states;
    const uint8_t *from;
    int64_t bytes;
    int64_t at;
    ml_block *fresh; /* blocks that take the place of those that are too small, in order of rows */
    int32_t n_fresh;
    ml_error *error;
} unpacking;

/* The next row, and its bytes at *data; NULL at the end, and where the bytes end too early. */
static const ml_kept_row *next_row(unpacking *u, const void **data) {
    const int64_t left = u->bytes - u->at - (int64_t)sizeof(ml_kept_row);
    const ml_kept_row *row = (const void *)(u->from + u->at);
    if (left < 0 || row->bytes < 0 || row->bytes > left ||
        ml_round_up(row->bytes, ML_KEPT_STEP) > left)
        return NULL;
    *data = row + 1;
    u->at += (int64_t)sizeof *row + ml_round_up(row->bytes, ML_KEPT_STEP);
    return row;
}

/* The block that a row is copied to; NULL for rows of other things. */
static ml_block *block_of(const unpacking *u, const ml_kept_row *row) {
    if (row->what == ML_KEPT_RESOURCE) return &u->interpreter->resources[row->number];
    return row->what == ML_KEPT_STRINGS ? &u->states[row->state]->heap[row->number] : NULL;
}

static bool is_short(const ml_block *b, const ml_kept_row *row) {
    return row->bytes > b->capacity || !b->data; /* also of no bytes: a value has an address */
}

static bool shape_is_whole(const ml_shape *shape) {
    if (shape->rank < 0 || shape->rank > ML_MAX_RANK) return false;
    for (int32_t d = 0; d < shape->rank; d++)
        if (shape->dims[d] < 0) return false;
    return ml_elements(shape) >= 0;
}

static bool value_is_whole(const ml_kept_row *row, const void *data) {
    char why[128];
    if (row->type == ML_TABLE_TYPE) return ml_table_is_whole(data, row->bytes);
    if (!ml_type_row_of(row->type) || !shape_is_whole(&row->shape)) return false;
    const int64_t elements = ml_elements(&row->shape);
    if (row->type == ML_STRING) return ml_strings_are_whole(data, row->bytes, elements, why);
    return ml_type_is_heap(row->type) || ml_bytes_of(elements, row->type) == row->bytes;
}

static ml_status check_kept_bytes(const unpacking *u, const ml_kept_row *row, int64_t wanted) {
    if (row->bytes == wanted) return ML_OK;
    return ml_error_set(u->error, ML_BINDING_ERROR,
                        "the snapshot is of another model: it has %lld bytes of variables, this "
                        "one has %lld",
                        (long long)row->bytes, (long long)wanted);
}

static bool strings_fit(const ml_state *s, const ml_kept_row *row) {
    return s->heap && row->number >= 0 && row->number < ml_frame_subgraph(s->graph, 0)->n_slots &&
           keeps_strings(s, row->number) &&
           ml_same_shape(&row->shape, &s->now->rows->tensors[row->number].shape);
}

/* True if a row is whole, as far as that can be said without its model. */
static bool row_is_whole(const ml_kept_row *row, const void *data) {
    if (row->state < -1 || !shape_is_whole(&row->shape)) return false;
    switch (row->what) {
    case ML_KEPT_RESOURCE: return row->state < 0 && row->number >= 0 && value_is_whole(row, data);
    case ML_KEPT_CALLED: return row->state < 0;
    case ML_KEPT_VARIABLES:
    case ML_KEPT_NODES: return row->state >= 0;
    case ML_KEPT_STRINGS:
        return row->state >= 0 && row->type == ML_STRING && value_is_whole(row, data);
    default: return false;
    }
}

static ml_status refuse_kept_row(const unpacking *u, const ml_kept_row *row, bool whole) {
    return ml_error_set(
        u->error, ML_BINDING_ERROR,
        "the snapshot is %s: its row at byte %lld (%d of state %d, number %d, type %d, %lld bytes) "
        "%s",
        whole ? "of another model" : "damaged", (long long)((const uint8_t *)row - u->from),
        row->what, row->state, row->number, row->type, (long long)row->bytes,
        whole ? "has no place here" : "is not whole");
}

/* True if this model has a place for a whole row. */
static ml_status check_kept_place(const unpacking *u, const ml_kept_row *row) {
    const ml_state *s = row->state >= 0 && row->state < u->n_states ? u->states[row->state] : NULL;
    bool fits = false;
    if (row->what == ML_KEPT_CALLED) fits = row->bytes == u->interpreter->n_subgraphs;
    else if (row->what == ML_KEPT_RESOURCE) fits = row->number < u->interpreter->n_resources;
    else if (s && s->now && row->what == ML_KEPT_VARIABLES)
        return check_kept_bytes(u, row, s->now->rows->persistent_bytes);
    else if (s && s->now && row->what == ML_KEPT_NODES)
        return check_kept_bytes(u, row, s->graph->memory_bytes);
    else if (s && s->now) fits = strings_fit(s, row);
    return fits ? ML_OK : refuse_kept_row(u, row, true);
}

/* True if rows ascend, so that each has a place of its own. The first row of a state has its
 * variables. */
static bool follows(const ml_kept_row *before, const ml_kept_row *row) {
    if (!before || before->state != row->state)
        return (!before || before->state < row->state) &&
               (row->state < 0 || row->what == ML_KEPT_VARIABLES);
    if (before->what != row->what) return before->what < row->what;
    return before->number < row->number;
}

static ml_status check_kept_rows(unpacking *u) {
    const ml_kept_row *row, *before = NULL;
    const void *data = NULL;
    while ((row = next_row(u, &data)) && follows(before, row)) {
        if (!row_is_whole(row, data)) return refuse_kept_row(u, row, false);
        before = row;
        if (!u->interpreter) continue;
        const ml_status status = check_kept_place(u, row);
        if (status != ML_OK) return status;
        const ml_block *b = block_of(u, row);
        u->n_fresh += b && is_short(b, row);
    }
    if (!row && u->at == u->bytes) return ML_OK;
    return ml_error_set(
        u->error, ML_BINDING_ERROR, "the snapshot is damaged: rows end at byte %lld of %lld",
        (long long)(row ? (const uint8_t *)row - u->from : u->at), (long long)u->bytes);
}

ml_status ml_kept_check(const void *from, int64_t bytes, ml_error *error) {
    unpacking u = {.from = (const uint8_t *)from + lead(from), .bytes = bytes, .error = error};
    return check_kept_rows(&u);
}

static ml_status take_room(unpacking *u) {
    const void *data = NULL;
    const ml_kept_row *row;
    int32_t made = 0;
    u->fresh = calloc((size_t)u->n_fresh, sizeof *u->fresh);
    if (!u->fresh) return ml_error_refused(u->error, "a snapshot");
    for (u->at = 0; (row = next_row(u, &data));) {
        const ml_block *b = block_of(u, row);
        if (!b || !is_short(b, row)) continue;
        ml_status status =
            ml_block_reserve(&u->interpreter->account, &u->fresh[made++], row->bytes, u->error);
        if (status == ML_OK) continue;
        ml_blocks_free(&u->interpreter->account, u->fresh, u->n_fresh);
        return status;
    }
    return ML_OK;
}

static void put_block(unpacking *u, ml_block *b, const ml_kept_row *row, const void *data) {
    if (is_short(b, row)) {
        ml_block_free(&u->interpreter->account, b);
        *b = *u->fresh++;
    }
    if (row->bytes > 0) memcpy(b->data, data, (size_t)row->bytes);
    b->bytes = row->bytes;
    b->type = row->type;
    b->shape = row->shape;
    b->assigned = true;
}

static void put_row(unpacking *u, const ml_kept_row *row, const void *data) {
    ml_block *b = block_of(u, row);
    ml_state *s = row->state >= 0 ? u->states[row->state] : NULL;
    if (b) put_block(u, b, row, data);
    if (b && s) {
        const int32_t tensor = ml_frame_subgraph(s->graph, 0)->numbers[row->number];
        ml_now_data(s->now, 0)[tensor] = b->data;
    } else if (s && row->bytes > 0) {
        uint8_t *to = row->what == ML_KEPT_VARIABLES ? s->persistent : s->node_memory;
        memcpy(to, data, (size_t)row->bytes);
    } else if (row->what == ML_KEPT_CALLED) {
        for (int32_t i = 0; i < u->interpreter->n_subgraphs; i++)
            u->interpreter->called_once[i] = ((const uint8_t *)data)[i] != 0;
    }
}

static void begin_state(ml_state *s, bool has_rows) {
    if (!s->now) return;
    ml_heap_reset_variables(s);
    if (!has_rows) ml_begin_variables(s, s->now);
}

/* Puts values in force; those without a row begin again. */
static void put_rows(unpacking *u) {
    ml_interpreter *p = u->interpreter;
    const void *data = NULL;
    const ml_kept_row *row;
    int32_t next = 0; /* of the states */
    for (int32_t r = 0; r < p->n_resources; r++) p->resources[r].assigned = false;
    memset(p->called_once, 0, (size_t)p->n_subgraphs);
    for (u->at = 0; (row = next_row(u, &data));) {
        while (next <= row->state) {
            begin_state(u->states[next], next == row->state);
            next++;
        }
        put_row(u, row, data);
    }
    while (next < u->n_states) begin_state(u->states[next++], false);
}

ml_status ml_kept_unpack(ml_interpreter *interpreter, ml_state *const *states, int32_t n_states,
                         const void *from, int64_t bytes, ml_error *error) {
    unpacking u = {.interpreter = interpreter,
                   .states = states,
                   .n_states = n_states,
                   .from = (const uint8_t *)from + lead(from),
                   .bytes = bytes,
                   .error = error};
    ml_status status = ml_enter(interpreter);
    if (status != ML_OK) return status;
    status = check_kept_rows(&u);
    if (status == ML_OK && u.n_fresh > 0) status = take_room(&u);
    if (status == ML_OK) {
        ml_block *fresh = u.fresh;
        put_rows(&u);
        free(fresh);
    }
    ml_leave(interpreter);
    return status;
}
