/* user_kernels.c -- kernels as users compile them, one for each part of the contract. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <kernel.h>
#include <signal.h>
#include <time.h>

/* Parallel: y = max(x, minimum), and by how many threads. -------------------------------------- */
#define RELU_FIELDS(X, S) X(S, f32, minimum)
ML_PARAMS(relu_params, RELU_FIELDS)

typedef struct relu_blob {
    int64_t count;
} relu_blob;

static ml_status prepare_relu(const ml_call *c, ml_wish *wish) {
    relu_blob *blob = c->blob;
    blob->count = ml_elements(&ml_input(c, 0)->shape);
    return ml_set_output(c, 0, &ml_input(c, 0)->shape);
}

static ml_status relu_block(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const relu_params *p = c->params;
    const float *x = ml_in(c, 0);
    float *y = ml_out(c, 0);
    for (int64_t i = first; i < end; i++) {
        if (x[i] == 13.0f)
            return ml_fail(c, ML_KERNEL_ERROR, "element %lld is 13, which brings bad luck",
                           (long long)i);
        y[i] = x[i] < p->minimum ? p->minimum : x[i];
    }
    return ML_OK;
}

static ml_status relu(const ml_call *c) {
    return ml_parallel(c, ((const relu_blob *)c->blob)->count, 64, relu_block, NULL);
}

const ml_kernel my_relu = {.abi = ML_KERNEL_ABI,
                           .name = "my_relu",
                           ML_PARAMS_OF(relu_params),
                           .blob_bytes = sizeof(relu_blob),
                           .prepare = prepare_relu,
                           ML_TYPED({"f32 -> f32", NULL, NULL, relu})};

/* Derived: bytes through a table made once per graph; the same computed in eval, by quantization
 * asked for there. */
static int8_t doubled(const ml_call *c, int32_t x) {
    const ml_quantization *in = ml_input_quantization(c, 0), *out = ml_output_quantization(c, 0);
    double real = in->scales[0] * (x - (double)in->zero_points[0]);
    double y = 2 * real / out->scales[0] + (double)out->zero_points[0];
    return (int8_t)(y < -128 ? -128 : y > 127 ? 127 : y < 0 ? y - 0.5 : y + 0.5);
}

static int64_t derive_table(const ml_call *c, void *to) {
    if (!ml_input_quantization(c, 0) || !ml_output_quantization(c, 0)) {
        ml_fail(c, ML_UNSUPPORTED, "input and output must be quantized");
        return -1;
    }
    for (int32_t x = -128; to && x < 128; x++) ((int8_t *)to)[x + 128] = doubled(c, x);
    return 256;
}

static ml_status prepare_same(const ml_call *c, ml_wish *wish) {
    return ml_set_output(c, 0, &ml_input(c, 0)->shape);
}

static ml_status double_by_table(const ml_call *c) {
    const int8_t *x = ml_in(c, 0), *table = c->derived;
    int8_t *y = ml_out(c, 0);
    for (int64_t i = 0; i < ml_out_tensor(c, 0)->bytes; i++) y[i] = table[x[i] + 128];
    return ML_OK;
}

static ml_status double_at_once(const ml_call *c) {
    const int8_t *x = ml_in(c, 0);
    int8_t *y = ml_out(c, 0);
    for (int64_t i = 0; i < ml_out_tensor(c, 0)->bytes; i++) y[i] = doubled(c, x[i]);
    return ML_OK;
}

const ml_kernel my_double = {.abi = ML_KERNEL_ABI,
                             .name = "my_double",
                             .prepare = prepare_same,
                             ML_TYPED({"s8 -> s8", derive_table, NULL, double_by_table})};
const ml_kernel my_double_at_once = {.abi = ML_KERNEL_ABI,
                                     .name = "my_double_at_once",
                                     .prepare = prepare_same,
                                     ML_TYPED({"s8 -> s8", NULL, NULL, double_at_once})};

