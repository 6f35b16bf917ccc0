/* winograd.c -- 3 x 3 convolutions of bytes by Winograd's F(4 x 4, 3 x 3) and F(2 x 2, 3 x 3): a
 * tile of 4 x 4 outputs takes 36 products per channel and output instead of 144, and the sums are
 * the same, bit for bit. Windows of 1 x 3 and 3 x 1, as of sequences, have tiles of 1 x 4 and 4 x
 * 1: 6 products instead of 12.
 *
 * Everything is whole: the transform of weights is scaled (api/simd.h), inputs are bytes less 128,
 * and sums wrap. A sum comes out exactly if it is below 2^25, 2^29 for tiles of 2 x 2, 2^28 for
 * those of a line; the weights alone prove that, when the graph is made. Transformed weights take 8
 * times the bytes, or 3.6 and 4 times, so the graph says which layers get them.
 *
 * Weights are packed by winograd_weights. A block of tiles, whose arrays stay in the cache, goes
 * through four steps: its lines are copied with padding; winograd_in transforms each patch;
 * matmul_s16 multiplies at each position of a tile the patches with the weights; winograd_out makes
 * sums of them, which become outputs. */
#include "kernels/conv/conv.h"

enum {
    SIZE = 3, /* of the window, along a side or both */
    LARGE = 4, /* sides of tiles; 1 where the window has one pixel */
    SMALL = 2,
    MOST_SUM = 1 << 25, /* of a tile of that side */
    MOST_SUM_SMALL = 1 << 29,
    MOST_SUM_LINE = 1 << 28, /* of a large tile of one line */
    MOST_BYTES = 4 << 20, /* of a layer's weights for large tiles; beyond it small ones, or none */
    LEAST_CHANNELS = 16,
    CHUNK = 8, /* channels whose weights are read together */
    BLOCK_BYTES = 320 << 10, /* of a block's patches and products */
    LEAST_TILES = 6,
    MOST_TILES = 96,
    SUM_BYTES = 16 << 10, /* of the sums that become outputs at a time */
    APART = 32 /* elements between positions, so that few share a set of the cache */
};

/* Weights -------------------------------------------------------------------------------------- */

/* Pixels that a tile of that side sees along it. */
static int64_t patch_side(int64_t side) { return side == 1 ? 1 : side + SIZE - 1; }

/* Positions of a tile, if the window has `taps` pixels. */
static int64_t positions_of(int64_t side, int64_t taps) {
    return taps == SIZE ? patch_side(side) : patch_side(side) * patch_side(side);
}

static int64_t weights_bytes(int64_t positions, int64_t channels, int64_t n) {
    return positions * channels * ml_round_up(n, ML_PANEL_S16) * (int64_t)sizeof(int16_t);
}

/* The same with the sums of weights after them. */
static int64_t all_bytes(int64_t positions, int64_t channels, int64_t n) {
    return weights_bytes(positions, channels, n) +
           ml_round_up(n, ML_PANEL_S16) * (int64_t)sizeof(int32_t);
}

/* Where the sums of an output's weights lie: after the weights. */
static const int32_t *sums_of_weights(const void *packed, int64_t positions, int64_t channels,
                                      int64_t n) {
    return (const int32_t *)(const void *)((const char *)packed +
                                           weights_bytes(positions, channels, n));
}

/* A weight less its zero point. */
static int32_t weight_at(const void *w, int32_t type, int64_t i, int32_t zero) {
    if (type == ML_S4) return ml_nibble(w, i);
    return (type == ML_U8 ? ((const uint8_t *)w)[i] - 128 : ((const int8_t *)w)[i]) - zero;
}

/* True if tiles take at most four fifths of the time of a product of all windows, which have `taps`
 * pixels together, counted in products of matmul_s8. Weights are read once, which takes as long as
 * a tile. In double, because sizes may be asked for that no memory holds. */
static bool pays(const ml_call *c, int64_t positions, int64_t tiles, int64_t taps, int64_t channels,
                 int64_t n) {
    const ml_simd *simd = c->env->simd;
    const double products = (double)channels * (double)n;
    const double moved = (double)(simd->winograd_moved * (channels + n));
    const double position = (double)(tiles + 1) * simd->winograd * products + (double)tiles * moved;
    return 5 * (double)positions * position < 4 * (double)taps * products;
}

