/* walk.c -- compares each primitive of each level with its scalar row, and prints which were
 * compared. */
#include <stdio.h>
#include <string.h>

#include "os/os.h"
#include "walk.h"

typedef struct row {
    const char *name;
    size_t offset; /* of the function in ml_simd */
    void (*run)(walk *w);
} row;

#define PRIMITIVE(name, returns, parameters) {#name, offsetof(ml_simd, name), walk_##name},
static const row rows[] = {
#include "simd/primitives.def"
};
enum { ROWS = sizeof rows / sizeof rows[0] };

typedef void any_fn(void);

static any_fn *function_of(const ml_simd *simd, const row *of) {
    any_fn *function;
    memcpy(&function, (const char *)simd + of->offset, sizeof function);
    return function;
}

/* Whether a primitive calls others of the level that it is given. */
static bool calls_others(const row *of) {
    return of->offset == offsetof(ml_simd, product_s8) ||
           of->offset == offsetof(ml_simd, product_f32) ||
           of->offset == offsetof(ml_simd, depthwise_product_s8);
}

/* Whether a level below has the same variant, which does the same there. */
static bool is_compared(level_fn *at, int32_t level, const row *of) {
    if (calls_others(of)) return false;
    for (int32_t i = 0; i < level; i++)
        if (function_of(at(i), of) == function_of(at(level), of)) return true;
    return false;
}

static bool make_rooms(walk *w) {
    const int64_t page = ml_os_page_bytes(), step = ROOM_BYTES + page;
    uint8_t *all = ml_os_reserve(ROOMS * step + page);
    if (!all) return false;
    for (int64_t i = 0; i < ROOMS; i++)
        if (!ml_os_commit(all + page + i * step, ROOM_BYTES)) return false;
    w->rooms = all + page;
    return true;
}

/* Vectors of 32-bit Arm take subnormal floats for 0, and so have scalars to do, which are compared
 * with them to the bit. */
static void flush_subnormals(void) {
#ifdef __arm__
    enum { FLUSH = 1 << 24 };
    uint32_t modes;
    __asm__ volatile("vmrs %0, fpscr" : "=r"(modes));
    __asm__ volatile("vmsr fpscr, %0" : : "r"(modes | FLUSH));
#endif
}

int walk_levels(level_fn *at) {
    walk w = {.scalar = at(0)};
    if (!make_rooms(&w)) {
        fprintf(stderr, "walk: there is no memory between guarded pages\n");
        return 2;
    }
    flush_subnormals();
    for (int32_t level = 0; (w.simd = at(level)); level++) {
        printf("%s:", w.simd->level);
        for (int i = 0; i < ROWS; i++) {
            if (is_compared(at, level, &rows[i])) continue;
            w.primitive = rows[i].name;
            w.state = 1;
            w.cases = 0;
            rows[i].run(&w);
            printf(" %s", rows[i].name);
        }
        printf("\n");
        fflush(stdout);
    }
    return w.failures ? 1 : 0;
}
