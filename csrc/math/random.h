/* random.h -- random bits by counter: block `counter` of the sequence of a key (Salmon et al., SC
 * 2011), and random numbers made of them as TensorFlow does. */
#ifndef ML_MATH_RANDOM_H
#define ML_MATH_RANDOM_H

#include <stdint.h>
#include <string.h>

/* Philox4x32 of 10 rounds. */
static inline void ml_philox(const uint32_t key[2], const uint32_t counter[4], uint32_t bits[4]) {
    uint32_t k[2] = {key[0], key[1]}, x[4];
    memcpy(x, counter, sizeof x);
    for (int round = 0; round < 10; round++) {
        const uint64_t a = (uint64_t)0xD2511F53u * x[0], b = (uint64_t)0xCD9E8D57u * x[2];
        x[0] = (uint32_t)(b >> 32) ^ x[1] ^ k[0];
        x[2] = (uint32_t)(a >> 32) ^ x[3] ^ k[1];
        x[1] = (uint32_t)b;
        x[3] = (uint32_t)a;
        k[0] += 0x9E3779B9u;
        k[1] += 0xBB67AE85u;
    }
    memcpy(bits, x, sizeof x);
}

/* Threefry2x32 of 20 rounds. */
static inline void ml_threefry(const uint32_t key[2], const uint32_t counter[2], uint32_t bits[2]) {
    static const int turns[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    const uint32_t keys[3] = {key[0], key[1], key[0] ^ key[1] ^ 0x1BD11BDAu};
    uint32_t x = counter[0] + keys[0], y = counter[1] + keys[1];
    for (uint32_t round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) {
            const int turn = turns[round % 2][i];
            x += y;
            y = (y << turn | y >> (32 - turn)) ^ x;
        }
        x += keys[(round + 1) % 3];
        y += keys[(round + 2) % 3] + round + 1;
    }
    bits[0] = x;
    bits[1] = y;
}

/* A number in [0, 1), made of the lowest 23 bits, or of 52 bits of two words. */
static inline float ml_uniform_f32(uint32_t bits) {
    const uint32_t word = 127u << 23 | (bits & 0x7FFFFFu);
    float value;
    memcpy(&value, &word, sizeof value);
    return value - 1.0f;
}
static inline double ml_uniform_f64(uint32_t high, uint32_t low) {
    const uint64_t word = (uint64_t)1023 << 52 | (uint64_t)(high & 0xFFFFFu) << 32 | low;
    double value;
    memcpy(&value, &word, sizeof value);
    return value - 1.0;
}

#endif
