/* kernel.h -- the contract of a kernel, and all that prepare and eval may call.
 *
 * prepare   is pure: from parameters, shapes and known values to the shapes of the outputs, the blob and scratch bytes.
 *           It checks everything eval relies on: ranks, dimensions, products (ml_set_shape checks those), and answers what
 *           it cannot accept with `return ml_fail(p->error, ML_SHAPE_ERROR, "filter depth %d does not match input depth %d", ...)`.
 *           Where it needs a value that is not known (ml_value returns NULL) it returns ml_dynamic(p); it is called again
 *           when the node is reached, and ml_value then returns every input's run-time bytes.
 * eval      computes; no malloc, no globals, no I/O. Inputs and outputs never overlap, except that output 0 may be exactly
 *           an input that the operator's `in_place` names. It checks every index that comes from tensor data.
 *
 * A family is one file: parameters (ML_PARAMS), blob, prepare, eval, and last its table ML_KERNELS(family).
 */
#ifndef ML_KERNEL_H
#define ML_KERNEL_H

#include <string.h>

#include "minilite.h"

typedef struct ml_prepare {
    const void *params;
    void *blob;             /* blob_bytes of the kernel, zeroed */
    const int32_t *inputs;
    const int32_t *outputs;
    int32_t n_inputs;
    int32_t n_outputs;
    ml_tensor *tensors;
    void **data;            /* run-time pointers by tensor when the node is reached; NULL before */
    int64_t scratch_bytes;  /* set by prepare: memory eval gets in call->scratch, 64-byte aligned */
    ml_error *error;
    bool dynamic;           /* set by ml_dynamic */
    /* The engine's own, for control flow. */
    struct ml_plan *plan;
    struct ml_state *state;
    int32_t frame;
    int32_t node;
    int32_t handler;
} ml_prepare;

enum {
    ML_KERNEL_NEEDS_SHAPES_ONLY = 1, /* eval reads shapes, not values: always known once the input's shape is */
    ML_KERNEL_HAS_EFFECTS = 2,       /* never folded, shared or skipped: variables, control flow, custom operators */
    ML_KERNEL_SETS_SHAPES = 4        /* eval itself gives the output shapes (ml_set_run_shape, then ml_settle) */
};

typedef struct ml_kernel {
    ml_kernel_info info;
    int32_t blob_bytes;
    int32_t flags;
    ml_status (*prepare)(ml_prepare *p);
    ml_status (*eval)(const ml_call *call); /* NULL: the numpy reference runs */
} ml_kernel;

/* ML_PARAMS(clamp_params, CLAMP_FIELDS) declares `struct clamp_params` and its field table from
 *     #define CLAMP_FIELDS(X, S) X(S, f32, minimum) X(S, f32, maximum)
 * with kinds i32, i64, f32, f64, array. Python passes the fields by name: Kernel("relu_f32", minimum=0.0, maximum=6.0). */
#define ML_C_i32 int32_t
#define ML_C_i64 int64_t
#define ML_C_f32 float
#define ML_C_f64 double
#define ML_C_array ml_array
#define ML_KIND_i32 'i'
#define ML_KIND_i64 'q'
#define ML_KIND_f32 'f'
#define ML_KIND_f64 'd'
#define ML_KIND_array 'a'
#define ML_MEMBER(params, kind, field) ML_C_##kind field;
#define ML_ROW(params, kind, field) {#field, ML_KIND_##kind, (int32_t)offsetof(params, field)},
#define ML_PARAMS(params, FIELDS)   \
    typedef struct params {         \
        FIELDS(ML_MEMBER, params)   \
    } params;                       \
    static const ml_field params##_fields[] = {FIELDS(ML_ROW, params)};

/* A row of a family's table. */
#define ML_KERNEL(name, params, blob_size, kernel_flags, prepare_fn, eval_fn)                                              \
    {{name, params##_fields, (int32_t)(sizeof params##_fields / sizeof params##_fields[0]), (int32_t)sizeof(params),       \
      (eval_fn) != NULL},                                                                                                  \
     (int32_t)(blob_size), (kernel_flags), (prepare_fn), (eval_fn)}
#define ML_KERNEL_NO_PARAMS(name, blob_size, kernel_flags, prepare_fn, eval_fn) \
    {{name, NULL, 0, 0, (eval_fn) != NULL}, (int32_t)(blob_size), (kernel_flags), (prepare_fn), (eval_fn)}
/* ML_KERNELS(conv) = { rows, ML_KERNELS_END }; the build finds the table by the file's stem. */
#define ML_KERNELS(family)                      \
    extern const ml_kernel ml_kernels_##family[]; \
    const ml_kernel ml_kernels_##family[]
#define ML_KERNELS_END {.info = {.name = NULL}}

/* Writes the error's text once (the first failure stands) and returns `status`. */
ml_status ml_fail(ml_error *error, ml_status status, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Shapes. */
/* Elements of a shape, -1 if beyond INT64_MAX / 64. */
int64_t ml_elements(const ml_shape *shape);
/* Bytes per element; 0 for strings and other types of no fixed size. */
int64_t ml_type_bytes(int32_t type);
/* "(1, 64, 64, 3)" into `text`, for messages; returns text. */
const char *ml_shape_text(const ml_shape *shape, char text[96]);
/* numpy's rule: dimensions from the right are equal or 1. ML_SHAPE_ERROR with both shapes otherwise. */
ml_status ml_broadcast_shape(const ml_shape *a, const ml_shape *b, ml_shape *out, ml_error *error);
static inline bool ml_same_shape(const ml_shape *a, const ml_shape *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, (size_t)a->rank * sizeof a->dims[0]) == 0;
}

/* Prepare. */
/* Input `i`, or NULL when it is absent. */
static inline const ml_tensor *ml_input(const ml_prepare *p, int i) {
    return i < p->n_inputs && p->inputs[i] >= 0 ? &p->tensors[p->inputs[i]] : NULL;
}
static inline ml_tensor *ml_output(const ml_prepare *p, int i) { return &p->tensors[p->outputs[i]]; }
/* The bytes of input `i`: known ones, or the run-time ones when the node has been reached; else NULL. */
static inline const void *ml_value(const ml_prepare *p, int i) {
    if (i >= p->n_inputs || p->inputs[i] < 0) return NULL;
    const ml_tensor *t = &p->tensors[p->inputs[i]];
    return t->known ? t->known : p->data ? p->data[p->inputs[i]] : NULL;
}
/* Gives output `i` its shape; checks dimensions >= 0 and that elements and bytes do not overflow. */
ml_status ml_set_shape(ml_prepare *p, int i, const ml_shape *shape);
/* Declares that the outputs' shapes hang on values not known yet. */
static inline ml_status ml_dynamic(ml_prepare *p) {
    p->dynamic = true;
    return ML_OK;
}
/* Reads a known s32 or s64 input as int64; false when `index` is outside it. */
bool ml_read_index(const ml_tensor *tensor, const void *value, int64_t index, int64_t *out);

/* Eval. */
static inline const void *ml_in(const ml_call *c, int i) { return c->data[c->inputs[i]]; }
static inline void *ml_out(const ml_call *c, int i) { return c->data[c->outputs[i]]; }
static inline const ml_tensor *ml_in_tensor(const ml_call *c, int i) { return &c->tensors[c->inputs[i]]; }
static inline const ml_tensor *ml_out_tensor(const ml_call *c, int i) { return &c->tensors[c->outputs[i]]; }

#endif
