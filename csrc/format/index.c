/* index.c -- turns a file into rows: operator codes, buffers, subgraphs, signatures, metadata. */
#include "format/index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { SCHEMA_VERSION = 3 };

static void set_part(ml_index *x, const char *part, int32_t number) {
    x->reader.part = part;
    x->reader.part_number = number;
}

/* Opens the tables of a vector and allocates one row for each. */
static ml_status take_rows(ml_index *x, const ml_table *t, int32_t slot, size_t each, ml_vector *v,
                           void **rows, int32_t *count) {
    ml_status status = ml_slot_tables(&x->reader, t, slot, v);
    if (status != ML_OK) return status;
    *rows = ml_index_take(x, v->count, each);
    if (!*rows) return ml_index_no_room(x);
    *count = (int32_t)v->count;
    return ML_OK;
}

static ml_status index_numbers(ml_index *x, const ml_table *t, int32_t slot, int32_t least,
                               const int32_t **numbers, int32_t *count) {
    ml_vector v;
    *numbers = NULL;
    *count = 0;
    ml_status status = ml_slot_scalars(&x->reader, t, slot, &v);
    if (status != ML_OK || !v.count) return status;
    int32_t *copy = ml_index_take(x, v.count, sizeof *copy);
    if (!copy) return ml_index_no_room(x);
    memcpy(copy, x->reader.data + v.at, (size_t)v.count * sizeof *copy);
    for (int64_t i = 0; i < v.count; i++)
        if (copy[i] < least || copy[i] >= x->n_tensors)
            return ml_refuse(&x->reader, "%s.%s names tensor %d, the subgraph has %" PRId64,
                             ml_schema_tables[t->number].name,
                             ml_schema_slot_at(t->number, slot)->name, copy[i], x->n_tensors);
    *numbers = copy;
    *count = (int32_t)v.count;
    return ML_OK;
}

static ml_status index_buffer(ml_index *x, int64_t at, ml_buffer_row *row) {
    ml_reader *r = &x->reader;
    ml_table t;
    ml_vector v;
    ml_status status = ml_open_table(r, ML_TABLE_Buffer, at, &t);
    if (status == ML_OK) status = ml_slot_vector(r, &t, ML_SLOT_Buffer_data, &v);
    if (status != ML_OK) return status;
    *row = (ml_buffer_row){.data = {v.at, v.count}};
    uint64_t offset = (uint64_t)ml_slot_integer(r, &t, ML_SLOT_Buffer_offset);
    uint64_t bytes = (uint64_t)ml_slot_integer(r, &t, ML_SLOT_Buffer_size);
    if (v.at || offset <= 1) return ML_OK;
    if (offset > (uint64_t)r->bytes || bytes > (uint64_t)r->bytes - offset)
        return ml_refuse_beyond(
            r, offset < INT32_MAX && bytes < INT32_MAX ? (int64_t)(offset + bytes) : INT64_MAX,
            "Buffer.offset: %" PRIu64 " bytes at byte %" PRIu64 ", beyond the file's %" PRId64
            " bytes",
            bytes, offset, r->bytes);
    row->data = (ml_span){(int64_t)offset, (int64_t)bytes};
    return ML_OK;
}

static ml_status index_operator(ml_index *x, int64_t at, ml_operator_row *row) {
    ml_reader *r = &x->reader;
    ml_table t;
    ml_status status = ml_open_table(r, ML_TABLE_OperatorCode, at, &t);
    if (status != ML_OK) return status;
    int64_t old = ml_slot_integer(r, &t, ML_SLOT_OperatorCode_deprecated_builtin_code);
    int64_t code = ml_slot_integer(r, &t, ML_SLOT_OperatorCode_builtin_code);
    if (code < old) code = old;
    if (code < 0) return ml_refuse(r, "builtin code %" PRId64 " is negative", code);
    *row = (ml_operator_row){
        .op = (int32_t)code, .table = -1, .custom = code == ML_BuiltinOperator_CUSTOM};
    row->version = (int32_t)ml_slot_integer(r, &t, ML_SLOT_OperatorCode_version);
    if (code < ml_schema_n_operators) row->table = ml_schema_operators[code].table;
    if (!row->custom) return ML_OK;
    status = ml_slot_text(r, &t, ML_SLOT_OperatorCode_custom_code, &row->name);
    return status == ML_OK && !row->name.at ? ml_refuse(r, "a custom operator has no custom_code")
                                            : status;
}

