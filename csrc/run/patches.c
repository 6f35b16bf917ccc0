/* patches.c -- runs a group of tiles: for each patch, all nodes of the group on parts of tensors.
 *
 * Everything but addresses was prepared with the plan. Whole tensors may lie elsewhere from run to
 * run (buffers of the caller, inputs), so the addresses of parts are found for each patch, which
 * is little beside its nodes. */
#include "run/patches.h"

#include <stdio.h>

#include "plan/patch.h"
#include "plan/tiled.h"
#include "run/watch.h"

typedef struct patch_run {
    ml_state *state;
    const ml_tiled_group *group;
    void *const *whole; /* by tensor of the frame */
    uint8_t *region;
    struct ml_frame_engine fe;
    ml_env env;
    int32_t row, column;
    void **data; /* by part; data[-1] is for absent ones */
} patch_run;

/* A rectangle of lines in memory. */
typedef struct lines {
    uint8_t *first;
    int64_t step; /* from line to line */
} lines;

static int64_t column_bytes(const patch_run *x, const ml_tile_part *part) {
    const ml_tensor *t = &x->env.tensors[part - x->group->parts];
    return (t->shape.rank == 4 ? t->shape.dims[3] : 1) * (int64_t)ml_type_bytes(t->type);
}

static const ml_tensor *whole_row(const patch_run *x, const ml_tile_part *part) {
    return ml_row_of(x->state->graph, x->fe.engine->rows, 0, part->tensor);
}

/* Returns the address of what is around a part, another part or the whole tensor, and its
 * rectangle. */
static uint8_t *around_of(const patch_run *x, const ml_tile_part *part, ml_rectangle *of) {
    if (part->around < 0) {
        *of = ml_patch_whole(whole_row(x, part));
        return x->whole[part->tensor];
    }
    *of = ml_part_of(&x->group->parts[part->around], x->row, x->column);
    return x->data[part->around];
}

/* The lines of a part in the memory around it, image by image. */
static lines lines_in(const patch_run *x, const ml_tile_part *part, uint8_t *base,
                      const ml_rectangle *around, int32_t image) {
    const ml_rectangle of = ml_part_of(part, x->row, x->column);
    const int64_t column = column_bytes(x, part),
                  step = (around->side[1].end - (int64_t)around->side[1].first) * column,
                  height = around->side[0].end - (int64_t)around->side[0].first;
    return (lines){base + image * height * step +
                       (of.side[0].first - (int64_t)around->side[0].first) * step +
                       (of.side[1].first - (int64_t)around->side[1].first) * column,
                   step};
}

/* Copies a part from the memory around it, or `out` to there. */
static void copy_part(const patch_run *x, const ml_tile_part *part, bool out) {
    ml_rectangle around;
    uint8_t *base = around_of(x, part, &around), *own = x->data[part - x->group->parts];
    const ml_rectangle of = ml_part_of(part, x->row, x->column);
    const int64_t bytes = (of.side[1].end - (int64_t)of.side[1].first) * column_bytes(x, part);
    const int32_t images = x->env.tensors[part - x->group->parts].shape.dims[0];
    for (int32_t image = 0; image < images; image++) {
        const lines there = lines_in(x, part, base, &around, image);
        for (int32_t row = 0; row < of.side[0].end - of.side[0].first; row++, own += bytes) {
            uint8_t *line = there.first + row * there.step;
            memcpy(out ? line : own, out ? own : line, (size_t)bytes);
        }
    }
}

/* Parts come after those around them. */
static void find_addresses(patch_run *x) {
    for (int32_t p = 0; p < x->group->n_parts; p++) {
        const ml_tile_part *part = &x->group->parts[p];
        ml_rectangle around;
        void *at = x->whole[part->tensor];
        if (part->kind == ML_PART_PIECE) {
            uint8_t *base = around_of(x, part, &around);
            at = lines_in(x, part, base, &around, 0).first;
        } else if (part->kind != ML_PART_WHOLE) {
            at = x->region + part->offset;
        }
        x->data[p] = at;
    }
}

