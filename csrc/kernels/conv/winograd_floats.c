/* winograd_floats.c -- 3 x 3 convolutions of floats by Winograd's F(4 x 4, 3 x 3), where the caller
 * asks for fast convolutions: a tile of 4 x 4 outputs takes 36 products per channel and output
 * instead of 144, and rounds more than the sum of a window does (api/simd.h).
 *
 * Tiles are numbered line by line through all images. A block of them, whose arrays stay in the
 * cache, goes through three steps: winograd_in_f32 transforms the patches, where they lie or copied
 * with padding; matmul_f32 multiplies at each position; winograd_out_f32 makes outputs of the
 * products. */
#include <math.h>

#include "kernels/conv/conv.h"
#include "rules/work.h"

enum {
    TAPS = 3, /* of a side of the window */
    PLACES = ML_WINOGRAD_PATCH * ML_WINOGRAD_PATCH,
    LEAST_DEPTH = 16, /* of channels and of outputs */
    PASSING = 12, /* the cost of moving a channel or an output through a position, in products */
    NEAR_BYTES = 1 << 20, /* of weights that stay in the cache from run to run */
    READING_FAR = 16, /* the cost of reading another weight, in products */
    CACHED_BYTES = 384 << 10, /* of a block's patches and products */
    FEW_TILES = 6,
    SOME_TILES = 24, /* where the weights of a position are large */
    LARGE_WEIGHTS = 1 << 14, /* floats */
    MANY_TILES = 96,
    GAP = 16 /* floats between positions, so that few share a set of the cache */
};

/* Weights -------------------------------------------------------------------------------------- */

/* True if tiles take at most four fifths of the time of a product of all windows, counted in
 * products. To read all weights takes as long as a tile, or as many tiles, if the cache does not
 * hold them. In double, because sizes may be asked for that no memory holds. */
static bool floats_pay(const ml_window *w, double channels, double n) {
    const double high = (double)ml_ceil_div(w->y.out, ML_WINOGRAD_TILE),
                 wide = (double)ml_ceil_div(w->x.out, ML_WINOGRAD_TILE);
    const double tiles = (double)w->batches * high * wide, products = channels * n;
    const double pixels = (double)w->batches * w->y.out * w->x.out;
    const double reading = products * PLACES * sizeof(float) > NEAR_BYTES ? READING_FAR : 1;
    const double all = PLACES * ((tiles + reading) * products + tiles * PASSING * (channels + n));
    return 5 * all < 4 * TAPS * TAPS * pixels * products;
}

/* G of a line of filters: to[0], to[step], ... */
static void spread_taps(const double *from, int64_t from_step, double *to, int64_t step) {
    const double root = 1.4142135623730951;
    const double first = from[0], middle = from[from_step], last = from[2 * from_step];
    const double near = -(2 * first + last) / 3, near_odd = -root / 3 * middle;
    const double far = (first + 2 * last) / 6, far_odd = root / 6 * middle;
    to[0] = first;
    to[step] = near + near_odd;
    to[2 * step] = near - near_odd;
    to[3 * step] = far + far_odd;
    to[4 * step] = far - far_odd;
    to[5 * step] = last;
}

/* Transforms a filter, whose taps are `channels` floats apart, and rounds once. */
static void spread_filter(const float *w, int64_t channels, float *to, int64_t step) {
    double taps[TAPS * TAPS], lines[TAPS * ML_WINOGRAD_PATCH], made[PLACES];
    for (int i = 0; i < TAPS * TAPS; i++) taps[i] = (double)w[i * channels];
    for (int i = 0; i < TAPS; i++)
        spread_taps(taps + TAPS * i, 1, lines + ML_WINOGRAD_PATCH * i, 1);
    for (int j = 0; j < ML_WINOGRAD_PATCH; j++)
        spread_taps(lines + j, ML_WINOGRAD_PATCH, made + j, ML_WINOGRAD_PATCH);
    for (int i = 0; i < PLACES; i++) to[i * step] = (float)made[i];
}

int64_t ml_conv_pack_winograd_floats(const ml_call *c, void *to) {
    const conv_blob *blob = c->blob;
    const int64_t channels = blob->depth, n = blob->blocks.n;
    const int64_t panel = c->env->simd->matmul_f32_panel;
    const int64_t step = ml_packed_f32(c->env->simd, n, channels);
    const int64_t bytes = PLACES * step * (int64_t)sizeof(float);
    if (!to) return bytes;
    memset(to, 0, (size_t)bytes);
    const float *w = ml_value(c, 1);
    for (int64_t first = 0; first < n; first += panel)
        for (int64_t i = 0; i < channels; i++)
            for (int64_t o = first; o < ml_min_s64(first + panel, n); o++)
                spread_filter(w + o * TAPS * TAPS * channels + i, channels,
                              (float *)to + first * channels + i * panel + (o - first), step);
    return bytes;
}

/* Geometry ------------------------------------------------------------------------------------- */

