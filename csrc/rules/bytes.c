/* bytes.c -- packs weights of bytes, and converts the rows that are multiplied with them to
 * bytes. */
#include "rules/bytes.h"

#include "math/float_math.h"
#include "math/steps.h"

int64_t ml_weights_s8_bytes(int64_t n, int64_t pieces, int64_t k) {
    return ml_round_up(ml_packed_s8(n, pieces, k), 64) +
           ml_round_up((n + 2) * (int64_t)sizeof(int32_t), 64);
}

ml_weights_s8 ml_weights_s8_at(const void *place, int64_t n, int64_t pieces, int64_t k) {
    const void *after = (const char *)place + ml_round_up(ml_packed_s8(n, pieces, k), 64);
    const int32_t *sums = after;
    return (ml_weights_s8){place, sums, n, pieces, k, sums[n], sums[n + 1]};
}

void ml_pack_s8(const ml_simd *simd, ml_pack_s8_args args, void *place) {
    const int64_t bytes = ml_packed_s8(args.n, args.pieces, args.k);
    args.packed = place;
    args.sums = (int32_t *)(void *)((char *)place + ml_round_up(bytes, 64));
    simd->pack_s8(&args);
    args.sums[args.n] = simd->matmul_s8_narrow && !memchr(place, INT8_MIN, (size_t)bytes);
    args.sums[args.n + 1] = args.apart;
}

int8_t ml_weight_s8(const ml_simd *simd, const ml_weights_s8 *w, int64_t output, int64_t input) {
    const int64_t piece = input / w->k, i = input % w->k, groups = ml_ceil_div(w->k, 4);
    const int64_t panel = output / ML_PANEL_S8 * ML_PANEL_S8, width = ml_width_s8(w->n, panel);
    const bool ends = w->k >= 4 && i / 4 == w->k / 4; /* the last four of a piece */
    const int64_t byte = ends ? i - w->k + 4 : i % 4;
    const int64_t group = i / 4, of_piece = (panel * w->pieces + piece * width) * groups * 4;
    if (simd->matmul_s8_pairs && !w->apart && (group | 1) < groups)
        return w->packed[of_piece + group / 2 * 8 * width + (output - panel) * 8 + group % 2 * 4 +
                         byte];
    return w->packed[of_piece + group * 4 * width + (output - panel) * 4 + byte];
}

void ml_multiply_bytes(const ml_simd *simd, const uint8_t *x, int64_t count,
                       const ml_weights_s8 *weights, const int32_t *factors, int32_t *y) {
    const ml_matmul_s8_args product = {
        .a = x,
        .rows = count,
        .a_stride = weights->k,
        .pieces = 1,
        .k = weights->k,
        .n = weights->n,
        .packed = weights->packed,
        .factors = factors,
        .columns = weights->sums,
        .y = y,
        .y_stride = weights->n,
        .sums = weights->sums,
        .narrow = weights->narrow,
        .apart = weights->apart,
    };
    simd->matmul_s8(&product);
}

int64_t ml_dot_words(const ml_simd *simd, const uint8_t *row, int64_t piece_stride, int64_t plane,
                     const ml_weights_s8 *weights, int64_t output) {
    int64_t sum = 0;
    for (int64_t i = 0; i < weights->k * weights->pieces; i++) {
        const uint8_t *x = row + i / weights->k * piece_stride + i % weights->k;
        sum += (x[0] * 256 + x[plane] - 32768) * ml_weight_s8(simd, weights, output, i);
    }
    return sum;
}

void ml_multiply_words(const ml_simd *simd, const uint8_t *x, int64_t plane, int64_t count,
                       const ml_weights_s8 *weights, int32_t *planes, int64_t *y) {
    const int64_t n = weights->n, k = weights->k;
    ml_multiply_bytes(simd, x, count, weights, NULL, planes);
    ml_multiply_bytes(simd, x + plane, count, weights, NULL, planes + count * n);
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = 0; i < n; i++) {
            const int64_t at = r * n + i;
            y[at] = k > ML_MOST_NARROW
                        ? ml_dot_words(simd, x + r * k, 0, plane, weights, i)
                        : ml_join_planes(planes[at], planes[count * n + at], weights->sums[i]);
        }
}

