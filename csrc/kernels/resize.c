/* resize.c -- RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR: change height and width of (batch,
 * height, width, channels).
 *
 * Bilinear: f32 and u8 blend in float32 (u8 rounded half up); s8 and s16 in units of 1 / 1024,
 * rounded half away from zero. */
#include "math/loops.h"
#include "rules/runs.h"
#include "rules/work.h"
#include "rules/values.h"
#include "simd/simd.h"

/* The fields per side are for a patch: the sizes of the whole input and output (0: this is the
 * whole), the first index of either that the patch has, and the patch's size. */
#define RESIZE_FIELDS(X, S) \
    X(S, i32, align_corners) X(S, i32, half_pixel_centers)                                         \
    X(S, i32, in_h, ML_IS(0)) X(S, i32, out_h, ML_IS(0)) X(S, i32, from_h, ML_IS(0))               \
    X(S, i32, to_h, ML_IS(0)) X(S, i32, count_h, ML_IS(0))                                         \
    X(S, i32, in_w, ML_IS(0)) X(S, i32, out_w, ML_IS(0)) X(S, i32, from_w, ML_IS(0))               \
    X(S, i32, to_w, ML_IS(0)) X(S, i32, count_w, ML_IS(0))
ML_PARAMS(resize_params, RESIZE_FIELDS)

/* One side: its part `to` .. `to` + count - 1 of the output is computed from an input that begins
 * at `from`. */
typedef struct resize_side {
    int32_t in;
    int32_t out;
    int32_t from;
    int32_t to;
    int32_t count;
} resize_side;

typedef struct resize_blob {
    int64_t batches;
    int64_t channels;
    int32_t in[2]; /* height, width */
    int32_t out[2];
    resize_side sides[2];
    int64_t taps; /* offset of the columns' taps in scratch */
    bool weighs; /* u8: columns are weighed before they are blended */
} resize_blob;

static resize_side side_of(const resize_params *p, int32_t i, int32_t in, int32_t out) {
    if (p->in_h == 0) return (resize_side){in, out, 0, 0, out};
    return i == 0 ? (resize_side){p->in_h, p->out_h, p->from_h, p->to_h, p->count_h}
                  : (resize_side){p->in_w, p->out_w, p->from_w, p->to_w, p->count_w};
}

static ml_status prepare_resize(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    const ml_tensor *sizes = ml_input(c, 1);
    resize_blob *blob = c->blob;
    char text[96];
    if (x->rank != 4)
        return ml_fail(c, ML_SHAPE_ERROR,
                       "input must be (batch, height, width, channels), its shape is %s",
                       ml_shape_text(x, text));
    if (sizes->shape.rank != 1 || sizes->shape.dims[0] != 2)
        return ml_fail(c, ML_SHAPE_ERROR, "size must be (height, width), its shape is %s",
                       ml_shape_text(&sizes->shape, text));
    /* Height and width, old and new. */
    const void *value = ml_value(c, 1);
    if (!value) return ml_open_all(wish);
    ml_shape y = *x;
    for (int32_t i = 0; i < 2; i++) {
        int64_t size = 0;
        ml_read_index(sizes, value, i, &size);
        if (size <= 0 || size > 1 << 20)
            return ml_fail(c, ML_SHAPE_ERROR, "size %lld of dimension %d, expected 1 to %d",
                           (long long)size, i + 1, 1 << 20);
        if (x->dims[i + 1] > 1 << 20 || x->dims[i + 1] == 0)
            return ml_fail(c, ML_SHAPE_ERROR, "dimension %d of the input is %d, expected 1 to %d",
                           i + 1, x->dims[i + 1], 1 << 20);
        blob->in[i] = x->dims[i + 1];
        blob->sides[i] = side_of(c->params, i, x->dims[i + 1], (int32_t)size);
        blob->out[i] = y.dims[i + 1] = blob->sides[i].count;
    }
    blob->batches = x->dims[0];
    blob->channels = x->dims[3];
    blob->taps =
        ml_reserve(wish, ((int64_t)blob->out[0] + blob->out[1]) * (int64_t)sizeof(ml_blend_tap));
    return ml_set_output(c, 0, &y);
}

