/* index.h -- what the parts of the indexer share: the file being read, the memory of its rows. */
#ifndef ML_FORMAT_INDEX_H
#define ML_FORMAT_INDEX_H

#include "format/flatbuffer.h"

/* Rows and copies may take this many bytes, so many a byte of the file and some: small files have
 * large rows, and parts may be shared, but not without bound. */
#define ML_ROWS_PER_BYTE INT64_C(16)
#define ML_ROWS_ANYWAY (INT64_C(1) << 20)
/* The most dimensions a tensor may have: what every numpy can hold. */
enum { ML_MOST_DIMENSIONS = 32 };

typedef struct ml_index {
    ml_reader reader;
    ml_file *file;
    ml_operator_row *operators;
    ml_buffer_row *buffers;
    int64_t taken; /* bytes of rows and copies */
    int64_t n_tensors; /* of the subgraph being read */
    const ml_slot_value *defaults[ML_TABLES]; /* of the options tables that some node left out */
} ml_index;

/* Memory that goes with the file, for `count` things of `each` bytes, aligned to 16; NULL when
 * there is no room, and then the caller's status is no_room's. */
void *ml_index_take(ml_index *x, int64_t count, size_t each);
ml_status ml_index_no_room(ml_index *x);
void ml_index_give_back(ml_file *file);

ml_status ml_index_tensor(ml_index *x, int64_t at, ml_tensor_row *row);

#endif
