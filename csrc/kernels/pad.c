/* pad.c -- PAD, PADV2: a value around the input. Input and output are both walked from front to back: for every index of the
 * outermost padded dimension some value, then what lies inside, then some value again. */
#include "rules/values.h"

/* value: the padding's bytes, for PAD; from_tensor: they are input 2's, for PADV2. */
#define PAD_FIELDS(X, S) X(S, i64, value) X(S, i32, from_tensor)
ML_PARAMS(pad_params, PAD_FIELDS)

/* A dimension, or several that are not padded. */
typedef struct pad_level {
    int64_t count;
    int64_t before; /* elements of value in front of them */
    int64_t after;
} pad_level;

typedef struct pad_blob {
    pad_level levels[ML_MAX_RANK];
    int32_t n_levels;
    int64_t run; /* bytes of input that stay together, innermost */
    int64_t element;
} pad_blob;

static bool read_padding(const ml_tensor *tensor, const void *value, int64_t index, int64_t *out) {
    if (ml_read_index(tensor, value, index, out)) return true;
    if (index >= ml_elements(&tensor->shape)) return false;
    if (tensor->type == ML_S8) *out = ((const int8_t *)value)[index];
    else if (tensor->type == ML_S16) *out = ((const int16_t *)value)[index];
    else return false;
    return true;
}

/* The padded shape and, per dimension, how much goes before and after. */
static ml_status read_paddings(const ml_call *c, const void *value, ml_shape *shape,
                               int64_t before[], int64_t after[]) {
    const ml_tensor *paddings = ml_input(c, 1);
    for (int32_t d = 0; d < shape->rank; d++) {
        int64_t b = -1, a = -1;
        if (!read_padding(paddings, value, 2 * d, &b) ||
            !read_padding(paddings, value, 2 * d + 1, &a) || b < 0 || a < 0)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "dimension %d is padded by %lld and %lld, expected 0 or more", d,
                           (long long)b, (long long)a);
        if (b > INT32_MAX || a > INT32_MAX || shape->dims[d] + b + a > INT32_MAX)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "dimension %d of size %d padded by %lld and %lld exceeds %d", d,
                           shape->dims[d], (long long)b, (long long)a, INT32_MAX);
        before[d] = b;
        after[d] = a;
        shape->dims[d] += (int32_t)(b + a);
    }
    return ML_OK;
}

/* Dimensions without padding join the level around them, the innermost ones the run. */
static void plan_levels(pad_blob *blob, const ml_shape *from, const ml_shape *to,
                        const int64_t before[], const int64_t after[]) {
    blob->run = blob->element;
    blob->n_levels = 0;
    int32_t padded = from->rank;
    while (padded > 0 && before[padded - 1] + after[padded - 1] == 0)
        blob->run *= from->dims[--padded];
    int64_t below =
        blob->run / blob->element; /* elements of the output in one index of dimension d */
    pad_level reversed[ML_MAX_RANK];
    for (int32_t d = padded - 1; d >= 0; d--) {
        bool plain = before[d] + after[d] == 0;
        pad_level *last = blob->n_levels ? &reversed[blob->n_levels - 1] : NULL;
        if (plain && last && last->before + last->after == 0) last->count *= from->dims[d];
        else
            reversed[blob->n_levels++] =
                (pad_level){from->dims[d], before[d] * below, after[d] * below};
        below *= to->dims[d];
    }
    for (int32_t i = 0; i < blob->n_levels; i++) blob->levels[i] = reversed[blob->n_levels - 1 - i];
}

static ml_status prepare_pad(const ml_call *c, ml_wish *wish) {
    const pad_params *params = c->params;
    const ml_tensor *x = ml_input(c, 0);
    const ml_shape *paddings = &ml_input(c, 1)->shape;
    pad_blob *blob = c->blob;
    char text[96];
    if (paddings->rank != 2 || paddings->dims[0] != x->shape.rank || paddings->dims[1] != 2)
        return ml_fail(c, ML_SHAPE_ERROR, "paddings have the shape %s, expected (%d, 2)",
                       ml_shape_text(paddings, text), x->shape.rank);
    if (params->from_tensor && ml_elements(&ml_input(c, 2)->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "the padding value has the shape %s, expected one element",
                       ml_shape_text(&ml_input(c, 2)->shape, text));
    const void *value = ml_value(c, 1);
    if (!value && x->shape.rank > 0) return ml_open_all(wish);
    ml_shape shape = x->shape;
    int64_t before[ML_MAX_RANK] = {0}, after[ML_MAX_RANK] = {0};
    ml_status status = read_paddings(c, value, &shape, before, after);
    if (status == ML_OK) status = ml_set_output(c, 0, &shape);
    if (status != ML_OK || ml_elements(&shape) == 0) return status;
    blob->element = ml_type_bytes(x->type);
    plan_levels(blob, &x->shape, &shape, before, after);
    return ML_OK;
}

typedef struct pad_cursor {
    const pad_blob *blob;
    const void *value;
    const uint8_t *x;
    uint8_t *y;
    bool uniform; /* all bytes of value are alike */
} pad_cursor;

static void fill(pad_cursor *cursor, int64_t count) {
    int64_t element = cursor->blob->element;
    if (cursor->uniform)
        memset(cursor->y, *(const uint8_t *)cursor->value, (size_t)(count * element));
    else
        for (int64_t i = 0; i < count; i++)
            memcpy(cursor->y + i * element, cursor->value, (size_t)element);
    cursor->y += count * element;
}

static void copy(pad_cursor *cursor, int64_t bytes) {
    if (bytes == 0) return;
    memcpy(cursor->y, cursor->x, (size_t)bytes);
    cursor->x += bytes;
    cursor->y += bytes;
}

static void pad_level_at(pad_cursor *cursor, int32_t level) {
    const pad_level *l = &cursor->blob->levels[level];
    fill(cursor, l->before);
    if (level == cursor->blob->n_levels - 1) copy(cursor, l->count * cursor->blob->run);
    else
        for (int64_t i = 0; i < l->count; i++) pad_level_at(cursor, level + 1);
    fill(cursor, l->after);
}

static ml_status pad(const ml_call *c) {
    const pad_params *params = c->params;
    const pad_blob *blob = c->blob;
    if (ml_out_tensor(c, 0)->bytes == 0) return ML_OK;
    const void *value = params->from_tensor
                            ? ml_in(c, 2)
                            : &params->value; /* little-endian: the low bytes come first */
    pad_cursor cursor = {.blob = blob, .value = value, .x = ml_in(c, 0), .y = ml_out(c, 0)};
    cursor.uniform = memcmp(value, (const uint8_t *)value + 1, (size_t)blob->element - 1) == 0;
    if (blob->n_levels == 0) copy(&cursor, blob->run);
    else pad_level_at(&cursor, 0);
    return ML_OK;
}

ML_KERNELS(pad) = {
    ML_KERNEL("pad", pad_params, sizeof(pad_blob), 0, prepare_pad, pad),
    ML_KERNELS_END,
};
