/* options.c -- fills the parameters of a node from its options, as the kernel's fields say, and
 * runs the row's check. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <time.h>

#include "format/schema.h"
#include "graph/lower.h"
#include "os/os.h"
#include "rules/checks.h"

void *ml_lowering_keep(lowering *l, int64_t bytes, ml_error *error) {
    kept *k = malloc(sizeof *k);
    void *data = ml_os_allocate(bytes);
    if (!k || !data) {
        free(k);
        ml_os_free(data);
        ml_error_memory(error, "lowering", bytes, 0);
        return NULL;
    }
    memset(data, 0, (size_t)bytes);
    *k = (kept){l->kept, data};
    l->kept = k;
    return data;
}

/* Operator codes ------------------------------------------------------------------------------- */

/* The name of an enum's value, as the schema spells it. */
static const char *value_name(int32_t of, int64_t code, int *length) {
    const char *name = ml_schema_enums[of].values;
    for (int64_t i = 0; i < code; i++) name = strchr(name, ' ') + 1;
    *length = (int)strcspn(name, " ");
    return name;
}

/* The same for an operator, whose place among the names is known. */
static const char *operator_text(int64_t op, int *length) {
    *length = ml_schema_operators[op].name_bytes;
    return ml_schema_enums[ML_ENUM_BuiltinOperator].values + ml_schema_operators[op].name_at;
}

static int32_t slot_named(int32_t table, const char *name) {
    for (int32_t slot = 0; table >= 0 && slot < ml_schema_tables[table].n_slots; slot++)
        if (strcmp(ml_schema_slot_at(table, slot)->name, name) == 0) return slot;
    return -1;
}

static const char *option_of(const ml_field *f) { return f->option ? f->option : f->name; }

void ml_open_code(ml_code *code, const ml_file *file, const ml_operator_row *row, bool callers) {
    code->callers = callers;
    if (row->custom) {
        code->kernel = ml_kernel_of((const char *)file->data + row->name.at, row->name.bytes, true,
                                    row->version);
    } else if (row->op < ml_schema_n_operators) {
        int length;
        const char *name = operator_text(row->op, &length);
        code->kernel = ml_kernel_of_builtin(row->op, name, length, row->version);
    }
    for (int32_t i = 0; code->kernel && i < code->kernel->n_fields; i++)
        code->slots[i] = (int8_t)slot_named(row->table, option_of(&code->kernel->fields[i]));
}

/* Types ---------------------------------------------------------------------------------------- */

static void gather_types(const lowering *l, const ml_node_row *row, int32_t *types) {
    for (int32_t i = 0; i < row->n_inputs; i++)
        types[i] = row->inputs[i] < 0 ? -1 : l->tensors[row->inputs[i]].type;
    for (int32_t i = 0; i < row->n_outputs; i++)
        types[row->n_inputs + i] = l->tensors[row->outputs[i]].type;
}

int32_t ml_match_node(const lowering *l, ml_code *code, const ml_node_row *row) {
    const int32_t n = row->n_inputs + row->n_outputs;
    if (n > ML_MATCHED_OPERANDS) {
        int32_t *many = malloc((size_t)n * sizeof *many);
        if (!many) return ML_MATCH_NO_MEMORY;
        gather_types(l, row, many);
        int32_t typed = ml_kernel_match(code->kernel, many, row->n_inputs, row->n_outputs);
        free(many);
        return typed;
    }
    int32_t types[ML_MATCHED_OPERANDS];
    gather_types(l, row, types);
    if (n == 0 || code->n_inputs != row->n_inputs || code->n_outputs != row->n_outputs ||
        memcmp(code->types, types, (size_t)n * sizeof *types) != 0) {
        code->typed = ml_kernel_match(code->kernel, types, row->n_inputs, row->n_outputs);
        code->n_inputs = row->n_inputs;
        code->n_outputs = row->n_outputs;
        memcpy(code->types, types, (size_t)n * sizeof *types);
    }
    return code->typed;
}

/* The core's functions for check --------------------------------------------------------------- */

