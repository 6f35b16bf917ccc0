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

/* Eval. Opens the strings of input `i`; ML_KERNEL_ERROR if their number differs from the number of
 * elements. */
ml_status ml_open_strings(const ml_call *c, int i, ml_strings *strings);
/* String `index` (of 0 .. count - 1); ML_KERNEL_ERROR if its offsets are outside the tensor. */
ml_status ml_string_at(const ml_call *c, const ml_strings *strings, int64_t index, ml_string *out);
/* Makes output `output` from `count` strings of input `input`, which `pick` chooses: one pass for
 * their lengths, one for their characters. */
ml_status ml_pick_strings(const ml_call *c, int input, int output, int64_t count, ml_pick *pick);
/* The same for all strings, in order. */
ml_status ml_copy_strings(const ml_call *c, int input, int output);

#endif