/* The greatest size of an output's sum, whatever the input. */
static int64_t most_sum(const void *w, int32_t type, int32_t zero, int64_t n, int64_t k) {
    int64_t most = 0;
    for (int64_t o = 0; o < n; o++) {
        int64_t sum = 0;
        for (int64_t i = o * k; i < (o + 1) * k; i++) {
            const int32_t weight = weight_at(w, type, i, zero);
            sum += weight < 0 ? -weight : weight;
        }
        most = ml_max_s64(most, 128 * sum);
    }
    return most;
}

/* The side of the tiles by which the node can be computed; 0: it cannot. Weights are read only
 * where their number does not prove the bound. */
static int32_t side_of(const ml_call *c, const ml_weighted *weighted) {
    const ml_shape *shape = &ml_input(c, 1)->shape;
    const void *w = ml_value(c, 1);
    const int32_t type = ml_weights_type(c), zero = weighted->w_zero;
    const int64_t n = shape->dims[0], channels = shape->dims[3];
    const int64_t taps = (int64_t)shape->dims[1] * shape->dims[2], k = taps * channels;
    if (n < LEAST_CHANNELS || channels < LEAST_CHANNELS || channels % 2) return 0;
    if (k > MOST_SUM_SMALL / (128 * 255)) return 0;
    const int32_t second = taps == SIZE ? 0 : SMALL;
    if (weights_bytes(positions_of(LARGE, taps), channels, n) > MOST_BYTES) return second;
    const int64_t widest = 128 + (zero < 0 ? -zero : zero);
    const int64_t most = taps == SIZE ? MOST_SUM_LINE : MOST_SUM;
    if (k * 128 * widest < most || most_sum(w, type, zero, n, k) < most) return LARGE;
    return second;
}

/* True if tiles can follow the window along a side: three pixels in steps of one, or one. */
static bool has_side(int32_t size, int32_t stride, int32_t dilation) {
    return stride == 1 && (size == 1 || (size == SIZE && dilation == 1));
}

bool ml_conv_larger(const ml_call *c, ml_larger_form *form) {
    const conv_params *params = c->params;
    const ml_window_params *window = &params->window;
    ml_weighted *weighted = (ml_weighted *)(uintptr_t)c->derived;
    const ml_tensor *x = ml_input(c, 0), *w = ml_input(c, 1);
    if (!c->env->simd->winograd || !x || !w || !ml_value(c, 1) || w->shape.rank != 4 ||
        !has_side(w->shape.dims[1], window->stride_h, window->dilation_h) ||
        !has_side(w->shape.dims[2], window->stride_w, window->dilation_w) || x->shape.rank != 4 ||
        x->shape.dims[3] != w->shape.dims[3] || x->type == ML_S16 || weighted->w_zero < -255 ||
        weighted->w_zero > 255)
        return false;
    const int64_t taps = (int64_t)w->shape.dims[1] * w->shape.dims[2];
    if (taps == 1) return false;
    const int32_t side = side_of(c, weighted);
    const int64_t positions = positions_of(side, taps), pixels = taps == SIZE ? side : side * side;
    *form = (ml_larger_form){.granted = &weighted->winograd, .form = side};
    if (!side || !pays(c, positions, MOST_TILES, MOST_TILES * pixels * taps, w->shape.dims[3],
                       w->shape.dims[0]))
        return false;
    form->bytes = all_bytes(positions, w->shape.dims[3], w->shape.dims[0]);
    const ml_shape *y = &ml_output(c, 0)->shape;
    form->gain = y->rank == 4 ? (int64_t)y->dims[1] * y->dims[2] : 0;
    return true;
}

const char *ml_conv_way(const void *blob) {
    const conv_blob *b = blob;
    if (b->source != CONV_WINOGRAD) return NULL;
    if (b->window.y.size == 1) return "Winograd's tiles of 1 x 4";
    if (b->window.x.size == 1) return "Winograd's tiles of 4 x 1";
    return b->side == LARGE ? "Winograd's tiles of 4 x 4" : "Winograd's tiles of 2 x 2";
}

/* The weights of a layer. */
typedef struct source {
    const void *w;
    int32_t type;
    int32_t zero;
    int64_t taps;
    int64_t channels;
    int64_t n;
} source;

