/* reduce_window.c -- REDUCE_WINDOW, STABLEHLO_REDUCE_WINDOW: reduce the elements in each window to
 * one, starting with an initial value. The latter first spreads elements out and pads them, with
 * the same value. */
#include "rules/values.h"
#include "rules/work.h"

enum { ADD = 1, MULTIPLY, MINIMUM, MAXIMUM, ALL, ANY };

#define REDUCE_WINDOW_FIELDS(X, S)                                                             \
    X(S, i32, function, ML_BY_CHECK) X(S, array, window, ML_OPTION("window_dimensions")) X(S, array, strides, ML_OPTION("window_strides")) X(S, array, dilations, ML_OPTION("window_dilations"))        \
    X(S, array, base_dilations) X(S, array, padding)
ML_PARAMS(window_params, REDUCE_WINDOW_FIELDS)

typedef struct window_dim {
    int64_t in;
    int64_t out;
    int64_t taps;
    int64_t stride;
    int64_t dilation;
    int64_t apart; /* distance between elements; 1 = not spread out */
    int64_t before; /* padding, may be negative */
    int64_t pitch; /* elements of the input from index to index */
} window_dim;

typedef struct window_blob {
    window_dim dims[ML_MAX_RANK];
    int32_t rank;
} window_blob;

static ml_status place(const ml_call *c, int32_t d, window_dim *w, int64_t after) {
    const int64_t limit = INT32_MAX;
    if (w->taps < 1 || w->stride < 1 || w->dilation < 1 || w->apart < 1 || w->taps > limit ||
        w->stride > limit || w->dilation > limit || w->apart > limit)
        return ml_fail(
            c, ML_SHAPE_ERROR,
            "dimension %d: window %lld, stride %lld, dilations %lld and %lld must be positive", d,
            (long long)w->taps, (long long)w->stride, (long long)w->dilation, (long long)w->apart);
    if (w->before < -limit || w->before > limit || after < -limit || after > limit)
        return ml_fail(c, ML_SHAPE_ERROR, "dimension %d is padded by %lld and %lld", d,
                       (long long)w->before, (long long)after);
    const int64_t extent = (w->taps - 1) * w->dilation + 1;
    const int64_t size = (w->in > 0 ? (w->in - 1) * w->apart + 1 : 0) + w->before + after;
    w->out = size < extent ? 0 : (size - extent) / w->stride + 1;
    return ML_OK;
}

/* Each array has one entry per dimension (padding two), or is missing. */
static ml_status place_all(const ml_call *c, const int64_t *window, const int64_t *strides,
                           const int64_t *dilations, const int64_t *apart, const int64_t *padding) {
    const ml_shape *x = &ml_input(c, 0)->shape;
    window_blob *b = c->blob;
    if (ml_elements(&ml_input(c, 1)->shape) != 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the initial value must be one number, it has %lld",
                       (long long)ml_elements(&ml_input(c, 1)->shape));
    ml_shape y = {.rank = 0};
    ml_status status = ML_OK;
    int64_t pitch = 1;
    b->rank = x->rank;
    for (int32_t d = 0; d < x->rank && status == ML_OK; d++) {
        window_dim *w = &b->dims[d];
        *w = (window_dim){.in = x->dims[d],
                          .taps = window[d],
                          .stride = strides[d],
                          .dilation = dilations[d],
                          .apart = apart ? apart[d] : 1,
                          .before = padding ? padding[2 * d] : 0};
        status = place(c, d, w, padding ? padding[2 * d + 1] : 0);
        if (status == ML_OK) status = ml_append_dim(c, &y, w->out);
    }
    for (int32_t d = x->rank - 1; d >= 0; pitch *= x->dims[d--]) b->dims[d].pitch = pitch;
    return status == ML_OK ? ml_set_output(c, 0, &y) : status;
}

