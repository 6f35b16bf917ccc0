/* shape.h -- shapes, element types and arithmetic that cannot overflow: everyone may include it, kernels of users too. */
#ifndef ML_CORE_SHAPE_H
#define ML_CORE_SHAPE_H

#include <string.h>

#include "api/minilite.h"

/* Elements of a shape, -1 if beyond INT64_MAX / 64. */
static inline int64_t ml_elements(const ml_shape *shape) {
    int64_t total = 1;
    for (int32_t i = 0; i < shape->rank; i++)
        if (shape->dims[i] == 0) return 0;
    for (int32_t i = 0; i < shape->rank; i++)
        if (__builtin_mul_overflow(total, (int64_t)shape->dims[i], &total) ||
            total > INT64_MAX / 64)
            return -1;
    return total;
}

static inline bool ml_same_shape(const ml_shape *a, const ml_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

/* Bits per element, packed types included; 0 for strings and other types of no fixed size. */
int64_t ml_type_bits(int32_t type);
/* Whole bytes per element; 0 for types of no fixed size and for those packed below a byte. */
static inline int64_t ml_type_bytes(int32_t type) { return ml_type_bits(type) / 8; }
/* Bytes of `elements` (>= 0) of a type; packed types round up. */
static inline int64_t ml_bytes_of(int64_t elements, int32_t type) {
    int64_t bits = ml_type_bits(type);
    return bits >= 8 ? elements * (bits / 8) : (elements * bits + 7) / 8;
}
/* "f32": a type as the kernels' tables spell it; "?" for numbers that are none. */
const char *ml_type_name(int32_t type);
/* The type that is spelled so, -1 if none is. */
int32_t ml_type_named(const char *name, size_t length);
/* Types of no fixed size, whose bytes lie in blocks of their own. */
static inline bool ml_type_is_heap(int32_t type) { return type == ML_STRING || type == ML_VARIANT; }

/* "(1, 64, 64, 3)" into `text`, for messages; returns text. */
const char *ml_shape_text(const ml_shape *shape, char text[96]);

/* Up to a multiple of `alignment`, a power of two; bytes <= INT64_MAX - alignment. */
static inline int64_t ml_round_up(int64_t bytes, int64_t alignment) {
    return (bytes + alignment - 1) & -alignment;
}

#endif
