/* packed_file.c -- checks, finds and lays out packed weights in a file. */
#include "graph/packed_file.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/hash.h"
#include "core/shape.h"
#include "os/os.h"

static const char MARK[8] = {'M', 'L', 'P', 'A', 'C', 'K', 'E', 'D'};
enum { LINE = 64 };
_Static_assert(sizeof(ml_packed_head) == 128 && sizeof(ml_packed_row) == 32,
               "heads and rows have no gaps");

uint64_t ml_packed_build(void) {
    return
#include "build.def"
        ;
}

uint64_t ml_packed_name(const char *path, int64_t path_bytes) {
    return ml_hash(ml_packed_build(), path, path_bytes);
}

/* Checks --------------------------------------------------------------------------------------- */

static const ml_packed_row *rows_of(const void *data) {
    return (const ml_packed_row *)(const void *)((const uint8_t *)data + sizeof(ml_packed_head));
}

/* Bytes before the weights, without zeros; the caller knows that they do not overflow. */
static int64_t front_bytes(const ml_packed_head *head) {
    return (int64_t)sizeof *head + head->n_rows * (int64_t)sizeof(ml_packed_row) + head->path_bytes;
}

static uint64_t checksum_of_front(const void *data, const ml_packed_head *head) {
    ml_packed_head bare = *head;
    bare.checksum = 0;
    const uint64_t hash = ml_hash(ML_HASH_START, &bare, (int64_t)sizeof bare);
    return ml_hash(hash, rows_of(data), front_bytes(head) - (int64_t)sizeof *head);
}

static ml_status check_head(const void *data, int64_t bytes, ml_packed_head *copy,
                            ml_error *error) {
    if (bytes < (int64_t)sizeof(ml_packed_head))
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "the file has %lld bytes, packed weights have %lld or more",
                            (long long)bytes, (long long)sizeof(ml_packed_head));
    memcpy(copy, data, sizeof *copy);
    const ml_packed_head head = *copy;
    if (memcmp(head.mark, MARK, sizeof MARK) != 0)
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "byte 0 to 7 are not 'MLPACKED', with which packed weights begin");
    if (head.build != ml_packed_build())
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "it is of build %016llx of minilite, this one is %016llx",
                            (unsigned long long)head.build, (unsigned long long)ml_packed_build());
    if (head.bytes != bytes)
        return ml_error_set(error, ML_GRAPH_ERROR, "the file has %lld bytes, its head says %lld",
                            (long long)bytes, (long long)head.bytes);
    const int64_t room = bytes - (int64_t)sizeof head;
    if (head.n_rows < 0 || head.n_rows > room / (int64_t)sizeof(ml_packed_row) ||
        head.path_bytes < 0 ||
        head.path_bytes > room - head.n_rows * (int64_t)sizeof(ml_packed_row))
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "its head says %lld rows and a path of %lld bytes, the file has %lld",
                            (long long)head.n_rows, (long long)head.path_bytes, (long long)bytes);
    if (checksum_of_front(data, &head) != head.checksum)
        return ml_error_set(
            error, ML_GRAPH_ERROR, "bytes 0 to %lld do not have the checksum at byte %d",
            (long long)front_bytes(&head) - 1, (int)offsetof(ml_packed_head, checksum));
    return ML_OK;
}

static bool lies_within(const ml_packed_row *row, int64_t front, int64_t bytes) {
    return row->at >= front && row->at % LINE == 0 && row->bytes >= 0 && row->at <= bytes &&
           row->bytes <= bytes - row->at;
}

/* Leaves a copy of the head, because who writes to the file also writes to what is mapped. */
static ml_status check(const void *data, int64_t bytes, bool all, ml_packed_head *head,
                       ml_error *error) {
    const ml_status status = check_head(data, bytes, head, error);
    if (status != ML_OK) return status;
    const ml_packed_row *rows = rows_of(data);
    for (int64_t i = 0; i < head->n_rows; i++) {
        const ml_packed_row row = rows[i];
        if (!lies_within(&row, front_bytes(head), bytes))
            return ml_error_set(
                error, ML_GRAPH_ERROR, "row %lld is of %lld bytes at byte %lld, the file has %lld",
                (long long)i, (long long)row.bytes, (long long)row.at, (long long)bytes);
        if (i > 0 && row.key <= rows[i - 1].key)
            return ml_error_set(error, ML_GRAPH_ERROR, "row %lld is not in the order of keys",
                                (long long)i);
        if (all &&
            ml_hash(ML_HASH_START, (const uint8_t *)data + row.at, row.bytes) != row.checksum)
            return ml_error_set(
                error, ML_GRAPH_ERROR, "bytes %lld to %lld do not have the checksum of row %lld",
                (long long)row.at, (long long)(row.at + row.bytes - 1), (long long)i);
    }
    return ML_OK;
}

ml_status ml_packed_check(const void *data, int64_t bytes, int32_t all, ml_error *error) {
    ml_packed_head head;
    return check(data, bytes, all != 0, &head, error);
}

/* A file that is read -------------------------------------------------------------------------- */

static ml_status obtain(ml_packed_file *file, int32_t descriptor, const void *data, int64_t bytes,
                        ml_error *error) {
    if (data) {
        file->data = file->copy = ml_os_allocate(bytes);
        if (!file->copy) return ml_error_memory(error, "a copy of packed weights", bytes, 0);
        memcpy(file->copy, data, (size_t)bytes);
    } else if (bytes > 0 && ml_os_map_file(&file->mapping, descriptor, bytes))
        file->data = file->mapping.data;
    else return ml_error_set(error, ML_ARENA_ERROR, "the file cannot be mapped");
    file->bytes = bytes;
    return check(file->data, bytes, false, &file->head, error);
}

