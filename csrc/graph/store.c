/* store.c -- weights packed for the inner loops, once per Model: a hash table with a lock. */
#include "graph/store.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/hash.h"
#include "graph/graph.h"
#include "graph/packed_file.h"
#include "os/os.h"
#include "simd/simd.h"

enum {
    FIRST_BUCKETS = 16,
    SAMPLE_BYTES = 64,
    LEFT_BYTES = 1 << 20 /* of constants that were read, whose memory is given back together */
};

/* Identifies a block: the data, what it is, and how it was packed. */
typedef struct key {
    const void *data;
    const ml_typed *typed; /* NULL, and no simd: halves as floats, the same at all levels */
    const struct ml_simd *simd;
    const ml_shape *shape;
    int64_t size; /* bytes that pack writes */
    int32_t layout;
    int32_t type;
    uint32_t hash;
} key;

typedef struct block {
    ml_packed_weights packed;
    struct block *next; /* next block of the same bucket */
    key key;            /* its shape points to the copy below */
    ml_shape shape;
    uint64_t name; /* the key of its row in a file; 0: no file may hold it */
    int64_t mapped_pages; /* bytes of `packed` from ml_os_map; 0: they are from ml_os_allocate */
    bool mapped; /* `packed` lies in a file; with mapped_pages, it did not at first */
    bool kept; /* a file has its row */
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
    int64_t mapped_bytes;
    int64_t unkept_bytes;
    ml_mapping constants; /* the mapped file in which they lie; without data: they are in memory */
    const uint8_t *read_start; /* of those that were read since memory was given back */
    const uint8_t *read_end;
    int64_t read_bytes;
    ml_store *files_of; /* the store that takes files for this one: itself, or another */
    ml_packed_head wanted; /* the model that files have to be of */
    const uint8_t *model; /* its file in memory; NULL: nothing is kept in files */
    int64_t model_bytes;
    ml_packed_file *files;
};

ml_status ml_store_new(ml_store **store, ml_error *error) {
    ml_store *s = *store = calloc(1, sizeof *s);
    if (!s) return ml_error_refused(error, "a store of packed weights");
    atomic_init(&s->holders, 1);
    ml_os_make_lock(&s->lock);
    s->buckets = s->first_buckets;
    s->n_buckets = FIRST_BUCKETS;
    s->files_of = s;
    return ML_OK;
}

ml_store *ml_store_hold(ml_store *s) {
    atomic_fetch_add(&s->holders, 1);
    return s;
}

static void free_block(block *b) {
    void *bytes = (void *)(uintptr_t)b->packed.bytes;
    if (b->mapped_pages) ml_os_unmap(bytes, b->mapped_pages);
    else if (!b->mapped) ml_os_free(bytes);
    free(b);
}

void ml_store_free(ml_store *s) {
    if (!s || atomic_fetch_sub(&s->holders, 1) > 1) return;
    for (uint32_t i = 0; i < s->n_buckets; i++)
        for (block *b = s->buckets[i]; b;) {
            block *next = b->next;
            free_block(b);
            b = next;
        }
    for (ml_packed_file *file = s->files, *next; file; file = next) {
        next = file->next;
        ml_packed_file_close(file);
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
    const uint64_t words[] = {(uintptr_t)k->data,      (uintptr_t)k->typed, (uintptr_t)k->simd,
                              (uint32_t)k->layout,     (uint32_t)k->type,   (uint64_t)k->size,
                              (uint32_t)k->shape->rank};
    uint64_t hash = 1469598103934665603u;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ words[i]) * 1099511628211u;
    for (int32_t d = 0; d < k->shape->rank; d++)
        hash = (hash ^ (uint32_t)k->shape->dims[d]) * 1099511628211u;
    return (uint32_t)(hash ^ hash >> 32);
}

