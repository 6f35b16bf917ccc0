/* densify.c -- makes a sparse constant dense, as DENSIFY does: stored values go to their places,
 * zeros elsewhere.
 *
 * The sparse form is TFLite's generalization of compressed rows and blocks: a level for each
 * dimension and each dimension of blocks, in the order of traversal. An entry of a level has so
 * many entries in the next one, a fixed number (DENSE) or those that segments and indices say
 * (SPARSE_CSR).
 *
 * Whatever does not fit the shape is left to the numpy reference, which says why. */
#include "format/flatbuffer.h"
#include "graph/lower.h"

enum { MOST_LEVELS = 2 * ML_MAX_RANK, VISITS_PER_VALUE = 8, VISITS_ANYWAY = 1 << 16 };

/* A vector of int32, uint16 or uint8, somewhere in the file. */
typedef struct numbers {
    const uint8_t *at;
    int64_t count;
    int32_t bytes; /* of one */
} numbers;

typedef struct level {
    bool is_dense;
    int64_t entries; /* of each entry above, if dense */
    numbers segments;
    numbers indices;
    int64_t size; /* places along the dimension */
    int64_t stride; /* elements of the dense array from place to place */
} level;

typedef struct sparse {
    level levels[MOST_LEVELS];
    int32_t n_levels;
    int32_t each; /* bytes of a value */
    int64_t visits_left;
    const uint8_t *stored;
    int64_t left; /* values that have no place yet */
    uint8_t *dense;
} sparse;

static int64_t number_at(const numbers *n, int64_t i) {
    const uint8_t *at = n->at + i * n->bytes;
    int32_t wide;
    uint16_t middle;
    if (n->bytes == 1) return *at;
    if (n->bytes == sizeof middle) return memcpy(&middle, at, sizeof middle), middle;
    return memcpy(&wide, at, sizeof wide), wide;
}

/* The sparse form ------------------------------------------------------------------------------ */

static bool read_vector(ml_reader *r, const ml_table *t, int32_t slot, int32_t bytes,
                        numbers *found) {
    ml_vector v;
    if (ml_slot_vector(r, t, slot, &v) != ML_OK) return false;
    *found = (numbers){r->data + v.at, v.count, bytes};
    return true;
}

/* The vector in the table of a union of vectors, whose type is in the slot before. */
static bool read_indices(ml_reader *r, const ml_table *t, int32_t slot, numbers *found) {
    static const int32_t bytes[] = {0, 4, 2, 1};
    const int64_t member = ml_slot_integer(r, t, slot - 1), at = ml_slot_table(r, t, slot);
    ml_table vector;
    if (member < 1 || member > 3 || !at) return false;
    const int32_t table = ml_schema_unions[ML_UNION_SparseIndexVector].tables[member];
    return ml_open_table(r, table, at, &vector) == ML_OK &&
           read_vector(r, &vector, ML_SLOT_Int32Vector_values, bytes[member], found);
}

static bool read_level(ml_reader *r, int64_t at, level *to) {
    ml_table t;
    if (ml_open_table(r, ML_TABLE_DimensionMetadata, at, &t) != ML_OK) return false;
    *to = (level){.is_dense = ml_slot_integer(r, &t, ML_SLOT_DimensionMetadata_format) ==
                              ML_DimensionType_DENSE,
                  .entries = ml_slot_integer(r, &t, ML_SLOT_DimensionMetadata_dense_size)};
    if (to->is_dense) return to->entries >= 0;
    return read_indices(r, &t, ML_SLOT_DimensionMetadata_array_segments, &to->segments) &&
           read_indices(r, &t, ML_SLOT_DimensionMetadata_array_indices, &to->indices);
}

/* Sizes and strides by dimension, and after these by dimension of blocks. A dimension that is cut
 * into blocks counts blocks. */
typedef struct steps {
    int64_t size[MOST_LEVELS];
    int64_t stride[MOST_LEVELS];
} steps;

/* The level of each dimension; false if the order of traversal lacks one. */
static bool invert(const numbers *order, int32_t n, int32_t *level_of) {
    for (int32_t d = 0; d < n; d++) level_of[d] = -1;
    for (int32_t i = 0; i < n; i++) {
        const int64_t d = number_at(order, i);
        if (d < 0 || d >= n || level_of[d] >= 0) return false;
        level_of[d] = i;
    }
    return true;
}

