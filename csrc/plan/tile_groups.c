/* tile_groups.c -- makes tile groups: parts of tensors, geometries of patches, places in a region.
 *
 * The walk of the search says what each patch needs. Here that becomes parts, from the first node
 * on; the kernels are prepared for the shapes of each geometry; and records are placed by the same
 * planner as tensors, in a small graph of the group's own. */
#include "plan/tile_groups.h"

#include <stdlib.h>

#include "plan/layout.h"
#include "plan/sweep.h"
#include "plan/tile_walk.h"

/* Parts ---------------------------------------------------------------------------------------- */

/* A group while it is made. */
typedef struct making {
    ml_plan *plan;
    ml_tile_walk *walk;
    ml_tiled_group *group;
    int32_t *part_of; /* by need of the walk */
    ml_error *error;
} making;

static void *take(ml_tiled_group *group, int64_t count, size_t size) {
    const int64_t bytes = (count + 1) * (int64_t)size;
    group->block_bytes += bytes;
    return calloc((size_t)count + 1, size);
}

static int32_t add_part(making *x, const ml_tile_part *part) {
    ml_tiled_group *g = x->group;
    g->parts[g->n_parts] = *part;
    g->numbers[g->n_parts] = part->tensor;
    return g->n_parts++;
}

static void set_rectangles(const making *x, ml_tile_part *part, const ml_rectangle *of) {
    for (int32_t k = 0; k < x->walk->patches; k++) part->of[k] = of[k];
}

static int32_t whole_part(making *x, int32_t tensor) {
    ml_tile_part part = {.tensor = tensor, .around = -1, .kind = ML_PART_WHOLE};
    for (int32_t i = 0; i < x->group->n_parts; i++)
        if (x->group->parts[i].tensor == tensor && x->group->parts[i].kind == ML_PART_WHOLE)
            return i;
    const ml_rectangle whole = ml_patch_whole(ml_tile_tensor(x->walk->facts, tensor));
    for (int32_t k = 0; k < x->walk->patches; k++) part.of[k] = whole;
    return add_part(x, &part);
}

/* The part of a tensor that several nodes may need parts of. `reader`: who reads it first, if it
 * comes from outside. */
static int32_t part_of_need(making *x, int32_t at, int32_t reader) {
    const ml_tile_tensor_need *need = &x->walk->needs[at];
    if (x->part_of[at] >= 0) return x->part_of[at];
    const bool outside = need->made < 0;
    ml_tile_part part = {.tensor = need->tensor, .around = -1, .reader = reader};
    part.kind = need->is_piece && (outside || need->is_output) ? ML_PART_PIECE
                : outside                                      ? ML_PART_COPIED
                                                               : ML_PART_MADE;
    part.bytes = need->bytes;
    set_rectangles(x, &part, need->part);
    return x->part_of[at] = add_part(x, &part);
}

/* The part that one input of a node needs, which may be less than its nodes need together. */
static int32_t part_of_input(making *x, const ml_tile_member *m, int32_t i, int32_t reader) {
    const ml_tile_walk *w = x->walk;
    const int32_t at = m->inputs[i], around = part_of_need(x, at, reader);
    const ml_tile_tensor_need *need = &w->needs[at];
    if (ml_tile_same(w, m->in[i], need->part)) return around;
    ml_tile_part part = {.tensor = need->tensor, .around = around, .reader = reader};
    part.kind =
        ml_tile_is_piece(w, need->tensor, m->in[i], need->part) ? ML_PART_PIECE : ML_PART_COPIED;
    part.bytes = ml_tile_bytes(w, need->tensor, m->in[i]);
    set_rectangles(x, &part, m->in[i]);
    return add_part(x, &part);
}

static void add_node(making *x, const ml_tile_member *m) {
    ml_tiled_group *g = x->group;
    const ml_node_io *io = x->walk->facts->sub->nodes[m->node].io;
    const ml_tile_tensor_need *y = &x->walk->needs[m->output];
    const int32_t number = g->n_nodes++;
    ml_tiled_node *node = &g->nodes[number];
    *node = (ml_tiled_node){.node = m->node,
                            .first_operand = g->n_operands,
                            .n_inputs = io->n_inputs,
                            .leaves = y->is_output && !y->is_piece,
                            .scratch = -1};
    int32_t *operands = g->operands + g->n_operands;
    for (int32_t i = 0; i < io->n_inputs; i++)
        operands[i] = io->inputs[i] < 0   ? -1
                      : m->inputs[i] >= 0 ? part_of_input(x, m, i, number)
                                          : whole_part(x, io->inputs[i]);
    operands[io->n_inputs] = part_of_need(x, m->output, -1);
    g->n_operands += io->n_inputs + 1;
}

