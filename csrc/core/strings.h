/* strings.h -- how strings lie in a tensor: int32 count, int32 offsets (count + 1, from the first
 * byte), then the characters. */
#ifndef ML_CORE_STRINGS_H
#define ML_CORE_STRINGS_H

#include "core/shape.h"

/* Word `i`: the count, then the offsets. The bytes may lie anywhere. */
static inline int64_t ml_string_word(const void *data, int64_t i) {
    int32_t word;
    memcpy(&word, (const char *)data + 4 * i, 4);
    return word;
}
static inline void ml_set_string_word(void *data, int64_t i, int64_t value) {
    int32_t word = (int32_t)value;
    memcpy((char *)data + 4 * i, &word, 4);
}

/* What `count` words of offsets take before the first character. */
static inline int64_t ml_strings_head(int64_t count) { return 4 * (count + 2); }

/* Whether `bytes` hold `elements` strings, one after the other or apart, all inside; else a text
 * says why not. */
bool ml_strings_are_whole(const void *data, int64_t bytes, int64_t elements, char text[128]);

#endif