/* The tiles of a node, and the places of a block's arrays in a worker's scratch, in floats. */
typedef struct float_tiles {
    int64_t wide; /* tiles of an image */
    int64_t high;
    int64_t all; /* of all images */
    int64_t block;
    int64_t channels;
    int64_t n;
    int64_t v_position;
    int64_t m_position;
    int64_t v; /* the copy of patches with padding lies at 0 */
    int64_t m;
    int64_t end;
} float_tiles;

static float_tiles float_tiles_of(const conv_blob *blob) {
    const ml_window *w = &blob->window;
    float_tiles t = {.wide = ml_ceil_div(w->x.out, ML_WINOGRAD_TILE),
                     .high = ml_ceil_div(w->y.out, ML_WINOGRAD_TILE),
                     .block = blob->tile_columns,
                     .channels = blob->depth,
                     .n = blob->blocks.n};
    t.all = w->batches * t.high * t.wide;
    t.v_position = ml_round_up(t.block * t.channels, GAP) + GAP;
    t.m_position = ml_round_up(t.block * t.n, GAP) + GAP;
    const int64_t pixels = ml_min_s64(t.block, t.wide) * ML_WINOGRAD_TILE + TAPS - 1;
    t.v = ml_round_up(ML_WINOGRAD_PATCH * pixels * t.channels, GAP);
    t.m = t.v + PLACES * t.v_position;
    t.end = t.m + PLACES * t.m_position;
    return t;
}

/* The tiles of a block: enough for the weights that they share, but few enough for the cache. */
static int32_t tiles_of_block(const ml_simd *simd, const conv_blob *blob) {
    const ml_window *w = &blob->window;
    const int64_t channels = blob->depth, n = blob->blocks.n, rows = simd->matmul_f32_rows;
    const int64_t all = w->batches * ml_ceil_div(w->x.out, ML_WINOGRAD_TILE) *
                        ml_ceil_div(w->y.out, ML_WINOGRAD_TILE);
    const int64_t cost = PLACES * (channels + PASSING) * ml_outputs_paid(simd, n, channels);
    const int64_t fit = CACHED_BYTES / (PLACES * (channels + n) * (int64_t)sizeof(float));
    const int64_t least = channels * n < LARGE_WEIGHTS ? FEW_TILES : SOME_TILES;
    const int64_t tiles = ml_max_s64(ml_min_s64(ml_work_grain(all, cost), fit), least);
    return (int32_t)ml_min_s64(ml_min_s64(ml_round_up(tiles, rows), MANY_TILES), all);
}

bool ml_conv_prepare_winograd_floats(const ml_call *c, conv_blob *blob, ml_wish *wish) {
    const ml_window *w = &blob->window;
    const ml_window_axis *axes[] = {&w->y, &w->x};
    if (!c->env->fast_convolutions || ml_input(c, 1)->storage != ML_STORAGE_CONSTANT ||
        blob->blocks.groups != 1 || blob->depth < LEAST_DEPTH || blob->blocks.n < LEAST_DEPTH)
        return false;
    for (int i = 0; i < 2; i++)
        if (axes[i]->size != TAPS || axes[i]->stride != 1 || axes[i]->dilation != 1) return false;
    if (!floats_pay(w, blob->depth, blob->blocks.n)) return false;
    blob->source = CONV_WINOGRAD;
    blob->side = ML_WINOGRAD_TILE;
    blob->tile_columns = tiles_of_block(c->env->simd, blob);
    wish->layout = INT32_MIN + ML_WINOGRAD_TILE;
    wish->worker_bytes = float_tiles_of(blob).end * (int64_t)sizeof(float);
    return true;
}

/* A block -------------------------------------------------------------------------------------- */

/* Neighbours in a line of tiles. */
typedef struct float_run {
    int64_t batch;
    int64_t y; /* the first output pixel */
    int64_t x;
    int64_t tiles;
} float_run;

/* The tiles of number `first` and on that are in one line, at most `most`. */
static float_run run_of(const float_tiles *t, int64_t first, int64_t most) {
    const int64_t column = first % t->wide, line = first / t->wide;
    return (float_run){.batch = line / t->high,
                       .y = line % t->high * ML_WINOGRAD_TILE,
                       .x = column * ML_WINOGRAD_TILE,
                       .tiles = ml_min_s64(most, t->wide - column)};
}

/* Copies the patches of a run with the padding around them, lines of `pixels` pixels. */
static void copy_patches(const ml_window *w, const float *image, const float_run *run,
                         int64_t pixels, float *to) {
    const int64_t channels = w->channels, first = run->x - w->x.before;
    const int64_t begin = ml_min_s64(ml_max_s64(-first, 0), pixels);
    const int64_t end = ml_max_s64(ml_min_s64(w->x.in - first, pixels), begin);
    const int64_t left = begin * channels, inside = (end - begin) * channels,
                  whole = pixels * channels;
    for (int64_t i = 0; i < ML_WINOGRAD_PATCH; i++, to += whole) {
        const int64_t line = run->y - w->y.before + i;
        if (line < 0 || line >= w->y.in || inside == 0) {
            memset(to, 0, (size_t)whole * sizeof *to);
            continue;
        }
        memset(to, 0, (size_t)left * sizeof *to);
        memcpy(to + left, image + (line * w->x.in + first + begin) * channels,
               (size_t)inside * sizeof *to);
        memset(to + left + inside, 0, (size_t)(whole - left - inside) * sizeof *to);
    }
}