static lowering *lowering_of(const ml_call *c) { return (lowering *)(void *)c->env->engine; }

static const ml_subgraph_row *subgraph_row(const ml_call *c, int32_t subgraph) {
    const ml_file *file = lowering_of(c)->shown.file;
    return subgraph >= 0 && subgraph < file->n_subgraphs ? &file->subgraphs[subgraph] : NULL;
}

static const ml_tensor_row *tensor_row(const ml_call *c, int32_t tensor) {
    const lowering *l = lowering_of(c);
    return &l->shown.file->subgraphs[l->shown.subgraph].tensors[tensor];
}

static const ml_node_row *node_row(const ml_call *c) {
    const lowering *l = lowering_of(c);
    return &l->shown.file->subgraphs[l->shown.subgraph].nodes[l->shown.node];
}

static void *keep(const ml_call *c, int64_t bytes) {
    return ml_lowering_keep(lowering_of(c), bytes, c->env->error);
}

static const char *keep_text(const ml_call *c, const char *text, int64_t bytes) {
    if (bytes > 100) bytes = 100; /* messages have a limited length */
    char *copy = keep(c, bytes + 1);
    if (!copy) return "";
    if (bytes) memcpy(copy, text, (size_t)bytes);
    return copy;
}

static const char *tensor_name(const ml_call *c, int32_t tensor) {
    const ml_span span = tensor_row(c, tensor)->name;
    return keep_text(c, (const char *)lowering_of(c)->shown.file->data + span.at, span.bytes);
}

static const char *operator_name(const ml_call *c, const ml_node_row *row) {
    const ml_file *file = lowering_of(c)->shown.file;
    const ml_operator_row *code = &file->operators[row->code];
    if (code->custom)
        return keep_text(c, (const char *)file->data + code->name.at, code->name.bytes);
    if (code->op >= ml_schema_n_operators) return "?";
    int length;
    const char *name = operator_text(code->op, &length);
    return keep_text(c, name, length);
}

static const ml_quantization *quantization(const ml_call *c, int32_t tensor) {
    static const ml_quantization none = {0};
    return tensor < 0 ? &none : &tensor_row(c, tensor)->quantization;
}

static ml_status fail(const ml_call *c, ml_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    ml_error_set_list(c->env->error, status, format, arguments);
    va_end(arguments);
    return status;
}

static ml_node_option read_slot(const ml_file *file, int32_t table, int32_t slot,
                                const ml_slot_value *value) {
    const ml_schema_slot *form = ml_schema_slot_at(table, slot);
    switch ((ml_form)form->form) {
    case ML_FORM_SCALAR:
        if (form->code == 'f') return (ml_node_option){.kind = 'f', .real = value->real};
        return (ml_node_option){.kind = 'i', .integer = value->integer};
    case ML_FORM_ENUM: return (ml_node_option){.kind = 'i', .integer = value->integer};
    default: /* a string or scalars: no kernel asks for tables or vectors of enums */
        return (ml_node_option){.kind = form->form == ML_FORM_STRING ? 's' : 'v',
                                .code = form->code,
                                .data = value->at ? file->data + value->at : NULL,
                                .count = value->at ? value->count : 0};
    }
}

/* An option of a builtin node; of kind 0 where it is missing. */
static ml_node_option builtin_option(const lowering *l, const ml_node_row *row, const char *name) {
    const int32_t slot = slot_named(row->options_table, name);
    if (slot < 0) return (ml_node_option){0};
    return read_slot(l->shown.file, row->options_table, slot, &row->options[slot]);
}

/* The flexbuffer of a custom node's options, or of a composite's attributes. */
static const uint8_t *custom_options(const ml_call *c, int64_t *bytes) {
    const lowering *l = lowering_of(c);
    if (l->composite) {
        const ml_node_option attributes = builtin_option(l, node_row(c), "composite_attributes");
        *bytes = attributes.count;
        return attributes.data;
    }
    const ml_span span = node_row(c)->custom_options;
    *bytes = span.bytes;
    return l->shown.file->data + span.at;
}

