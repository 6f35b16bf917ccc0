/* bitcast.c -- BITCAST: the same bytes as elements of another type. With narrower elements a last
 * dimension is added, with wider ones the last is removed. */
#include "rules/values.h"
#include "rules/work.h"

static ml_status prepare_bitcast(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0);
    const int64_t from = ml_type_bytes(x->type), to = ml_type_bytes(ml_output(c, 0)->type);
    ml_shape y = x->shape;
    if (from > to) {
        ml_status status = ml_append_dim(c, &y, from / to);
        if (status != ML_OK) return status;
    } else if (from < to) {
        if (y.rank == 0 || y.dims[y.rank - 1] != to / from)
            return ml_fail(c, ML_SHAPE_ERROR, "the last dimension is %d, must be %lld: %s to %s",
                           y.rank ? y.dims[y.rank - 1] : 1, (long long)(to / from),
                           ml_type_name(x->type), ml_type_name(ml_output(c, 0)->type));
        y.rank--;
    }
    return ml_set_output(c, 0, &y);
}

static ml_status bitcast(const ml_call *c) {
    if (ml_out(c, 0) == ml_in(c, 0)) return ML_OK;
    return ml_copy_bytes(c, ml_out(c, 0), ml_in(c, 0), ml_out_tensor(c, 0)->bytes);
}

#define TYPES "f32|f16|bf16|f64|s8|u8|s16|u16|s32|u32|s64|u64|c64"
ML_KERNELS(bitcast) = {
    {ML_OP(BITCAST, 1, 1), .name = "bitcast", .takes = "x -> y", .in_place = ML_INPUT(0),
     .flags = ML_KERNEL_IS_VIEW | ML_KERNEL_TFLITE_SHARES, .prepare = prepare_bitcast,
     ML_TYPED({TYPES " -> " TYPES, NULL, NULL, bitcast}, {"T -> T: b8 c128", NULL, NULL, bitcast})},
    ML_KERNELS_END,
};