/* Geometries ----------------------------------------------------------------------------------- */

/* The row of a part: that of its tensor, with other rows and columns. */
static ml_tensor row_of(const making *x, const ml_tile_part *part, int32_t row, int32_t column) {
    ml_tensor t = *ml_tile_tensor(x->walk->facts, part->tensor);
    const ml_rectangle of = ml_part_of(part, row, column), whole = ml_patch_whole(&t);
    if (part->kind == ML_PART_WHOLE || ml_patch_same(&of, &whole)) return t;
    for (int i = 0; i < 2; i++) t.shape.dims[i + 1] = of.side[i].end - of.side[i].first;
    t.bytes = ml_bytes_of(ml_elements(&t.shape), t.type);
    t.known = NULL;
    return t;
}

static int64_t params_room(const ml_node *node) {
    return ml_round_up(node->kernel->params_bytes + (int64_t)node->kernel->blob_bytes, 16) + 16;
}

/* A geometry with its tensors and parameters, not prepared. NULL without memory. */
static ml_geometry *new_geometry(const making *x) {
    const ml_tiled_group *g = x->group;
    int64_t bytes = (int64_t)sizeof(ml_geometry) + 64 + g->n_parts * (int64_t)sizeof(ml_tensor) +
                    g->n_nodes * (int64_t)sizeof(ml_tiled_call);
    const int64_t tables = bytes;
    const ml_node *nodes = x->walk->facts->sub->nodes;
    for (int32_t m = 0; m < g->n_nodes; m++) bytes += params_room(&nodes[g->nodes[m].node]);
    ml_geometry *made = calloc(1, (size_t)bytes);
    if (!made) return NULL;
    made->tensors = (ml_tensor *)(void *)(made + 1);
    made->calls = (ml_tiled_call *)(void *)(made->tensors + g->n_parts);
    uint8_t *at = (uint8_t *)made + (tables & ~(int64_t)15);
    for (int32_t m = 0; m < g->n_nodes; m++) {
        const ml_node *node = &nodes[g->nodes[m].node];
        made->calls[m].params = at;
        made->calls[m].blob = at + ml_round_up(node->kernel->params_bytes, 16);
        at += params_room(node);
    }
    x->group->block_bytes += bytes;
    return made;
}

/* Sets shapes and parameters for a patch; false if a kernel asks for other parts than before. */
static bool describe_patch(const making *x, ml_geometry *made, int32_t row, int32_t column) {
    const ml_tile_walk *w = x->walk;
    const ml_tiled_group *g = x->group;
    for (int32_t p = 0; p < g->n_parts; p++)
        made->tensors[p] = row_of(x, &g->parts[p], row, column);
    for (int32_t m = 0; m < g->n_nodes; m++) {
        const ml_tiled_node *node = &g->nodes[m];
        const ml_call c = ml_call_of(&w->engine, &w->env, node->node);
        const int32_t *operands = g->operands + node->first_operand;
        ml_rectangle in[ML_TILE_OPERANDS];
        const ml_rectangle wanted = ml_part_of(&g->parts[operands[node->n_inputs]], row, column);
        ml_rectangle out = wanted;
        if (!ml_patch_needs(&c, &out, in, (void *)(uintptr_t)made->calls[m].params) ||
            !ml_patch_same(&out, &wanted))
            return false;
        for (int32_t i = 0; i < node->n_inputs; i++) {
            const ml_rectangle has =
                operands[i] < 0 ? in[i] : ml_part_of(&g->parts[operands[i]], row, column);
            if (!ml_patch_same(&has, &in[i])) return false;
        }
    }
    return true;
}

static bool same_geometry(const making *x, const ml_geometry *a, const ml_geometry *b) {
    const ml_tiled_group *g = x->group;
    const ml_node *nodes = x->walk->facts->sub->nodes;
    for (int32_t p = 0; p < g->n_parts; p++)
        if (!ml_same_shape(&a->tensors[p].shape, &b->tensors[p].shape)) return false;
    for (int32_t m = 0; m < g->n_nodes; m++) {
        const int32_t bytes = nodes[g->nodes[m].node].kernel->params_bytes;
        if (bytes > 0 && memcmp(a->calls[m].params, b->calls[m].params, (size_t)bytes) != 0)
            return false;
    }
    return true;
}

