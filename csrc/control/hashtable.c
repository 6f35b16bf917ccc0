/* hashtable.c -- HASHTABLE, HASHTABLE_IMPORT, HASHTABLE_FIND, HASHTABLE_SIZE: tables from numbers
 * to strings, or the reverse, which the interpreter keeps from run to run, like variables. Only the
 * first import counts. */
#include "control/resource.h"
#include "core/table.h"
#include "rules/strings.h"
#include "rules/work.h"

#define HASHTABLE_FIELDS(X, S) X(S, i32, resource, ML_BY_CHECK)
ML_PARAMS(hashtable_params, HASHTABLE_FIELDS)

enum { HANDLE, KEYS, VALUES };

static ml_string string_at(const void *strings, int64_t i) {
    const int64_t start = ml_string_word(strings, i + 1);
    return (ml_string){(const uint8_t *)strings + start, ml_string_word(strings, i + 2) - start};
}

static uint64_t hash_string(ml_string s) {
    uint64_t hash = 0xCBF29CE484222325u;
    for (int64_t i = 0; i < s.bytes; i++) hash = (hash ^ s.from[i]) * 0x100000001B3u;
    return hash ^ hash >> 32;
}
static uint64_t hash_number(int64_t x) {
    const uint64_t hash = (uint64_t)x * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 32;
}

/* A key: a number, or a string. */
typedef struct key {
    int64_t number;
    ml_string string;
} key;

/* The slot of a key, or the empty slot that it would take. */
static int64_t slot_of(const ml_table *t, const key *k) {
    const int32_t *slots = ml_table_slots(t);
    const bool text = t->key_type == ML_STRING;
    uint64_t at = text ? hash_string(k->string) : hash_number(k->number);
    for (;; at++) {
        const int64_t slot = (int64_t)(at & (uint64_t)(t->slots - 1)), pair = slots[slot] - 1;
        if (pair < 0) return slot;
        if (!text && ml_table_numbers(t)[pair] == k->number) return slot;
        if (!text) continue;
        const ml_string other = string_at(ml_table_strings(t), pair);
        if (other.bytes == k->string.bytes &&
            memcmp(other.from, k->string.from, (size_t)other.bytes) == 0)
            return slot;
    }
}

/* HASHTABLE ------------------------------------------------------------------------------------ */

static ml_status prepare_hashtable(const ml_call *c, ml_wish *wish) {
    return ml_set_output(c, 0, &(ml_shape){.rank = 1, .dims = {1}});
}

static ml_status hashtable(const ml_call *c) {
    *(int32_t *)ml_out(c, 0) = ((const hashtable_params *)c->params)->resource;
    return ML_OK;
}

/* HASHTABLE_IMPORT ----------------------------------------------------------------------------- */

static ml_status prepare_import(const ml_call *c, ml_wish *wish) {
    const ml_shape *keys = &ml_input(c, KEYS)->shape, *values = &ml_input(c, VALUES)->shape;
    char one[96], other[96];
    if (ml_same_shape(keys, values)) return ML_OK;
    return ml_fail(c, ML_SHAPE_ERROR, "keys have the shape %s, values %s", ml_shape_text(keys, one),
                   ml_shape_text(values, other));
}

static ml_status fill_table(const ml_call *c, const ml_table *t) {
    int32_t *slots = ml_table_slots(t);
    int64_t work = 0;
    ml_status status = ML_OK;
    memset(slots, 0, (size_t)t->slots * sizeof *slots);
    for (int64_t i = 0; i < t->count && status == ML_OK; i++) {
        key k = {0};
        if (t->key_type == ML_STRING) k.string = string_at(ml_table_strings(t), i);
        else k.number = ml_table_numbers(t)[i];
        const int64_t slot = slot_of(t, &k);
        if (slots[slot] == 0) slots[slot] = (int32_t)i + 1;
        status = ml_count_work(c, 4, &work);
    }
    return status;
}

