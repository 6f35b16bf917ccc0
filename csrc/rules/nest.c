/* nest.c -- builds the nest of copies and carries it out: planes of runs, or matrices. */
#include "rules/nest.h"

#include "rules/matrix.h"
#include "rules/packed.h"
#include "rules/pick.h"
#include "rules/work.h"

/* Building ------------------------------------------------------------------------------------- */

void ml_pitches_of(const ml_shape *shape, int64_t element, int64_t pitches[ML_MAX_RANK]) {
    for (int32_t d = shape->rank - 1; d >= 0; element *= shape->dims[d--]) pitches[d] = element;
}

void ml_pitches(const ml_tensor *tensor, int64_t pitches[ML_MAX_RANK]) {
    ml_pitches_of(&tensor->shape, ml_unit(tensor), pitches);
}

void ml_nest_begin(ml_nest *nest, int64_t element) {
    nest->start = 0;
    nest->run = element;
    nest->n = 0;
    nest->across = -1;
}

void ml_nest_add(ml_nest *nest, int64_t count, int64_t step) {
    if (count == 1) return; /* whatever its step */
    int32_t last = nest->n - 1;
    if (last >= 0 && nest->steps[last] == count * step && nest->counts[last] * count <= INT32_MAX) {
        nest->counts[last] *= (int32_t)count;
        nest->steps[last] = step;
    } else {
        nest->counts[nest->n] = (int32_t)count;
        nest->steps[nest->n++] = step;
    }
}

void ml_nest_end(ml_nest *nest) {
    while (nest->n > 0 && nest->steps[nest->n - 1] == nest->run)
        nest->run *= nest->counts[--nest->n];
    bool element = nest->run == 1 || nest->run == 2 || nest->run == 4 || nest->run == 8;
    if (nest->n < 2 || !element || nest->steps[nest->n - 1] == 0) return;
    for (int16_t d = 0; d < nest->n - 1; d++)
        if (nest->steps[d] == nest->run &&
            (nest->across < 0 || nest->counts[d] > nest->counts[nest->across]))
            nest->across = d;
}

/* Walks ---------------------------------------------------------------------------------------- */

typedef struct gather_walk {
    const ml_simd *simd;
    const ml_nest *nest;
    /* The dimension that forms a plane with the innermost one; -1: there is only one dimension. */
    int32_t plane;
    int64_t pitches[ML_MAX_RANK]; /* bytes from index to index on the packed side */
} gather_walk;

/* Copies `count` runs in reverse order, from `from` downwards. A run of 8 bytes may be two elements
 * of 4. */
#define BACKWARDS(name, type)                                                              \
    static void name(uint8_t *to, const uint8_t *from, int64_t count) {                    \
        typedef type element __attribute__((aligned(1)));                                  \
        element *restrict y = (element *)to;                                               \
        const element *restrict x = (const element *)from - (count - 1);                   \
        for (int64_t i = 0; i < count; i++) y[i] = x[count - 1 - i];                       \
    }
BACKWARDS(backwards_x1, uint8_t)
BACKWARDS(backwards_x2, uint16_t)
BACKWARDS(backwards_x4, uint32_t)
BACKWARDS(backwards_x8, uint64_t)

static void turn_round(uint8_t *to, const uint8_t *from, int64_t run, ml_turns outer,
                       int64_t count) {
    for (int64_t i = 0; i < outer.count; i++, to += outer.to, from += outer.from) {
        if (run == 1) backwards_x1(to, from, count);
        else if (run == 2) backwards_x2(to, from, count);
        else if (run == 4) backwards_x4(to, from, count);
        else backwards_x8(to, from, count);
    }
}

static void gather_plane(const gather_walk *w, const uint8_t *from, uint8_t *to) {
    const ml_nest *nest = w->nest;
    int32_t last = nest->n - 1, plane = w->plane;
    ml_turns inner = {nest->counts[last], w->pitches[last], nest->steps[last]}, outer = {1, 0, 0};
    if (plane >= 0) outer = (ml_turns){nest->counts[plane], w->pitches[plane], nest->steps[plane]};
    if (nest->across >= 0) {
        const ml_transpose_args m = {from, to, inner.from, outer.to, inner.count, outer.count};
        ml_transpose(w->simd, &m, nest->run);
    } else if (inner.from == 0) {
        for (int64_t i = 0; i < outer.count; i++) {
            memcpy(to + i * outer.to, from + i * outer.from, (size_t)nest->run);
            ml_repeat(to + i * outer.to, nest->run, inner.count - 1);
        }
    } else if (inner.from == -nest->run && (nest->run & (nest->run - 1)) == 0 && nest->run <= 8) {
        turn_round(to, from, nest->run, outer, inner.count);
    } else {
        ml_copy_runs(to, from, nest->run, outer, inner);
    }
}