/* Slow: blocks of 5 ms, each of which puts a 1 out; the first asks for an interruption. -------- */
static ml_status slow_block(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    if (first == 0) raise(SIGINT);
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    for (float *y = ml_out(c, 0); first < end; first++) y[first] = 1;
    return ML_OK;
}

static ml_status slow(const ml_call *c) {
    memset(ml_out(c, 0), 0, (size_t)ml_out_tensor(c, 0)->bytes);
    return ml_parallel(c, ml_elements(&ml_out_tensor(c, 0)->shape), 1, slow_block, NULL);
}

const ml_kernel my_slow = {.abi = ML_KERNEL_ABI,
                           .name = "my_slow",
                           .prepare = prepare_same,
                           ML_TYPED({"f32 -> f32", NULL, NULL, slow})};

/* Wrong: writes a byte after its scratch, or after its output. ------------------------------- */
#define OVERRUN_FIELDS(X, S) X(S, i32, in_scratch)
ML_PARAMS(overrun_params, OVERRUN_FIELDS)
enum { OVERRUN_SCRATCH = 64 };

static ml_status prepare_overrun(const ml_call *c, ml_wish *wish) {
    ml_reserve(wish, OVERRUN_SCRATCH);
    return ml_set_output(c, 0, &ml_input(c, 0)->shape);
}

static ml_status overrun(const ml_call *c) {
    const ml_tensor *y = ml_out_tensor(c, 0);
    memset(ml_out(c, 0), 0, (size_t)y->bytes);
    if (((const overrun_params *)c->params)->in_scratch)
        *((char *)ml_scratch(c, 0) + OVERRUN_SCRATCH) = 1;
    else *((char *)ml_out(c, 0) + y->bytes) = 1;
    return ML_OK;
}

const ml_kernel my_overrun = {.abi = ML_KERNEL_ABI,
                              .name = "my_overrun",
                              ML_PARAMS_OF(overrun_params),
                              .prepare = prepare_overrun,
                              ML_TYPED({"f32 -> f32", NULL, NULL, overrun})};

/* Packed: y = x w, w transposed once per Model, or in each run; sums of rows in scratch, of workers
 * in theirs. */
typedef struct product_blob {
    int64_t rows, depth, columns;
    int64_t sums; /* in scratch */
} product_blob;

static ml_status prepare_product(const ml_call *c, ml_wish *wish) {
    const ml_shape *x = &ml_input(c, 0)->shape, *w = &ml_input(c, 1)->shape;
    char a[96], b[96];
    if (x->rank != 2 || w->rank != 2 || x->dims[1] != w->dims[0])
        return ml_fail(c, ML_SHAPE_ERROR, "%s times %s, both %s", ml_shape_text(x, a),
                       ml_shape_text(w, b), ml_type_name(ml_input(c, 0)->type));
    product_blob *blob = c->blob;
    blob->rows = x->dims[0];
    blob->depth = x->dims[1];
    blob->columns = w->dims[1];
    blob->sums = ml_reserve(wish, ml_bytes_of(blob->rows, ML_F32));
    wish->worker_bytes = ml_bytes_of(blob->depth, ML_F32);
    return ml_set_output(c, 0, &(ml_shape){.rank = 2, .dims = {x->dims[0], w->dims[1]}});
}

static int64_t pack_transposed(const ml_call *c, void *to) {
    const ml_shape *w = &ml_input(c, 1)->shape;
    const float *from = ml_value(c, 1);
    float *packed = to;
    for (int64_t k = 0; to && k < w->dims[0]; k++)
        for (int64_t n = 0; n < w->dims[1]; n++)
            packed[n * w->dims[0] + k] = from[k * w->dims[1] + n];
    return ml_bytes_of(ml_elements(w), ML_F32);
}

