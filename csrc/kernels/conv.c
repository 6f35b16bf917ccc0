/* conv.c -- CONV_2D: blocks of output pixels have their windows gathered into rows, which are multiplied with the weights.
 * Filters are (outputs, height, width, depth); a depth that divides the input's makes a grouped convolution. */
#include "rules/matmul.h"
#include "rules/window.h"

enum { LEAST_LINE = 6, LEAST_LINES = 4, BUFFER_FLOATS = 64 << 10 };

#define CONV_FIELDS(X, S) X(S, window, window) ML_CLAMP_FIELDS(X, S)
ML_PARAMS(conv_params, CONV_FIELDS)

/* Where the rows to multiply are. */
typedef enum conv_source {
    CONV_GATHERED, /* windows are copied into rows */
    CONV_DIRECT, /* the input's pixels are the rows */
    CONV_LINES /* rows are a few stretches of lines: the input's, or copies with padding */
} conv_source;

typedef struct conv_blob {
    ml_window window;
    ml_blocks blocks;
    int32_t depth; /* channels of a group */
    uint8_t source; /* conv_source */
    uint8_t padded; /* CONV_LINES: windows reach beyond the input */
    int16_t lines; /* CONV_LINES: output lines at a time */
} conv_blob;

/* int8, uint8 and int16 with int8 weights; of those with an int64 bias, or none, int64 sums. */
static void gather_integers(const ml_call *c, const ml_block *b) {
    const conv_blob *blob = c->blob;
    const ml_weighted *w = c->derived;
    int32_t type = ml_in_tensor(c, 0)->type;
    int64_t stride = ml_padded_row(blob->blocks.k), k = blob->blocks.k;
    if (blob->source == CONV_DIRECT && stride == k && type == ML_S8)
        ml_widen_s8((const int8_t *)ml_in(c, 0) + b->first * k, b->count * k, b->rows);
    else
        ml_window_gather_s16(&blob->window, type, ml_in(c, 0), (int64_t)b->group * blob->depth,
                             blob->depth, b->first, b->count, (int16_t)w->x_zero, stride, b->rows);
}

static ml_requantized sums_of(const ml_call *c, const ml_block *b, const void *bias) {
    const ml_blocks *blocks = &((const conv_blob *)c->blob)->blocks;
    int64_t n = blocks->n, stride = n * blocks->groups, first = b->group * n;
    char *y = (char *)ml_out(c, 0) +
              (b->first * stride + first) * ml_type_bytes(ml_out_tensor(c, 0)->type);
    return (ml_requantized){bias, b->sums, b->count, first, n, y, stride};
}

static void finish_integers(const ml_call *c, const ml_block *b) {
    ml_requantized r = sums_of(c, b, b->extra);
    ml_requantize_sums(c, &r, ml_out_tensor(c, 0)->type);
}

static void finish_wide(const ml_call *c, const ml_block *b) {
    ml_requantized r = sums_of(c, b, ml_in_optional(c, 2));
    ml_requantize_wide(c, &r);
}

static const ml_integer_rule narrow = {gather_integers, finish_integers, ML_EXTRA_BIAS, false};
static const ml_integer_rule wide = {gather_integers, finish_wide, ML_EXTRA_NONE, true};

/* What TFLite sums in 64 bits. */
static inline bool is_wide(const ml_call *c) {
    const ml_tensor *bias = ml_input(c, 2);
    return ml_input(c, 0)->type == ML_S16 && !(bias && bias->type == ML_S32);
}

/* Lines of the input that `lines` lines of output see, and the floats in a copy of one. */
static int64_t lines_seen(const ml_window *w, int64_t lines) {
    return (lines - 1) * w->y.stride + (int64_t)(w->y.size - 1) * w->y.dilation + 1;
}
static int64_t line_floats(const ml_window *w) {
    int64_t pixels =
        (w->x.out - 1) * (int64_t)w->x.stride + (int64_t)(w->x.size - 1) * w->x.dilation + 1;
    return pixels * w->channels;
}

static bool reaches_beyond(const ml_window_axis *a) {
    return a->before > 0 ||
           (a->out - 1) * (int64_t)a->stride + (int64_t)(a->size - 1) * a->dilation >= a->in;
}

/* Whether rows are stretches of lines, so that their windows need no copy: a line of a window is one stretch, and lines of
 * output are long enough to be worth a product each. */