/* The engine with which the nodes of a geometry are prepared: packed weights go to `packed`, and
 * parts are the tensors. */
typedef struct preparing {
    ml_rows rows;
    ml_engine engine;
    struct ml_frame_engine fe;
    ml_env env;
} preparing;

static void begin_preparing(preparing *p, const making *x, const ml_tiled *tiled, ml_geometry *of,
                            ml_packed *packed, ml_counters *counters) {
    p->rows = x->plan->rows;
    p->rows.packed = packed;
    p->engine = x->walk->engine;
    p->engine.error = x->error;
    p->engine.counters = counters;
    p->engine.rows = &p->rows;
    p->fe = x->walk->fe;
    p->fe.engine = &p->engine;
    p->fe.numbers = x->group->numbers;
    p->env = x->walk->env;
    p->env.slots = tiled->slots;
    p->env.tensors = of->tensors;
    p->env.error = x->error;
    p->env.engine = &p->fe;
}

static ml_status prepare_node(preparing *p, const making *x, const ml_geometry *of, int32_t number,
                              int64_t *scratch) {
    const ml_tiled_node *node = &x->group->nodes[number];
    const int32_t *operands = x->group->operands + node->first_operand;
    ml_call c = ml_call_of(&p->engine, &p->env, node->node);
    c.params = of->calls[number].params;
    c.blob = of->calls[number].blob;
    c.inputs = operands;
    const ml_shape wanted = ml_output(&c, 0)->shape;
    ml_node_plan row = {.scratch_block = -1};
    ml_wish wish;
    ml_status status = ml_prepare_call(&p->engine, &c, &row, &wish);
    if (status != ML_OK) return status;
    if (wish.open || !ml_same_shape(&wanted, &ml_output(&c, 0)->shape))
        return ml_blame(&c, ml_fail(&c, ML_KERNEL_ERROR,
                                    "prepared for a patch it has another output than its window "
                                    "says"));
    const ml_packed *packed = ml_packed_of(x->plan->graph, &p->rows, 0, node->node);
    of->calls[number].packed = packed ? packed->weights : NULL;
    of->calls[number].ticks = x->plan->rows.nodes[node->node].ticks;
    *scratch = ml_max_s64(*scratch, ml_scratch_bytes(&row));
    return ML_OK;
}

/* `scratch`, by node, becomes the most that any geometry needs. */
static ml_status prepare_geometry(const making *x, const ml_tiled *tiled, ml_geometry *of,
                                  ml_packed *packed, int64_t *scratch) {
    preparing p;
    ml_counters uncounted = {0};
    begin_preparing(&p, x, tiled, of, packed, &uncounted);
    ml_status status = ML_OK;
    for (int32_t m = 0; m < x->group->n_nodes && status == ML_OK; m++)
        status = prepare_node(&p, x, of, m, &scratch[m]);
    x->plan->rows.worker_bytes = ml_max_s64(x->plan->rows.worker_bytes, p.rows.worker_bytes);
    return status;
}

/* Gives each patch its geometry; *fits is false if there is one that cannot be run. */
static ml_status find_geometries(const making *x, const ml_tiled *tiled, ml_packed *packed,
                                 int64_t *scratch, bool *fits) {
    ml_tiled_group *g = x->group;
    ml_status status = ML_OK;
    const int32_t columns = g->range.columns, count = g->range.rows * columns;
    *fits = true;
    for (int32_t patch = 0; patch < count && *fits && status == ML_OK; patch++) {
        ml_geometry *made = new_geometry(x);
        if (!made) return ml_error_refused(x->error, "tiles");
        g->geometries[g->n_geometries] = made; /* freed with the group, or here */
        *fits = describe_patch(x, made, patch / columns, patch % columns);
        int32_t same = 0;
        while (*fits && same < g->n_geometries && !same_geometry(x, made, g->geometries[same]))
            same++;
        g->geometry_of[patch] = (uint8_t)same;
        if (*fits && same == g->n_geometries) {
            g->n_geometries++;
            status = prepare_geometry(x, tiled, made, packed, scratch);
        } else {
            g->geometries[g->n_geometries] = NULL;
            free(made);
        }
    }
    return status;
}

