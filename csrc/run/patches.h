/* patches.h -- runs a group of tiles, patch by patch. */
#ifndef ML_RUN_PATCHES_H
#define ML_RUN_PATCHES_H

#include "state/state.h"

/* The function of the step of a group's last node. */
ml_status ml_run_patches(const ml_call *call);

#endif
