/* schema.h -- what the generated tables of the file format look like to those who read by them. */
#ifndef ML_FORMAT_SCHEMA_H
#define ML_FORMAT_SCHEMA_H

#include "format/schema_tables.h"
#include "api/minilite.h"

typedef enum {
    ML_FORM_SCALAR,
    ML_FORM_ENUM,
    ML_FORM_STRING,
    ML_FORM_SCALARS, /* a vector of them */
    ML_FORM_ENUMS,
    ML_FORM_TABLE,
    ML_FORM_TABLES,
    ML_FORM_UNION /* the slot before it holds the number of the member */
} ml_form;

typedef struct ml_schema_slot {
    const char *name; /* "" when deprecated */
    uint8_t form; /* ml_form */
    char code; /* of it or of a vector's elements, by Python's struct: ? b B h H i I q Q f d */
    int16_t of; /* number of its enum, union or table */
    double preset; /* what an absent scalar means */
} ml_schema_slot;

typedef struct ml_schema_table {
    const char *name;
    int16_t first_slot;
    int16_t n_slots;
} ml_schema_table;

typedef struct ml_schema_enum {
    int32_t n_values;
    const char *values; /* by number, with spaces between */
} ml_schema_enum;

typedef struct ml_schema_union {
    int32_t n_members;
    const int16_t *tables; /* by member, -1 for NONE */
    const char *members;
} ml_schema_union;

typedef struct ml_schema_operator {
    int16_t table; /* its options; -1 = none */
    int16_t slot; /* of Operator, for the union that holds them */
    int16_t member;
} ml_schema_operator;

extern const ml_schema_slot ml_schema_slots[];
extern const ml_schema_table ml_schema_tables[ML_TABLES];
extern const ml_schema_enum ml_schema_enums[];
extern const ml_schema_union ml_schema_unions[];
extern const ml_schema_operator ml_schema_operators[]; /* by BuiltinOperator */
extern const int32_t ml_schema_n_operators;

static inline const ml_schema_slot *ml_schema_slot_at(int32_t table, int32_t slot) {
    return &ml_schema_slots[ml_schema_tables[table].first_slot + slot];
}

/* Bytes of the scalar that a code stands for. */
static inline int32_t ml_code_bytes(char code) {
    switch (code) {
    case '?':
    case 'b':
    case 'B': return 1;
    case 'h':
    case 'H': return 2;
    case 'q':
    case 'Q':
    case 'd': return 8;
    default: return 4;
    }
}

#endif
