/* sharing.c -- short runs of a plan are tried with the other threads and without. */
#include "run/sharing.h"

enum {
    TRIES = 4, /* of either way, of which the fastest counts: others work on the machine, too */
    AGAIN = 4096, /* runs after which they are tried anew: threads may have moved */
    LONG_NS = 1000000 /* longer ones gain from any thread, and a try would be felt */
};

/* The first run touches memory and wakes threads, so it is not measured; then come those with the
 * other threads, which so stay awake, then those without. */
bool ml_sharing_is_measured(const ml_sharing *s) { return s->turn >= 1 && s->turn <= 2 * TRIES; }

bool ml_sharing_alone(const ml_sharing *s) {
    return ml_sharing_is_measured(s) ? s->turn > TRIES : s->alone;
}

void ml_sharing_note(ml_sharing *s, int64_t ns) {
    const bool alone = ml_sharing_alone(s);
    const uint32_t took = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
    const bool is_first = s->turn == 1 || s->turn == TRIES + 1;
    if (ml_sharing_is_measured(s) && (is_first || took < s->fastest[alone]))
        s->fastest[alone] = took;
    if (s->turn == 2 * TRIES) s->alone = s->fastest[true] <= s->fastest[false];
    if (s->turn == TRIES && s->fastest[false] > LONG_NS) {
        s->alone = false;
        s->turn += TRIES;
    }
    s->turn = (uint16_t)((s->turn + 1) % AGAIN);
}
