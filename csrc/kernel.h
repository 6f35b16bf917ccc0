/* kernel.h -- the contract of a kernel: what its functions do, and what they may call.
 *
 * A kernel is one row (struct ml_kernel). The row names the operator that the kernel runs, says
 * which versions, operand types and quantization it accepts, and which parameters are made of the
 * node's options. It points to these functions:
 *
 * check     refuses options and quantization that the row's fields cannot describe, by ml_fail with
 *           ML_UNSUPPORTED, and fills the parameters that are marked ML_BY_CHECK. It runs once per
 *           node, when the model is lowered; the number and the types of the operands have been
 *           checked before.
 * prepare   computes the shapes of the outputs, the node's blob and the scratch memory needed, from
 *           the parameters, the shapes and the values known before the run. It is pure, and checks
 *           everything that eval relies on: ranks, dimensions, products (ml_set_output checks
 *           those). It refuses a node with
 *           `return ml_fail(c, ML_SHAPE_ERROR, "filter depth %d does not match ...", ...)`.
 *           Where an output's shape depends on a value that is not known (ml_value returns NULL) it
 *           returns ml_open(wish, i). It is called again when the run reaches the node; ml_value
 *           then returns the run-time bytes of every input.
 * typed     a table with one entry per signature of operand types ("f32 f32", "s16 s8 s64?",
 *           "s8 s8 s32? -> s8"), each with three functions:
 *   derive  computes what depends on the file alone: multipliers, tables, folded bias. It runs once
 *           per graph, which keeps the result (c->derived).
 *   pack    copies a constant operand into the layout of the level in use. It runs once per Model,
 *           whose store keeps the result (c->packed). An operand that is computed at run time is
 *           packed into scratch by the engine before eval.
 *   eval    computes the outputs; no malloc, no globals, no I/O. Inputs and outputs never overlap,
 *           except that output 0 may be exactly an input that the row's `in_place` lists. It checks
 *           every index that comes from tensor data.
 *
 * All of them see the node as the same ml_call, and call the core only through the inline functions
 * below. A kernel that was compiled elsewhere can therefore be added by the address of its row. A
 * family is one file, or a folder, which ends with its table ML_KERNELS(family). */
#ifndef ML_KERNEL_H
#define ML_KERNEL_H

#include "core/shape.h"

/* The version of struct ml_kernel. Rows with another number are refused. */
#define ML_KERNEL_ABI 5

struct ml_simd;
struct ml_frame_engine;

/* Filled by prepare: the memory a node needs, and which of its shapes are still unknown. */
typedef struct ml_wish {
    int64_t scratch_bytes; /* scratch of this call; see ml_reserve */
    int64_t worker_bytes; /* scratch for each worker of ml_parallel */
    /* Bit i: the shape of output i depends on values not known yet. A bit above 31: all outputs. */
    uint32_t open;
    /* Identifies the layout of packed weights where it depends on shapes: blocks with different
     * numbers are packed separately. */
    int32_t layout;
} ml_wish;

/* An option of a node, as `check` reads it. */
typedef struct ml_node_option {
    /* Its kind: 'i' a number, bool or enum, in `integer`; 'f' a number, in `real`; 's' text and 'v'
     * a vector, in `data` and `count`; 0: the node has no such option. */
    char kind;
    /* Type of a vector's elements, as in Python's struct module: b B h H i I q Q f d; ? is a bool.
     * 0: the vector belongs to a custom operator and is read by option_element. */
    char code;
    int64_t integer;
    double real;
    const void *data; /* as the file has it, at any alignment; NULL: absent */
    int64_t count; /* bytes of text, elements of a vector */
} ml_node_option;

typedef ml_status (*ml_body)(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args);