static void gather_from(const gather_walk *w, int32_t d, const uint8_t *from, uint8_t *to) {
    if (d == w->plane) d++;
    if (d >= w->nest->n - 1) {
        gather_plane(w, from, to);
        return;
    }
    for (int64_t i = 0; i < w->nest->counts[d]; i++)
        gather_from(w, d + 1, from + i * w->nest->steps[d], to + i * w->pitches[d]);
}

static gather_walk walk_of(const ml_call *c, const ml_nest *nest, int32_t plane) {
    gather_walk w = {.simd = c->env->simd, .nest = nest, .plane = plane};
    int64_t pitch = nest->run;
    for (int32_t d = nest->n - 1; d >= 0; d--) {
        w.pitches[d] = pitch;
        pitch *= nest->counts[d];
    }
    return w;
}

static void scatter_from(const gather_walk *w, int32_t d, const uint8_t *from, uint8_t *to) {
    const ml_nest *nest = w->nest;
    if (d < nest->n - 2) {
        for (int64_t i = 0; i < nest->counts[d]; i++)
            scatter_from(w, d + 1, from + i * w->pitches[d], to + i * nest->steps[d]);
        return;
    }
    ml_turns turns[2] = {{1, 0, 0}, {1, 0, 0}};
    for (int32_t k = d; k < nest->n; k++)
        turns[k - nest->n + 2] = (ml_turns){nest->counts[k], nest->steps[k], w->pitches[k]};
    ml_copy_runs(to, from, nest->run, turns[0], turns[1]);
}

/* Blocks: the nest is cut into boxes, from the outermost dimension inwards; runs that are still too
 * long are cut last. */
typedef struct boxes {
    const ml_nest *nest;
    const uint8_t *from;
    uint8_t *to;
    int64_t pieces[ML_MAX_RANK + 1]; /* indices of each dimension, then bytes of a run */
    int64_t blocks[ML_MAX_RANK + 1]; /* number of pieces of each */
    bool scatters;
} boxes;

/* Indices per side of a matrix with which tiles fill cache lines. */
enum { SIDE = 64 };

static int64_t cut_boxes(boxes *b, int64_t bytes) {
    const ml_nest *nest = b->nest;
    int64_t count = 1;
    for (int32_t d = 0; d <= nest->n; d++) {
        const bool is_run = d == nest->n;
        const int64_t size = is_run ? nest->run : nest->counts[d];
        const bool side = nest->across >= 0 && (d == nest->across || d == nest->n - 1);
        const int64_t unit = is_run ? 64 : side ? SIDE : 1;
        const int64_t wanted = bytes / ML_BLOCK_BYTES + 1; /* an even number, for two threads */
        const int64_t parts = wanted > 1 ? wanted + (wanted & 1) : 1;
        int64_t piece = ml_ceil_div(size, parts);
        piece = ml_min_s64(size, ml_round_up(piece, unit));
        b->pieces[d] = piece;
        b->blocks[d] = ml_ceil_div(size, piece);
        count *= b->blocks[d];
        bytes = bytes / size * piece;
    }
    return count;
}

static void move_box(const ml_nest *nest, bool scatters, const gather_walk *whole,
                     const uint8_t *from, uint8_t *to) {
    gather_walk w = *whole;
    w.nest = nest;
    if (nest->n == 0) memcpy(to, from, (size_t)nest->run);
    else if (scatters) scatter_from(&w, 0, from, to);
    else gather_from(&w, 0, from, to);
}

static gather_walk walk_for(const ml_call *c, const ml_nest *nest, bool scatters) {
    return walk_of(c, nest, scatters ? -1 : nest->across >= 0 ? nest->across : nest->n - 2);
}

