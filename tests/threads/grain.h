/* grain.h -- how work is cut into blocks: a part of pool_test.c. */
#ifndef ML_TEST_GRAIN_H
#define ML_TEST_GRAIN_H

#include "board.h"
#include "rules/work.h"

/* Work of a few us makes two blocks; more work a number that four threads share evenly, as far as
 * its items allow; much work blocks of a given size. */
static void test_grain(void) {
    const int64_t few = ML_LEAST_PRODUCTS / 100;
    CHECK(ml_work_grain(0, few) == 1 && ml_work_grain(-1, few) == 1 && ml_work_grain(5, 0) == 5);
    CHECK(ml_work_grain(100, few) == 100);
    CHECK(ml_work_grain(200, few) == 100);
    for (int64_t items = 400; items < 8000; items += 100) {
        const int64_t grain = ml_work_grain(items, few), blocks = (items + grain - 1) / grain;
        CHECK(blocks % 4 == 0 || grain * 4 > items / 8);
        CHECK(blocks <= ML_ENOUGH_BLOCKS + 4 && blocks * grain - items < blocks);
    }
    CHECK(ml_work_grain(1 << 20, ML_MOST_PRODUCTS / 16) == 16);
    CHECK(ml_work_grain(10, ML_MOST_PRODUCTS) == 1 && ml_work_grain(10, INT64_MAX) == 1);
    /* Few items: neither of two threads gets much more than half. */
    for (int64_t items = 4; items < 500; items++) {
        const int64_t grain = ml_work_grain(items, ML_LEAST_PRODUCTS);
        CHECK(2 * ml_items_of_busier(items, grain) - items <= 1 + items / 16);
    }
    CHECK(ml_work_grain(33, ML_LEAST_PRODUCTS) == 3 && ml_work_grain(17, ML_LEAST_PRODUCTS) == 1);
    const int64_t ratio = ML_MOST_PRODUCTS / ML_LEAST_PRODUCTS;
    const int64_t huge = ml_work_grain(INT64_MAX, ML_LEAST_PRODUCTS);
    CHECK(huge == ratio || huge == ratio + 1);
}

/* Blocks have at most the given size. If there are few, two threads get the same number of them.
 * They are whole lines if the size is. */
static void test_even_grain(void) {
    CHECK(ml_even_grain(0, 8) == 8 && ml_even_grain(8, 8) == 8 && ml_even_grain(1000, 1) == 1);
    CHECK(ml_even_grain(9, 8) == 6 && ml_even_grain(9, 9) == 9 && ml_even_grain(10, 9) == 5);
    CHECK(ml_even_grain(33000, 32768) == 16512 && ml_even_grain(70000, 32768) == 17536);
    CHECK(ml_even_grain(INT64_MAX, 32768) == 32768);
    for (int64_t items = 1; items < 8192; items++) {
        const int64_t grain = ml_even_grain(items, 1024), blocks = (items + grain - 1) / grain;
        CHECK(grain <= 1024 && grain % 64 == 0 && (blocks == 1 || blocks % 2 == 0));
    }
}

#endif
