/* flexbuffer.c -- reads a map in flexbuffer bytes.
 *
 * A flexbuffer is read from its end. The last byte is the width of the root value, the byte before
 * it is the root's packed type, and the root value precedes both. A packed type holds a type in its
 * upper six bits and the logarithm of a width in its lower two. Offsets point backward, to the
 * first element of a vector or the first byte of a string, which the length precedes. A map is a
 * vector of values; its length is preceded by the offset of the vector of keys and the width of
 * that vector. */
#include "format/flexbuffer.h"

#include <string.h>

enum {
    INT = 1,
    UINT = 2,
    FLOAT = 3,
    STRING = 5,
    INDIRECT_INT = 6,
    INDIRECT_UINT = 7,
    INDIRECT_FLOAT = 8,
    MAP = 9,
    VECTOR = 10,
    VECTOR_INT = 11,
    VECTOR_FLOAT = 13,
    FIRST_TUPLE = 16, /* of 2 ints, 2 uints, 2 floats, 3 ints, ... */
    LAST_TUPLE = 24,
    BOOL = 26
};

static int32_t width_of(uint8_t packed) { return 1 << (packed & 3); }

/* True if the range [at, at + bytes) is within the data; bytes >= 0. */
static bool inside(const ml_flex_map *m, int64_t at, int64_t bytes) {
    return at >= 0 && bytes <= m->bytes - at;
}

static bool read_unsigned(const ml_flex_map *m, int64_t at, int32_t width, uint64_t *value) {
    if (!inside(m, at, width)) return false;
    *value = 0;
    for (int32_t i = 0; i < width; i++) *value |= (uint64_t)m->data[at + i] << 8 * i;
    return true;
}

/* The target of the offset at `at`. */
static bool follow(const ml_flex_map *m, int64_t at, int32_t width, int64_t *to) {
    uint64_t offset;
    if (!read_unsigned(m, at, width, &offset) || offset > (uint64_t)at) return false;
    *to = at - (int64_t)offset;
    return true;
}

/* The length stored before `at`; checks that so many elements of the given size are within the
 * data. */
static bool read_length(const ml_flex_map *m, int64_t at, int32_t width, int64_t each,
                        int64_t *count) {
    uint64_t length;
    if (!read_unsigned(m, at - width, width, &length) || length > (uint64_t)m->bytes) return false;
    *count = (int64_t)length;
    return inside(m, at, *count * each);
}

static double half_of(uint64_t bits) {
    const uint32_t exponent = bits >> 10 & 31, mantissa = bits & 1023;
    float value;
    uint32_t wide =
        exponent == 31 ? 0x7f800000u | mantissa << 13 : (exponent + 112) << 23 | mantissa << 13;
    memcpy(&value, &wide, sizeof value);
    if (exponent == 0) value = (float)mantissa * 0x1p-24f;
    return (double)(bits >> 15 & 1 ? -value : value);
}

/* The number of `bytes` bytes at `at`. */
static bool read_number(const ml_flex_map *m, int64_t at, int32_t width, int32_t type,
                        ml_flex_value *v) {
    uint64_t bits;
    if (!read_unsigned(m, at, width, &bits)) return false;
    if (type == FLOAT) {
        float single;
        const uint32_t low = (uint32_t)bits;
        v->kind = ML_FLEX_REAL;
        memcpy(&single, &low, sizeof single);
        memcpy(&v->real, &bits, sizeof v->real);
        if (width == 4) v->real = (double)single;
        if (width == 2) v->real = half_of(bits);
        return width >= 2;
    }
    v->kind = type == BOOL ? ML_FLEX_BOOL : type == INT ? ML_FLEX_INTEGER : ML_FLEX_UNSIGNED;
    if (type == INT && width < 8 && bits >> (8 * width - 1) & 1) bits |= UINT64_MAX << 8 * width;
    v->integer = (int64_t)bits;
    if (type == BOOL) v->integer = bits != 0;
    v->real = type == UINT ? (double)bits : (double)v->integer;
    return true;
}

static bool is_numeric(int32_t type) {
    return (type >= INT && type <= FLOAT) || (type >= INDIRECT_INT && type <= INDIRECT_FLOAT);
}

/* The value at `at`, in a vector whose elements have `width` bytes. */
static bool read_value(const ml_flex_map *m, int64_t at, int32_t width, uint8_t packed,
                       ml_flex_value *v);

/* A vector of numbers is a typed vector, a tuple, or an untyped vector whose elements are all
 * numbers. */
