/* byte_lines.c -- finds lines on which all entries of a table lie.
 *
 * A line's value before its term, x * factor >> 8, is an integer. For a given factor each entry
 * bounds the term: entry = (value + term) >> shift has to hold, or one side of it where the entry
 * is the least or the greatest one, because lines are cut off there. Where the bounds of two
 * entries exclude each other, they say whether the factor is too small or too large; so halving the
 * range of factors finds one, if there is any. What was found is compared with all 256 entries. */
#include "rules/byte_lines.h"

#include <stdlib.h>

#include "kernel.h"

enum { FEW = 16 }; /* entries of which one is tried before all are */

/* Entries of inputs -128 to 127, as signed bytes. */
typedef struct entries {
    int32_t at[256];
    int32_t low, high;
    int32_t shift;
} entries;

typedef struct line {
    int32_t factor;
    int32_t term;
} line;

static int32_t value_at(int32_t x, int32_t factor) { return x * factor >> 8; }

/* The difference between what every `step`-th of the entries first .. end - 1 asks of a term: 0 if
 * line->term suits all; above, the factor has to grow; below, to shrink. */
static int32_t try_factor(const entries *e, int32_t first, int32_t end, int32_t step, line *l) {
    int32_t least = INT16_MIN, most = INT16_MAX, least_at = first, most_at = first;
    for (int32_t i = first; i < end; i += step) {
        const int32_t value = value_at(i - 128, l->factor), entry = e->at[i];
        const int32_t from = entry * (1 << e->shift) - value;
        const int32_t to = from + (1 << e->shift) - 1;
        if (entry > e->low && from > least) least = from, least_at = i;
        if (entry < e->high && to < most) most = to, most_at = i;
    }
    l->term = least + (most - least) / 2;
    if (least <= most) return 0;
    return least_at > most_at ? 1 : -1;
}

/* False if the entries between the flat ends are clearly on no line: most tables that are not lines
 * end here, for a few instructions. */
static bool may_be_line(const entries *e, int32_t first, int32_t end) {
    int32_t last = end - 1;
    while (first < last && e->at[first + 1] == e->at[first]) first++;
    while (first < last && e->at[last - 1] == e->at[last]) last--;
    for (int32_t quarter = 1; quarter < 4; quarter++) {
        const int32_t at = first + (last - first) * quarter / 4;
        const int32_t off = (e->at[at] - e->at[first]) * (last - first) -
                            (e->at[last] - e->at[first]) * (at - first);
        if (abs(off) > 2 * (last - first)) return false;
    }
    return true;
}

static bool find_line(const entries *e, int32_t first, int32_t end, line *l) {
    int32_t below = INT16_MIN, above = INT16_MAX;
    if (!may_be_line(e, first, end)) return false;
    while (below <= above) {
        l->factor = (below + above) >> 1;
        int32_t side = try_factor(e, first, end, FEW, l); /* what few refuse, all do */
        if (side == 0) side = try_factor(e, first, end, 1, l);
        if (side == 0) return true;
        if (side > 0) below = l->factor + 1;
        else above = l->factor - 1;
    }
    return false;
}

static int32_t byte_on(const ml_byte_lines *p, int32_t x) {
    int32_t y = 0;
    for (int i = 0; i < p->count; i++) {
        int32_t value = value_at(x, p->factors[i]) + p->terms[i];
        value = value < INT16_MIN ? INT16_MIN : value > INT16_MAX ? INT16_MAX : value;
        if (i == 0 || (p->smaller ? value < y : value > y)) y = value;
    }
    y >>= p->shift;
    return y < p->low ? p->low : y > p->high ? p->high : y;
}

static bool are_lines(const entries *e, const line *found, int32_t count, ml_byte_lines *p) {
    p->count = count;
    p->shift = e->shift;
    p->smaller = count > 1 && found[0].factor > found[1].factor;
    for (int32_t i = 0; i < count; i++) {
        p->factors[i] = (int16_t)found[i].factor;
        p->terms[i] = (int16_t)found[i].term;
    }
    /* Without limits if they change nothing. */
    for (int limits = 0; limits < 2; limits++) {
        p->low = limits ? (int8_t)e->low : INT8_MIN;
        p->high = limits ? (int8_t)e->high : INT8_MAX;
        int32_t equal = 0;
        while (equal < 256 && byte_on(p, equal - 128) == e->at[equal]) equal++;
        if (equal == 256) return true;
    }
    return false;
}

void ml_find_byte_lines(ml_byte_table *t, int32_t x_type, int32_t y_type, int32_t kink) {
    const uint8_t flip_x = x_type == ML_S8 ? 0 : 0x80, flip_y = y_type == ML_S8 ? 0 : 0x80;
    entries e = {.low = INT8_MAX, .high = INT8_MIN};
    for (int32_t i = 0; i < 256; i++) {
        e.at[i] = (int8_t)(t->bytes[(uint8_t)(i - 128) ^ flip_x] ^ flip_y);
        if (e.at[i] < e.low) e.low = e.at[i];
        if (e.at[i] > e.high) e.high = e.at[i];
    }
    kink += flip_x ? 0 : 128;
    for (e.shift = 7; e.shift > 3; e.shift--) {
        ml_byte_lines *p = &t->lines;
        line found[2];
        *p = (ml_byte_lines){.flip_x = flip_x, .flip_y = flip_y};
        if (find_line(&e, 0, 256, found) && are_lines(&e, found, 1, p)) return;
        if (kink > 0 && kink < 255 && find_line(&e, 0, kink + 1, &found[0]) &&
            find_line(&e, kink, 256, &found[1]) && are_lines(&e, found, 2, p))
            return;
    }
    t->lines.count = 0;
}
