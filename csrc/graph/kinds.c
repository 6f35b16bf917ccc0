/* kinds.c -- which nodes lower alike: the key of a node says all that its lowering hangs on.
 *
 * A key is a head of 32-bit words, one word an operand, the options slot by slot, and where the
 * operator asks for them the scales. Of an operand it has the type and the class of its
 * quantization: what checks ask about, as a few bits, so that nodes that differ in nothing but
 * their scales are of one kind. What is odd (scales that are not positive, zero points beyond the
 * type, options behind offsets of offsets) makes a node a kind of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "format/schema.h"
#include "graph/lower.h"

enum {
    SEEN = 1,
    SCALED = 2,
    CHANNELS = 4, /* more than one scale */
    VARIABLE = 8,
    /* Two bits: the zero point is 0, -128, 128 (of s16 -32768), another. */
    ZERO_AT = ML_CLASS_ZERO_AT,
    /* Three bits: the scale is one that arithmetic may build in, 0 = none of them. */
    BUILT_IN_AT = ML_CLASS_BUILT_IN_AT,
    LIKE_OUTPUT = 1 << 11, /* scale and zero point are output 0's */
    ODD = 1 << 15 /* nothing is said: look at the tensor */
};
enum { ABSENT = 0xFF, MOST_OPTION_BYTES = 256, FIRST_ROOM = 4096, FIRST_KINDS = 32 };

/* The zero points that a type can have, as far as all of its kind are known to have them. */
static bool is_zero_point(int32_t type, int64_t zero) {
    switch (type) {
    case ML_S8: return zero >= INT8_MIN && zero <= INT8_MAX;
    case ML_U8: return zero >= 0 && zero <= UINT8_MAX;
    case ML_S16: return zero >= INT16_MIN && zero <= INT16_MAX;
    default: return zero == 0;
    }
}

/* As check_output of ops_shared/checks.py compares, digit by digit. */
static int32_t built_in(float scale) {
    static const double known[] = {1.0 / 128, 1.0 / 256, 1.0 / 32768, 1.0 / 65536};
    for (int32_t i = 0; i < 4; i++)
        if (fabs((double)scale - known[i]) <= 1e-3 * known[i]) return i + 1;
    return 0;
}

uint16_t ml_class_of(const ml_tensor_row *row, int32_t type) {
    const ml_quantization *q = &row->quantization;
    if (row->flags & ML_ROW_BLOCKWISE) return ODD; /* its scales are another tensor's */
    if (row->sparsity_at) return ODD; /* it is made dense */
    int32_t class = SEEN | (row->flags & ML_ROW_VARIABLE ? VARIABLE : 0);
    if (q->n_scales == 0) return (uint16_t)class;
    for (int32_t i = 0; i < q->n_scales; i++)
        if (!(q->scales[i] > 0 && q->scales[i] < INFINITY)) return ODD;
    for (int32_t i = 0; i < q->n_zero_points; i++)
        if (!is_zero_point(type, q->zero_points[i])) return ODD;
    class |= SCALED;
    if (q->n_scales > 1) {
        bool fits = q->dimension >= 0 && q->dimension < row->rank &&
                    row->shape[q->dimension] == q->n_scales;
        return fits ? (uint16_t)(class | CHANNELS) : ODD;
    }
    int64_t zero = q->zero_points[0];
    int64_t middle = type == ML_S16 ? INT16_MIN : 128;
    int32_t place = zero == 0 ? 0 : zero == -128 ? 1 : zero == middle ? 2 : 3;
    return (uint16_t)(class | place << ZERO_AT | built_in(q->scales[0]) << BUILT_IN_AT);
}

/* The scale and the zero point that a tensor has as a whole, zeros if it has none. */
static void whole(const ml_tensor_row *row, float *scale, int64_t *zero) {
    const ml_quantization *q = &row->quantization;
    *scale = q->n_scales == 1 ? q->scales[0] : 0;
    *zero = q->n_scales == 1 ? q->zero_points[0] : 0;
}

static bool add_bytes(ml_kinds *k, const void *bytes, int64_t count) {
    if (k->key_bytes + count > k->key_room) {
        int64_t room = 2 * (k->key_bytes + count) + FIRST_ROOM;
        uint8_t *keys = realloc(k->keys, (size_t)room);
        if (!keys) return false;
        k->keys = keys;
        k->key_room = room;
    }
    if (count > 0) memcpy(k->keys + k->key_bytes, bytes, (size_t)count);
    k->key_bytes += count;
    return true;
}

/* Behind a part of a key: it goes on, the node is a kind of its own, memory is short. */
typedef enum { GOES_ON, ALONE, NO_ROOM } part;

