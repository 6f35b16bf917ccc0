/* sharing.c -- times runs of a plan with the other threads and without, and picks the faster. */
#include "run/sharing.h"

enum {
    TRIES = 4, /* of each kind; the fastest counts, since other programs disturb */
    AGAIN = 4096, /* runs after which tries are repeated: threads may have moved */
    SHORT_NS = 1000000,
    /* The same of longer runs that are faster alone, because other programs had the other cores:
     * where these are free, longer runs gain from any thread. */
    SOON = 256,
    LONG_NS = 20000000 /* of longer runs tries would cost too much */
};

/* The first run touches memory and wakes threads, so it is not timed. Then come tries with the
 * other threads, which are awake, then tries without. */
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
    const bool soon = s->alone && s->fastest[true] > SHORT_NS;
    s->turn = (uint16_t)((s->turn + 1) % (soon ? SOON : AGAIN));
}
