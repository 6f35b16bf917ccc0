/* recurrent.c -- steps through sequences. Inputs are multiplied with weights for a chunk of steps
 * at a time, the state step by step. */
#include "rules/recurrent.h"

#include "rules/matmul.h"
#include "rules/work.h"

/* Weights -------------------------------------------------------------------------------------- */

void ml_place_weights(const ml_call *c, ml_recurrent *r, int64_t *derived) {
    r->known = true;
    r->bytes = 0;
    for (int i = 0; i < ML_PRODUCTS; i++) {
        r->known &= ml_gates_known(c, &r->gates[i]);
        r->bytes += ml_pack_gates(c, &r->gates[i], NULL);
    }
    r->weights_at = *derived;
    if (r->known) *derived += r->bytes;
}

static void pack(const ml_call *c, const ml_recurrent *r, char *to) {
    for (int i = 0; i < ML_PRODUCTS; i++) to += ml_pack_gates(c, &r->gates[i], to);
}

void ml_pack_known(const ml_call *c, const ml_recurrent *r, void *to) {
    if (r->known) pack(c, r, (char *)to + r->weights_at);
}

static const char *packed_weights(const ml_call *c, const ml_recurrent *r) {
    if (r->known) return (const char *)c->derived + r->weights_at;
    pack(c, r, ml_scratch(c, r->weights_at));
    return ml_scratch(c, r->weights_at);
}

/* Scratch -------------------------------------------------------------------------------------- */

static ml_sequence sequence_of(const ml_shape *x, bool time_major, bool backward) {
    ml_sequence s = {.steps = x->rank == 2 ? 1 : x->dims[time_major ? 0 : 1],
                     .batches = x->dims[x->rank == 2 || !time_major ? 0 : 1],
                     .time_major = time_major,
                     .backward = backward};
    /* Nodes with variables run for an empty batch, too. */
    s.chunk = s.batches > 32 ? 1 : 64 / (s.batches > 0 ? s.batches : 1);
    if (s.chunk > s.steps) s.chunk = s.steps;
    return s;
}

void ml_place_scratch(const ml_call *c, ml_recurrent *r, bool time_major, bool backward,
                      int64_t *scratch) {
    r->sequence = sequence_of(&ml_input(c, r->x)->shape, time_major, backward);
    int64_t batches = r->sequence.batches, rows = r->sequence.chunk * batches, longest = 0;
    rows = rows < batches ? batches : rows;
    if (!r->known) r->weights_at = ml_room(scratch, 1, 1, r->bytes);
    for (int i = 0; i < ML_PRODUCTS; i++) {
        const ml_gates *g = &r->gates[i];
        int64_t k = g->type == ML_F32 ? 0 : g->k;
        longest = k > longest ? k : longest;
        if (i < ML_OF_HIDDEN)
            r->sums_at[i] =
                ml_room(scratch, i == ML_OF_STATE ? batches : rows, g->outputs, 4 * g->n);
    }
    r->quantized_at = ml_room(scratch, rows, longest, 1);
    r->factors_at = ml_room(scratch, rows, 1, sizeof(int32_t));
    r->scales_at = ml_room(scratch, rows, 1, sizeof(float));
}

int64_t ml_room(int64_t *used, int64_t a, int64_t b, int64_t bytes) {
    int64_t at = *used, size;
    if (at < 0 || __builtin_mul_overflow(a, b, &size) ||
        __builtin_mul_overflow(size, bytes, &size) ||
        __builtin_add_overflow(size, at + 63, &size)) {
        *used = -1;
        return 0;
    }
    *used = size & ~(int64_t)63;
    return at;
}

/* Steps ---------------------------------------------------------------------------------------- */

/* The zero point of an s8 input. */
static int32_t zero_of(const ml_call *c, int32_t input) {
    const ml_quantization *q = ml_input_quantization(c, input);
    bool centered = ml_in_tensor(c, input)->type == ML_S8 && q && q->n_zero_points > 0;
    return centered ? (int32_t)q->zero_points[0] : 0;
}

