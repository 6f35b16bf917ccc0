/* stablehlo_pad.c -- STABLEHLO_PAD: adds a value around and between the elements, or removes
 * elements. */
#include "rules/checks.h"
#include "kernels/stablehlo_move/stablehlo_move.h"

#define PAD_FIELDS(X, S) \
    X(S, array, low, ML_OPTION("edge_padding_low"))   \
    X(S, array, high, ML_OPTION("edge_padding_high")) \
    X(S, array, interior, ML_OPTION("interior_padding"))
ML_PARAMS(pad_params, PAD_FIELDS)

typedef struct pad_blob {
    ml_block_copy block;
    int64_t from; /* bytes to the first element that stays */
    int64_t to;
} pad_blob;

/* One dimension: its size, and which elements stay. */
typedef struct padded {
    int64_t size;
    int64_t first;
    int64_t count;
    int64_t at; /* where the first of them goes */
} padded;

static padded pad_dimension(int64_t size, int64_t low, int64_t high, int64_t step) {
    padded p = {.size = size + (size > 0 ? size - 1 : 0) * (step - 1) + low + high};
    const int64_t front = low < 0 ? ml_ceil_div(-low, step) : 0;
    const int64_t back = high < 0 ? ml_ceil_div(-high, step) : 0;
    p.first = front;
    p.count = size - front - back > 0 ? size - front - back : 0;
    p.at = low + front * step;
    return p;
}

static ml_status prepare_pad(const ml_call *c, ml_wish *wish) {
    const pad_params *p = c->params;
    const ml_shape *x = &ml_input(c, 0)->shape;
    pad_blob *b = c->blob;
    const int64_t limit = INT32_MAX, element = ml_type_bytes(ml_input(c, 0)->type);
    ml_shape y = *x;
    padded dims[ML_MAX_RANK];
    bool empty = false;
    if (ml_length(p->low) != x->rank || ml_length(p->high) != x->rank ||
        ml_length(p->interior) != x->rank || x->rank < 1)
        return ml_fail(c, ML_SHAPE_ERROR, "padding of %lld dimensions, the input has %d",
                       (long long)ml_length(p->low), x->rank);
    if (ml_elements(&ml_input(c, 1)->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the padding value must be one number, it has %lld",
                       (long long)ml_elements(&ml_input(c, 1)->shape));
    /* The size of each dimension. */
    for (int32_t d = 0; d < x->rank; d++) {
        const int64_t low = ml_item(p->low, d), high = ml_item(p->high, d),
                      gap = ml_item(p->interior, d);
        if (gap < 0 || gap > limit || low < -limit || low > limit || high < -limit || high > limit)
            return ml_fail(
                c, ML_SHAPE_ERROR,
                "padding of dimension %d is out of range: low %lld, interior %lld, high %lld", d,
                (long long)low, (long long)gap, (long long)high);
        dims[d] = pad_dimension(x->dims[d], low, high, gap + 1);
        empty = empty || dims[d].size <= 0;
        if (dims[d].size > limit)
            return ml_fail(c, ML_SHAPE_ERROR, "dimension %d would be %lld", d,
                           (long long)dims[d].size);
        y.dims[d] = (int32_t)dims[d].size;
    }
    if (empty) memset(y.dims, 0, sizeof y.dims);
    ml_status status = ml_set_output(c, 0, &y);
    if (status != ML_OK || ml_elements(&y) == 0)
        return status; /* a step between no elements may overflow */
    /* The block of input elements that stay, and their places in the output. */
    b->block = (ml_block_copy){.n = x->rank, .element = (int32_t)element};
    ml_pitches_of(x, element, b->block.from);
    ml_pitches_of(&y, element, b->block.to);
    for (int32_t d = 0; d < x->rank; d++) {
        b->from += dims[d].first * b->block.from[d];
        b->to += dims[d].at * b->block.to[d];
        b->block.counts[d] = dims[d].count;
        b->block.to[d] *= ml_item(p->interior, d) + 1;
    }
    return ML_OK;
}

static ml_status pad(const ml_call *c) {
    const pad_blob *b = c->blob;
    const int64_t bytes = ml_out_tensor(c, 0)->bytes;
    uint8_t *y = ml_out(c, 0);
    ml_status status = ml_fill_bytes(c, y, bytes, ml_in(c, 1), b->block.element);
    if (status != ML_OK) return status;
    for (int32_t d = 0; d < b->block.n; d++)
        if (b->block.counts[d] == 0) return ML_OK; /* all is padding */
    int64_t work = 0;
    return ml_copy_block(c, &b->block, 0, (const uint8_t *)ml_in(c, 0) + b->from, y + b->to, &work);
}

ML_KERNELS(stablehlo_pad) = {
    {ML_OP(STABLEHLO_PAD, 1, 1), .name = "stablehlo_pad", .takes = "x value -> y",
     ML_PARAMS_OF(pad_params), .blob_bytes = sizeof(pad_blob), .prepare = prepare_pad,
     ML_TYPED({"T T -> T: " ML_WHOLE_BYTES, NULL, NULL, pad})},
    ML_KERNELS_END,
};