/* Sets the operator in an error about the node at `at`. */
static void name_operator(ml_index *x, int64_t at) {
    ml_file_error *error = x->reader.error, kept = *error;
    ml_table t;
    uint64_t code = UINT64_MAX;
    if (ml_open_table(&x->reader, ML_TABLE_Operator, at, &t) == ML_OK)
        code = (uint64_t)ml_slot_integer(&x->reader, &t, ML_SLOT_Operator_opcode_index);
    *error = kept;
    if (code >= (uint64_t)x->file->n_operators) {
        snprintf(error->op, sizeof error->op, "?");
        return;
    }
    const ml_operator_row *row = &x->operators[code];
    if (row->custom) {
        size_t length = row->name.bytes < (int64_t)sizeof error->op ? (size_t)row->name.bytes
                                                                    : sizeof error->op - 1;
        memcpy(error->op, x->reader.data + row->name.at, length);
        error->op[length] = 0;
    } else if (row->op < ml_schema_n_operators) {
        const char *name = ml_schema_enums[ML_ENUM_BuiltinOperator].values;
        for (int32_t i = 0; i < row->op; i++) name = strchr(name, ' ') + 1;
        snprintf(error->op, sizeof error->op, "%.*s", (int)strcspn(name, " "), name);
    } else snprintf(error->op, sizeof error->op, "BUILTIN_%d", row->op);
}

static ml_status index_tensors(ml_index *x, const ml_table *t, ml_subgraph_row *row,
                               ml_tensor_row **made) {
    ml_vector v;
    void *rows;
    ml_status status = take_rows(x, t, ML_SLOT_SubGraph_tensors, sizeof(ml_tensor_row), &v, &rows,
                                 &row->n_tensors);
    if (status != ML_OK) return status;
    ml_tensor_row *tensors = rows;
    row->tensors = *made = tensors;
    x->n_tensors = v.count;
    for (int32_t i = 0; status == ML_OK && i < row->n_tensors; i++) {
        x->reader.error->tensor = i;
        status = ml_index_tensor(x, ml_vector_table(&x->reader, &v, i), &tensors[i]);
    }
    if (status == ML_OK) x->reader.error->tensor = -1;
    return status;
}

/* Custom options, in the flatbuffer or after it. */
static ml_status index_custom_options(ml_index *x, const ml_table *t, ml_span *span) {
    ml_reader *r = &x->reader;
    ml_vector v;
    uint64_t at = (uint64_t)ml_slot_integer(r, t, ML_SLOT_Operator_large_custom_options_offset);
    uint64_t bytes = (uint64_t)ml_slot_integer(r, t, ML_SLOT_Operator_large_custom_options_size);
    if (at > 1) {
        if (at > (uint64_t)r->bytes || bytes > (uint64_t)r->bytes - at)
            return ml_refuse_beyond(
                r, at < INT32_MAX && bytes < INT32_MAX ? (int64_t)(at + bytes) : INT64_MAX,
                "Operator.large_custom_options: %" PRIu64 " bytes at byte %" PRIu64
                ", beyond the file's %" PRId64 " bytes",
                bytes, at, r->bytes);
        *span = (ml_span){(int64_t)at, (int64_t)bytes};
    } else {
        ml_status status = ml_slot_vector(r, t, ML_SLOT_Operator_custom_options, &v);
        if (status != ML_OK) return status;
        *span = (ml_span){v.at, v.count};
    }
    return ml_unfold(r, span->bytes, ML_TABLE_Operator, ML_SLOT_Operator_custom_options);
}

static ml_status take_values(ml_index *x, const ml_table *t, const ml_slot_value **options) {
    ml_slot_value *values = ml_index_take(x, ml_schema_tables[t->number].n_slots, sizeof *values);
    *options = values;
    return values ? ml_read_values(&x->reader, t, values, true) : ml_index_no_room(x);
}

/* The options of a builtin operator; the defaults when the file has none, or those of another
 * operator, as in LiteRT. */