static ml_status product_block(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                               void *args) {
    const product_blob *blob = c->blob;
    const float *x = ml_in(c, 0), *w = c->packed;
    float *y = ml_out(c, 0), *sums = ml_scratch(c, blob->sums), *row = ml_worker_scratch(c, worker);
    for (int64_t i = first; i < end; i++) {
        memcpy(row, x + i * blob->depth, (size_t)blob->depth * sizeof *row);
        sums[i] = 0;
        for (int64_t n = 0; n < blob->columns; n++) {
            float sum = 0;
            for (int64_t k = 0; k < blob->depth; k++) sum += row[k] * w[n * blob->depth + k];
            y[i * blob->columns + n] = sum;
            sums[i] += sum;
        }
        for (int64_t n = 0; n < blob->columns; n++) y[i * blob->columns + n] -= sums[i];
    }
    return ML_OK;
}

static ml_status product(const ml_call *c) {
    return ml_parallel(c, ((const product_blob *)c->blob)->rows, 1, product_block, NULL);
}

const ml_kernel my_product = {.abi = ML_KERNEL_ABI,
                              .name = "my_product",
                              .blob_bytes = sizeof(product_blob),
                              .packs = 1,
                              .prepare = prepare_product,
                              ML_TYPED({"f32 f32 -> f32", NULL, pack_transposed, product})};

/* The bytes of input 1, which may be absent. --------------------------------------------------- */
static ml_status tell_bytes(const ml_call *c) {
    *(float *)ml_out(c, 0) = (float)ml_in_bytes(c, 1);
    return ML_OK;
}

const ml_kernel my_in_bytes = {.abi = ML_KERNEL_ABI,
                               .name = "my_in_bytes",
                               .prepare = prepare_same,
                               ML_TYPED({"f32 f32? -> f32", NULL, NULL, tell_bytes})};

/* Packs an input that it does not have. -------------------------------------------------------- */
static int64_t pack_nothing(const ml_call *c, void *to) { return 4; }

static ml_status same_unpacked(const ml_call *c) {
    if (c->packed) return ml_fail(c, ML_KERNEL_ERROR, "another input was packed");
    memcpy(ml_out(c, 0), ml_in(c, 0), (size_t)ml_input(c, 0)->bytes);
    return ML_OK;
}

const ml_kernel my_unpacked = {.abi = ML_KERNEL_ABI,
                               .name = "my_unpacked",
                               .packs = 1,
                               .prepare = prepare_same,
                               ML_TYPED({"f32 -> f32", NULL, pack_nothing, same_unpacked})};

/* Open whatever is known. -------------------------------------------------------------------- */
static ml_status prepare_never(const ml_call *c, ml_wish *wish) { return ml_open(wish, 0); }

const ml_kernel my_open = {.abi = ML_KERNEL_ABI,
                           .name = "my_open",
                           .prepare = prepare_never,
                           ML_TYPED({"f32 -> f32", NULL, NULL, same_unpacked})};

/* Open: the values above 0; prepare counts them once they are there. --------------------------- */
static ml_status prepare_positive(const ml_call *c, ml_wish *wish) {
    const float *x = ml_value(c, 0);
    if (!x) return ml_open(wish, 0);
    int32_t count = 0;
    for (int64_t i = 0; i < ml_elements(&ml_input(c, 0)->shape); i++) count += x[i] > 0;
    return ml_set_output(c, 0, &(ml_shape){.rank = 1, .dims = {count}});
}

static ml_status positive(const ml_call *c) {
    const float *x = ml_in(c, 0);
    float *y = ml_out(c, 0);
    for (int64_t i = 0; i < ml_elements(&ml_in_tensor(c, 0)->shape); i++)
        if (x[i] > 0) *y++ = x[i];
    return ML_OK;
}

const ml_kernel my_positive = {.abi = ML_KERNEL_ABI,
                               .name = "my_positive",
                               .prepare = prepare_positive,
                               ML_TYPED({"f32 -> f32", NULL, NULL, positive})};

/* Open to eval itself: a counter counts down to what two outputs are shaped by. ---------------- */
static ml_status prepare_split(const ml_call *c, ml_wish *wish) { return ml_open_all(wish); }

