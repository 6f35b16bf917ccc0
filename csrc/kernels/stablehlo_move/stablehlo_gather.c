/* stablehlo_gather.c -- STABLEHLO_GATHER: copies blocks of the operand from the places that indices
 * give; blocks that reach outside of the operand are moved inside. */
#include "kernels/stablehlo_move/stablehlo_move.h"

#define GATHER_FIELDS(X, S)                                                                     \
    X(S, array, offset_dims)                                    \
    X(S, array, collapsed, ML_OPTION("collapsed_slice_dims"))   \
    X(S, array, index_map, ML_OPTION("start_index_map"))        \
    X(S, array, sizes, ML_OPTION("slice_sizes"))                \
    X(S, i64, index_axis, ML_OPTION("index_vector_dim"))
ML_PARAMS(gather_params, GATHER_FIELDS)

typedef struct gather_blob {
    ml_block_copy block;
    ml_index_rows rows;
    int64_t batch_to[ML_MAX_RANK]; /* bytes from row to row, by dimension of the rows */
    int64_t batch_dims[ML_MAX_RANK];
    int32_t batches; /* dimensions of the rows */
} gather_blob;

static ml_status check_gather(const ml_call *c) {
    const gather_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape;
    const int64_t depth = ((const gather_blob *)c->blob)->rows.depth;
    if (ml_length(p->sizes) != x->rank ||
        ml_length(p->offset_dims) + ml_length(p->collapsed) != x->rank)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "%lld sizes, %lld offset and %lld collapsed dimensions for a rank of %d",
                       (long long)ml_length(p->sizes), (long long)ml_length(p->offset_dims),
                       (long long)ml_length(p->collapsed), x->rank);
    if (ml_length(p->index_map) != depth)
        return ml_fail(c, ML_SHAPE_ERROR, "%lld dimensions are indexed by rows of %lld numbers",
                       (long long)ml_length(p->index_map), (long long)depth);
    for (int32_t d = 0; d < x->rank; d++)
        if (ml_item(p->sizes, d) < 0 || ml_item(p->sizes, d) > x->dims[d] ||
            (ml_has(p->collapsed, d) && ml_item(p->sizes, d) != 1))
            return ml_fail(c, ML_SHAPE_ERROR, "blocks of size %lld in dimension %d of size %d",
                           (long long)ml_item(p->sizes, d), d, x->dims[d]);
    ml_status status = ml_check_dims(c, p->index_map, "indexed dimension", x->rank, true);
    return status == ML_OK ? ml_check_dims(c, p->collapsed, "collapsed dimension", x->rank, false)
                           : status;
}

static ml_status prepare_gather(const ml_call *c, ml_wish *wish) {
    const gather_params *p = c->params;
    const ml_tensor *x = ml_input(c, 0);
    const ml_shape *indices = &ml_input(c, 1)->shape;
    gather_blob *b = c->blob;
    ml_status status = ml_rows_of(c, 1, p->index_axis, &b->rows);
    if (status == ML_OK) status = check_gather(c);
    if (status != ML_OK) return status;
    const int32_t batches = indices->rank - (p->index_axis < indices->rank);
    const int64_t rank = batches + ml_length(p->offset_dims);
    status = ml_check_dims(c, p->offset_dims, "offset dimension", rank, false);
    /* Each dimension of the output is one of the block, or one of the indices. */
    ml_shape y = {.rank = 0};
    int32_t from = 0, block_dim = 0;
    int32_t offset_of[ML_MAX_RANK], batch_of[ML_MAX_RANK];
    for (int32_t d = 0; d < rank && status == ML_OK; d++) {
        if (ml_has(p->offset_dims, d)) {
            while (ml_has(p->collapsed, block_dim)) block_dim++;
            offset_of[block_dim] = d;
            status = ml_append_dim(c, &y, ml_item(p->sizes, block_dim++));
        } else {
            if (from == p->index_axis) from++;
            batch_of[b->batches] = d;
            b->batch_dims[b->batches++] = indices->dims[from];
            status = ml_append_dim(c, &y, indices->dims[from++]);
        }
    }
    if (status == ML_OK) status = ml_set_output(c, 0, &y);
    if (status != ML_OK) return status;
    /* The block that is copied for each row of indices, and the place of its output. */
    int64_t pitches[ML_MAX_RANK];
    b->block = (ml_block_copy){.n = x->shape.rank, .element = (int32_t)ml_type_bytes(x->type)};
    ml_pitches_of(&x->shape, b->block.element, b->block.from);
    ml_pitches_of(&y, b->block.element, pitches);
    for (int32_t d = 0; d < x->shape.rank; d++) {
        b->block.counts[d] = ml_item(p->sizes, d);
        b->block.to[d] = ml_has(p->collapsed, d) ? 0 : pitches[offset_of[d]];
    }
    for (int32_t d = 0; d < b->batches; d++) b->batch_to[d] = pitches[batch_of[d]];
    return ML_OK;
}

static ml_status gather(const ml_call *c) {
    const gather_params *p = c->params;
    const gather_blob *b = c->blob;
    const ml_shape *x = &ml_in_tensor(c, 0)->shape;
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t row = 0; row < b->rows.count && status == ML_OK; row++) {
        int64_t from = 0, to = 0, rest = row;
        for (int64_t k = 0; k < b->rows.depth; k++) {
            const int64_t d = ml_item(p->index_map, k), index = ml_index_at(c, 1, &b->rows, row, k);
            const int64_t room = x->dims[d] - b->block.counts[d];
            from += (index < 0 ? 0 : index > room ? room : index) * b->block.from[d];
        }
        for (int32_t d = b->batches - 1; d >= 0; rest /= b->batch_dims[d--])
            to += rest % b->batch_dims[d] * b->batch_to[d];
        status = ml_copy_block(c, &b->block, 0, (const uint8_t *)ml_in(c, 0) + from,
                               (uint8_t *)ml_out(c, 0) + to, &work);
    }
    return status;
}

ML_KERNELS(stablehlo_gather) = {
    {ML_OP(STABLEHLO_GATHER, 1, 1), .name = "stablehlo_gather", .takes = "x indices -> y",
     ML_PARAMS_OF(gather_params), .blob_bytes = sizeof(gather_blob), .prepare = prepare_gather,
     ML_TYPED({"T s32|s64 -> T: f32 f16 bf16 f64 s8 u8 b8 s16 u16 s32 u32 s64 u64 c64", NULL, NULL,
               gather})},
    ML_KERNELS_END,
};