/* Finds an option of a custom operator; refuses the node if its options are not a flexbuffer. */
static bool find_custom(const ml_call *c, const char *name, ml_flex_value *value) {
    lowering *l = lowering_of(c);
    int64_t bytes;
    const uint8_t *data = custom_options(c, &bytes);
    if (l->composite && bytes == 0) return false; /* it has no attributes */
    if (!l->flex.data && !ml_flex_open(data, bytes, &l->flex)) {
        l->flex.data = NULL;
        ml_fail(c, ML_UNSUPPORTED, "custom options are not a flexbuffer map");
        return false;
    }
    return ml_flex_find(&l->flex, name, value);
}

static ml_node_option option_of_value(const lowering *l, const ml_flex_value *v) {
    switch (v->kind) {
    case ML_FLEX_UNSIGNED:
        if (v->integer < 0) return (ml_node_option){.kind = 'f', .real = v->real};
        return (ml_node_option){.kind = 'i', .integer = v->integer};
    case ML_FLEX_INTEGER:
    case ML_FLEX_BOOL: return (ml_node_option){.kind = 'i', .integer = v->integer};
    case ML_FLEX_REAL: return (ml_node_option){.kind = 'f', .real = v->real};
    case ML_FLEX_STRING:
        return (ml_node_option){.kind = 's', .data = l->flex.data + v->at, .count = v->count};
    case ML_FLEX_NUMBERS: return (ml_node_option){.kind = 'v', .count = v->count};
    default: return (ml_node_option){0};
    }
}

/* The caller has seen that there is such a vector. */
static ml_node_option option_element(const ml_call *c, const char *name, int64_t i) {
    ml_flex_value vector = {0}, element;
    find_custom(c, name, &vector);
    ml_flex_number(&lowering_of(c)->flex, &vector, i, &element);
    return option_of_value(lowering_of(c), &element);
}

static ml_node_option option(const ml_call *c, const char *name) {
    const ml_node_row *row = node_row(c);
    if (lowering_of(c)->composite || lowering_of(c)->shown.file->operators[row->code].custom) {
        ml_flex_value value;
        if (!find_custom(c, name, &value)) return (ml_node_option){0};
        return option_of_value(lowering_of(c), &value);
    }
    return builtin_option(lowering_of(c), row, name);
}

static ml_node_option option_of_node(const ml_call *c, const char *name) {
    return builtin_option(lowering_of(c), node_row(c), name);
}

static const char *option_word(const ml_call *c, const char *name) {
    const ml_node_row *row = node_row(c);
    const int32_t slot = slot_named(row->options_table, name);
    const ml_schema_slot *form = slot < 0 ? NULL : ml_schema_slot_at(row->options_table, slot);
    if (!form || form->form != ML_FORM_ENUM) return "?";
    int length;
    const char *word = value_name(form->of, row->options[slot].integer, &length);
    return keep_text(c, word, length);
}

static bool same_text(const ml_node_option *a, const ml_node_option *b) {
    return a->count == b->count && a->integer == b->integer &&
           (a->count == 0 || memcmp(a->data, b->data, (size_t)a->count) == 0);
}

/* The number of the model's resource of that operator with those names; numbers are given in order
 * of first use. -1 if memory is missing. */
static int32_t resource(const ml_call *c, const char *op, const ml_node_option *names,
                        int n_names) {
    lowering *l = lowering_of(c);
    ml_resource_name wanted = {.op = op};
    for (int i = 0; i < n_names; i++) wanted.names[i] = names[i];
    const int32_t count = l->shown.description.n_resources;
    for (int32_t i = 0; i < count; i++)
        if (strcmp(l->resources[i].op, op) == 0 &&
            same_text(&l->resources[i].names[0], &wanted.names[0]) &&
            same_text(&l->resources[i].names[1], &wanted.names[1]))
            return i;
    if (count >= l->resource_room) {
        int64_t room = 2 * (int64_t)count + 16;
        ml_resource_name *grown = realloc(l->resources, (size_t)room * sizeof *grown);
        if (!grown) {
            ml_error_refused(c->env->error, "resources");
            return -1;
        }
        l->resources = grown;
        l->resource_room = room;
    }
    l->resources[count] = wanted;
    return l->shown.description.n_resources++;
}

