/* matmul_s8.h -- rows of integers, or of floats quantized at run time, a block at a time, times
 * packed weights of bytes (input 1): what convolutions and fully connected layers of integer
 * weights come down to. */
#ifndef ML_RULES_MATMUL_S8_H
#define ML_RULES_MATMUL_S8_H

#include "rules/byte_rows.h"
#include "rules/bytes.h"
#include "rules/matmul.h"

/* A product's sizes, made of what a blob says; rows to groups are those of an ml_blocks. */
typedef struct ml_integers {
    int64_t rows;
    int64_t k;
    int64_t n;
    int64_t groups;
    int64_t block;
    int64_t batches; /* of rows, which blocks do not go beyond */
    int64_t pieces; /* that a row consists of */
    int64_t copy_bytes; /* of a block, where `fill` may copy its rows */
    bool is_copied; /* else `fill` never does */
    int64_t width; /* rows of a line, which are best multiplied together; 0: all rows lie alike */
} ml_integers;
/* Of one batch, whose rows lie side by side; those of s16 are copied. */
static inline ml_integers ml_integers_of(const ml_blocks *b, int32_t type) {
    ml_integers p = {b->rows, b->k, b->n, b->groups, b->block, 1, 1, 0, type == ML_S16, 0};
    if (p.is_copied) p.copy_bytes = b->block * b->k * ml_planes(type);
    return p;
}

/* What `finish` may know of sums. */
typedef struct ml_own {
    const float *scales; /* of floats that were quantized: of each row */
} ml_own;

typedef struct ml_integer_rule {
    /* Rows first .. first + count - 1 of one group as bytes; `copy` has copy_bytes. */
    void (*fill)(const ml_call *c, int64_t first, int64_t count, int32_t group, uint8_t *copy,
                 ml_byte_rows *rows);
    /* Outputs of the sums of some rows. Bytes have the bias (input 2) in their sums, others have it
     * in r->bias. */
    void (*finish)(const ml_call *c, const ml_requantized *r, const ml_own *own);
    bool wide; /* of s16: sums are int64 */
    bool requantizes; /* bytes: `finish` is as requantize, whose place product_s8 takes */
    bool by_row; /* floats: each row is quantized by itself, else each batch */
} ml_integer_rule;

static inline int64_t ml_piece_of(const ml_integers *p) {
    return p->pieces > 1 ? p->k / p->pieces : p->k;
}

/* Whether bytes are made of sums at once. */
static inline bool ml_is_fused(const ml_call *c, const ml_integer_rule *rule) {
    const int32_t type = ml_input(c, 0)->type;
    return rule->requantizes && (type == ML_S8 || type == ML_U8);
}
/* The first of many weights, on their way while what they meet is arranged. */
static inline void ml_fetch_weights(const ml_call *c, const ml_integers *p) {
    enum { FETCHED = 2048 /* bytes */, MANY = 8192 };
    for (int64_t i = 0; i < FETCHED && p->k * p->n >= MANY; i += 64)
        __builtin_prefetch((const char *)c->packed + i);
}

/* The pack of weights (outputs, ...) of s8, u8 or s4, each group by itself. */
int64_t ml_pack_weights_s8(const ml_call *c, void *to, const ml_integers *p);

/* Prepare: rows and copy_bytes of a block, unless it has rows already, and scratch. ML_SHAPE_ERROR
 * when a row is too long. */
ml_status ml_prepare_integers(const ml_call *c, ml_wish *wish, ml_integers *p,
                              const ml_integer_rule *rule);
/* What an output of k products costs, as ml_work_grain counts: products a quarter of those of
 * floats, and requantization. */
static inline int64_t ml_integer_cost(int64_t k) { return k / 4 + 16; }
/* A row of n outputs: as many as fill vectors. */
static inline int64_t ml_row_cost(int64_t k, int64_t n) {
    return ml_integer_cost(k) * ml_round_up(n, ML_PART_S8);
}
/* Eval; c->derived is an ml_weighted. */
ml_status ml_multiply_integers(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule);
/* Eval, floats: quantizes input 0 into scratch, where `fill` finds the slices. */
ml_status ml_quantize_floats(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule,
                             bool asymmetric);
int64_t ml_quantized_bytes(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule);
ml_slices ml_quantized_floats(const ml_call *c, const ml_integers *p, const ml_integer_rule *rule);

#endif
