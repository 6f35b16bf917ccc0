/* kernel.h -- the contract of a kernel, and what its functions may call.
 *
 * A kernel is one row: a name, the operator it runs and what that takes (op, versions, takes,
 * quantization), the parameters that its node's options become, and
 *
 * check     what those words cannot say of options and quantization: refuses a node by ml_fail with
 *           ML_UNSUPPORTED, and fills the parameters whose fields say ML_BY_CHECK. Runs once per
 *           node, when the model is lowered; counts and types of the operands are as the row says.
 * prepare   from parameters, shapes and known values to the shapes of the outputs, the node's blob
 *           and wishes for scratch. It is pure and checks everything eval relies on: ranks,
 *           dimensions, products (ml_set_output checks those), and answers what it cannot accept
 *           with `return ml_fail(c, ML_SHAPE_ERROR, "filter depth %d does not match ...", ...)`.
 *           Where an output's shape depends on a value that is not known (ml_value returns NULL) it
 *           returns ml_open(wish, i); it is called again when the node is reached, and ml_value
 *           then returns every input's run-time bytes.
 * typed     a table from operand types ("f32 f32", "s16 s8 s64?", "s8 s8 s32? -> s8") to
 *   derive  what depends on the file alone: multipliers, tables, folded bias. Run once per graph,
 *           which keeps it (c->derived).
 *   pack    a constant operand in the layout of the level in use. Run once per Model, kept in its
 *           store (c->packed); where the operand is computed at run time, the engine packs it into
 *           scratch before eval.
 *   eval    computes; no malloc, no globals, no I/O. Inputs and outputs never overlap, except that
 *           output 0 may be exactly an input that the operator's `in_place` names. It checks every
 *           index that comes from tensor data. It is not called if no output has elements, unless
 *           the kernel has effects, memory or variables, sets shapes, or refuses values.
 *
 * window    optional: tells what a rectangle of output 0 needs, so that a node can be computed
 *           patch by patch.
 *
 * All of them see the node as the same ml_call, and reach the core through the inlines below alone,
 * so that a kernel compiled elsewhere plugs in by the address of its row. A family is one file, or
 * a folder, which ends with its table ML_KERNELS(family). */
#ifndef ML_KERNEL_H
#define ML_KERNEL_H

#include "core/shape.h"

/* Rows of another number are refused. */
#define ML_KERNEL_ABI 10

struct ml_simd;
struct ml_frame_engine;

/* The requests of prepare. */
typedef struct ml_wish {
    int64_t scratch_bytes; /* of this call; through ml_reserve */
    int64_t worker_bytes; /* of every worker of ml_parallel */
    /* Bit i: the shape of output i depends on values not known yet; bits above 31: all. */
    uint32_t open;
    /* Says all that pack reads besides the operand's values, type and shape, and the types of the
     * others: parameters, quantization, sizes; except what the packed bytes tell themselves. Nodes
     * that share an operand, and sizes of a node, get what was packed for the same number. */
    int32_t layout;
} ml_wish;

/* An option of a node, while it is lowered. */
typedef struct ml_node_option {
    /* The kind: 'i' a number, bool or enum in `integer`, 'f' a number in `real`, 's' text and
     * 'v' a vector, in `data` and `count`; 0: the node has no such option. */
    char kind;
    /* The type of a vector's elements, by Python's struct: b B h H i I q Q f d; ? is a bool. 0: of
     * a custom operator, read by option_element. */
    char code;
    int64_t integer;
    double real;
    const void *data; /* as the file has it, at any alignment; NULL: absent */
    int64_t count; /* bytes of text, elements of a vector */
} ml_node_option;

typedef ml_status (*ml_body)(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                             void *args);