static ml_status split(const ml_call *c) {
    const int32_t at = *(const int32_t *)ml_in(c, 1), size = ml_in_tensor(c, 0)->shape.dims[0];
    if (at < 0 || at > size)
        return ml_fail(c, ML_KERNEL_ERROR, "split at %d of %d elements", at, size);
    ml_status status = ml_set_output(c, 0, &(ml_shape){.rank = 1, .dims = {at}});
    if (status == ML_OK) status = ml_set_output(c, 1, &(ml_shape){.rank = 1, .dims = {size - at}});
    if (status == ML_OK) status = ml_settle(c);
    if (status != ML_OK) return status;
    const float *x = ml_in(c, 0);
    memcpy(ml_out(c, 0), x, (size_t)at * sizeof *x);
    memcpy(ml_out(c, 1), x + at, (size_t)(size - at) * sizeof *x);
    return ML_OK;
}

const ml_kernel my_split = {.abi = ML_KERNEL_ABI,
                            .flags = ML_KERNEL_SETS_SHAPES,
                            .name = "my_split",
                            .prepare = prepare_split,
                            ML_TYPED({"f32 s32 -> f32 f32", NULL, NULL, split})};

/* Memory: how often this node has run. --------------------------------------------------------- */
static ml_status prepare_count(const ml_call *c, ml_wish *wish) {
    return ml_set_output(c, 0, &(ml_shape){.rank = 0});
}

static ml_status count(const ml_call *c) {
    int64_t *runs = ml_memory(c);
    *(int32_t *)ml_out(c, 0) = (int32_t)++*runs;
    return ML_OK;
}

const ml_kernel my_count = {.abi = ML_KERNEL_ABI,
                            .name = "my_count",
                            .memory_bytes = sizeof(int64_t),
                            .prepare = prepare_count,
                            ML_TYPED({"any -> s32", NULL, NULL, count})};

/* Strings: each one backwards. ----------------------------------------------------------------- */
static ml_status backwards(const ml_call *c) {
    int64_t bytes = ml_in_bytes(c, 0);
    ml_status status = ml_set_bytes(c, 0, bytes);
    if (status != ML_OK) return status;
    const int32_t *x = ml_in(c, 0);
    memcpy(ml_out(c, 0), x, (size_t)bytes);
    char *y = ml_out(c, 0);
    for (int32_t i = 0; i < x[0]; i++)
        for (int32_t a = x[i + 1], b = x[i + 2]; a < x[i + 2]; a++) y[a] = ((const char *)x)[--b];
    return ML_OK;
}

const ml_kernel my_backwards = {.abi = ML_KERNEL_ABI,
                                .name = "my_backwards",
                                .prepare = prepare_same,
                                ML_TYPED({"string -> string", NULL, NULL, backwards})};

/* Parameters of every kind, put out one by one. ------------------------------------------------ */
#define ALL_FIELDS(X, S) X(S, i32, a) X(S, f64, b) X(S, array, c) X(S, f32, d) X(S, i64, e)
ML_PARAMS(all_params, ALL_FIELDS)

static ml_status prepare_all(const ml_call *c, ml_wish *wish) {
    int32_t size = 4 + (int32_t)((const all_params *)c->params)->c.bytes;
    return ml_set_output(c, 0, &(ml_shape){.rank = 1, .dims = {size}});
}

static ml_status all(const ml_call *c) {
    const all_params *p = c->params;
    double *y = ml_out(c, 0);
    const uint8_t *bytes = p->c.data;
    *y++ = p->a;
    *y++ = p->b;
    *y++ = p->d;
    *y++ = (double)p->e;
    for (int64_t i = 0; i < p->c.bytes; i++) *y++ = bytes[i];
    return ML_OK;
}

const ml_kernel my_all = {.abi = ML_KERNEL_ABI,
                          .name = "my_all",
                          ML_PARAMS_OF(all_params),
                          .prepare = prepare_all,
                          ML_TYPED({"any -> f64", NULL, NULL, all})};

/* Rows that are refused. ----------------------------------------------------------------------- */
const ml_kernel of_another_abi = {.abi = ML_KERNEL_ABI + 1,
                                  .name = "of_another_abi",
                                  .prepare = prepare_same,
                                  ML_TYPED({"f32 -> f32", NULL, NULL, relu})};