/* Mixes the clock, the address of the lowering and the number of seeds drawn, as splitmix64
 * does. */
static int64_t fresh_seed(const ml_call *c) {
    lowering *l = lowering_of(c);
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    uint64_t x = (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec + (uintptr_t)l +
                 (uint64_t)++l->seeds * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (int64_t)((x ^ x >> 31) >> 1);
}

static const ml_core core = {.fail = fail,
                             .quantization = quantization,
                             .option = option,
                             .option_of_node = option_of_node,
                             .option_element = option_element,
                             .tensor_name = tensor_name,
                             .option_word = option_word,
                             .custom_options = custom_options,
                             .operator_name = operator_name,
                             .keep = keep,
                             .node_row = node_row,
                             .tensor_row = tensor_row,
                             .subgraph_row = subgraph_row,
                             .fresh_seed = fresh_seed,
                             .resource = resource};

/* Fields --------------------------------------------------------------------------------------- */

static ml_status put_integer(const ml_call *c, const ml_field *f, uint8_t *to, int64_t value) {
    const int32_t narrow = (int32_t)value;
    if (f->kind == 'q') memcpy(to + f->offset, &value, sizeof value);
    else if (narrow == value) memcpy(to + f->offset, &narrow, sizeof narrow);
    else
        return ml_fail(c, ML_UNSUPPORTED, "%s is %lld, must be an int32", option_of(f),
                       (long long)value);
    return ML_OK;
}

static ml_status put_real(const ml_call *c, const ml_field *f, uint8_t *to, double value) {
    if (f->kind == 'i' || f->kind == 'q') return put_integer(c, f, to, (int64_t)value);
    const float narrow = (float)value;
    if (f->kind == 'f') memcpy(to + f->offset, &narrow, sizeof narrow);
    else memcpy(to + f->offset, &value, sizeof value);
    return ML_OK;
}

static ml_status put_vector(const ml_call *c, const ml_field *f, uint8_t *to, ml_node_option o) {
    const int64_t each = o.kind == 'v' ? ml_code_bytes(o.code) : 1;
    if (!o.count) return ML_OK;
    uint8_t *copy = ml_keep(c, o.count * each);
    if (!copy) return c->env->error->status;
    memcpy(copy, o.data, (size_t)(o.count * each));
    const ml_array array = {copy, o.count * each};
    memcpy(to + f->offset, &array, sizeof array);
    return ML_OK;
}

/* The limits of a fused activation: RELU, RELU_N1_TO_1 and RELU6, in the schema's order. */
static ml_status put_limit(const ml_call *c, const ml_field *f, uint8_t *to, ml_node_option o) {
    static const float limits[][2] = {
        {-INFINITY, INFINITY}, {0.0f, INFINITY}, {-1.0f, 1.0f}, {0.0f, 6.0f}};
    if (o.integer < (int64_t)(sizeof limits / sizeof limits[0]))
        return put_real(c, f, to, (double)limits[o.integer][f->rule == ML_FIELD_MOST]);
    int length;
    const char *name = value_name(ML_ENUM_ActivationFunctionType, o.integer, &length);
    return ml_fail(
        c, ML_UNSUPPORTED,
        "fused activation %.*s is not supported, only NONE, RELU, RELU_N1_TO_1, RELU6 are", length,
        name);
}

/* The value of a custom operator's option as text, for a message. */
static const char *option_text(const ml_call *c, ml_node_option o) {
    char text[40];
    if (o.kind == 'i') snprintf(text, sizeof text, "%lld", (long long)o.integer);
    else if (o.kind == 'f') snprintf(text, sizeof text, "%g", o.real);
    else return o.kind == 's' ? "text" : o.kind == 'v' ? "a vector" : "missing";
    return keep_text(c, text, (int64_t)strlen(text));
}

/* Reads a NUMBER, COUNT or FLAG of a custom operator. */
static ml_status put_custom(const ml_call *c, const ml_field *f, uint8_t *to) {
    ml_node_option o = option(c, option_of(f));
    if (!o.kind && f->has_preset) o = (ml_node_option){.kind = 'f', .real = f->constant};
    const double number = o.kind == 'i' ? (double)o.integer : o.real;
    if ((o.kind != 'i' && o.kind != 'f') || !(fabs(number) < 1e38))
        return ml_fail(c, ML_UNSUPPORTED, "option %s is %s, must be a number", option_of(f),
                       option_text(c, o));
    if (f->rule == ML_FIELD_NUMBER) return put_real(c, f, to, number);
    if (f->rule == ML_FIELD_FLAG) return put_integer(c, f, to, number != 0.0);
    if (!(trunc(number) >= f->least && trunc(number) <= f->most))
        return ml_fail(c, ML_UNSUPPORTED, "option %s is %s, expected %.0f to %.0f", option_of(f),
                       option_text(c, o), f->least, f->most);
    return put_integer(c, f, to, (int64_t)number);
}

static ml_status put_field(const ml_call *c, const ml_field *f, int32_t slot, uint8_t *to) {
    if (f->rule == ML_FIELD_BY_CHECK) return ML_OK;
    if (f->rule == ML_FIELD_CONSTANT) return put_real(c, f, to, f->constant);
    if (f->rule == ML_FIELD_NUMBER || f->rule == ML_FIELD_COUNT || f->rule == ML_FIELD_FLAG)
        return put_custom(c, f, to);
    const ml_node_row *row = node_row(c);
    ml_node_option o = {0};
    if (slot >= 0)
        o = read_slot(lowering_of(c)->shown.file, row->options_table, slot, &row->options[slot]);
    switch ((ml_field_rule)f->rule) {
    case ML_FIELD_POSITIVE:
        if (!o.kind) o.integer = 1;
        if (o.integer <= 0)
            return ml_fail(c, ML_UNSUPPORTED, "%s must be positive, it is %lld", option_of(f),
                           (long long)o.integer);
        return put_integer(c, f, to, o.integer);
    case ML_FIELD_SAME_PADDING:
        return put_integer(c, f, to, o.integer == 0); /* the enum has no third value */
    case ML_FIELD_LEAST:
    case ML_FIELD_MOST: return put_limit(c, f, to, o);
    default: break;
    }
    if (f->kind == 'a') return put_vector(c, f, to, o);
    return o.kind == 'f' ? put_real(c, f, to, o.real) : put_integer(c, f, to, o.integer);
}

/* Checks --------------------------------------------------------------------------------------- */

static ml_status check_written(const ml_call *c, uint64_t writes) {
    for (int i = 0; i < c->n_inputs; i++) /* rows that write take fewer than 64 */
        if (writes >> i & 1 && c->inputs[i] >= 0 &&
            !(tensor_row(c, c->inputs[i])->flags & ML_ROW_VARIABLE))
            return ml_fail(c, ML_UNSUPPORTED,
                           "input %d ('%s') is written: it must be a variable tensor", i,
                           ml_input_name(c, i));
    return ML_OK;
}

/* Reads the subgraph numbers that the options listed in `calls` hold. */
static ml_status read_calls(const ml_call *c, const char *calls, const int32_t **subgraphs,
                            int32_t *n_subgraphs) {
    for (const char *end; *calls; calls = *end ? end + 1 : end) {
        char name[64];
        end = calls + strcspn(calls, " ");
        snprintf(name, sizeof name, "%.*s", (int)(end - calls), calls);
        const ml_node_option o = option(c, name);
        const int64_t count = o.kind == 'v' ? o.count : 1, before = *n_subgraphs;
        int32_t *grown = ml_keep(c, (before + count) * (int64_t)sizeof *grown);
        if (!grown) return c->env->error->status;
        if (before) memcpy(grown, *subgraphs, (size_t)before * sizeof *grown);
        if (o.kind == 'v' && count) memcpy(grown + before, o.data, (size_t)count * sizeof *grown);
        else if (o.kind != 'v') grown[before] = (int32_t)o.integer;
        *subgraphs = grown;
        *n_subgraphs = (int32_t)(before + count);
    }
    return ML_OK;
}

/* Makes rows of the node's operands for `check`. */
static void show_operands(lowering *l, const int32_t *tensors, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        if (tensors[i] < 0) continue;
        const ml_tensor_def *def = &l->tensors[tensors[i]];
        l->operands[tensors[i]] = (ml_tensor){
            .known = def->data,
            .offset = -1,
            .bytes = def->bytes,
            .shape = def->shape,
            .root = tensors[i],
            .type = (uint8_t)def->type,
            .storage = def->data ? ML_STORAGE_CONSTANT : ML_STORAGE_ARENA,
            .shaped = def->data != NULL,
        };
    }
}