/* The core as kernels see it. */
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
    /* Only in check, NULL elsewhere. */
    ml_node_option (*option)(const ml_call *c, const char *name);
    /* Element `i` of an option of a custom operator that is a vector. */
    ml_node_option (*option_element)(const ml_call *c, const char *name, int64_t i);
    const char *(*tensor_name)(const ml_call *c, int32_t tensor);
    void *(*keep)(const ml_call *c, int64_t bytes);
    const struct ml_node_row *(*node_row)(const ml_call *c);
    const struct ml_tensor_row *(*tensor_row)(const ml_call *c, int32_t tensor);
    const struct ml_subgraph_row *(*subgraph_row)(const ml_call *c, int32_t subgraph); /* or NULL */
    const char *(*option_word)(const ml_call *c, const char *name);
    const uint8_t *(*custom_options)(const ml_call *c, int64_t *bytes); /* as the file has them */
    const char *(*operator_name)(const ml_call *c, const struct ml_node_row *row);
    int64_t (*fresh_seed)(const ml_call *c); /* another one each time: 0 or more */
    /* The number of the model's resource of that kind and those names; -1 without memory. */
    int32_t (*resource)(const ml_call *c, const char *kind, const ml_node_option *names,
                        int n_names);
    /* Like `option`, but reads a composite node's own options, not its attributes. */
    ml_node_option (*option_of_node)(const ml_call *c, const char *name);
} ml_core;

/* The state that the nodes of a frame share while they are prepared or run. */
typedef struct ml_env {
    /* The place of each tensor: where in `tensors`, or ~where in `constants`; slots[-1]: absent. */
    const int32_t *slots;
    ml_tensor *tensors; /* what prepare and runs may shape */
    void *const *data; /* pointers by tensor, data[-1] is NULL; NULL before the node is reached */
    const ml_tensor *constants;
    ml_error *error;
    const ml_core *core;
    const struct ml_simd *simd;
    struct ml_frame_engine *engine; /* opaque below control/ */
    bool fast_convolutions; /* of floats: may round more than primitives promise, to be faster */
} ml_env;

/* One node, as derive, pack, prepare and eval see it. */
struct ml_call {
    const void *params;
    void *blob; /* blob_bytes of the row, zeroed before prepare, read-only in eval */
    const void *derived; /* NULL while derive runs */
    const void *packed; /* NULL in prepare and pack */
    void *scratch; /* 64-byte aligned */
    const int32_t *inputs; /* tensors by position, -1 = absent; then the outputs */
    const ml_env *env;
    uint16_t n_inputs;
    uint16_t n_outputs;
    uint32_t node : 24; /* its position in its subgraph */
    uint32_t ticks : 8; /* the engine's: about 4 KiB of operands each */
};

/* A subgraph has fewer nodes, and a node at most so many inputs, or outputs. */
enum { ML_MOST_NODES = 1 << 24, ML_MOST_OPERANDS = UINT16_MAX };

typedef enum {
    /* For planning and running: */
    /* Eval reads shapes, not values: always known once the input's shape is. */
    ML_KERNEL_NEEDS_SHAPES_ONLY = 1 << 0,
    /* Never folded, shared or skipped: variables, control flow, custom operators. */
    ML_KERNEL_HAS_EFFECTS = 1 << 1,
    /* Eval itself gives the output shapes (ml_set_output, then ml_settle). */
    ML_KERNEL_SETS_SHAPES = 1 << 2,
    /* For lowering: */
    ML_KERNEL_TAKES_SPARSE = 1 << 3, /* input 0 may be a constant in sparse form */
    ML_KERNEL_IS_VIEW = 1 << 4, /* output 0 holds input 0's bytes unchanged, under another shape */
    ML_KERNEL_TFLITE_SHARES = 1 << 5, /* TFLite's own planner shares memory in place for it */
    /* Outputs are constants if input 0 is one: the node vanishes when it is lowered. */
    ML_KERNEL_FOLDS = 1 << 6,
    ML_KERNEL_NO_REFERENCE = 1 << 7, /* there is no numpy reference */
    /* A node's name says what it computes: the kernel of a custom operator of that name runs in its
     * place, where it takes the node's attributes, types and ranks. */
    ML_KERNEL_IS_COMPOSITE = 1 << 15,
    /* For graph/fuse.c, which puts several nodes into one: */
    ML_KERNEL_IS_CLAMP = 1 << 8, /* the output is the input within the parameters minimum and
                                  * maximum */
    ML_KERNEL_CLAMPS = 1 << 9, /* the output, however computed, is within minimum and maximum */
    ML_KERNEL_PADS = 1 << 10, /* without an input 2 it puts zeros, as quantized, around input 0 */
    ML_KERNEL_TAKES_PADDING = 1 << 11, /* parameters pad_top, ..: zeros around its input 0 */
    ML_KERNEL_MULTIPLIES = 1 << 12, /* the product of two inputs */
    ML_KERNEL_ADDS = 1 << 13, /* the sum of two inputs */
    /* With the parameter squares it takes the square of each element of input 0. */
    ML_KERNEL_TAKES_SQUARES = 1 << 14,
    /* Output i may be exactly input i, for each i, where the caller bound one buffer to both. */
    ML_KERNEL_IN_PAIRS = 1 << 16,
    /* Eval refuses some values of its inputs, also where its outputs have no elements. */
    ML_KERNEL_REFUSES_VALUES = 1 << 17
} ml_kernel_flag;

