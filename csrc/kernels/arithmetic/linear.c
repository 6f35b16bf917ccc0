/* linear.c -- finds constants with which a linear form gives the same result as TFLite's roundings
 * for all pairs of bytes: sums by integers, products by floats.
 *
 * With factors of k fractional bits, the form is within `near` of the value that is rounded, so
 * only pairs that are as near to a tie can give a wrong result. Each such pair sets bounds for the
 * nudge, the number that is added before the shift. If no nudge is within all bounds, factors that
 * are larger or smaller by one are tried. Last, the nudge that misses the fewest pairs is taken,
 * and those pairs are the odd ones. One in 250 random scales has one or two odd pairs. */
#include "kernels/arithmetic/linear.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST_BITS = 13, MOST_BITS = 24, MOST_NUDGE = 256, MOST_NEAR = 256 };

typedef struct form {
    int32_t a_terms[256]; /* by byte: factor * (x - zero point) */
    int32_t b_terms[256];
    /* The bytes, sorted by the first 8 of the `bits` fractional bits of their terms. */
    uint8_t b_sorted[256];
    int32_t b_starts[257]; /* where the bytes of each value of those 8 bits begin */
    int32_t factors[2];
    int32_t bits;
    int32_t near;
    int64_t least; /* the bounds */
    int64_t most;
} form;

static int32_t integer_of(int32_t byte, int32_t type) {
    return type == ML_S8 ? (int8_t)byte : byte;
}

static void fill_terms(int32_t *terms, int32_t factor, ml_affine x) {
    for (int32_t byte = 0; byte < 256; byte++)
        terms[byte] = factor * (integer_of(byte, x.type) - x.zero_point);
}

/* The fraction of b's term, in `bits` bits. */
static uint32_t fraction_of(const form *f, int32_t b) {
    return (uint32_t)f->b_terms[b] & ((1u << f->bits) - 1);
}

static void sort_b(form *f) {
    int32_t next[256];
    memset(f->b_starts, 0, sizeof f->b_starts);
    for (int32_t b = 0; b < 256; b++) f->b_starts[(fraction_of(f, b) >> (f->bits - 8)) + 1]++;
    for (int32_t i = 0; i < 256; i++) f->b_starts[i + 1] += next[i] = f->b_starts[i];
    for (int32_t b = 0; b < 256; b++)
        f->b_sorted[next[fraction_of(f, b) >> (f->bits - 8)]++] = (uint8_t)b;
}

/* The bounds that the pair (a, b) sets. */
typedef struct bounds {
    odd_pair pair;
    int64_t least;
    int64_t most;
} bounds;

static bounds bounds_of(const form *f, const arithmetic_tables *t, int32_t a, int32_t b) {
    const int32_t y = ml_rescale_one(t->a[a] + t->b[b], &t->out);
    const int64_t wanted = y - t->out.zero_point;
    const int64_t sum = (int64_t)f->a_terms[a] + f->b_terms[b], one = (int64_t)1 << f->bits;
    const int64_t v = sum + one / 2 - (sum < 0);
    bounds limits = {{(uint8_t)a, (uint8_t)b, (uint8_t)y}, INT64_MIN, INT64_MAX};
    if (wanted > t->out.least) limits.least = wanted * one - v;
    if (wanted < t->out.most) limits.most = (wanted + 1) * one - 1 - v;
    return limits;
}

/* Narrows the bounds by all pairs, and lists the pairs' bounds as long as there is room. With
 * `list` NULL it ends as soon as no nudge is left. For each a, only the few b matter with which the
 * fraction of the sum is near to a half. */
static bool fits(form *f, const arithmetic_tables *t, bounds *list, int32_t *listed) {
    const uint32_t one = 1u << f->bits, near = (uint32_t)f->near, width = 2 * near;
    const int32_t bucket = f->bits - 8;
    f->least = -MOST_NUDGE;
    f->most = MOST_NUDGE;
    for (int32_t a = 0; a < 256 && (list || f->least <= f->most); a++) {
        const uint32_t from = (one / 2 - near - (uint32_t)f->a_terms[a]) & (one - 1);
        for (uint32_t i = from >> bucket; i <= (from + width - 1) >> bucket; i++)
            for (int32_t at = f->b_starts[i & 255]; at < f->b_starts[(i & 255) + 1]; at++) {
                const int32_t b = f->b_sorted[at];
                if (((fraction_of(f, b) - from) & (one - 1)) >= width) continue;
                const bounds limits = bounds_of(f, t, a, b);
                f->least = ml_max_s64(f->least, limits.least);
                f->most = ml_min_s64(f->most, limits.most);
                if (list && *listed < MOST_NEAR) list[*listed] = limits;
                if (list) ++*listed;
            }
    }
    return f->least <= f->most;
}