static ml_status index_options(ml_index *x, const ml_table *t, const ml_operator_row *op,
                               const ml_slot_value **options) {
    ml_reader *r = &x->reader;
    const ml_schema_operator *expected = &ml_schema_operators[op->op];
    int64_t member = ml_slot_integer(r, t, expected->slot - 1),
            at = ml_slot_table(r, t, expected->slot);
    ml_table own = {.number = op->table};
    if (member == expected->member && at) {
        ml_status status = ml_open_table(r, op->table, at, &own);
        return status == ML_OK ? take_values(x, &own, options) : status;
    }
    int32_t members =
        ml_schema_unions[ml_schema_slot_at(ML_TABLE_Operator, expected->slot)->of].n_members;
    if (member >= members)
        return ml_refuse(
            r, "Operator.builtin_options_type is %" PRId64 ", must be one of the %d tables", member,
            members);
    if (!x->defaults[op->table]) {
        ml_status status = take_values(x, &own, &x->defaults[op->table]);
        if (status != ML_OK) return status;
    }
    *options = x->defaults[op->table];
    return ML_OK;
}

static ml_status index_node(ml_index *x, int64_t at, ml_node_row *row) {
    ml_reader *r = &x->reader;
    ml_table t;
    ml_status status = ml_open_table(r, ML_TABLE_Operator, at, &t);
    if (status != ML_OK) return status;
    int64_t code = ml_slot_integer(r, &t, ML_SLOT_Operator_opcode_index);
    if (code >= x->file->n_operators)
        return ml_refuse(r, "Operator.opcode_index is %" PRId64 ", the model has %d operator codes",
                         code, x->file->n_operators);
    const ml_operator_row *op = &x->operators[code];
    *row = (ml_node_row){
        .code = (int32_t)code, .op = op->op, .version = op->version, .options_table = op->table};
    if (op->table >= 0) row->n_options = ml_schema_tables[op->table].n_slots;
    status = index_custom_options(x, &t, &row->custom_options);
    if (status == ML_OK && op->table >= 0) status = index_options(x, &t, op, &row->options);
    if (status == ML_OK)
        status = index_numbers(x, &t, ML_SLOT_Operator_inputs, -1, &row->inputs, &row->n_inputs);
    if (status == ML_OK)
        status = index_numbers(x, &t, ML_SLOT_Operator_outputs, 0, &row->outputs, &row->n_outputs);
    if (status != ML_OK) return status;
    return index_numbers(x, &t, ML_SLOT_Operator_intermediates, -1, &row->intermediates,
                         &row->n_intermediates);
}

static ml_status index_nodes(ml_index *x, const ml_table *t, ml_subgraph_row *row) {
    ml_vector v;
    void *rows;
    ml_status status =
        take_rows(x, t, ML_SLOT_SubGraph_operators, sizeof(ml_node_row), &v, &rows, &row->n_nodes);
    if (status != ML_OK) return status;
    ml_node_row *nodes = rows;
    row->nodes = nodes;
    for (int32_t i = 0; i < row->n_nodes; i++) {
        int64_t at = ml_vector_table(&x->reader, &v, i);
        x->reader.error->node = i;
        status = index_node(x, at, &nodes[i]);
        if (status == ML_GRAPH_ERROR) name_operator(x, at);
        if (status != ML_OK) return status;
    }
    x->reader.error->node = -1;
    return ML_OK;
}

static ml_status index_subgraph(ml_index *x, int64_t at, ml_subgraph_row *row) {
    ml_reader *r = &x->reader;
    ml_table t;
    ml_tensor_row *tensors = NULL;
    *row = (ml_subgraph_row){.tensors = NULL};
    ml_status status = ml_open_table(r, ML_TABLE_SubGraph, at, &t);
    if (status == ML_OK) status = index_tensors(x, &t, row, &tensors);
    if (status == ML_OK)
        status = index_numbers(x, &t, ML_SLOT_SubGraph_inputs, 0, &row->inputs, &row->n_inputs);
    if (status == ML_OK)
        status = index_numbers(x, &t, ML_SLOT_SubGraph_outputs, 0, &row->outputs, &row->n_outputs);
    if (status == ML_OK) status = ml_slot_text(r, &t, ML_SLOT_SubGraph_name, &row->name);
    if (status == ML_OK) status = index_nodes(x, &t, row);
    return status == ML_OK ? ml_index_empty_constants(x, row, tensors) : status;
}