static ml_status prepare_stablehlo(const ml_call *c, ml_wish *wish) {
    const window_params *p = c->params;
    const int64_t bytes = ml_input(c, 0)->shape.rank * (int64_t)sizeof(int64_t);
    if (bytes == 0 || p->window.bytes != bytes || p->strides.bytes != bytes ||
        p->dilations.bytes != bytes || p->base_dilations.bytes != bytes ||
        p->padding.bytes != 2 * bytes)
        return ml_fail(c, ML_SHAPE_ERROR, "windows of %lld dimensions, the input has %d",
                       (long long)(p->window.bytes / (int64_t)sizeof(int64_t)),
                       ml_input(c, 0)->shape.rank);
    return place_all(c, p->window.data, p->strides.data, p->dilations.data, p->base_dilations.data,
                     p->padding.data);
}

static ml_status prepare_window(const ml_call *c, ml_wish *wish) {
    const int32_t rank = ml_input(c, 0)->shape.rank;
    const int64_t *values[3];
    char text[96];
    for (int i = 0; i < 3; i++) {
        const ml_shape *s = &ml_input(c, 2 + i)->shape;
        if (rank < 1 || s->rank != 1 || s->dims[0] != rank)
            return ml_fail(c, ML_SHAPE_ERROR,
                           "input %d has the shape %s, the input to reduce rank %d", 2 + i,
                           ml_shape_text(s, text), rank);
        values[i] = ml_value(c, 2 + i);
        if (!values[i]) return ml_open(wish, 0);
    }
    return place_all(c, values[0], values[1], values[2], NULL, NULL);
}

/* The element at a place of a dimension that is spread out and padded; -1: none. */
static inline int64_t element_at(const window_dim *w, int64_t place) {
    const int64_t at = place - w->before;
    return at >= 0 && at % w->apart == 0 && at / w->apart < w->in ? at / w->apart : -1;
}

/* The element of the input at tap `turn` of all dimensions but the last, for row `row` of the
 * outputs; -1: outside. */
static int64_t source_of(const window_blob *b, int64_t row, int64_t turn) {
    int64_t from = 0;
    for (int32_t d = b->rank - 2; d >= 0; d--) {
        const window_dim *w = &b->dims[d];
        const int64_t at = element_at(w, row % w->out * w->stride + turn % w->taps * w->dilation);
        from = from < 0 || at < 0 ? -1 : from + at * w->pitch;
        row /= w->out;
        turn /= w->taps;
    }
    return from;
}

/* Outputs of a row that are computed together. */
typedef struct span {
    int64_t first;
    int64_t end;
} span;

/* The outputs of `all` whose tap `t` of the last dimension lies inside, if that dimension is not
 * spread out. */
static span inside(const window_dim *w, int64_t t, span all) {
    const int64_t skip = w->before - t * w->dilation, last = w->in - 1 + skip;
    const int64_t first = skip > 0 ? ml_ceil_div(skip, w->stride) : 0;
    const int64_t end = last < 0 ? 0 : last / w->stride + 1;
    const span found = {ml_min_s64(all.end, ml_max_s64(all.first, first)),
                        ml_min_s64(all.end, end)};
    return (span){found.first, ml_max_s64(found.first, found.end)};
}

enum { PIECE = 1024 }; /* outputs in a span */

static int64_t pieces_of(const window_blob *b) {
    return ml_ceil_div(b->dims[b->rank - 1].out, PIECE);
}

/* The number of spans that make a block of work. */
static int64_t grain_of(const window_blob *b) {
    int64_t taps = 1;
    for (int32_t d = 0; d < b->rank && taps < 1 << 15; d++) taps *= b->dims[d].taps;
    return 1 + (1 << 15) / taps / ml_min_s64(b->dims[b->rank - 1].out, PIECE);
}

/* Joins `n` outputs with as many elements, which are `step` elements apart. */
typedef void join_fn(void *y, int64_t n, const void *x, int64_t step, int32_t function);

typedef struct window_job {
    join_fn *join;
    int64_t element; /* bytes */
    int32_t function;
    const char *start; /* the initial value, also used for padding */
} window_job;

