/* index_tensors.c -- turns tensors into rows: shape, quantization, position of a constant's
 * values. */
#include <inttypes.h>
#include <stdio.h>

#include "format/index.h"

/* Bits per element of a type (0: no fixed size), and the alignment of its values in bytes. */
static const struct {
    uint8_t bits, alignment;
} elements[] = {
    [ML_TensorType_FLOAT32] = {32, 4},    [ML_TensorType_FLOAT16] = {16, 2},
    [ML_TensorType_INT32] = {32, 4},      [ML_TensorType_UINT8] = {8, 1},
    [ML_TensorType_INT64] = {64, 8},      [ML_TensorType_STRING] = {0, 4},
    [ML_TensorType_BOOL] = {8, 1},        [ML_TensorType_INT16] = {16, 2},
    [ML_TensorType_COMPLEX64] = {64, 8},  [ML_TensorType_INT8] = {8, 1},
    [ML_TensorType_FLOAT64] = {64, 8},    [ML_TensorType_COMPLEX128] = {128, 16},
    [ML_TensorType_UINT64] = {64, 8},     [ML_TensorType_RESOURCE] = {32, 4},
    [ML_TensorType_VARIANT] = {0, 1},     [ML_TensorType_UINT32] = {32, 4},
    [ML_TensorType_UINT16] = {16, 2},     [ML_TensorType_INT4] = {4, 1},
    [ML_TensorType_BFLOAT16] = {16, 2},   [ML_TensorType_INT2] = {2, 1},
    [ML_TensorType_UINT4] = {4, 1},       [ML_TensorType_FLOAT8_E4M3FN] = {8, 1},
    [ML_TensorType_FLOAT8_E5M2] = {8, 1},
};
enum { TYPES = sizeof elements / sizeof elements[0] };

/* True if a type is used for shapes, axes, paddings and indices. */
static bool steers(int32_t type) {
    return type == ML_TensorType_INT32 || type == ML_TensorType_INT64 ||
           type == ML_TensorType_UINT32 || type == ML_TensorType_UINT64;
}

/* The name of a value of TensorType; sets its length. */
static const char *type_name(int32_t type, int *length) {
    const char *name = ml_schema_enums[ML_ENUM_TensorType].values;
    for (int32_t i = 0; i < type; i++) name = strchr(name, ' ') + 1;
    *length = (int)strcspn(name, " ");
    return name;
}

enum { SHAPE_TEXT = 4 + ML_MOST_DIMENSIONS * (int)sizeof "-2147483648," };

/* A shape as Python prints it. */
static const char *shape_text(const ml_tensor_row *row, char text[SHAPE_TEXT]) {
    char *end = text + sprintf(text, "(");
    for (int32_t i = 0; i < row->rank; i++)
        end += sprintf(end, "%s%d", i ? ", " : "", row->shape[i]);
    strcpy(end, row->rank == 1 ? ",)" : ")");
    return text;
}

/* Copies a vector of int32: elements of the copy are checked once and cannot change afterwards. */
static ml_status copy_integers(ml_index *x, const ml_table *t, int32_t slot, const int32_t **copy,
                               int32_t *count) {
    ml_vector v;
    ml_status status = ml_slot_scalars(&x->reader, t, slot, &v);
    if (status != ML_OK || !v.at) return status;
    int32_t *taken = ml_index_take(x, v.count, sizeof *taken);
    if (!taken) return ml_index_no_room(x);
    memcpy(taken, x->reader.data + v.at, (size_t)v.count * sizeof *taken);
    *copy = taken;
    *count = (int32_t)v.count;
    return ML_OK;
}

/* The number of elements of the tensor's shape. Refuses too many dimensions, negative ones, and
 * sizes in bytes beyond 64 bits. */
static ml_status count_elements(ml_index *x, const ml_tensor_row *row, int64_t *count) {
    char text[SHAPE_TEXT];
    if (row->rank > ML_MOST_DIMENSIONS)
        return ml_refuse(&x->reader, "Tensor.shape has %d dimensions, the most is %d", row->rank,
                         ML_MOST_DIMENSIONS);
    /* like numpy, counts an empty dimension as 1 here */
    int64_t extent = elements[row->type].bits > 8 ? elements[row->type].bits / 8 : 1, total = 1;
    bool beyond = false;
    for (int32_t i = 0; i < row->rank; i++) {
        if (row->shape[i] < 0)
            return ml_refuse(&x->reader, "Tensor.shape %s has a negative dimension",
                             shape_text(row, text));
        beyond |= row->shape[i] && __builtin_mul_overflow(extent, (int64_t)row->shape[i], &extent);
        total = beyond ? 0 : total * row->shape[i];
    }
    if (beyond) {
        int length;
        const char *name = type_name(row->type, &length);
        return ml_refuse(&x->reader,
                         "Tensor.shape %s of %.*s has more bytes than 64 bits can count",
                         shape_text(row, text), length, name);
    }
    *count = total;
    return ML_OK;
}

