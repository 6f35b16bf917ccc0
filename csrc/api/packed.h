/* packed.h -- packed weights in a file, which processes share.
 *
 * A file is a head, then n_rows times ml_packed_row in ascending order of key, the path of the
 * model as text, and the weights, in numbers as the machine has them. It is checked before
 * anything is read from it: what a row says lies within the file. Who damages the weights changes
 * what is computed with them, never an address. */

typedef struct ml_packed_head {
    char mark[8];
    uint64_t build; /* of the core: a file of another one serves nobody */
    uint64_t structure; /* ml_file_structure of the model */
    int64_t model_bytes;
    int64_t modified; /* the model's time of modification, in nanoseconds */
    int64_t bytes; /* of this file */
    int64_t n_rows;
    int64_t path_bytes;
    uint64_t checksum; /* of the head, with 0 here, the rows and the path */
    uint64_t reserved[7];
} ml_packed_head;

typedef struct ml_packed_row {
    uint64_t key; /* a hash of the operand, its shape, the kernel, the layout and the level */
    int64_t at; /* in the file, a multiple of 64 */
    int64_t bytes;
    uint64_t checksum; /* of the bytes */
} ml_packed_row;

/* A hash of the sources from which the core was built. */
uint64_t ml_packed_build(void);
/* The number by which this build names the file of a model at that path. */
uint64_t ml_packed_name(const char *path, int64_t path_bytes);
/* Checks a file in memory, at a multiple of 8; with `all`, every byte of the weights too.
 * ML_GRAPH_ERROR with the first fault. A file of another build is none. */
ml_status ml_packed_check(const void *data, int64_t bytes, int32_t all, ml_error *error);
/* A hash of the file's tables: of all but names, and values of constants that are not copied. */
uint64_t ml_file_structure(const ml_file *file);

/* Lets the store's weights be in a file: those of a model of so many bytes, modified then. Once,
 * before the calls below. `file` is the one whose constants the graphs of the store have. */
void ml_store_keep(ml_store *store, const ml_file *file, int64_t model_bytes, int64_t modified);
/* Takes the weights of a file, instead of packing: maps the file, or copies `data` if that is not
 * NULL. ML_GRAPH_ERROR if it is none, or one of another model or build, ML_ARENA_ERROR if it cannot
 * be mapped or memory is short; nothing has changed then. */
ml_status ml_store_take(ml_store *store, int32_t descriptor, const void *data, int64_t bytes,
                        ml_error *error);
/* Lets weights that were packed here, and are the same in a file, lie in its memory, which
 * processes share; pointers to them stay valid. Errors as above. ml_store_take does the same. */
ml_status ml_store_share(ml_store *store, int32_t descriptor, int64_t bytes, ml_error *error);
/* The share of ml_store_bytes that lies in files. */
int64_t ml_store_mapped_bytes(ml_store *store);
/* Bytes of packed weights that could be in a file, and are in none that was taken or listed. */
int64_t ml_graph_unkept_bytes(const ml_graph *graph);

/* A file as the pieces to write one after the other. They lie in the graph, its store, and the
 * image. */
typedef struct ml_packed_piece {
    const void *data;
    int64_t bytes;
    int64_t at; /* in the file */
    int64_t zeros; /* that come after it */
} ml_packed_piece;
typedef struct ml_packed_image {
    ml_packed_piece *pieces;
    int64_t n_pieces;
    void *head; /* memory of the first piece */
} ml_packed_image;
/* Lists all weights that the graph and its store have packed, or taken. ML_ARENA_ERROR. */
ml_status ml_graph_packed_image(const ml_graph *graph, const char *path, int64_t path_bytes,
                                ml_packed_image *image, ml_error *error);
/* Has no effect on an empty one. */
void ml_packed_image_free(ml_packed_image *image);
