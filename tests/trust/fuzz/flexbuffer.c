/* flexbuffer.c -- fuzzes the options of custom operators: opens the input, reads each of its values
 * by its key. */
#include "format/flexbuffer.h"

#include <string.h>

#include "use.h"

static double sum; /* so that reading is not left out */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    ml_flex_map map;
    ml_flex_value value, element;
    if (!ml_flex_open(data, (int64_t)bytes, &map)) return 0;
    for (int64_t i = 0; i < map.count; i++) {
        const char *key = ml_flex_key(&map, i);
        sum += (double)strlen(key);
        if (!ml_flex_find(&map, key, &value)) continue;
        sum += value.real + (double)value.integer;
        for (int64_t k = 0; value.kind == ML_FLEX_STRING && k < value.count; k++)
            sum += data[value.at + k];
        for (int64_t k = 0; value.kind == ML_FLEX_NUMBERS && k < value.count; k++) {
            ml_flex_number(&map, &value, k, &element);
            sum += element.real;
        }
    }
    return 0;
}
