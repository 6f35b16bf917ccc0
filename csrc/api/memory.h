/* memory.h -- planning memory, as Python sees it.
 *
 * Usage records become offsets by a strategy (problem.h is its contract); the planner turns a graph
 * into records and keeps their offsets through stepwise allocation and suffix resets; the arena is
 * the memory itself. */

/* Memory planning ------------------------------------------------------------------------------ */

#define ML_FOREVER 2147483647
#define ML_UNPLACED -1

typedef enum {
    ML_STRATEGY_OK = 0,
    ML_STRATEGY_UNKNOWN = 1,
    ML_STRATEGY_NO_MEMORY = 2, /* malloc failed */
    ML_STRATEGY_OVERFLOW = 3, /* sizes add up beyond INT64_MAX / 2 */
    ML_STRATEGY_UNSUPPORTED = 4, /* the strategy takes no fixed records */
    ML_STRATEGY_OVER_CAPACITY = 5 /* proved: no plan fits problem->capacity */
} ml_strategy_status;

/* One tensor's claim on memory: `size` bytes from node `first` to node `last`, both inclusive. */
typedef struct ml_record {
    int64_t size;
    int64_t offset; /* in: ML_UNPLACED, or a fixed offset; out: where it lies */
    int32_t first;
    int32_t last;
    /* The caller's number for it; strategies only read it where their rule orders by it. */
    int32_t tensor;
    int32_t reserved;
} ml_record;

typedef struct ml_problem {
    ml_record *records;
    int32_t count;
    int32_t alignment;
    /* Exact search only. */
    int64_t capacity; /* in: stop at any plan within it; 0 = minimize */
    int64_t max_nodes; /* in: budget of search nodes; 0 = none */
    double max_seconds; /* in: budget of CPU seconds; 0 = none */
    /* In, out: what the engine knows of the problem (problem.h); NULL = nothing. */
    struct ml_hints *hints;
    /* Results. */
    int64_t arena_bytes;
    int64_t lower_bound; /* largest sum of rounded sizes live at once */
    int64_t searched; /* search nodes visited, or greedy passes run */
    int32_t proved_optimal;
    int32_t reserved;
} ml_problem;

/* Plans `problem` with the strategy of that name; see memory/problem.h for the contract. */
ml_strategy_status ml_memory_plan(const char *strategy, ml_problem *problem);
/* The largest sum of rounded sizes live at once, -1 when the system gives no memory. */
int64_t ml_memory_lower_bound(const ml_problem *problem);
/* The name of strategy `index`, or NULL past the last. */
const char *ml_memory_strategy_name(int32_t index);

/* ArenaPlanner: TFLite's calls over any graph -------------------------------------------------- */

typedef struct ml_node_io {
    const int32_t *inputs;
    const int32_t *outputs;
    int32_t n_inputs;
    int32_t n_outputs;
    int32_t flags; /* ml_node_flag */
    int32_t reserved;
} ml_node_io;

/* What the planner has to know of a graph; borrowed, it must outlive the planner. */
typedef struct ml_planner_graph {
    const ml_node_io *nodes;
    const int32_t *inputs;
    const int32_t *outputs;
    int32_t n_nodes;
    int32_t n_tensors;
    int32_t n_inputs;
    int32_t n_outputs;
} ml_planner_graph;

typedef enum {
    ML_PLACE_NONE = 0, /* constant, folded, bound: takes no memory here */
    ML_PLACE_ARENA = 1,
    ML_PLACE_PERSISTENT = 2 /* placed once, never freed, never moved */
} ml_place;

typedef struct ml_planner ml_planner;

/* Tensors in the order in which a planner placed them last; handed to the next one of the same
 * graph, it spares most of the search. `tensors` has room for n_tensors + n_nodes; count 0 =
 * nothing yet. */
typedef struct ml_placing_order {
    int32_t *tensors;
    int32_t count;
    int32_t reserved;
} ml_placing_order;

ml_planner *ml_planner_new(const ml_planner_graph *graph, const char *strategy, int32_t options,
                           int32_t alignment);
void ml_planner_free(ml_planner *planner);
/* Tensor facts that Prepare fills in; temporaries of node n are tensor n_tensors + n. Both arrays
 * have n_tensors + n_nodes. */
int64_t *ml_planner_bytes(ml_planner *planner);
uint8_t *ml_planner_places(ml_planner *planner);
uint8_t *
ml_planner_skipped(ml_planner *planner); /* by node: 1 = folded, neither reads nor writes */
/* By tensor: those that share a place with views alone, and those that are in no place of an
 * input's. */
