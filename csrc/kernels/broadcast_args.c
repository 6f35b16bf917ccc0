/* broadcast_args.c -- BROADCAST_ARGS: the shape to which two shapes, given as values, broadcast. */
#include "rules/values.h"
#include "rules/work.h"

static ml_status prepare_broadcast_args(const ml_call *c, ml_wish *wish) {
    const ml_shape *a = &ml_input(c, 0)->shape, *b = &ml_input(c, 1)->shape;
    char one[96], other[96];
    if (a->rank != 1 || b->rank != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "shapes must be vectors, theirs are %s and %s",
                       ml_shape_text(a, one), ml_shape_text(b, other));
    const int32_t rank = a->dims[0] > b->dims[0] ? a->dims[0] : b->dims[0];
    return ml_set_output(c, 0, &(ml_shape){.rank = 1, .dims = {rank}});
}

/* Dimension number `from_right` from the right; missing dimensions count as 1. */
static int64_t dimension(const ml_call *c, int input, int64_t from_right) {
    const ml_tensor *t = ml_in_tensor(c, input);
    int64_t value;
    return ml_read_index(t, ml_in(c, input), t->shape.dims[0] - 1 - from_right, &value) ? value : 1;
}

static ml_status broadcast_args(const ml_call *c) {
    const ml_tensor *y = ml_out_tensor(c, 0);
    const int64_t rank = y->shape.dims[0];
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t i = 0; i < rank && status == ML_OK; i++) {
        const int64_t a = dimension(c, 0, i), b = dimension(c, 1, i);
        if (a != b && a != 1 && b != 1)
            return ml_fail(c, ML_KERNEL_ERROR,
                           "dimensions %lld and %lld, from the right number %lld, "
                           "do not broadcast",
                           (long long)a, (long long)b, (long long)i);
        const int64_t dim = a == 1 ? b : a;
        if (y->type == ML_S64) ((int64_t *)ml_out(c, 0))[rank - 1 - i] = dim;
        else ((int32_t *)ml_out(c, 0))[rank - 1 - i] = (int32_t)dim;
        status = ml_count_work(c, 1, &work);
    }
    return status;
}

ML_KERNELS(broadcast_args) = {
    {ML_OP(BROADCAST_ARGS, 1, 1), .name = "broadcast_args", .takes = "a b -> y",
     .prepare = prepare_broadcast_args,
     ML_TYPED({"T T -> T: s32 s64", NULL, NULL, broadcast_args})},
    ML_KERNELS_END,
};