/* Room for the weighed columns of two lines, where pixels share them and they stay near. A patch is
 * computed like the whole. */
static ml_status prepare_bilinear(const ml_call *c, ml_wish *wish) {
    enum { NEAR_BYTES = 256 << 10 };
    resize_blob *b = c->blob;
    const ml_status status = prepare_resize(c, wish);
    const resize_side *whole = &b->sides[1];
    const int64_t column = 2 * b->channels * (int64_t)sizeof(float);
    b->weighs =
        ml_input(c, 0)->type == ML_U8 && whole->out > whole->in && whole->in * column <= NEAR_BYTES;
    if (b->weighs) wish->worker_bytes = b->in[1] * column;
    return status;
}

static float real_scale(const resize_params *p, int32_t in, int32_t out) {
    return p->align_corners && out > 1 ? (float)(in - 1) / (float)(out - 1)
                                       : (float)in / (float)out;
}

static int32_t min_s32(int32_t a, int32_t b) { return a < b ? a : b; }
static int32_t max_s32(int32_t a, int32_t b) { return a > b ? a : b; }

static void find_real(const resize_params *p, const resize_side *s, ml_blend_tap *taps) {
    const float scale = real_scale(p, s->in, s->out);
    for (int32_t i = 0; i < s->count; i++) {
        const float to = (float)(s->to + i);
        const float at = p->half_pixel_centers ? (to + 0.5f) * scale - 0.5f : to * scale;
        const int32_t first = min_s32(max_s32((int32_t)__builtin_floorf(at), 0), s->in - 1);
        taps[i].first = first - s->from;
        taps[i].second = max_s32(min_s32((int32_t)__builtin_ceilf(at), s->in - 1), 0) - s->from;
        taps[i].part.real = at - (float)first;
    }
}

static void find_fixed(const resize_params *p, const resize_side *s, ml_blend_tap *taps) {
    const bool corners = p->align_corners && s->out > 1;
    const int64_t of = corners ? s->out - 1 : s->out;
    const int64_t scale = ((int64_t)1024 * (corners ? s->in - 1 : s->in) + of / 2) / of;
    for (int32_t i = 0; i < s->count; i++) {
        const int64_t to = (s->to + i) * scale;
        const int64_t at = p->half_pixel_centers ? to + scale / 2 - 512 : to;
        const int32_t first = min_s32(max_s32((int32_t)(at / 1024), 0), s->in - 1);
        taps[i].first = first - s->from;
        taps[i].second = max_s32(min_s32((int32_t)((at + 1023) / 1024), s->in - 1), 0) - s->from;
        taps[i].part.fixed = (int32_t)(at - (int64_t)1024 * first);
    }
}

/* Computes in double, which holds such a sum of products, and its halves, exactly. */
static void blend_line_s16(const ml_blend_args *p) {
    int16_t *y = p->y;
    const double down = p->down.fixed / 1024.0;
    for (int64_t i = 0; i < p->pixels; i++, y += p->n) {
        const ml_blend_tap a = p->taps[i];
        const int16_t *upper_left = (const int16_t *)p->upper + a.first * p->n,
                      *lower_left = (const int16_t *)p->lower + a.first * p->n,
                      *upper_right = (const int16_t *)p->upper + a.second * p->n,
                      *lower_right = (const int16_t *)p->lower + a.second * p->n;
        const double across = a.part.fixed / 1024.0;
        const double one = (1 - down) * (1 - across), two = down * (1 - across),
                     three = (1 - down) * across, four = down * across;
        ML_IVDEP
        for (int64_t k = 0; k < p->n; k++) {
            const double sum = upper_left[k] * one + lower_left[k] * two + upper_right[k] * three +
                               lower_right[k] * four;
            y[k] = (int16_t)(int32_t)(sum + __builtin_copysign(0.5, sum));
        }
    }
}