/* Places --------------------------------------------------------------------------------------- */

/* The graph of records that the planner places: node m has the records that it reads and makes. */
typedef struct record_graph {
    ml_planner_graph graph;
    ml_node_io *nodes;
    int32_t *lists;
    int32_t count;
} record_graph;

/* The record in whose memory a part lies; -1: in that of a whole tensor. */
static int32_t record_of(const ml_tiled_group *g, int32_t part) {
    while (part >= 0 && g->parts[part].kind == ML_PART_PIECE) part = g->parts[part].around;
    return part < 0 || g->parts[part].kind == ML_PART_WHOLE ? -1 : part;
}

static bool is_copied_by(const ml_tiled_group *g, int32_t part, int32_t number) {
    return part >= 0 && g->parts[part].kind == ML_PART_COPIED && g->parts[part].reader == number;
}

/* True if the node may write its part over that of input `i`: they are the same rectangles. */
static bool may_write_over(const making *x, const ml_tiled_node *node, int32_t i) {
    const ml_tiled_group *g = x->group;
    const int32_t flags = x->walk->facts->sub->nodes[node->node].io->flags;
    const int32_t in = g->operands[node->first_operand + i],
                  out = g->operands[node->first_operand + node->n_inputs];
    if (!(flags & (ML_NODE_IN_PLACE << i)) || in < 0 || record_of(g, in) != in) return false;
    return g->parts[out].kind == ML_PART_MADE && g->parts[in].bytes == g->parts[out].bytes &&
           ml_tile_same(x->walk, g->parts[in].of, g->parts[out].of);
}

/* Lists the records of a node: outputs first its own, then those that are copied for it. */
static void list_records(const making *x, int32_t number, record_graph *to) {
    const ml_tiled_group *g = x->group;
    const ml_tiled_node *node = &g->nodes[number];
    const int32_t *operands = g->operands + node->first_operand;
    ml_node_io *io = &to->nodes[number];
    int32_t *inputs = to->lists + to->count;
    for (int32_t i = 0; i < node->n_inputs; i++) {
        inputs[i] = record_of(g, operands[i]);
        if (inputs[i] >= 0 && may_write_over(x, node, i)) io->flags |= ML_NODE_IN_PLACE << i;
    }
    int32_t n_inputs = node->n_inputs, n_outputs = 0;
    for (int32_t i = 0; i < node->n_inputs; i++) /* copies are read while others are made */
        if (is_copied_by(g, inputs[i], number) && g->parts[inputs[i]].around >= 0)
            inputs[n_inputs++] = record_of(g, g->parts[inputs[i]].around);
    int32_t *outputs = inputs + n_inputs;
    outputs[n_outputs++] = record_of(g, operands[node->n_inputs]);
    for (int32_t i = 0; i < n_inputs; i++)
        if (is_copied_by(g, inputs[i], number)) outputs[n_outputs++] = inputs[i];
    io->inputs = inputs;
    io->n_inputs = n_inputs;
    io->outputs = outputs;
    io->n_outputs = n_outputs;
    to->count += n_inputs + n_outputs;
}

static void take_offsets(const making *x, const ml_planner *planner) {
    ml_tiled_group *g = x->group;
    for (int32_t p = 0; p < g->n_parts; p++)
        g->parts[p].offset = planner->offset[planner->schedule.root[p]];
    for (int32_t m = 0; m < g->n_nodes; m++) g->nodes[m].scratch = planner->offset[g->n_parts + m];
}