/* The quantization that a row takes of operands of the types s8, u8 and s16. */
typedef enum {
    ML_TAKES_ANY_QUANTIZATION = 0, /* or check looks at it */
    ML_TAKES_QUANTIZED, /* each has one scale, positive and finite, and a zero point of its type */
    ML_TAKES_QUANTIZED_OR_BARE /* likewise, or none of all operands has a scale */
} ml_takes_quantization;

typedef struct ml_typed {
    /* Operand types by position: f32 f16 bf16 f64 s2 s4 s8 u8 s16 u16 s32 u32 s64 u64 b8 c64 c128
     * string resource; x1 x2 x4 x8 x16: any of so many bytes; any; "a|b" either; "?" after a type:
     * may be absent; "..." after the last: and more like it, none of them absent, "...?" none or
     * more. Outputs come after "->", else they are not looked at. "T s32 -> T: f32 s8" means
     * "f32 s32 -> f32" and "s8 s32 -> s8". "*" takes whatever comes; an operator's row has none. */
    const char *types;
    int64_t (*derive)(const ml_call *c,
                      void *to); /* to == NULL: how many bytes; negative when it failed */
    int64_t (*pack)(const ml_call *c, void *to); /* likewise; after prepare, with its blob */
    ml_status (*eval)(const ml_call *c);
} ml_typed;

/* The shapes of a node's operands; an operand that is absent has rank 0. */
typedef struct ml_operand_shapes {
    const ml_shape *inputs;
    int32_t n_inputs;
    const ml_shape *output; /* the first */
} ml_operand_shapes;

/* A faster form of a node, whose packed weights take more memory. */
typedef struct ml_larger_form {
    int64_t bytes; /* of its packed weights */
    int64_t gain; /* what it saves per byte, in a unit of the kernel's own */
    int32_t *granted; /* in the derived block: becomes `form` if the node gets it, else stays 0 */
    int32_t form;
} ml_larger_form;