/* Inputs, then outputs, in the order that ml_call uses. */
static const int32_t *gather_operands(lowering *l, const ml_node_row *row, int32_t *few,
                                      ml_error *error) {
    const int32_t n = row->n_inputs + row->n_outputs;
    int32_t *all =
        n <= ML_MATCHED_OPERANDS ? few : ml_lowering_keep(l, n * (int64_t)sizeof *all, error);
    if (!all) return NULL;
    if (row->n_inputs) memcpy(all, row->inputs, (size_t)row->n_inputs * sizeof *all);
    if (row->n_outputs)
        memcpy(all + row->n_inputs, row->outputs, (size_t)row->n_outputs * sizeof *all);
    return all;
}

const ml_kernel *ml_composite_kernel(const lowering *l, const ml_node_row *row) {
    const ml_node_option name = builtin_option(l, row, "name");
    return name.data ? ml_kernel_of(name.data, name.count, true, 1) : NULL;
}

bool ml_knows_all_options(const lowering *l, const ml_kernel *kernel) {
    for (int64_t i = 0; l->flex.data && i < l->flex.count; i++) {
        const char *key = ml_flex_key(&l->flex, i);
        int32_t f = 0;
        while (f < kernel->n_fields && (kernel->fields[f].rule == ML_FIELD_CONSTANT ||
                                        strcmp(option_of(&kernel->fields[f]), key) != 0))
            f++;
        if (f == kernel->n_fields) return false;
    }
    return true;
}

