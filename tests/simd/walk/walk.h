/* walk.h -- what the walks of primitives share: cases of random operands in guarded memory, and
 * comparisons.
 *
 * A walk calls a primitive at a level and its scalar row with the same operands, or works out in
 * double what the bounds in csrc/api/simd.h are stated against. Operands end, or begin, where
 * memory may not be touched: a read or write past them ends the program. */
#ifndef WALK_H
#define WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "simd/simd.h"

enum { ROOMS = 64, ROOM_BYTES = 1 << 18 };

typedef struct walk {
    const ml_simd *scalar;
    const ml_simd *simd; /* the level that is compared */
    const char *primitive;
    uint64_t state; /* of the random numbers */
    uint8_t *rooms; /* ROOMS of ROOM_BYTES, each between two pages that may not be touched */
    int used; /* rooms of this case */
    int64_t cases;
    int failures;
} walk;

/* Begins a case: all rooms are free again. */
void begin_case(walk *w);

/* `bytes` bytes at the beginning or the end of a room, full of 0xA5. */
void *room(walk *w, int64_t bytes);
/* The same bytes in a room of their own. */
void *copied(walk *w, const void *from, int64_t bytes);

/* Random numbers from low to high, both included; of floats, in between. */
int64_t draw(walk *w, int64_t low, int64_t high);
float draw_float(walk *w, float low, float high);
/* Limits of bytes that are s8 or u8. */
void draw_limits(walk *w, int32_t is_signed, int32_t *low, int32_t *high);
float *floats(walk *w, int64_t n, float low, float high);
/* The same, but one in eight is something special: zeros, infinities, NaN, ends of ranges. */
float *odd_floats(walk *w, int64_t n, float low, float high);
uint8_t *bytes(walk *w, int64_t n);
int32_t *ints(walk *w, int64_t n, int32_t low, int32_t high);
/* One in four is an end of int32, or close to it. */
int32_t *odd_ints(walk *w, int64_t n, int32_t low, int32_t high);

/* Each prints and counts a failure if the level's result is not the expected one. */
void expect_bytes(walk *w, const void *made, const void *expected, int64_t bytes);
void expect_equal(walk *w, const float *made, const float *expected, int64_t n);
/* |made[i] - exact[i]| <= bounds[i]; NaN where it is expected. */
void expect_near(walk *w, const float *made, const double *exact, const double *bounds, int64_t n);

/* From x to the next float that is larger in size. */
double step_of(double x);

/* The levels that there are, as ml_simd_at gives them. */
typedef const ml_simd *level_fn(int32_t i);
/* Walks the primitives of all levels; returns the exit status: 0 if all is well. */
int walk_levels(level_fn *at);

/* walk_<name> for each primitive. */
#define PRIMITIVE(name, returns, parameters) void walk_##name(walk *w);
#include "simd/primitives.def"
#undef PRIMITIVE

#endif
