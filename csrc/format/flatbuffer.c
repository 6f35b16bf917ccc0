/* flatbuffer.c -- reads tables in flatbuffer bytes: the one place that follows offsets; all are
 * checked. */
#include "format/flatbuffer.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files are little-endian and are read as they lie: big-endian hosts are not supported"
#endif

void ml_reader_init(ml_reader *r, const void *data, int64_t bytes, ml_file_error *error) {
    *r = (ml_reader){.data = data, .bytes = bytes, .error = error};
    *error = (ml_file_error){.subgraph = -1, .tensor = -1, .node = -1};
}

static void write_text(ml_reader *r, const char *format, va_list arguments) {
    ml_file_error *e = r->error;
    int used = 0;
    if (r->part) used = snprintf(e->text, sizeof e->text, r->part, r->part_number);
    vsnprintf(e->text + used, sizeof e->text - (size_t)used, format, arguments);
}

ml_status ml_refuse(ml_reader *r, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_text(r, format, arguments);
    va_end(arguments);
    return ML_GRAPH_ERROR;
}

ml_status ml_refuse_beyond(ml_reader *r, int64_t reach, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    write_text(r, format, arguments);
    va_end(arguments);
    /* a truncated file has lost a part, not nearly all: larger values are nonsense */
    r->error->reach = reach / 1024 <= r->bytes ? reach : 0;
    return ML_GRAPH_ERROR;
}

ml_status ml_unfold(ml_reader *r, int64_t bytes, int32_t table, int32_t slot) {
    r->unfolded += bytes;
    if (r->unfolded <= ML_UNFOLDED_PER_BYTE * r->bytes + ML_UNFOLDED_ANYWAY) return ML_OK;
    return ml_refuse(
        r, "%s.%s: the file's %" PRId64 " bytes are shared so often that they expand to %" PRId64,
        ml_schema_tables[table].name, ml_schema_slot_at(table, slot)->name, r->bytes, r->unfolded);
}

/* Bytes that a slot takes in its table. */
static int32_t inline_bytes(const ml_schema_slot *slot) {
    return slot->form <= ML_FORM_ENUM ? ml_code_bytes(slot->code) : 4;
}

/* No two fields share bytes, and all lie within the table after its offset to the vtable. */
static ml_status check_places(ml_reader *r, int32_t number, int32_t table_bytes,
                              ml_layout *layout) {
    const ml_schema_table *schema = &ml_schema_tables[number];
    int32_t order[ML_MOST_SLOTS], n = 0;
    for (int32_t slot = 0; slot < schema->n_slots; slot++) {
        if (!layout->places[slot]) continue;
        int32_t i = n++;
        for (; i > 0 && layout->places[order[i - 1]] > layout->places[slot]; i--)
            order[i] = order[i - 1];
        order[i] = slot;
    }
    layout->end = 4;
    for (int32_t i = 0; i < n; i++) {
        const ml_schema_slot *slot = ml_schema_slot_at(number, order[i]);
        int32_t place = layout->places[order[i]], end = place + inline_bytes(slot);
        if (place < layout->end || end > table_bytes) {
            char unnamed[16];
            snprintf(unnamed, sizeof unnamed, "slot %d", order[i]);
            return ml_refuse(r,
                             "%s.%s: its place %d overlaps another field or the table's %d bytes",
                             schema->name, *slot->name ? slot->name : unnamed, place, table_bytes);
        }
        layout->end = end;
    }
    return ML_OK;
}

/* Reads a vtable. Slots beyond those we know belong to a newer schema and are ignored. */
static ml_status read_layout(ml_reader *r, int32_t number, int64_t vtable, ml_layout *layout) {
    const ml_schema_table *schema = &ml_schema_tables[number];
    if (vtable < 0 || vtable + 4 > r->bytes)
        return ml_refuse_beyond(r, vtable + 4,
                                "%s: vtable at byte %" PRId64 " lies outside the file's %" PRId64
                                " bytes",
                                schema->name, vtable, r->bytes);
    uint32_t sizes = ml_u32_at(r, vtable), vtable_bytes = sizes & 0xFFFF, table_bytes = sizes >> 16;
    if (vtable_bytes < 4 || vtable_bytes % 2 || vtable + vtable_bytes > r->bytes || table_bytes < 4)
        return ml_refuse_beyond(r, vtable + vtable_bytes,
                                "%s: vtable at byte %" PRId64
                                " has sizes %u and %u: at least 4 each, even, within the file's "
                                "%" PRId64 " bytes",
                                schema->name, vtable, vtable_bytes, table_bytes, r->bytes);
    int32_t slots = (int32_t)(vtable_bytes - 4) / 2;
    if (slots > schema->n_slots) slots = schema->n_slots;
    *layout = (ml_layout){.key = 0};
    memcpy(layout->places, r->data + vtable + 4, (size_t)slots * sizeof layout->places[0]);
    return check_places(r, number, (int32_t)table_bytes, layout);
}

