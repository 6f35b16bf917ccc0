/* pad.c -- carries out a nest of copies and fills the gaps between its runs: from front to back, in
 * blocks of output. */
#include "rules/nest.h"
#include "rules/work.h"

/* A line is the innermost dimension: its runs, and the gaps between them. */
typedef struct padding {
    const ml_nest *nest;
    const uint8_t *from;
    uint8_t *to;
    int64_t lines;
    int64_t count; /* runs of a line */
    int64_t step; /* bytes from run to run */
    int64_t length; /* bytes of a line, its last run included */
    uint8_t equal[64];
    bool by_bytes; /* all bytes of an element are equal, as those of zeros */
} padding;

/* Writes `bytes` of equal elements, none if the gap is empty or lies before the block. The last
 * move may begin at any element, because all are equal. */
static void fill(const padding *p, uint8_t *to, int64_t bytes) {
    if (bytes <= 0) return;
    if (bytes < 64) {
        memcpy(to, p->equal, (size_t)bytes);
        return;
    }
    if (p->by_bytes) {
        memset(to, p->equal[0], (size_t)bytes);
        return;
    }
    for (int64_t i = 0; i + 64 <= bytes; i += 64) memcpy(to + i, p->equal, 64);
    memcpy(to + bytes - 64, p->equal, 64);
}

/* Bytes before line `line`. */
static int64_t line_at(const padding *p, int64_t line) {
    int64_t at = p->nest->start;
    for (int32_t d = p->nest->n - 2; d >= 0; line /= p->nest->counts[d--])
        at += line % p->nest->counts[d] * p->nest->steps[d];
    return at;
}

/* The first line that ends after byte `at`. */
static int64_t line_behind(const padding *p, int64_t at) {
    int64_t line = 0, rest = at - p->nest->start;
    for (int32_t d = 0; d < p->nest->n - 1; d++) {
        int64_t index = rest < 0 ? 0 : rest / p->nest->steps[d];
        if (index >= p->nest->counts[d]) index = p->nest->counts[d] - 1;
        rest -= index * p->nest->steps[d];
        line = line * p->nest->counts[d] + index;
    }
    while (line < p->lines && line_at(p, line) + p->length <= at) line++;
    return line;
}

/* Copies some runs of a line, and fills the gaps after them. */
static void whole_runs(const padding *p, const uint8_t *from, uint8_t *at, int64_t runs,
                       int64_t gaps) {
    const int64_t run = p->nest->run, gap = p->step - run;
    ml_copy_runs(at, from, run, (ml_turns){1, 0, 0}, (ml_turns){runs, p->step, run});
    if (gap <= 64)
        ml_copy_runs(at + run, p->equal, gap, (ml_turns){1, 0, 0}, (ml_turns){gaps, p->step, 0});
    else
        for (int64_t i = 0; i < gaps; i++) fill(p, at + i * p->step + run, gap);
}

/* The same for the part of run `i`, and of the gap after it, in bytes first .. end - 1; the line
 * begins at byte `at`. */
static void part_of_run(const padding *p, const uint8_t *from, int64_t at, int64_t i, int64_t first,
                        int64_t end) {
    const int64_t run = p->nest->run;
    const int64_t here = at + i * p->step, low = ml_max_s64(here, first);
    const int64_t gap = ml_max_s64(here + run, first), next = here + p->step;
    const int64_t high = ml_min_s64(here + run, end);
    if (low < high) memcpy(p->to + low, from + i * run + low - here, (size_t)(high - low));
    if (i + 1 < p->count) fill(p, p->to + gap, ml_min_s64(next, end) - gap);
}

/* The same for a line: a run that is cut, whole runs with their gaps, then the rest. */
static void part_of_line(const padding *p, const uint8_t *from, int64_t at, int64_t first,
                         int64_t end) {
    int64_t i = first > at ? (first - at) / p->step : 0;
    if (at + i * p->step < first) part_of_run(p, from, at, i++, first, end);
    const int64_t whole = ml_min_s64((end - at) / p->step, p->count - 1) - i;
    if (whole > 0) whole_runs(p, from + i * p->nest->run, p->to + at + i * p->step, whole, whole);
    for (i += whole > 0 ? whole : 0; i < p->count && at + i * p->step < end; i++)
        part_of_run(p, from, at, i, first, end);
}

static ml_status some_bytes(const ml_call *c, int64_t first, int64_t end, int32_t worker,
                            void *args) {
    const padding *p = args;
    int64_t line = line_behind(p, first);
    int64_t done = line > 0 ? ml_max_s64(first, line_at(p, line - 1) + p->length) : first;
    for (; line < p->lines; line++) {
        const int64_t at = line_at(p, line);
        const uint8_t *from = p->from + line * p->count * p->nest->run;
        fill(p, p->to + done, ml_min_s64(at, end) - done);
        if (at >= end) return ML_OK;
        if (at >= first && at + p->length <= end)
            whole_runs(p, from, p->to + at, p->count, p->count - 1);
        else part_of_line(p, from, at, first, end);
        done = at + p->length;
    }
    fill(p, p->to + done, end - done);
    return ML_OK;
}

ml_status ml_nest_pad(const ml_call *c, const ml_nest *nest, const void *from, void *to,
                      int64_t bytes, const uint8_t equal[16]) {
    padding p = {.nest = nest, .from = from, .to = to, .lines = 1, .count = 1, .step = nest->run};
    if (nest->run == 0) p.lines = 0;
    if (nest->n > 0) {
        p.count = nest->counts[nest->n - 1];
        p.step = nest->steps[nest->n - 1];
    }
    for (int32_t d = 0; d < nest->n - 1; d++) p.lines *= nest->counts[d];
    p.length = (p.count - 1) * p.step + nest->run;
    for (int i = 0; i < 4; i++) memcpy(p.equal + 16 * i, equal, 16);
    p.by_bytes = memcmp(equal, equal + 1, 15) == 0;
    if (bytes <= ML_BLOCK_BYTES) return some_bytes(c, 0, bytes, 0, &p);
    return ml_parallel(c, bytes, ML_BLOCK_BYTES, some_bytes, &p);
}
