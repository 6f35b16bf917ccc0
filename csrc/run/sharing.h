/* sharing.h -- whether the runs of a plan are faster with the interpreter's other threads.
 *
 * To hand blocks to another thread costs up to some microseconds, by where the system put it: on
 * another socket a small model is slower with two threads than with one. So short runs are tried
 * both ways, and the faster way is kept. Results do not depend on it. */
#ifndef ML_RUN_SHARING_H
#define ML_RUN_SHARING_H

#include <stdbool.h>

#include "state/residence.h"

/* Whether the next run of the plan keeps all blocks on the caller's thread. */
bool ml_sharing_alone(const ml_sharing *s);
/* Whether its time is wanted. */
bool ml_sharing_is_measured(const ml_sharing *s);
/* That run took `ns`, which is 0 where it was not measured. */
void ml_sharing_note(ml_sharing *s, int64_t ns);

#endif