/* Counts the pairs that `nudge` misses, and writes at most ML_MOST_ODD of them to `odd`. */
static int32_t missed(const bounds *list, int32_t n, int64_t nudge, odd_pair *odd) {
    int32_t count = 0;
    for (int32_t i = 0; i < n; i++) {
        if (nudge >= list[i].least && nudge <= list[i].most) continue;
        if (count < ML_MOST_ODD) odd[count] = list[i].pair;
        count++;
    }
    return count;
}

/* The nudge that misses the fewest pairs is one of their bounds. */
static bool fits_but_few(form *f, const arithmetic_tables *t, arithmetic_linear *to) {
    bounds list[MOST_NEAR];
    odd_pair odd[ML_MOST_ODD];
    int32_t n = 0, fewest = ML_MOST_ODD + 1;
    fits(f, t, list, &n);
    for (int32_t i = 0; n <= MOST_NEAR && i < 2 * n; i++) {
        const int64_t nudge = i < n ? list[i].least : list[i - n].most;
        if (nudge < -MOST_NUDGE || nudge > MOST_NUDGE) continue;
        const int32_t count = missed(list, n, nudge, odd);
        if (count >= fewest) continue;
        f->least = f->most = nudge;
        to->odd_count = fewest = count;
        memcpy(to->odd, odd, sizeof odd);
    }
    return fewest <= ML_MOST_ODD;
}

/* The largest distance of the form, without the nudge, from the value that the tables round, in its
 * last bits. It is the sum of: half a bit for each step of an input, for either factor (a whole bit
 * if the factor is not the nearest one); a few units of the tables; and one unit for the output's
 * multiplier. */
static double distance(const arithmetic_tables *t, int32_t bits, double a, double b) {
    const double table_unit = 2 * fmax(fabs(a), fabs(b)) / (1 << 20);
    return 3 * 255 + ldexp(8 * table_unit, bits) + ldexp(1.0, bits + t->out.shift) + 16;
}

static bool choose_bits(form *f, const arithmetic_tables *t, double a, double b) {
    /* Sums and the zero point have to stay below 2^31. */
    const double most = 255 * (fabs(a) + fabs(b)) + abs(t->out.zero_point) + 2;
    if (!(most < 1 << 17)) return false;
    f->bits = 30 - ilogb(most);
    f->bits = f->bits < MOST_BITS ? f->bits : MOST_BITS;
    const double near = distance(t, f->bits, a, b) + (double)MOST_NUDGE;
    if (f->bits < LEAST_BITS || !(near < (double)(1 << (f->bits - 2)))) return false;
    f->near = (int32_t)near + 1;
    return true;
}

static bool is_of_type(ml_affine x) {
    return x.scale > 0.0f && x.zero_point >= ml_type_least(x.type) &&
           x.zero_point <= ml_type_most(x.type);
}

static void write(const form *f, const arithmetic_tables *t, const ml_affine x[2],
                  ml_add_s8_args *to) {
    const int64_t nudge = f->least > 0 ? f->least : f->most < 0 ? f->most : 0;
    const int64_t half = ((int64_t)t->out.zero_point * 2 + 1) * ((int64_t)1 << (f->bits - 1));
    const uint32_t zeros = (uint32_t)f->factors[0] * (uint32_t)x[0].zero_point +
                           (uint32_t)f->factors[1] * (uint32_t)x[1].zero_point;
    *to = (ml_add_s8_args){.is_signed = x[0].type == ML_S8,
                           .a_factor = f->factors[0],
                           .b_factor = f->factors[1],
                           .offset = (int32_t)((uint32_t)(half + nudge) - zeros),
                           .negative = (int32_t)(half + nudge),
                           .shift = f->bits,
                           .low = t->out.least + t->out.zero_point,
                           .high = t->out.most + t->out.zero_point};
}