static part add_operand(ml_kinds *k, const ml_sorted *s, int32_t tensor,
                        const ml_tensor_row *like) {
    uint32_t word = ABSENT;
    if (tensor >= 0) {
        const ml_tensor_row *row = &s->rows->tensors[tensor];
        uint16_t *class = &s->classes[tensor];
        int32_t type = s->tensors[tensor].type;
        if (!*class) *class = ml_class_of(row, type);
        if (*class & ODD) return ALONE;
        word = (uint32_t)type | (uint32_t)*class << 8;
        if (like) {
            float scale, other;
            int64_t zero, other_zero;
            whole(row, &scale, &zero);
            whole(like, &other, &other_zero);
            if (scale == other && zero == other_zero) word |= (uint32_t)LIKE_OUTPUT << 8;
        }
    }
    return add_bytes(k, &word, sizeof word) ? GOES_ON : NO_ROOM;
}

static part add_exact(ml_kinds *k, const ml_sorted *s, int32_t tensor) {
    static const ml_quantization none;
    const ml_quantization *q = tensor < 0 ? &none : &s->rows->tensors[tensor].quantization;
    int32_t words[] = {q->n_scales, q->n_zero_points, q->dimension};
    if (q->n_scales > 1) return ALONE;
    return add_bytes(k, words, sizeof words) &&
                   add_bytes(k, q->scales, q->n_scales * (int64_t)sizeof *q->scales) &&
                   add_bytes(k, q->zero_points, q->n_zero_points * (int64_t)sizeof *q->zero_points)
               ? GOES_ON
               : NO_ROOM;
}

bool ml_is_tame(const ml_sorted *s, const ml_node_row *n) {
    float scale, output = 0;
    int64_t zero;
    if (n->n_outputs > 0) whole(&s->rows->tensors[n->outputs[0]], &output, &zero);
    for (int32_t i = 0; i < n->n_inputs; i++) {
        if (n->inputs[i] < 0) continue;
        const ml_tensor_row *row = &s->rows->tensors[n->inputs[i]];
        whole(row, &scale, &zero);
        if (!(scale <= ML_TAME_RATIO * output)) return false;
        if (s->tensors[n->inputs[i]].type == ML_S16 && row->quantization.n_scales) return false;
    }
    return true;
}

/* An option by its value, a vector by its elements: positions in the file say nothing. */
static part add_option(ml_kinds *k, const ml_file *file, const ml_schema_slot *slot,
                       const ml_slot_value *value) {
    switch (slot->form) {
    case ML_FORM_SCALAR:
    case ML_FORM_ENUM:
        return add_bytes(k, &value->integer, sizeof value->integer) ? GOES_ON : NO_ROOM;
    case ML_FORM_STRING:
    case ML_FORM_SCALARS:
    case ML_FORM_ENUMS: {
        int64_t count = value->at ? value->count : -1;
        int64_t width = slot->form == ML_FORM_STRING ? 1 : ml_code_bytes(slot->code);
        if (count > MOST_OPTION_BYTES / width) return ALONE;
        if (!add_bytes(k, &count, sizeof count)) return NO_ROOM;
        return count <= 0 || add_bytes(k, file->data + value->at, count * width) ? GOES_ON
                                                                                 : NO_ROOM;
    }
    default: return value->at ? ALONE : GOES_ON;
    }
}

static part add_operands(ml_kinds *k, const ml_sorted *s, const int32_t *tensors, int32_t n,
                         const ml_tensor_row *like) {
    part p = GOES_ON;
    for (int32_t i = 0; i < n && p == GOES_ON; i++) p = add_operand(k, s, tensors[i], like);
    return p;
}

static part add_all_exact(ml_kinds *k, const ml_sorted *s, const int32_t *tensors, int32_t n) {
    part p = GOES_ON;
    for (int32_t i = 0; i < n && p == GOES_ON; i++) p = add_exact(k, s, tensors[i]);
    return p;
}

/* Of intermediates nothing is asked about but their scales. */
static part add_node(ml_kinds *k, const ml_sorted *s, const ml_node_row *n, int32_t traits) {
    int32_t head[] = {n->op, n->version, n->n_inputs, n->n_outputs, n->n_intermediates};
    if (n->custom_options.bytes || (n->n_intermediates && !(traits & ML_TRAIT_SCALES)))
        return ALONE;
    if (!add_bytes(k, head, sizeof head)) return NO_ROOM;
    const ml_tensor_row *like = n->n_outputs ? &s->rows->tensors[n->outputs[0]] : NULL;
    part p = add_operands(k, s, n->inputs, n->n_inputs, like);
    if (p == GOES_ON) p = add_operands(k, s, n->outputs, n->n_outputs, like);
    if (p == GOES_ON) p = add_operands(k, s, n->intermediates, n->n_intermediates, like);
    for (int32_t slot = 0; slot < n->n_options && p == GOES_ON; slot++)
        p = add_option(k, s->file, ml_schema_slot_at(n->options_table, slot), &n->options[slot]);
    bool exact = traits & ML_TRAIT_SCALES || (traits & ML_TRAIT_RATIO && !ml_is_tame(s, n));
    if (exact && p == GOES_ON) p = add_all_exact(k, s, n->inputs, n->n_inputs);
    if (exact && p == GOES_ON) p = add_all_exact(k, s, n->outputs, n->n_outputs);
    if (exact && p == GOES_ON) p = add_all_exact(k, s, n->intermediates, n->n_intermediates);
    return p;
}

