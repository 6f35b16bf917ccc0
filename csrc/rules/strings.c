/* strings.c -- strings read from a tensor, each checked against the tensor's bytes, and written to
 * another. */
#include "rules/strings.h"

#include "core/strings.h"
#include "rules/work.h"

ml_status ml_open_strings(const ml_call *c, int i, ml_strings *strings) {
    int64_t elements = ml_elements(&ml_in_tensor(c, i)->shape);
    *strings = (ml_strings){ml_in(c, i), ml_in_bytes(c, i), 0};
    if (strings->bytes >= 4) strings->count = ml_string_word(strings->data, 0);
    if (strings->count == elements && (elements == 0 || strings->bytes / 4 - 2 >= elements))
        return ML_OK;
    return ml_fail(c, ML_KERNEL_ERROR,
                   "input %d has %lld strings in %lld bytes, its shape has %lld elements", i,
                   (long long)strings->count, (long long)strings->bytes, (long long)elements);
}

ml_status ml_string_at(const ml_call *c, const ml_strings *strings, int64_t index, ml_string *out) {
    int64_t start = ml_string_word(strings->data, index + 1),
            end = ml_string_word(strings->data, index + 2);
    *out = (ml_string){strings->data + start, end - start};
    if (start >= 0 && end >= start && end <= strings->bytes) return ML_OK;
    return ml_fail(c, ML_KERNEL_ERROR,
                   "string %lld goes from byte %lld to %lld of a tensor of %lld bytes",
                   (long long)index, (long long)start, (long long)end, (long long)strings->bytes);
}

static ml_status find(const ml_call *c, const ml_strings *strings, ml_pick *pick, int64_t k,
                      int64_t *index, ml_string *out) {
    if (!pick) *index = k;
    ml_status status = pick ? pick(c, k, index) : ML_OK;
    return status == ML_OK ? ml_string_at(c, strings, *index, out) : status;
}

ml_status ml_pick_strings(const ml_call *c, int input, int output, int64_t count, ml_pick *pick) {
    ml_strings strings;
    ml_string string = {NULL, 0};
    int64_t at = ml_strings_head(count), bytes = at, work = 0, index = 0;
    ml_status status = ml_open_strings(c, input, &strings);
    /* The bytes that all of them take. */
    for (int64_t k = 0; k < count && status == ML_OK; k++) {
        status = find(c, &strings, pick, k, &index, &string);
        bytes += string.bytes;
        if (status == ML_OK) status = ml_count_work(c, 1, &work);
    }
    if (status == ML_OK && bytes > INT32_MAX)
        status = ml_fail(c, ML_KERNEL_ERROR, "the strings would take %lld bytes, at most %d fit",
                         (long long)bytes, INT32_MAX);
    if (status == ML_OK) status = ml_set_bytes(c, output, bytes);
    if (status != ML_OK) return status;
    /* Their number, the starts, and the strings one after the other. */
    uint8_t *to = ml_out(c, output);
    ml_set_string_word(to, 0, count);
    ml_set_string_word(to, 1, at);
    for (int64_t k = 0; k < count; k++) {
        status = find(c, &strings, pick, k, &index, &string);
        if (status == ML_OK && string.bytes > bytes - at)
            status = ml_fail(c, ML_KERNEL_ERROR, "input %d changed while it was read", input);
        if (status == ML_OK) status = ml_count_work(c, 1 + string.bytes / 4, &work);
        if (status != ML_OK) return status;
        memcpy(to + at, string.from, (size_t)string.bytes);
        ml_set_string_word(to, k + 2, at += string.bytes);
    }
    return ML_OK;
}

ml_status ml_copy_strings(const ml_call *c, int input, int output) {
    return ml_pick_strings(c, input, output, ml_elements(&ml_in_tensor(c, input)->shape), NULL);
}
