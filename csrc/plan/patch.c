/* patch.c -- asks a node's kernel what a patch of its output needs, and checks the answer. */
#include "plan/patch.h"

/* Runs prepare tensors of another shape again, and elements that share a byte cannot be cut. */
static bool may_cut(const ml_tensor *t) {
    const int32_t rank = t->shape.rank;
    return t->shaped && !t->dynamic && (rank == 3 || rank == 4) && ml_type_bytes(t->type) > 0;
}

static bool has_window(const ml_call *c) {
    const ml_node *node = &c->env->engine->nodes[c->node];
    const ml_kernel *kernel = node->kernel;
    return kernel->window && node->typed && node->typed->eval && c->n_outputs == 1 &&
           !(kernel->flags & ML_KERNEL_HAS_EFFECTS) && kernel->memory_bytes == 0 &&
           may_cut(ml_output(c, 0));
}

/* Ends the ranges of an input where its sides end. */
static bool clip(const ml_tensor *t, ml_rectangle *in) {
    const ml_rectangle whole = ml_patch_whole(t);
    for (int i = 0; i < 2; i++)
        if (in->side[i].end > whole.side[i].end) in->side[i].end = whole.side[i].end;
    return ml_patch_same(in, &whole) || may_cut(t);
}

bool ml_patch_needs(const ml_call *c, ml_rectangle *out, ml_rectangle *in, void *params) {
    const ml_kernel *kernel = c->env->engine->nodes[c->node].kernel;
    if (!has_window(c)) return false;
    for (int i = 0; i < c->n_inputs; i++) {
        in[i] = (ml_rectangle){{{0, ML_TO_THE_END}, {0, ML_TO_THE_END}}};
        if (c->inputs[i] >= 0 && !ml_input(c, i)->shaped) return false;
    }
    if (kernel->params_bytes > 0) memcpy(params, c->params, (size_t)kernel->params_bytes);
    if (!kernel->window(c, out, in, params)) return false;
    bool fits = true;
    for (int i = 0; i < c->n_inputs; i++)
        if (c->inputs[i] >= 0) fits &= clip(ml_input(c, i), &in[i]);
    return fits;
}