static uint64_t hash_of(const uint8_t *bytes, int64_t count) {
    uint64_t hash = (uint64_t)count;
    for (int64_t i = 0; i + 4 <= count; i += 4) {
        uint32_t word;
        memcpy(&word, bytes + i, 4);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    for (int64_t i = count & ~INT64_C(3); i < count; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001B3);
    return hash ^ hash >> 32;
}

/* Makes room for one kind more, in the list and, at most half full, in the table. */
static bool make_room(ml_kinds *k) {
    if (k->n_kinds < k->kind_room) return true;
    int32_t room = k->kind_room ? 2 * k->kind_room : FIRST_KINDS, size = 2 * room;
    ml_kind *kinds = realloc(k->kinds, (size_t)room * sizeof *kinds);
    if (kinds) k->kinds = kinds;
    int32_t *table = malloc((size_t)size * sizeof *table);
    if (!kinds || !table) {
        free(table);
        return false;
    }
    for (int32_t i = 0; i < size; i++) table[i] = -1;
    for (int32_t i = 0; i < k->n_kinds; i++) {
        uint64_t at = hash_of(k->keys + kinds[i].key_start, kinds[i].key_bytes);
        while (kinds[i].key_bytes && table[at & (uint64_t)(size - 1)] >= 0) at++;
        if (kinds[i].key_bytes) table[at & (uint64_t)(size - 1)] = i;
    }
    free(k->table);
    k->table = table;
    k->table_size = size;
    k->kind_room = room;
    return true;
}

static int32_t add_kind(ml_kinds *k, const ml_sorted *s, int32_t node, int64_t start) {
    k->kinds[k->n_kinds] = (ml_kind){.key_start = start,
                                     .key_bytes = (int32_t)(k->key_bytes - start),
                                     .subgraph = s->subgraph,
                                     .node = node};
    return k->n_kinds++;
}

/* Whether the node becomes a constant; marks its outputs then. Those that C widens may still be of
 * one kind. */
static bool folds(const ml_sorted *s, const ml_node_row *n, int32_t traits) {
    if (!(traits & ML_TRAIT_FOLDS) || !n->n_inputs || n->inputs[0] < 0) return false;
    const ml_tensor_def *x = &s->tensors[n->inputs[0]];
    if (!x->data && !s->folded[n->inputs[0]]) return false;
    for (int32_t i = 0; i < n->n_outputs; i++) s->folded[n->outputs[i]] = 1;
    return true;
}

/* Whether a node that folds is what ml_widen does: halves that lie one by one become floats. */
static bool widens(const ml_sorted *s, const ml_node_row *n) {
    return n->n_inputs == 1 && n->n_outputs == 1 && n->outputs[0] != n->inputs[0] &&
           s->tensors[n->inputs[0]].type == ML_F16 && s->tensors[n->outputs[0]].type == ML_F32 &&
           !(s->tensors[n->inputs[0]].flags & ML_TENSOR_SPARSE) &&
           s->rows->tensors[n->inputs[0]].rank <= ML_MAX_RANK;
}

int32_t ml_kind_of(ml_kinds *k, const ml_sorted *s, int32_t node, int32_t traits) {
    const ml_node_row *n = &s->rows->nodes[node];
    int64_t start = k->key_bytes;
    int32_t constant = folds(s, n, traits);
    bool alone = !(traits & ML_TRAIT_KIND) || (constant && !widens(s, n));
    if (!alone && traits & ML_TRAIT_FOLDS && !add_bytes(k, &constant, sizeof constant)) return -1;
    part p = alone ? ALONE : add_node(k, s, n, traits);
    if (p == NO_ROOM || !make_room(k)) return -1;
    int64_t bytes = k->key_bytes - start;
    if (p == ALONE || bytes > INT32_MAX) {
        k->key_bytes = start;
        return add_kind(k, s, node, start);
    }
    uint64_t at = hash_of(k->keys + start, bytes), mask = (uint64_t)(k->table_size - 1);
    for (int32_t found; (found = k->table[at & mask]) >= 0; at++) {
        const ml_kind *kind = &k->kinds[found];
        if (kind->key_bytes != bytes ||
            memcmp(k->keys + kind->key_start, k->keys + start, (size_t)bytes) != 0)
            continue;
        k->key_bytes = start;
        return found;
    }
    k->table[at & mask] = k->n_kinds;
    return add_kind(k, s, node, start);
}
