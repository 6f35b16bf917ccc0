/* flatbuffer.h -- reads tables in flatbuffer bytes; every offset, length and code is checked
 * first. */
#ifndef ML_FORMAT_FLATBUFFER_H
#define ML_FORMAT_FLATBUFFER_H

#include <string.h>

#include "format/schema.h"

/* Limit on the bytes read from a file: this many per byte of the file, plus a constant. Tables may
 * be shared and are counted each time, so a small file could otherwise expand without bound. */
enum { ML_UNFOLDED_PER_BYTE = 4, ML_UNFOLDED_ANYWAY = 1 << 16, ML_UNFOLDED_PER_TABLE = 16 };
enum { ML_LAYOUTS = 64 };

/* A vtable that has been checked for tables of one kind. */
typedef struct ml_layout {
    uint64_t key; /* of vtable and kind; 0 = no layout */
    int32_t end; /* bytes from the table's start to the end of its last field */
    uint16_t places[ML_MOST_SLOTS];
} ml_layout;

typedef struct ml_reader {
    const uint8_t *data;
    int64_t bytes;
    int64_t unfolded; /* bytes that were read or copied; shared tables count each time */
    ml_file_error *error;
    const char *part; /* prefix for errors, with one %d: "signature %d: "; or NULL */
    int32_t part_number;
    ml_layout layouts[ML_LAYOUTS]; /* most tables share a few vtables */
} ml_reader;

/* A table whose vtable is known and whose own bytes lie within the file. */
typedef struct ml_table {
    int64_t at;
    int32_t number; /* ml_table_number */
    uint16_t places[ML_MOST_SLOTS]; /* bytes from its start; 0 = absent */
} ml_table;

/* The elements of a vector, within the file; position 0 when absent. */
typedef struct ml_vector {
    int64_t at;
    int64_t count;
} ml_vector;

void ml_reader_init(ml_reader *r, const void *data, int64_t bytes, ml_file_error *error);
/* Refuse the file. _beyond: because it ends before byte `reach`. Both return ML_GRAPH_ERROR. */
ml_status ml_refuse(ml_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
ml_status ml_refuse_beyond(ml_reader *r, int64_t reach, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Adds to the bytes read (r->unfolded), and refuses the file above the limit. */
ml_status ml_unfold(ml_reader *r, int64_t bytes, int32_t table, int32_t slot);

ml_status ml_open_table(ml_reader *r, int32_t number, int64_t at, ml_table *table);
int64_t ml_slot_integer(const ml_reader *r, const ml_table *t, int32_t slot);
ml_status ml_slot_vector(ml_reader *r, const ml_table *t, int32_t slot, ml_vector *vector);
/* The same, but short texts are not added to the bytes read: they cost no more than their table. */
ml_status ml_slot_text(ml_reader *r, const ml_table *t, int32_t slot, ml_span *text);
ml_status ml_slot_scalars(ml_reader *r, const ml_table *t, int32_t slot, ml_vector *vector);
ml_status ml_slot_tables(ml_reader *r, const ml_table *t, int32_t slot, ml_vector *vector);
/* The position of a table, or of a union's table; 0 when absent. It is checked when it is
 * opened. */
int64_t ml_slot_table(const ml_reader *r, const ml_table *t, int32_t slot);
/* The values of all slots; enums and unions are checked. With `deep`, everything that they refer to
 * is read as well, recursively. */
ml_status ml_read_values(ml_reader *r, const ml_table *t, ml_slot_value *values, bool deep);
/* Refuses a code unless it is one of `n` values, whose names are separated by spaces. */
ml_status ml_check_code(ml_reader *r, const ml_table *t, int32_t slot, int64_t code, int32_t n,
                        const char *names);

static inline uint32_t ml_u32_at(const ml_reader *r, int64_t at) {
    uint32_t value;
    memcpy(&value, r->data + at, sizeof value);
    return value;
}

static inline int64_t ml_s64_at(const ml_reader *r, int64_t at) {
    int64_t value;
    memcpy(&value, r->data + at, sizeof value);
    return value;
}

/* The position of table `i` of a vector of tables. */
static inline int64_t ml_vector_table(const ml_reader *r, const ml_vector *v, int64_t i) {
    return v->at + 4 * i + ml_u32_at(r, v->at + 4 * i);
}

#endif
