/* blocks.c -- DEPTH_TO_SPACE, SPACE_TO_DEPTH: convert between blocks of pixels and channels;
 * SPACE_TO_BATCH_ND, BATCH_TO_SPACE_ND: between blocks of pixels and batches, with padding or
 * cropping. */
#include "rules/checks.h"
#include "rules/nest.h"
#include "rules/quantized.h"
#include "rules/values.h"
#include "rules/work.h"

/* Blocks and channels -------------------------------------------------------------------------- */

#define DEPTH_FIELDS(X, S) X(S, i32, block_size)
ML_PARAMS(depth_params, DEPTH_FIELDS)

static ml_status check_block(const ml_call *c, int32_t block) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    char text[96];
    if (x->rank != 4)
        return ml_fail(c, ML_SHAPE_ERROR, "input has the shape %s, expected 4 dimensions",
                       ml_shape_text(x, text));
    if (block >= 1 && block <= 32767) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "block_size is %d, expected 1 to 32767", block);
}

/* Builds the nest from six dimensions in the order of the output; `steps` are elements from index
 * to index in the input. */
static void build(const ml_call *c, const int64_t counts[6], const int64_t steps[6]) {
    int64_t element = ml_type_bytes(ml_input(c, 0)->type);
    ml_nest_begin(c->blob, element);
    for (int i = 0; i < 6; i++) ml_nest_add(c->blob, counts[i], steps[i] * element);
    ml_nest_end(c->blob);
}

static ml_status prepare_depth_to_space(const ml_call *c, ml_wish *wish) {
    int32_t b = ((const depth_params *)c->params)->block_size;
    const ml_shape *x = &ml_input(c, 0)->shape;
    ml_status status = check_block(c, b);
    if (status != ML_OK) return status;
    int64_t height = x->dims[1], width = x->dims[2], depth = x->dims[3];
    if (depth % (b * b) != 0)
        return ml_fail(c, ML_SHAPE_ERROR, "depth %d is not a multiple of %d, the block's area",
                       x->dims[3], b * b);
    int64_t channels = depth / (b * b);
    ml_shape shape = {.rank = 0};
    ml_append_dim(c, &shape, x->dims[0]);
    status = ml_append_dim(c, &shape, height * b);
    if (status == ML_OK) status = ml_append_dim(c, &shape, width * b);
    if (status == ML_OK) status = ml_append_dim(c, &shape, channels);
    if (status == ML_OK) status = ml_set_output(c, 0, &shape);
    if (status != ML_OK) return status;
    const int64_t counts[] = {x->dims[0], height, b, width, b, channels};
    const int64_t steps[] = {
        height * width * depth, width * depth, b * channels, depth, channels, 1};
    build(c, counts, steps);
    return ML_OK;
}

static ml_status prepare_space_to_depth(const ml_call *c, ml_wish *wish) {
    int32_t b = ((const depth_params *)c->params)->block_size;
    const ml_shape *x = &ml_input(c, 0)->shape;
    ml_status status = check_block(c, b);
    if (status != ML_OK) return status;
    int64_t height = x->dims[1], width = x->dims[2], depth = x->dims[3];
    if (height % b != 0 || width % b != 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "height %d and width %d are not multiples of block_size %d", x->dims[1],
                       x->dims[2], b);
    ml_shape shape = {.rank = 3, .dims = {x->dims[0], x->dims[1] / b, x->dims[2] / b}};
    status = ml_append_dim(c, &shape, depth * b * b);
    if (status == ML_OK) status = ml_set_output(c, 0, &shape);
    if (status != ML_OK) return status;
    const int64_t counts[] = {x->dims[0], height / b, width / b, b, b, depth};
    const int64_t steps[] = {
        height * width * depth, b * width * depth, b * depth, width * depth, depth, 1};
    build(c, counts, steps);
    return ML_OK;
}