static ml_status some_boxes(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const boxes *b = args;
    const gather_walk whole = walk_for(c, b->nest, b->scatters);
    for (int64_t block = first; block < end; block++) {
        ml_nest box = *b->nest;
        int64_t rest = block, packed = 0, stepped = 0;
        for (int32_t d = box.n; d >= 0; rest /= b->blocks[d--]) {
            const int64_t at = rest % b->blocks[d] * b->pieces[d];
            const int64_t left = (d == box.n ? box.run : box.counts[d]) - at;
            const int64_t size = ml_min_s64(left, b->pieces[d]);
            packed += at * (d == box.n ? 1 : whole.pitches[d]);
            stepped += at * (d == box.n ? 1 : box.steps[d]);
            if (d == box.n) box.run = size;
            else box.counts[d] = (int32_t)size;
        }
        move_box(&box, b->scatters, &whole, b->from + (b->scatters ? packed : stepped),
                 b->to + (b->scatters ? stepped : packed));
    }
    return ML_OK;
}

static ml_status move_elements(const ml_call *c, const ml_nest *nest, bool scatters,
                               const uint8_t *from, uint8_t *to) {
    int64_t bytes = nest->run;
    for (int32_t d = 0; d < nest->n; d++) bytes *= nest->counts[d];
    if (bytes <= ML_BLOCK_BYTES) {
        const gather_walk whole = walk_for(c, nest, scatters);
        move_box(nest, scatters, &whole, from, to);
        return ML_OK;
    }
    boxes b = {.nest = nest, .from = from, .to = to, .scatters = scatters};
    const int64_t count = cut_boxes(&b, bytes);
    return ml_parallel(c, count, 1, some_boxes, &b);
}

ml_status ml_nest_gather(const ml_call *c, const ml_nest *nest, const void *from, void *to) {
    return move_elements(c, nest, false, (const uint8_t *)from + nest->start, to);
}

ml_status ml_nest_scatter(const ml_call *c, const ml_nest *nest, const void *from, void *to) {
    return move_elements(c, nest, true, from, (uint8_t *)to + nest->start);
}

/* 4-bit elements ------------------------------------------------------------------------------- */

/* The next stretch of elements that is contiguous on both sides: *count elements, at most a block;
 * `at` counts packed elements. */
static int64_t next_stretch(const ml_nest *nest, int64_t at, int64_t *count) {
    *count = ml_min_s64(nest->run - at % nest->run, ML_BLOCK_ELEMENTS);
    return ml_nest_at(nest, at);
}

static int64_t elements_of(const ml_nest *nest) {
    int64_t count = nest->run;
    for (int32_t d = 0; d < nest->n; d++) count *= nest->counts[d];
    return count;
}

ml_status ml_gather_nibbles(const ml_call *c, const ml_nest *nest, int64_t start,
                            const uint8_t *from, uint8_t *to) {
    const int64_t all = elements_of(nest);
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t at = 0, count; at < all && status == ML_OK; at += count) {
        const int64_t first = start + next_stretch(nest, at, &count);
        ml_append_nibbles(to, at, from, first, count);
        status = ml_count_work(c, count, &work);
    }
    return status;
}

ml_status ml_scatter_nibbles(const ml_call *c, const ml_nest *nest, int64_t start,
                             const uint8_t *from, uint8_t *to) {
    const int64_t all = elements_of(nest);
    int64_t work = 0;
    ml_status status = ML_OK;
    for (int64_t at = 0, count; at < all && status == ML_OK; at += count) {
        const int64_t first = start + next_stretch(nest, at, &count), end = first + count;
        const uint8_t behind = end & 1 ? to[end / 2] & 0xF0 : 0;
        if (first & 1) to[first / 2] &= 0x0F;
        ml_append_nibbles(to, first, from, at, count);
        if (end & 1) to[end / 2] = (uint8_t)((to[end / 2] & 0x0F) | behind);
        status = ml_count_work(c, count, &work);
    }
    return status;
}

/* A node -------------------------------------------------------------------------------------- */

static ml_status index_in_nest(const ml_call *c, int64_t k, int64_t *index) {
    *index = ml_nest_at(c->blob, k);
    return ML_OK;
}

ml_status ml_nest_move(const ml_call *c) {
    if (ml_out_tensor(c, 0)->type == ML_STRING) return ml_pick_elements(c, index_in_nest);
    if (ml_type_bytes(ml_out_tensor(c, 0)->type) == 0)
        return ml_gather_nibbles(c, c->blob, 0, ml_in(c, 0), ml_out(c, 0));
    return ml_nest_gather(c, c->blob, ml_in(c, 0), ml_out(c, 0));
}
