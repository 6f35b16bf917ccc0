/* main.c -- runs a graph with dynamic tensors on the arena of one variant, and prints what that
 * cost.
 *
 * usage: ladder RUNS < problem     the problem is the text of benchmarks/dynamic_family.py
 *
 * Every run has sizes of its own. A node writes each byte of its output, which stands for kernels.
 * What a dynamic node leaves is known only once it has run: then what was planned after it is
 * forgotten, and the nodes up to the next dynamic one are planned. The line printed is JSON: what
 * the planner looked at in all runs but the first, and where it placed tensors. Instructions are
 * counted from outside. */
#include "ladder.h"

#include <inttypes.h>
#include <stdio.h>

static int32_t read_number(void) {
    int value;
    if (scanf("%d", &value) != 1) {
        fprintf(stderr, "the problem ends too early\n");
        exit(2);
    }
    return value;
}

static void *room(int64_t count, size_t size) {
    void *made = calloc((size_t)(count ? count : 1), size);
    if (!made) abort();
    return made;
}

/* The graph of the problem; nominal elements by tensor in *lengths. Tensor 0 is the input, tensor n
 * + 1 node n's output. */
static graph read_graph(int32_t **lengths) {
    graph g = {.functions = &ladder_checked_access};
    g.n_nodes = read_number();
    g.n_ends = read_number();
    g.n_tensors = g.n_nodes + 1;
    g.tensors = room(g.n_tensors, sizeof *g.tensors);
    g.first = room(g.n_tensors, sizeof *g.first);
    g.last = room(g.n_tensors, sizeof *g.last);
    g.source = room(g.n_nodes, sizeof *g.source);
    g.dynamic = room(g.n_nodes, 1);
    g.ends = room(g.n_ends, sizeof *g.ends);
    *lengths = room(g.n_tensors, sizeof **lengths);
    (*lengths)[0] = read_number();
    g.last[0] = FOREVER; /* inputs are kept */
    for (int32_t n = 0; n < g.n_nodes; n++) {
        g.source[n] = read_number() + 1;
        read_number();
        (*lengths)[n + 1] = read_number();
        g.dynamic[n] = (uint8_t)read_number();
        g.tensors[n + 1].place = g.dynamic[n] ? PLACE_HEAP : PLACE_ARENA;
        g.first[n + 1] = g.last[n + 1] = n;
        if (g.last[g.source[n]] != FOREVER) g.last[g.source[n]] = n;
    }
    for (int32_t i = 0; i < g.n_ends; i++) {
        g.ends[i] = read_number() + 1;
        g.last[g.ends[i]] = FOREVER;
    }
    return g;
}

/* The `turn`-th size of a tensor: its nominal one, up to half as much again. */
static int64_t bytes_of(int32_t length, int32_t t, int32_t turn) {
    uint32_t lot = (uint32_t)t * 2654435761u ^ (uint32_t)turn * 2246822519u;
    lot ^= lot >> 15;
    lot *= 2654435761u;
    lot ^= lot >> 13;
    return (int64_t)length * 4 + (int64_t)(lot % (uint32_t)(2 * length + 4));
}

static void kernel(graph *g, int32_t n) {
    tensor *out = &g->tensors[n + 1];
    if (out->place == PLACE_HEAP) {
        free(out->data);
        out->data = malloc((size_t)out->bytes);
        if (!out->data) abort();
    }
    memset(out->data, n, (size_t)out->bytes);
}

typedef struct progress {
    int32_t planned; /* the last node that is planned */
    int32_t prepared; /* the last whose output's size is known */
} progress;

static void run(graph *g, planner *p, const int32_t *lengths, int32_t turn, progress *to) {
    for (int32_t n = 0; n < g->n_nodes; n++) {
        if (n > to->prepared) {
            int32_t last = n;
            while (last < g->n_nodes - 1 && !g->dynamic[last]) last++;
            for (int32_t k = n; k <= last; k++)
                g->tensors[k + 1].bytes = bytes_of(lengths[k + 1], k + 1, turn);
            ladder_execute_allocations(p, n, last);
            to->planned = to->prepared = last;
        }
        if (g->dynamic[n]) g->tensors[n + 1].bytes = bytes_of(lengths[n + 1], n + 1, turn);
        kernel(g, n);
        if (g->dynamic[n]) {
            to->prepared = n;
            if (to->planned > n) ladder_reset_allocations_after(p, n);
            to->planned = n;
        }
    }
}

int main(int argc, char **argv) {
    int32_t runs = argc > 1 ? atoi(argv[1]) : 10, *lengths;
    graph g = read_graph(&lengths);
    g.tensors[0].bytes = 4 * (int64_t)lengths[0];
    planner *p = ladder_planner_new(&g);
    progress to = {-1, -1};
    uint64_t digest = 0;
    run(&g, p, lengths, 0, &to);
    const costs first = *ladder_costs(p);
    for (int32_t turn = 1; turn <= runs; turn++) {
        run(&g, p, lengths, turn, &to);
        digest = digest * 31 + ladder_digest(p);
    }
    const costs *all = ladder_costs(p);
    printf("{\"step\": %d, \"scanned\": %" PRId64 ", \"tensors\": %" PRId64
           ", \"high_water\": %" PRId64 ", \"digest\": %" PRIu64 "}\n",
           LADDER_STEP, all->scanned - first.scanned, all->tensors - first.tensors,
           ladder_high_water(p), digest);
    for (int32_t n = 0; n < g.n_nodes; n++)
        if (g.dynamic[n]) free(g.tensors[n + 1].data);
    ladder_planner_free(p);
    free(g.tensors);
    free(g.first);
    free(g.last);
    free(g.source);
    free(g.dynamic);
    free(g.ends);
    free(lengths);
    return 0;
}
