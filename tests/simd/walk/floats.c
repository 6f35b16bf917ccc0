/* floats.c -- walks of primitives over lines of floats. */
#include <math.h>
#include <string.h>

#include "walk.h"

enum { MOST = 1100 };

/* map_f32 ------------------------------------------------------------------------------------ */

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}
static double leaky(double x) { return x > 0 ? x : x * (double)0.3f; }
static double clamped(double x) { return clamp(x, -0.5, 2.25); }
static double negative(double x) { return -x; }
static double square(double x) { return x * x; }
static double inverse_root(double x) { return 1 / (double)(float)sqrt(x); }
static double logistic(double x) { return 1 / (1 + exp(-x)); }
static double elu(double x) { return x < 0 ? expm1(x) : x; }
static double hard_swish(double x) {
    return (double)(float)(x * (double)(float)clamp((double)(float)(x + 3), 0, 6)) / 6;
}
static double gelu(double x) { return x / 2 * erfc(-x / sqrt(2)); }
static double gelu_tanh(double x) {
    return x / (1 + exp(-2 * sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

typedef struct map_function {
    double (*exact)(double x);
    double ulp; /* 0: rounded correctly */
    float low, high;
    bool of_half; /* the bound is of x / 2; below -1 also of what it gives */
} map_function;

static const map_function functions[ML_MAP_COUNT] = {
    [ML_MAP_CLAMP] = {clamped, 0, -9, 9, false},
    [ML_MAP_LEAKY] = {leaky, 0, -9, 9, false},
    [ML_MAP_ABS] = {fabs, 0, -9, 9, false},
    [ML_MAP_NEG] = {negative, 0, -9, 9, false},
    [ML_MAP_SQUARE] = {square, 0, -9, 9, false},
    [ML_MAP_SQRT] = {sqrt, 0, 0, 1e9f, false},
    [ML_MAP_RSQRT] = {inverse_root, 2, 1e-9f, 100, false},
    [ML_MAP_FLOOR] = {floor, 0, -9, 9, false},
    [ML_MAP_CEIL] = {ceil, 0, -9, 9, false},
    [ML_MAP_ROUND] = {rint, 0, -9, 9, false},
    [ML_MAP_EXP] = {exp, 2, -104, 88.7f, false},
    [ML_MAP_LOG] = {log, 2, 0, 5, false},
    [ML_MAP_SIN] = {sin, 3, -20000, 20000, false},
    [ML_MAP_COS] = {cos, 3, -20000, 20000, false},
    [ML_MAP_LOGISTIC] = {logistic, 4, -87, 87, false},
    [ML_MAP_TANH] = {tanh, 6, -10, 10, false},
    [ML_MAP_ELU] = {elu, 2, -20, 3, false},
    [ML_MAP_HARD_SWISH] = {hard_swish, 0, -4, 9, false},
    [ML_MAP_GELU] = {gelu, 6, -9, 9, true},
    [ML_MAP_GELU_TANH] = {gelu_tanh, 6, -9, 9, true},
};

static void map_once(walk *w, int32_t number, int64_t n, float low, float high) {
    const map_function *f = &functions[number];
    double exact[MOST], bounds[MOST];
    begin_case(w);
    float *x = floats(w, n, low, high), *y = room(w, 4 * n), *both = copied(w, x, 4 * n);
    for (int64_t i = 0; i < n; i++) {
        exact[i] = f->exact(x[i]);
        bounds[i] = f->ulp * step_of(f->of_half ? x[i] / 2 : exact[i]);
        if (f->of_half && x[i] < -1) /* the negative tail keeps its own digits, too */
            bounds[i] = fmin(bounds[i], 4e-5 * fabs(exact[i]));
    }
    ml_map_f32_args args = {.x = x, .y = y, .n = n, .function = number, .a = 0.3f};
    if (number == ML_MAP_CLAMP) args.a = -0.5f, args.b = 2.25f;
    w->simd->map_f32(&args);
    expect_near(w, y, exact, bounds, n);
    args.x = args.y = both;
    w->simd->map_f32(&args);
    expect_equal(w, both, y, n);
}

/* NaN and infinities give what the scalar variant gives; far numbers are within the bounds of
 * both. */
static void map_odd(walk *w, int32_t number, int64_t n) {
    const map_function *f = &functions[number];
    double exact[MOST], bounds[MOST];
    begin_case(w);
    float *x = odd_floats(w, n, f->low, f->high), *y = room(w, 4 * n), *expected = room(w, 4 * n);
    ml_map_f32_args args = {.x = x, .y = y, .n = n, .function = number, .a = -0.5f, .b = 2.25f};
    w->simd->map_f32(&args);
    args.y = expected;
    w->scalar->map_f32(&args);
    for (int64_t i = 0; i < n; i++) {
        exact[i] = expected[i];
        const double of = f->of_half && fabsf(x[i]) < 100 ? x[i] / 2 : exact[i];
        bounds[i] = isfinite(exact[i]) ? 2 * f->ulp * step_of(of) : 0;
    }
    expect_near(w, y, exact, bounds, n);
}

void walk_map_f32(walk *w) {
    for (int32_t number = 0; number < ML_MAP_COUNT; number++) {
        const map_function *f = &functions[number];
        for (int64_t n = 0; n < 36; n++) map_once(w, number, n, f->low, f->high);
        for (int i = 0; i < 4; i++) {
            map_once(w, number, MOST, f->low, f->high);
            map_once(w, number, MOST, fmaxf(f->low, -1), fminf(f->high, 1));
            map_once(w, number, MOST, fmaxf(f->low, -1e-3f), 1e-3f);
            map_odd(w, number, MOST);
        }
        for (int64_t n = 0; n < 36; n++) map_odd(w, number, n);
    }
}

/* zip_f32, fold_f32, softmax_f32, range_f32 --------------------------------------------------- */

void walk_zip_f32(walk *w) {
    for (int i = 0; i < 4000; i++) {
        begin_case(w);
        const int32_t kind = (int32_t)draw(w, 0, 2);
        const int64_t n = draw(w, 1, 40), rows = draw(w, 1, 3);
        const int64_t a_n = kind == ML_ZIP_SCALAR_A ? 1 : n, b_n = kind == ML_ZIP_SCALAR_B ? 1 : n;
        const bool same_a = draw(w, 0, 1);
        ml_zip_f32_args args = {.n = n, .rows = rows, .kind = kind, .b_row = b_n};
        args.a = odd_floats(w, a_n * (same_a ? 1 : rows), -9, 9);
        args.b = odd_floats(w, b_n * rows, -9, 9);
        args.a_row = same_a ? 0 : a_n;
        args.function = (int32_t)draw(w, 0, ML_ZIP_COUNT - 1);
        args.low = draw(w, 0, 1) ? -3 : -INFINITY;
        args.high = draw(w, 0, 1) ? 4 : INFINITY;
        float *y = args.y = room(w, 4 * n * rows);
        w->simd->zip_f32(&args);
        float *expected = args.y = room(w, 4 * n * rows);
        w->scalar->zip_f32(&args);
        expect_equal(w, y, expected, n * rows);
    }
}

void walk_compare_f32(walk *w) {
    for (int i = 0; i < 4000; i++) {
        begin_case(w);
        const int64_t n = draw(w, 0, 40);
        ml_compare_f32_args args = {.n = n, .kind = (int32_t)draw(w, 0, 2)};
        float *a = odd_floats(w, args.kind == ML_ZIP_SCALAR_A ? 1 : n, -9, 9);
        float *b = odd_floats(w, args.kind == ML_ZIP_SCALAR_B ? 1 : n, -9, 9);
        for (int64_t k = 0; args.kind == ML_ZIP_FULL && k < n; k++)
            if (draw(w, 0, 1)) b[k] = a[k];
        args.a = a;
        args.b = b;
        args.function = (int32_t)draw(w, 0, ML_COMPARE_COUNT - 1);
        uint8_t *y = args.y = room(w, n);
        w->simd->compare_f32(&args);
        uint8_t *expected = args.y = room(w, n);
        w->scalar->compare_f32(&args);
        expect_bytes(w, y, expected, n);
    }
}

static double folded(int32_t function, double was, double x) {
    if (function == ML_FOLD_SUM) return was + x;
    if (function == ML_FOLD_SQUARES) return was + x * x;
    if (function == ML_FOLD_MAX) return x > was ? x : was;
    return x < was ? x : was;
}

static void fold_once(walk *w, int64_t n, int64_t rows) {
    double exact[64], bounds[64];
    begin_case(w);
    const int32_t function = (int32_t)draw(w, 0, ML_FOLD_COUNT - 1),
                  across = (int32_t)draw(w, 0, 1);
    const int64_t stride = n + draw(w, 0, 3), results = across ? n : rows;
    const bool adds = function == ML_FOLD_SUM || function == ML_FOLD_SQUARES;
    float *x = adds ? floats(w, (rows - 1) * stride + n, -9, 9)
                    : odd_floats(w, (rows - 1) * stride + n, -9, 9);
    float *y = floats(w, results, -9, 9);
    for (int64_t i = 0; i < results; i++) {
        double sizes = fabs((double)y[i]), total = y[i];
        for (int64_t k = 0; k < (across ? rows : n); k++) {
            const double v = x[across ? k * stride + i : i * stride + k];
            total = folded(function, total, v);
            sizes = folded(function, sizes, function == ML_FOLD_SUM ? fabs(v) : v);
        }
        exact[i] = total;
        bounds[i] = adds ? sizes * 0x1p-23 * (2 + (double)(across ? rows : n) / 8) : 0;
    }
    const ml_fold_f32_args args = {x, y, n, rows, stride, function, across};
    w->simd->fold_f32(&args);
    expect_near(w, y, exact, bounds, results);
}

void walk_fold_f32(walk *w) {
    for (int i = 0; i < 3000; i++) fold_once(w, draw(w, 1, 40), draw(w, 1, 20));
    for (int i = 0; i < 100; i++) {
        begin_case(w);
        const int64_t n = draw(w, 400, MOST);
        float *x = floats(w, n, -9, 9), y = 0;
        double exact = 0, bound = 0;
        for (int64_t k = 0; k < n; k++) exact += x[k], bound += fabs((double)x[k]);
        bound *= 0x1p-23 * (double)n / 8;
        const ml_fold_f32_args args = {x, &y, n, 1, n, ML_FOLD_SUM, 0};
        w->simd->fold_f32(&args);
        expect_near(w, &y, &exact, &bound, 1);
    }
}

static void softmax_once(walk *w, int64_t n, float size) {
    double exact[MOST], bounds[MOST], sum = 0;
    begin_case(w);
    float *x = floats(w, n, -size, size), *y = room(w, 4 * n), high = x[0];
    ml_softmax_f32_args args = {.x = x, .y = y, .n = n, .beta = 1, .logs = (int32_t)draw(w, 0, 1)};
    if (!args.logs && draw(w, 0, 1)) args.beta = 0.5f;
    for (int64_t i = 0; i < n; i++) high = fmaxf(high, x[i]);
    for (int64_t i = 0; i < n; i++) sum += exp((double)((x[i] - high) * args.beta));
    for (int64_t i = 0; i < n; i++) {
        const double v = (double)((x[i] - high) * args.beta);
        exact[i] = args.logs ? v - log(sum) : exp(v) / sum;
        /* exps of 2 ULP, and lanes of the sum; exps of subnormal numbers may be 0 */
        const double eps = 0x1p-23 * (6 + (double)n / 16), lost = 0x1.1p-126;
        bounds[i] = args.logs ? eps * (1 + fabs(v)) : eps * exact[i] + lost / sum;
    }
    w->simd->softmax_f32(&args);
    expect_near(w, y, exact, bounds, n);
    args.y = x;
    w->simd->softmax_f32(&args);
    expect_equal(w, x, y, n);
}

void walk_softmax_f32(walk *w) {
    for (int i = 0; i < 600; i++) softmax_once(w, draw(w, 1, 40), i % 3 ? 9 : 200);
    for (int i = 0; i < 20; i++) softmax_once(w, draw(w, 400, MOST), 20);
    for (int64_t n = 1; n < 40; n++) {
        begin_case(w);
        float *x = floats(w, n, -9, 9), *nan = floats(w, n, 0, 0);
        x[draw(w, 0, n - 1)] = NAN;
        for (int64_t i = 0; i < n; i++) nan[i] = NAN;
        const ml_softmax_f32_args args = {.x = x, .y = x, .n = n, .beta = 1};
        w->simd->softmax_f32(&args);
        expect_equal(w, x, nan, n);
    }
}

void walk_range_f32(walk *w) {
    for (int i = 0; i < 2000; i++) {
        begin_case(w);
        const int64_t n = draw(w, 0, 80);
        const float *x = i % 2 ? odd_floats(w, n, -9, 9) : floats(w, n, -9, 9);
        float made[2], expected[2];
        w->simd->range_f32(x, n, &made[0], &made[1]);
        w->scalar->range_f32(x, n, &expected[0], &expected[1]);
        expect_equal(w, made, expected, 2);
    }
}

/* Floats of 16 bits --------------------------------------------------------------------------- */

void walk_widen_f16(walk *w) {
    for (int64_t first = 0, n; first < 1 << 16; first += n) {
        begin_case(w);
        n = draw(w, 1, 400);
        if (n > (1 << 16) - first) n = (1 << 16) - first;
        uint16_t *x = room(w, 2 * n);
        float *y = room(w, 4 * n), *expected = room(w, 4 * n);
        for (int64_t i = 0; i < n; i++) x[i] = (uint16_t)(first + i);
        w->simd->widen_f16(x, n, y);
        w->scalar->widen_f16(x, n, expected);
        expect_bytes(w, y, expected, 4 * n);
    }
}

void walk_narrow_f16(walk *w) {
    for (int i = 0; i < 2000; i++) {
        begin_case(w);
        const int64_t n = draw(w, 0, 40);
        static const float sizes[] = {7e4f, 1e-4f, 1e-7f, 2};
        float *x = odd_floats(w, n, -sizes[i % 4], sizes[i % 4]);
        for (int64_t k = 0; k < n; k++) { /* any bits, and the middles between two halves */
            uint32_t bits = (uint32_t)draw(w, 0, UINT32_MAX);
            if (draw(w, 0, 2) == 0) memcpy(&x[k], &bits, sizeof bits);
            memcpy(&bits, &x[k], sizeof bits);
            bits = (bits & ~0x1FFFu) | 0x1000u;
            if (draw(w, 0, 3) == 0) memcpy(&x[k], &bits, sizeof bits);
        }
        uint16_t *y = room(w, 2 * n), *expected = room(w, 2 * n);
        w->simd->narrow_f16(x, n, y);
        w->scalar->narrow_f16(x, n, expected);
        expect_bytes(w, y, expected, 2 * n);
    }
}

/* dot_rows_f32, mix_rows_f32 ------------------------------------------------------------------- */

typedef void rows_fn(const ml_rows_f32_args *args);

/* `across`: sums go from row to row of w, else along its rows. */
static void rows_once(walk *w, rows_fn *run, bool across, int64_t rows, int64_t k, int64_t n) {
    begin_case(w);
    const int64_t width = across ? n : k, gap = draw(w, 0, 3);
    const int64_t lines = across ? k : n;
    const ml_rows_f32_args args = {
        .x = floats(w, rows * (k + gap), -1, 1),
        .rows = rows,
        .x_stride = k + gap,
        .w = floats(w, lines ? (lines - 1) * (width + gap) + width : 0, -1, 1),
        .w_stride = width + gap,
        .k = k,
        .n = n,
        .y = room(w, 4 * rows * n),
        .y_stride = n};
    run(&args);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) {
            double exact = 0, bound = 0;
            for (int64_t s = 0; s < k; s++) {
                const int64_t at = across ? s * args.w_stride + j : j * args.w_stride + s;
                const double product = (double)args.x[i * args.x_stride + s] * (double)args.w[at];
                exact += product;
                bound += fabs(product);
            }
            bound *= 0x1p-20;
            expect_near(w, &args.y[i * n + j], &exact, &bound, 1);
        }
}

static void walk_rows(walk *w, rows_fn *run, bool across) {
    for (int i = 0; i < 400; i++)
        rows_once(w, run, across, draw(w, 1, 9), draw(w, 0, 40), draw(w, 1, 70));
    for (int i = 0; i < 20; i++)
        rows_once(w, run, across, draw(w, 1, 5), draw(w, 120, 400), draw(w, 1, 140));
    rows_once(w, run, across, 2, 5000, 3);
}

void walk_dot_rows_f32(walk *w) { walk_rows(w, w->simd->dot_rows_f32, false); }
void walk_mix_rows_f32(walk *w) { walk_rows(w, w->simd->mix_rows_f32, true); }
