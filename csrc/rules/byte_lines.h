/* byte_lines.h -- tables of functions of one byte, and whether they are lines. */
#ifndef ML_RULES_BYTE_LINES_H
#define ML_RULES_BYTE_LINES_H

#include "simd/simd.h"

/* A derived block. */
typedef struct ml_byte_table {
    uint8_t bytes[256]; /* of each input byte */
    ml_byte_lines lines;
} ml_byte_table;

/* Looks up n bytes. */
static inline void ml_look_up(const ml_simd *simd, const ml_byte_table *t, const uint8_t *x,
                              int64_t n, uint8_t *y) {
    simd->lookup_u8(t->bytes, t->lines.count ? &t->lines : NULL, x, n, y);
}

/* Finds out whether the bytes of a table are on a line (a change of scale, with or without limits),
 * or on two lines that meet at input `kink` (LEAKY_RELU), and fills in t->lines. The types are
 * ML_S8 or ML_U8. */
void ml_find_byte_lines(ml_byte_table *t, int32_t x_type, int32_t y_type, int32_t kink);

#endif