static ml_status place_parts(const making *x, const record_graph *records, const int64_t *scratch) {
    ml_tiled_group *g = x->group;
    const int32_t options = (x->plan->options & (ML_SHARE_TFLITE | ML_SHARE_WIDE)) | ML_FREE_UNREAD;
    ml_planner *planner;
    ml_status status = ml_planner_new(&records->graph, ml_memory_strategy_name(x->plan->strategy),
                                      options, ML_ALIGNMENT, &planner, x->error);
    if (status != ML_OK) return status;
    for (int32_t p = 0; p < g->n_parts; p++) {
        const bool has = record_of(g, p) == p;
        planner->usage.bytes[p] = has ? g->parts[p].bytes : 0;
        planner->usage.memory[p] = has ? ML_MEMORY_ARENA : ML_MEMORY_NONE;
    }
    for (int32_t m = 0; m < g->n_nodes; m++) {
        const bool has = scratch[m] > ML_WORK_BYTES;
        planner->usage.bytes[g->n_parts + m] = has ? scratch[m] : 0;
        planner->usage.memory[g->n_parts + m] = has ? ML_MEMORY_ARENA : ML_MEMORY_NONE;
    }
    ml_schedule_find(&planner->schedule, &planner->usage);
    status = ml_layout_nodes(planner, 0, g->n_nodes - 1, x->error);
    if (status == ML_OK) {
        take_offsets(x, planner);
        g->region_bytes = ml_planner_high_water(planner, ML_MEMORY_ARENA);
#ifdef ML_DEBUG
        g->region_bytes += ML_ALIGNMENT; /* for the guard of run/debug.c */
#endif
    }
    ml_planner_free(planner);
    return status;
}

static ml_status place_group(const making *x, const int64_t *scratch) {
    const ml_tiled_group *g = x->group;
    record_graph records = {.graph = {.n_nodes = g->n_nodes, .n_tensors = g->n_parts}};
    records.nodes = calloc((size_t)g->n_nodes + 1, sizeof *records.nodes);
    records.lists = calloc((size_t)(4 * g->n_operands) + 1, sizeof *records.lists);
    ml_status status = ML_OK;
    if (!records.nodes || !records.lists) status = ml_error_refused(x->error, "tiles");
    for (int32_t m = 0; m < g->n_nodes && status == ML_OK; m++) list_records(x, m, &records);
    records.graph.nodes = records.nodes;
    if (status == ML_OK) status = place_parts(x, &records, scratch);
    free(records.nodes);
    free(records.lists);
    return status;
}

/* Groups --------------------------------------------------------------------------------------- */

static bool walk_range(ml_tile_walk *walk, const ml_tile_group *range) {
    ml_tile_walk_begin(walk, range->last, (ml_tile_grid){{range->rows, range->columns}});
    for (int32_t n = range->last; n >= range->first; n--)
        if (!ml_tile_walk_add(walk, n)) return false;
    return walk->n_members > 0;
}

/* Makes the tables as large as the walk can make them: a part for each need, and one for each
 * operand that needs less. */
static bool take_tables(ml_tiled_group *g, const ml_tile_walk *walk) {
    int32_t operands = 0;
    for (int32_t m = 0; m < walk->n_members; m++)
        operands += walk->facts->sub->nodes[walk->members[m].node].io->n_inputs + 1;
    g->parts = take(g, walk->n_needs + operands, sizeof *g->parts);
    g->numbers = take(g, walk->n_needs + operands, sizeof *g->numbers);
    g->nodes = take(g, walk->n_members, sizeof *g->nodes);
    g->operands = take(g, operands, sizeof *g->operands);
    return g->parts && g->numbers && g->nodes && g->operands;
}

static ml_status make_group(making *x, const ml_tiled *tiled, bool *fits) {
    ml_tile_walk *walk = x->walk;
    ml_tiled_group *g = x->group;
    *fits = walk_range(walk, &g->range);
    if (!*fits) return ML_OK;
    int32_t part_of[ML_TILE_NODES * (ML_TILE_OPERANDS + 1)];
    int64_t scratch[ML_TILE_NODES] = {0};
    for (int32_t i = 0; i < walk->n_needs; i++) part_of[i] = -1;
    x->part_of = part_of;
    ml_packed *packed = calloc((size_t)x->plan->graph->total_packs + 1, sizeof *packed);
    if (!packed || !take_tables(g, walk)) {
        free(packed);
        return ml_error_refused(x->error, "tiles");
    }
    for (int32_t m = walk->n_members - 1; m >= 0; m--) add_node(x, &walk->members[m]);
    ml_status status = find_geometries(x, tiled, packed, scratch, fits);
    if (status == ML_OK && *fits) status = place_group(x, scratch);
    free(packed);
    return status;
}

static bool is_made_in(const ml_tiled_group *g, int32_t tensor) {
    for (int32_t m = 0; m < g->n_nodes; m++)
        if (g->numbers[g->operands[g->nodes[m].first_operand + g->nodes[m].n_inputs]] == tensor)
            return true;
    return false;
}

