/* store.c -- weights packed for the inner loops, once per Model: a hash table with a lock. */
#include "graph/store.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "core/error.h"
#include "os/os.h"

enum { FIRST_BUCKETS = 16 };

/* Identifies a block: the data, its shape, and how it was packed. */
typedef struct key {
    const void *data;
    ml_pack_fn pack;
    const struct ml_simd *simd;
    const ml_shape *shape;
    int32_t layout;
    uint32_t hash;
} key;

typedef struct block {
    ml_packed_weights packed;
    struct block *next; /* next block of the same bucket */
    key key;            /* its shape points to the copy below */
    ml_shape shape;
    int64_t size; /* bytes of `packed` */
} block;

struct ml_store {
    atomic_int holders;
    /* Held while a block is looked up or made, so that two threads never pack the same weights. */
    ml_os_lock lock;
    block **buckets;
    block *first_buckets[FIRST_BUCKETS]; /* used until there are more blocks */
    uint32_t n_buckets;                  /* a power of two */
    uint32_t n_blocks;
    int64_t bytes;
};

ml_status ml_store_new(ml_store **store, ml_error *error) {
    ml_store *s = *store = calloc(1, sizeof *s);
    if (!s) return ml_error_refused(error, "a store of packed weights");
    atomic_init(&s->holders, 1);
    ml_os_make_lock(&s->lock);
    s->buckets = s->first_buckets;
    s->n_buckets = FIRST_BUCKETS;
    return ML_OK;
}

ml_store *ml_store_hold(ml_store *s) {
    atomic_fetch_add(&s->holders, 1);
    return s;
}

void ml_store_free(ml_store *s) {
    if (!s || atomic_fetch_sub(&s->holders, 1) > 1) return;
    for (uint32_t i = 0; i < s->n_buckets; i++)
        for (block *b = s->buckets[i]; b;) {
            block *next = b->next;
            ml_os_free((void *)(uintptr_t)b->packed.bytes);
            free(b);
            b = next;
        }
    if (s->buckets != s->first_buckets) free(s->buckets);
    ml_os_free_lock(&s->lock);
    free(s);
}

int64_t ml_store_bytes(ml_store *s) {
    ml_os_take(&s->lock);
    int64_t bytes = s->bytes;
    ml_os_give(&s->lock);
    return bytes;
}

/* FNV-1a over words. Addresses differ in their middle bits; the last step moves these to the low
 * end. */
static uint32_t hash_of(const key *k) {
    const uint64_t words[] = {(uintptr_t)k->data, (uintptr_t)k->pack, (uintptr_t)k->simd,
                              (uint32_t)k->layout, (uint32_t)k->shape->rank};
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ words[i]) * 1099511628211u;
    for (int32_t d = 0; d < k->shape->rank; d++)
        hash = (hash ^ (uint32_t)k->shape->dims[d]) * 1099511628211u;
    return (uint32_t)(hash ^ hash >> 32);
}

static bool same_key(const key *a, const key *b) {
    return a->hash == b->hash && a->data == b->data && a->pack == b->pack && a->simd == b->simd &&
           a->layout == b->layout && ml_same_shape(a->shape, b->shape);
}

static block **bucket_of(block **buckets, uint32_t n_buckets, uint32_t hash) {
    return &buckets[hash & (n_buckets - 1)];
}

static void put_in_bucket(block **buckets, uint32_t n_buckets, block *b) {
    block **bucket = bucket_of(buckets, n_buckets, b->key.hash);
    b->next = *bucket;
    *bucket = b;
}

/* Keeps as many buckets as blocks, so that look-ups take constant time. If memory is missing the
 * buckets stay, and their lists grow. */
static void add_buckets(ml_store *s) {
    block **more = calloc(2 * (size_t)s->n_buckets, sizeof *more);
    if (!more) return;
    for (uint32_t i = 0; i < s->n_buckets; i++)
        for (block *b = s->buckets[i], *next; b; b = next) {
            next = b->next;
            put_in_bucket(more, 2 * s->n_buckets, b);
        }
    if (s->buckets != s->first_buckets) free(s->buckets);
    s->buckets = more;
    s->n_buckets *= 2;
}

static block *make(const ml_call *c, const key *wanted) {
    int64_t size = wanted->pack(c, NULL);
    if (size < 0) return NULL;
    block *b = calloc(1, sizeof *b);
    void *bytes = ml_os_allocate(size);
    if (!b || !bytes) {
        ml_error_memory(c->env->error, "packing weights", size, 0);
        free(b);
        ml_os_free(bytes);
        return NULL;
    }
    *b = (block){.packed = {bytes, wanted->layout}, .key = *wanted, .size = size};
    b->shape = *wanted->shape;
    b->key.shape = &b->shape;
    wanted->pack(c, bytes);
    return b;
}

const ml_packed_weights *ml_store_packed(ml_store *s, const ml_call *c, ml_pack_fn pack,
                                         const ml_tensor *operand, int32_t layout) {
    key wanted = {operand->known, pack, c->env->simd, &operand->shape, layout, 0};
    wanted.hash = hash_of(&wanted);
    ml_os_take(&s->lock);
    block *b = *bucket_of(s->buckets, s->n_buckets, wanted.hash);
    while (b && !same_key(&b->key, &wanted)) b = b->next;
    if (!b && (b = make(c, &wanted))) {
        if (s->n_blocks == s->n_buckets) add_buckets(s);
        put_in_bucket(s->buckets, s->n_buckets, b);
        s->n_blocks++;
        s->bytes += b->size;
    }
    ml_os_give(&s->lock);
    return b ? &b->packed : NULL;
}
