/* index.h -- shared by the parts of the indexer: the file being read and the memory of its rows. */
#ifndef ML_FORMAT_INDEX_H
#define ML_FORMAT_INDEX_H

#include "format/flatbuffer.h"

/* Limit on the memory of rows and copies: this many bytes per byte of the file, plus a constant.
 * Rows of small files are larger than their tables, and tables may be shared and count each
 * time. */
#define ML_ROWS_PER_BYTE INT64_C(16)
#define ML_ROWS_ANYWAY (INT64_C(1) << 20)
/* The most dimensions of a tensor: all versions of numpy support this many. */
enum { ML_MOST_DIMENSIONS = 32 };

typedef struct ml_index {
    ml_reader reader;
    ml_file *file;
    ml_operator_row *operators;
    ml_buffer_row *buffers;
    int64_t taken; /* bytes of rows and copies */
    int64_t n_tensors; /* of the subgraph being read */
    const ml_slot_value *defaults[ML_TABLES]; /* options that some node left out, by table */
} ml_index;

/* Memory that is freed with the file, for `count` objects of `each` bytes, aligned to 16. NULL when
 * memory is missing; the caller then returns ml_index_no_room(). */
void *ml_index_take(ml_index *x, int64_t count, size_t each);
ml_status ml_index_no_room(ml_index *x);
void ml_index_give_back(ml_file *file);

ml_status ml_index_tensor(ml_index *x, int64_t at, ml_tensor_row *row);
/* Makes constants of the subgraph's tensors without elements that nothing computes; called after
 * its inputs and nodes are known. Some converters write such constants, for example the shape of a
 * scalar, without values. */
ml_status ml_index_empty_constants(ml_index *x, const ml_subgraph_row *sub, ml_tensor_row *tensors);

#endif
