/* in_turn.h -- lets a state run in the memory of its workspace. */
#ifndef ML_STATE_IN_TURN_H
#define ML_STATE_IN_TURN_H

#include "state/state.h"

/* Has the turn of the workspace's arena for a run of this state, whose values the arena then has;
 * ML_OK without effect if the state has an arena of its own. ML_SHARED: another interpreter has
 * the turn, or the workspace has ended. ML_VIEW_HELD: a view of another one's values is held. */
ml_status ml_workspace_enter(ml_state *state, ml_error *error);
void ml_workspace_leave(ml_state *state);
/* The same for a copy of values in the arena: false if these are not the state's. */
bool ml_workspace_enter_copy(ml_state *state);
/* The state's values are lost, or of no use any more; without a workspace that has no effect. */
void ml_workspace_forget(ml_state *state);

#endif
