/* shape.c -- element types and shapes, as sizes and as text. */
#include "core/shape.h"

#include <stdio.h>

typedef struct type_row {
    const char *name;
    int32_t bits;
} type_row;

static const type_row types[] = {
    [ML_F32] = {"f32", 32},        [ML_F16] = {"f16", 16},
    [ML_S32] = {"s32", 32},        [ML_U8] = {"u8", 8},
    [ML_S64] = {"s64", 64},        [ML_STRING] = {"string", 0},
    [ML_B8] = {"b8", 8},           [ML_S16] = {"s16", 16},
    [ML_C64] = {"c64", 64},        [ML_S8] = {"s8", 8},
    [ML_F64] = {"f64", 64},        [ML_C128] = {"c128", 128},
    [ML_U64] = {"u64", 64},        [ML_RESOURCE] = {"resource", 32},
    [ML_VARIANT] = {"variant", 0}, [ML_U32] = {"u32", 32},
    [ML_U16] = {"u16", 16},        [ML_S4] = {"s4", 4},
    [ML_BF16] = {"bf16", 16},      [ML_S2] = {"s2", 2},
    [ML_U4] = {"u4", 4},
};
enum { TYPES = sizeof types / sizeof types[0] };

int64_t ml_type_bits(int32_t type) { return type >= 0 && type < TYPES ? types[type].bits : 0; }

const char *ml_type_name(int32_t type) {
    return type >= 0 && type < TYPES ? types[type].name : "?";
}

int32_t ml_type_named(const char *name, size_t length) {
    for (int32_t t = 0; t < TYPES; t++)
        if (strlen(types[t].name) == length && memcmp(types[t].name, name, length) == 0) return t;
    return -1;
}

const char *ml_shape_text(const ml_shape *shape, char text[96]) {
    int used = snprintf(text, 96, "(");
    for (int32_t i = 0; i < shape->rank && used < 80; i++)
        used += snprintf(text + used, (size_t)(96 - used), i ? ", %d" : "%d", shape->dims[i]);
    snprintf(text + used, (size_t)(96 - used), ")");
    return text;
}
