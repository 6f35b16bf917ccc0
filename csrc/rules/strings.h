/* strings.h -- tensors of strings: TFLite's int32 count, int32 offsets (count + 1, from the first
 * byte), then the characters. */
#ifndef ML_RULES_STRINGS_H
#define ML_RULES_STRINGS_H

#include "rules/pick.h"

/* A tensor of strings whose header fits its shape and bytes. */
typedef struct ml_strings {
    const uint8_t *data;
    int64_t bytes;
    int64_t count;
} ml_strings;

/* One string, which ends without a 0. */
typedef struct ml_string {
    const uint8_t *from;
    int64_t bytes;
} ml_string;

/* Eval. The strings of input `i`; ML_KERNEL_ERROR where it has not one for each element. */
ml_status ml_open_strings(const ml_call *c, int i, ml_strings *strings);
/* String `index` (of 0 .. count - 1); ML_KERNEL_ERROR where its offsets lead out of the tensor. */
ml_status ml_string_at(const ml_call *c, const ml_strings *strings, int64_t index, ml_string *out);
/* Makes output `output` of `count` strings of input `input`: one pass for their lengths, one for
 * their characters. */
ml_status ml_pick_strings(const ml_call *c, int input, int output, int64_t count, ml_pick *pick);
/* All of them, in their order. */
ml_status ml_copy_strings(const ml_call *c, int input, int output);

#endif