struct ml_kernel {
    int32_t abi;
    int32_t flags; /* ml_kernel_flag */
    const char *name;
    /* The operator that the row runs, as the schema or a custom operator's file spells it; NULL: a
     * kernel that custom operators of the caller's are given. Several rows may have one name. */
    const char *op;
    int16_t first_version;
    int16_t last_version; /* inclusive */
    bool custom; /* op is a custom operator's name */
    uint8_t in_place; /* ML_INPUT(i) | ..: inputs that output 0 may overwrite when they die here and
                       * have as many bytes; i < 8 */
    uint8_t follows; /* ML_INPUT(i): output 0 takes input i's type, whatever the file says of it */
    uint8_t quantization; /* ml_takes_quantization */
    uint64_t writes; /* ML_INPUT(i) | ..: inputs that are variables, and written: an effect */
    const char *takes; /* the operands by name: "x axis? more...? -> y", marks as in ml_typed */
    const char
        *calls; /* the options that say which subgraphs it runs, split by spaces; NULL: none */
    ml_status (*check)(const ml_call *c, void *params); /* params: the node's, filled */
    const ml_field *fields;
    int32_t n_fields;
    int32_t params_bytes;
    int32_t blob_bytes;
    int32_t memory_bytes; /* of its own, kept from run to run, zeroed with the variables */
    int32_t packs; /* the input that `pack` lays out */
    int32_t reserved;
    /* The multiply-adds of a node; NULL: the operator does not consist of products. */
    int64_t (*multiply_adds)(const ml_operand_shapes *of);
    ml_status (*prepare)(const ml_call *c, ml_wish *wish);
    /* Everything that prepare reads besides parameters, types and shapes, as one number; sees what
     * derive saw, and its block. Of two nodes for which all of that is equal only one is prepared,
     * and layers differ in weights and scales. NULL: it may read values and quantization, so only
     * nodes in which they are equal too count as one. */
    int64_t (*prepare_reads)(const ml_call *c);
    /* A pure function of a prepared node: what it needs to compute the rectangle `out` of output 0,
     * its only output. Gives the rectangle of each input, `in` (on entry each input is needed
     * whole), and changes `params`, a copy of the node's parameters, so that the kernel, prepared
     * with these on tensors of just those sizes, computes just that rectangle, bit for bit. May
     * enlarge `out`, to where the operator can be cut. False: this node cannot be cut there. NULL:
     * the operator never can. */
    bool (*window)(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params);
    /* Tells a larger form of this node, once per graph and after derive; false: it has none. All
     * nodes share a number of bytes, and those that gain most per byte get theirs. It sees what
     * derive saw. NULL: no node has one. */
    bool (*larger)(const ml_call *c, ml_larger_form *form);
    /* The way in which a prepared node is computed, in a few words, from its blob; NULL: the usual
     * way. The function may be NULL too. */
    const char *(*way)(const void *blob);
    const ml_typed *typed; /* ends with types == NULL; without a match the numpy reference runs */
};

/* {ML_OP(GELU, 1, 3), .name = "gelu", .takes = "x -> y", ...}: the row of an operator. */
#define ML_OP(operator, first, last) \
    .abi = ML_KERNEL_ABI, .op = #operator, .first_version = (first), .last_version = (last)
#define ML_CUSTOM_OP(operator, first, last)                                                \
    .abi = ML_KERNEL_ABI, .op = (operator), .custom = true, .first_version = (first),      \
    .last_version = (last)
#define ML_INPUT(i) (UINT64_C(1) << (i))

/* ML_PARAMS(gelu_params, GELU_FIELDS) declares `struct gelu_params` and its field table from
 *     #define GELU_FIELDS(X, S) X(S, i32, approximate) X(S, i32, width, ML_OPTION("filter_width"))
 * with kinds i32, i64, f32, f64, array. A field has the value of the option of its name, or what
 * the words after the name say: */
#define ML_OPTION(option_name) .option = (option_name)
/* The option, or 1 where the operator has none of that name; must be positive. */
#define ML_POSITIVE(option_name) .option = (option_name), .rule = ML_FIELD_POSITIVE
/* 1 where the option `padding` is SAME, 0 where it is VALID; nothing else is taken. */
#define ML_SAME_PADDING .option = "padding", .rule = ML_FIELD_SAME_PADDING
/* The least and the most that the option `fused_activation_function` lets through, as reals; it
 * must be one that clamps. */
#define ML_ACTIVATION_LEAST .option = "fused_activation_function", .rule = ML_FIELD_LEAST
#define ML_ACTIVATION_MOST .option = "fused_activation_function", .rule = ML_FIELD_MOST
#define ML_IS(number) .rule = ML_FIELD_CONSTANT, .constant = (number)
/* Options of custom operators. A number, finite in float32; a count, whose fraction is cut off,
 * from least to most, both inclusive; a flag, 1 or 0. ..._OR: and the value of a missing
 * one. */
#define ML_NUMBER(option_name) .option = (option_name), .rule = ML_FIELD_NUMBER
#define ML_NUMBER_OR(option_name, number) ML_NUMBER(option_name), .has_preset = 1, .constant = (number)
#define ML_COUNT(option_name, first, last) \
    .option = (option_name), .rule = ML_FIELD_COUNT, .least = (first), .most = (last)
#define ML_COUNT_OR(option_name, first, last, number) \
    ML_COUNT(option_name, first, last), .has_preset = 1, .constant = (number)
