/* verify.c -- compares the byte products of two levels. */
#include <string.h>

#include "simd/simd.h"

/* Sizes with incomplete parts: two tiles of rows, a whole panel and a part of one, pieces that end
 * within a group. */
enum {
    ROWS = 19,
    OUTPUTS = 70,
    PIECES = 2,
    PIECE = 43,
    INPUTS = PIECES * PIECE,
    SUMS = ROWS * OUTPUTS,
    PACKED = 80 * PIECES * 44
};

static void fill(uint8_t *bytes, int64_t count) {
    uint32_t state = 1;
    for (int64_t i = 0; i < count; i++) {
        state = state * UINT32_C(1664525) + UINT32_C(1013904223);
        bytes[i] = (uint8_t)(state >> 24);
    }
}

static bool is_same(const ml_simd *one, const ml_simd *other, ml_matmul_s8_args *p,
                    ml_requantize_args *to) {
    int32_t sums[2][SUMS];
    int8_t bytes[2][SUMS];
    const ml_simd *const both[] = {one, other};
    for (int i = 0; i < 2; i++) {
        p->y = sums[i];
        to->y = bytes[i];
        both[i]->matmul_s8(p);
        both[i]->product_s8(both[i], p, to, 1, 0);
    }
    return memcmp(sums[0], sums[1], sizeof sums[0]) == 0 &&
           memcmp(bytes[0], bytes[1], sizeof bytes[0]) == 0;
}

bool ml_simd_agrees(const ml_simd *one, const ml_simd *other) {
    uint8_t a[ROWS * INPUTS];
    int8_t packed[PACKED];
    int32_t bias[OUTPUTS], factors[ROWS], columns[OUTPUTS], mantissas[OUTPUTS], shifts[OUTPUTS];
    fill(a, sizeof a);
    fill((uint8_t *)packed, sizeof packed);
    for (int32_t i = 0; i < OUTPUTS; i++) {
        bias[i] = 1001 * (i - 35);
        columns[i] = 7 * i - 200;
        mantissas[i] = (1 << 30) + i * 9999991;
        shifts[i] = -9 - i % 3;
    }
    for (int32_t i = 0; i < ROWS; i++) factors[i] = 3 * i - 20;
    ml_matmul_s8_args p = {.a = a, .rows = ROWS, .a_stride = INPUTS, .pieces = PIECES};
    p.piece_stride = p.k = PIECE;
    p.n = p.y_stride = OUTPUTS;
    p.flip = 128;
    p.packed = packed;
    p.bias = bias;
    p.factors = factors;
    p.columns = columns;
    ml_requantize_args to = {.mantissas = mantissas, .shifts = shifts, .y_stride = OUTPUTS};
    to.zero = -5;
    to.low = -128;
    to.high = 127;
    return is_same(one, other, &p, &to);
}