/* The products of `steps` steps of an input, from number `first` on. If batches come first, each
 * batch has products of its own. */
static ml_status multiply_chunk(const ml_call *c, const ml_recurrent *r, int32_t product,
                                const char *packed, const ml_gate_rows *room, int64_t first,
                                int64_t steps) {
    const ml_gates *g = &r->gates[product];
    const ml_sequence *s = &r->sequence;
    int32_t input = product == ML_OF_AUX ? r->aux : r->x;
    int64_t row = g->k * ml_type_bytes(ml_in_tensor(c, input)->type);
    ml_gate_rows rows = *room;
    rows.x = (const char *)ml_in(c, input) + first * (s->time_major ? s->batches : 1) * row;
    rows.stride = g->k;
    rows.count = s->time_major ? steps * s->batches : steps;
    rows.zero = zero_of(c, input);
    rows.y = ml_scratch(c, r->sums_at[product]);
    ml_status status = ML_OK;
    for (int64_t b = 0; b < (s->time_major ? 1 : s->batches) && status == ML_OK; b++) {
        status = ml_multiply_gates(c, g, packed, &rows);
        rows.x = (const char *)rows.x + s->steps * row;
        rows.y = (float *)rows.y + g->n * steps * g->outputs;
    }
    return status;
}

ml_status ml_project(const ml_call *c, const ml_recurrent *r, const ml_step *step,
                     const void *hidden, int32_t zero, void *y) {
    ml_gate_rows rows = step->room;
    rows.x = hidden;
    rows.count = r->sequence.batches;
    rows.stride = r->gates[ML_OF_HIDDEN].k;
    rows.zero = zero;
    rows.y = y;
    return ml_multiply_gates(c, &r->gates[ML_OF_HIDDEN], step->projection, &rows);
}

static void put_rows(const ml_call *c, const ml_recurrent *r, int64_t t) {
    const ml_tensor *y = ml_out_tensor(c, r->output);
    const char *state = ml_variable(c, r->state);
    int64_t element = ml_type_bytes(y->type), row = r->gates[ML_OF_STATE].k * element;
    int64_t width = y->shape.dims[y->shape.rank - 1] * element;
    char *to = (char *)ml_out(c, r->output) + (r->behind ? width - row : 0);
    for (int64_t b = 0; b < r->sequence.batches; b++)
        memcpy(to + ml_sequence_row(&r->sequence, t, b) * width, state + b * row, (size_t)row);
}

/* Runs the steps of a chunk, whose inputs are already multiplied. */
static ml_status run_steps(const ml_call *c, const ml_recurrent *r, ml_step at,
                           const char *packed_state, int64_t first, int64_t steps, ml_step_fn *step,
                           const void *context, int64_t *work) {
    const ml_sequence *s = &r->sequence;
    const ml_gates *g = &r->gates[ML_OF_STATE];
    int64_t outputs = g->outputs, pitch = s->time_major ? s->batches * outputs : outputs;
    const float *input = ml_scratch(c, r->sums_at[ML_OF_INPUT]),
                *aux = ml_scratch(c, r->sums_at[ML_OF_AUX]);
    ml_gate_rows rows = at.room;
    rows.x = ml_variable(c, r->state);
    rows.count = s->batches;
    rows.stride = g->k;
    rows.zero = zero_of(c, r->state);
    rows.y = ml_scratch(c, r->sums_at[ML_OF_STATE]);
    at.gate = pitch * steps;
    at.batch = s->time_major ? outputs : g->n * steps * outputs;
    at.state = rows.y;
    at.state_gate = s->batches * outputs;
    ml_status status = ML_OK;
    for (int64_t i = 0; i < steps && status == ML_OK; i++) {
        int64_t t = s->backward ? steps - 1 - i : i;
        at.input = input + t * pitch;
        at.aux = r->gates[ML_OF_AUX].n ? aux + t * pitch : NULL;
        status = ml_multiply_gates(c, g, packed_state, &rows);
        if (status == ML_OK) status = step(c, r, &at, context);
        if (status == ML_OK) put_rows(c, r, first + t);
        if (status == ML_OK) status = ml_count_work(c, s->batches * g->n * outputs, work);
    }
    return status;
}