/* The whole tensors that a group reads, or writes, as its node lists them. */
static int32_t list_whole(const ml_tiled_group *g, bool written, int32_t *to) {
    int32_t count = 0;
    for (int32_t m = 0; m < g->n_nodes; m++) {
        const ml_tiled_node *node = &g->nodes[m];
        const int32_t *operands = g->operands + node->first_operand;
        const int32_t from = written ? node->n_inputs : 0, end = node->n_inputs + written;
        for (int32_t i = from; i < end; i++) {
            const ml_tile_part *part = operands[i] < 0 ? NULL : &g->parts[operands[i]];
            while (part && part->around >= 0) part = &g->parts[part->around];
            const bool exists = part && (written ? part->kind != ML_PART_MADE || node->leaves
                                                 : !is_made_in(g, part->tensor));
            if (exists) to[count++] = part->tensor;
        }
    }
    return count;
}

/* Copies the nodes of the main frame, those of a group as one. */
static ml_status make_io(ml_tiled *tiled, const ml_subgraph *sub, ml_error *error) {
    int64_t operands = 0;
    for (int32_t i = 0; i < tiled->n_groups; i++) operands += 2 * tiled->groups[i].n_operands;
    const int64_t bytes =
        sub->io.n_nodes * (int64_t)sizeof(ml_node_io) + (operands + 1) * (int64_t)sizeof(int32_t);
    ml_node_io *nodes = malloc((size_t)bytes);
    if (!nodes) return ml_error_memory(error, "tiles", bytes, 0);
    int32_t *lists = (int32_t *)(void *)(nodes + sub->io.n_nodes);
    memcpy(nodes, sub->io.nodes, (size_t)sub->io.n_nodes * sizeof *nodes);
    tiled->io = sub->io;
    tiled->io.nodes = nodes;
    tiled->bytes += bytes;
    for (int32_t i = 0; i < tiled->n_groups; i++) {
        const ml_tiled_group *g = &tiled->groups[i];
        for (int32_t m = 0; m < g->n_nodes; m++) nodes[g->nodes[m].node] = (ml_node_io){NULL};
        ml_node_io *io = &nodes[g->range.last];
        io->inputs = lists;
        io->n_inputs = list_whole(g, false, lists);
        io->outputs = lists += io->n_inputs;
        io->n_outputs = list_whole(g, true, lists);
        lists += io->n_outputs;
    }
    return ML_OK;
}

static ml_tiled *new_tiled(int32_t n_groups) {
    ml_tiled *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->groups = calloc((size_t)n_groups + 1, sizeof *t->groups);
    int32_t *slots = malloc((ML_TILE_PARTS + 1) * sizeof *slots);
    t->slots = slots ? slots + 1 : NULL;
    t->bytes = (int64_t)sizeof *t + n_groups * (int64_t)sizeof *t->groups +
               (ML_TILE_PARTS + 1) * (int64_t)sizeof *slots;
    for (int32_t i = -1; slots && i < ML_TILE_PARTS; i++) t->slots[i] = i;
    if (t->groups && slots) return t;
    ml_tiled_free(t);
    return NULL;
}

ml_status ml_tiled_new(ml_plan *plan, const ml_tiling *tiling, ml_tiled **tiled, ml_error *error) {
    ml_tile_facts facts;
    ml_tile_walk *walk;
    *tiled = NULL;
    ml_tiled *t = new_tiled(tiling->n_groups);
    if (!t) return ml_error_refused(error, "tiles");
    ml_status status = ml_tile_lives_find(plan, &facts, error);
    if (status == ML_OK && (status = ml_tile_walk_new(&facts, &walk, error)) != ML_OK)
        ml_tile_facts_free(&facts);
    if (status != ML_OK) {
        ml_tiled_free(t);
        return status;
    }
    bool fits = tiling->n_groups > 0;
    for (int32_t i = 0; i < tiling->n_groups && fits && status == ML_OK; i++) {
        making x = {.plan = plan, .walk = walk, .group = &t->groups[t->n_groups++], .error = error};
        x.group->range = tiling->groups[i];
        status = make_group(&x, t, &fits);
        t->bytes += x.group->block_bytes;
    }
    if (status == ML_OK && fits) status = make_io(t, facts.sub, error);
    ml_tile_walk_free(walk);
    ml_tile_facts_free(&facts);
    if (status == ML_OK && fits) *tiled = t;
    else ml_tiled_free(t);
    return status;
}