/* Copies a part if the node is the first to read it. */
static void copy_for(const patch_run *x, int32_t part, int32_t number) {
    const ml_tile_part *of = part < 0 ? NULL : &x->group->parts[part];
    if (of && of->kind == ML_PART_COPIED && of->reader == number) copy_part(x, of, false);
}

/* Copies what the node is the first to read; what is around a part comes before it. */
static void copy_inputs(const patch_run *x, const int32_t *inputs, int32_t count, int32_t number) {
    for (int32_t i = 0; i < count; i++) {
        if (inputs[i] >= 0) copy_for(x, x->group->parts[inputs[i]].around, number);
        copy_for(x, inputs[i], number);
    }
}

static ml_status run_node(patch_run *x, const ml_geometry *geometry, int32_t number) {
    const ml_tiled_node *of = &x->group->nodes[number];
    const ml_tiled_call *with = &geometry->calls[number];
    const ml_node *node = &x->fe.nodes[of->node];
    const int32_t *operands = x->group->operands + of->first_operand;
    copy_inputs(x, operands, of->n_inputs, number);
    const ml_call call = {.params = with->params,
                          .blob = with->blob,
                          .derived = node->derived,
                          .packed = with->packed,
                          .scratch = of->scratch < 0 ? x->state->work : x->region + of->scratch,
                          .inputs = operands,
                          .env = &x->env,
                          .n_inputs = (uint16_t)of->n_inputs,
                          .n_outputs = 1,
                          .node = (uint32_t)of->node & (ML_MOST_NODES - 1),
                          .ticks = (uint8_t)with->ticks};
    ml_status status = ml_check_interrupt(x->state, with->ticks);
    if (status == ML_OK) status = node->typed->eval(&call);
    if (status != ML_OK) return ml_blame(&call, status);
    if (of->leaves) copy_part(x, &x->group->parts[operands[of->n_inputs]], true);
    return ML_OK;
}

static ml_status run_patch(patch_run *x) {
    const ml_tiled_group *g = x->group;
    ml_state *s = x->state;
    const ml_geometry *geometry =
        g->geometries[g->geometry_of[x->row * g->range.columns + x->column]];
    x->env.tensors = geometry->tensors;
    find_addresses(x);
    int64_t from = s->timing ? ml_timed_now(s->timing) : 0;
    for (int32_t number = 0; number < g->n_nodes; number++) {
        const ml_work_time shared = s->shared;
        const ml_call named = {.node = (uint32_t)g->nodes[number].node & (ML_MOST_NODES - 1)};
        const ml_status status = run_node(x, geometry, number);
        if (s->timing) from = ml_note_time(s, 0, &named, from, shared);
        if (status != ML_OK) return status;
    }
    return ML_OK;
}

/* Adds the patch to the text of an error. */
static void name_patch(const patch_run *x) {
    const ml_tile_group *range = &x->group->range;
    ml_error *error = &x->state->error;
    const size_t length = strlen(error->text);
    snprintf(error->text + length, sizeof error->text - length, " (patch %d of %d)",
             x->row * range->columns + x->column + 1, range->rows * range->columns);
}

ml_status ml_run_patches(const ml_call *call) {
    const struct ml_frame_engine *fe = call->env->engine;
    const ml_tiled *tiled = fe->engine->residence->plan->tiled;
    void *data[ML_TILE_PARTS + 1]; /* each patch fills in its parts */
    data[0] = NULL;
    patch_run x = {.state = fe->engine->state,
                   .group = ml_tiled_at(tiled, (int32_t)call->node),
                   .whole = call->env->data,
                   .region = call->scratch,
                   .fe = *fe,
                   .env = *call->env,
                   .data = data + 1};
    x.fe.numbers = x.group->numbers;
    x.fe.data = x.data;
    x.env.engine = &x.fe;
    x.env.slots = tiled->slots;
    x.env.data = x.data;
    ml_status status = ML_OK;
    for (x.row = 0; x.row < x.group->range.rows && status == ML_OK; x.row++)
        for (x.column = 0; x.column < x.group->range.columns && status == ML_OK; x.column++) {
            status = run_patch(&x);
            if (status != ML_OK && status != ML_CANCELLED) name_patch(&x);
        }
    return status;
}
