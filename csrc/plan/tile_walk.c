/* tile_walk.c -- finds what patches of a range of nodes need, node by node, and the bytes that are
 * live while it runs. */
#include "plan/tile_walk.h"

#include <stdlib.h>

ml_status ml_tile_walk_new(const ml_tile_facts *f, ml_tile_walk **walk, ml_error *error) {
    const int32_t n_tensors = f->sub->io.n_tensors;
    int64_t params = 1;
    for (int32_t n = 0; n < f->n_nodes; n++)
        params = ml_max_s64(params, f->sub->nodes[n].kernel->params_bytes);
    const int64_t tables = n_tensors * (int64_t)sizeof(int32_t) + 16;
    ml_tile_walk *w = *walk = malloc(sizeof *w);
    char *block = malloc((size_t)(tables + params));
    if (!w || !block) {
        free(w);
        free(block);
        return ml_error_memory(error, "a search for tiles", tables + (int64_t)sizeof *w, 0);
    }
    w->facts = f;
    w->need_of = (int32_t *)(void *)block;
    w->params = block + ml_round_up(tables - 15, 16);
    w->n_needs = 0;
    for (int32_t t = 0; t < n_tensors; t++) w->need_of[t] = -1;
    w->quiet = (ml_error)ML_NO_ERROR;
    w->rows = f->plan->rows;
    w->engine = (ml_engine){.graph = f->plan->graph,
                            .core = &ml_planning_core,
                            .simd = f->plan->graph->simd,
                            .error = &w->quiet,
                            .rows = &w->rows};
    w->fe = (struct ml_frame_engine){.engine = &w->engine,
                                     .subgraph = f->plan->graph->frames[0].subgraph};
    w->env = ml_frame_env(&w->engine, &w->fe);
    return ML_OK;
}

void ml_tile_walk_free(ml_tile_walk *w) {
    free(w->need_of);
    free(w);
}

void ml_tile_walk_begin(ml_tile_walk *w, int32_t end, ml_tile_grid grid) {
    for (int32_t i = 0; i < w->n_needs; i++) w->need_of[w->needs[i].tensor] = -1;
    w->grid = grid;
    w->patches = grid.parts[0] > grid.parts[1] ? grid.parts[0] : grid.parts[1];
    w->end = end;
    w->n_members = w->n_needs = 0;
    w->outputs = 0;
    w->more = 0;
}

/* Needs ---------------------------------------------------------------------------------------- */

static ml_rectangle hull(ml_rectangle a, const ml_rectangle *b) {
    for (int i = 0; i < 2; i++) {
        if (b->side[i].first < a.side[i].first) a.side[i].first = b->side[i].first;
        if (b->side[i].end > a.side[i].end) a.side[i].end = b->side[i].end;
    }
    return a;
}

static int32_t side_of(const ml_tile_walk *w, int i, int32_t patch) {
    return patch < w->grid.parts[i] ? patch : w->grid.parts[i] - 1;
}

/* Divides both sides of an output of the range; false if it has fewer rows or columns than
 * parts. */
static bool divide(const ml_tile_walk *w, const ml_rectangle *whole, ml_rectangle *parts) {
    for (int i = 0; i < 2; i++) {
        const int64_t size = whole->side[i].end, count = w->grid.parts[i];
        if (size < count) return false;
        for (int32_t k = 0; k < w->patches; k++) {
            const int64_t at = side_of(w, i, k);
            parts[k].side[i] =
                (ml_side){(int32_t)(at * size / count), (int32_t)((at + 1) * size / count)};
        }
    }
    return true;
}

/* Asks the kernel for each patch; enlarged ones replace those in `out`. */
static bool ask(ml_tile_walk *w, const ml_call *c, ml_rectangle *out, ml_tile_member *m) {
    ml_rectangle in[ML_TILE_OPERANDS];
    for (int32_t k = 0; k < w->patches; k++) {
        if (!ml_patch_needs(c, &out[k], in, w->params)) return false;
        for (int i = 0; i < c->n_inputs; i++) m->in[i][k] = in[i];
    }
    return true;
}

