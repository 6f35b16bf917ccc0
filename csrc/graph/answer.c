/* answer.c -- what a kind of nodes lowers to, where operator_rows.c says it; else NULL, and Python
 * answers. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "format/schema.h"
#include "graph/lower.h"
#include "graph/operator_rows.h"
#include "kernel.h"

enum { MOST_OPERANDS = 64 };

const ml_operator_says *ml_operator_row_of(int32_t op, int32_t version) {
    if (op < 0 || op >= ml_n_operator_rows) return NULL;
    const ml_operator_says *row = &ml_operator_rows[op];
    return row->first_version <= version && version <= row->last_version ? row : NULL;
}

int32_t ml_traits_of(const ml_operator_row *code) {
    const ml_operator_says *row = code->custom ? NULL : ml_operator_row_of(code->op, code->version);
    return row ? row->traits : 0;
}

/* The types of a node's operands; false where there is one that tables cannot speak of. */
static bool gather_types(const ml_sorted *s, const ml_node_row *n, int32_t *types) {
    if (n->n_intermediates || n->n_inputs + n->n_outputs > MOST_OPERANDS) return false;
    for (int32_t i = 0; i < n->n_inputs; i++)
        types[i] = n->inputs[i] < 0 ? -1 : s->tensors[n->inputs[i]].type;
    for (int32_t i = 0; i < n->n_outputs; i++) {
        if (n->outputs[i] < 0) return false;
        types[n->n_inputs + i] = s->tensors[n->outputs[i]].type;
    }
    return true;
}

/* What kinds of quantization the operands have together, as ml_row_takes. */
static int32_t quantization_of(const ml_sorted *s, const ml_node_row *n, const int32_t *types) {
    int32_t found = ML_TAKES_ANY | ML_TAKES_BARE | ML_TAKES_WHOLE;
    for (int32_t i = 0; i < n->n_inputs + n->n_outputs; i++) {
        int32_t tensor = i < n->n_inputs ? n->inputs[i] : n->outputs[i - n->n_inputs];
        if (tensor < 0) continue;
        const ml_tensor_row *row = &s->rows->tensors[tensor];
        if (row->flags & ML_ROW_VARIABLE) return 0;
        if (row->quantization.n_scales) found &= ~ML_TAKES_BARE;
        bool quantized = types[i] == ML_S8 || types[i] == ML_U8 || types[i] == ML_S16;
        if (quantized && row->quantization.n_scales != 1) found &= ~ML_TAKES_WHOLE;
    }
    return found;
}

/* Whether output 0 has the scale and the zero point that the arithmetic builds in. */
static bool meets_output(const ml_row_types *row, const ml_sorted *s, const ml_node_row *n,
                         const int32_t *types) {
    if (!row->built_in) return true;
    if (!n->n_outputs) return false;
    int32_t class = ml_class_of(&s->rows->tensors[n->outputs[0]], types[n->n_inputs]);
    return (class >> ML_CLASS_BUILT_IN_AT & 7) == row->built_in &&
           (class >> ML_CLASS_ZERO_AT & 3) == row->zero;
}

static bool takes(const ml_operator_says *says, const ml_sorted *s, const ml_node_row *n,
                  const int32_t *types) {
    if (n->n_inputs < says->least_inputs) return false;
    if (says->most_inputs < UINT8_MAX && n->n_inputs > says->most_inputs) return false;
    int32_t quantization = quantization_of(s, n, types);
    for (int32_t i = 0; i < says->n_types; i++) {
        const ml_row_types *row = &ml_row_signatures[says->first_types + i];
        if (row->takes & quantization && meets_output(row, s, n, types) &&
            ml_types_match(ml_row_text + row->text, types, n->n_inputs, n->n_outputs))
            return true;
    }
    return false;
}

static bool meets_conditions(const ml_operator_says *says, const ml_node_row *n) {
    for (int32_t i = 0; i < says->n_conditions; i++) {
        const ml_row_condition *c = &ml_row_conditions[says->first_condition + i];
        int64_t code = c->slot < n->n_options ? n->options[c->slot].integer : -1;
        if (code < 0 || code > 31 || !(c->codes >> code & 1)) return false;
    }
    return true;
}

/* A number into a field; false where the field cannot have it, of which Python says more. */
static bool put_integer(const ml_field *f, uint8_t *to, int64_t value) {
    if (f->kind == 'f' || f->kind == 'd' || (f->kind == 'i' && value != (int32_t)value))
        return false;
    int32_t narrow = (int32_t)value;
    if (f->kind == 'i') memcpy(to + f->offset, &narrow, sizeof narrow);
    else memcpy(to + f->offset, &value, sizeof value);
    return true;
}

