/* index_nodes.c -- nodes become rows: their operator, their tensors, their options slot by slot. */
#include <inttypes.h>

#include "format/index.h"

/* Custom options, in the flatbuffer or behind it. */
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

/* The options of a builtin operator; its defaults when the file gives none or another operator's,
 * as LiteRT has it. */
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
        return ml_refuse(r, "Operator.builtin_options_type: %" PRId64 " is none of the %d tables",
                         member, members);
    if (!x->defaults[op->table]) {
        ml_status status = take_values(x, &own, &x->defaults[op->table]);
        if (status != ML_OK) return status;
    }
    *options = x->defaults[op->table];
    return ML_OK;
}

ml_status ml_index_node(ml_index *x, int64_t at, ml_node_row *row) {
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
        status = ml_index_numbers(x, &t, ML_SLOT_Operator_inputs, -1, &row->inputs, &row->n_inputs);
    if (status == ML_OK)
        status =
            ml_index_numbers(x, &t, ML_SLOT_Operator_outputs, 0, &row->outputs, &row->n_outputs);
    if (status != ML_OK) return status;
    return ml_index_numbers(x, &t, ML_SLOT_Operator_intermediates, -1, &row->intermediates,
                            &row->n_intermediates);
}