/* Transforms the patches of a run: in place, or where padding is among them, copied. */
static void transform_patches(const ml_call *c, const float_tiles *t, const float_run *run,
                              bool padded, float *copy, float *v) {
    const ml_window *w = &((const conv_blob *)c->blob)->window;
    const float *image = (const float *)ml_in(c, 0) + run->batch * w->y.in * w->x.in * t->channels;
    ml_winograd_in_f32_args args = {
        .x = image + ((run->y - w->y.before) * w->x.in + run->x - w->x.before) * t->channels,
        .x_line = w->x.in * t->channels,
        .channels = t->channels,
        .tiles = run->tiles,
        .v = v,
        .v_position = t->v_position};
    if (padded) {
        const int64_t pixels = run->tiles * ML_WINOGRAD_TILE + TAPS - 1;
        copy_patches(w, image, run, pixels, copy);
        args.x = copy;
        args.x_line = pixels * t->channels;
    }
    if (run->tiles > 0) c->env->simd->winograd_in_f32(&args);
}

/* The same of a run whose ends alone may have padding among them, or all of it. */
static void transform_run(const ml_call *c, const float_tiles *t, const float_run *run, float *copy,
                          float *v) {
    const ml_window *w = &((const conv_blob *)c->blob)->window;
    const int64_t y = run->y - w->y.before, x = run->x - w->x.before, side = ML_WINOGRAD_TILE;
    const int64_t beyond = w->x.in - ML_WINOGRAD_PATCH - x;
    int64_t begin = x < 0 ? ml_min_s64(ml_ceil_div(-x, side), run->tiles) : 0;
    int64_t end = beyond < 0 ? 0 : ml_min_s64(beyond / side + 1, run->tiles);
    if (y < 0 || y + ML_WINOGRAD_PATCH > w->y.in || end <= begin) begin = end = run->tiles;
    const int64_t ends[] = {0, begin, end, run->tiles};
    for (int i = 0; i < 3; i++) {
        float_run part = *run;
        part.x += ends[i] * side;
        part.tiles = ends[i + 1] - ends[i];
        transform_patches(c, t, &part, i != 1, copy, v + ends[i] * t->channels);
    }
}

static void multiply_positions(const ml_call *c, const float_tiles *t, int64_t tiles,
                               const float *v, float *m) {
    const ml_simd *simd = c->env->simd;
    const int64_t step = ml_packed_f32(simd, t->n, t->channels);
    for (int64_t i = 0; i < PLACES; i++)
        simd->matmul_f32(&(ml_matmul_f32_args){.a = v + i * t->v_position,
                                               .rows = tiles,
                                               .a_stride = t->channels,
                                               .pieces = 1,
                                               .k = t->channels,
                                               .n = t->n,
                                               .packed = (const float *)c->packed + i * step,
                                               .y = m + i * t->m_position,
                                               .y_stride = t->n,
                                               .low = -INFINITY,
                                               .high = INFINITY});
}

static void sum_run(const ml_call *c, const float_tiles *t, const float_run *run, const float *m) {
    const ml_window *w = &((const conv_blob *)c->blob)->window;
    const conv_params *params = c->params;
    c->env->simd->winograd_out_f32(&(ml_winograd_out_f32_args){
        .m = m,
        .m_position = t->m_position,
        .n = t->n,
        .lines = ml_min_s64(ML_WINOGRAD_TILE, w->y.out - run->y),
        .pixels = ml_min_s64(run->tiles * ML_WINOGRAD_TILE, w->x.out - run->x),
        .bias = ml_in_optional(c, 2),
        .y = (float *)ml_out(c, 0) + ((run->batch * w->y.out + run->y) * w->x.out + run->x) * t->n,
        .y_line = w->x.out * t->n,
        .low = params->minimum,
        .high = params->maximum,
    });
}

static ml_status float_tiles_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                  void *args) {
    const float_tiles *t = args;
    float *scratch = ml_worker_scratch(c, worker), *v = scratch + t->v, *m = scratch + t->m;
    for (int64_t i = first; i < end; i++) {
        const int64_t begin = i * t->block, tiles = ml_min_s64(t->block, t->all - begin);
        float_run run;
        for (int64_t at = 0; at < tiles; at += run.tiles) {
            run = run_of(t, begin + at, tiles - at);
            transform_run(c, t, &run, scratch, v + at * t->channels);
        }
        multiply_positions(c, t, tiles, v, m);
        for (int64_t at = 0; at < tiles; at += run.tiles) {
            run = run_of(t, begin + at, tiles - at);
            sum_run(c, t, &run, m + at * t->n);
        }
    }
    return ML_OK;
}

ml_status ml_conv_winograd_floats(const ml_call *c) {
    float_tiles t = float_tiles_of(c->blob);
    return ml_parallel(c, ml_ceil_div(t.all, t.block), 1, float_tiles_body, &t);
}