static bool read_flex_vector(const ml_flex_map *m, int64_t at, int32_t width, uint8_t packed,
                             ml_flex_value *v) {
    const int32_t type = packed >> 2;
    v->width = width_of(packed);
    if (!follow(m, at, width, &v->at)) return false;
    if (type >= FIRST_TUPLE) {
        v->element = INT + (type - FIRST_TUPLE) % 3;
        v->count = 2 + (type - FIRST_TUPLE) / 3;
        v->kind = ML_FLEX_NUMBERS;
        return inside(m, v->at, v->count * v->width);
    }
    v->element = type == VECTOR ? -1 : INT + type - VECTOR_INT;
    if (!read_length(m, v->at, v->width, v->width + (type == VECTOR), &v->count)) return false;
    if (v->count > m->left) return false;
    v->kind = ML_FLEX_NUMBERS;
    for (int64_t i = 0; type == VECTOR && i < v->count; i++) {
        const uint8_t own = m->data[v->at + v->count * v->width + i];
        ml_flex_value element = {0};
        if (!is_numeric(own >> 2)) v->kind = ML_FLEX_OTHER;
        else if (!read_value(m, v->at + i * v->width, v->width, own, &element)) return false;
    }
    return true;
}

static bool read_value(const ml_flex_map *m, int64_t at, int32_t width, uint8_t packed,
                       ml_flex_value *v) {
    const int32_t type = packed >> 2;
    int64_t to;
    *v = (ml_flex_value){.kind = ML_FLEX_OTHER};
    if ((type >= INT && type <= FLOAT) || type == BOOL) return read_number(m, at, width, type, v);
    if (type >= INDIRECT_INT && type <= INDIRECT_FLOAT)
        return follow(m, at, width, &to) &&
               read_number(m, to, width_of(packed), type - INDIRECT_INT + INT, v);
    if (type == STRING) {
        v->kind = ML_FLEX_STRING;
        v->width = 1;
        return follow(m, at, width, &v->at) &&
               read_length(m, v->at, width_of(packed), 1, &v->count);
    }
    if ((type >= VECTOR && type <= VECTOR_FLOAT) || (type >= FIRST_TUPLE && type <= LAST_TUPLE))
        return read_flex_vector(m, at, width, packed, v);
    return true;
}

/* The key of entry `i`, which ends in a NUL inside the data. */
static const char *key_at(const ml_flex_map *m, int64_t i) {
    int64_t at;
    if (!follow(m, m->keys_at + i * m->key_width, m->key_width, &at)) return NULL;
    const char *key = (const char *)m->data + at;
    const int64_t most = m->bytes - at < m->left ? m->bytes - at : m->left;
    return memchr(key, 0, (size_t)most) ? key : NULL;
}

static bool value_at(const ml_flex_map *m, int64_t i, ml_flex_value *v) {
    const uint8_t packed = m->data[m->values_at + m->count * m->width + i];
    return read_value(m, m->values_at + i * m->width, m->width, packed, v);
}

bool ml_flex_open(const uint8_t *data, int64_t bytes, ml_flex_map *map) {
    *map = (ml_flex_map){.data = data, .bytes = bytes, .left = bytes};
    if (bytes < 3) return false;
    const int32_t width = data[bytes - 1];
    const uint8_t packed = data[bytes - 2];
    if ((width != 1 && width != 2 && width != 4 && width != 8) || packed >> 2 != MAP) return false;
    map->width = width_of(packed);
    if (!follow(map, bytes - 2 - width, width, &map->values_at) ||
        !read_length(map, map->values_at, map->width, map->width + 1, &map->count))
        return false;
    uint64_t key_width = 0;
    int64_t keys;
    const int64_t before = map->values_at - 3 * (int64_t)map->width;
    if (before < 0 || !follow(map, before, map->width, &map->keys_at)) return false;
    read_unsigned(map, before + map->width, map->width, &key_width); /* it precedes the values */
    if (key_width != 1 && key_width != 2 && key_width != 4 && key_width != 8) return false;
    map->key_width = (int32_t)key_width;
    if (!read_length(map, map->keys_at, map->key_width, map->key_width, &keys) || keys < map->count)
        return false;
    ml_flex_value value;
    for (int64_t i = 0; i < map->count; i++) {
        const char *key = key_at(map, i);
        if (!key || !value_at(map, i, &value)) return false;
        map->left -= (int64_t)strlen(key) + (value.kind == ML_FLEX_NUMBERS ? value.count : 0);
        if (map->left < 0) return false;
    }
    map->left = bytes; /* opening checked every byte: later look-ups get the same budget */
    return true;
}

const char *ml_flex_key(const ml_flex_map *map, int64_t i) { return key_at(map, i); }

bool ml_flex_find(const ml_flex_map *map, const char *key, ml_flex_value *value) {
    for (int64_t i = map->count - 1; i >= 0; i--)
        if (strcmp(key_at(map, i), key) == 0) return value_at(map, i, value);
    return false;
}

void ml_flex_number(const ml_flex_map *map, const ml_flex_value *vector, int64_t i,
                    ml_flex_value *value) {
    const int64_t at = vector->at + i * vector->width;
    *value = (ml_flex_value){.kind = ML_FLEX_OTHER};
    if (vector->element >= 0) read_number(map, at, vector->width, vector->element, value);
    else
        read_value(map, at, vector->width,
                   map->data[vector->at + vector->count * vector->width + i], value);
}
