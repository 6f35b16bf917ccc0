/* matmul_s8_rows.h -- finds the rows of tiles of matmul_s8_tile.h: in place, or in a flipped copy.
 *
 * All vectors of outputs are multiplied by the same bytes, tile after tile. To flip them in each
 * tile takes an instruction per group of four bytes, half as many as the products. A copy takes one
 * per vector of bytes. Rows that touch or overlap are copied as one run per piece. A single row is
 * flipped in its tile, because that takes no longer than reading the weights. */
enum {
    VECTOR_BYTES = LANES * GROUP,
    COPY_BYTES = 64 << 10 /* for all pieces of a tile's rows */
};

typedef struct row_copy {
    uint8_t bytes[COPY_BYTES];
} row_copy;

/* Flips `count` bytes; writes whole vectors, so that the last may reach beyond them. */
INLINE void flip_bytes(const uint8_t *from, int64_t count, const VECTOR_S32 flip, uint8_t *to) {
    int64_t i = 0;
    for (; i + VECTOR_BYTES <= count; i += VECTOR_BYTES)
        STORE_U8(to + i, XOR_U8(flip, LOAD_S32(from + i)));
    if (i < count) STORE_U8(to + i, XOR_U8(flip, LOAD_PART_U8(from + i, count - i)));
}

/* Returns the bytes that a piece of some rows takes in a copy, a multiple of vectors. */
INLINE int64_t copy_bytes(const ml_matmul_s8_args *p, int64_t rows) {
    const int64_t stride = p->a_stride < p->k ? p->a_stride : p->k;
    return ml_round_up((rows - 1) * stride + p->k, VECTOR_BYTES);
}

INLINE bool holds_rows(const ml_matmul_s8_args *p, int64_t rows) {
    return !p->flip || p->pieces * copy_bytes(p, rows) <= COPY_BYTES;
}

/* The number of rows that a tile may have, at most MOST_ROWS. */
INLINE int64_t most_rows(const ml_matmul_s8_args *p) {
    int64_t rows = MOST_ROWS;
    while (rows > 1 && !holds_rows(p, rows)) rows--;
    return rows;
}

__attribute__((noinline)) static void flip_rows(const ml_matmul_s8_args *p, tile_place *at,
                                                int64_t rows, row_copy *copy) {
    const VECTOR_S32 flip = SPLAT_S32((int32_t)((uint32_t)p->flip * UINT32_C(0x01010101)));
    const int64_t k = p->k, a_stride = p->a_stride;
    const bool is_run = a_stride <= k;
    const int64_t stride = is_run ? a_stride : k, piece = copy_bytes(p, rows);
    const uint8_t *a = at->a;
    uint8_t *to = copy->bytes;
    for (int64_t i = p->pieces; i > 0; i--, a += p->piece_stride, to += piece) {
        if (is_run) flip_bytes(a, (rows - 1) * stride + k, flip, to);
        for (int64_t r = 0; r < rows && !is_run; r++)
            flip_bytes(a + r * a_stride, k, flip, to + r * stride);
    }
    at->a = copy->bytes;
    at->a_stride = stride;
    at->piece_stride = piece;
}

/* Finds the bytes of the tile's rows. */
INLINE void begin_rows(const ml_matmul_s8_args *p, tile_place *at, int64_t rows, row_copy *copy) {
    at->a = p->a + at->row * p->a_stride;
    at->a_stride = p->a_stride;
    at->piece_stride = p->piece_stride;
    if (p->flip && rows > 1) flip_rows(p, at, rows, copy);
}
