/* products.h -- counts a node's multiply-adds from the shapes of its operands, for rows whose
 * operators consist of products. Counts that do not fit stay at INT64_MAX. */
#ifndef ML_RULES_PRODUCTS_H
#define ML_RULES_PRODUCTS_H

#include "kernel.h"

enum { ML_THE_OUTPUT = -1 }; /* as number of an operand */

static inline int64_t ml_times(int64_t a, int64_t b) {
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

static inline int64_t ml_plus(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

/* The product of an operand's dimensions from `first` to `last`, both inclusive; those that it does
 * not have count as 1, those of an operand that the node does not have as 0. */
static inline int64_t ml_extent(const ml_operand_shapes *of, int32_t operand, int32_t first,
                                int32_t last) {
    if (operand >= of->n_inputs) return 0;
    const ml_shape *shape = operand == ML_THE_OUTPUT ? of->output : &of->inputs[operand];
    int64_t product = 1;
    for (int32_t d = first < 0 ? 0 : first; d <= last && d < shape->rank; d++)
        product = ml_times(product, shape->dims[d]);
    return product;
}

static inline int64_t ml_extent_of_all(const ml_operand_shapes *of, int32_t operand) {
    return ml_extent(of, operand, 0, ML_MAX_RANK - 1);
}

/* Transposed convolutions: each element of input `x` is multiplied by every filter of input 1,
 * whose last dimension is the channels of x. */
static inline int64_t ml_transposed_products(const ml_operand_shapes *of, int32_t x) {
    const int32_t rank = of->n_inputs > 1 ? of->inputs[1].rank : 0;
    return ml_times(ml_extent_of_all(of, x), ml_extent(of, 1, 0, rank - 2));
}

/* Recurrent operators: each row of input 0 is multiplied by all matrices among the other inputs,
 * except states. */
static inline int64_t ml_recurrent_products(const ml_operand_shapes *of, uint64_t states) {
    int64_t matrices = 0;
    for (int32_t i = 1; i < of->n_inputs && i < 64; i++)
        if (of->inputs[i].rank == 2 && !(states >> i & 1))
            matrices = ml_plus(matrices, ml_extent_of_all(of, i));
    const int32_t rank = of->n_inputs > 0 ? of->inputs[0].rank : 0;
    return ml_times(ml_extent(of, 0, 0, rank - 2), matrices);
}
#endif