/* Replaces the tensor's data by a copy of the first row->bytes bytes of the buffer; tensors of one
 * buffer share the copy. */
static ml_status copy_constant(ml_index *x, ml_buffer_row *buffer, ml_tensor_row *row) {
    if (buffer->copied < row->bytes) {
        ml_status status =
            ml_unfold(&x->reader, row->bytes, ML_TABLE_Tensor, ML_SLOT_Tensor_buffer);
        if (status != ML_OK) return status;
        void *copy = ml_index_take(x, row->bytes, 1);
        if (!copy) return ml_index_no_room(x);
        memcpy(copy, x->reader.data + buffer->data.at, (size_t)row->bytes);
        buffer->copy = copy;
        buffer->copied = row->bytes;
    }
    row->data = buffer->copy;
    row->data_at = -1;
    return ML_OK;
}

/* The values of constants without elements. */
static const _Alignas(16) uint8_t nothing[16];

/* Finds the values of the tensor in its buffer; refuses a buffer with too few bytes. */
static ml_status index_constant(ml_index *x, ml_tensor_row *row, int64_t number) {
    ml_reader *r = &x->reader;
    int64_t count = 0;
    ml_status status = count_elements(x, row, &count);
    if (status != ML_OK) return status;
    if (number >= x->file->n_buffers)
        return ml_refuse(r, "Tensor.buffer is %" PRId64 ", the model has %d buffers", number,
                         x->file->n_buffers);
    ml_buffer_row *buffer = &x->buffers[number];
    row->buffer = (int32_t)number;
    if (!number || !buffer->data.at || (!buffer->data.bytes && count)) return ML_OK;
    if (row->flags & ML_ROW_VARIABLE)
        return ml_refuse(r, "a variable tensor has data: buffer %d of %" PRId64 " bytes",
                         row->buffer, buffer->data.bytes);
    int64_t bits = elements[row->type].bits, bytes = buffer->data.bytes;
    if (bits && !row->sparsity_at) {
        int64_t per_byte = bits < 8 ? 8 / bits : 1;
        int64_t expected =
            bits < 8 ? count / per_byte + (count % per_byte != 0) : count * (bits / 8);
        if (bytes < expected) {
            char text[SHAPE_TEXT];
            int length;
            const char *name = type_name(row->type, &length);
            return ml_refuse(r, "buffer %d has %" PRId64 " bytes, shape %s of %.*s takes %" PRId64,
                             row->buffer, bytes, shape_text(row, text), length, name, expected);
        }
        bytes = expected; /* like LiteRT, ignores the rest of a longer buffer */
    }
    if (!bytes) {
        row->data = nothing; /* an empty constant is still a constant */
        return ML_OK;
    }
    row->data = r->data + buffer->data.at;
    row->data_at = buffer->data.at;
    row->bytes = bytes;
    bool aligned = (uintptr_t)row->data % elements[row->type].alignment == 0;
    bool small = steers(row->type) && bytes <= ML_CONTROL_BYTES && !row->sparsity_at;
    return aligned && !small ? ML_OK : copy_constant(x, buffer, row);
}

/* Only constants can be sparse: for other tensors the table is ignored, as in LiteRT. Constants
 * whose elements are not plain numbers are refused. */
static ml_status check_sparsity(ml_index *x, ml_tensor_row *row) {
    bool plain = row->type != ML_TensorType_STRING && row->type != ML_TensorType_RESOURCE &&
                 row->type != ML_TensorType_VARIANT;
    if (row->sparsity_at && !plain) {
        int length;
        const char *name = type_name(row->type, &length);
        return ml_refuse(&x->reader, "Tensor.sparsity of a %.*s tensor: only numbers can be sparse",
                         length, name);
    }
    if (!row->data) row->sparsity_at = 0;
    return ML_OK;
}

