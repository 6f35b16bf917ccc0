/* convert_f16.h -- converts a row of FROM to TO, LANES at a time by `convert`; the rest through a
 * whole vector. */
#include <string.h>

static void convert_row(const FROM *x, int64_t n, TO *y) {
    int64_t at = 0;
    for (; at + LANES <= n; at += LANES) convert(x + at, y + at);
    if (at >= n) return;
    FROM rest[LANES] = {0};
    TO made[LANES];
    memcpy(rest, x + at, (size_t)(n - at) * sizeof *x);
    convert(rest, made);
    memcpy(y + at, made, (size_t)(n - at) * sizeof *y);
}
