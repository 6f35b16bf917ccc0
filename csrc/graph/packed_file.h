/* packed_file.h -- a file of packed weights that a store has taken. */
#ifndef ML_GRAPH_PACKED_FILE_H
#define ML_GRAPH_PACKED_FILE_H

#include "api/minilite.h"

/* Weights of so many bytes begin at a page in files, and in memory that a file may replace. */
enum { ML_PACKED_LARGE = 1 << 16 };

/* Never changes after it was opened. */
typedef struct ml_packed_file {
    struct ml_packed_file *next;
    ml_mapping mapping; /* or a copy: */
    void *copy;
    const uint8_t *data;
    int64_t bytes;
    ml_packed_head head; /* as it was when it was checked */
} ml_packed_file;

/* Maps a file, or copies `data` if that is not NULL, and checks it; NULL with the error. */
ml_packed_file *ml_packed_file_open(int32_t descriptor, const void *data, int64_t bytes,
                                    ml_error *error);
/* The same model, and the same build. */
ml_status ml_packed_file_serves(const ml_packed_file *file, const ml_packed_head *wanted,
                                ml_error *error);
/* A copy of row `i`, of which the head says that it is there. False: somebody has changed it since,
 * so that it does not lie within the file. */
bool ml_packed_file_row(const ml_packed_file *file, int64_t i, ml_packed_row *row);
/* A copy of the row of that key; false: there is none. */
bool ml_packed_file_find(const ml_packed_file *file, uint64_t key, ml_packed_row *row);
void ml_packed_file_close(ml_packed_file *file);

/* Weights of a file that is to be written. */
typedef struct ml_packed_entry {
    uint64_t key;
    const void *data;
    int64_t bytes;
} ml_packed_entry;
/* Makes the image of a file of these entries, which it sorts; of equal keys, one is left. The head
 * says what the file is of. */
ml_status ml_packed_image_make(const ml_packed_head *of, const char *path, int64_t path_bytes,
                               ml_packed_entry *entries, int64_t n_entries, ml_packed_image *image,
                               ml_error *error);

#endif
