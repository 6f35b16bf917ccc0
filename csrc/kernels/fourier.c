/* fourier.c -- RFFT2D: the discrete Fourier transform of the last two dimensions of reals, keeping
 * the half from which the other follows. The dimensions are cut, or padded with zeros, to lengths
 * that are powers of two. */
#include "math/fft.h"
#include "rules/values.h"

typedef struct fourier_blob {
    int64_t slices;
    int32_t in[2]; /* height, width */
    int32_t made[2]; /* of the transform */
    int64_t roots; /* in scratch, if derive did not know the lengths */
    int64_t room; /* numbers in each of two arrays in a worker's scratch */
} fourier_blob;

/* Roots of the longer length, which serve both. */
typedef struct roots_table {
    int64_t length;
    ml_complex roots[];
} roots_table;

static int64_t longer(const int32_t *lengths) {
    return lengths[0] > lengths[1] ? lengths[0] : lengths[1];
}

static bool is_power_of_two(int32_t n) { return n > 0 && (n & (n - 1)) == 0; }

static int64_t derive_roots(const ml_call *c, void *to) {
    const int32_t *lengths = ml_value(c, 1);
    const bool known = lengths && ml_elements(&ml_input(c, 1)->shape) == 2 &&
                       is_power_of_two(lengths[0]) && is_power_of_two(lengths[1]);
    const int64_t length = known ? longer(lengths) : 0;
    if (to) ((roots_table *)to)->length = length;
    if (to && known) ml_fft_roots(length, ((roots_table *)to)->roots);
    return (int64_t)sizeof(roots_table) + ml_ceil_div(length, 2) * (int64_t)sizeof(ml_complex);
}

static ml_status prepare_rfft2d(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape, *sizes = &ml_input(c, 1)->shape;
    fourier_blob *b = c->blob;
    char text[96];
    if (x->rank < 2)
        return ml_fail(c, ML_SHAPE_ERROR, "the input has rank %d, expected 2 or more", x->rank);
    if (sizes->rank != 1 || sizes->dims[0] != 2)
        return ml_fail(c, ML_SHAPE_ERROR, "the lengths must be two, their shape is %s",
                       ml_shape_text(sizes, text));
    const int32_t *lengths = ml_value(c, 1);
    if (!lengths) return ml_open(wish, 0);
    ml_shape y = *x;
    /* The two last dimensions get these lengths; the last keeps only its first half, because the
     * transform of reals is symmetric. */
    for (int i = 0; i < 2; i++) {
        if (!is_power_of_two(lengths[i]))
            return ml_fail(c, ML_SHAPE_ERROR, "length %d is %d, must be a power of two", i,
                           lengths[i]);
        b->in[i] = x->dims[x->rank - 2 + i];
        b->made[i] = lengths[i];
        y.dims[y.rank - 2 + i] = i ? lengths[i] / 2 + 1 : lengths[i];
    }
    /* The number of transforms, and room for two of them per worker. */
    b->slices = ml_elements_of(x, 0, x->rank - 2);
    ml_status status = ml_set_output(c, 0, &y);
    if (status != ML_OK) return status;
    if (ml_elements_of(&y, y.rank - 2, y.rank) < 0)
        return ml_fail(c, ML_SHAPE_ERROR, "lengths %d and %d are too large", lengths[0],
                       lengths[1]);
    b->room = ml_elements_of(&y, y.rank - 2, y.rank);
    if (b->room > INT64_MAX / 64) return ml_fail(c, ML_SHAPE_ERROR, "the lengths are too large");
    wish->worker_bytes = 2 * b->room * (int64_t)sizeof(ml_complex);
    const int64_t longest = longer(lengths);
    const roots_table *table = c->derived; /* NULL if numpy runs */
    if (!table || table->length != longest)
        b->roots = ml_reserve(wish, ml_ceil_div(longest, 2) * (int64_t)sizeof(ml_complex));
    return ML_OK;
}

/* n reals in pairs, padded with zeros. */
static void fill_line(const float *x, int64_t given, int64_t n, ml_complex *y) {
    for (int64_t k = 0; k < ml_ceil_div(n, 2); k++)
        y[k] = (ml_complex){2 * k < given ? (double)x[2 * k] : 0.0,
                            2 * k + 1 < given ? (double)x[2 * k + 1] : 0.0};
}

static void transform(const ml_call *c, const ml_complex *roots, int64_t slice, ml_complex *lines) {
    const fourier_blob *b = c->blob;
    const int64_t high = b->made[0], wide = b->made[1], columns = wide / 2 + 1;
    const int64_t longest = longer(b->made), rows = b->in[0] < high ? b->in[0] : high;
    const float *x = (const float *)ml_in(c, 0) + slice * b->in[0] * b->in[1];
    float *y = (float *)ml_out(c, 0) + slice * high * columns * 2;
    ml_complex *beside = lines + b->room;
    for (int64_t i = 0; i < rows; i++) {
        fill_line(x + i * b->in[1], b->in[1], wide, lines + i * columns);
        ml_fft_real(lines + i * columns, beside, wide, roots, longest / wide);
    }
    memset(lines + rows * columns, 0, (size_t)((high - rows) * columns) * sizeof *lines);
    ml_fft(lines, beside, high, columns, roots, longest / high);
    for (int64_t i = 0; i < high * columns; i++) {
        y[2 * i] = (float)lines[i].re;
        y[2 * i + 1] = (float)lines[i].im;
    }
}

static ml_status transform_some(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                void *roots) {
    for (int64_t slice = first; slice < end; slice++)
        transform(c, *(const ml_complex *const *)roots, slice, ml_worker_scratch(c, worker));
    return ML_OK;
}

static ml_status rfft2d(const ml_call *c) {
    const fourier_blob *b = c->blob;
    const roots_table *table = c->derived;
    const ml_complex *roots = table->roots;
    if (table->length != longer(b->made)) {
        ml_complex *made = ml_scratch(c, b->roots);
        ml_fft_roots(longer(b->made), made);
        roots = made;
    }
    return ml_parallel(c, b->slices, 1 + (1 << 11) / (b->room + 1), transform_some, &roots);
}

ML_KERNELS(fourier) = {
    {ML_OP(RFFT2D, 1, 1), .name = "rfft2d", .takes = "x lengths -> y",
     .blob_bytes = sizeof(fourier_blob), .prepare = prepare_rfft2d,
     ML_TYPED({"f32 s32 -> c64", derive_roots, NULL, rfft2d})},
    ML_KERNELS_END,
};
