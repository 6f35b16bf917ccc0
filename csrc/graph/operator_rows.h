/* operator_rows.h -- what C knows of the operators' rows: operator_rows.c is printed from them. */
#ifndef ML_GRAPH_OPERATOR_ROWS_H
#define ML_GRAPH_OPERATOR_ROWS_H

#include "api/minilite.h"

/* How a parameter of the kernel comes of the options. */
typedef enum {
    ML_ROW_CONSTANT, /* the value at `first` */
    ML_ROW_INTEGER, /* the slot's number */
    ML_ROW_REAL,
    ML_ROW_POSITIVE, /* the slot's number, which has to be positive */
    ML_ROW_TABLE, /* by the slot's code one of the values from `first` on; NAN: it is refused */
    ML_ROW_NUMBERS, /* the slot's vector of int32; empty where it is the one value */
    ML_ROW_NOTHING /* no array */
} ml_row_how;

typedef struct ml_row_param {
    int8_t how; /* ml_row_how */
    int8_t slot; /* -1 = none */
    int16_t first; /* in ml_row_values */
    int16_t n_values;
} ml_row_param;

/* Which quantization of its operands a check lets through. */
typedef enum {
    ML_TAKES_ANY = 1,
    ML_TAKES_BARE = 2, /* no operand has a scale */
    ML_TAKES_WHOLE = 4 /* each of s8, u8 and s16 has one */
} ml_row_takes;

typedef struct ml_row_types {
    int16_t text; /* the signature, in ml_row_text */
    int8_t takes; /* ml_row_takes */
    /* Where built_in: output 0's zero point and scale, as classes of kinds.c have them. */
    int8_t zero;
    int8_t built_in; /* 0 = any */
} ml_row_types;

/* A check lets only these codes of an enum through. */
typedef struct ml_row_condition {
    int16_t slot;
    uint32_t codes; /* a bit each */
} ml_row_condition;

/* One builtin operator; versions of 0 where there is no row. */
typedef struct ml_operator_says {
    int16_t first_version;
    int16_t last_version; /* inclusive */
    int32_t traits;
    int16_t kernel; /* its name in ml_row_text; 0: Python lowers it */
    int16_t flags;
    uint8_t least_inputs;
    uint8_t most_inputs; /* 255 = any number */
    int16_t first_param; /* in the order of the kernel's fields */
    int16_t n_params;
    int16_t first_types;
    int16_t n_types;
    int16_t first_condition;
    int16_t n_conditions;
} ml_operator_says;

extern const char ml_row_text[];
extern const double ml_row_values[];
extern const ml_row_param ml_row_params[];
extern const ml_row_types ml_row_signatures[];
extern const ml_row_condition ml_row_conditions[];
extern const ml_operator_says ml_operator_rows[]; /* by BuiltinOperator */
extern const int32_t ml_n_operator_rows;

/* The row of a builtin operator in this version, NULL if there is none. */
const ml_operator_says *ml_operator_row_of(int32_t op, int32_t version);

#endif