#define ML_FLAG(option_name) .option = (option_name), .rule = ML_FIELD_FLAG
#define ML_FLAG_OR(option_name, number) ML_FLAG(option_name), .has_preset = 1, .constant = (number)
/* 0, or an empty array, until check fills it. */
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
/* The table alone, of a struct that ML_GROUP declares: for families of several files. */
#define ML_FIELDS(params, FIELDS) static const ml_field params##_fields[] = {FIELDS(ML_ROW, params)};
/* Another table for the same struct, for an operator whose options have other names. */
#define ML_FIELDS_AS(table, params, FIELDS) \
    static const ml_field table##_fields[] = {FIELDS(ML_ROW, params)};
/* Fields that several operators share are a group: ML_GROUP(ml_window_params, ML_WINDOW_FIELDS)
 * declares its struct, and
 *     #define ML_C_window ml_window_params
 *     #define ML_ROW_window(params, member) ML_WINDOW_FIELDS(ML_GROUP_ROW, (params, member))
 * make it a kind, so that X(S, window, window) puts a member `window` among the parameters. Python
 * passes its fields by their own names, as any other. Groups are of i32 and f32 alone: a struct of
 * these has no holes. */
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
/* Parameters by another table: {.name = "relu", ML_PARAMS_AS_IN(relu6, clamp_params), ...}. */
#define ML_PARAMS_AS_IN(table, params)                                                            \
    .fields = table##_fields, .n_fields = (int32_t)(sizeof table##_fields / sizeof table##_fields[0]), \
    .params_bytes = (int32_t)sizeof(params)

/* prepare_reads of a kernel whose prepare reads nothing else. */
static inline int64_t ml_reads_nothing(const ml_call *c) { return 0; }

/* A row whose only eval takes whatever its lowering lets through. */
#define ML_KERNEL(kernel_name, params, blob_size, kernel_flags, prepare_fn, eval_fn)             \
    {.abi = ML_KERNEL_ABI, .flags = (kernel_flags), .name = (kernel_name), ML_PARAMS_OF(params), \
     .blob_bytes = (int32_t)(blob_size), .prepare = (prepare_fn),                                \
     .typed = (const ml_typed[]){{"*", NULL, NULL, eval_fn}, {NULL, NULL, NULL, NULL}}}
#define ML_KERNEL_NO_PARAMS(kernel_name, blob_size, kernel_flags, prepare_fn, eval_fn) \
    {.abi = ML_KERNEL_ABI, .flags = (kernel_flags), .name = (kernel_name), .blob_bytes = (int32_t)(blob_size), \
     .prepare = (prepare_fn), .typed = (const ml_typed[]){{"*", NULL, NULL, eval_fn}, {NULL, NULL, NULL, NULL}}}
/* The table of a row: {.name = "pad", ..., ML_TYPED({"f32 s32", NULL, NULL, pad}, {...})}. */
#define ML_TYPED(...) .typed = (const ml_typed[]){__VA_ARGS__, {NULL, NULL, NULL, NULL}}
/* ML_KERNELS(conv) = { rows, ML_KERNELS_END }; the build finds the table by the file's or folder's
 * stem. */
#define ML_KERNELS(family)                        \
    extern const ml_kernel ml_kernels_##family[]; \
    const ml_kernel ml_kernels_##family[]
#define ML_KERNELS_END {.name = NULL}

/* The end of a range that reaches the end of its dimension, whatever that is. */
#define ML_TO_THE_END INT32_MAX

/* Writes the error's text once (the first failure stays) and returns `status`. */
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
/* A tensor's value where it is known before any run; else NULL. */
static inline const void *ml_known(const ml_tensor *t) { return t->known; }
/* True once the run has reached the node: its inputs have values. */
static inline bool ml_reached(const ml_call *c) { return c->env->data != NULL; }
/* The bytes of input `i`: known ones, or the run-time ones when the node has been reached; else
 * NULL. */
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

/* Prepare, and eval of SETS_SHAPES kernels: gives output `i` its shape; checks dimensions >= 0 and
 * that elements and bytes do not overflow. In eval its memory is there after ml_settle. */