static ml_status ends_beyond(ml_reader *r, int32_t number, int64_t at, int64_t end) {
    return ml_refuse_beyond(r, end,
                            "%s at byte %" PRId64 ": ends beyond the file's %" PRId64 " bytes",
                            ml_schema_tables[number].name, at, r->bytes);
}

ml_status ml_open_table(ml_reader *r, int32_t number, int64_t at, ml_table *table) {
    table->at = at;
    table->number = number;
    if (at + 4 > r->bytes) return ends_beyond(r, number, at, at + 4);
    int64_t vtable = at - (int32_t)ml_u32_at(r, at);
    uint64_t key = ((uint64_t)vtable * ML_TABLES + (uint64_t)number) + 1;
    ml_layout *layout = &r->layouts[key / 2 % ML_LAYOUTS];
    if (layout->key != key) {
        ml_status status = read_layout(r, number, vtable, layout);
        layout->key = status == ML_OK ? key : 0;
        if (status != ML_OK) return status;
    }
    if (at + layout->end > r->bytes) return ends_beyond(r, number, at, at + layout->end);
    memcpy(table->places, layout->places, sizeof table->places);
    return ML_OK;
}

/* The scalar at offset `at`, which is within the file. The schema has no scalar of the codes h, H
 * and d; schema/regenerate.py refuses them. */
static int64_t integer_at(const ml_reader *r, char code, int64_t at) {
    const uint8_t *p = r->data + at;
    uint64_t raw = 0;
    memcpy(&raw, p, (size_t)ml_code_bytes(code));
    switch (code) {
    case '?': return raw != 0;
    case 'b': return (int8_t)raw;
    case 'i': return (int32_t)raw;
    default: return (int64_t)raw;
    }
}

static double real_at(const ml_reader *r, int64_t at) {
    float value;
    memcpy(&value, r->data + at, sizeof value);
    return value;
}

int64_t ml_slot_integer(const ml_reader *r, const ml_table *t, int32_t slot) {
    const ml_schema_slot *schema = ml_schema_slot_at(t->number, slot);
    return t->places[slot] ? integer_at(r, schema->code, t->at + t->places[slot])
                           : (int64_t)schema->preset;
}

int64_t ml_slot_table(const ml_reader *r, const ml_table *t, int32_t slot) {
    int64_t place = t->at + t->places[slot];
    uint32_t offset = t->places[slot] ? ml_u32_at(r, place) : 0;
    return offset ? place + offset : 0;
}

ml_status ml_slot_vector(ml_reader *r, const ml_table *t, int32_t slot, ml_vector *vector) {
    *vector = (ml_vector){0, 0};
    int64_t start = ml_slot_table(r, t, slot);
    if (!start) return ML_OK;
    const ml_schema_slot *schema = ml_schema_slot_at(t->number, slot);
    const char *table = ml_schema_tables[t->number].name;
    if (start + 4 > r->bytes)
        return ml_refuse_beyond(
            r, start + 4, "%s.%s at byte %" PRId64 ": lies beyond the file's %" PRId64 " bytes",
            table, schema->name, start, r->bytes);
    int64_t count = ml_u32_at(r, start), width = ml_code_bytes(schema->code),
            end = start + 4 + count * width;
    if (end > r->bytes)
        return ml_refuse_beyond(r, end,
                                "%s.%s at byte %" PRId64 ": %" PRId64 " elements of %" PRId64
                                " bytes, beyond the file's %" PRId64 " bytes",
                                table, schema->name, start, count, width, r->bytes);
    *vector = (ml_vector){start + 4, count};
    return ML_OK;
}

ml_status ml_slot_text(ml_reader *r, const ml_table *t, int32_t slot, ml_span *text) {
    ml_vector v;
    ml_status status = ml_slot_vector(r, t, slot, &v);
    if (status == ML_OK && v.count > 64) status = ml_unfold(r, v.count, t->number, slot);
    *text = (ml_span){v.at, v.count};
    return status;
}

ml_status ml_slot_scalars(ml_reader *r, const ml_table *t, int32_t slot, ml_vector *vector) {
    ml_status status = ml_slot_vector(r, t, slot, vector);
    if (status != ML_OK || vector->count <= 32) return status;
    return ml_unfold(r, vector->count * ml_code_bytes(ml_schema_slot_at(t->number, slot)->code),
                     t->number, slot);
}

ml_status ml_slot_tables(ml_reader *r, const ml_table *t, int32_t slot, ml_vector *vector) {
    ml_status status = ml_slot_vector(r, t, slot, vector);
    return status == ML_OK ? ml_unfold(r, ML_UNFOLDED_PER_TABLE * vector->count, t->number, slot)
                           : status;
}