ml_status ml_run_recurrent(const ml_call *c, const ml_recurrent *r, bool asymmetric,
                           ml_step_fn *step, const void *context) {
    const ml_sequence *s = &r->sequence;
    const char *packed[ML_PRODUCTS] = {packed_weights(c, r)};
    for (int i = 1; i < ML_PRODUCTS; i++)
        packed[i] = packed[i - 1] + ml_pack_gates(c, &r->gates[i - 1], NULL);
    ml_step at = {.projection = packed[ML_OF_HIDDEN],
                  .room = {.asymmetric = asymmetric,
                           .quantized = ml_scratch(c, r->quantized_at),
                           .factors = ml_scratch(c, r->factors_at),
                           .scales = ml_scratch(c, r->scales_at)}};
    ml_status status = ML_OK;
    int64_t work = 0;
    for (int64_t done = 0, steps; done < s->steps && status == ML_OK; done += steps) {
        steps = s->chunk < s->steps - done ? s->chunk : s->steps - done;
        int64_t first = s->backward ? s->steps - done - steps : done;
        status = multiply_chunk(c, r, ML_OF_INPUT, packed[ML_OF_INPUT], &at.room, first, steps);
        if (status == ML_OK && r->gates[ML_OF_AUX].n)
            status = multiply_chunk(c, r, ML_OF_AUX, packed[ML_OF_AUX], &at.room, first, steps);
        if (status == ML_OK)
            status = run_steps(c, r, at, packed[ML_OF_STATE], first, steps, step, context, &work);
    }
    return status;
}

/* Shapes --------------------------------------------------------------------------------------- */

ml_status ml_expect(const ml_call *c, int32_t i, int32_t rank, int64_t rows, int64_t columns) {
    const ml_tensor *t = ml_input(c, i);
    char text[96];
    if (!t || (t->shape.rank == rank && t->shape.dims[0] == rows &&
               (rank == 1 || t->shape.dims[1] == columns)))
        return ML_OK;
    if (rank == 1)
        return ml_fail(c, ML_SHAPE_ERROR, "input %d has the shape %s, expected (%lld)", i,
                       ml_shape_text(&t->shape, text), (long long)rows);
    return ml_fail(c, ML_SHAPE_ERROR, "input %d has the shape %s, expected (%lld, %lld)", i,
                   ml_shape_text(&t->shape, text), (long long)rows, (long long)columns);
}

ml_status ml_check_sequence(const ml_call *c, int32_t aux, int32_t rank) {
    const ml_shape *x = &ml_input(c, 0)->shape,
                   *other = ml_input(c, aux) ? &ml_input(c, aux)->shape : x;
    char one[96], text[96];
    if (x->rank != rank)
        return ml_fail(c, ML_SHAPE_ERROR, "input has the shape %s, expected %d dimensions",
                       ml_shape_text(x, text), rank);
    bool same = other->rank == rank;
    for (int32_t d = 0; same && d < rank - 1; d++) same = other->dims[d] == x->dims[d];
    if (same) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "auxiliary input of shape %s does not match the input's %s",
                   ml_shape_text(other, text), ml_shape_text(x, one));
}

ml_status ml_set_width(const ml_call *c, int32_t output, ml_shape *y, int64_t width) {
    if (width > INT32_MAX)
        return ml_fail(c, ML_SHAPE_ERROR, "%lld outputs are too many", (long long)width);
    y->dims[y->rank - 1] = (int32_t)width;
    return ml_set_output(c, output, y);
}