static ml_status import(const ml_call *c) {
    ml_block *block = ml_resource_of(c, HANDLE);
    if (!block) return ML_KERNEL_ERROR;
    if (block->assigned && block->type == ML_TABLE_TYPE) return ML_OK;
    ml_table t = {.count = ml_elements(&ml_in_tensor(c, KEYS)->shape), .slots = 16};
    t.key_type = ml_in_tensor(c, KEYS)->type;
    t.value_type = ml_in_tensor(c, VALUES)->type;
    while (t.slots < 2 * t.count) t.slots *= 2;
    const int text = t.key_type == ML_STRING ? KEYS : VALUES;
    const int number = t.key_type == ML_STRING ? VALUES : KEYS;
    ml_strings strings;
    ml_string one;
    ml_status status = ml_open_strings(c, text, &strings);
    for (int64_t i = 0; i < t.count && status == ML_OK; i++)
        status = ml_string_at(c, &strings, i, &one);
    const int64_t before = (int64_t)sizeof t + 4 * t.slots + 8 * t.count;
    const int64_t bytes = before + strings.bytes;
    if (status == ML_OK) status = ml_block_reserve(ml_account_of(c), block, bytes, c->env->error);
    if (status != ML_OK) return status;
    ml_table *made = block->data;
    *made = t;
    memcpy(ml_table_numbers(made), ml_in(c, number), (size_t)t.count * sizeof(int64_t));
    memcpy(ml_table_strings(made), strings.data, (size_t)strings.bytes);
    status = fill_table(c, made);
    if (status != ML_OK) return status;
    block->bytes = bytes;
    block->type = ML_TABLE_TYPE;
    block->assigned = true;
    return ML_OK;
}

/* HASHTABLE_FIND, HASHTABLE_SIZE --------------------------------------------------------------- */

/* The table of a handle; if there is none NULL, and the error is set. */
static const ml_table *table_of(const ml_call *c) {
    const ml_block *block = ml_resource_of(c, HANDLE);
    if (!block) return NULL;
    if (block->assigned && block->type == ML_TABLE_TYPE) return block->data;
    ml_fail(c, ML_KERNEL_ERROR, "the table is used before pairs are imported");
    return NULL;
}

/* If values are strings, scratch holds the pair of each key, so that keys are looked up once for
 * lengths and characters. */
static ml_status prepare_find(const ml_call *c, ml_wish *wish) {
    const ml_shape *standing = &ml_input(c, 2)->shape;
    if (ml_output(c, 0)->type == ML_STRING)
        ml_reserve(wish, ml_elements(&ml_input(c, KEYS)->shape) * (int64_t)sizeof(int32_t));
    if (ml_elements(standing) < 1)
        return ml_fail(c, ML_SHAPE_ERROR, "input 2, the value for keys that are missing, is empty");
    return ml_set_output(c, 0, &ml_input(c, KEYS)->shape);
}

static ml_status check_table(const ml_call *c, const ml_table *t) {
    const int32_t keys = ml_in_tensor(c, KEYS)->type, values = ml_out_tensor(c, 0)->type;
    if (keys == t->key_type && values == t->value_type) return ML_OK;
    return ml_fail(c, ML_KERNEL_ERROR, "the table maps %s to %s, the node expects %s to %s",
                   ml_type_name(t->key_type), ml_type_name(t->value_type), ml_type_name(keys),
                   ml_type_name(values));
}

/* Finds the numbers of strings. */
static ml_status find_numbers(const ml_call *c) {
    const ml_table *t = table_of(c);
    ml_strings strings;
    ml_status status = t ? check_table(c, t) : ML_KERNEL_ERROR;
    if (status == ML_OK) status = ml_open_strings(c, KEYS, &strings);
    if (status != ML_OK) return status;
    int64_t *y = ml_out(c, 0), work = 0;
    for (int64_t i = 0; i < strings.count; i++) {
        key k = {0};
        status = ml_string_at(c, &strings, i, &k.string);
        if (status == ML_OK) status = ml_count_work(c, 4, &work);
        if (status != ML_OK) return status;
        const int32_t pair = ml_table_slots(t)[slot_of(t, &k)];
        y[i] = pair > 0 ? ml_table_numbers(t)[pair - 1] : *(const int64_t *)ml_in(c, 2);
    }
    return ML_OK;
}

static ml_string string_of(const ml_table *t, int32_t pair, ml_string standing) {
    return pair > 0 ? string_at(ml_table_strings(t), pair - 1) : standing;
}