static bool put_real(const ml_field *f, uint8_t *to, double value) {
    if (f->kind == 'i' || f->kind == 'q') return put_integer(f, to, (int64_t)value);
    float narrow = (float)value;
    if (f->kind == 'f') memcpy(to + f->offset, &narrow, sizeof narrow);
    else memcpy(to + f->offset, &value, sizeof value);
    return !isnan(value);
}

/* A vector of int32 of the file; the row's `none`, a lone number, stands for an empty one. */
static bool put_numbers(const ml_row_param *p, const ml_field *f, uint8_t *to, const ml_file *file,
                        const ml_slot_value *value, int32_t *numbers) {
    int64_t count = value->at ? value->count : 0;
    if (count > ML_ANSWER_NUMBERS || p->n_values > 1) return false;
    if (count) memcpy(numbers, file->data + value->at, (size_t)count * sizeof *numbers);
    if (count == 1 && p->n_values == 1 && numbers[0] == (int32_t)ml_row_values[p->first]) count = 0;
    ml_array array = {count ? numbers : NULL, count * (int64_t)sizeof *numbers};
    memcpy(to + f->offset, &array, sizeof array);
    return true;
}

static bool put(const ml_row_param *p, const ml_field *f, uint8_t *to, const ml_file *file,
                const ml_node_row *n, int32_t *numbers) {
    if (p->slot >= n->n_options) return false;
    const ml_slot_value *value = p->slot < 0 ? NULL : &n->options[p->slot];
    if ((f->kind == 'a') != (p->how == ML_ROW_NUMBERS || p->how == ML_ROW_NOTHING)) return false;
    switch ((ml_row_how)p->how) {
    case ML_ROW_NOTHING: return true;
    case ML_ROW_CONSTANT: return put_real(f, to, ml_row_values[p->first]);
    case ML_ROW_INTEGER: return put_integer(f, to, value->integer);
    case ML_ROW_REAL: return (f->kind == 'f' || f->kind == 'd') && put_real(f, to, value->real);
    case ML_ROW_POSITIVE:
        return value->integer > 0 && value->integer <= INT32_MAX &&
               put_integer(f, to, value->integer);
    case ML_ROW_TABLE:
        return value->integer >= 0 && value->integer < p->n_values &&
               !isnan(ml_row_values[p->first + value->integer]) &&
               put_real(f, to, ml_row_values[p->first + value->integer]);
    case ML_ROW_NUMBERS: return put_numbers(p, f, to, file, value, numbers);
    }
    return false;
}

ml_status ml_answer_kind(const ml_sorted *s, int32_t node, ml_known_answer **out, ml_error *error) {
    const ml_node_row *n = &s->rows->nodes[node];
    const ml_operator_says *says = ml_operator_row_of(n->op, n->version);
    int32_t types[MOST_OPERANDS];
    *out = NULL;
    if (!says || !says->kernel || !gather_types(s, n, types)) return ML_OK;
    if (says->traits & ML_TRAIT_RATIO && !ml_is_tame(s, n)) return ML_OK;
    if (!takes(says, s, n, types) || !meets_conditions(says, n)) return ML_OK;
    const ml_kernel *kernel = ml_kernel_find(ml_row_text + says->kernel);
    int32_t typed = kernel ? ml_kernel_match(kernel, types, n->n_inputs, n->n_outputs) : -1;
    if (typed < 0 || !kernel->typed[typed].eval || kernel->n_fields != says->n_params) return ML_OK;
    ml_known_answer *known = calloc(1, sizeof *known + (size_t)kernel->params_bytes);
    if (!known) return ml_error_memory(error, "an answer", kernel->params_bytes, 0);
    for (int32_t i = 0; i < says->n_params; i++)
        if (!put(&ml_row_params[says->first_param + i], &kernel->fields[i], known->params, s->file,
                 n, known->numbers)) {
            free(known);
            return ML_OK;
        }
    known->answer = (ml_answer){.kernel = kernel,
                                .params = known->params,
                                .params_bytes = kernel->params_bytes,
                                .typed = typed,
                                .flags = says->flags};
    const ml_tensor_def *x = n->n_inputs && n->inputs[0] >= 0 ? &s->tensors[n->inputs[0]] : NULL;
    if (says->traits & ML_TRAIT_FOLDS && x && (x->data || s->folded[n->inputs[0]]))
        known->answer = (ml_answer){.typed = -1, .flags = ML_ANSWER_WIDENS};
    *out = known;
    return ML_OK;
}