/* Reaches out to whole blocks. */
static bool window_of_depth_to_space(const ml_call *c, ml_rectangle *out, ml_rectangle *in,
                                     void *params) {
    const int32_t b = ((const depth_params *)c->params)->block_size;
    for (int i = 0; i < 2; i++) {
        const ml_side to = out->side[i];
        in[0].side[i] = (ml_side){to.first / b, (int32_t)ml_ceil_div(to.end, b)};
        out->side[i] = (ml_side){in[0].side[i].first * b, in[0].side[i].end * b};
    }
    return true;
}

static bool window_of_space_to_depth(const ml_call *c, ml_rectangle *out, ml_rectangle *in,
                                     void *params) {
    const int32_t b = ((const depth_params *)c->params)->block_size;
    for (int i = 0; i < 2; i++)
        in[0].side[i] = (ml_side){out->side[i].first * b, out->side[i].end * b};
    return true;
}

/* Blocks and batches --------------------------------------------------------------------------- */

/* The two sides: pixels (n, height, width), and blocks (height, width, n, rows, columns). */
typedef struct batch_blob {
    int64_t batches; /* of the pixels */
    int64_t size[2]; /* of the pixels */
    /* Rows and columns before the pixels: padding, or cropped. */
    int64_t before[2];
    int64_t block[2];
    int64_t blocks[2]; /* of each position in a block: rows and columns */
    int64_t run; /* bytes of a pixel */
} batch_blob;

/* Checks the shapes of `block` and of `pairs`, paddings or crops; *m is the number of dimensions
 * with blocks. */
static ml_status check_shapes(const ml_call *c, const char *pairs, int32_t *m) {
    const ml_shape *x = &ml_input(c, 0)->shape, *block = &ml_input(c, 1)->shape;
    const ml_shape *around = &ml_input(c, 2)->shape;
    char text[96];
    *m = x->rank - 2;
    if (x->rank != 3 && x->rank != 4)
        return ml_fail(c, ML_SHAPE_ERROR, "input has the shape %s, expected 3 or 4 dimensions",
                       ml_shape_text(x, text));
    if (block->rank != 1 || block->dims[0] != *m)
        return ml_fail(c, ML_SHAPE_ERROR, "block has the shape %s, expected (%d)",
                       ml_shape_text(block, text), *m);
    if (around->rank != 2 || around->dims[0] != *m || around->dims[1] != 2)
        return ml_fail(c, ML_SHAPE_ERROR, "%s have the shape %s, expected (%d, 2)", pairs,
                       ml_shape_text(around, text), *m);
    return ML_OK;
}

/* Reads the block of dimension `d`, and the padding or the crops before and after it. */
static ml_status read_dimension(const ml_call *c, const char *pairs, int32_t d, batch_blob *b,
                                int64_t *behind) {
    const int32_t *block = ml_value(c, 1), *around = ml_value(c, 2);
    b->block[d] = block[d];
    b->before[d] = around[2 * d];
    *behind = around[2 * d + 1];
    if (block[d] < 1)
        return ml_fail(c, ML_SHAPE_ERROR, "block %d is %d, expected 1 or more", d, block[d]);
    if (b->before[d] >= 0 && *behind >= 0) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "%s of dimension %d are %d and %d, expected 0 or more", pairs,
                   d + 1, around[2 * d], around[2 * d + 1]);
}

