/* tiled.c -- frees the tile groups of a plan, and notes in its rows what they change. */
#include "plan/tiled.h"

#include <stdlib.h>

void ml_tiled_free(ml_tiled *t) {
    if (!t) return;
    for (int32_t i = 0; i < t->n_groups; i++) {
        ml_tiled_group *g = &t->groups[i];
        for (int32_t k = 0; k < g->n_geometries; k++) free(g->geometries[k]);
        free(g->parts);
        free(g->numbers);
        free(g->nodes);
        free(g->operands);
    }
    free((void *)(uintptr_t)t->io.nodes);
    free(t->slots ? t->slots - 1 : NULL);
    free(t->groups);
    free(t);
}

void ml_tiled_note(const ml_tiled *tiled, const ml_graph *graph, ml_rows *rows) {
    const ml_subgraph *sub = ml_frame_subgraph(graph, 0);
    for (int32_t i = 0; i < tiled->n_groups; i++) {
        const ml_tiled_group *g = &tiled->groups[i];
        for (int32_t m = 0; m < g->n_nodes; m++) {
            const ml_tiled_node *node = &g->nodes[m];
            ml_node_plan *row = &rows->nodes[node->node];
            const ml_tile_part *out = &g->parts[g->operands[node->first_operand + node->n_inputs]];
            row->status = ML_NODE_IN_PATCHES;
            row->scratch_blocks = row->reserved_blocks = 0;
            row->scratch_block = -1;
            if (out->kind == ML_PART_MADE && !node->leaves)
                rows->tensors[sub->slots[out->tensor]].storage = ML_STORAGE_NONE;
        }
        ml_node_plan *last = &rows->nodes[g->range.last];
        last->status = ML_NODE_RUNS_PATCHES;
        last->scratch_blocks = (uint32_t)(g->region_bytes / ML_ALIGNMENT);
    }
}