static bool prepare_lines(conv_blob *blob, ml_wish *wish) {
    const ml_window *w = &blob->window;
    bool stretches = w->x.size == 1 || (w->x.dilation == 1 && blob->blocks.groups == 1);
    if (!stretches || w->x.out < LEAST_LINE || w->channels > INT32_MAX / w->x.in) return false;
    int64_t cost = w->x.out * blob->blocks.k * blob->blocks.n * blob->blocks.groups;
    int64_t lines = ml_work_grain(cost), all = (int64_t)w->batches * w->y.out;
    lines = lines < LEAST_LINES ? LEAST_LINES : lines;
    lines = ml_min_s64(lines, ml_min_s64(w->y.out, (all + 7) / 8));
    blob->padded = reaches_beyond(&w->y) || reaches_beyond(&w->x);
    if (blob->padded) {
        int64_t fit = BUFFER_FLOATS / line_floats(w) - lines_seen(w, 1);
        lines = ml_min_s64(lines, fit < 0 ? 1 : 1 + fit / w->y.stride);
        if (line_floats(w) > INT32_MAX) return false;
        wish->worker_bytes = lines_seen(w, lines) * line_floats(w) * (int64_t)sizeof(float);
    }
    blob->lines = (int16_t)ml_min_s64(lines > 0 ? lines : 1, INT16_MAX);
    blob->source = CONV_LINES;
    return true;
}

_Static_assert(sizeof(conv_blob) <= 110, "plan and residence have 300 bytes a node in all");

static ml_status prepare_conv(const ml_call *c, ml_wish *wish) {
    const conv_params *params = c->params;
    conv_blob *blob = c->blob;
    ml_window *window = &blob->window;
    const ml_shape *x = &ml_input(c, 0)->shape, *w = &ml_input(c, 1)->shape;
    char text[96];
    ml_status status =
        ml_window_prepare_filter(c, window, &params->window, "(outputs, height, width, depth)");
    if (status != ML_OK) return status;
    ml_shape one = {3, {w->dims[1], w->dims[2], w->dims[3]}};
    int64_t k = ml_elements(&one);
    if (k < 0)
        return ml_fail(c, ML_SHAPE_ERROR, "a filter of %s has more elements than an int64 counts",
                       ml_shape_text(&one, text));
    if (w->dims[3] <= 0 || x->dims[3] <= 0 || x->dims[3] % w->dims[3] != 0)
        return ml_fail(c, ML_SHAPE_ERROR, "filter depth %d does not match input depth %d",
                       w->dims[3], x->dims[3]);
    int32_t groups = x->dims[3] / w->dims[3];
    if (w->dims[0] % groups != 0)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "%d outputs do not split into %d groups (input depth %d, filter depth %d)",
                       w->dims[0], groups, x->dims[3], w->dims[3]);
    ml_shape y = {4, {x->dims[0], window->y.out, window->x.out, w->dims[0]}};
    status = ml_check_weighted(c, c->derived, w->dims[0]);
    if (status == ML_OK) status = ml_set_output(c, 0, &y);
    if (status != ML_OK) return status;
    blob->depth = w->dims[3];
    bool direct = groups == 1 && window->y.size == 1 && window->x.size == 1 &&
                  window->y.stride == 1 && window->x.stride == 1;
    blob->source = direct ? CONV_DIRECT : CONV_GATHERED;
    blob->blocks = (ml_blocks){
        .rows = ml_window_pixels(window), .k = k, .n = w->dims[0] / groups, .groups = groups};
    if (ml_input(c, 0)->type != ML_F32)
        return ml_prepare_integers(c, wish, &blob->blocks, is_wide(c) ? &wide : &narrow);
    wish->layout = groups;
    if (!direct && prepare_lines(blob, wish)) return ML_OK;
    return ml_prepare_floats(c, wish, &blob->blocks, !direct);
}

static int64_t pack_f32(const ml_call *c, void *to) {
    return ml_pack_weights_f32(c, to, ((const conv_blob *)c->blob)->blocks.groups);
}

static void gather_f32(const ml_call *c, const ml_block *b) {
    const conv_blob *blob = c->blob;
    ml_window_gather_f32(&blob->window, ml_in(c, 0), (int64_t)b->group * blob->depth, blob->depth,
                         b->first, b->count, b->rows);
}

/* Copies what `lines` output lines of a batch see, from line `first` on, with zeros around the input. */
static void copy_lines(const ml_window *w, const float *x, int64_t batch, int64_t first,
                       int64_t lines, float *to) {
    int64_t channels = w->channels, floats = line_floats(w), left = w->x.before * channels;
    int64_t inside = ml_min_s64(w->x.in * channels, floats - left);
    if (inside < 0) inside = 0;
    for (int64_t i = 0; i < lines_seen(w, lines); i++, to += floats) {
        int64_t iy = first * w->y.stride - w->y.before + i;
        if (iy < 0 || iy >= w->y.in) {
            memset(to, 0, (size_t)floats * sizeof *to);
            continue;
        }
        memset(to, 0, (size_t)ml_min_s64(left, floats) * sizeof *to);
        memcpy(to + left, x + (batch * w->y.in + iy) * w->x.in * channels,
               (size_t)inside * sizeof *to);
        if (left + inside < floats)
            memset(to + left + inside, 0, (size_t)(floats - left - inside) * sizeof *to);
    }
}

