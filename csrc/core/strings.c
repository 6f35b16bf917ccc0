/* strings.c -- checks that bytes have the layout of a string tensor. */
#include "core/strings.h"

#include <stdio.h>

bool ml_strings_are_whole(const void *data, int64_t bytes, int64_t elements, char text[128]) {
    int64_t count = bytes >= 4 ? ml_string_word(data, 0) : 0;
    /* No strings may have no table of offsets. */
    if (count != elements || (elements > 0 && bytes / 4 - 2 < elements)) {
        snprintf(text, 128, "has %lld strings in %lld bytes, its shape has %lld elements",
                 (long long)count, (long long)bytes, (long long)elements);
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        int64_t start = ml_string_word(data, i + 1), end = ml_string_word(data, i + 2);
        if (start >= 0 && end >= start && end <= bytes) continue;
        snprintf(text, 128, "has string %lld from byte %lld to %lld of %lld bytes", (long long)i,
                 (long long)start, (long long)end, (long long)bytes);
        return false;
    }
    return true;
}
