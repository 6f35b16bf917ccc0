/* row_bytes.h -- multiplies a single row of bytes to bytes. */
#include "simd/avx2/row_place.h"

#define FINISH_ROW(own, output, vectors, sums) finish_row(own, output, vectors, sums)
#include "simd/avx2/row_s8.h"

static void multiply_row_to_bytes(const ml_matmul_s8_args *p, const ml_requantize_args *to,
                                  int64_t groups) {
    const row_place r = row_place_of(p, to);
    multiply_row(p, &r, groups);
}
