/* flexbuffer.h -- a flexbuffer's map of numbers, strings and vectors of numbers: how most custom
 * operators keep their options.
 *
 * Nothing in the bytes is trusted: every offset, length and width is checked before it is followed,
 * and what does not fit is refused as a whole. Nothing is copied or allocated.
 * Source: the FlexBuffers page of FlatBuffers' documentation, "Binary encoding". */
#ifndef ML_FORMAT_FLEXBUFFER_H
#define ML_FORMAT_FLEXBUFFER_H

#include <stdbool.h>
#include <stdint.h>

/* A map; it points into the bytes. */
typedef struct ml_flex_map {
    const uint8_t *data;
    int64_t bytes;
    int64_t values_at;
    int64_t keys_at;
    int64_t count;
    /* bytes and elements that may still be read: parts may be shared, and a small buffer must not
     * take long to read */
    int64_t left;
    int32_t width; /* bytes of a value or offset */
    int32_t key_width;
} ml_flex_map;

typedef enum {
    ML_FLEX_OTHER, /* null, a map, or a vector with elements that are not numbers */
    ML_FLEX_INTEGER,
    ML_FLEX_UNSIGNED, /* a number above INT64_MAX is stored in `integer` bit by bit */
    ML_FLEX_REAL,
    ML_FLEX_BOOL,
    ML_FLEX_STRING,
    ML_FLEX_NUMBERS
} ml_flex_kind;

typedef struct ml_flex_value {
    ml_flex_kind kind;
    int64_t integer; /* of a number or bool */
    double real; /* of any number */
    int64_t at; /* of a string or vector: the position of its first byte in the map's data */
    int64_t count; /* its bytes or elements */
    int32_t width; /* bytes of an element */
    /* type of all elements; -1: each element's type is stored after the last one */
    int32_t element;
} ml_flex_value;

/* The map at the root; false for bytes that are not a whole flexbuffer with a map at its root. All
 * keys and values of the map are checked. */
bool ml_flex_open(const uint8_t *data, int64_t bytes, ml_flex_map *map);
/* The value of that key; false if there is none. If a key occurs several times, the last one
 * counts. */
bool ml_flex_find(const ml_flex_map *map, const char *key, ml_flex_value *value);
/* Key number `i`, i < count. */
const char *ml_flex_key(const ml_flex_map *map, int64_t i);
/* Element `i` of a vector of numbers, i < count. */
void ml_flex_number(const ml_flex_map *map, const ml_flex_value *vector, int64_t i,
                    ml_flex_value *value);

#endif