static ml_status prepare_space_to_batch(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0);
    int32_t m;
    ml_status status = check_shapes(c, "paddings", &m);
    if (status != ML_OK) return status;
    if (!ml_value(c, 1) || !ml_value(c, 2)) return ml_open(wish, 0);
    batch_blob b = {.batches = x->shape.dims[0], .size = {1, 1}, .block = {1, 1}, .blocks = {1, 1}};
    for (int32_t d = 0; d < m; d++) {
        int64_t behind;
        status = read_dimension(c, "paddings", d, &b, &behind);
        if (status != ML_OK) return status;
        b.size[d] = x->shape.dims[d + 1];
        int64_t padded = b.size[d] + b.before[d] + behind;
        b.blocks[d] = padded / b.block[d];
        if (padded % b.block[d] != 0)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "dimension %d, padded to %lld, is not a multiple of its block %lld",
                           d + 1, (long long)padded, (long long)b.block[d]);
    }
    /* The batch grows by the block's area. */
    ml_shape shape = {.rank = 0};
    int64_t area = b.block[0] * b.block[1];
    status = area > INT32_MAX ? ml_append_dim(c, &shape, area)
                              : ml_append_dim(c, &shape, b.batches * area);
    for (int32_t d = 0; d < m && status == ML_OK; d++)
        status = ml_append_dim(c, &shape, b.blocks[d]);
    if (status == ML_OK) status = ml_append_dim(c, &shape, x->shape.dims[m + 1]);
    b.run = x->shape.dims[m + 1] * ml_type_bytes(x->type);
    *(batch_blob *)c->blob = b;
    return status == ML_OK ? ml_set_output(c, 0, &shape) : status;
}

static ml_status prepare_batch_to_space(const ml_call *c, ml_wish *wish) {
    const ml_tensor *x = ml_input(c, 0);
    int32_t m;
    ml_status status = check_shapes(c, "crops", &m);
    if (status != ML_OK) return status;
    if (!ml_value(c, 1) || !ml_value(c, 2)) return ml_open(wish, 0);
    batch_blob b = {.size = {1, 1}, .block = {1, 1}, .blocks = {1, 1}};
    for (int32_t d = 0; d < m; d++) {
        int64_t behind;
        status = read_dimension(c, "crops", d, &b, &behind);
        if (status != ML_OK) return status;
        b.blocks[d] = x->shape.dims[d + 1];
        b.size[d] = b.blocks[d] * b.block[d] - b.before[d] - behind;
        if (b.size[d] < 0)
            return ml_fail(c, ML_SHAPE_ERROR, "dimension %d of size %lld is cropped by %lld", d + 1,
                           (long long)(b.blocks[d] * b.block[d]),
                           (long long)(b.before[d] + behind));
    }
    /* The batch shrinks by the block's area. */
    int64_t area = b.block[0] * b.block[1];
    if (x->shape.dims[0] % area != 0)
        return ml_fail(c, ML_SHAPE_ERROR, "batch %d is not a multiple of %lld, the block's area",
                       x->shape.dims[0], (long long)area);
    b.batches = x->shape.dims[0] / area;
    ml_shape shape = {.rank = 1, .dims = {(int32_t)b.batches}};
    for (int32_t d = 0; d < m && status == ML_OK; d++) status = ml_append_dim(c, &shape, b.size[d]);
    if (status == ML_OK) status = ml_append_dim(c, &shape, x->shape.dims[m + 1]);
    b.run = x->shape.dims[m + 1] * ml_type_bytes(x->type);
    *(batch_blob *)c->blob = b;
    return status == ML_OK ? ml_set_output(c, 0, &shape) : status;
}

/* The offset in bytes of a pixel among the blocks. */
static int64_t block_at(const batch_blob *b, int64_t n, int64_t row, int64_t column) {
    int64_t y = row + b->before[0], x = column + b->before[1];
    int64_t batch = (y % b->block[0] * b->block[1] + x % b->block[1]) * b->batches + n;
    return ((batch * b->blocks[0] + y / b->block[0]) * b->blocks[1] + x / b->block[1]) * b->run;
}

/* Copies row by row; within a row, the pixels of one column of blocks after those of another,
 * because these are contiguous among the blocks. */
