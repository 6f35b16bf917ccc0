/* blocks.c -- memory outside the arena that grows as needed and keeps its room between runs.
 *
 * Blocks hold values whose size no plan can know, and that outlive a node, an iteration or a run:
 * resource variables, carried values that change their shape, strings. A block belongs to one
 * tensor or variable and is never shared, so it can be set without regard to readers. Runs never
 * shrink its room, so in a steady state nothing is allocated. */
#include <stdlib.h>

#include "os/os.h"
#include "state/interpreter.h"

void ml_block_free(ml_account *account, ml_block *b) {
    ml_account_give(account, b->capacity);
    ml_os_free(b->data);
    *b = (ml_block){.data = NULL};
}

void ml_blocks_free(ml_account *account, ml_block *blocks, int64_t count) {
    for (int64_t i = 0; blocks && i < count; i++) ml_block_free(account, &blocks[i]);
    free(blocks);
}

ml_status ml_block_reserve(ml_account *account, ml_block *b, int64_t bytes, ml_error *error) {
    if (bytes <= b->capacity && b->data) return ML_OK;
    /* One and a half times the room, so that values that grow step by step are moved seldom. */
    const int64_t wanted = ml_round_up(bytes + (b->data ? bytes / 2 : 0) + 1, 64),
                  more = wanted - b->capacity;
    ml_status status = ml_account_take(account, "a value beside the arena", more, error);
    if (status != ML_OK) return status;
    void *data = ml_os_allocate(wanted);
    if (!data) {
        ml_account_give(account, more);
        return ml_error_memory(error, "a value beside the arena", wanted, b->capacity);
    }
    ml_os_free(b->data);
    b->data = data;
    b->capacity = wanted;
    return ML_OK;
}

/* After a refusal the block has its old value. `data` may be the block's own data. */
ml_status ml_block_set(ml_account *account, ml_block *b, const ml_shape *shape, int32_t type,
                       const void *data, int64_t bytes, ml_error *error) {
    ml_status status = ml_block_reserve(account, b, bytes, error);
    if (status != ML_OK) return status;
    if (bytes > 0 && data != b->data) memmove(b->data, data, (size_t)bytes);
    b->shape = *shape;
    b->type = type;
    b->bytes = bytes;
    b->assigned = true;
    return ML_OK;
}

void ml_block_fit(ml_account *account, ml_block *b) {
    int64_t room = b->assigned ? ml_round_up(b->bytes + 1, 64) : 0;
    if (room >= b->capacity) return;
    void *data = room > 0 ? ml_os_allocate(room) : NULL;
    if (room > 0 && !data) return;
    if (data && b->bytes > 0) memcpy(data, b->data, (size_t)b->bytes);
    ml_account_give(account, b->capacity - room);
    ml_os_free(b->data);
    b->data = data;
    b->capacity = room;
}

int64_t ml_blocks_bytes(const ml_block *blocks, int64_t count) {
    int64_t bytes = 0;
    for (int64_t i = 0; blocks && i < count; i++) bytes += blocks[i].capacity;
    return bytes;
}