ml_packed_file *ml_packed_file_open(int32_t descriptor, const void *data, int64_t bytes,
                                    ml_error *error) {
    ml_packed_file *file = calloc(1, sizeof *file);
    if (!file) {
        ml_error_refused(error, "a file of packed weights");
        return NULL;
    }
    if (obtain(file, descriptor, data, bytes, error) != ML_OK) {
        ml_packed_file_close(file);
        return NULL;
    }
    return file;
}

ml_status ml_packed_file_serves(const ml_packed_file *file, const ml_packed_head *wanted,
                                ml_error *error) {
    const ml_packed_head head = file->head;
    if (head.model_bytes != wanted->model_bytes || head.modified != wanted->modified)
        return ml_error_set(
            error, ML_GRAPH_ERROR,
            "it is of a model of %lld bytes, modified at %lld ns, this one has %lld, and %lld",
            (long long)head.model_bytes, (long long)head.modified, (long long)wanted->model_bytes,
            (long long)wanted->modified);
    if (head.structure != wanted->structure)
        return ml_error_set(
            error, ML_GRAPH_ERROR, "it is of a model of structure %016llx, this one's is %016llx",
            (unsigned long long)head.structure, (unsigned long long)wanted->structure);
    return ML_OK;
}

bool ml_packed_file_row(const ml_packed_file *file, int64_t i, ml_packed_row *row) {
    *row = rows_of(file->data)[i];
    return lies_within(row, front_bytes(&file->head), file->bytes);
}

bool ml_packed_file_find(const ml_packed_file *file, uint64_t key, ml_packed_row *row) {
    const ml_packed_row *rows = rows_of(file->data);
    int64_t low = 0, high = file->head.n_rows;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (rows[middle].key < key) low = middle + 1;
        else high = middle;
    }
    return low < file->head.n_rows && ml_packed_file_row(file, low, row) && row->key == key;
}

void ml_packed_file_close(ml_packed_file *file) {
    if (!file) return;
    ml_os_unmap_file(&file->mapping);
    ml_os_free(file->copy);
    free(file);
}

/* A file that is written ----------------------------------------------------------------------- */

static int by_key(const void *first, const void *second) {
    const ml_packed_entry *a = first, *b = second;
    return a->key < b->key ? -1 : a->key > b->key;
}

static int64_t without_repeats(ml_packed_entry *entries, int64_t n) {
    int64_t left = 0;
    qsort(entries, (size_t)n, sizeof *entries, by_key);
    for (int64_t i = 0; i < n; i++)
        if (left == 0 || entries[i].key != entries[left - 1].key) entries[left++] = entries[i];
    return left;
}

/* Puts zeros after the last piece, up to a multiple of `alignment`, which it returns. */
static int64_t align(ml_packed_image *image, int64_t alignment) {
    if (image->n_pieces == 0) return 0;
    ml_packed_piece *last = &image->pieces[image->n_pieces - 1];
    const int64_t end = last->at + last->bytes, at = ml_round_up(end, alignment);
    last->zeros = at - end;
    return at;
}

static int64_t put_piece(ml_packed_image *image, const void *data, int64_t bytes,
                         int64_t alignment) {
    const int64_t at = align(image, alignment);
    image->pieces[image->n_pieces++] = (ml_packed_piece){data, bytes, at, 0};
    return at;
}

/* Puts the small weights side by side, because all of them are read, and then the large ones. */
static void put_weights(ml_packed_image *image, const ml_packed_entry *entries, int64_t n_entries,
                        ml_packed_row *rows) {
    for (int large = 0; large <= 1; large++)
        for (int64_t i = 0; i < n_entries; i++) {
            const ml_packed_entry *e = &entries[i];
            if ((e->bytes >= ML_PACKED_LARGE) != large) continue;
            const int64_t at =
                put_piece(image, e->data, e->bytes, large ? ml_os_page_bytes() : LINE);
            rows[i] =
                (ml_packed_row){e->key, at, e->bytes, ml_hash(ML_HASH_START, e->data, e->bytes)};
        }
}

ml_status ml_packed_image_make(const ml_packed_head *of, const char *path, int64_t path_bytes,
                               ml_packed_entry *entries, int64_t n_entries, ml_packed_image *image,
                               ml_error *error) {
    ml_packed_head head = *of;
    memcpy(head.mark, MARK, sizeof MARK);
    head.build = ml_packed_build();
    head.n_rows = without_repeats(entries, n_entries);
    head.path_bytes = path_bytes;
    const int64_t front = front_bytes(&head);
    image->pieces = calloc((size_t)head.n_rows + 1, sizeof *image->pieces);
    image->head = ml_os_allocate(front);
    if (!image->pieces || !image->head) {
        ml_packed_image_free(image);
        return ml_error_refused(error, "a file of packed weights");
    }
    ml_packed_row *rows = (ml_packed_row *)(uintptr_t)rows_of(image->head);
    put_piece(image, image->head, front, LINE);
    put_weights(image, entries, head.n_rows, rows);
    memcpy(rows + head.n_rows, path, (size_t)path_bytes);
    head.bytes = align(image, LINE);
    head.checksum = checksum_of_front(image->head, &head);
    memcpy(image->head, &head, sizeof head);
    return ML_OK;
}

void ml_packed_image_free(ml_packed_image *image) {
    free(image->pieces);
    ml_os_free(image->head);
    *image = (ml_packed_image){0};
}
