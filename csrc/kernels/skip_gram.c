/* skip_gram.c -- SKIP_GRAM: combinations of the words of a text. Its shape is known when it has
 * run, which it does in Python. */
#include "kernel.h"

static ml_status prepare_skip_gram(const ml_call *c, ml_wish *wish) {
    if (ml_elements(&ml_input(c, 0)->shape) < 1)
        return ml_fail(c, ML_SHAPE_ERROR, "there is no text");
    return ml_open(wish, 0);
}

ML_KERNELS(skip_gram) = {
    {.abi = ML_KERNEL_ABI,
     .flags = ML_KERNEL_SETS_SHAPES,
     .name = "skip_gram",
     .prepare = prepare_skip_gram,
     ML_TYPED({"string -> string", NULL, NULL, NULL})},
    ML_KERNELS_END,
};
