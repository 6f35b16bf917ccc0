/* flatbuffer.h -- tables in flatbuffer bytes: every offset, length and code is checked first. */
#ifndef ML_FORMAT_FLATBUFFER_H
#define ML_FORMAT_FLATBUFFER_H

#include <string.h>

#include "format/schema.h"

/* A file may unfold to this many bytes, so many a byte of the file and some: parts may be shared,
 * but not without bound. */
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
    int64_t unfolded; /* bytes that were read or copied, those of shared parts each time */
    ml_file_error *error;
    const char *part; /* stands before errors, a format of one number: "signature %d: "; or NULL */
    int32_t part_number;
    ml_layout layouts[ML_LAYOUTS]; /* most tables share a few vtables */
} ml_reader;

/* A table whose vtable is known and whose own bytes lie within the file. */
typedef struct ml_table {
    int64_t at;
    int32_t number; /* ml_table_number */
    uint16_t places[ML_MOST_SLOTS]; /* bytes from its start; 0 = absent */
} ml_table;

/* The elements of a vector, within the file; at 0 when absent. */
typedef struct ml_vector {
    int64_t at;
    int64_t count;
} ml_vector;

void ml_reader_init(ml_reader *r, const void *data, int64_t bytes, ml_file_error *error);
/* Refuses the file; _beyond when it ends before the byte `reach`. Both return ML_GRAPH_ERROR. */
ml_status ml_refuse(ml_reader *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
ml_status ml_refuse_beyond(ml_reader *r, int64_t reach, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Counts bytes as unfolded. */
ml_status ml_unfold(ml_reader *r, int64_t bytes, int32_t table, int32_t slot);

ml_status ml_open_table(ml_reader *r, int32_t number, int64_t at, ml_table *table);
int64_t ml_slot_integer(const ml_reader *r, const ml_table *t, int32_t slot);
ml_status ml_slot_vector(ml_reader *r, const ml_table *t, int32_t slot, ml_vector *vector);
/* The same, counted as unfolded from some length on: what is small costs no more than the table
 * that names it. */
ml_status ml_slot_text(ml_reader *r, const ml_table *t, int32_t slot, ml_span *text);
ml_status ml_slot_scalars(ml_reader *r, const ml_table *t, int32_t slot, ml_vector *vector);
ml_status ml_slot_tables(ml_reader *r, const ml_table *t, int32_t slot, ml_vector *vector);
/* Where the table (or a union's) lies; 0 when absent. Opening it checks it. */
int64_t ml_slot_table(const ml_reader *r, const ml_table *t, int32_t slot);
/* All slots as values, enums and unions checked; with `deep`, what lies behind the offsets, too,
 * down to the last. */
ml_status ml_read_values(ml_reader *r, const ml_table *t, ml_slot_value *values, bool deep);
/* Refuses a code that is not one of `n` names, which are listed with spaces between. */
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