/* Finds the strings of numbers: one pass for their lengths, one for their characters. */
static ml_status find_strings(const ml_call *c) {
    const ml_table *t = table_of(c);
    ml_strings strings;
    ml_string standing;
    ml_status status = t ? check_table(c, t) : ML_KERNEL_ERROR;
    if (status == ML_OK) status = ml_open_strings(c, 2, &strings);
    if (status == ML_OK) status = ml_string_at(c, &strings, 0, &standing);
    if (status != ML_OK) return status;
    const int64_t count = ml_elements(&ml_in_tensor(c, KEYS)->shape);
    const int64_t *keys = ml_in(c, KEYS);
    int32_t *pairs = c->scratch;
    int64_t at = ml_strings_head(count), bytes = at, work = 0;
    for (int64_t i = 0; i < count && status == ML_OK; i++) {
        const key k = {.number = keys[i]};
        pairs[i] = ml_table_slots(t)[slot_of(t, &k)];
        bytes += string_of(t, pairs[i], standing).bytes;
        status = ml_count_work(c, 4, &work);
    }
    if (status != ML_OK) return status;
    if (bytes > INT32_MAX)
        return ml_fail(c, ML_KERNEL_ERROR, "the strings would take %lld bytes, at most %d fit",
                       (long long)bytes, INT32_MAX);
    status = ml_set_bytes(c, 0, bytes);
    if (status != ML_OK) return status;
    uint8_t *y = ml_out(c, 0);
    ml_set_string_word(y, 0, count);
    ml_set_string_word(y, 1, at);
    for (int64_t i = 0; i < count; i++) {
        const ml_string s = string_of(t, pairs[i], standing);
        if (s.bytes > bytes - at)
            return ml_fail(c, ML_KERNEL_ERROR, "input 2 changed while it was read");
        memcpy(y + at, s.from, (size_t)s.bytes);
        ml_set_string_word(y, i + 2, at += s.bytes);
        status = ml_count_work(c, 4, &work);
        if (status != ML_OK) return status;
    }
    return ML_OK;
}

static ml_status prepare_size(const ml_call *c, ml_wish *wish) {
    return ml_set_output(c, 0, &(ml_shape){.rank = 1, .dims = {1}});
}

/* The number of keys in the table. */
static ml_status size(const ml_call *c) {
    const ml_table *t = table_of(c);
    if (!t) return ML_KERNEL_ERROR;
    int64_t used = 0;
    for (int64_t i = 0; i < t->slots; i++) used += ml_table_slots(t)[i] > 0;
    *(int64_t *)ml_out(c, 0) = used;
    return ML_OK;
}

/* Each HASHTABLE node gets a table of its own. (Variables are identified by their names.) */
static ml_status check_hashtable(const ml_call *c, void *params) {
    const int64_t from = ml_option_of(c, "key_dtype").integer;
    const int64_t to = ml_option_of(c, "value_dtype").integer;
    if (!(from == ML_S64 && to == ML_STRING) && !(from == ML_STRING && to == ML_S64))
        return ml_fail(c, ML_UNSUPPORTED,
                       "a table from %s to %s: one must be INT64, the other STRING",
                       ml_option_word(c, "key_dtype"), ml_option_word(c, "value_dtype"));
    const ml_node_option name = ml_option_of(c, "table_id");
    const int32_t number = c->env->core->resource(c, "HASHTABLE", &name, 1);
    ((hashtable_params *)params)->resource = number;
    return number < 0 ? c->env->error->status : ML_OK;
}

#define EFFECT(operator, kernel_name, operands, prepare_fn, ...)                                 \
    {ML_OP(operator, 1, 1), .name = (kernel_name), .takes = (operands),                         \
     .flags = ML_KERNEL_HAS_EFFECTS | ML_KERNEL_NO_REFERENCE, .prepare = (prepare_fn),          \
     ML_TYPED(__VA_ARGS__)}
ML_KERNELS(hashtable) = {
    {ML_OP(HASHTABLE, 1, 1), .name = "hashtable", .takes = "-> table",
     .flags = ML_KERNEL_NO_REFERENCE, .check = check_hashtable, ML_PARAMS_OF(hashtable_params),
     .prepare = prepare_hashtable, ML_TYPED({"-> resource", NULL, NULL, hashtable})},
    EFFECT(HASHTABLE_IMPORT, "hashtable_import", "table keys values ->", prepare_import,
           {"resource s64 string ->", NULL, NULL, import},
           {"resource string s64 ->", NULL, NULL, import}),
    EFFECT(HASHTABLE_FIND, "hashtable_find", "table keys default -> values", prepare_find,
           {"resource string s64 -> s64", NULL, NULL, find_numbers},
           {"resource s64 string -> string", NULL, NULL, find_strings}),
    EFFECT(HASHTABLE_SIZE, "hashtable_size", "table -> count", prepare_size,
           {"resource -> s64", NULL, NULL, size}),
    ML_KERNELS_END,
};