/* The core's functions that kernels may call, through the inline functions below. */
typedef struct ml_core {
    ml_status (*fail)(const ml_call *c, ml_status status, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    ml_status (*set_output)(const ml_call *c, int i, const ml_shape *shape);
    ml_status (*settle)(const ml_call *c);
    ml_status (*set_bytes)(const ml_call *c, int i, int64_t bytes);
    ml_status (*parallel)(const ml_call *c, int64_t items, int64_t grain, ml_body body, void *args);
    void *(*worker_scratch)(const ml_call *c, int32_t worker);
    void *(*memory)(const ml_call *c);
    int64_t (*bytes)(const ml_call *c, int32_t tensor);
    const ml_quantization *(*quantization)(const ml_call *c, int32_t tensor);
    ml_status (*poll)(const ml_call *c);
    /* These are set while `check` runs, NULL elsewhere. */
    ml_node_option (*option)(const ml_call *c, const char *name);
    /* Element `i` of an option of a custom operator, where the option is a vector. */
    ml_node_option (*option_element)(const ml_call *c, const char *name, int64_t i);
    const char *(*tensor_name)(const ml_call *c, int32_t tensor);
    void *(*keep)(const ml_call *c, int64_t bytes);
    const struct ml_node_row *(*node_row)(const ml_call *c);
    const struct ml_tensor_row *(*tensor_row)(const ml_call *c, int32_t tensor);
    const struct ml_subgraph_row *(*subgraph_row)(const ml_call *c, int32_t subgraph); /* or NULL */
    const char *(*option_word)(const ml_call *c, const char *name);
    const uint8_t *(*custom_options)(const ml_call *c, int64_t *bytes); /* as the file has them */
    const char *(*operator_name)(const ml_call *c, const struct ml_node_row *row);
    int64_t (*fresh_seed)(const ml_call *c); /* a different number at each call, 0 or more */
    /* The number of the model's resource of that kind with those names; -1 if memory is missing. */
    int32_t (*resource)(const ml_call *c, const char *kind, const ml_node_option *names,
                        int n_names);
} ml_core;

/* Shared by all nodes of a frame (one place where a subgraph is called) in prepare and eval. */
typedef struct ml_env {
    /* By tensor number: an index into `tensors`, or ~index into `constants`; slots[-1] is the
     * absent tensor. */
    const int32_t *slots;
    ml_tensor *tensors; /* prepare and eval may change their shapes */
    /* by tensor number, data[-1] is NULL; all is NULL until the run reaches the node */
    void *const *data;
    const ml_tensor *constants;
    ml_error *error;
    const ml_core *core;
    const struct ml_simd *simd;
    struct ml_frame_engine *engine; /* only code in control/ looks inside */
} ml_env;

/* One node, as derive, pack, prepare and eval see it. */
struct ml_call {
    const void *params;
    void *blob; /* blob_bytes of the row, zeroed before prepare, read-only in eval */
    const void *derived; /* NULL while derive runs */
    const void *packed; /* NULL in prepare and pack */
    void *scratch; /* 64-byte aligned */
    const int32_t *inputs; /* tensor numbers by position, -1 = absent; the outputs follow */
    const ml_env *env;
    uint16_t n_inputs;
    uint16_t n_outputs;
    uint32_t node : 24; /* its position in its subgraph */
    uint32_t ticks : 8; /* used by the engine: one per about 4 KiB of operands */
};

/* Limits (exclusive) on the nodes of a subgraph and (inclusive) on the inputs or outputs of a
 * node. */
enum { ML_MOST_NODES = 1 << 24, ML_MOST_OPERANDS = UINT16_MAX };

typedef enum {
    /* Used in planning and running: */
    /* Eval reads the shape of its input, not the values: the outputs are known once the shape
     * is. */
    ML_KERNEL_NEEDS_SHAPES_ONLY = 1 << 0,
    /* The node is never folded, shared or skipped: variables, control flow, custom operators. */
    ML_KERNEL_HAS_EFFECTS = 1 << 1,
    /* Eval itself sets the output shapes (ml_set_output, then ml_settle). */
    ML_KERNEL_SETS_SHAPES = 1 << 2,
    /* Used in lowering: */
    ML_KERNEL_TAKES_SPARSE = 1 << 3, /* input 0 may be a constant in sparse form */
    ML_KERNEL_IS_VIEW = 1 << 4, /* output 0 holds input 0's bytes unchanged, under another shape */
    ML_KERNEL_TFLITE_SHARES = 1 << 5, /* TFLite's own planner shares memory in place for it */
    /* If input 0 is constant, so are the outputs: they are computed in lowering and the node is
     * removed. */
    ML_KERNEL_FOLDS = 1 << 6,
    ML_KERNEL_NO_REFERENCE = 1 << 7, /* there is no numpy reference */
    /* Used in graph/fuse.c, which merges several nodes into one: */
    /* the output is input 0 limited to the parameters minimum and maximum */
    ML_KERNEL_IS_CLAMP = 1 << 8,
    /* the output, however computed, is limited to the parameters minimum and maximum */
    ML_KERNEL_CLAMPS = 1 << 9,
    /* without an input 2 it pads input 0 with zeros (the zero point, where quantized) */
    ML_KERNEL_PADS = 1 << 10,
    ML_KERNEL_TAKES_PADDING = 1 << 11, /* has the parameters pad_top, ...: zeros around input 0 */
    ML_KERNEL_MULTIPLIES = 1 << 12, /* the product of two inputs */
    ML_KERNEL_ADDS = 1 << 13, /* the sum of two inputs */
    /* Has the parameter `squares`: squares each element of input 0 before use. */
    ML_KERNEL_TAKES_SQUARES = 1 << 14
} ml_kernel_flag;

/* Which quantization a row accepts for its operands of the types s8, u8 and s16. */
typedef enum {
    ML_TAKES_ANY_QUANTIZATION = 0, /* `check` decides */
    /* each has one scale, positive and finite, and a zero point in the range of its type */
    ML_TAKES_QUANTIZED,
    ML_TAKES_QUANTIZED_OR_BARE /* as above, or no operand has a scale */
} ml_takes_quantization;

typedef struct ml_typed {
    /* The signature: operand types by position. f32 f16 bf16 f64 s2 s4 s8 u8 s16 u16 s32 u32 s64
     * u64 b8 c64 c128 string resource; x1 x2 x4 x8 x16: any type of that many bytes; any; "a|b":
     * either; "?" after a type: the operand may be absent; "..." after the last type: more operands
     * of that type may follow, none of them absent; "...?": the same, or none at all. Outputs
     * follow "->"; without it they are not checked. "T s32 -> T: f32 s8" is short for "f32 s32 ->
     * f32" and "s8 s32 -> s8". "*" accepts any operands; it is not for rows of operators. */
    const char *types;
    /* returns its size in bytes if `to` is NULL; negative when it failed */
    int64_t (*derive)(const ml_call *c, void *to);
    /* likewise; runs after prepare and sees its blob */
    int64_t (*pack)(const ml_call *c, void *to);
    ml_status (*eval)(const ml_call *c);
} ml_typed;

struct ml_kernel {
    int32_t abi;
    int32_t flags; /* ml_kernel_flag */
    const char *name;
    /* The operator that the row runs, spelled as in the schema, or the name of a custom operator.
     * NULL: the row is for custom operators that the caller registers. Several rows may name the
     * same operator. */
    const char *op;
    int16_t first_version;
    int16_t last_version; /* inclusive */
    bool custom; /* op is a custom operator's name */
    /* ML_INPUT(i) | ...: inputs that output 0 may overwrite if the node is their last reader and
     * they have the same size in bytes; i < 8 */
    uint8_t in_place;
    uint8_t follows; /* ML_INPUT(i): output 0 has the type of input i, whatever the file says */
    uint8_t quantization; /* ml_takes_quantization */
    uint64_t writes; /* ML_INPUT(i) | ...: inputs that must be variable tensors and are written */
    /* names of the operands: "x axis? more...? -> y", with the marks of ml_typed */
    const char *takes;
    /* the options that hold numbers of subgraphs it runs, separated by spaces; or NULL */
    const char *calls;
    ml_status (*check)(const ml_call *c, void *params); /* `params` are the node's, filled */
    const ml_field *fields;
    int32_t n_fields;
    int32_t params_bytes;
    int32_t blob_bytes;
    /* bytes per node that keep their values between runs; zeroed with the variables */
    int32_t memory_bytes;
    int32_t packs; /* the number of the input that `pack` lays out */
    int32_t reserved;
    ml_status (*prepare)(const ml_call *c, ml_wish *wish);
    /* ends with types == NULL; if no entry matches, the numpy reference runs */
    const ml_typed *typed;
};

/* {ML_OP(GELU, 1, 3), .name = "gelu", .takes = "x -> y", ...}: the row of an operator. */
#define ML_OP(operator, first, last) \
    .abi = ML_KERNEL_ABI, .op = #operator, .first_version = (first), .last_version = (last)
#define ML_CUSTOM_OP(operator, first, last)                                                \
    .abi = ML_KERNEL_ABI, .op = (operator), .custom = true, .first_version = (first),      \
    .last_version = (last)
#define ML_INPUT(i) (UINT64_C(1) << (i))

/* ML_PARAMS(gelu_params, GELU_FIELDS) declares `struct gelu_params` and its table of fields from
 *     #define GELU_FIELDS(X, S) X(S, i32, approximate) X(S, i32, width, ML_OPTION("filter_width"))
 * The kinds are i32, i64, f32, f64 and array. A field takes the value of the option of the same
 * name, unless one of the following macros after its name says otherwise. */
#define ML_OPTION(option_name) .option = (option_name)
/* The value of the option, or 1 where the operator has no option of that name; must be positive. */
#define ML_POSITIVE(option_name) .option = (option_name), .rule = ML_FIELD_POSITIVE
/* 1 if the option `padding` is SAME, 0 if it is VALID; other values are refused. */
#define ML_SAME_PADDING .option = "padding", .rule = ML_FIELD_SAME_PADDING
/* The lower and the upper limit of the option `fused_activation_function`, as real numbers;
 * activations that are not clamps are refused. */
#define ML_ACTIVATION_LEAST .option = "fused_activation_function", .rule = ML_FIELD_LEAST
#define ML_ACTIVATION_MOST .option = "fused_activation_function", .rule = ML_FIELD_MOST
#define ML_IS(number) .rule = ML_FIELD_CONSTANT, .constant = (number)
/* Options of custom operators. NUMBER: finite in float32. COUNT: the fraction is cut off, and the
 * value must be within `first` to `last`, both inclusive. FLAG: 1 or 0. The forms with _OR give the
 * value of a missing option. */
#define ML_NUMBER(option_name) .option = (option_name), .rule = ML_FIELD_NUMBER
#define ML_NUMBER_OR(option_name, number) ML_NUMBER(option_name), .has_preset = 1, .constant = (number)
#define ML_COUNT(option_name, first, last) \
    .option = (option_name), .rule = ML_FIELD_COUNT, .least = (first), .most = (last)
#define ML_COUNT_OR(option_name, first, last, number) \
    ML_COUNT(option_name, first, last), .has_preset = 1, .constant = (number)
#define ML_FLAG(option_name) .option = (option_name), .rule = ML_FIELD_FLAG
#define ML_FLAG_OR(option_name, number) ML_FLAG(option_name), .has_preset = 1, .constant = (number)
/* 0, or an empty array, until `check` fills it. */
#define ML_BY_CHECK .rule = ML_FIELD_BY_CHECK

#define ML_C_i32 int32_t
#define ML_C_i64 int64_t
#define ML_C_f32 float
#define ML_C_f64 double
#define ML_C_array ml_array
#define ML_MEMBER(params, kind, field, ...) ML_C_##kind field;
#define ML_ROW(params, kind, ...) ML_ROW_##kind(params, __VA_ARGS__)
#define ML_ROW_i32(params, ...) ML_ROW_AT(params, 'i', __VA_ARGS__)
#define ML_ROW_i64(params, ...) ML_ROW_AT(params, 'q', __VA_ARGS__)
#define ML_ROW_f32(params, ...) ML_ROW_AT(params, 'f', __VA_ARGS__)
#define ML_ROW_f64(params, ...) ML_ROW_AT(params, 'd', __VA_ARGS__)
#define ML_ROW_array(params, ...) ML_ROW_AT(params, 'a', __VA_ARGS__)
#define ML_ROW_AT(params, letter, field, ...) \
    {.name = #field, .kind = (letter), .offset = (int32_t)offsetof(params, field), ##__VA_ARGS__},
#define ML_PARAMS(params, FIELDS)   \
    typedef struct params {         \
        FIELDS(ML_MEMBER, params)   \
    } params;                       \
    ML_FIELDS(params, FIELDS)
/* The table alone, for a struct that ML_GROUP declares: for families of several files. */
#define ML_FIELDS(params, FIELDS) static const ml_field params##_fields[] = {FIELDS(ML_ROW, params)};
/* Another table for the same struct, for an operator whose options have other names. */
#define ML_FIELDS_AS(table, params, FIELDS) \
    static const ml_field table##_fields[] = {FIELDS(ML_ROW, params)};
/* Fields that several operators share form a group: ML_GROUP(ml_window_params, ML_WINDOW_FIELDS)
 * declares its struct, and
 *     #define ML_C_window ml_window_params
 *     #define ML_ROW_window(params, member) ML_WINDOW_FIELDS(ML_GROUP_ROW, (params, member))
 * make it a kind, so that X(S, window, window) adds a member `window` to the parameters. In Python
 * its fields have their own names, like all others. A group has fields of the kinds i32 and f32
 * only: a struct of these has no padding. */
#define ML_GROUP(group, FIELDS)   \
    typedef struct group {        \
        FIELDS(ML_MEMBER, group)  \
    } group;
#define ML_GROUP_ROW(place, kind, ...) ML_GROUP_ROW_OF(ML_PLACE place, kind, __VA_ARGS__)
#define ML_PLACE(params, member) params, member
#define ML_GROUP_ROW_OF(...) ML_GROUP_ROW_AT(__VA_ARGS__)
#define ML_GROUP_ROW_AT(params, member, of, field, ...) \
    {.name = #field,                                      \
     .kind = ML_LETTER_##of,                              \
     .offset = (int32_t)offsetof(params, member.field),   \
     ##__VA_ARGS__},
#define ML_LETTER_i32 'i'
#define ML_LETTER_f32 'f'
/* The parameters of a row: {.name = "gelu", ML_PARAMS_OF(gelu_params), ...}. */
#define ML_PARAMS_OF(params) ML_PARAMS_AS_IN(params, params)
/* The same with another table of fields: {.name = "relu", ML_PARAMS_AS_IN(relu6, clamp_params),
 * ...}. */
#define ML_PARAMS_AS_IN(table, params)                                                            \
    .fields = table##_fields, .n_fields = (int32_t)(sizeof table##_fields / sizeof table##_fields[0]), \
    .params_bytes = (int32_t)sizeof(params)

/* A row with a single eval for all operand types that lowering accepts. */
#define ML_KERNEL(kernel_name, params, blob_size, kernel_flags, prepare_fn, eval_fn)             \
    {.abi = ML_KERNEL_ABI, .flags = (kernel_flags), .name = (kernel_name), ML_PARAMS_OF(params), \
     .blob_bytes = (int32_t)(blob_size), .prepare = (prepare_fn),                                \
     .typed = (const ml_typed[]){{"*", NULL, NULL, eval_fn}, {NULL, NULL, NULL, NULL}}}
#define ML_KERNEL_NO_PARAMS(kernel_name, blob_size, kernel_flags, prepare_fn, eval_fn) \
    {.abi = ML_KERNEL_ABI, .flags = (kernel_flags), .name = (kernel_name), .blob_bytes = (int32_t)(blob_size), \
     .prepare = (prepare_fn), .typed = (const ml_typed[]){{"*", NULL, NULL, eval_fn}, {NULL, NULL, NULL, NULL}}}
/* The table of signatures: {.name = "pad", ..., ML_TYPED({"f32 s32", NULL, NULL, pad}, {...})}. */
#define ML_TYPED(...) .typed = (const ml_typed[]){__VA_ARGS__, {NULL, NULL, NULL, NULL}}
/* ML_KERNELS(conv) = { rows, ML_KERNELS_END }; the build finds the table by the name of the file or
 * folder. */
#define ML_KERNELS(family)                        \
    extern const ml_kernel ml_kernels_##family[]; \
    const ml_kernel ml_kernels_##family[]
#define ML_KERNELS_END {.name = NULL}

/* Writes the error's text (a later failure does not replace the first) and returns `status`. */
#define ml_fail(c, status, ...) ((c)->env->core->fail((c), (status), __VA_ARGS__))

/* Tensors. Input `i`, or NULL when it is absent. */
static inline const ml_tensor *ml_tensor_of(const ml_call *c, int32_t tensor) {
    int32_t at = c->env->slots[tensor];
    return at >= 0 ? &c->env->tensors[at] : &c->env->constants[~at];
}
static inline const ml_tensor *ml_input(const ml_call *c, int i) {
    return i < c->n_inputs && c->inputs[i] >= 0 ? ml_tensor_of(c, c->inputs[i]) : NULL;
}
static inline const ml_tensor *ml_output(const ml_call *c, int i) {
    return ml_tensor_of(c, c->inputs[c->n_inputs + i]);
}
/* A tensor's value if it is known before any run, else NULL. */
static inline const void *ml_known(const ml_tensor *t) {
    bool keeps = t->storage <= ML_STORAGE_FOLDED || t->storage == ML_STORAGE_SLOT;
    return keeps ? t->known : NULL;
}
/* Whether the run has reached the node, so that its inputs have values. */
static inline bool ml_reached(const ml_call *c) { return c->env->data != NULL; }
/* The bytes of input `i`: its run-time value once the run has reached the node, before that its
 * value if it is known; else NULL. */
static inline const void *ml_value(const ml_call *c, int i) {
    const ml_tensor *t = ml_input(c, i);
    const void *known = t ? ml_known(t) : NULL;
    return known || !t || !ml_reached(c) ? known : c->env->data[c->inputs[i]];
}
/* Scale and zero point of input `i` or output `i`, as the file has them. */
static inline const ml_quantization *ml_input_quantization(const ml_call *c, int i) {
    return c->env->core->quantization(c, c->inputs[i]);
}
static inline const ml_quantization *ml_output_quantization(const ml_call *c, int i) {
    return c->env->core->quantization(c, c->inputs[c->n_inputs + i]);
}

/* For prepare, and for eval of kernels with SETS_SHAPES: sets the shape of output `i`; checks that
 * dimensions are >= 0 and that elements and bytes do not overflow. In eval, call ml_settle before
 * writing to it. */
static inline ml_status ml_set_output(const ml_call *c, int i, const ml_shape *shape) {
    return c->env->core->set_output(c, i, shape);
}
static inline ml_status ml_settle(const ml_call *c) { return c->env->core->settle(c); }
/* For prepare: the shape of output `i` depends on values not known yet. Outputs whose shape was set
 * before keep it. */
static inline ml_status ml_open(ml_wish *wish, int i) {
    wish->open |= 1u << (i < 31 ? i : 31);
    return ML_OK;
}
static inline ml_status ml_open_all(ml_wish *wish) {
    wish->open = UINT32_MAX;
    return ML_OK;
}
/* For prepare: reserves `bytes` (>= 0) of scratch, 64-byte aligned, and returns their offset. The
 * engine refuses sums beyond int64. */
static inline int64_t ml_reserve(ml_wish *wish, int64_t bytes) {
    int64_t offset = wish->scratch_bytes, rounded;
    if (bytes < 0 || offset < 0 || __builtin_add_overflow(bytes, 63, &rounded) ||
        __builtin_add_overflow(offset, rounded & ~(int64_t)63, &wish->scratch_bytes)) {
        wish->scratch_bytes = -1;
        return 0;
    }
    return offset;
}

/* For check: */
/* The option of that name: the value in the file, or the schema's default. */
static inline ml_node_option ml_option_of(const ml_call *c, const char *name) {
    return c->env->core->option(c, name);
}
/* The value of an enum option, as the schema spells it: "SAME"; "?" if the option is not an
 * enum. */
static inline const char *ml_option_word(const ml_call *c, const char *name) {
    return c->env->core->option_word(c, name);
}
/* The name of input `i` or output `i`, for messages; valid while the model is lowered. */
static inline const char *ml_input_name(const ml_call *c, int i) {
    return c->env->core->tensor_name(c, c->inputs[i]);
}
static inline const char *ml_output_name(const ml_call *c, int i) {
    return c->env->core->tensor_name(c, c->inputs[c->n_inputs + i]);
}
/* Zeroed memory that lives as long as the parameters, for data that they point to. NULL if memory
 * is missing; the error is written. */
static inline void *ml_keep(const ml_call *c, int64_t bytes) {
    return c->env->core->keep(c, bytes);
}

/* For eval: */
static inline const void *ml_in(const ml_call *c, int i) { return c->env->data[c->inputs[i]]; }
/* NULL when the input is absent. */
static inline const void *ml_in_optional(const ml_call *c, int i) {
    return i < c->n_inputs ? ml_in(c, i) : NULL;
}
static inline void *ml_out(const ml_call *c, int i) {
    return c->env->data[c->inputs[c->n_inputs + i]];
}
static inline const ml_tensor *ml_in_tensor(const ml_call *c, int i) {
    return ml_tensor_of(c, c->inputs[i]);
}
static inline const ml_tensor *ml_out_tensor(const ml_call *c, int i) { return ml_output(c, i); }
/* The data of a variable input, writable. */
static inline void *ml_variable(const ml_call *c, int i) { return c->env->data[c->inputs[i]]; }
static inline void *ml_scratch(const ml_call *c, int64_t offset) {
    return (char *)c->scratch + offset;
}
/* The memory_bytes of this node, whose values are kept between runs. */
static inline void *ml_memory(const ml_call *c) { return c->env->core->memory(c); }
/* Gives output `i`, whose type has no fixed size (strings), a buffer of `bytes`; ml_out then
 * returns it. */
static inline ml_status ml_set_bytes(const ml_call *c, int i, int64_t bytes) {
    return c->env->core->set_bytes(c, i, bytes);
}
/* The size of input `i` in bytes, also for types of no fixed size. */
static inline int64_t ml_in_bytes(const ml_call *c, int i) {
    return c->env->core->bytes(c, c->inputs[i]);
}
/* Calls `body` for 0 .. items - 1 in blocks of about `grain`, on all available threads; results
 * must not depend on how items are divided. */
static inline ml_status ml_parallel(const ml_call *c, int64_t items, int64_t grain, ml_body body,
                                    void *args) {
    return c->env->core->parallel(c, items, grain, body, args);
}
/* To be called about every millisecond by work that cannot be divided into blocks, also inside a
 * `body`: it returns ML_OK as long as the run continues. Any other status must end the node. */
static inline ml_status ml_poll(const ml_call *c) { return c->env->core->poll(c); }
static inline void *ml_worker_scratch(const ml_call *c, int32_t worker) {
    return c->env->core->worker_scratch(c, worker);
}

#endif
