/* pack_s8.c -- pack_s8 in the words of a level; every level's matmul_s8 reads the same layout.
 *
 * If a level has words for int32, bytes are summed by them, and four groups of four outputs are
 * stored at once. */
#include <string.h>

#include "math/nibble.h"
#include "simd/words.h"

#ifdef ADD_GROUPS
#include "simd/tiles/square.h"
#endif

enum {
    GROUP = 4,
    NEAR = 256, /* inputs packed for all outputs of a panel before the next ones */
    SIDE = 4 /* outputs at a time, and groups of a square */
};

/* Reads `count` weights of one output, from element `at` on: where they lie, or into `bytes`. */
static const int8_t *read(const ml_pack_s8_args *p, int64_t at, int64_t count, int8_t *bytes) {
    const uint8_t *w = p->w, flip = p->type == ML_U8 ? 128 : 0;
    const int64_t step = p->input_step;
    if (p->type == ML_S8 && step == 1) return (const int8_t *)w + at;
    if (p->type == ML_S4)
        for (int64_t j = 0; j < count; j++) bytes[j] = (int8_t)ml_nibble(w, at + j * step);
    else if (p->type == ML_S2)
        for (int64_t j = 0; j < count; j++) bytes[j] = (int8_t)ml_two_bits(w, at + j * step);
    else if (step == 1)
        for (int64_t j = 0; j < count; j++) bytes[j] = (int8_t)(w[at + j] ^ flip);
    else
        for (int64_t j = 0; j < count; j++) bytes[j] = (int8_t)(w[at + j * step] ^ flip);
    return bytes;
}

static int32_t sum_of(const int8_t *bytes, int64_t count) {
    int64_t j = 0;
    int32_t sum = 0;
#ifdef ADD_GROUPS
    VECTOR_S32 sums = SPLAT_S32(0);
    for (; j + 4 * LANES <= count; j += 4 * LANES)
        sums = ADD_GROUPS(sums, (const uint8_t *)bytes + j, true);
    sum = SUM_OF_S32(sums);
#endif
    for (; j < count; j++) sum += bytes[j];
    return sum;
}

/* Stores the first weights of SIDE outputs, as groups GROUP * width bytes apart; returns how many
 * per output. */
static int64_t put_squares(const int8_t *const lines[SIDE], int64_t count, int64_t width,
                           int8_t *to) {
    int64_t j = 0;
#ifdef ADD_GROUPS
    const void *a = lines[0], *b = lines[1], *c = lines[2], *d = lines[3];
    for (; j + SIDE * GROUP <= count; j += SIDE * GROUP)
        transpose_lines((const float *)a + j / GROUP, (const float *)b + j / GROUP,
                        (const float *)c + j / GROUP, (const float *)d + j / GROUP,
                        (float *)(void *)(to + j * width), width);
#endif
    return j;
}

/* Stores the weights of one output, from `from` on; they begin at input `first` of a piece. */
static void put(const int8_t *bytes, int64_t from, int64_t first, int64_t count, int64_t width,
                int8_t *to) {
    const int64_t whole = count / GROUP * GROUP, rest = count - whole;
    for (int64_t j = from; j < whole; j += GROUP) memcpy(to + j * width, bytes + j, GROUP);
    if (rest == 0) return;
    /* The last group ends with the piece; if the piece has less than four bytes, it begins with
     * it. */
    to += whole * width;
    memset(to, 0, GROUP);
    memcpy(to + (first + count >= GROUP ? GROUP - rest : 0), bytes + whole, (size_t)rest);
}

/* Packs some inputs of a piece, for all outputs of a panel. */
static void put_panel(const ml_pack_s8_args *p, int64_t panel, int64_t piece, int64_t first,
                      int8_t *packed) {
    const int64_t width = ml_width_s8(p->n, panel);
    const int64_t end = p->n - panel < width ? p->n : panel + width;
    const int64_t count = p->k - first < NEAR ? p->k - first : NEAR;
    const int64_t input = (piece * p->k + first) * p->input_step;
    int8_t bytes[SIDE][NEAR];
    const int8_t *lines[SIDE];
    for (int64_t i = panel; i < end; i += SIDE, packed += SIDE * GROUP) {
        const int64_t side = end - i < SIDE ? end - i : SIDE;
        for (int64_t s = 0; s < side; s++) {
            const int64_t output =
                (i + s) % p->period * p->output_step + (i + s) / p->period * p->period_step;
            lines[s] = read(p, p->first + output + input, count, bytes[s]);
            p->sums[i + s] =
                (int32_t)((uint32_t)p->sums[i + s] + (uint32_t)sum_of(lines[s], count));
        }
        const int64_t done = side == SIDE ? put_squares(lines, count, width, packed) : 0;
        for (int64_t s = 0; s < side; s++)
            put(lines[s], done, first, count, width, packed + s * GROUP);
    }
}

void ML_VARIANT(pack_s8)(const ml_pack_s8_args *p) {
    const int64_t groups = ml_ceil_div(p->k, GROUP);
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