typedef void find_fn(const resize_params *p, const resize_side *side, ml_blend_tap *taps);
typedef void blend_fn(const ml_blend_args *args);

static ml_status blend_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const resize_blob *b = c->blob;
    const ml_blend_tap *down = ml_scratch(c, b->taps);
    const int64_t bytes = b->channels * ml_type_bytes(ml_in_tensor(c, 0)->type);
    const char *x = ml_in(c, 0);
    float *room = b->weighs ? ml_worker_scratch(c, worker) : NULL;
    for (int64_t row = first; row < end; row++) {
        const ml_blend_tap d = down[row % b->out[0]];
        const int64_t line = row / b->out[0] * b->in[0];
        const int64_t last = ml_max_s64(d.first, d.second);
        const ml_blend_args blend = {.upper = x + (line + d.first) * b->in[1] * bytes,
                                     .lower = x + (line + d.second) * b->in[1] * bytes,
                                     .down = d.part,
                                     .taps = down + b->out[0],
                                     .pixels = b->out[1],
                                     .n = b->channels,
                                     .y = (char *)ml_out(c, 0) + row * b->out[1] * bytes,
                                     .columns = b->in[1],
                                     .x_after = (b->batches * b->in[0] - line - last - 1) *
                                                b->in[1] * b->channels,
                                     .y_after = (end - row - 1) * b->out[1] * b->channels,
                                     .room = room};
        (*(blend_fn *const *)args)(&blend);
    }
    return ML_OK;
}

/* The cost of an element, which is made from four (work.h). */
enum { COST = 2 };

static ml_status bilinear(const ml_call *c, find_fn *find, blend_fn *blend) {
    const resize_blob *b = c->blob;
    ml_blend_tap *taps = ml_scratch(c, b->taps);
    find(c->params, &b->sides[0], taps);
    find(c->params, &b->sides[1], taps + b->out[0]);
    return ml_in_blocks(c, b->batches * b->out[0], COST * b->out[1] * b->channels, blend_rows,
                        &blend);
}
static ml_status bilinear_f32(const ml_call *c) {
    return bilinear(c, find_real, c->env->simd->blend_f32);
}
static ml_status bilinear_u8(const ml_call *c) {
    return bilinear(c, find_real, c->env->simd->blend_u8);
}
static ml_status bilinear_s8(const ml_call *c) {
    return bilinear(c, find_fixed, c->env->simd->blend_s8);
}
static ml_status bilinear_s16(const ml_call *c) { return bilinear(c, find_fixed, blend_line_s16); }

static void find_nearest(const resize_params *p, const resize_side *s, ml_blend_tap *taps) {
    const float scale = real_scale(p, s->in, s->out), offset = p->half_pixel_centers ? 0.5f : 0.0f;
    for (int32_t i = 0; i < s->count; i++) {
        const float at = ((float)(s->to + i) + offset) * scale;
        const int32_t nearest =
            p->align_corners ? (int32_t)__builtin_roundf(at) : (int32_t)__builtin_floorf(at);
        taps[i].first = taps[i].second = max_s32(min_s32(nearest, s->in - 1), 0) - s->from;
    }
}

/* Bytes of pixels up to which a copy of the line before, where it is the same, is faster. */
enum { FEW = 64 };

static ml_status nearest_rows(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                              void *args) {
    const resize_blob *b = c->blob;
    const ml_blend_tap *down = args, *across = down + b->out[0];
    const int64_t pixel = b->channels * ml_type_bytes(ml_out_tensor(c, 0)->type);
    const int64_t line = pixel * b->out[1];
    uint8_t *y = (uint8_t *)ml_out(c, 0) + first * line;
#define PIXELS(MOVE) \
    for (int64_t k = 0; k < b->out[1]; k++) MOVE(y + k * pixel, x + across[k].first * pixel, pixel);
    for (int64_t row = first, before = -1; row < end && pixel > 0; row++, y += line) {
        const int64_t from = row / b->out[0] * b->in[0] + down[row % b->out[0]].first;
        const uint8_t *x = (const uint8_t *)ml_in(c, 0) + pixel * b->in[1] * from;
        if (from == before && pixel <= FEW) memcpy(y, y - line, (size_t)line);
        else ML_BY_RUN(pixel, PIXELS);
        before = from;
    }
#undef PIXELS
    return ML_OK;
}

