/* support.c -- guarded memory, random numbers, comparisons. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "walk.h"

enum { MOST_FAILURES = 20 };

void begin_case(walk *w) {
    w->used = 0;
    w->cases++;
}

void *room(walk *w, int64_t bytes) {
    const int64_t step = ROOM_BYTES + ml_os_page_bytes();
    if (w->used == ROOMS || bytes > ROOM_BYTES) {
        fprintf(stderr, "%s: no room for %lld bytes\n", w->primitive, (long long)bytes);
        exit(2);
    }
    uint8_t *at = w->rooms + w->used++ * step;
    if (draw(w, 0, 1)) at += ROOM_BYTES - bytes;
    memset(at, 0xA5, (size_t)bytes);
    return at;
}

void *copied(walk *w, const void *from, int64_t bytes) {
    return memcpy(room(w, bytes), from, (size_t)bytes);
}

/* Steele, Lea, Flood: Fast splittable pseudorandom number generators. */
static uint64_t next(walk *w) {
    uint64_t z = w->state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}

int64_t draw(walk *w, int64_t low, int64_t high) {
    return low + (int64_t)(next(w) % ((uint64_t)(high - low) + 1));
}

float draw_float(walk *w, float low, float high) {
    return (float)(low + ((double)high - low) * ((double)(next(w) >> 11) * 0x1p-53));
}

void draw_limits(walk *w, int32_t is_signed, int32_t *low, int32_t *high) {
    const int32_t least = is_signed ? -128 : 0;
    const bool whole = draw(w, 0, 1);
    *low = least + (int32_t)(whole ? 0 : draw(w, 0, 120));
    *high = least + (int32_t)(whole ? 255 : draw(w, 120, 255));
}

float *floats(walk *w, int64_t n, float low, float high) {
    float *x = room(w, n * (int64_t)sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = draw_float(w, low, high);
    return x;
}

float *odd_floats(walk *w, int64_t n, float low, float high) {
    static const float odd[] = {0.0f,   -0.0f, INFINITY, -INFINITY,  NAN,         1e-45f, -1e-45f,
                                1e-40f, 3e38f, -3e38f,   8388609.0f, -8388609.0f, 2.5f,   -0.5f};
    float *x = floats(w, n, low, high);
    for (int64_t i = 0; i < n; i++)
        if (draw(w, 0, 7) == 0) x[i] = odd[draw(w, 0, (int64_t)(sizeof odd / sizeof *odd) - 1)];
    return x;
}

uint8_t *bytes(walk *w, int64_t n) {
    uint8_t *x = room(w, n);
    const int64_t kind = draw(w, 0, 7); /* ends alone, now and then */
    for (int64_t i = 0; i < n; i++)
        x[i] = (uint8_t)(kind == 0   ? 255 * draw(w, 0, 1)
                         : kind == 1 ? 127 + draw(w, 0, 1)
                                     : draw(w, 0, 255));
    return x;
}

int32_t *ints(walk *w, int64_t n, int32_t low, int32_t high) {
    int32_t *x = room(w, n * (int64_t)sizeof *x);
    for (int64_t i = 0; i < n; i++) x[i] = (int32_t)draw(w, low, high);
    return x;
}

int32_t *odd_ints(walk *w, int64_t n, int32_t low, int32_t high) {
    static const int32_t odd[] = {INT32_MIN, INT32_MIN + 1, -1,       0, 1,
                                  1 << 30,   INT32_MAX - 1, INT32_MAX};
    int32_t *x = ints(w, n, low, high);
    for (int64_t i = 0; i < n; i++)
        if (draw(w, 0, 3) == 0) x[i] = odd[draw(w, 0, 7)];
    return x;
}

static void fail(walk *w, int64_t at, double made, double expected, double bound) {
    if (w->failures++ < MOST_FAILURES)
        fprintf(stderr, "%s at %s, case %lld: element %lld is %.9g, expected is %.9g within %.3g\n",
                w->primitive, w->simd->level, (long long)w->cases, (long long)at, made, expected,
                bound);
}

void expect_bytes(walk *w, const void *made, const void *expected, int64_t count) {
    const uint8_t *a = made, *b = expected;
    for (int64_t i = 0; i < count; i++)
        if (a[i] != b[i]) {
            fail(w, i, a[i], b[i], 0);
            return;
        }
}

void expect_equal(walk *w, const float *made, const float *expected, int64_t n) {
    for (int64_t i = 0; i < n; i++)
        if (made[i] != expected[i] && !(isnan(made[i]) && isnan(expected[i]))) {
            fail(w, i, made[i], expected[i], 0);
            return;
        }
}

void expect_near(walk *w, const float *made, const double *exact, const double *bounds, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const bool both = isnan(made[i]) && isnan(exact[i]);
        const bool near = (float)exact[i] == made[i] || fabs(made[i] - exact[i]) <= bounds[i];
        if (!both && !near) {
            fail(w, i, made[i], exact[i], bounds[i]);
            return;
        }
    }
}

double step_of(double x) {
    const float size = fabsf((float)x);
    return (double)nextafterf(size, INFINITY) - size;
}