static inline ml_status ml_set_output(const ml_call *c, int i, const ml_shape *shape) {
    return c->env->core->set_output(c, i, shape);
}
static inline ml_status ml_settle(const ml_call *c) { return c->env->core->settle(c); }
/* Prepare: the shape of output `i` depends on values not known yet; those set before stay settled.
 */
static inline ml_status ml_open(ml_wish *wish, int i) {
    wish->open |= 1u << (i < 31 ? i : 31);
    return ML_OK;
}
static inline ml_status ml_open_all(ml_wish *wish) {
    wish->open = UINT32_MAX;
    return ML_OK;
}
/* Prepare: `bytes` (>= 0) of scratch, 64-byte aligned; returns their offset. Sums beyond int64 are
 * refused by the engine. */
static inline int64_t ml_reserve(ml_wish *wish, int64_t bytes) {
    int64_t offset = wish->scratch_bytes, rounded;
    if (bytes < 0 || offset < 0 || __builtin_add_overflow(bytes, 63, &rounded) ||
        __builtin_add_overflow(offset, rounded & ~(int64_t)63, &wish->scratch_bytes)) {
        wish->scratch_bytes = -1;
        return 0;
    }
    return offset;
}

/* Check. */
/* The option of that name: what the file says, or what the schema says of an absent one. */
static inline ml_node_option ml_option_of(const ml_call *c, const char *name) {
    return c->env->core->option(c, name);
}
static inline ml_node_option ml_option_of_node(const ml_call *c, const char *name) {
    return c->env->core->option_of_node(c, name);
}
/* The value of an option that is an enum, as the schema spells it: "SAME"; "?" of any other. */
static inline const char *ml_option_word(const ml_call *c, const char *name) {
    return c->env->core->option_word(c, name);
}
/* The name of input `i` or output `i`, for messages; goes with the lowering. */
static inline const char *ml_input_name(const ml_call *c, int i) {
    return c->env->core->tensor_name(c, c->inputs[i]);
}
static inline const char *ml_output_name(const ml_call *c, int i) {
    return c->env->core->tensor_name(c, c->inputs[c->n_inputs + i]);
}
/* Memory, zeroed, for what parameters point to: lives as long as they do. NULL: there is none, and
 * the error says so. */
static inline void *ml_keep(const ml_call *c, int64_t bytes) {
    return c->env->core->keep(c, bytes);
}

/* Eval. */
static inline const void *ml_in(const ml_call *c, int i) { return c->env->data[c->inputs[i]]; }
/* NULL when it is absent or missing. */
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
/* A variable input, writable. */
static inline void *ml_variable(const ml_call *c, int i) { return c->env->data[c->inputs[i]]; }
static inline void *ml_scratch(const ml_call *c, int64_t offset) {
    return (char *)c->scratch + offset;
}
/* The row's memory_bytes, this node's, kept from run to run. */
static inline void *ml_memory(const ml_call *c) { return c->env->core->memory(c); }
/* Output `i`, of no fixed size (strings), takes `bytes`; ml_out gives them afterwards. */
static inline ml_status ml_set_bytes(const ml_call *c, int i, int64_t bytes) {
    return c->env->core->set_bytes(c, i, bytes);
}
/* The bytes of input `i`, of a type of no fixed size too. */
static inline int64_t ml_in_bytes(const ml_call *c, int i) {
    return c->env->core->bytes(c, c->inputs[i]);
}
/* Runs `body` over 0 .. items - 1 in blocks of about `grain`, on the threads there are; any split
 * gives the same result. */
static inline ml_status ml_parallel(const ml_call *c, int64_t items, int64_t grain, ml_body body,
                                    void *args) {
    return c->env->core->parallel(c, items, grain, body, args);
}
/* Where work that cannot be cut into blocks looks whether the run goes on, every millisecond or so,
 * in a body too. Any status except ML_OK ends the node. */
static inline ml_status ml_poll(const ml_call *c) { return c->env->core->poll(c); }
static inline void *ml_worker_scratch(const ml_call *c, int32_t worker) {
    return c->env->core->worker_scratch(c, worker);
}

#endif