/* Reads a quantization scheme whose scales are tensors; ignores custom schemes. */
static ml_status index_details(ml_index *x, const ml_table *quantization, int64_t member,
                               int64_t at, ml_tensor_row *row) {
    ml_reader *r = &x->reader;
    const ml_schema_union *members = &ml_schema_unions[ML_UNION_QuantizationDetails];
    ml_table t;
    ml_slot_value values[ML_MOST_SLOTS];
    ml_status status = ml_check_code(r, quantization, ML_SLOT_QuantizationParameters_details_type,
                                     member, members->n_members, members->members);
    if (status == ML_OK) status = ml_open_table(r, members->tables[member], at, &t);
    if (status == ML_OK) status = ml_read_values(r, &t, values, true);
    if (status != ML_OK || t.number == ML_TABLE_CustomQuantization) return status;
    for (int32_t slot = 0; slot < 2; slot++) /* scales and zero_points, in both tables */
        if (values[slot].integer < -1 || values[slot].integer >= x->n_tensors)
            return ml_refuse(r, "%s.%s is tensor %" PRId64 ", the subgraph has %" PRId64,
                             ml_schema_tables[t.number].name,
                             ml_schema_slot_at(t.number, slot)->name, values[slot].integer,
                             x->n_tensors);
    row->scales_tensor = (int32_t)values[ML_SLOT_BlockwiseQuantization_scales].integer;
    row->zero_points_tensor = (int32_t)values[ML_SLOT_BlockwiseQuantization_zero_points].integer;
    row->quantization.block_size =
        (int32_t)values[ML_SLOT_BlockwiseQuantization_block_size].integer;
    row->flags |= ML_ROW_BLOCKWISE;
    return ML_OK;
}

/* Scales are used in the file if they are aligned, else copied. Zero points are copied; if all are
 * equal, a single one is kept. */
static ml_status take_scales(ml_index *x, const ml_vector *scales, const ml_vector *zeros,
                             ml_quantization *q) {
    ml_reader *r = &x->reader;
    q->scales = (const float *)(r->data + scales->at);
    if ((uintptr_t)q->scales % sizeof(float)) {
        float *copy = ml_index_take(x, scales->count, sizeof *copy);
        if (!copy) return ml_index_no_room(x);
        memcpy(copy, r->data + scales->at, (size_t)scales->count * sizeof *copy);
        q->scales = copy;
    }
    int64_t first = ml_s64_at(r, zeros->at), count = 1;
    for (int64_t i = 0; i < zeros->count; i++) {
        int64_t zero = ml_s64_at(r, zeros->at + 8 * i);
        if (zero < INT32_MIN || zero > INT32_MAX)
            return ml_refuse(r,
                             "QuantizationParameters.zero_point: number %" PRId64 " is %" PRId64
                             ", expected one of 32 bits",
                             i, zero);
        if (zero != first) count = zeros->count;
    }
    int64_t *copy = ml_index_take(x, count, sizeof *copy);
    if (!copy) return ml_index_no_room(x);
    memcpy(copy, r->data + zeros->at, (size_t)count * sizeof *copy);
    q->zero_points = copy;
    q->n_zero_points = (int32_t)count;
    q->n_scales = (int32_t)scales->count;
    return ML_OK;
}

static ml_status index_quantization(ml_index *x, int64_t at, ml_tensor_row *row) {
    ml_reader *r = &x->reader;
    ml_table t;
    ml_vector scales, zeros;
    ml_status status = ml_open_table(r, ML_TABLE_QuantizationParameters, at, &t);
    if (status != ML_OK) return status;
    int64_t member = ml_slot_integer(r, &t, ML_SLOT_QuantizationParameters_details_type);
    int64_t details = ml_slot_table(r, &t, ML_SLOT_QuantizationParameters_details);
    int32_t dimension =
        (int32_t)ml_slot_integer(r, &t, ML_SLOT_QuantizationParameters_quantized_dimension);
    if (member && details) status = index_details(x, &t, member, details, row);
    if (status != ML_OK) return status;
    if (row->flags & ML_ROW_BLOCKWISE) {
        row->quantization.dimension = dimension;
        return ML_OK;
    }
    status = ml_slot_scalars(r, &t, ML_SLOT_QuantizationParameters_scale, &scales);
    if (status != ML_OK || !scales.count) return status;
    status = ml_slot_scalars(r, &t, ML_SLOT_QuantizationParameters_zero_point, &zeros);
    if (status != ML_OK) return status;
    /* so many scales take 8 GiB */
    if (zeros.count != scales.count || scales.count > INT32_MAX)
        return ml_refuse(r,
                         "QuantizationParameters: %" PRId64 " scales and %" PRId64
                         " zero points, expected as many",
                         scales.count, zeros.count);
    if (scales.count > 1) {
        char text[SHAPE_TEXT];
        if (dimension < 0)
            return ml_refuse(
                r, "QuantizationParameters.quantized_dimension is %d, expected at least 0",
                dimension);
        if (dimension < row->rank && row->shape[dimension] != scales.count)
            return ml_refuse(r,
                             "%" PRId64 " scales along dimension %d of shape %s, expected as many",
                             scales.count, dimension, shape_text(row, text));
    }
    row->quantization.dimension = dimension;
    return take_scales(x, &scales, &zeros, &row->quantization);
}

