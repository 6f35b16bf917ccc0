/* sharing.c -- short runs of a plan are tried with the other threads and without. */
#include "run/sharing.h"

enum {
    TRIES = 4, /* of either way, of which the fastest counts: others work on the machine, too */
    AGAIN = 4096, /* runs after which they are tried anew: threads may have moved */
    LONG_NS = 1000000 /* longer ones gain from any thread, and a try would be felt */
};

/* Runs since the last tries began. The first one touches memory and wakes threads, so it is not
 * measured; then come those with the other threads, which so stay awake, then those without. */
static int64_t turn(const ml_sharing *s) { return s->runs % AGAIN; }

bool ml_sharing_is_measured(const ml_sharing *s) { return turn(s) >= 1 && turn(s) <= 2 * TRIES; }

bool ml_sharing_alone(const ml_sharing *s) {
    return ml_sharing_is_measured(s) ? turn(s) > TRIES : s->alone;
}

void ml_sharing_note(ml_sharing *s, int64_t ns) {
    const bool alone = ml_sharing_alone(s), measured = ml_sharing_is_measured(s);
    if (measured && (turn(s) == 1 || turn(s) == TRIES + 1 || ns < s->fastest[alone]))
        s->fastest[alone] = ns;
    if (turn(s) == 2 * TRIES) s->alone = s->fastest[true] <= s->fastest[false];
    if (turn(s) == TRIES && s->fastest[false] > LONG_NS) {
        s->alone = false;
        s->runs += TRIES;
    }
    s->runs++;
}
