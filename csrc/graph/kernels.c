/* kernels.c -- finds built-in kernels by name, and the entry of a kernel's table that matches given
 * operand types. */
#include "kernel.h"

#include <stdatomic.h>

#include "core/error.h"
#include "graph/graph.h"
#include "graph/lower.h"

#define X(table, family) extern const ml_kernel ml_kernels_##table[];
#include "families.def"
#undef X

#define X(table, family) ml_kernels_##table,
static const ml_kernel *const tables[] = {
#include "families.def"
};
#undef X

#define X(table, family) #family,
static const char *const family_names[] = {
#include "families.def"
};
#undef X

const ml_kernel *ml_kernel_at(int32_t index) {
    for (size_t f = 0; f < sizeof tables / sizeof tables[0]; f++)
        for (const ml_kernel *k = tables[f]; k->name; k++)
            if (index-- == 0) return k;
    return NULL;
}

const char *ml_kernel_family(const ml_kernel *kernel) {
    for (size_t f = 0; f < sizeof tables / sizeof tables[0]; f++)
        for (const ml_kernel *k = tables[f]; k->name; k++)
            if (k == kernel) return family_names[f];
    return NULL;
}

const ml_kernel *ml_kernel_find(const char *name) {
    for (size_t f = 0; f < sizeof tables / sizeof tables[0]; f++)
        for (const ml_kernel *k = tables[f]; k->name; k++)
            if (strcmp(k->name, name) == 0) return k;
    return NULL;
}

static bool runs(const ml_kernel *k, const char *op, int64_t bytes, bool custom) {
    return k->op && bytes > 0 && k->op[0] == op[0] && k->custom == custom &&
           strncmp(k->op, op, (size_t)bytes) == 0 && !k->op[bytes];
}

/* The better one of `found` and a family's rows. */
static const ml_kernel *look_in(const ml_kernel *family, const ml_kernel *found, const char *op,
                                int64_t bytes, bool custom, int32_t version) {
    for (const ml_kernel *k = family; k->name; k++)
        if (runs(k, op, bytes, custom) &&
            (!found || (k->first_version <= version && k->first_version > found->first_version)))
            found = k;
    return found;
}

const ml_kernel *ml_kernel_of(const char *op, int64_t bytes, int32_t custom, int32_t version) {
    const ml_kernel *found = NULL;
    for (size_t f = 0; f < sizeof tables / sizeof tables[0]; f++)
        found = look_in(tables[f], found, op, bytes, custom != 0, version);
    return found;
}

/* To go through all rows takes longer than to lower a node, so the family of an operator is noted.
 * All threads find the same one. */
const ml_kernel *ml_kernel_of_builtin(int64_t op, const char *name, int64_t bytes,
                                      int32_t version) {
    enum { MOST = 256 };
    static _Atomic(const ml_kernel *) families[MOST];
    if (op >= MOST) return ml_kernel_of(name, bytes, false, version);
    const ml_kernel *family = atomic_load(&families[op]);
    for (size_t f = 0; f < sizeof tables / sizeof tables[0] && !family; f++)
        if (look_in(tables[f], NULL, name, bytes, false, version)) family = tables[f];
    if (!family) return NULL;
    atomic_store(&families[op], family);
    return look_in(family, NULL, name, bytes, false, version);
}

/* The first field that is not where Python would put it: one after the other, each aligned to its
 * size (arrays: to 8). */
static const ml_field *find_misplaced(const ml_kernel *k) {
    int64_t at = 0;
    for (int32_t i = 0; i < k->n_fields; i++) {
        const ml_field *f = &k->fields[i];
        char kind = f->name ? f->kind : 0;
        int64_t size = kind == 'i' || kind == 'f' ? 4 : kind == 'q' || kind == 'd' ? 8 : 16;
        at = ml_round_up(at, size < 8 ? size : 8);
        bool known = size < 16 || kind == 'a';
        if (!known || f->offset != at || at + size > k->params_bytes) return f;
        at += size;
    }
    return NULL;
}

ml_status ml_kernel_check(const ml_kernel *k, ml_error *error) {
    if (!k) return ml_error_set(error, ML_GRAPH_ERROR, "there is no kernel at address 0");
    if (k->abi != ML_KERNEL_ABI)
        return ml_error_set(
            error, ML_GRAPH_ERROR,
            "the kernel was compiled for version %d of kernel.h, this is version %d", k->abi,
            ML_KERNEL_ABI);
    if (!k->name || !k->prepare || !k->typed)
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "kernel '%s' lacks a name, prepare or its table of types",
                            k->name ? k->name : "");
    if (k->params_bytes < 0 || k->blob_bytes < 0 || k->memory_bytes < 0 || k->packs < 0 ||
        k->n_fields < 0 || (k->n_fields > 0 && !k->fields))
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "kernel '%s' has impossible counts: %d fields in %d bytes of "
                            "parameters, a blob of %d, memory of %d bytes, packs input %d",
                            k->name, k->n_fields, k->params_bytes, k->blob_bytes, k->memory_bytes,
                            k->packs);
    if (k->writes && !(k->flags & ML_KERNEL_HAS_EFFECTS))
        return ml_error_set(error, ML_GRAPH_ERROR,
                            "kernel '%s' writes inputs: declare ML_KERNEL_HAS_EFFECTS", k->name);
    const ml_field *misplaced = find_misplaced(k);
    if (misplaced)
        return ml_error_set(
            error, ML_GRAPH_ERROR,
            "kernel '%s' has the field '%s' at byte %d of its %d of parameters: declare "
            "them by ML_PARAMS",
            k->name, misplaced->name ? misplaced->name : "", misplaced->offset, k->params_bytes);
    return ML_OK;
}

