/* map.c -- maps a file into memory; pages are loaded on first use and the descriptor is not kept
 * open. */
#include <stdint.h>
#include <sys/mman.h>

#include "api/minilite.h"

void *ml_file_map(int32_t descriptor, int64_t bytes) {
    void *data = mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    return data == MAP_FAILED ? NULL : data;
}

void ml_file_unmap(void *data, int64_t bytes) { munmap(data, (size_t)bytes); }