bool ml_find_linear(const arithmetic_tables *t, const ml_affine x[2], ml_affine y, int32_t sign,
                    arithmetic_linear *to) {
    static const int8_t nudges[9][2] = {{0, 0},  {0, 1},  {1, 0}, {0, -1}, {-1, 0},
                                        {1, -1}, {-1, 1}, {1, 1}, {-1, -1}};
    if (!is_of_type(x[0]) || !is_of_type(x[1]) || !is_of_type(y)) return false;
    const double a = (double)x[0].scale / (double)y.scale;
    const double b = sign * (double)x[1].scale / (double)y.scale;
    form f;
    if (!choose_bits(&f, t, a, b)) return false;
    for (int i = 0; i < 18; i++) { /* first all factors without odd pairs, then again with them */
        f.factors[0] = (int32_t)lrint(ldexp(a, f.bits)) + nudges[i % 9][0];
        f.factors[1] = (int32_t)lrint(ldexp(b, f.bits)) + nudges[i % 9][1];
        fill_terms(f.a_terms, f.factors[0], x[0]);
        fill_terms(f.b_terms, f.factors[1], x[1]);
        sort_b(&f);
        if (i < 9 ? !fits(&f, t, NULL, NULL) : !fits_but_few(&f, t, to)) continue;
        write(&f, t, x, &to->args);
        return true;
    }
    return false;
}

/* Products ------------------------------------------------------------------------------------- */

enum { MOST_PRODUCT = 255 * 255, STEPS = 255 };

static int32_t nearest_of(int32_t product, const ml_mul_s8_args *p) {
    const float nudge = product < 0 ? -p->nudge : p->nudge;
    return (int32_t)lrintf(fmaf((float)product, p->real, (float)p->zero + nudge));
}

/* The least product >= `from` whose result is `wanted` or more; if there is none, a product that is
 * too large by one. */
static int32_t first_of(const ml_rescale *out, int32_t wanted, int32_t from) {
    int32_t end = MOST_PRODUCT + 1;
    while (from < end) {
        const int32_t middle = from + (end - from) / 2;
        if (ml_rescale_one(middle, out) >= wanted) end = middle;
        else from = middle + 1;
    }
    return end;
}

/* Both are rising step functions: they are equal if each step begins at the same product. */
static bool steps_match(const ml_mul_s8_args *p, const int32_t firsts[STEPS]) {
    for (int32_t wanted = p->low + 1; wanted <= p->high; wanted++) {
        const int32_t first = firsts[wanted - p->low - 1];
        if (first <= MOST_PRODUCT && nearest_of(first, p) < wanted) return false;
        if (first > -MOST_PRODUCT && nearest_of(first - 1, p) >= wanted) return false;
    }
    return true;
}

/* TFLite rounds twice, first to 2^shift. So a value that is less than half of 2^shift below a tie
 * is rounded away from zero, too. This is about the nudge: neither it nor the factor is exact. */
bool ml_find_real(const ml_rescale *out, ml_mul_s8_args *to) {
    static const float nudges[] = {1.0f - 0x1p-12f, 1.0f, 1.0f + 0x1p-12f, 1.0f - 0x1p-6f,
                                   1.0f + 0x1p-6f};
    static const float factors[] = {1.0f, 1.0f - 0x1p-23f, 1.0f + 0x1p-23f, 1.0f - 0x1p-22f,
                                    1.0f + 0x1p-22f};
    const double exact = ldexp(out->mantissa, out->shift - 31);
    const int32_t low = out->least + out->zero_point, high = out->most + out->zero_point;
    int32_t firsts[STEPS];
    if (high - low > STEPS || out->shift > 0 || !(exact > 0x1p-30)) return false;
    for (int32_t i = 0, from = -MOST_PRODUCT; i < high - low; i++)
        firsts[i] = from = first_of(out, low + 1 + i, from);
    ml_mul_s8_args p = {.low = low, .high = high, .zero = out->zero_point};
    for (int i = 0; i < 25; i++) {
        p.real = (float)exact * factors[i % 5];
        p.nudge = (float)ldexp(0.5, out->shift) * nudges[i / 5];
        if (!steps_match(&p, firsts)) continue;
        to->real = p.real;
        to->nudge = p.nudge;
        return true;
    }
    return false;
}
