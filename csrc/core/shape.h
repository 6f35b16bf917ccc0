/* shape.h -- shapes, element types and arithmetic that cannot overflow. All rooms and kernels of
 * users include it, so everything is inline. */
#ifndef ML_CORE_SHAPE_H
#define ML_CORE_SHAPE_H

#include <stdio.h>
#include <string.h>

#include "api/minilite.h"

static inline int64_t ml_min_s64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t ml_max_s64(int64_t a, int64_t b) { return a > b ? a : b; }

/* The number of parts of d that a whole of n has; the last may be smaller. n >= 0, d > 0, and n + d
 * fits. */
static inline int64_t ml_ceil_div(int64_t n, int64_t d) { return (n + d - 1) / d; }

/* The size of parts of n > 0: as few as can be with at most `most` each, and as even. Parts that
 * are each the even part of what is left are as few, and their sizes differ by at most 1. */
static inline int64_t ml_even_part(int64_t n, int64_t most) {
    return n <= most ? n : ml_ceil_div(n, ml_ceil_div(n, most));
}

/* Up to a multiple of `alignment`, a power of two; bytes <= INT64_MAX - alignment. */
static inline int64_t ml_round_up(int64_t bytes, int64_t alignment) {
    return (bytes + alignment - 1) & -alignment;
}

/* Elements of a shape of at most four dimensions, each from 0 to 2^14 - 1: so few need no checks.
 * -1 for other shapes. */
static inline int64_t ml_few_elements(const ml_shape *shape) {
    uint64_t total = 1, bits = 0;
    if (shape->rank > 4) return -1;
    for (int32_t i = 0; i < shape->rank; i++) {
        bits |= (uint64_t)shape->dims[i];
        total *= (uint64_t)shape->dims[i];
    }
    return bits >> 14 == 0 ? (int64_t)total : -1;
}

/* Elements of a shape, or -1 if there are more than INT64_MAX / 64. An empty dimension counts as 1
 * there, as in numpy: so no product of dimensions overflows, of empty shapes either. */
static inline int64_t ml_elements(const ml_shape *shape) {
    const int64_t few = ml_few_elements(shape);
    if (few >= 0) return few;
    int64_t total = 1;
    bool empty = false;
    for (int32_t i = 0; i < shape->rank; i++) {
        if (shape->dims[i] == 0) empty = true;
        else if (__builtin_mul_overflow(total, (int64_t)shape->dims[i], &total) ||
                 total > INT64_MAX / 64)
            return -1;
    }
    return empty ? 0 : total;
}

static inline bool ml_same_shape(const ml_shape *a, const ml_shape *b) {
    if (a->rank != b->rank) return false;
    for (int32_t d = 0; d < a->rank; d++)
        if (a->dims[d] != b->dims[d]) return false;
    return true;
}

/* A type's name in signatures of kernels, and its bits per element; 0 for types of no fixed
 * size. */
typedef struct ml_type_row {
    const char *name;
    int32_t bits;
} ml_type_row;

/* NULL if `type` is not the number of a type. */
static inline const ml_type_row *ml_type_row_of(int32_t type) {
    static const ml_type_row rows[] = {
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
        [ML_U4] = {"u4", 4},           [ML_F8E4M3] = {"f8e4m3", 8},
        [ML_F8E5M2] = {"f8e5m2", 8},
    };
    return type >= 0 && type < (int32_t)(sizeof rows / sizeof rows[0]) ? &rows[type] : NULL;
}

/* Bits per element, packed types included; 0 for strings and other types of no fixed size. */
static inline int64_t ml_type_bits(int32_t type) {
    const ml_type_row *row = ml_type_row_of(type);
    return row ? row->bits : 0;
}
/* Whole bytes per element; 0 for types of no fixed size and for those packed below a byte. */
static inline int64_t ml_type_bytes(int32_t type) { return ml_type_bits(type) / 8; }
/* Bytes of `elements` (>= 0) of a type; packed types round up. */
static inline int64_t ml_bytes_of(int64_t elements, int32_t type) {
    int64_t bits = ml_type_bits(type);
    return bits >= 8 ? elements * (bits / 8) : ml_ceil_div(elements * bits, 8);
}
/* "f32": a type's name in signatures of kernels; "?" if there is no such type. */
static inline const char *ml_type_name(int32_t type) {
    const ml_type_row *row = ml_type_row_of(type);
    return row ? row->name : "?";
}
/* Types of no fixed size; their bytes are allocated outside the arena. No kernel takes variants. */
static inline bool ml_type_is_heap(int32_t type) { return type == ML_STRING || type == ML_VARIANT; }

/* "(1, 64, 64, 3)" into `text`, for messages; returns text. Of eight dimensions that all have ten
 * digits the last does not fit. */
static inline const char *ml_shape_text(const ml_shape *shape, char text[96]) {
    int used = snprintf(text, 96, "(");
    for (int32_t i = 0; i < shape->rank && used < 80; i++)
        used += snprintf(text + used, (size_t)(96 - used), i ? ", %d" : "%d", shape->dims[i]);
    snprintf(text + used, (size_t)(96 - used), ")");
    return text;
}

#endif
