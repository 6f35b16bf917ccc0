/* pick.c -- copies elements of packed types and strings one by one. */
#include "rules/pick.h"

#include "rules/packed.h"
#include "rules/strings.h"
#include "rules/work.h"

ml_status ml_pick_elements(const ml_call *c, ml_pick *pick) {
    int64_t count = ml_elements(&ml_out_tensor(c, 0)->shape), i = 0, work = 0;
    if (ml_out_tensor(c, 0)->type == ML_STRING) return ml_pick_strings(c, 0, 0, count, pick);
    for (int64_t k = 0; k < count; k++) {
        ml_status status = pick(c, k, &i);
        if (status != ML_OK) return status;
        ml_append_nibbles(ml_out(c, 0), k, ml_in(c, 0), i, 1);
        status = ml_count_work(c, 1, &work);
        if (status != ML_OK) return status;
    }
    return ML_OK;
}
