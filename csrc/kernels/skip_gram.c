/* skip_gram.c -- SKIP_GRAM: combinations of words of a text in their order, which may skip some
 * words. One pass counts them and their bytes, another one writes them. */
#include "core/strings.h"
#include "rules/strings.h"
#include "rules/work.h"

enum { MOST_WORDS = 64 }; /* of a combination */

#define SKIP_GRAM_FIELDS(X, S)                                             \
    X(S, i32, size, ML_OPTION("ngram_size"))                               \
    X(S, i32, skip, ML_OPTION("max_skip_size"))                            \
    X(S, i32, every, ML_OPTION("include_all_ngrams")) /* shorter ones too */
ML_PARAMS(skip_gram_params, SKIP_GRAM_FIELDS)

/* A word of the text, or the place from which one is looked for. */
typedef struct word {
    int64_t begin;
    int64_t end;
} word;

typedef struct grams {
    const ml_call *c;
    ml_string text;
    word chosen[MOST_WORDS];
    int64_t count; /* of the combinations so far */
    int64_t at; /* bytes of their characters so far; in the second pass, where the next ones go */
    int64_t bytes; /* of the output */
    int64_t most; /* combinations, as the first pass counted them */
    uint8_t *to; /* the output; NULL in the first pass */
    int64_t work;
} grams;

static bool is_space(uint8_t byte) { return byte == ' ' || (byte >= '\t' && byte <= '\r'); }

/* Finds the first word from byte `from` on; it begins after the text where there is none. The
 * first byte of the text never ends a word, and a word that begins with it as a space counts only
 * if it is the last, as in TFLite. */
static ml_status find_word(grams *g, int64_t from, word *found) {
    const uint8_t *text = g->text.from;
    const int64_t n = g->text.bytes;
    ml_status status = ML_OK;
    for (word w = {from, from}; w.begin < n; w.begin = ++w.end) {
        if (w.begin == 0) w.end = 1;
        for (; w.end < n && !is_space(text[w.end]) && status == ML_OK; w.end++)
            status = ml_count_work(g->c, 1, &g->work);
        *found = w;
        if (status == ML_OK) status = ml_count_work(g->c, 1, &g->work);
        if (status != ML_OK || w.end == n) return status;
        if (w.end > w.begin && !is_space(text[w.begin])) return ML_OK;
    }
    *found = (word){n, n};
    return ML_OK;
}

/* Counts the combination of the first `n` chosen words, or writes it. */
static ml_status give(grams *g, int32_t n) {
    int64_t bytes = n - 1;
    for (int32_t i = 0; i < n; i++) bytes += g->chosen[i].end - g->chosen[i].begin;
    g->count++;
    if (!g->to) {
        g->at += bytes;
        g->bytes = ml_strings_head(g->count) + g->at;
        if (g->bytes <= INT32_MAX) return ml_count_work(g->c, n, &g->work);
        return ml_fail(g->c, ML_KERNEL_ERROR, "the combinations would take more than %d bytes",
                       INT32_MAX);
    }
    if (bytes > g->bytes - g->at || g->count > g->most)
        return ml_fail(g->c, ML_KERNEL_ERROR, "the text changed while it was read");
    for (int32_t i = 0; i < n; i++) {
        const word w = g->chosen[i];
        if (i) g->to[g->at++] = ' ';
        memcpy(g->to + g->at, g->text.from + w.begin, (size_t)(w.end - w.begin));
        g->at += w.end - w.begin;
    }
    ml_set_string_word(g->to, g->count + 1, g->at);
    return ml_count_work(g->c, n + bytes / 4, &g->work);
}

/* Gives all combinations that begin with the first `n` chosen words, longer ones first. */
static ml_status give_from(grams *g, int32_t n) {
    const skip_gram_params *p = g->c->params;
    int64_t from = g->chosen[n - 1].end + 1;
    ml_status status = ML_OK;
    for (int64_t skipped = 0; n < p->size && skipped <= p->skip && status == ML_OK; skipped++) {
        status = find_word(g, from, &g->chosen[n]);
        if (status != ML_OK || g->chosen[n].begin >= g->text.bytes) break;
        from = g->chosen[n].end + 1;
        status = give_from(g, n + 1);
    }
    return status == ML_OK && (p->every || n == p->size) ? give(g, n) : status;
}

/* A text of fewer words than a combination has gives none, not even shorter ones. */
static ml_status give_all(grams *g) {
    const skip_gram_params *p = g->c->params;
    word w = {0, -1};
    ml_status status = ML_OK;
    for (int32_t i = 0; i < p->size && w.begin < g->text.bytes && status == ML_OK; i++)
        status = find_word(g, w.end + 1, &w);
    if (status != ML_OK || w.begin >= g->text.bytes) return status;
    g->chosen[0] = (word){0, -1};
    while (status == ML_OK) {
        status = find_word(g, g->chosen[0].end + 1, &g->chosen[0]);
        if (status != ML_OK || g->chosen[0].begin >= g->text.bytes) break;
        status = give_from(g, 1);
    }
    return status;
}

static ml_status open_text(grams *g) {
    ml_strings strings;
    ml_status status = ml_open_strings(g->c, 0, &strings);
    return status == ML_OK ? ml_string_at(g->c, &strings, 0, &g->text) : status;
}

static ml_status skip_gram(const ml_call *c) {
    grams g = {.c = c};
    ml_status status = open_text(&g);
    if (status == ML_OK) status = give_all(&g);
    const int64_t count = g.count, bytes = count ? g.bytes : ml_strings_head(0);
    if (status == ML_OK)
        status = ml_set_output(c, 0, &(ml_shape){.rank = 1, .dims = {(int32_t)count}});
    if (status == ML_OK) status = ml_settle(c);
    if (status == ML_OK) status = ml_set_bytes(c, 0, bytes);
    if (status != ML_OK) return status;
    g = (grams){.c = c, .bytes = bytes, .most = count, .to = ml_out(c, 0)};
    g.at = ml_strings_head(count);
    ml_set_string_word(g.to, 0, count);
    ml_set_string_word(g.to, 1, g.at);
    status = open_text(&g);
    if (status == ML_OK) status = give_all(&g);
    if (status != ML_OK || g.count == count) return status;
    return ml_fail(c, ML_KERNEL_ERROR, "the text changed while it was read");
}

static ml_status prepare_skip_gram(const ml_call *c, ml_wish *wish) {
    if (ml_elements(&ml_input(c, 0)->shape) < 1)
        return ml_fail(c, ML_SHAPE_ERROR, "the input holds no words");
    return ml_open(wish, 0);
}

static ml_status check_skip_gram(const ml_call *c, void *params) {
    const int64_t size = ml_option_of(c, "ngram_size").integer;
    const int64_t skip = ml_option_of(c, "max_skip_size").integer;
    if (size > 0 && size <= MOST_WORDS && skip >= 0) return ML_OK;
    return ml_fail(c, ML_UNSUPPORTED,
                   "ngram_size is %lld and max_skip_size %lld, expected 1 to %d and 0 or more",
                   (long long)size, (long long)skip, MOST_WORDS);
}

ML_KERNELS(skip_gram) = {
    {ML_OP(SKIP_GRAM, 1, 1), .name = "skip_gram", .takes = "text -> grams",
     .flags = ML_KERNEL_SETS_SHAPES, .check = check_skip_gram, ML_PARAMS_OF(skip_gram_params),
     .prepare = prepare_skip_gram, ML_TYPED({"string -> string", NULL, NULL, skip_gram})},
    ML_KERNELS_END,
};