/* The weights of an output and up to CHUNK channels at each tap, as signed bytes; pairs of a panel
 * and two channels lie as in the panel. What is missing is zero. */
typedef int8_t pairs[SIZE * SIZE][ML_PAIRS_S16];

static void gather_output(const source *s, int64_t output, int64_t channel, int64_t o, pairs *to) {
    const int64_t count = output < s->n ? ml_min_s64(CHUNK, s->channels - channel) : 0;
    const int64_t first = output * s->taps * s->channels + channel;
    const bool is_plain = count == CHUNK && s->type == ML_S8;
    for (int64_t tap = 0; tap < s->taps; tap++) {
        const int64_t at = first + tap * s->channels;
        int8_t line[CHUNK];
        if (is_plain) memcpy(line, (const int8_t *)s->w + at, CHUNK);
        for (int64_t i = 0; i < CHUNK && !is_plain; i++)
            line[i] = (int8_t)(i < count ? weight_at(s->w, s->type, at + i, 0) : s->zero);
        for (int64_t k = 0; k < CHUNK / 2; k++) memcpy(&to[k][tap][2 * o], line + 2 * k, 2);
    }
}

static int64_t taps_of(const conv_blob *blob) {
    return (int64_t)blob->window.y.size * blob->window.x.size;
}

/* Adds the weights of two channels to the sums of a panel. The second position along each side has
 * the sum of the filter, times its row of G. */
static void add_weights(const int16_t *v, int64_t step, int64_t side, int64_t taps, int32_t *sums) {
    const int32_t factor = side == SMALL ? 1 : taps == SIZE ? -2 : 4;
    const int16_t *sum = v + (taps == SIZE ? 1 : patch_side(side) + 1) * step;
    for (int o = 0; o < ML_PANEL_S16; o++) sums[o] += (sum[2 * o] + sum[2 * o + 1]) / factor;
}

/* Panel by panel, so that what is written together stays in the cache. */
int64_t ml_conv_pack_winograd(const ml_call *c, void *to) {
    const conv_blob *blob = c->blob;
    const int64_t side = blob->side, channels = blob->depth, n = blob->blocks.n;
    const int64_t taps = taps_of(blob), positions = positions_of(side, taps);
    const int64_t padded = ml_round_up(n, ML_PANEL_S16), all = all_bytes(positions, channels, n);
    if (!to) return all;
    const source s = {ml_value(c, 1), ml_weights_type(c), ((const ml_weighted *)c->derived)->w_zero,
                      taps,           channels,           n};
    int32_t *sums = (int32_t *)(void *)((char *)to + weights_bytes(positions, channels, n));
    memset(sums, 0, (size_t)padded * sizeof *sums);
    ml_winograd_weights_args p = {.zero = s.zero,
                                  .tile_h = blob->window.y.size == 1 ? 1 : (int32_t)side,
                                  .tile_w = blob->window.x.size == 1 ? 1 : (int32_t)side,
                                  .v_position = padded * channels};
    for (int64_t panel = 0; panel < n; panel += ML_PANEL_S16)
        for (int64_t i = 0; i < channels; i += CHUNK) {
            pairs found[CHUNK / 2];
            for (int64_t o = 0; o < ML_PANEL_S16; o++) gather_output(&s, panel + o, i, o, found);
            for (int64_t k = 0; k < CHUNK / 2 && i + 2 * k < channels; k++) {
                p.w = found[k][0];
                p.v = (int16_t *)to + panel * channels + (i + 2 * k) * ML_PANEL_S16;
                c->env->simd->winograd_weights(&p);
                add_weights(p.v, p.v_position, side, taps, sums + panel);
            }
        }
    return all;
}

/* Geometry ------------------------------------------------------------------------------------- */

/* The sizes of a node, and the places of a block's arrays in a worker's scratch. */
typedef struct tiling {
    int64_t tile_h; /* outputs of a tile */
    int64_t tile_w;
    int64_t patch_h; /* the pixels it sees */
    int64_t patch_w;
    int64_t positions;
    int64_t channels;
    int64_t n; /* outputs, rounded up to a panel */
    int64_t wide; /* tiles of an image */
    int64_t high;
    int64_t columns; /* tiles of a block */
    int64_t rows;
    int64_t across; /* blocks of an image */
    int64_t down;
    int64_t line; /* bytes of a copied line */
    int64_t v_position; /* elements */
    int64_t m_position;
    int64_t group; /* tiles whose sums are made at a time */
    int64_t v; /* offsets in bytes; the copy lies at 0 */
    int64_t m;
    int64_t sums;
    int64_t scales;
    int64_t bytes;
} tiling;