/* Joins a span with tap `t` of the last dimension; `x` NULL: the tap lies outside. */
static void add_tap(const window_dim *w, const window_job *j, const char *x, int64_t t, span all,
                    char *y) {
    if (x && w->apart > 1) {
        for (int64_t o = all.first; o < all.end; o++) {
            const int64_t at = element_at(w, o * w->stride + t * w->dilation);
            j->join(y + (o - all.first) * j->element, 1, at < 0 ? j->start : x + at * j->element, 0,
                    j->function);
        }
        return;
    }
    const span in = x ? inside(w, t, all) : (span){all.end, all.end};
    j->join(y, in.first - all.first, j->start, 0, j->function);
    if (in.first < in.end)
        j->join(y + (in.first - all.first) * j->element, in.end - in.first,
                x + (in.first * w->stride + t * w->dilation - w->before) * j->element, w->stride,
                j->function);
    j->join(y + (in.end - all.first) * j->element, all.end - in.end, j->start, 0, j->function);
}

static ml_status reduce_some(const ml_call *c, int64_t begin, int64_t stop, int32_t worker,
                             void *args) {
    const window_job *j = args;
    const window_blob *b = c->blob;
    const window_dim *w = &b->dims[b->rank - 1];
    const char *x = ml_in(c, 0);
    int64_t turns = 1, work = 0;
    ml_status status = ML_OK;
    for (int32_t d = 0; d < b->rank - 1; d++) turns *= b->dims[d].taps;
    for (int64_t i = begin; i < stop; i++) {
        const int64_t row = i / pieces_of(b), first = i % pieces_of(b) * PIECE;
        const span all = {first, ml_min_s64(w->out, first + PIECE)};
        char *y = (char *)ml_out(c, 0) + (row * w->out + first) * j->element;
        memcpy(y, j->start, (size_t)j->element);
        ml_repeat(y, j->element, all.end - first - 1);
        for (int64_t k = 0; k < turns * w->taps && status == ML_OK; k++) {
            const int64_t from = source_of(b, row, k / w->taps);
            add_tap(w, j, from < 0 ? NULL : x + from * j->element, k % w->taps, all, y);
            status = ml_count_work(c, all.end - first, &work);
        }
    }
    return status;
}

static ml_status reduce_windows(const ml_call *c, join_fn *join) {
    const window_blob *b = c->blob;
    const int64_t outputs = ml_elements(&ml_out_tensor(c, 0)->shape);
    window_job j = {join, ml_type_bytes(ml_out_tensor(c, 0)->type),
                    ((const window_params *)c->params)->function, ml_in(c, 1)};
    return ml_parallel(c, outputs / b->dims[b->rank - 1].out * pieces_of(b), grain_of(b),
                       reduce_some, &j);
}

/* Joins each y with x, which is `step` elements further each time. */
#define EACH(RESULT)                                \
    if (step == 1) {                                \
        for (int64_t o = 0; o < n; o++) {           \
            const number a = y[o], b = x[o];        \
            y[o] = (number)(RESULT);                \
        }                                           \
    } else {                                        \
        for (int64_t o = 0; o < n; o++) {           \
            const number a = y[o], b = x[o * step]; \
            y[o] = (number)(RESULT);                \
        }                                           \
    }                                               \
    return;

#define TRUE_OF(v) ((v) != 0)
#define REDUCE_WINDOW(suffix, type, wide, STORE)                                                   \
    static void join_##suffix(void *to, int64_t n, const void *from, int64_t step,                 \
                              int32_t function) {                                                  \
        typedef type number;                                                                       \
        type *restrict y = to;                                                                     \
        const type *restrict x = from;                                                             \
        switch (function) {                                                                        \
        case ADD: EACH(STORE((wide)a + (wide)b))                                                   \
        case MULTIPLY: EACH(STORE((wide)a * (wide)b))                                              \
        case MINIMUM: EACH(a <= b ? a : b)                                                         \
        case MAXIMUM: EACH(a >= b ? a : b)                                                         \
        case ALL: EACH((a != 0) & (b != 0))                                                        \
        default: EACH((a != 0) | (b != 0))                                                         \
        }                                                                                          \
    }                                                                                              \
    static ml_status reduce_window_##suffix(const ml_call *c) {                                    \
        return reduce_windows(c, join_##suffix);                                                   \
    }