ml_status ml_read_options(lowering *l, ml_code *code, const ml_node_row *row, ml_error *error,
                          const int32_t **subgraphs, int32_t *n_subgraphs) {
    const ml_kernel *k = code->kernel;
    memset(l->node_params, 0, (size_t)k->params_bytes);
    l->flex.data = NULL;
    if (!k->n_fields && !k->quantization && !k->writes && !k->check && !k->calls) return ML_OK;
    int32_t few[ML_MATCHED_OPERANDS];
    const int32_t *operands = gather_operands(l, row, few, error);
    if (!operands) return error->status;
    if (k->quantization || k->check) show_operands(l, operands, row->n_inputs + row->n_outputs);
    const ml_env env = {.slots = l->slots + 1,
                        .tensors = l->operands,
                        .constants = NULL,
                        .error = error,
                        .core = &core,
                        .engine = (struct ml_frame_engine *)(void *)l};
    const ml_call c = {.params = l->node_params,
                       .inputs = operands,
                       .env = &env,
                       .n_inputs = (uint16_t)row->n_inputs,
                       .n_outputs = (uint16_t)row->n_outputs};
    ml_status status = k->writes ? check_written(&c, k->writes) : ML_OK;
    if (status == ML_OK && k->quantization)
        status = ml_check_all_quantized(&c, k->quantization == ML_TAKES_QUANTIZED_OR_BARE);
    for (int32_t i = 0; i < k->n_fields && status == ML_OK; i++)
        status = put_field(&c, &k->fields[i], code->slots[i], l->node_params);
    if (status == ML_OK && k->check) status = k->check(&c, l->node_params);
    if (status == ML_OK) status = error->status; /* an option may have failed to be read */
    if (status == ML_OK && k->calls) status = read_calls(&c, k->calls, subgraphs, n_subgraphs);
    return status;
}
