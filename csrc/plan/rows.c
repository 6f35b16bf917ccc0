/* rows.c -- tables of rows in one block. */
#include "plan/rows.h"

/* The cache counts these bytes for a plan, and again for a residence with rows of its own. */
int64_t ml_rows_bytes(const ml_graph *g) {
    return g->total_slots * (int64_t)(sizeof(ml_tensor) + sizeof(ml_reserved)) +
           ml_round_up(g->total_nodes * (int64_t)sizeof(ml_node_plan), 8) +
           g->total_packs * (int64_t)sizeof(ml_packed) +
           g->n_frames * (int64_t)sizeof(ml_frame_plan) + g->blob_bytes;
}

ml_rows ml_rows_in(void *memory, const ml_graph *g) {
    ml_rows rows = {.frames = memory};
    rows.packed = (ml_packed *)(rows.frames + g->n_frames);
    rows.tensors = (ml_tensor *)(void *)(rows.packed + g->total_packs);
    rows.reserved = (ml_reserved *)(void *)(rows.tensors + g->total_slots);
    rows.blobs = (uint8_t *)(rows.reserved + g->total_slots);
    rows.nodes = (ml_node_plan *)(void *)(rows.blobs + g->blob_bytes);
    memset(rows.frames, 0, (size_t)((uint8_t *)rows.tensors - (uint8_t *)memory));
    return rows;
}

/* Both belong to the same graph, so all tables have the same lengths. */
void ml_rows_copy(ml_rows *to, const ml_rows *from, const ml_graph *g) {
    memcpy(to->frames, from->frames, (size_t)ml_rows_bytes(g));
    to->persistent_bytes = from->persistent_bytes;
    to->worker_bytes = from->worker_bytes;
}