/* Outputs of a tile along an axis. */
static int64_t tile_side(const ml_window_axis *a, int64_t side) { return a->size == 1 ? 1 : side; }

/* The sizes that do not depend on the block. */
static tiling tiles_of(const ml_window *w, int64_t side, int64_t channels, int64_t n) {
    tiling t = {.tile_h = tile_side(&w->y, side),
                .tile_w = tile_side(&w->x, side),
                .channels = channels,
                .n = ml_round_up(n, ML_PANEL_S16)};
    t.patch_h = patch_side(t.tile_h);
    t.patch_w = patch_side(t.tile_w);
    t.positions = t.patch_h * t.patch_w;
    t.wide = ml_ceil_div(w->x.out, t.tile_w);
    t.high = ml_ceil_div(w->y.out, t.tile_h);
    return t;
}

static tiling tiling_of(const conv_blob *blob) {
    tiling t = tiles_of(&blob->window, blob->side, blob->depth, blob->blocks.n);
    t.columns = blob->tile_columns;
    t.rows = blob->tile_rows;
    t.across = ml_ceil_div(t.wide, t.columns);
    t.down = ml_ceil_div(t.high, t.rows);
    t.line = ((t.columns - 1) * t.tile_w + t.patch_w) * t.channels;
    const int64_t tiles = t.columns * t.rows;
    t.v_position = ml_round_up(tiles * t.channels, APART) + APART;
    t.m_position = tiles * t.n + APART / 2;
    const int64_t tile_bytes = t.tile_h * t.tile_w * t.n * (int64_t)sizeof(int32_t);
    t.group = ml_min_s64(ml_max_s64(SUM_BYTES / tile_bytes, 1), t.columns);
    t.v = ml_round_up(((t.rows - 1) * t.tile_h + t.patch_h) * t.line, 64);
    t.m = t.v + ml_round_up(t.positions * t.v_position * (int64_t)sizeof(int16_t), 64);
    t.sums = t.m + ml_round_up(t.positions * t.m_position * (int64_t)sizeof(int32_t), 64);
    t.scales = t.sums + t.group * tile_bytes;
    t.bytes = t.scales + ml_round_up(t.group * t.tile_w * (int64_t)sizeof(float), 64);
    return t;
}

/* The tiles of a block: whole lines of them where they are short. */
static void choose_block(const ml_simd *simd, const tiling *t, conv_blob *blob) {
    const int64_t tile_bytes = t->positions * (2 * t->channels + 4 * t->n);
    const int64_t cost = t->positions * ml_integer_cost(simd, simd->winograd * t->channels) * t->n;
    int64_t tiles = ml_min_s64(ml_work_grain(t->wide * t->high * blob->window.batches, cost),
                               BLOCK_BYTES / tile_bytes);
    tiles = ml_min_s64(ml_max_s64(tiles, LEAST_TILES), MOST_TILES);
    const int64_t rows = ml_min_s64(ml_max_s64(tiles / t->wide, 1), t->high);
    blob->tile_columns = (int32_t)ml_ceil_div(t->wide, ml_ceil_div(t->wide, tiles));
    blob->tile_rows = (int32_t)ml_ceil_div(t->high, ml_ceil_div(t->high, rows));
}

bool ml_conv_prepare_winograd(const ml_call *c, conv_blob *blob, ml_wish *wish) {
    const ml_weighted *weighted = c->derived;
    const ml_window *w = &blob->window;
    const int32_t side = weighted ? weighted->winograd : 0;
    if (!side || blob->blocks.groups != 1) return false;
    const tiling t = tiles_of(w, side, blob->depth, blob->blocks.n);
    if (!pays(c, t.positions, t.high * t.wide, (int64_t)w->y.out * w->x.out * taps_of(blob),
              blob->depth, blob->blocks.n))
        return false;
    blob->source = CONV_WINOGRAD;
    blob->side = side;
    choose_block(c->env->simd, &t, blob);
    /* The weights that are transformed are less by their zero point, of -255 to 255. */
    wish->layout = INT32_MIN + side * 1024 + 512 + weighted->w_zero;
    wish->worker_bytes = tiling_of(blob).bytes;
    return true;
}