/* Parts of an output end where the next begins, if the operator can only be cut at some places. */
static bool align(const ml_tile_walk *w, const ml_rectangle *whole, ml_rectangle *parts) {
    for (int i = 0; i < 2; i++)
        for (int32_t k = 0; k < w->patches; k++) {
            const int32_t at = side_of(w, i, k), next = at + 1;
            if (next == w->grid.parts[i]) parts[k].side[i].end = whole->side[i].end;
            else parts[k].side[i].end = parts[next].side[i].first;
            if (parts[k].side[i].first >= parts[k].side[i].end) return false;
        }
    return true;
}

int64_t ml_tile_bytes(const ml_tile_walk *w, int32_t tensor, const ml_rectangle *parts) {
    const ml_tensor *t = ml_tile_tensor(w->facts, tensor);
    int64_t most[2] = {0, 0};
    for (int i = 0; i < 2; i++)
        for (int32_t k = 0; k < w->patches; k++)
            most[i] = ml_max_s64(most[i], parts[k].side[i].end - (int64_t)parts[k].side[i].first);
    const int64_t depth = t->shape.rank == 4 ? t->shape.dims[3] : 1;
    const int64_t elements = t->shape.dims[0] * most[0] * most[1] * depth;
    return ml_round_up(ml_bytes_of(elements, t->type), ML_ALIGNMENT);
}

/* Rows of one image are a piece if they are as wide as those around them. */
bool ml_tile_is_piece(const ml_tile_walk *w, int32_t tensor, const ml_rectangle *parts,
                      const ml_rectangle *around) {
    bool wide = ml_tile_tensor(w->facts, tensor)->shape.dims[0] == 1;
    for (int32_t k = 0; k < w->patches; k++)
        wide &= memcmp(&parts[k].side[1], &around[k].side[1], sizeof(ml_side)) == 0;
    return wide;
}

static bool is_whole(const ml_tile_walk *w, int32_t tensor, const ml_rectangle *parts) {
    const ml_rectangle whole = ml_patch_whole(ml_tile_tensor(w->facts, tensor));
    bool all = true;
    for (int32_t k = 0; k < w->patches; k++) all &= ml_patch_same(&parts[k], &whole);
    return all;
}

/* Notes what follows from the parts of a need. */
static void measure(const ml_tile_walk *w, ml_tile_tensor_need *need) {
    ml_rectangle whole[ML_TILE_SIDE];
    for (int32_t k = 0; k < w->patches; k++)
        whole[k] = ml_patch_whole(ml_tile_tensor(w->facts, need->tensor));
    need->bytes = ml_tile_bytes(w, need->tensor, need->part);
    need->is_piece = is_whole(w, need->tensor, need->part) ||
                     ml_tile_is_piece(w, need->tensor, need->part, whole);
}

static ml_tile_tensor_need *touch(ml_tile_walk *w, int32_t tensor, const ml_rectangle *parts,
                                  int32_t reader) {
    int32_t *at = &w->need_of[tensor];
    const bool seen = *at >= 0;
    if (!seen) *at = w->n_needs++;
    ml_tile_tensor_need *need = &w->needs[*at];
    if (!seen) {
        need->tensor = tensor;
        need->made = -1;
        need->last = reader;
        need->is_output = false;
    }
    for (int32_t k = 0; k < w->patches; k++)
        need->part[k] = seen ? hull(need->part[k], &parts[k]) : parts[k];
    measure(w, need);
    return need;
}

