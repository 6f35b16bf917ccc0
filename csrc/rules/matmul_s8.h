/* matmul_s8.h -- multiplies rows of integers, or of floats quantized at run time, a block at a
 * time, with packed weights of bytes (input 1), for convolutions and fully connected layers with
 * integer weights. */
#ifndef ML_RULES_MATMUL_S8_H
#define ML_RULES_MATMUL_S8_H

#include "rules/byte_rows.h"
#include "rules/bytes.h"
#include "rules/matmul.h"

/* The sizes of a product, made from a blob; rows to groups are as in ml_blocks. */
typedef struct ml_integers {
    int64_t rows;
    int64_t k;
    int64_t n;
    int64_t groups;
    int64_t block;
    int64_t batches; /* batches of rows; a block lies within one */
    int64_t pieces; /* pieces of a row */
    int64_t copy_bytes; /* of a block: room to which `fill` may copy its rows */
    bool is_copied; /* false: `fill` never copies */
    int64_t width; /* rows of a line, best multiplied together; 0: no lines */
} ml_integers;
/* The sizes for one batch of contiguous rows; rows of s16 are copied. */
static inline ml_integers ml_integers_of(const ml_blocks *b, int32_t type) {
    ml_integers p = {b->rows, b->k, b->n, b->groups, b->block, 1, 1, 0, type == ML_S16, 0};
    if (p.is_copied) p.copy_bytes = b->block * b->k * ml_planes(type);
    return p;
}

typedef struct ml_integer_rule {
    /* Gives rows first .. first + count - 1 of one group as bytes; `copy` has copy_bytes. */
    void (*fill)(const ml_call *c, int64_t first, int64_t count, int32_t group, uint8_t *copy,
                 ml_byte_rows *rows);
    /* Computes outputs from the sums of some rows. Sums of bytes include the bias (input 2); those
     * of s16 do not, r->bias has it. */
    void (*finish)(const ml_call *c, const ml_requantized *r);
    bool wide; /* for s16: sums are int64 */
    bool requantizes; /* bytes become bytes by product_s8, without `finish` */
    /* Gives the constants by which product_f32 turns the sums of quantized floats, with a scale per
     * row, into floats. */
    ml_scale_s32_args (*scaling)(const ml_call *c, const ml_requantized *r, const float *scales);
    bool by_row; /* floats: each row is quantized by itself; else each batch */
} ml_integer_rule;

static inline int64_t ml_piece_of(const ml_integers *p) {
    return p->pieces > 1 ? p->k / p->pieces : p->k;
}

/* Prefetches the first weights, while the rows are being arranged. */
static inline void ml_fetch_weights(const ml_call *c, const ml_integers *p) {
    enum { FETCHED = 2048 /* bytes */, MANY = 8192 };
    for (int64_t i = 0; i < FETCHED && p->k * p->n >= MANY; i += 64)
        __builtin_prefetch((const char *)c->packed + i);
}

/* Packs weights (outputs, ...) of s8, u8 or s4, each group by itself. */
int64_t ml_pack_weights_s8(const ml_call *c, void *to, const ml_integers *p);

/* Prepare: sets rows and copy_bytes of a block, unless rows are set already, and scratch.
 * ML_SHAPE_ERROR if a row is too long. */
ml_status ml_prepare_integers(const ml_call *c, ml_wish *wish, ml_integers *p,
                              const ml_integer_rule *rule);
/* The cost of an output of k products, as ml_work_grain counts it; requantization is added. */
static inline int64_t ml_integer_cost(const ml_simd *simd, int64_t k) {
    return k / 4 * simd->matmul_s8_quarters + 16;
}
/* The cost of a row of n outputs, rounded up to full vectors. */
static inline int64_t ml_row_cost(const ml_simd *simd, int64_t k, int64_t n) {
    return ml_integer_cost(simd, k) * ml_round_up(n, ML_PART_S8);
}
/* Eval; c->derived is an ml_weighted. */
ml_status ml_multiply_integers(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule);
/* Eval, for floats: quantizes input 0 into scratch; `fill` finds the slices there. */
ml_status ml_quantize_floats(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule,
                             bool asymmetric);
int64_t ml_quantized_bytes(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule);
ml_slices ml_quantized_floats(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule);

#endif
