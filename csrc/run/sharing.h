/* sharing.h -- finds out whether a plan runs faster with the interpreter's other threads.
 *
 * Handing blocks to another thread costs up to some microseconds, depending on the core it is on:
 * across sockets a small model is slower with two threads than with one. And where another program
 * has the other core, runs wait for it. So runs are tried both ways, except for the longest, and
 * the faster way is kept. Results do not depend on it. */
#ifndef ML_RUN_SHARING_H
#define ML_RUN_SHARING_H

#include <stdbool.h>

#include "state/residence.h"

/* True if the next run of the plan keeps all blocks on the caller's thread. */
bool ml_sharing_alone(const ml_sharing *s);
/* True if the next run is to be timed. */
bool ml_sharing_is_measured(const ml_sharing *s);
/* Stores that the run took `ns`; 0 = not measured. */
void ml_sharing_note(ml_sharing *s, int64_t ns);

#endif
