/* memory.h -- memory planning as Python sees it: strategies, the planner of a graph, the arena.
 *
 * A strategy gives offsets to usage records (its contract is in memory/problem.h). The planner
 * makes the records of a graph, and keeps their offsets while the graph is allocated in steps or
 * reset after some node. The arena is the memory itself. */

/* Memory planning ------------------------------------------------------------------------------ */

#define ML_FOREVER 2147483647
#define ML_UNPLACED -1

typedef enum {
    ML_STRATEGY_OK = 0,
    ML_STRATEGY_UNKNOWN = 1,
    ML_STRATEGY_NO_MEMORY = 2, /* malloc failed */
    ML_STRATEGY_OVERFLOW = 3, /* sizes add up beyond INT64_MAX / 2 */
    ML_STRATEGY_UNSUPPORTED = 4, /* the strategy does not support fixed records */
    ML_STRATEGY_OVER_CAPACITY = 5 /* proved: no plan fits problem->capacity */
} ml_strategy_status;

/* One tensor's claim on memory: `size` bytes from node `first` to node `last`, both inclusive. */
typedef struct ml_record {
    int64_t size;
    int64_t offset; /* in: ML_UNPLACED or a fixed offset; out: its offset */
    int32_t first;
    int32_t last;
    /* The caller's number for it. Only strategies that order records by it read it. */
    int32_t tensor;
    int32_t memory; /* ml_memory_kind: where it lies. A strategy places records of one memory. */
} ml_record;

typedef struct ml_problem {
    ml_record *records;
    int32_t count;
    int32_t alignment;
    /* Multiples of `alignment`, by record, of which offsets are multiples; NULL = `alignment`. Only
     * the default strategy supports them. */
    const int32_t *alignments;
    /* Exact search only. */
    int64_t capacity; /* in: stop at any plan within it; 0 = minimize */
    int64_t max_nodes; /* in: budget of search nodes; 0 = none */
    /* Exact search, and the default strategy for very many records, of which it places all at least
     * once. */
    double max_seconds; /* in: budget of CPU seconds; 0 = none */
    /* Read and written: what the engine knows about the problem (problem.h); NULL = nothing. */
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
/* The largest sum of rounded sizes that are live at once; -1 without memory. */
int64_t ml_memory_lower_bound(const ml_problem *problem);
/* Looks for two records that overlap: of `bytes` at `offset`, live from first to last (inclusive),
 * all 0 or more. Shares no code with strategies. Returns the number of one and sets *other; -1 if
 * there are none, -2 without memory. O(n log n). */
int64_t ml_memory_overlap(int64_t count, const int64_t *offset, const int64_t *bytes,
                          const int64_t *first, const int64_t *last, int64_t *other);
/* The name of strategy `index`, or NULL past the last. */
const char *ml_memory_strategy_name(int32_t index);

/* Several memories: which record lies in which ------------------------------------------------- */

enum { ML_MOST_ROOMS = 4 };

/* A memory that records may lie in. */
typedef struct ml_memory_room {
    int64_t capacity; /* the most bytes that its records may take at once */
    int64_t cost; /* of each byte that is moved to or from it */
    int32_t alignment; /* sizes are rounded up to it: a power of two */
    int32_t reserved;
} ml_memory_room;

/* A record that has to be assigned to a memory. */
typedef struct ml_choice {
    int64_t size;
    int64_t traffic; /* bytes that a run moves to and from it */
    int32_t first;
    int32_t last; /* inclusive */
    int32_t allowed; /* bit m: it may lie in memory m */
    int32_t room; /* out: the number of its memory */
} ml_choice;

typedef struct ml_assignment {
    ml_choice *choices;
    const ml_memory_room *rooms;
    int32_t count;
    int32_t n_rooms; /* at most ML_MOST_ROOMS */
    int32_t most_states; /* kept at each record */
    /* Results. */
    int32_t states; /* the most that were kept */
    int64_t cost; /* the sum of traffic * cost */
    int32_t optimal; /* no state was dropped: no assignment costs less */
    int32_t reserved;
} ml_assignment;

/* Assigns each record to a memory at the least cost, so that what is live at once fits each memory
 * (without regard to offsets). ML_STRATEGY_OVER_CAPACITY if none was found; there is none if
 * `optimal` is set. Costs must add up to less than INT64_MAX / 2. */
ml_strategy_status ml_memory_assign(ml_assignment *assignment);

/* ArenaPlanner: TFLite's calls over any graph -------------------------------------------------- */

typedef struct ml_node_io {
    const int32_t *inputs;
    const int32_t *outputs;
    int32_t n_inputs;
    int32_t n_outputs;
    int32_t flags; /* ml_node_flag */
    int32_t reserved;
} ml_node_io;

/* The part of a graph that the planner needs. Borrowed: it must outlive the planner. */
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
    ML_MEMORY_NONE = 0, /* constant, folded, bound: takes no memory here */
    ML_MEMORY_ARENA = 1,
    ML_MEMORY_PERSISTENT = 2, /* placed once, never freed, never moved */
    ML_MEMORIES = 3 /* how many numbers there are */
} ml_memory_kind;

