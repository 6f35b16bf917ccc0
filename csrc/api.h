/* Memory planning ------------------------------------------------------------------------------------------------- */

#define ML_FOREVER 2147483647
#define ML_UNPLACED -1

typedef enum {
    ML_PLAN_OK = 0,
    ML_PLAN_UNKNOWN_STRATEGY = 1,
    ML_PLAN_NO_MEMORY = 2,     /* malloc failed */
    ML_PLAN_OVERFLOW = 3,      /* sizes add up beyond INT64_MAX / 2 */
    ML_PLAN_UNSUPPORTED = 4,   /* the strategy takes no fixed records */
    ML_PLAN_OVER_CAPACITY = 5  /* proved: no plan fits problem->capacity */
} ml_plan_status;

/* One tensor's claim on memory: `size` bytes from node `first` to node `last`, both inclusive. */
typedef struct ml_record {
    int64_t size;
    int64_t offset; /* in: ML_UNPLACED, or a fixed offset; out: where it lies */
    int32_t first;
    int32_t last;
    int32_t tensor; /* the caller's number for it; strategies only read it where their rule orders by it */
    int32_t reserved;
} ml_record;

typedef struct ml_problem {
    ml_record *records;
    int32_t count;
    int32_t alignment;
    /* Exact search only. */
    int64_t capacity;      /* in: stop at any plan within it; 0 = minimize */
    int64_t max_nodes;     /* in: budget of search nodes; 0 = none */
    double max_seconds;    /* in: budget of CPU seconds; 0 = none */
    /* Results. */
    int64_t arena_bytes;
    int64_t lower_bound;   /* largest sum of rounded sizes live at once */
    int64_t searched;      /* search nodes visited, or greedy passes run */
    int32_t proved_optimal;
    int32_t reserved;
} ml_problem;

/* Plans `problem` with the strategy of that name; see memory/problem.h for the contract. */
ml_plan_status ml_memory_plan(const char *strategy, ml_problem *problem);
/* The name of strategy `index`, or NULL past the last. */
const char *ml_memory_strategy_name(int32_t index);