void ml_to_bytes(int32_t type, const void *x, int64_t count, int64_t plane, uint8_t *restrict to) {
    const uint8_t *bytes = x;
    const uint16_t *words = x;
    if (type == ML_S16) {
        for (int64_t i = 0; i < count; i++) to[i] = (uint8_t)((words[i] >> 8) ^ 128);
        for (int64_t i = 0; i < count; i++) to[plane + i] = (uint8_t)words[i];
    } else if (type == ML_S8) {
        for (int64_t i = 0; i < count; i++) to[i] = bytes[i] ^ 128;
    } else if (count > 0) {
        memcpy(to, bytes, (size_t)count);
    }
}

float ml_quantize_bytes(const ml_simd *simd, const float *x, int64_t k, bool asymmetric,
                        uint8_t *row, int32_t *factor) {
    float least, most;
    simd->range_f32(x, k, &least, &most);
    const ml_steps steps = ml_steps_of(least, most, asymmetric);
    const ml_quantize_u8_args args = {x, k, steps.inverse, steps.zero, steps.low, row};
    simd->quantize_u8(&args);
    *factor = -128 - steps.zero;
    return steps.scale;
}

int64_t ml_slices_bytes(int64_t count, int64_t k) {
    return ml_round_up(count * k, 64) + 2 * ml_round_up(count * (int64_t)sizeof(int32_t), 64);
}

ml_slices ml_slices_at(void *place, int64_t count, int64_t k) {
    ml_slices s = {.bytes = place};
    char *behind = (char *)place + ml_round_up(count * k, 64);
    s.factors = (int32_t *)(void *)behind;
    s.scales = (float *)(void *)(behind + ml_round_up(count * (int64_t)sizeof(int32_t), 64));
    return s;
}

typedef struct slices_args {
    const ml_slices *to;
    const float *x;
    int64_t k;
    bool asymmetric;
} slices_args;

static ml_status quantize_body(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                               void *args) {
    const slices_args *a = args;
    for (int64_t i = first; i < end; i++)
        a->to->scales[i] = ml_quantize_bytes(c->env->simd, a->x + i * a->k, a->k, a->asymmetric,
                                             a->to->bytes + i * a->k, &a->to->factors[i]);
    return ML_OK;
}

/* A slice is cut into pieces: first the range of each is found, then all are quantized by the
 * common range. */
enum { PIECE = 16 << 10, PIECES = 64 };

typedef struct pieces {
    const float *x;
    uint8_t *to;
    int64_t k;
    int64_t piece; /* elements */
    ml_steps steps;
    float least[PIECES];
    float most[PIECES];
} pieces;

static ml_status find_ranges(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    pieces *p = args;
    for (int64_t i = first, at = first * p->piece; i < end; i++, at += p->piece)
        c->env->simd->range_f32(p->x + at, ml_min_s64(p->piece, p->k - at), &p->least[i],
                                &p->most[i]);
    return ML_OK;
}

static ml_status quantize_pieces(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                                 void *args) {
    const pieces *p = args;
    const ml_steps steps = p->steps;
    const int64_t at = first * p->piece, n = ml_min_s64(end * p->piece, p->k) - at;
    const ml_quantize_u8_args quantize = {p->x + at,  n,         steps.inverse,
                                          steps.zero, steps.low, p->to + at};
    c->env->simd->quantize_u8(&quantize);
    return ML_OK;
}

static ml_status quantize_long_slice(const ml_call *c, const slices_args *a) {
    pieces p = {.x = a->x, .to = a->to->bytes, .k = a->k};
    p.piece = ml_max_s64(PIECE, ml_round_up(ml_ceil_div(a->k, PIECES), 64));
    const int64_t count = ml_ceil_div(a->k, p.piece);
    ml_status status = ml_parallel(c, count, 1, find_ranges, &p);
    float least = p.least[0], most = p.most[0];
    for (int64_t i = 1; i < count; i++) {
        least = ml_min_f32(least, p.least[i]);
        most = ml_max_f32(most, p.most[i]);
    }
    p.steps = ml_steps_of(least, most, a->asymmetric);
    a->to->factors[0] = -128 - p.steps.zero;
    a->to->scales[0] = p.steps.scale;
    return status == ML_OK ? ml_parallel(c, count, 1, quantize_pieces, &p) : status;
}

ml_status ml_quantize_slices(const ml_call *c, const float *x, int64_t count, int64_t k,
                             bool asymmetric, const ml_slices *to) {
    slices_args args = {to, x, k, asymmetric};
    if (count == 1 && k > 2 * PIECE) return quantize_long_slice(c, &args);
    if (count == 1) return quantize_body(c, 0, 1, 0, &args);
    return ml_parallel(c, count, 1 + (1 << 16) / (k > 0 ? k : 1), quantize_body, &args);
}