/* The rectangles that a node has to compute; false if there are none. */
static bool parts_of(ml_tile_walk *w, const ml_call *c, int32_t y, bool is_output,
                     ml_rectangle *parts, ml_tile_member *m) {
    const int32_t at = w->need_of[y];
    if (!is_output) {
        if (at < 0) return false;
        memcpy(parts, w->needs[at].part, (size_t)w->patches * sizeof *parts);
        return true;
    }
    const ml_rectangle whole = ml_patch_whole(ml_tile_tensor(w->facts, y));
    if (!divide(w, &whole, parts) || !ask(w, c, parts, m) || !align(w, &whole, parts)) return false;
    for (int32_t k = 0; k < w->patches && at >= 0; k++)
        parts[k] = hull(parts[k], &w->needs[at].part[k]);
    return true;
}

/* The work of all parts of one side, the other side whole. */
static double work_along(const ml_tile_walk *w, const ml_tile_member *m, const ml_rectangle *parts,
                         int i) {
    const ml_node *node = &w->facts->sub->nodes[m->node];
    ml_shape inputs[ML_TILE_OPERANDS],
        output = ml_tile_tensor(w->facts, node->io->outputs[0])->shape;
    const ml_operand_shapes of = {inputs, node->io->n_inputs, &output};
    double work = 0;
    for (int32_t j = 0; j < node->io->n_inputs; j++) {
        const int32_t x = node->io->inputs[j];
        inputs[j] = x < 0 ? (ml_shape){0} : ml_tile_tensor(w->facts, x)->shape;
    }
    for (int32_t k = 0; k < w->grid.parts[i]; k++) {
        output.dims[i + 1] = parts[k].side[i].end - parts[k].side[i].first;
        for (int32_t j = 0; j < node->io->n_inputs; j++)
            if (m->inputs[j] >= 0 && inputs[j].rank > 2)
                inputs[j].dims[i + 1] = m->in[j][k].side[i].end - m->in[j][k].side[i].first;
        work += ml_tile_work(node, &of);
    }
    return work;
}

static void count_work(ml_tile_walk *w, const ml_tile_member *m, const ml_rectangle *parts) {
    const double whole = w->facts->work[m->node];
    if (whole <= 0) return;
    const double rows = w->grid.parts[0] > 1 ? work_along(w, m, parts, 0) / whole : 1;
    const double columns = w->grid.parts[1] > 1 ? work_along(w, m, parts, 1) / whole : 1;
    w->more += whole * (rows * columns - 1);
}

bool ml_tile_walk_add(ml_tile_walk *w, int32_t n) {
    const ml_tile_facts *f = w->facts;
    const ml_node_io *io = f->sub->nodes[n].io;
    if (ml_tile_skips(f, n)) return true;
    if (f->whole && f->whole[n]) return false;
    if (f->nodes[n].status != ML_NODE_RUNS || f->nodes[n].packs_in_run || io->n_outputs != 1 ||
        io->n_inputs > ML_TILE_OPERANDS || w->n_members == ML_TILE_NODES)
        return false;
    const int32_t y = io->outputs[0];
    const ml_tensor *row = ml_tile_tensor(f, y);
    if (row->storage != ML_STORAGE_ARENA || row->dynamic) return false;
    const ml_call c = ml_call_of(&w->engine, &w->env, n);
    const bool is_output = f->last[y] > w->end;
    ml_tile_member *m = &w->members[w->n_members];
    ml_rectangle parts[ML_TILE_SIDE];
    m->node = n;
    if (!parts_of(w, &c, y, is_output, parts, m) || !ask(w, &c, parts, m)) return false;
    ml_tile_tensor_need *made = touch(w, y, parts, n);
    made->made = n;
    made->is_output = is_output;
    m->output = w->need_of[y];
    if (is_output) w->outputs += ml_round_up(row->bytes, ML_ALIGNMENT);
    for (int32_t i = 0; i < io->n_inputs; i++) {
        const int32_t x = io->inputs[i];
        m->inputs[i] = -1;
        if (x < 0) continue;
        /* Others than those of the arena are not made here. */
        const bool other = ml_tile_tensor(f, x)->storage != ML_STORAGE_ARENA;
        if (other && w->need_of[x] < 0 && is_whole(w, x, m->in[i])) continue;
        touch(w, x, m->in[i], n);
        m->inputs[i] = w->need_of[x];
    }
    count_work(w, m, parts);
    w->n_members++;
    return true;
}