static bool find_steps(sparse *s, const ml_shape *shape, const numbers *order,
                       const numbers *blocks) {
    const int32_t rank = shape->rank;
    int32_t level_of[MOST_LEVELS];
    steps all;
    if (!invert(order, s->n_levels, level_of)) return false;
    for (int32_t d = rank - 1; d >= 0; d--) {
        all.size[d] = shape->dims[d];
        all.stride[d] = d == rank - 1 ? 1 : all.stride[d + 1] * shape->dims[d + 1];
    }
    for (int32_t b = 0; b < blocks->count; b++) {
        const int64_t d = number_at(blocks, b), size = s->levels[level_of[rank + b]].entries;
        if (d < 0 || d >= rank || size < 1 || size > all.size[d]) return false;
        all.size[rank + b] = size;
        all.stride[rank + b] = all.stride[d];
        all.size[d] /= size;
        all.stride[d] *= size;
    }
    for (int32_t d = 0; d < s->n_levels; d++) {
        level *to = &s->levels[level_of[d]];
        to->size = all.size[d];
        to->stride = all.stride[d];
        if (to->is_dense && to->entries > to->size) return false;
    }
    return true;
}

static bool read_form(ml_reader *r, int64_t at, const ml_shape *shape, sparse *s) {
    ml_table t;
    numbers order, blocks;
    ml_vector levels;
    if (ml_open_table(r, ML_TABLE_SparsityParameters, at, &t) != ML_OK ||
        !read_vector(r, &t, ML_SLOT_SparsityParameters_traversal_order, 4, &order) ||
        !read_vector(r, &t, ML_SLOT_SparsityParameters_block_map, 4, &blocks) ||
        ml_slot_vector(r, &t, ML_SLOT_SparsityParameters_dim_metadata, &levels) != ML_OK)
        return false;
    if (levels.count > MOST_LEVELS || order.count != levels.count ||
        levels.count != shape->rank + blocks.count)
        return false;
    s->n_levels = (int32_t)levels.count;
    for (int32_t i = 0; i < s->n_levels; i++)
        if (!read_level(r, ml_vector_table(r, &levels, i), &s->levels[i])) return false;
    return find_steps(s, shape, &order, &blocks);
}

/* Values --------------------------------------------------------------------------------------- */

static void put_value(sparse *s, int64_t at) {
    if (s->each == 2) memcpy(s->dense + 2 * at, s->stored, 2);
    else memcpy(s->dense + at * s->each, s->stored, (size_t)s->each);
    s->stored += s->each;
    s->left--;
}

/* The first entry that an entry of the level above has, and how many; false if it states none of
 * the file's. */
static bool find_entries(const level *l, int64_t entry, int64_t *first, int64_t *count) {
    *first = (int64_t)((uint64_t)entry * (uint64_t)l->entries);
    *count = l->entries;
    if (l->is_dense) return true;
    if (entry < 0 || entry + 1 >= l->segments.count) return false;
    *first = number_at(&l->segments, entry);
    *count = number_at(&l->segments, entry + 1) - *first;
    return *first >= 0 && *count >= 0 && *first + *count <= l->indices.count;
}

/* Stores values from the position `flat` on, those of an entry of the level above; false where the
 * form does not fit. */
static bool put_values(sparse *s, int32_t depth, int64_t entry, int64_t flat) {
    const level *l = &s->levels[depth];
    const bool is_last = depth + 1 == s->n_levels;
    int64_t first, count;
    if (!find_entries(l, entry, &first, &count)) return false;
    s->visits_left -= count + 1;
    if (s->visits_left < 0 || (is_last && count > s->left)) return false;
    for (int64_t i = 0; i < count; i++) {
        const int64_t place = l->is_dense ? i : number_at(&l->indices, first + i);
        if (place < 0 || place >= l->size) return false;
        const int64_t at = flat + place * l->stride,
                      next = (int64_t)((uint64_t)first + (uint64_t)i);
        if (is_last) put_value(s, at);
        else if (!put_values(s, depth + 1, next, at)) return false;
    }
    return true;
}

ml_status ml_lowering_densify(lowering *l, int64_t sparsity_at, const ml_tensor_def *x,
                              ml_tensor_def *y, bool *done, ml_error *error) {
    const ml_file *file = l->shown.file;
    const int64_t each = ml_type_bytes(x->type), dense = ml_elements(&x->shape) * each;
    ml_file_error unused;
    ml_reader r;
    *done = false;
    if (each < 1 || x->type == ML_STRING || dense < 0 || dense > l->shown.dense_left ||
        x->bytes % each)
        return ML_OK;
    sparse s = {.each = (int32_t)each, .stored = x->data, .left = x->bytes / each};
    s.visits_left = VISITS_PER_VALUE * s.left + VISITS_ANYWAY;
    ml_reader_init(&r, file->data, file->bytes, &unused);
    if (!read_form(&r, sparsity_at, &x->shape, &s) || s.n_levels == 0) return ML_OK;
    s.dense = ml_lowering_keep(l, dense, error);
    if (!s.dense) return error->status;
    if (!put_values(&s, 0, 0, 0) || s.left > 0) return ML_OK;
    l->shown.dense_left -= dense;
    y->data = s.dense;
    y->bytes = dense;
    y->shape = x->shape;
    y->flags &= ~(ML_TENSOR_OF_FILE | ML_TENSOR_SPARSE);
    *done = true;
    return ML_OK;
}