typedef struct ml_planner ml_planner;

ml_status ml_planner_new(const ml_planner_graph *graph, const char *strategy, int32_t options,
                         int32_t alignment, ml_planner **planner, ml_error *error);
void ml_planner_free(ml_planner *planner);
/* The bytes of each tensor; scratch of node n is tensor n_tensors + n. */
int64_t *ml_planner_bytes(ml_planner *planner);

void ml_planner_plan_allocations(ml_planner *planner);
/* Places what nodes first..last allocate: a range that begins at one of the nodes, and may reach
 * beyond them at both ends. */
ml_status ml_planner_execute_allocations(ml_planner *planner, int32_t first, int32_t last,
                                         ml_error *error);
void ml_planner_reset_allocations(ml_planner *planner);
/* Forgets tensors allocated after `node`, which is from -1 (before all nodes) to n_nodes. */
ml_status ml_planner_reset_allocations_after(ml_planner *planner, int32_t node, ml_error *error);
/* The same in two steps: mark what starts after `node`, then drop everything marked in one
 * pass. */
ml_status ml_planner_deallocate_after(ml_planner *planner, int32_t node, ml_error *error);
void ml_planner_resolve_deallocations(ml_planner *planner);
/* Drops the records of tensors whose last reader comes before `node`. */
ml_status ml_planner_purge_active(ml_planner *planner, int32_t node, ml_error *error);

/* True if ml_planner_new can take a graph: its tensors exist, the alignment is a power of two up to
 * 4096. */
ml_status ml_planner_check(const ml_planner_graph *graph, int32_t alignment, ml_error *error);
/* Sets the bytes and the memory (ml_memory_kind) of a tensor; placed variables cannot grow. */
ml_status ml_planner_set(ml_planner *planner, int32_t tensor, int64_t bytes, int32_t memory,
                         ml_error *error);
/* The lower bound of such sizes; INT64_MAX if they add up to more, -1 without memory. */
int64_t ml_planner_checked_bound(ml_planner *planner);

const int64_t *ml_planner_offsets(const ml_planner *planner); /* -1 = not placed */
const int64_t *ml_planner_placed(const ml_planner *planner); /* bytes placed, 0 = not placed */
const int32_t *ml_planner_roots(const ml_planner *planner);
const int32_t *ml_planner_first_nodes(const ml_planner *planner);
const int32_t *ml_planner_last_nodes(const ml_planner *planner);
int64_t ml_planner_high_water(const ml_planner *planner, int32_t memory);
int32_t ml_planner_active(const ml_planner *planner); /* records that placing looks at */
/* The records of all placed arena tensors that own their memory; returns their number, at most
 * `room` are written. */
int32_t ml_planner_records(const ml_planner *planner, ml_record *records, int32_t room);

struct ml_account; /* memory/account.h: a bound on several arenas and blocks together */

enum { ML_ARENA_BLOCKS = 3 };

/* A growable block of memory with a stable alignment. */
typedef struct ml_arena {
    uint8_t *base;
    int64_t capacity; /* accessible bytes */
    /* Bytes of address space; 0 if the system grants none. Then growing may move the base. */
    int64_t reserved;
    int64_t moves; /* times the base changed */
    int64_t copied; /* bytes copied by moves; pages moved by the system do not count */
    /* Accessible bytes after `capacity`, with pages of an arena that was released: growing uses
     * them before it asks the system. */
    int64_t kept;
    int64_t unclear; /* of the first bytes, which nobody has written yet, have old values */
    uint8_t *blocks[ML_ARENA_BLOCKS]; /* memory of a small arena; they stay until released */
    struct ml_account *account; /* borrowed; NULL = none */
    bool keeps_pages; /* takes the pages that the process keeps, and leaves its own to it */
} ml_arena;

/* Makes room for `bytes`, keeping the first `keep` bytes; never shrinks. A refusal changes nothing.
 * If there is an account, `bytes` must fit its limit; the bytes that round them up to pages need
 * not. */
ml_status ml_arena_commit(ml_arena *arena, int64_t bytes, int64_t keep, ml_error *error);
/* Before an arena that nobody has written is read: its bytes are zeros then, as far as it had them
 * from the beginning. */
void ml_arena_clear(ml_arena *arena);
/* Gives back everything after the first `bytes`, which stay where they are. */
void ml_arena_shrink(ml_arena *arena, int64_t bytes);
/* Gives back everything; if the arena keeps pages, they go to the next arena of the process. */
void ml_arena_release(ml_arena *arena);
/* Bytes that the process keeps for its next arenas: at most 64 MiB, and at most the bytes of the
 * largest arena that was released. */
int64_t ml_arena_kept(void);
/* Gives those to the system that no arena has taken. */
void ml_arena_drop_kept(void);
/* Accessible bytes whose pages are in memory; all of them, if the system cannot tell. */
int64_t ml_arena_resident(const ml_arena *arena);
