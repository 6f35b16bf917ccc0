/* schema.h -- types of the generated tables of the file format (schema_tables.c). */
#ifndef ML_FORMAT_SCHEMA_H
#define ML_FORMAT_SCHEMA_H

#include "format/schema_tables.h"
#include "api/minilite.h"

typedef enum {
    ML_FORM_SCALAR,
    ML_FORM_ENUM,
    ML_FORM_STRING,
    ML_FORM_SCALARS, /* a vector of scalars */
    ML_FORM_ENUMS,
    ML_FORM_TABLE,
    ML_FORM_TABLES,
    ML_FORM_UNION /* the slot before it holds the number of the union's member */
} ml_form;

typedef struct ml_schema_slot {
    const char *name; /* "" when deprecated */
    uint8_t form; /* ml_form */
    /* type of the scalar or of a vector's elements, as in Python's struct module: ? b B H i I q Q
     * f */
    char code;
    int16_t of; /* number of the slot's enum, union or table */
    double preset; /* default of an absent scalar */
} ml_schema_slot;

typedef struct ml_schema_table {
    const char *name;
    int16_t first_slot;
    int16_t n_slots;
} ml_schema_table;

typedef struct ml_schema_enum {
    int32_t n_values;
    const char *values; /* names of the values, separated by spaces */
} ml_schema_enum;

typedef struct ml_schema_union {
    int32_t n_members;
    const int16_t *tables; /* by member, -1 for NONE */
    const char *members;
} ml_schema_union;

typedef struct ml_schema_operator {
    int16_t table; /* table of its options; -1 = none */
    int16_t slot; /* slot of Operator that holds the options */
    int16_t member;
    int16_t name_at; /* of its name, in the names of the enum's values */
    int16_t name_bytes;
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

/* Size in bytes of the scalar with that code. */
static inline int32_t ml_code_bytes(char code) {
    switch (code) {
    case '?':
    case 'b':
    case 'B': return 1;
    case 'H': return 2;
    case 'q':
    case 'Q': return 8;
    default: return 4;
    }
}

#endif
