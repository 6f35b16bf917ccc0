/* reverse_sequence.c -- REVERSE_SEQUENCE: reverses the first elements along one dimension; how many
 * is given by the length for each index of another dimension. */
#include "rules/values.h"
#include "rules/work.h"

#define REVERSE_FIELDS(X, S) X(S, i32, sequence, ML_OPTION("seq_dim")) X(S, i32, batch, ML_OPTION("batch_dim"))
ML_PARAMS(reverse_params, REVERSE_FIELDS)

static ml_status prepare_reverse_sequence(const ml_call *c, ml_wish *wish) {
    const reverse_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape, *lengths = &ml_input(c, 1)->shape;
    char text[96];
    if (p->sequence < 0 || p->batch < 0 || p->sequence >= x->rank || p->batch >= x->rank ||
        p->sequence == p->batch)
        return ml_fail(
            c, ML_SHAPE_ERROR,
            "seq_dim is %d and batch_dim %d: they must be two of the input's %d dimensions",
            p->sequence, p->batch, x->rank);
    if (lengths->rank != 1 || lengths->dims[0] != x->dims[p->batch])
        return ml_fail(c, ML_SHAPE_ERROR, "lengths have the shape %s, expected (%d,)",
                       ml_shape_text(lengths, text), x->dims[p->batch]);
    return ml_set_output(c, 0, x);
}

/* The dimensions between the two are treated as one; so are those before and those after them. */
static ml_status reverse_sequence(const ml_call *c) {
    const reverse_params *p = c->params;
    const ml_tensor *t = ml_in_tensor(c, 0);
    const ml_shape *x = &t->shape;
    const bool batch_first = p->batch < p->sequence;
    const int32_t first = batch_first ? p->batch : p->sequence;
    const int32_t second = batch_first ? p->sequence : p->batch;
    const int64_t size = x->dims[p->sequence], outer = ml_elements_of(x, 0, first);
    const int64_t middle = ml_elements_of(x, first + 1, second);
    const int64_t run = ml_elements_of(x, second + 1, x->rank) * ml_type_bytes(t->type);
    /* Bytes from index to index of the two dimensions, whichever comes first. */
    const int64_t pitches[2] = {middle * x->dims[second] * run, run};
    const int64_t along = pitches[batch_first], across = pitches[!batch_first];
    int64_t work = 0;
    for (int64_t k = 0; k < x->dims[p->batch]; k++) {
        int64_t length;
        ml_read_index(ml_in_tensor(c, 1), ml_in(c, 1), k, &length);
        if (length < 0 || length > size)
            return ml_fail(c, ML_KERNEL_ERROR, "length %lld is %lld, expected 0 to %lld",
                           (long long)k, (long long)length, (long long)size);
        ml_status status = ML_OK;
        /* The first `length` indices backwards, then the others. */
        for (int64_t o = 0; o < outer && status == ML_OK; o++) {
            const int64_t at = o * x->dims[first] * pitches[0] + k * across;
            const uint8_t *from = (const uint8_t *)ml_in(c, 0) + at;
            uint8_t *to = (uint8_t *)ml_out(c, 0) + at;
            const int64_t step = middle > 1 ? x->dims[second] * run : 0;
            status =
                ml_move_runs(c, to, from + (length - 1) * along, run,
                             (ml_turns){middle, step, step}, (ml_turns){length, along, -along});
            if (status == ML_OK)
                status = ml_move_runs(c, to + length * along, from + length * along, run,
                                      (ml_turns){middle, step, step},
                                      (ml_turns){size - length, along, along});
            if (status == ML_OK) status = ml_count_work(c, middle * size, &work);
        }
        if (status != ML_OK) return status;
    }
    return ML_OK;
}

ML_KERNELS(reverse_sequence) = {
    {ML_OP(REVERSE_SEQUENCE, 1, 1), .name = "reverse_sequence", .flags = ML_KERNEL_REFUSES_VALUES,
     .takes = "x lengths -> y", ML_PARAMS_OF(reverse_params), .prepare = prepare_reverse_sequence,
     ML_TYPED({"T s32|s64 -> T: f32 u8 s16 s32 s64", NULL, NULL, reverse_sequence})},
    ML_KERNELS_END,
};