ml_status ml_index_tensor(ml_index *x, int64_t at, ml_tensor_row *row) {
    ml_reader *r = &x->reader;
    ml_table t;
    ml_slot_value values[ML_MOST_SLOTS];
    ml_status status = ml_open_table(r, ML_TABLE_Tensor, at, &t);
    if (status != ML_OK) return status;
    int64_t type = ml_slot_integer(r, &t, ML_SLOT_Tensor_type);
    if (type < 0 || type >= TYPES)
        return ml_refuse(r, "Tensor.type is %" PRId64 ", must be one of the %d element types", type,
                         TYPES);
    int64_t external = ml_slot_integer(r, &t, ML_SLOT_Tensor_external_buffer);
    if (external)
        return ml_refuse(
            r, "Tensor.external_buffer is %" PRId64 ": data in other files is not supported",
            external);
    bool variable = ml_slot_integer(r, &t, ML_SLOT_Tensor_is_variable),
         ranked = ml_slot_integer(r, &t, ML_SLOT_Tensor_has_rank);
    *row = (ml_tensor_row){.data_at = -1,
                           .type = (int32_t)type,
                           .signature_rank = -1,
                           .scales_tensor = -1,
                           .zero_points_tensor = -1};
    row->flags = (variable ? ML_ROW_VARIABLE : 0) | (ranked ? ML_ROW_HAS_RANK : 0);
    status = copy_integers(x, &t, ML_SLOT_Tensor_shape, &row->shape, &row->rank);
    if (status != ML_OK) return status;
    row->sparsity_at = ml_slot_table(r, &t, ML_SLOT_Tensor_sparsity);
    if (row->sparsity_at) {
        ml_table sparsity;
        status = ml_open_table(r, ML_TABLE_SparsityParameters, row->sparsity_at, &sparsity);
        if (status == ML_OK) status = ml_read_values(r, &sparsity, values, true);
        if (status != ML_OK) return status;
    }
    status = ml_slot_text(r, &t, ML_SLOT_Tensor_name, &row->name);
    if (status == ML_OK)
        status = copy_integers(x, &t, ML_SLOT_Tensor_shape_signature, &row->signature,
                               &row->signature_rank);
    if (status == ML_OK)
        status = index_constant(x, row, ml_slot_integer(r, &t, ML_SLOT_Tensor_buffer));
    if (status == ML_OK) status = check_sparsity(x, row);
    if (status != ML_OK) return status;
    int64_t quantization = ml_slot_table(r, &t, ML_SLOT_Tensor_quantization);
    return quantization ? index_quantization(x, quantization, row) : ML_OK;
}

static bool is_without_values(const ml_tensor_row *row) {
    bool empty = false;
    for (int32_t i = 0; i < row->rank; i++) empty |= row->shape[i] == 0;
    return empty && !row->data && !(row->flags & ML_ROW_VARIABLE);
}

/* `given` is memory for a flag per tensor. */
static void mark_empty_constants(const ml_subgraph_row *sub, ml_tensor_row *tensors,
                                 uint8_t *given) {
    memset(given, 0, (size_t)sub->n_tensors);
    for (int32_t i = 0; i < sub->n_inputs; i++) given[sub->inputs[i]] = 1;
    for (int32_t k = 0; k < sub->n_nodes; k++) {
        const ml_node_row *n = &sub->nodes[k];
        for (int32_t i = 0; i < n->n_outputs; i++) given[n->outputs[i]] = 1;
        for (int32_t i = 0; i < n->n_intermediates; i++)
            if (n->intermediates[i] >= 0) given[n->intermediates[i]] = 1;
    }
    for (int32_t i = 0; i < sub->n_tensors; i++)
        if (!given[i] && is_without_values(&tensors[i])) tensors[i].data = nothing;
}

ml_status ml_index_empty_constants(ml_index *x, const ml_subgraph_row *sub,
                                   ml_tensor_row *tensors) {
    bool found = false;
    for (int32_t i = 0; i < sub->n_tensors; i++) found |= is_without_values(&tensors[i]);
    if (!found) return ML_OK;
    uint8_t *given = ml_index_take(x, sub->n_tensors, sizeof *given);
    if (!given) return ml_index_no_room(x);
    mark_empty_constants(sub, tensors, given);
    return ML_OK;
}
