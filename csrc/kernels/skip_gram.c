/* skip_gram.c -- SKIP_GRAM: combinations of words of a text. It runs in Python, and its shape is
 * known only after that. */
#include "kernel.h"

static ml_status prepare_skip_gram(const ml_call *c, ml_wish *wish) {
    if (ml_elements(&ml_input(c, 0)->shape) < 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the input holds no words");
    return ml_open(wish, 0);
}

static ml_status check_skip_gram(const ml_call *c, void *params) {
    const int64_t size = ml_option_of(c, "ngram_size").integer;
    const int64_t skip = ml_option_of(c, "max_skip_size").integer;
    if (size > 0 && size <= 64 && skip >= 0) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "ngram_size is %lld and max_skip_size %lld, expected 1 to 64 and 0 or more",
                   (long long)size, (long long)skip);
}

ML_KERNELS(skip_gram) = {
    {ML_OP(SKIP_GRAM, 1, 1), .name = "skip_gram", .takes = "text -> grams",
     .flags = ML_KERNEL_SETS_SHAPES, .check = check_skip_gram, .prepare = prepare_skip_gram,
     ML_TYPED({"string -> string", NULL, NULL, NULL})},
    ML_KERNELS_END,
};
