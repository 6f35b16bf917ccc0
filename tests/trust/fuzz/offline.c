/* offline.c -- fuzzes memory plans that come with a file: the input is a count, as many offsets of
 * four bytes, and a model. Offsets are aligned: Python refuses others before C sees them. */
#include <string.h>

#include "use.h"

enum { MOST = 32, ALIGNMENT = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    int32_t offsets[MOST];
    const int32_t count = bytes > 0 ? data[0] % (MOST + 1) : 0;
    const size_t head = 1 + (size_t)count * sizeof *offsets;
    if (bytes <= head) return 0;
    memcpy(offsets, data + 1, (size_t)count * sizeof *offsets);
    for (int32_t i = 0; i < count; i++)
        if (offsets[i] > 0) offsets[i] -= offsets[i] % ALIGNMENT;
    ml_fuzz_use(data + head, bytes - head, offsets, count);
    return 0;
}