static ml_status nearest(const ml_call *c) {
    const resize_blob *b = c->blob;
    ml_blend_tap *taps = ml_scratch(c, b->taps);
    find_nearest(c->params, &b->sides[0], taps);
    find_nearest(c->params, &b->sides[1], taps + b->out[0]);
    return ml_in_blocks(c, b->batches * b->out[0], b->out[1] * b->channels, nearest_rows, taps);
}

/* Taps ascend, so the first and the last index of the output tell the range of the input. */
static void resized_side(const ml_call *c, find_fn *find, int32_t i, ml_side out, ml_side *in,
                         resize_side *side) {
    const resize_blob *b = c->blob;
    ml_blend_tap first, last;
    *side = (resize_side){b->in[i], b->out[i], 0, out.first, 1};
    find(c->params, side, &first);
    side->to = out.end - 1;
    find(c->params, side, &last);
    *in = (ml_side){first.first, last.second + 1};
    *side = (resize_side){b->in[i], b->out[i], in->first, out.first, out.end - out.first};
}

static bool cut_resized(const ml_call *c, find_fn *find, const ml_rectangle *out, ml_rectangle *in,
                        void *params) {
    resize_params *p = params;
    resize_side down, across;
    resized_side(c, find, 0, out->side[0], &in[0].side[0], &down);
    resized_side(c, find, 1, out->side[1], &in[0].side[1], &across);
    *p = (resize_params){p->align_corners, p->half_pixel_centers,
                         down.in,          down.out,
                         down.from,        down.to,
                         down.count,       across.in,
                         across.out,       across.from,
                         across.to,        across.count};
    return true;
}
static bool window_of_bilinear(const ml_call *c, ml_rectangle *out, ml_rectangle *in,
                               void *params) {
    const int32_t type = ml_in_tensor(c, 0)->type;
    return cut_resized(c, type == ML_F32 || type == ML_U8 ? find_real : find_fixed, out, in,
                       params);
}
static bool window_of_nearest(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params) {
    return cut_resized(c, find_nearest, out, in, params);
}

static ml_status check_bilinear(const ml_call *c, void *params) {
    const resize_params *p = params;
    if (!p->align_corners || !p->half_pixel_centers) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED, "align_corners and half_pixel_centers exclude each other");
}

ML_KERNELS(resize) = {
    {ML_OP(RESIZE_BILINEAR, 1, 4), .name = "resize_bilinear", .takes = "x size -> y",
     .check = check_bilinear, ML_PARAMS_OF(resize_params),
     .blob_bytes = (int32_t)sizeof(resize_blob), .prepare = prepare_bilinear,
     .window = window_of_bilinear,
     ML_TYPED({"f32 s32 -> f32", NULL, NULL, bilinear_f32},
              {"u8 s32 -> u8", NULL, NULL, bilinear_u8}, {"s8 s32 -> s8", NULL, NULL, bilinear_s8},
              {"s16 s32 -> s16", NULL, NULL, bilinear_s16})},
    {ML_OP(RESIZE_NEAREST_NEIGHBOR, 1, 4), .name = "resize_nearest_neighbor",
     .takes = "x size -> y", ML_PARAMS_OF(resize_params),
     .blob_bytes = (int32_t)sizeof(resize_blob), .prepare = prepare_resize,
     .window = window_of_nearest,
     ML_TYPED({"T s32 -> T: f32 f16 bf16 s8 u8 b8 s16 u16 s32 u32", NULL, NULL, nearest})},
    ML_KERNELS_END,
};