const ml_kernel without_table = {
    .abi = ML_KERNEL_ABI, .name = "without_table", .prepare = prepare_same};
const ml_kernel of_no_memory = {.abi = ML_KERNEL_ABI,
                                .name = "of_no_memory",
                                .memory_bytes = -1,
                                .prepare = prepare_same,
                                ML_TYPED({"f32 -> f32", NULL, NULL, relu})};
static const ml_field misplaced[] = {{.name = "a", .kind = ML_LETTER_i32, .offset = 4}};
const ml_kernel of_misplaced_fields = {.abi = ML_KERNEL_ABI,
                                       .name = "of_misplaced_fields",
                                       .fields = misplaced,
                                       .n_fields = 1,
                                       .params_bytes = 8,
                                       .prepare = prepare_same,
                                       ML_TYPED({"f32 -> f32", NULL, NULL, relu})};

/* A refused row that is complete but for the words. */
#define REFUSED(symbol, ...)                                                        \
    const ml_kernel symbol = {.abi = ML_KERNEL_ABI, .name = #symbol, .prepare = prepare_same, \
                              ML_TYPED({"f32 -> f32", NULL, NULL, relu}), __VA_ARGS__}
static const ml_field unnamed[] = {{.kind = ML_LETTER_i32}};
static const ml_field of_no_kind[] = {{.name = "a", .kind = 'z'}};
static const ml_field wide[] = {{.name = "a", .kind = 'q'}};
const ml_kernel without_prepare = {
    .abi = ML_KERNEL_ABI, .name = "without_prepare", ML_TYPED({"f32 -> f32", NULL, NULL, relu})};
const ml_kernel without_name = {
    .abi = ML_KERNEL_ABI, .prepare = prepare_same, ML_TYPED({"f32 -> f32", NULL, NULL, relu})};
REFUSED(of_no_params, .params_bytes = -1);
REFUSED(of_no_blob, .blob_bytes = -1);
REFUSED(of_no_packs, .packs = -1);
REFUSED(of_no_effects, .writes = ML_INPUT(0));
REFUSED(of_less_fields, .n_fields = -1);
REFUSED(without_fields, .n_fields = 1);
REFUSED(of_unnamed_fields, .n_fields = 1, .fields = unnamed, .params_bytes = 8);
REFUSED(of_fields_of_no_kind, .n_fields = 1, .fields = of_no_kind, .params_bytes = 16);
REFUSED(of_wide_fields, .n_fields = 1, .fields = wide, .params_bytes = 7);

/* Types by their size, an unknown type, a list, nothing about outputs ------------------------- */
static ml_status leave(const ml_call *c) { return ML_OK; }
const ml_kernel my_groups = {
    .abi = ML_KERNEL_ABI,
    .name = "my_groups",
    .prepare = prepare_same,
    ML_TYPED({"f99 -> f32", NULL, NULL, leave}, {"x4 x16? -> x4|f64", NULL, NULL, leave},
             {"x2", NULL, NULL, leave}, {"T T -> T:  s8  b8 ", NULL, NULL, leave})};
const ml_kernel my_any = {.abi = ML_KERNEL_ABI,
                          .name = "my_any",
                          .prepare = prepare_same,
                          ML_TYPED({"*", NULL, NULL, leave})};

/* Gives output `output` a shape of `rank` and the dimensions in `dims`. */
#define SHAPE_FIELDS(X, S) X(S, i32, output) X(S, i32, rank) X(S, array, dims)
ML_PARAMS(shape_params, SHAPE_FIELDS)
static ml_status give_shape(const ml_call *c) {
    const shape_params *p = c->params;
    ml_shape shape = {.rank = p->rank};
    memcpy(shape.dims, p->dims.data, (size_t)p->dims.bytes);
    return ml_set_output(c, p->output, &shape);
}
static ml_status prepare_shape(const ml_call *c, ml_wish *wish) { return give_shape(c); }
const ml_kernel my_shape = {.abi = ML_KERNEL_ABI,
                            .name = "my_shape",
                            ML_PARAMS_OF(shape_params),
                            .prepare = prepare_shape,
                            ML_TYPED({"f32 -> f32", NULL, NULL, leave})};

