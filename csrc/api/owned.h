/* owned.h -- objects in cells of the caller, so that each has an owner before it exists.
 *
 * A cell is a pointer that is NULL, or holds one object. Calls that make an object put it into a
 * cell; the functions that end in _end free what a cell holds, and empty it: a second one has no
 * effect. So a caller that gives the cell its destructor first, and then makes the call, loses
 * nothing if it is interrupted in between. */

void ml_file_end(ml_file **cell);
void ml_lowering_end(ml_lowering **cell);
void ml_graph_end(ml_graph **cell);
void ml_family_end(ml_family **cell);
void ml_state_end(ml_state **cell);
void ml_plan_end(ml_plan **cell);
void ml_store_end(ml_store **cell);
void ml_cancel_end(ml_cancel **cell);
void ml_interpreter_end(ml_interpreter **cell);
void ml_workspace_end(ml_workspace **cell);
void ml_planner_end(ml_planner **cell);
