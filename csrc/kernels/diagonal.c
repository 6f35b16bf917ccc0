/* diagonal.c -- MATRIX_DIAG: makes square matrices with vectors on the diagonal, and zeros
 * elsewhere. MATRIX_SET_DIAG: replaces the diagonals of matrices; may run in place. */
#include "rules/values.h"
#include "rules/work.h"

typedef struct diagonal_blob {
    int64_t matrices;
    int32_t rows;
    int32_t columns;
    int32_t length; /* of the diagonal */
} diagonal_blob;

static ml_status prepare_diag(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    if (x->rank < 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the input is a scalar, expected rank 1 or more");
    const int32_t n = x->dims[x->rank - 1];
    *(diagonal_blob *)c->blob = (diagonal_blob){ml_elements_of(x, 0, x->rank - 1), n, n, n};
    ml_shape y = *x;
    ml_status status = ml_append_dim(c, &y, n);
    return status == ML_OK ? ml_set_output(c, 0, &y) : status;
}

static ml_status prepare_set_diag(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape, *diagonal = &ml_input(c, 1)->shape;
    char one[96];
    if (x->rank < 2)
        return ml_fail(c, ML_SHAPE_ERROR, "the input has rank %d, expected 2 or more", x->rank);
    const int32_t rows = x->dims[x->rank - 2], columns = x->dims[x->rank - 1];
    const int32_t length = rows < columns ? rows : columns;
    const int64_t matrices = ml_elements_of(x, 0, x->rank - 2);
    /* LiteRT looks at no shape of the diagonals: it takes as many values as it needs, in order. */
    if (ml_elements(diagonal) < matrices * length)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "diagonals of the shape %s have fewer values than %lld of %d each",
                       ml_shape_text(diagonal, one), (long long)matrices, length);
    *(diagonal_blob *)c->blob = (diagonal_blob){matrices, rows, columns, length};
    return ml_set_output(c, 0, x);
}

static ml_status write_diagonals(const ml_call *c, const uint8_t *from) {
    const diagonal_blob *b = c->blob;
    const int64_t element = ml_type_bytes(ml_out_tensor(c, 0)->type);
    return ml_move_runs(
        c, ml_out(c, 0), from, element,
        (ml_turns){b->matrices, b->rows * (int64_t)b->columns * element, b->length * element},
        (ml_turns){b->length, (b->columns + 1) * element, element});
}

static ml_status matrix_diag(const ml_call *c) {
    const uint8_t nothing = 0;
    ml_status status = ml_fill_bytes(c, ml_out(c, 0), ml_out_tensor(c, 0)->bytes, &nothing, 1);
    return status == ML_OK ? write_diagonals(c, ml_in(c, 0)) : status;
}

static ml_status matrix_set_diag(const ml_call *c) {
    ml_status status = ML_OK;
    if (ml_out(c, 0) != ml_in(c, 0))
        status = ml_copy_bytes(c, ml_out(c, 0), ml_in(c, 0), ml_out_tensor(c, 0)->bytes);
    return status == ML_OK ? write_diagonals(c, ml_in(c, 1)) : status;
}

#define TYPES "f32 s8 u8 s16 s32 u32 s64"
ML_KERNELS(diagonal) = {
    {ML_OP(MATRIX_DIAG, 1, 1), .name = "matrix_diag", .takes = "x -> y", .follows = ML_INPUT(0),
     .blob_bytes = sizeof(diagonal_blob), .prepare = prepare_diag,
     ML_TYPED({"T -> T: " TYPES, NULL, NULL, matrix_diag})},
    {ML_OP(MATRIX_SET_DIAG, 1, 1), .name = "matrix_set_diag", .takes = "x diagonal -> y",
     .in_place = ML_INPUT(0), .follows = ML_INPUT(0), .blob_bytes = sizeof(diagonal_blob),
     .prepare = prepare_set_diag, ML_TYPED({"T T -> T: " TYPES, NULL, NULL, matrix_set_diag})},
    ML_KERNELS_END,
};
