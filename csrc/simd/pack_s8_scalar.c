/* pack_s8_scalar.c -- the layout that every level's matmul_s8 reads. */
#include <string.h>

#include "math/nibble.h"
#include "simd.h"

enum { GROUP = 4, NEAR = 256 /* inputs that all outputs of a panel get before the next ones */ };

/* `count` weights of one output, from element `at` on. */
static void read(const ml_pack_s8_args *p, int64_t at, int64_t count, int8_t *bytes) {
    const uint8_t *w = p->w, flip = p->type == ML_U8 ? 128 : 0;
    const int64_t step = p->input_step;
    if (p->type == ML_S4)
        for (int64_t j = 0; j < count; j++) bytes[j] = (int8_t)ml_nibble(w, at + j * step);
    else if (p->type == ML_S2)
        for (int64_t j = 0; j < count; j++) bytes[j] = (int8_t)ml_two_bits(w, at + j * step);
    else if (step == 1)
        for (int64_t j = 0; j < count; j++) bytes[j] = (int8_t)(w[at + j] ^ flip);
    else
        for (int64_t j = 0; j < count; j++) bytes[j] = (int8_t)(w[at + j * step] ^ flip);
}

/* The weights of one output, from input `first` of a piece on, as groups that stand GROUP * width bytes apart; their sum. */
static int32_t put(const int8_t *bytes, int64_t first, int64_t count, int64_t width, int8_t *to) {
    const int64_t whole = count / GROUP * GROUP, rest = count - whole;
    int32_t sum = 0;
    for (int64_t j = 0; j < count; j++) sum += bytes[j];
    for (int64_t j = 0; j < whole; j += GROUP, to += GROUP * width) memcpy(to, bytes + j, GROUP);
    if (rest == 0) return sum;
    /* The last four bytes of a piece end where it does; those of a piece of less than four begin where it begins. */
    memset(to, 0, GROUP);
    memcpy(to + (first + count >= GROUP ? GROUP - rest : 0), bytes + whole, (size_t)rest);
    return sum;
}

/* Some inputs of a piece, of all outputs of a panel. */
static void put_panel(const ml_pack_s8_args *p, int64_t panel, int64_t piece, int64_t first,
                      int8_t *packed) {
    const int64_t width = ml_width_s8(p->n, panel);
    const int64_t end = p->n - panel < width ? p->n : panel + width;
    const int64_t count = p->k - first < NEAR ? p->k - first : NEAR;
    int8_t bytes[NEAR];
    for (int64_t i = panel; i < end; i++, packed += GROUP) {
        const int64_t output = i % p->period * p->output_step + i / p->period * p->period_step;
        const int64_t input = (piece * p->k + first) * p->input_step;
        read(p, p->first + output + input, count, bytes);
        const int32_t sum = put(bytes, first, count, width, packed);
        p->sums[i] = (int32_t)((uint32_t)p->sums[i] + (uint32_t)sum);
    }
}

void ml_pack_s8_scalar(const ml_pack_s8_args *p) {
    const int64_t groups = (p->k + GROUP - 1) / GROUP;
    int8_t *packed = p->packed;
    for (int64_t i = 0; i < p->n; i++) p->sums[i] = 0;
    for (int64_t panel = 0; panel < p->n; panel += ML_PANEL_S8) {
        const int64_t width = ml_width_s8(p->n, panel), bytes = width * groups * GROUP;
        if (panel + width > p->n) memset(packed, 0, (size_t)(p->pieces * bytes));
        for (int64_t piece = 0; piece < p->pieces; piece++, packed += bytes)
            for (int64_t first = 0; first < p->k; first += NEAR)
                put_panel(p, panel, piece, first, packed + first * width);
    }
}