static ml_status index_arguments(ml_index *x, const ml_table *t, int32_t slot,
                                 const ml_argument_row **rows, int32_t *count) {
    ml_reader *r = &x->reader;
    ml_vector v;
    void *taken;
    ml_status status = take_rows(x, t, slot, sizeof(ml_argument_row), &v, &taken, count);
    if (status != ML_OK) return status;
    ml_argument_row *arguments = taken;
    *rows = arguments;
    for (int32_t i = 0; i < *count; i++) {
        ml_table map;
        status = ml_open_table(r, ML_TABLE_TensorMap, ml_vector_table(r, &v, i), &map);
        if (status != ML_OK) return status;
        arguments[i].tensor = ml_slot_integer(r, &map, ML_SLOT_TensorMap_tensor_index);
        status = ml_slot_text(r, &map, ML_SLOT_TensorMap_name, &arguments[i].name);
        if (status != ML_OK) return status;
    }
    return ML_OK;
}

static ml_status index_signature(ml_index *x, int64_t at, ml_signature_row *row) {
    ml_reader *r = &x->reader;
    ml_table t;
    *row = (ml_signature_row){.subgraph = 0};
    ml_status status = ml_open_table(r, ML_TABLE_SignatureDef, at, &t);
    if (status == ML_OK)
        status = ml_slot_text(r, &t, ML_SLOT_SignatureDef_signature_key, &row->key);
    if (status != ML_OK) return status;
    row->subgraph = ml_slot_integer(r, &t, ML_SLOT_SignatureDef_subgraph_index);
    status = index_arguments(x, &t, ML_SLOT_SignatureDef_inputs, &row->inputs, &row->n_inputs);
    if (status != ML_OK) return status;
    return index_arguments(x, &t, ML_SLOT_SignatureDef_outputs, &row->outputs, &row->n_outputs);
}

static ml_status index_metadata(ml_index *x, int64_t at, ml_metadata_row *row) {
    ml_reader *r = &x->reader;
    ml_table t;
    ml_status status = ml_open_table(r, ML_TABLE_Metadata, at, &t);
    if (status != ML_OK) return status;
    int64_t buffer = ml_slot_integer(r, &t, ML_SLOT_Metadata_buffer);
    if (buffer >= x->file->n_buffers)
        return ml_refuse(r, "Metadata.buffer is %" PRId64 ", the model has %d buffers", buffer,
                         x->file->n_buffers);
    row->data = x->buffers[buffer].data;
    status = ml_unfold(r, row->data.bytes, ML_TABLE_Metadata, ML_SLOT_Metadata_buffer);
    return status == ML_OK ? ml_slot_text(r, &t, ML_SLOT_Metadata_name, &row->name) : status;
}

/* Turns one table, at `at`, of a vector of the Model into row number `row`. */
typedef ml_status (*index_row)(ml_index *x, int64_t at, void *rows, int32_t row);

static ml_status buffer_row(ml_index *x, int64_t at, void *rows, int32_t row) {
    return index_buffer(x, at, (ml_buffer_row *)rows + row);
}

static ml_status operator_row(ml_index *x, int64_t at, void *rows, int32_t row) {
    return index_operator(x, at, (ml_operator_row *)rows + row);
}

static ml_status subgraph_row(ml_index *x, int64_t at, void *rows, int32_t row) {
    x->reader.error->subgraph = row;
    ml_status status = index_subgraph(x, at, (ml_subgraph_row *)rows + row);
    if (status == ML_OK) x->reader.error->subgraph = -1;
    return status;
}

static ml_status signature_row(ml_index *x, int64_t at, void *rows, int32_t row) {
    return index_signature(x, at, (ml_signature_row *)rows + row);
}

static ml_status metadata_row(ml_index *x, int64_t at, void *rows, int32_t row) {
    return index_metadata(x, at, (ml_metadata_row *)rows + row);
}