/* One line of output: `line` is where its windows begin, in lines of `step` floats. */
static void multiply_line(const ml_call *c, const float *line, int64_t step, float *y) {
    const conv_params *params = c->params;
    const conv_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const ml_blocks *b = &blob->blocks;
    const float *bias = ml_in_optional(c, 2), *packed = c->packed;
    for (int64_t g = 0; g < b->groups; g++) {
        ml_matmul_f32_args product = {
            .a = line + g * blob->depth,
            .rows = w->x.out,
            .a_stride = (int64_t)w->x.stride * w->channels,
            .pieces = w->y.size,
            .piece_stride = w->y.dilation * step,
            .k = (int64_t)w->x.size * blob->depth,
            .n = b->n,
            .packed = packed + g * ml_packed_f32(c->env->simd, b->n, b->k),
            .bias = bias ? bias + g * b->n : NULL,
            .y = y + g * b->n,
            .y_stride = (int64_t)b->n * b->groups,
            .low = params->minimum,
            .high = params->maximum,
        };
        c->env->simd->matmul_f32(&product);
    }
}

static ml_status lines_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const conv_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const float *x = ml_in(c, 0);
    int64_t outputs = (int64_t)w->x.out * blob->blocks.n * blob->blocks.groups;
    (void)args;
    for (int64_t count; first < end; first += count) {
        int64_t batch = first / w->y.out, line = first % w->y.out;
        int64_t step = (int64_t)w->x.in * w->channels;
        const float *from = x + (batch * w->y.in + line * w->y.stride) * step;
        count = ml_min_s64(end - first, w->y.out - line);
        if (blob->padded) {
            float *copy = ml_worker_scratch(c, worker);
            copy_lines(w, x, batch, line, count, copy);
            from = copy;
            step = line_floats(w);
        }
        for (int64_t i = 0; i < count; i++)
            multiply_line(c, from + i * w->y.stride * step, step,
                          (float *)ml_out(c, 0) + (first + i) * outputs);
    }
    return ML_OK;
}

static ml_status conv_2d_f32(const ml_call *c) {
    const conv_params *params = c->params;
    const conv_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    if (blob->source == CONV_LINES)
        return ml_parallel(c, (int64_t)w->batches * w->y.out, blob->lines, lines_body, NULL);
    return ml_multiply_floats(c, &blob->blocks, blob->source == CONV_DIRECT ? NULL : gather_f32,
                              params->minimum, params->maximum);
}

static ml_status conv_2d_integer(const ml_call *c) {
    const conv_blob *blob = c->blob;
    return ml_multiply_integers(c, &blob->blocks, is_wide(c) ? &wide : &narrow);
}

#define DERIVE(type, ...)                                                                   \
    static int64_t derive_##type(const ml_call *c, void *to) {                              \
        static const ml_weighted_rule rule = {__VA_ARGS__};                                 \
        const conv_params *p = c->params; \
        return ml_derive_weighted(c, to, &rule, p->minimum, p->maximum); \
    }
DERIVE(s8, .multiplier = ML_MULTIPLIER_FIXED, .symmetric_weights = true)
DERIVE(u8, .multiplier = ML_MULTIPLIER_SINGLE)
DERIVE(s16, .multiplier = ML_MULTIPLIER_FIXED, .symmetric = true)

static const ml_typed conv_2d[] = {
    {"f32 f32 f32? -> f32", NULL, pack_f32, conv_2d_f32},
    {"s8 s8 s32? -> s8", derive_s8, ml_pack_weights_s8, conv_2d_integer},
    {"u8 u8 s32? -> u8", derive_u8, ml_pack_weights_s8, conv_2d_integer},
    {"s16 s8 s64|s32? -> s16", derive_s16, ml_pack_weights_s8, conv_2d_integer},
    {NULL, NULL, NULL, NULL},
};

ML_KERNELS(conv) = {
    {.abi = ML_KERNEL_ABI,
     .name = "conv_2d",
     ML_PARAMS_OF(conv_params),
     .blob_bytes = sizeof(conv_blob),
     .packs = 1,
     .prepare = prepare_conv,
     .typed = conv_2d},
    ML_KERNELS_END,
};