static ml_status copy_lines(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const batch_blob *b = c->blob;
    const bool to_pixels = *(const bool *)args;
    const uint8_t *from = ml_in(c, 0);
    uint8_t *to = ml_out(c, 0);
    int64_t apart = b->block[1] * b->run;
    for (int64_t line = first; line < end; line++) {
        int64_t n = line / b->size[0], row = line % b->size[0];
        for (int64_t i = 0; i < b->block[1] && i < b->size[1]; i++) {
            int64_t count = ml_ceil_div(b->size[1] - i, b->block[1]);
            int64_t pixel = (line * b->size[1] + i) * b->run, block = block_at(b, n, row, i);
            ml_turns inner = {count, to_pixels ? apart : b->run, to_pixels ? b->run : apart};
            ml_copy_runs(to + (to_pixels ? pixel : block), from + (to_pixels ? block : pixel),
                         b->run, (ml_turns){1, 0, 0}, inner);
        }
    }
    return ML_OK;
}

static ml_status copy_blocks(const ml_call *c, bool to_pixels) {
    const batch_blob *b = c->blob;
    return ml_in_blocks(c, b->batches * b->size[0], b->size[1] * b->run / 4, copy_lines,
                        &to_pixels);
}

/* Quantized tensors are padded with their zero point. */
static int64_t derive_zero(const ml_call *c, void *to) {
    int32_t type = ml_input(c, 0)->type;
    bool quantized = type == ML_S8 || type == ML_U8 || type == ML_S16;
    if (to) *(int64_t *)to = quantized ? ml_output_affine(c, 0).zero_point : 0;
    return sizeof(int64_t);
}

static ml_status space_to_batch(const ml_call *c) {
    const ml_tensor *y = ml_out_tensor(c, 0), *x = ml_in_tensor(c, 0);
    if (x->bytes == y->bytes) return copy_blocks(c, false); /* nothing is padded */
    ml_status status = ml_fill_bytes(c, ml_out(c, 0), y->bytes, c->derived, ml_type_bytes(y->type));
    return status == ML_OK ? copy_blocks(c, false) : status;
}

static ml_status batch_to_space(const ml_call *c) { return copy_blocks(c, true); }

/* Padding is the output's zero point; input and output must have the same scale. */
static ml_status check_scale(const ml_call *c, void *params) {
    return ml_check_same_scale(c, c->inputs[0], "the input");
}

#define DEPTH(operator, kernel_name, prepare_fn, window_fn)                                    \
    {ML_OP(operator, 1, 2), .name = (kernel_name), .takes = "x -> y",                          \
     ML_PARAMS_OF(depth_params), .blob_bytes = sizeof(ml_nest), .prepare = (prepare_fn),       \
     .window = (window_fn),                                                                    \
     ML_TYPED({"T -> T: " ML_WHOLE_BYTES, NULL, NULL, ml_nest_move})}
#define BATCH_TYPES "T s32 s32 -> T: f32 f16 bf16 f64 s8 u8 b8 s16 u16 s32 u32 s64 u64 c64"
ML_KERNELS(blocks) = {
    DEPTH(DEPTH_TO_SPACE, "depth_to_space", prepare_depth_to_space, window_of_depth_to_space),
    DEPTH(SPACE_TO_DEPTH, "space_to_depth", prepare_space_to_depth, window_of_space_to_depth),
    {ML_OP(SPACE_TO_BATCH_ND, 1, 4), .name = "space_to_batch_nd", .takes = "x block paddings -> y",
     .check = check_scale, .blob_bytes = sizeof(batch_blob), .prepare = prepare_space_to_batch,
     ML_TYPED({BATCH_TYPES, derive_zero, NULL, space_to_batch})},
    {ML_OP(BATCH_TO_SPACE_ND, 1, 4), .name = "batch_to_space_nd", .takes = "x block crops -> y",
     .check = check_scale, .blob_bytes = sizeof(batch_blob), .prepare = prepare_batch_to_space,
     ML_TYPED({BATCH_TYPES, NULL, NULL, batch_to_space})},
    ML_KERNELS_END,
};