#define KEEP(v) (v)
REDUCE_WINDOW(f32, float, float, KEEP)
REDUCE_WINDOW(f64, double, double, KEEP)
REDUCE_WINDOW(b8, uint8_t, uint32_t, TRUE_OF)
REDUCE_WINDOW(s8, int8_t, uint32_t, KEEP)
REDUCE_WINDOW(u8, uint8_t, uint32_t, KEEP)
REDUCE_WINDOW(s16, int16_t, uint32_t, KEEP)
REDUCE_WINDOW(s32, int32_t, uint32_t, KEEP)
REDUCE_WINDOW(s64, int64_t, uint64_t, KEEP)

/* The functions have the numbers of the schema's ReduceWindowFunction. */
static ml_status check_window(const ml_call *c, void *params) {
    const int64_t function = ml_option_of(c, "reduce_function").integer;
    ((window_params *)params)->function = (int32_t)function;
    if (function >= ADD && function <= ANY) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "reduce function %s is not supported, ADD, MUL, MINIMUM, MAXIMUM, ALL, ANY are",
                   ml_option_word(c, "reduce_function"));
}
/* The only operator of the subgraph is the function that joins elements. */
static ml_status check_stablehlo(const ml_call *c, void *params) {
    static const struct {
        const char *name;
        int32_t function;
    } known[] = {{"ADD", ADD},         {"STABLEHLO_ADD", ADD},
                 {"MUL", MULTIPLY},    {"STABLEHLO_MULTIPLY", MULTIPLY},
                 {"MAXIMUM", MAXIMUM}, {"STABLEHLO_MAXIMUM", MAXIMUM},
                 {"MINIMUM", MINIMUM}, {"STABLEHLO_MINIMUM", MINIMUM},
                 {"LOGICAL_AND", ALL}, {"STABLEHLO_AND", ALL},
                 {"LOGICAL_OR", ANY}};
    const int64_t number = ml_option_of(c, "body_subgraph_index").integer;
    const ml_subgraph_row *rows = c->env->core->subgraph_row(c, (int32_t)number);
    if (!rows)
        return ml_fail(c, ML_UNSUPPORTED, "its body is subgraph %lld, which does not exist",
                       (long long)number);
    const char *name = rows->n_nodes ? c->env->core->operator_name(c, &rows->nodes[0]) : "nothing";
    for (size_t i = 0; i < sizeof known / sizeof known[0] && rows->n_nodes == 1; i++)
        if (strcmp(name, known[i].name) == 0) {
            ((window_params *)params)->function = known[i].function;
            return ML_OK;
        }
    return ml_fail(c, ML_UNSUPPORTED,
                   "its body is %s%s, must be a single ADD, MUL, MAXIMUM, MINIMUM (or "
                   "STABLEHLO's), LOGICAL_AND, STABLEHLO_AND or LOGICAL_OR",
                   name, rows->n_nodes > 1 ? " and others" : "");
}

#define ROW(kind, more) {#kind " " #kind more " -> " #kind, NULL, NULL, reduce_window_##kind}
#define ROWS(more)                                                                            \
    ML_TYPED(ROW(f32, more), ROW(f64, more), ROW(b8, more), ROW(s8, more), ROW(u8, more),     \
             ROW(s16, more), ROW(s32, more), ROW(s64, more))
ML_KERNELS(reduce_window) = {
    {ML_OP(REDUCE_WINDOW, 1, 1), .name = "reduce_window",
     .takes = "x start window strides dilations -> y", .check = check_window,
     ML_PARAMS_OF(window_params), .blob_bytes = (int32_t)sizeof(window_blob),
     .prepare = prepare_window, ROWS(" s64 s64 s64")},
    {ML_OP(STABLEHLO_REDUCE_WINDOW, 1, 1), .name = "stablehlo_reduce_window",
     .takes = "x start -> y", .check = check_stablehlo, ML_PARAMS_OF(window_params),
     .blob_bytes = (int32_t)sizeof(window_blob), .prepare = prepare_stablehlo, ROWS("")},
    ML_KERNELS_END,
};