static ml_status index_each(ml_index *x, const ml_table *model, int32_t slot, const char *part,
                            size_t each, index_row index, void **rows, int32_t *count) {
    ml_vector v;
    ml_status status = take_rows(x, model, slot, each, &v, rows, count);
    for (int32_t i = 0; status == ML_OK && i < *count; i++) {
        set_part(x, part, i);
        status = index(x, ml_vector_table(&x->reader, &v, i), *rows, i);
    }
    if (status == ML_OK) set_part(x, NULL, 0);
    return status;
}

static ml_status index_model(ml_index *x) {
    ml_reader *r = &x->reader;
    ml_file *f = x->file;
    ml_table model;
    void *rows;
    if (r->bytes < 8)
        return ml_refuse(r, "the model has %" PRId64 " bytes, too few for a .tflite file",
                         r->bytes);
    ml_status status = ml_open_table(r, ML_TABLE_Model, ml_u32_at(r, 0), &model);
    if (status != ML_OK) return status;
    int64_t version = ml_slot_integer(r, &model, ML_SLOT_Model_version);
    if (version != SCHEMA_VERSION)
        return ml_refuse(r, "Model.version is %" PRId64 ", expected %d", version, SCHEMA_VERSION);
    f->version = SCHEMA_VERSION;
    status = index_each(x, &model, ML_SLOT_Model_buffers, "buffer %d, ", sizeof(ml_buffer_row),
                        buffer_row, &rows, &f->n_buffers);
    if (status != ML_OK) return status;
    f->buffers = x->buffers = rows;
    status = index_each(x, &model, ML_SLOT_Model_operator_codes,
                        "operator code %d: ", sizeof(ml_operator_row), operator_row, &rows,
                        &f->n_operators);
    if (status != ML_OK) return status;
    f->operators = x->operators = rows;
    status = index_each(x, &model, ML_SLOT_Model_subgraphs, NULL, sizeof(ml_subgraph_row),
                        subgraph_row, &rows, &f->n_subgraphs);
    if (status != ML_OK) return status;
    f->subgraphs = rows;
    if (!f->n_subgraphs) return ml_refuse(r, "Model.subgraphs is empty, expected at least one");
    status = index_each(x, &model, ML_SLOT_Model_signature_defs,
                        "signature %d: ", sizeof(ml_signature_row), signature_row, &rows,
                        &f->n_signatures);
    if (status != ML_OK) return status;
    f->signatures = rows;
    status = index_each(x, &model, ML_SLOT_Model_metadata, "metadata %d: ", sizeof(ml_metadata_row),
                        metadata_row, &rows, &f->n_metadata);
    f->metadata = rows;
    return status == ML_OK ? ml_slot_text(r, &model, ML_SLOT_Model_description, &f->description)
                           : status;
}

ml_status ml_file_new(const void *data, int64_t bytes, ml_file **file, ml_file_error *error) {
    ml_index x = {.file = calloc(1, sizeof *x.file)};
    ml_reader_init(&x.reader, data, bytes, error);
    *file = x.file;
    if (!x.file) return ml_index_no_room(&x);
    x.file->data = data;
    x.file->bytes = bytes;
    ml_status status = index_model(&x);
    if (status == ML_OK) return ML_OK;
    ml_file_free(x.file);
    *file = NULL;
    return status;
}

void ml_file_free(ml_file *file) {
    if (!file) return;
    ml_index_give_back(file);
    free(file);
}

int32_t ml_file_has_metadata(const ml_file *f, const char *name) {
    int64_t bytes = (int64_t)strlen(name);
    for (int32_t i = 0; i < f->n_metadata; i++) {
        const ml_span *found = &f->metadata[i].name;
        if (found->bytes == bytes && memcmp(f->data + found->at, name, (size_t)bytes) == 0)
            return 1;
    }
    return 0;
}

ml_status ml_file_read_table(const void *data, int64_t bytes, int32_t table, int64_t at,
                             ml_slot_value *values, ml_file_error *error) {
    ml_reader r;
    ml_table t;
    ml_reader_init(&r, data, bytes, error);
    ml_status status = ml_open_table(&r, table, at, &t);
    return status == ML_OK ? ml_read_values(&r, &t, values, false) : status;
}