/* A block -------------------------------------------------------------------------------------- */

typedef struct job {
    const conv_rule *rule;
    tiling t;
    const int32_t *start; /* of the first batch */
    int64_t start_step; /* from batch to batch; 0: all have one */
    const float *scales; /* of batches, NULL: outputs are bytes */
    int32_t limit;
} job;

/* The tiles of one block. */
typedef struct place {
    int64_t batch;
    int64_t row; /* of tiles, in the image */
    int64_t column;
    int64_t rows;
    int64_t columns;
} place;

static void copy_flipped(const uint8_t *from, int64_t count, int32_t flip, uint8_t *to) {
    if (flip)
        for (int64_t i = 0; i < count; i++) to[i] = from[i] ^ (uint8_t)flip;
    else memcpy(to, from, (size_t)count);
}

/* Copies the lines that the block's patches see, with padding, as signed bytes. */
static void copy_lines(const ml_call *c, const tiling *t, const place *at, const conv_input *x,
                       uint8_t *to) {
    const ml_window *w = &((const conv_blob *)c->blob)->window;
    const int64_t pixels = (at->columns - 1) * t->tile_w + t->patch_w, bytes = t->channels;
    const int64_t lines = (at->rows - 1) * t->tile_h + t->patch_h;
    const int64_t first = at->column * t->tile_w - w->x.before;
    const int64_t begin = ml_min_s64(ml_max_s64(-first, 0), pixels);
    const int64_t end = ml_max_s64(ml_min_s64(w->x.in - first, pixels), begin);
    const int32_t flip = 128 - x->flip, zero = (x->zero ^ flip) & 255;
    const uint8_t *image = (const uint8_t *)x->x + at->batch * w->y.in * w->x.in * bytes;
    for (int64_t i = 0; i < lines; i++, to += t->line) {
        const int64_t line = at->row * t->tile_h - w->y.before + i;
        if (line < 0 || line >= w->y.in) {
            memset(to, zero, (size_t)(pixels * bytes));
            continue;
        }
        memset(to, zero, (size_t)(begin * bytes));
        copy_flipped(image + (line * w->x.in + first + begin) * bytes, (end - begin) * bytes, flip,
                     to + begin * bytes);
        memset(to + end * bytes, zero, (size_t)((pixels - end) * bytes));
    }
}

/* Makes outputs of the sums of tiles side by side, from output pixel (y, x) on. */
static void finish(const ml_call *c, const job *j, int64_t batch, int64_t y, int64_t x,
                   int64_t tiles, const char *scratch) {
    const conv_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const tiling *t = &j->t;
    const int64_t n = blob->blocks.n, element = ml_type_bytes(ml_out_tensor(c, 0)->type);
    const int32_t *sums = (const int32_t *)(const void *)(scratch + t->sums);
    ml_requantized r = {.rows = ml_min_s64(tiles * t->tile_w, w->x.out - x), .n = n, .y_stride = n};
    if (j->scales) r.bias = ml_in_optional(c, 2);
    for (int64_t i = 0; i < t->tile_h && y + i < w->y.out; i++) {
        r.sums = sums + i * tiles * t->tile_w * t->n;
        r.y = (char *)ml_out(c, 0) + ((batch * w->y.out + y + i) * w->x.out + x) * n * element;
        if (j->scales) {
            ml_scale_s32_args args =
                j->rule->scaling(c, &r, (const float *)(const void *)(scratch + t->scales));
            args.sums_stride = t->n;
            c->env->simd->scale_s32(&args);
        } else {
            ml_requantize_args args = ml_requantize_args_of(c, &r, j->limit);
            args.sums_stride = t->n;
            c->env->simd->requantize(&args);
        }
    }
}

