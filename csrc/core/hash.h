/* hash.h -- a hash of bytes, the same on all machines of one byte order: finds what has changed by
 * accident, not by intent. */
#ifndef ML_CORE_HASH_H
#define ML_CORE_HASH_H

#include <stdint.h>
#include <string.h>

#define ML_HASH_START UINT64_C(1469598103934665603)

static inline uint64_t ml_hash_word(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* Goes on with `bytes` (>= 0) more; their number counts too, so that zeros at the end do. */
static inline uint64_t ml_hash(uint64_t hash, const void *data, int64_t bytes) {
    const uint8_t *at = data;
    uint64_t word;
    int64_t left = bytes;
    for (; left >= 8; left -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash = ml_hash_word(hash, word);
    }
    word = 0;
    if (left > 0) memcpy(&word, at, (size_t)left);
    return ml_hash_word(ml_hash_word(hash, word), (uint64_t)bytes);
}

static inline uint64_t ml_hash_text(uint64_t hash, const char *text) {
    return text ? ml_hash(hash, text, (int64_t)strlen(text)) : ml_hash_word(hash, 1);
}

#endif