ml_status ml_check_code(ml_reader *r, const ml_table *t, int32_t slot, int64_t code, int32_t n,
                        const char *names) {
    if (code >= 0 && code < n) return ML_OK;
    char list[240];
    size_t used = 0;
    int32_t words = 1;
    for (const char *c = names; *c; c++) { /* schema/regenerate.py sees that there is room */
        if (*c == ' ') {
            list[used++] = ',';
            if (++words > 8) break;
        }
        list[used++] = *c;
    }
    list[used] = 0;
    return ml_refuse(r, "%s.%s is %" PRId64 ", must be one of the %d values %s%s",
                     ml_schema_tables[t->number].name, ml_schema_slot_at(t->number, slot)->name,
                     code, n, list, words > 8 ? " ..." : "");
}

static ml_status read_deep(ml_reader *r, int32_t number, int64_t at) {
    ml_table table;
    ml_slot_value values[ML_MOST_SLOTS];
    ml_status status = ml_open_table(r, number, at, &table);
    return status == ML_OK ? ml_read_values(r, &table, values, true) : status;
}

/* A table, a vector of tables, or the table of a union whose member is `member`. */
static ml_status read_tables(ml_reader *r, const ml_table *t, int32_t slot, int64_t member,
                             ml_slot_value *value, bool deep) {
    const ml_schema_slot *schema = ml_schema_slot_at(t->number, slot);
    ml_status status = ML_OK;
    int32_t number = schema->of;
    if (schema->form == ML_FORM_TABLES) {
        ml_vector v;
        status = ml_slot_tables(r, t, slot, &v);
        *value = (ml_slot_value){.at = v.at, .count = v.count};
        for (int64_t i = 0; deep && status == ML_OK && i < v.count; i++)
            status = read_deep(r, number, ml_vector_table(r, &v, i));
        return status;
    }
    if (schema->form == ML_FORM_UNION) {
        const ml_schema_union *members = &ml_schema_unions[schema->of];
        status = ml_check_code(r, t, slot, member, members->n_members, members->members);
        if (status != ML_OK) return status;
        number = members->tables[member];
    }
    *value = (ml_slot_value){.at = number < 0 ? 0 : ml_slot_table(r, t, slot)};
    return deep && value->at ? read_deep(r, number, value->at) : ML_OK;
}

static ml_status read_scalar(ml_reader *r, const ml_table *t, int32_t slot, ml_slot_value *value) {
    const ml_schema_slot *schema = ml_schema_slot_at(t->number, slot);
    int32_t place = t->places[slot];
    if (schema->code == 'f') {
        *value = (ml_slot_value){.real = place ? real_at(r, t->at + place) : schema->preset};
        return ML_OK;
    }
    *value = (ml_slot_value){.integer = ml_slot_integer(r, t, slot)};
    if (schema->form == ML_FORM_SCALAR) return ML_OK;
    return ml_check_code(r, t, slot, value->integer, ml_schema_enums[schema->of].n_values,
                         ml_schema_enums[schema->of].values);
}

static ml_status read_vector(ml_reader *r, const ml_table *t, int32_t slot, ml_slot_value *value) {
    const ml_schema_slot *schema = ml_schema_slot_at(t->number, slot);
    ml_vector v;
    ml_status status = ml_slot_scalars(r, t, slot, &v);
    *value = (ml_slot_value){.at = v.at, .count = v.count};
    if (schema->form != ML_FORM_ENUMS) return status;
    const ml_schema_enum *names = &ml_schema_enums[schema->of];
    for (int64_t i = 0; status == ML_OK && i < v.count; i++) {
        int64_t code = integer_at(r, schema->code, v.at + i * ml_code_bytes(schema->code));
        status = ml_check_code(r, t, slot, code, names->n_values, names->values);
    }
    return status;
}

ml_status ml_read_values(ml_reader *r, const ml_table *t, ml_slot_value *values, bool deep) {
    ml_status status = ML_OK;
    for (int32_t slot = 0; status == ML_OK && slot < ml_schema_tables[t->number].n_slots; slot++) {
        const ml_schema_slot *schema = ml_schema_slot_at(t->number, slot);
        if (!*schema->name) {
            values[slot] = (ml_slot_value){.integer = 0};
            continue;
        }
        switch (schema->form) {
        case ML_FORM_SCALAR:
        case ML_FORM_ENUM: status = read_scalar(r, t, slot, &values[slot]); break;
        case ML_FORM_STRING:
        case ML_FORM_SCALARS:
        case ML_FORM_ENUMS: status = read_vector(r, t, slot, &values[slot]); break;
        default: /* a table, tables or a union */
            status =
                read_tables(r, t, slot, slot ? values[slot - 1].integer : 0, &values[slot], deep);
            break;
        }
    }
    return status;
}