/* Live bytes ----------------------------------------------------------------------------------- */

/* The patch of a need. */
typedef struct patch_record {
    int64_t bytes; /* 0: it lies in a whole tensor */
    bool counted;
} patch_record;

typedef struct counting {
    const ml_tile_walk *walk;
    int32_t first;
    int64_t live[4 * ML_TILE_NODES]; /* by node, from `first` on */
    patch_record records[ML_TILE_NODES * (ML_TILE_OPERANDS + 1)]; /* by need */
} counting;

static void add_live(counting *x, int32_t from, int32_t to, int64_t bytes) {
    for (int32_t n = from; n <= to; n++) x->live[n - x->first] += bytes;
}

/* Gives a patch that its reader needs a record: a copy of a part of a whole tensor, once, and one
 * of a part of that for a reader that needs less. */
static void count_input(counting *x, const ml_tile_member *m, int32_t i) {
    const ml_tile_walk *w = x->walk;
    const ml_tile_tensor_need *need = &w->needs[m->inputs[i]];
    patch_record *record = &x->records[m->inputs[i]];
    if (need->made < x->first && !record->counted) {
        record->counted = true;
        if (!need->is_piece) {
            record->bytes = need->bytes;
            add_live(x, m->node, need->last, record->bytes);
        }
    }
    if (!ml_tile_same(w, m->in[i], need->part) &&
        !ml_tile_is_piece(w, need->tensor, m->in[i], need->part))
        add_live(x, m->node, m->node, ml_tile_bytes(w, need->tensor, m->in[i]));
}

/* True if the node may write its patch over that of input `i`, which dies here. */
static bool overwrites(const counting *x, const ml_tile_member *m, int32_t i, int64_t bytes) {
    const ml_tile_walk *w = x->walk;
    const int32_t flags = w->facts->sub->nodes[m->node].io->flags;
    if (m->inputs[i] < 0 || !(flags & (ML_NODE_IN_PLACE << i))) return false;
    const ml_tile_tensor_need *need = &w->needs[m->inputs[i]], *y = &w->needs[m->output];
    const bool dies = need->last == m->node && !need->is_output;
    return dies && x->records[m->inputs[i]].bytes == bytes &&
           ml_tile_same(w, need->part, y->part) && ml_tile_same(w, need->part, m->in[i]);
}

static void count_output(counting *x, const ml_tile_member *m) {
    const ml_tile_walk *w = x->walk;
    const ml_tile_tensor_need *y = &w->needs[m->output];
    const int32_t n_inputs = w->facts->sub->nodes[m->node].io->n_inputs;
    patch_record *record = &x->records[m->output];
    if (y->is_output && y->is_piece) return;
    record->bytes = y->bytes;
    int32_t from = m->node;
    for (int32_t i = 0; i < n_inputs; i++)
        if (overwrites(x, m, i, record->bytes)) {
            from = m->node + 1;
            break;
        }
    add_live(x, from, y->last, record->bytes);
}

int64_t ml_tile_walk_live(const ml_tile_walk *w, int32_t first) {
    const ml_tile_facts *f = w->facts;
    counting x;
    x.walk = w;
    x.first = first;
    memcpy(x.live, f->scratch + first, (size_t)(w->end - first + 1) * sizeof *x.live);
    for (int32_t i = 0; i < w->n_needs; i++) x.records[i] = (patch_record){0};
    for (int32_t k = w->n_members - 1; k >= 0; k--) {
        const ml_tile_member *m = &w->members[k];
        for (int32_t i = 0; i < f->sub->nodes[m->node].io->n_inputs; i++)
            if (m->inputs[i] >= 0) count_input(&x, m, i);
        count_output(&x, m);
    }
    int64_t most = 0;
    for (int32_t n = first; n <= w->end; n++) most = ml_max_s64(most, x.live[n - first]);
    return f->across[first] + w->outputs + most;
}
