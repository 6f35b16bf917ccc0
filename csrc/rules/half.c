/* half.c -- computes operators of 16-bit floats in float32, a stretch at a time. */
#include "rules/half.h"

enum { STRETCH = 1024 }; /* elements: two of them as floats stay in the first-level cache */

void ml_map_f16(const ml_call *c, int64_t first, int64_t end, const ml_map_f32_args *map) {
    const ml_simd *simd = c->env->simd;
    const uint16_t *x = ml_in(c, 0);
    uint16_t *y = ml_out(c, 0);
    float wide[STRETCH];
    ml_map_f32_args args = *map;
    args.x = args.y = wide;
    for (int64_t at = first; at < end; at += args.n) {
        args.n = ml_min_s64(end - at, STRETCH);
        simd->widen_f16(x + at, args.n, wide);
        simd->map_f32(&args);
        simd->narrow_f16(wide, args.n, y + at);
    }
}

static ml_status widen_block(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args) {
    c->env->simd->widen_f16((const uint16_t *)ml_in(c, 0) + first, end - first,
                            (float *)ml_out(c, 0) + first);
    return ML_OK;
}

ml_status ml_widen_f16(const ml_call *c) {
    return ml_in_blocks(c, ((const ml_elementwise *)c->blob)->count, 1, widen_block, NULL);
}

static ml_status narrow_block(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                              void *args) {
    c->env->simd->narrow_f16((const float *)ml_in(c, 0) + first, end - first,
                             (uint16_t *)ml_out(c, 0) + first);
    return ML_OK;
}

ml_status ml_narrow_f16(const ml_call *c) {
    return ml_in_blocks(c, ((const ml_elementwise *)c->blob)->count, 1, narrow_block, NULL);
}

/* Stretches of both operands; a scalar is widened only once. */
typedef struct operands {
    float a[STRETCH];
    float b[STRETCH];
} operands;

static int64_t widen(const ml_simd *simd, const uint16_t *a, const uint16_t *b, int64_t at,
                     int64_t n, int32_t kind, operands *to) {
    const int64_t count = ml_min_s64(n - at, STRETCH);
    if (kind != ML_ROW_SCALAR_A) simd->widen_f16(a + at, count, to->a);
    else if (at == 0) simd->widen_f16(a, 1, to->a);
    if (kind != ML_ROW_SCALAR_B) simd->widen_f16(b + at, count, to->b);
    else if (at == 0) simd->widen_f16(b, 1, to->b);
    return count;
}

void ml_zip_f16(const ml_simd *simd, const uint16_t *a, const uint16_t *b, uint16_t *y,
                const ml_zip_f32_args *zip) {
    operands wide;
    ml_zip_f32_args args = *zip;
    args.a = wide.a;
    args.b = wide.b;
    args.y = args.kind == ML_ZIP_SCALAR_A ? wide.b : wide.a;
    args.rows = 1;
    for (int64_t at = 0; at < zip->n; at += args.n) {
        args.n = widen(simd, a, b, at, zip->n, args.kind, &wide);
        simd->zip_f32(&args);
        simd->narrow_f16(args.y, args.n, y + at);
    }
}

void ml_row_by_f32(const ml_call *c, const uint16_t *a, const uint16_t *b, void *y, int64_t n,
                   int32_t kind, const ml_row_rule *rule) {
    operands wide;
    for (int64_t at = 0, count; at < n; at += count) {
        count = widen(c->env->simd, a, b, at, n, kind, &wide);
        rule->row(c, wide.a, wide.b, (char *)y + at * rule->y_bytes, count, kind);
    }
}
