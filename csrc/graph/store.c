/* store.c -- weights laid out for the inner loops, once a Model. */
#include "graph/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/error.h"

typedef struct block {
    struct block *next;
    const void *data;
    ml_pack_fn pack;
    const struct ml_simd *simd;
    ml_shape shape;
    int32_t layout;
    int64_t bytes;
    void *packed; /* 64-byte aligned */
} block;

struct ml_store {
    atomic_int holders;
    /* Held while a block is looked up or made: two threads never pack the same weights. */
    pthread_mutex_t lock;
    block *blocks;
    int64_t bytes;
};

ml_store *ml_store_new(void) {
    ml_store *s = calloc(1, sizeof *s);
    if (!s) return NULL;
    atomic_init(&s->holders, 1);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

ml_store *ml_store_hold(ml_store *s) {
    atomic_fetch_add(&s->holders, 1);
    return s;
}

void ml_store_free(ml_store *s) {
    if (!s || atomic_fetch_sub(&s->holders, 1) > 1) return;
    for (block *b = s->blocks; b;) {
        block *next = b->next;
        free(b->packed);
        free(b);
        b = next;
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

int64_t ml_store_bytes(ml_store *s) {
    pthread_mutex_lock(&s->lock);
    int64_t bytes = s->bytes;
    pthread_mutex_unlock(&s->lock);
    return bytes;
}

static block *make(const ml_call *c, ml_pack_fn pack, const ml_tensor *operand, int32_t layout) {
    int64_t bytes = pack(c, NULL);
    if (bytes < 0) return NULL;
    block *b = calloc(1, sizeof *b);
    void *packed =
        bytes > INT64_MAX - 128 ? NULL : aligned_alloc(64, (size_t)ml_round_up(bytes + 1, 64));
    if (!b || !packed) {
        ml_error_memory(c->env->error, "packing weights", bytes, 0);
        free(b);
        free(packed);
        return NULL;
    }
    *b = (block){NULL, operand->known, pack, c->env->simd, operand->shape, layout, bytes, packed};
    pack(c, packed);
    return b;
}

const void *ml_store_packed(ml_store *s, const ml_call *c, ml_pack_fn pack,
                            const ml_tensor *operand, int32_t layout) {
    pthread_mutex_lock(&s->lock);
    block *b = s->blocks;
    while (b && !(b->data == operand->known && b->pack == pack && b->layout == layout &&
                  b->simd == c->env->simd && ml_same_shape(&b->shape, &operand->shape)))
        b = b->next;
    if (!b && (b = make(c, pack, operand, layout))) {
        b->next = s->blocks;
        s->blocks = b;
        s->bytes += b->bytes;
    }
    pthread_mutex_unlock(&s->lock);
    return b ? b->packed : NULL;
}
