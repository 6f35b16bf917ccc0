/* strings.h -- the layout of a string tensor: int32 count, int32 offsets (count + 1 of them,
 * relative to the first byte), then the characters. */
#ifndef ML_CORE_STRINGS_H
#define ML_CORE_STRINGS_H

#include "core/shape.h"

/* Word `i` of the header: word 0 is the count, the offsets follow. `data` need not be aligned. */
static inline int64_t ml_string_word(const void *data, int64_t i) {
    int32_t word;
    memcpy(&word, (const char *)data + 4 * i, 4);
    return word;
}
static inline void ml_set_string_word(void *data, int64_t i, int64_t value) {
    int32_t word = (int32_t)value;
    memcpy((char *)data + 4 * i, &word, 4);
}

/* Size in bytes of a header for `count` strings: everything before the first character. */
static inline int64_t ml_strings_head(int64_t count) { return 4 * (count + 2); }

/* True if `bytes` hold `elements` strings, all inside, with or without gaps between them; if not, a
 * text says why. */
bool ml_strings_are_whole(const void *data, int64_t bytes, int64_t elements, char text[128]);

#endif
