/* index_memory.c -- memory for a file's rows: growing blocks, freed all at once. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/index.h"

enum { FIRST_BLOCK = 8 << 10, LARGEST_BLOCK = 1 << 20 };

typedef struct block {
    struct block *next;
    size_t bytes;
    size_t used;
} block;

static const size_t HEAD = (sizeof(block) + 15) & ~(size_t)15;

void *ml_index_take(ml_index *x, int64_t count, size_t each) {
    block *b = x->file->blocks;
    size_t bytes = ((size_t)count * each + 15) & ~(size_t)15;
    x->taken += (int64_t)bytes;
    if (x->taken > ML_ROWS_PER_BYTE * x->reader.bytes + ML_ROWS_ANYWAY) return NULL;
    if (count > INT32_MAX && each > 1) return NULL; /* rows have 31 bits; such a file has 8 GiB */
    if (!b || bytes > b->bytes - b->used) {
        size_t room = !b ? FIRST_BLOCK : b->bytes < LARGEST_BLOCK ? 2 * b->bytes : LARGEST_BLOCK;
        if (room < bytes) room = bytes;
        block *fresh = malloc(HEAD + room);
        if (!fresh) return NULL;
        *fresh = (block){b, room, 0};
        x->file->blocks = b = fresh;
    }
    void *taken = (uint8_t *)b + HEAD + b->used;
    b->used += bytes;
    return taken;
}

ml_status ml_index_no_room(ml_index *x) {
    ml_reader *r = &x->reader;
    if (x->taken > ML_ROWS_PER_BYTE * r->bytes + ML_ROWS_ANYWAY)
        return ml_refuse(r,
                         "the file's %" PRId64
                         " bytes are shared so often that they expand to more "
                         "than %" PRId64 " of rows",
                         r->bytes, ML_ROWS_PER_BYTE * r->bytes + ML_ROWS_ANYWAY);
    snprintf(r->error->text, sizeof r->error->text, "no memory for the rows of %" PRId64 " bytes",
             r->bytes);
    return ML_ARENA_ERROR;
}

void ml_index_give_back(ml_file *file) {
    for (block *b = file->blocks; b;) {
        block *next = b->next;
        free(b);
        b = next;
    }
}