ml_status ml_kernel_describe(const ml_kernel *k, ml_kernel_info *info, ml_error *error) {
    ml_status status = ml_kernel_check(k, error);
    if (status != ML_OK) return status;
    *info = (ml_kernel_info){.name = k->name,
                             .fields = k->fields,
                             .n_fields = k->n_fields,
                             .params_bytes = k->params_bytes,
                             .flags = k->flags,
                             .op = k->op,
                             .custom = k->custom,
                             .first_version = k->first_version,
                             .last_version = k->last_version,
                             .takes = k->takes,
                             .calls = k->calls,
                             .in_place = k->in_place,
                             .follows = k->follows,
                             .quantization = k->quantization,
                             .writes = k->writes,
                             .is_view = (k->flags & ML_KERNEL_IS_VIEW) != 0,
                             .tflite_shares = (k->flags & ML_KERNEL_TFLITE_SHARES) != 0,
                             .folds = (k->flags & ML_KERNEL_FOLDS) != 0,
                             .has_reference = !(k->flags & ML_KERNEL_NO_REFERENCE),
                             .has_window = k->window != NULL};
    return ML_OK;
}

/* The number of the type with that name; -1 if there is none. */
static int32_t type_named(const char *name, size_t length) {
    const ml_type_row *row;
    for (int32_t t = 0; (row = ml_type_row_of(t)) != NULL; t++)
        if (strlen(row->name) == length && memcmp(row->name, name, length) == 0) return t;
    return -1;
}

/* True if `type` is one of the alternatives in [from, end): names of types or groups, separated by
 * "|". */
static bool takes(const char *from, const char *end, int32_t type) {
    for (const char *stop; from < end; from = stop + 1) {
        stop = memchr(from, '|', (size_t)(end - from));
        if (!stop) stop = end;
        size_t length = (size_t)(stop - from);
        if (length == 3 && memcmp(from, "any", 3) == 0) return true;
        if (from[0] == 'x' && length <= 3 && ml_type_bytes(type) > 0) {
            int64_t bytes = 0;
            for (size_t i = 1; i < length; i++) bytes = bytes * 10 + (from[i] - '0');
            if (bytes == ml_type_bytes(type)) return true;
        }
        if (type_named(from, length) == type) return true;
    }
    return false;
}

/* A word of a signature, in [from, end). */
typedef struct word {
    const char *from;
    const char *end;
} word;

/* One operand of a signature, with its marks. */
typedef struct token {
    word type;
    bool optional; /* ? */
    bool repeats; /* ... */
} token;

/* Reads the next operand; `of_t` replaces T. */
static bool next_token(const char **at, word of_t, token *t) {
    while (**at == ' ') ++*at;
    if (**at == 0 || **at == ':' || strncmp(*at, "->", 2) == 0) return false;
    t->type.from = *at;
    *at += strcspn(*at, " ?.:");
    t->type.end = *at;
    if (t->type.end - t->type.from == 1 && t->type.from[0] == 'T') t->type = of_t;
    t->optional = **at == '?';
    if (t->optional) ++*at;
    t->repeats = strncmp(*at, "...", 3) == 0;
    if (t->repeats) *at += 3;
    if (**at == '?') {
        t->optional = true;
        ++*at;
    }
    return true;
}

/* True if the operand types match one side of a signature; moves *at to its end. */
static bool match_side(const char **at, word of_t, const int32_t *types, int32_t count) {
    int32_t i = 0;
    token t;
    while (next_token(at, of_t, &t)) do {
            if (i < count && types[i] >= 0) {
                if (!takes(t.type.from, t.type.end, types[i])) return false;
            } else if (!t.optional || (t.repeats && i < count)) return false;
            i += i < count;
        } while (t.repeats && i < count);
    return i == count;
}

static bool match_sides(const char *signature, word of_t, const int32_t *types, int32_t n_inputs,
                        int32_t n_outputs) {
    if (!match_side(&signature, of_t, types, n_inputs)) return false;
    if (*signature == 0 || *signature == ':') return true;
    signature += 2;
    return match_side(&signature, of_t, types + n_inputs, n_outputs);
}

bool ml_types_match(const char *signature, const int32_t *types, int32_t n_inputs,
                    int32_t n_outputs) {
    const char *list = strchr(signature, ':');
    if (!list) return match_sides(signature, (word){0}, types, n_inputs, n_outputs);
    for (const char *from = list + 1, *end; *from; from = end) {
        from += strspn(from, " ");
        end = from + strcspn(from, " ");
        if (match_sides(signature, (word){from, end}, types, n_inputs, n_outputs)) return true;
    }
    return false;
}

int32_t ml_kernel_match(const ml_kernel *kernel, const int32_t *types, int32_t n_inputs,
                        int32_t n_outputs) {
    for (int32_t row = 0; kernel->typed[row].types; row++) {
        const char *at = kernel->typed[row].types;
        if (at[0] == '*' && at[1] == 0) return row;
        if (ml_types_match(at, types, n_inputs, n_outputs)) return row;
    }
    return -1;
}

int64_t ml_kernel_multiply_adds(const ml_kernel *kernel, const ml_shape *shapes, int32_t n_inputs) {
    if (!kernel->multiply_adds) return -1;
    return kernel->multiply_adds(&(ml_operand_shapes){shapes, n_inputs, &shapes[n_inputs]});
}

const char *ml_kernel_types(const ml_kernel *kernel, int32_t index, int32_t *has_eval) {
    for (int32_t row = 0; row <= index; row++)
        if (!kernel->typed[row].types) return NULL;
    *has_eval = kernel->typed[index].eval != NULL;
    return kernel->typed[index].types;
}