/* Fails without a word in derive. */
static int64_t derive_nothing(const ml_call *c, void *to) { return -1; }
const ml_kernel my_silence = {.abi = ML_KERNEL_ABI,
                              .name = "my_silence",
                              .prepare = prepare_same,
                              ML_TYPED({"f32 f32? -> f32", derive_nothing, NULL, leave})};

/* The same in eval: of open outputs, or of one that prepare has given the shape of input 0. */
static ml_status give_late(const ml_call *c) {
    const ml_status status = give_shape(c);
    return status == ML_OK ? ml_settle(c) : status;
}
const ml_kernel my_late_shape = {.abi = ML_KERNEL_ABI,
                                 .flags = ML_KERNEL_SETS_SHAPES,
                                 .name = "my_late_shape",
                                 ML_PARAMS_OF(shape_params),
                                 .prepare = prepare_split,
                                 ML_TYPED({"f32 -> f32", NULL, NULL, give_late})};
const ml_kernel my_other_shape = {.abi = ML_KERNEL_ABI,
                                  .name = "my_other_shape",
                                  ML_PARAMS_OF(shape_params),
                                  .prepare = prepare_same,
                                  ML_TYPED({"f32 -> f32", NULL, NULL, give_late})};

/* Gives output `output` a number of bytes. */
#define BYTES_FIELDS(X, S) X(S, i64, bytes) X(S, i32, output)
ML_PARAMS(bytes_params, BYTES_FIELDS)
static ml_status give_bytes(const ml_call *c) {
    const bytes_params *p = c->params;
    return ml_set_bytes(c, p->output, p->bytes);
}
const ml_kernel my_bytes = {.abi = ML_KERNEL_ABI,
                            .name = "my_bytes",
                            ML_PARAMS_OF(bytes_params),
                            .prepare = prepare_same,
                            ML_TYPED({"any -> any", NULL, NULL, give_bytes})};

/* Two strings, of which the first lies beyond the end. */
static ml_status give_strings(const ml_call *c) {
    const int32_t words[] = {2, 99, 16, 16};
    ml_status status = ml_set_bytes(c, 0, sizeof words);
    if (status == ML_OK) memcpy(ml_out(c, 0), words, sizeof words);
    return status;
}
const ml_kernel my_wrong_strings = {.abi = ML_KERNEL_ABI,
                                    .name = "my_wrong_strings",
                                    .prepare = prepare_same,
                                    ML_TYPED({"s64 -> string", NULL, NULL, give_strings})};

/* Adds 1 in blocks of so many elements, also of a constant that is folded. */
#define GRAIN_FIELDS(X, S) X(S, i64, grain) X(S, i32, fails)
ML_PARAMS(grain_params, GRAIN_FIELDS)
static ml_status add_one(const ml_call *c, int64_t first, int64_t end, int32_t worker, void *args) {
    const float *x = ml_in(c, 0);
    for (int64_t i = first; i < end; i++) ((float *)ml_out(c, 0))[i] = x[i] + 1;
    return ((const grain_params *)c->params)->fails && first > 0
               ? ml_fail(c, ML_KERNEL_ERROR, "block at %lld", (long long)first)
               : ML_OK;
}
static ml_status add_ones(const ml_call *c) {
    return ml_parallel(c, ml_elements(&ml_in_tensor(c, 0)->shape),
                       ((const grain_params *)c->params)->grain, add_one, NULL);
}
const ml_kernel my_grain = {.abi = ML_KERNEL_ABI,
                            .name = "my_grain",
                            ML_PARAMS_OF(grain_params),
                            .prepare = prepare_same,
                            ML_TYPED({"f32 -> f32", NULL, NULL, add_ones})};
