/* runs.c -- copies runs of bytes: in two loops, by indices, or repeatedly. */
#include "rules/runs.h"

void ml_copy_runs(void *to, const void *from, int64_t run, ml_turns outer, ml_turns inner) {
    uint8_t *y = to;
    const uint8_t *x = from;
#define PLANE(MOVE)                                                       \
    for (int64_t i = 0; i < outer.count; i++, y += outer.to, x += outer.from) \
        for (int64_t j = 0; j < inner.count; j++)                         \
            MOVE(y + j * inner.to, x + j * inner.from, run);
    if (run > 0) ML_BY_RUN(run, PLANE);
#undef PLANE
}

void ml_copy_indexed(void *to, const void *from, int64_t run, const int64_t *indices,
                     int64_t count) {
    uint8_t *y = to;
    const uint8_t *x = from;
#define INDEXED(MOVE) \
    for (int64_t i = 0; i < count; i++) MOVE(y + i * run, x + indices[i] * run, run);
    if (run > 0) ML_BY_RUN(run, INDEXED);
#undef INDEXED
}

/* Doubles the copied part until it fills the first-level cache. */
void ml_repeat(void *to, int64_t run, int64_t count) {
    uint8_t *y = to;
    int64_t end = run * (count + 1), chunk = run;
    for (int64_t done = run; done < end; done += chunk) {
        if (done == 2 * chunk && chunk <= 8192) chunk = done;
        if (chunk > end - done) chunk = end - done;
        memcpy(y + done, y, (size_t)chunk);
    }
}