static bool same_key(const key *a, const key *b) {
    return a->hash == b->hash && a->data == b->data && a->typed == b->typed && a->simd == b->simd &&
           a->layout == b->layout && a->type == b->type && a->size == b->size &&
           ml_same_shape(a->shape, b->shape);
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

/* Blocks --------------------------------------------------------------------------------------- */

static bool lies_in_model(const ml_store *of, const void *data) {
    return of->model && (uintptr_t)data - (uintptr_t)of->model < (uintptr_t)of->model_bytes;
}

/* Who brings a constant into the form of a block, as files name it. */
typedef struct maker {
    const ml_kernel *kernel; /* NULL: the store, by widening halves */
    const char *types;
    const char *level;
} maker;

/* Names a block in files of all processes that run this build; 0: no file may hold it. `of` takes
 * the files. The place of a constant in the model says what it holds, with a sample in case that
 * another model has the same size, time and structure; other constants were made by lowering, and
 * count whole. */
static uint64_t name_of(const ml_store *of, const key *k, const ml_tensor_def *constant,
                        const maker *by) {
    const ml_kernel *kernel = by->kernel;
    if (!of->model || constant->bytes <= 0 || (kernel && !ml_kernel_family(kernel))) return 0;
    const bool widened = lies_in_model(of, constant->halves);
    const uint8_t *data = widened ? constant->halves : constant->data;
    const bool of_file = lies_in_model(of, data);
    int64_t sample = widened ? constant->bytes / 2 : constant->bytes;
    if (of_file && sample > SAMPLE_BYTES) sample = SAMPLE_BYTES;
    const int64_t numbers[] = {of_file ? (int64_t)(data - of->model) : -1, constant->bytes,
                               k->layout, k->type, kernel ? kernel->first_version : 0};
    uint64_t name = ml_hash(ML_HASH_START, numbers, (int64_t)sizeof numbers);
    name = ml_hash(name, k->shape->dims, k->shape->rank * (int64_t)sizeof *k->shape->dims);
    name = ml_hash_text(name, kernel ? kernel->name : "widen");
    name = ml_hash_text(ml_hash_text(name, by->types), by->level);
    name = ml_hash(name, data, sample);
    return name ? name : 1;
}

/* The weights of that name in a file, if they have as many bytes as pack would write. */
static const void *find_in_files(const ml_store *of, uint64_t name, int64_t bytes) {
    ml_packed_row row;
    for (const ml_packed_file *file = of->files; file && name; file = file->next)
        if (ml_packed_file_find(file, name, &row) && row.bytes == bytes) return file->data + row.at;
    return NULL;
}

/* Counts a constant that was read, or of which a sample was, for which the system may have brought
 * all of it into memory. They are seldom read again, so now and then their memory is given back. */
static void leave_constant(ml_store *s, const ml_tensor_def *constant) {
    const int64_t bytes = constant->halves ? constant->bytes / 2 : constant->bytes;
    const uint8_t *start = constant->halves ? constant->halves : constant->data;
    const uint8_t *end = start + bytes;
    if ((uintptr_t)start - (uintptr_t)s->constants.data >= (uintptr_t)s->constants.bytes) return;
    if (s->read_bytes == 0 || start < s->read_start) s->read_start = start;
    if (s->read_bytes == 0 || end > s->read_end) s->read_end = end;
    s->read_bytes += bytes;
    if (s->read_bytes < LEFT_BYTES) return;
    ml_os_leave_file(s->read_start, s->read_end - s->read_start);
    s->read_bytes = 0;
}

/* Names the block, and points it to weights in a file if there are any. */
static void look_in_files(ml_store *s, block *b, const ml_tensor_def *constant, const maker *by) {
    ml_store *of = s->files_of;
    if (of != s) ml_os_take(&of->lock);
    b->name = name_of(of, &b->key, constant, by);
    b->packed.bytes = find_in_files(of, b->name, b->key.size);
    if (of != s) ml_os_give(&of->lock);
    b->mapped = b->kept = b->packed.bytes != NULL;
}

/* Memory of its own. Where a file may have the block later, a large one has pages, which the file's
 * can replace. */
static void allocate_block(block *b) {
    if (b->name && b->key.size >= ML_PACKED_LARGE) {
        b->mapped_pages = ml_round_up(b->key.size, ml_os_page_bytes());
        b->packed.bytes = ml_os_map(b->mapped_pages);
    } else b->packed.bytes = ml_os_allocate(b->key.size);
}

/* A block that lies in a file, or whose memory is to be written. NULL with the error. */
static block *new_block(ml_store *s, const key *wanted, const ml_tensor_def *constant,
                        const maker *by, ml_error *error) {
    block *b = calloc(1, sizeof *b);
    if (b) {
        *b = (block){.packed = {NULL, wanted->layout}, .key = *wanted};
        b->shape = *wanted->shape;
        b->key.shape = &b->shape;
        look_in_files(s, b, constant, by);
        if (!b->mapped) allocate_block(b);
        if (b->packed.bytes) return b;
    }
    ml_error_memory(error, "packing weights", wanted->size, 0);
    free(b);
    return NULL;
}

static void add(ml_store *s, block *b) {
    if (s->n_blocks == s->n_buckets) add_buckets(s);
    put_in_bucket(s->buckets, s->n_buckets, b);
    s->n_blocks++;
    s->bytes += b->key.size;
    if (b->mapped) s->mapped_bytes += b->key.size;
    else if (b->name) s->unkept_bytes += b->key.size;
}

static block *find_block(ml_store *s, const key *wanted) {
    block *b = *bucket_of(s->buckets, s->n_buckets, wanted->hash);
    while (b && !same_key(&b->key, wanted)) b = b->next;
    return b;
}

static block *make_packed(ml_store *s, const ml_call *c, const key *wanted, const ml_kernel *kernel,
                          const ml_tensor_def *constant) {
    const maker by = {kernel, wanted->typed->types, wanted->simd->level};
    block *b = new_block(s, wanted, constant, &by, c->env->error);
    if (!b) return NULL;
    if (!b->mapped) wanted->typed->pack(c, (void *)(uintptr_t)b->packed.bytes);
    leave_constant(s, constant);
    add(s, b);
    return b;
}

const ml_packed_weights *ml_store_packed(ml_store *s, const ml_call *c, const ml_kernel *kernel,
                                         const ml_typed *typed, const ml_tensor_def *constant,
                                         int32_t layout) {
    key wanted = {.data = constant->data,
                  .typed = typed,
                  .simd = c->env->simd,
                  .shape = &constant->shape,
                  .size = typed->pack(c, NULL),
                  .layout = layout,
                  .type = constant->type};
    if (wanted.size < 0) return NULL;
    wanted.hash = hash_of(&wanted);
    ml_os_take(&s->lock);
    block *b = find_block(s, &wanted);
    if (!b) b = make_packed(s, c, &wanted, kernel, constant);
    ml_os_give(&s->lock);
    return b ? &b->packed : NULL;
}

static block *make_widened(ml_store *s, const struct ml_simd *simd, const key *wanted,
                           const ml_tensor_def *halves, ml_error *error) {
    const maker by = {NULL, "f16", ""};
    block *b = new_block(s, wanted, halves, &by, error);
    if (!b) return NULL;
    if (!b->mapped)
        simd->widen_f16(halves->data, wanted->size / 4, (float *)(uintptr_t)b->packed.bytes);
    leave_constant(s, halves);
    add(s, b);
    return b;
}

const float *ml_store_widened(ml_store *s, const struct ml_simd *simd, const ml_tensor_def *halves,
                              ml_error *error) {
    key wanted = {.data = halves->data,
                  .shape = &halves->shape,
                  .size = 4 * ml_elements(&halves->shape),
                  .type = halves->type};
    wanted.hash = hash_of(&wanted);
    ml_os_take(&s->lock);
    block *b = find_block(s, &wanted);
    if (!b) b = make_widened(s, simd, &wanted, halves, error);
    ml_os_give(&s->lock);
    return b ? b->packed.bytes : NULL;
}

void ml_store_map(ml_store *s, const void *data, int64_t bytes) {
    s->constants = (ml_mapping){(void *)(uintptr_t)data, bytes};
}

/* Files ---------------------------------------------------------------------------------------- */

void ml_store_share_files(ml_store *of, ml_store *store) { store->files_of = of; }

void ml_store_keep(ml_store *s, const ml_file *file, int64_t model_bytes, int64_t modified) {
    ml_os_take(&s->lock);
    s->wanted = (ml_packed_head){
        .structure = ml_file_structure(file), .model_bytes = model_bytes, .modified = modified};
    s->model_bytes = file->bytes;
    s->model = file->data;
    ml_os_give(&s->lock);
}

/* Calls that go through the blocks of a store take its lock. */
#define EACH_BLOCK(s, b)                              \
    for (uint32_t at_ = 0; at_ < (s)->n_buckets; at_++) \
        for (block *b = (s)->buckets[at_]; b; b = b->next)

/* The addresses of blocks stay, so runs go on meanwhile. */
static void share_blocks(ml_store *s, const ml_packed_file *file, int32_t descriptor) {
    ml_packed_row row;
    EACH_BLOCK(s, b) {
        void *bytes = (void *)(uintptr_t)b->packed.bytes;
        if (!b->mapped_pages || b->mapped || !ml_packed_file_find(file, b->name, &row) ||
            row.bytes != b->key.size || row.at % ml_os_page_bytes() != 0)
            continue;
        const bool same = memcmp(bytes, file->data + row.at, (size_t)row.bytes) == 0;
        ml_os_leave_file(file->data + row.at, row.bytes);
        if (!same || !ml_os_map_file_over(bytes, descriptor, row.at, b->mapped_pages)) continue;
        b->mapped = true;
        s->mapped_bytes += row.bytes;
    }
}

/* Opens a file of the store's model. */
static ml_packed_file *open_file(ml_store *s, int32_t descriptor, const void *data, int64_t bytes,
                                 ml_error *error) {
    ml_packed_file *file = ml_packed_file_open(descriptor, data, bytes, error);
    if (!file || ml_packed_file_serves(file, &s->wanted, error) == ML_OK) return file;
    ml_packed_file_close(file);
    return NULL;
}

ml_status ml_store_take(ml_store *s, int32_t descriptor, const void *data, int64_t bytes,
                        ml_error *error) {
    ml_packed_file *file = open_file(s, descriptor, data, bytes, error);
    if (!file) return error->status;
    ml_packed_row row;
    ml_os_take(&s->lock);
    file->next = s->files;
    s->files = file;
    EACH_BLOCK(s, b) {
        if (!b->name || b->kept || !ml_packed_file_find(file, b->name, &row)) continue;
        b->kept = true;
        s->unkept_bytes -= b->key.size;
    }
    if (!data) share_blocks(s, file, descriptor);
    ml_os_give(&s->lock);
    return ML_OK;
}

ml_status ml_store_share(ml_store *s, int32_t descriptor, int64_t bytes, ml_error *error) {
    ml_packed_file *file = open_file(s, descriptor, NULL, bytes, error);
    if (!file) return error->status;
    ml_os_take(&s->lock);
    share_blocks(s, file, descriptor);
    ml_os_give(&s->lock);
    ml_packed_file_close(file);
    return ML_OK;
}

int64_t ml_store_mapped_bytes(ml_store *s) {
    ml_os_take(&s->lock);
    int64_t bytes = s->mapped_bytes;
    ml_os_give(&s->lock);
    return bytes;
}

static int64_t unkept_bytes(ml_store *s) {
    ml_os_take(&s->lock);
    int64_t bytes = s->unkept_bytes;
    ml_os_give(&s->lock);
    return bytes;
}

int64_t ml_graph_unkept_bytes(const ml_graph *g) {
    return unkept_bytes(g->store) + unkept_bytes(g->own);
}

/* Lists what was packed here, and counts it as kept. With `to` == NULL: only counts. */
static int64_t list_blocks(ml_store *s, ml_packed_entry *to) {
    int64_t n = 0;
    EACH_BLOCK(s, b) {
        if (!b->name || (b->mapped && !b->mapped_pages)) continue;
        if (to) {
            to[n] = (ml_packed_entry){b->name, b->packed.bytes, b->key.size};
            if (!b->kept) s->unkept_bytes -= b->key.size;
            b->kept = true;
        }
        n++;
    }
    return n;
}

static int64_t list_files(const ml_store *s, ml_packed_entry *to) {
    int64_t n = 0;
    ml_packed_row row;
    for (const ml_packed_file *file = s->files; file; file = file->next)
        for (int64_t i = 0; i < file->head.n_rows; i++) {
            if (!ml_packed_file_row(file, i, &row)) continue;
            if (to) to[n] = (ml_packed_entry){row.key, file->data + row.at, row.bytes};
            n++;
        }
    return n;
}

ml_status ml_graph_packed_image(const ml_graph *g, const char *path, int64_t path_bytes,
                                ml_packed_image *image, ml_error *error) {
    ml_store *store = g->store, *own = g->own;
    ml_os_take(&own->lock);
    ml_os_take(&store->lock);
    const int64_t most =
        list_blocks(own, NULL) + list_blocks(store, NULL) + list_files(store, NULL);
    ml_packed_entry *entries = calloc((size_t)most + 1, sizeof *entries);
    ml_status status = ML_OK;
    if (entries) {
        int64_t n = list_blocks(own, entries);
        n += list_blocks(store, entries + n);
        n += list_files(store, entries + n);
        status = ml_packed_image_make(&store->wanted, path, path_bytes, entries, n, image, error);
    } else status = ml_error_refused(error, "a file of packed weights");
    free(entries);
    ml_os_give(&store->lock);
    ml_os_give(&own->lock);
    return status;
}