static void run_block(const ml_call *c, const job *j, const place *at, char *scratch) {
    const tiling *t = &j->t;
    const ml_simd *simd = c->env->simd;
    const ml_window *w = &((const conv_blob *)c->blob)->window;
    const conv_input x = j->rule->input(c, at->batch * w->y.out * w->x.out);
    int16_t *v = (int16_t *)(void *)(scratch + t->v);
    int32_t *m = (int32_t *)(void *)(scratch + t->m);
    copy_lines(c, t, at, &x, (uint8_t *)scratch);
    for (int64_t row = 0; row < at->rows; row++)
        simd->winograd_in(
            &(ml_winograd_in_args){.x = (const int8_t *)scratch + row * t->tile_h * t->line,
                                   .x_line = t->line,
                                   .channels = t->channels,
                                   .tiles = at->columns,
                                   .tile_h = (int32_t)t->tile_h,
                                   .tile_w = (int32_t)t->tile_w,
                                   .v = v + row * at->columns * t->channels,
                                   .v_position = t->v_position});
    simd->matmul_s16(&(ml_matmul_s16_args){.a = v,
                                           .a_step = t->v_position,
                                           .rows = at->rows * at->columns,
                                           .k = t->channels,
                                           .n = t->n,
                                           .packed = c->packed,
                                           .y = m,
                                           .y_step = t->m_position,
                                           .products = t->positions});
    float *scales = (float *)(void *)(scratch + t->scales);
    for (int64_t i = 0; j->scales && i < t->group * t->tile_w; i++)
        scales[i] = j->scales[at->batch];
    for (int64_t row = 0; row < at->rows; row++)
        for (int64_t column = 0; column < at->columns; column += t->group) {
            const int64_t tiles = ml_min_s64(t->group, at->columns - column);
            simd->winograd_out(
                &(ml_winograd_out_args){.m = m + (row * at->columns + column) * t->n,
                                        .m_position = t->m_position,
                                        .tiles = tiles,
                                        .n = t->n,
                                        .tile_h = (int32_t)t->tile_h,
                                        .tile_w = (int32_t)t->tile_w,
                                        .start = j->start + at->batch * j->start_step,
                                        .y = (int32_t *)(void *)(scratch + t->sums),
                                        .y_line = tiles * t->tile_w * t->n});
            finish(c, j, at->batch, (at->row + row) * t->tile_h, (at->column + column) * t->tile_w,
                   tiles, scratch);
        }
}

static ml_status winograd_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                               void *args) {
    const job *j = args;
    const tiling *t = &j->t;
    char *scratch = ml_worker_scratch(c, worker);
    for (int64_t i = first; i < end; i++) {
        place at = {.batch = i / (t->down * t->across),
                    .row = i / t->across % t->down * t->rows,
                    .column = i % t->across * t->columns};
        at.rows = ml_min_s64(t->rows, t->high - at.row);
        at.columns = ml_min_s64(t->columns, t->wide - at.column);
        run_block(c, j, &at, scratch);
    }
    return ML_OK;
}

/* The whole ------------------------------------------------------------------------------------ */

/* bias - zero * (sum of an output's weights), for all outputs: what sums of bytes less 128 lack. */
static void make_start(const ml_call *c, int32_t zero, const int32_t *bias, int32_t *start) {
    const conv_blob *blob = c->blob;
    const int64_t n = blob->blocks.n;
    const int32_t *sums =
        sums_of_weights(c->packed, positions_of(blob->side, taps_of(blob)), blob->depth, n);
    for (int64_t o = 0; o < ml_round_up(n, ML_PANEL_S16); o++)
        start[o] =
            (int32_t)((bias && o < n ? (uint32_t)bias[o] : 0) - (uint32_t)zero * (uint32_t)sums[o]);
}

ml_status ml_conv_winograd(const ml_call *c, const conv_rule *rule, int32_t *start,
                           const float *scales) {
    const conv_blob *blob = c->blob;
    const ml_window *w = &blob->window;
    const ml_weighted *weighted = c->derived;
    job j = {.rule = rule, .t = tiling_of(blob), .start = start, .scales = scales};
    const int32_t *bias = scales ? NULL : ml_in_optional(c, 2);
    if (scales) j.start_step = j.t.n;
    else
        j.limit =
            weighted->limit ? weighted->limit : ml_limit_of(bias, blob->blocks.n, blob->blocks.k);
    for (int64_t batch = 0; batch < (scales ? w->batches : 1); batch++) {
        const conv_input x = rule->input(c, batch * w->y.out * w->x.out);
        const int32_t zero = x.flip ? (int8_t)x.zero : x.zero - 128;
        make_start(c, zero, bias, start + batch * j.start_step);
    }
    const int64_t items = w->batches * j.t.down * j.t.across;
    return ml_parallel(c, items, 1, winograd_body, &j);
}