enum { ML_NOT_PINNED = 0, ML_PINNED = 1, ML_PINNED_AS_OUTPUT = 2 };
uint8_t *ml_planner_pinned(ml_planner *planner);
/* Puts a tensor at a given offset, any that its element type allows; before plan_allocations. It is
 * then freed after its last reader, graph inputs too. Fixed tensors that overlap while both are
 * live are refused by execute_allocations. */
void ml_planner_fix(ml_planner *planner, int32_t tensor, int64_t offset);

/* Forgets every place, those of persistent tensors too: for other sizes of the same graph. */
void ml_planner_start_anew(ml_planner *planner);
/* The same as plan_allocations, for a graph that is planned again and again. `stands` says that the
 * same nodes are skipped, the same tensors have bytes, the same places, and are pinned: then
 * lifetimes hold, as long as the same operands are as large as what may overwrite them. */
void ml_planner_plan_again(ml_planner *planner, bool stands);
/* Whether they held. */
bool ml_planner_stood(const ml_planner *planner);
/* Where lifetimes held: places what lay on top of what in the plan before so again, if that comes
 * within an eighth of the lower bound and takes no more than `most`. False if not, and the graph
 * has to be placed by start_anew and execute_allocations. Offsets are those of roots alone. */
bool ml_planner_place_again(ml_planner *planner, int64_t most);
/* Of a graph that is planned again and again: whether this plan, of sizes that come back, is
 * searched for longer, and how much of the budget was spent already; ml_planner_spent says how much
 * is by now. */
void ml_planner_search(ml_planner *planner, bool longer, int64_t spent);
int64_t ml_planner_spent(const ml_planner *planner);
/* The order to begin with and to leave behind; borrowed. */
void ml_planner_use_order(ml_planner *planner, ml_placing_order *order);

void ml_planner_plan_allocations(ml_planner *planner);
ml_status ml_planner_execute_allocations(ml_planner *planner, int32_t first, int32_t last,
                                         ml_error *error);
void ml_planner_reset_allocations(ml_planner *planner);
void ml_planner_reset_allocations_after(ml_planner *planner, int32_t node);
/* The same in two steps: mark what starts after `node`, then drop everything marked in one
 * pass. */
void ml_planner_deallocate_after(ml_planner *planner, int32_t node);
void ml_planner_resolve_deallocations(ml_planner *planner);
/* Drops the records of tensors that are dead before `node`. */
void ml_planner_purge(ml_planner *planner, int32_t node);

const int64_t *ml_planner_offsets(const ml_planner *planner); /* -1 = not placed */
const int32_t *ml_planner_roots(const ml_planner *planner);
const int32_t *ml_planner_first_nodes(const ml_planner *planner);
const int32_t *ml_planner_last_nodes(const ml_planner *planner);
int64_t ml_planner_high_water(const ml_planner *planner,
                              int32_t place); /* ML_PLACE_ARENA or ML_PLACE_PERSISTENT */
int64_t ml_planner_lower_bound(ml_planner *planner);
/* The same, and at how many nodes that many bytes are live. */
int64_t ml_planner_peaks(ml_planner *planner, int32_t *peaks);
/* A planner of the same graph, strategy, options and tensor facts, nothing planned yet; NULL
 * without memory. */
ml_planner *ml_planner_copy(const ml_planner *planner);
int32_t ml_planner_active(const ml_planner *planner); /* records the hot loop looks at */
/* The records of all placed arena tensors that own their memory; returns their number, at most
 * `room` are written. */
int32_t ml_planner_records(const ml_planner *planner, ml_record *records, int32_t room);

struct ml_account; /* memory/account.h: a bound on several arenas and blocks together */

enum { ML_ARENA_BLOCKS = 3 };

/* A growable block of memory with a stable alignment. */
typedef struct ml_arena {
    uint8_t *base;
    int64_t capacity; /* accessible bytes */
    /* Of address space; 0 where the system grants none: growing may then move the base. */
    int64_t reserved;
    int64_t moves; /* times the base changed */
    int64_t copied; /* bytes that moves copied; pages that the system moved are none */
    uint8_t *blocks[ML_ARENA_BLOCKS]; /* what small arenas lie in; kept until it is released */
    struct ml_account *account; /* borrowed; NULL = none */
} ml_arena;

/* Makes room for `bytes`, keeping the first `keep` bytes; never shrinks. A refusal changes nothing.
 * With an account `bytes` are refused where they are too many; what rounds them up to pages is
 * not. */
ml_status ml_arena_commit(ml_arena *arena, int64_t bytes, int64_t keep, ml_error *error);
/* Gives back what lies after the first `bytes`; the rest stays where it is. */
void ml_arena_shrink(ml_arena *arena, int64_t bytes);
void ml_arena_release(ml_arena *arena);
/* Accessible bytes whose pages are in memory; all where the system does not say. */
int64_t ml_arena_resident(const ml_arena *arena);
