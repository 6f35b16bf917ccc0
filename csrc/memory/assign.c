/* assign.c -- assigns records to memories at the least cost, by a sweep over time.
 *
 * Records come in the order of their first nodes. A state says in which memory each live record
 * lies: two bits for each slot, and a live record has a slot of its own. Of equal states the
 * cheapest is kept, so that after the last record the cheapest state is an optimum, unless states
 * were dropped because there were too many. A record whose cheapest memory has room for all that
 * may lie there during its life has no other choice. */
#include <stdlib.h>
#include <string.h>

#include "core/shape.h"
#include "memory/conflicts.h"

enum { ML_SLOTS_A_WORD = 32 };

/* A state's numbers: its key, the bytes in each memory, its cost, and how it came about. */
typedef struct ml_states {
    uint64_t *keys; /* `words` for each state */
    int64_t *loads; /* n_rooms for each state */
    int64_t *costs;
    uint32_t *origins; /* the number of the state before, and the memory chosen: 2 bits */
    int32_t count;
} ml_states;

typedef struct ml_sweep {
    ml_assignment *a;
    ml_record_at *order; /* by first node */
    ml_record_at *ends; /* by last node */
    int64_t *sizes; /* n_rooms for each record: rounded */
    int32_t *slots; /* by record */
    uint32_t **links; /* by position in the order: origins of the states kept there */
    ml_states now, next;
    int32_t *table; /* hash table of next.keys: number + 1 */
    int32_t *ranks; /* of states that are sorted by cost */
    int32_t room; /* states that fit */
    int32_t buckets; /* a power of two */
    int32_t words;
    int32_t ended; /* so many of `ends` are no longer in the states */
    bool dropped;
} ml_sweep;

static int64_t *sizes_of(const ml_sweep *s, int32_t record) {
    return s->sizes + (int64_t)record * s->a->n_rooms;
}

static bool states_open(ml_states *states, int32_t room, int32_t words, int32_t rooms) {
    const size_t n = (size_t)room;
    states->keys = malloc(n * (size_t)words * sizeof *states->keys);
    states->loads = malloc(n * (size_t)rooms * sizeof *states->loads);
    states->costs = malloc(n * sizeof *states->costs);
    states->origins = malloc(n * sizeof *states->origins);
    return states->keys && states->loads && states->costs && states->origins;
}

static void states_close(ml_states *states) {
    free(states->keys);
    free(states->loads);
    free(states->costs);
    free(states->origins);
}

/* Gives each record a slot that is its own while it lives; returns how many slots there are. */
static int32_t take_slots(ml_sweep *s, int32_t *lasts) {
    int32_t slots = 0;
    for (int32_t i = 0; i < s->a->count; i++) {
        const ml_choice *c = &s->a->choices[s->order[i].record];
        int32_t slot = 0;
        while (slot < slots && lasts[slot] >= c->first) slot++;
        if (slot == slots) slots++;
        lasts[slot] = c->last;
        s->slots[s->order[i].record] = slot;
    }
    return slots;
}

/* Fills `loads`, by position in the order, with the bytes that may lie in memory `m` at that
 * record's first node. */
static void possible_loads(const ml_sweep *s, int32_t m, int64_t *loads) {
    const ml_assignment *a = s->a;
    int64_t load = 0;
    int32_t ended = 0, begun = 0;
    for (int32_t i = 0; i < a->count; i++) {
        for (; begun < a->count && s->order[begun].node <= s->order[i].node; begun++) {
            const int32_t record = s->order[begun].record;
            if (a->choices[record].allowed >> m & 1) load += sizes_of(s, record)[m];
        }
        for (; ended < a->count && s->ends[ended].node < s->order[i].node; ended++) {
            const int32_t record = s->ends[ended].record;
            if (a->choices[record].allowed >> m & 1) load -= sizes_of(s, record)[m];
        }
        loads[i] = load;
    }
}

static int32_t cheapest_memory(const ml_assignment *a, int32_t allowed) {
    int32_t best = -1;
    for (int32_t m = 0; m < a->n_rooms; m++)
        if ((allowed >> m & 1) && (best < 0 || a->rooms[m].cost < a->rooms[best].cost)) best = m;
    return best;
}

/* Leaves only the cheapest memory to each record that it can never be too full for. `loads` has
 * room for a number for each record. */
static void settle_memories(ml_sweep *s, int64_t *loads) {
    ml_assignment *a = s->a;
    for (int32_t m = 0; m < a->n_rooms; m++) {
        possible_loads(s, m, loads);
        for (int32_t i = 0; i < a->count; i++) {
            ml_choice *c = &a->choices[s->order[i].record];
            if (cheapest_memory(a, c->allowed) != m) continue;
            int32_t at = i;
            while (at > 0 && s->order[at - 1].node == c->first) at--;
            bool fits = true;
            for (; at < a->count && s->order[at].node <= c->last && fits; at++)
                fits = loads[at] <= a->rooms[m].capacity;
            c->room = fits ? 1 << m : c->allowed; /* until the sweep: a mask */
        }
    }
}

static uint32_t hash_of_key(const uint64_t *key, int32_t words) {
    uint64_t hash = 0x9E3779B97F4A7C15u;
    for (int32_t i = 0; i < words; i++) {
        hash = (hash ^ key[i]) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    return (uint32_t)hash;
}

/* Adds the state that follows from state `from` by record `record` in memory `m`, or makes an equal
 * one cheaper. */
static void add_state(ml_sweep *s, int32_t from, int32_t record, int32_t m) {
    const int32_t rooms = s->a->n_rooms, words = s->words, slot = s->slots[record];
    ml_states *next = &s->next;
    const int64_t cost = s->now.costs[from] + s->a->choices[record].traffic * s->a->rooms[m].cost;
    const uint32_t origin = (uint32_t)from << 2 | (uint32_t)m;
    uint64_t *key = next->keys + (int64_t)next->count * words;
    memcpy(key, s->now.keys + (int64_t)from * words, (size_t)words * sizeof *key);
    key[slot / ML_SLOTS_A_WORD] |= (uint64_t)m << 2 * (slot % ML_SLOTS_A_WORD);
    uint32_t at = hash_of_key(key, words) & (uint32_t)(s->buckets - 1);
    for (; s->table[at]; at = (at + 1) & (uint32_t)(s->buckets - 1)) {
        const int32_t other = s->table[at] - 1;
        if (memcmp(next->keys + (int64_t)other * words, key, (size_t)words * sizeof *key) != 0)
            continue;
        if (cost < next->costs[other]) {
            next->costs[other] = cost;
            next->origins[other] = origin;
        }
        return;
    }
    s->table[at] = next->count + 1;
    int64_t *loads = next->loads + (int64_t)next->count * rooms;
    memcpy(loads, s->now.loads + (int64_t)from * rooms, (size_t)rooms * sizeof *loads);
    loads[m] += sizes_of(s, record)[m];
    next->costs[next->count] = cost;
    next->origins[next->count++] = origin;
}

/* Takes records that end before `node` out of the states. */
static void end_before(ml_sweep *s, int32_t node) {
    for (; s->ended < s->a->count && s->ends[s->ended].node < node; s->ended++) {
        const int32_t record = s->ends[s->ended].record;
        const int32_t word = s->slots[record] / ML_SLOTS_A_WORD;
        const int32_t shift = 2 * (s->slots[record] % ML_SLOTS_A_WORD);
        for (int32_t k = 0; k < s->now.count; k++) {
            uint64_t *key = s->now.keys + (int64_t)k * s->words + word;
            const int32_t m = (int32_t)(*key >> shift & 3);
            s->now.loads[(int64_t)k * s->a->n_rooms + m] -= sizes_of(s, record)[m];
            *key &= ~((uint64_t)3 << shift);
        }
    }
}

/* Sorts the ranks by cost, then by number: shell sort, since the order is total. */
static void sort_ranks(int32_t *ranks, int32_t count, const int64_t *costs) {
    for (int32_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11)
        for (int32_t i = gap; i < count; i++) {
            const int32_t moving = ranks[i];
            int32_t at = i;
            for (; at >= gap; at -= gap) {
                const int32_t other = ranks[at - gap];
                if (costs[other] < costs[moving] ||
                    (costs[other] == costs[moving] && other < moving))
                    break;
                ranks[at] = other;
            }
            ranks[at] = moving;
        }
}

/* Makes the next states the present ones, the cheapest of them if there are too many. */
static bool keep_states(ml_sweep *s, int32_t position) {
    const int32_t rooms = s->a->n_rooms, words = s->words, most = s->a->most_states;
    ml_states *next = &s->next, *now = &s->now;
    const int32_t kept = next->count > most ? most : next->count;
    for (int32_t k = 0; k < next->count; k++) s->ranks[k] = k;
    if (next->count > most) {
        s->dropped = true;
        sort_ranks(s->ranks, next->count, next->costs);
    }
    uint32_t *links = malloc((size_t)(kept + 1) * sizeof *links);
    if (!links) return false;
    for (int32_t k = 0; k < kept; k++) {
        const int64_t from = s->ranks[k];
        memcpy(now->keys + (int64_t)k * words, next->keys + from * words,
               (size_t)words * sizeof *now->keys);
        memcpy(now->loads + (int64_t)k * rooms, next->loads + from * rooms,
               (size_t)rooms * sizeof *now->loads);
        now->costs[k] = next->costs[from];
        links[k] = next->origins[from];
    }
    now->count = kept;
    if (kept > s->a->states) s->a->states = kept;
    s->links[position] = links;
    return true;
}

/* Writes the cheapest state's memories into the choices. */
static void take_memories(ml_sweep *s) {
    int32_t best = 0;
    for (int32_t k = 1; k < s->now.count; k++)
        if (s->now.costs[k] < s->now.costs[best]) best = k;
    s->a->cost = s->now.costs[best];
    for (int32_t i = s->a->count - 1; i >= 0; i--) {
        s->a->choices[s->order[i].record].room = (int32_t)(s->links[i][best] & 3);
        best = (int32_t)(s->links[i][best] >> 2);
    }
}

static ml_strategy_status sweep_records(ml_sweep *s) {
    ml_assignment *a = s->a;
    memset(s->now.keys, 0, (size_t)s->words * sizeof *s->now.keys);
    memset(s->now.loads, 0, (size_t)a->n_rooms * sizeof *s->now.loads);
    s->now.costs[0] = 0;
    s->now.count = 1;
    for (int32_t i = 0; i < a->count; i++) {
        const int32_t record = s->order[i].record, node = s->order[i].node;
        end_before(s, node);
        for (s->buckets = 2; s->buckets < 2 * s->now.count * a->n_rooms;) s->buckets *= 2;
        memset(s->table, 0, (size_t)s->buckets * sizeof *s->table);
        s->next.count = 0;
        for (int32_t k = 0; k < s->now.count; k++)
            for (int32_t m = 0; m < a->n_rooms; m++)
                if ((a->choices[record].room >> m & 1) &&
                    s->now.loads[(int64_t)k * a->n_rooms + m] + sizes_of(s, record)[m] <=
                        a->rooms[m].capacity)
                    add_state(s, k, record, m);
        if (!keep_states(s, i)) return ML_STRATEGY_NO_MEMORY;
        if (s->now.count == 0) return ML_STRATEGY_OVER_CAPACITY;
    }
    take_memories(s);
    return ML_STRATEGY_OK;
}

/* Fills the order, the sizes and the slots; false without memory. */
static bool open_sweep(ml_sweep *s) {
    ml_assignment *a = s->a;
    const size_t n = (size_t)a->count + 1;
    s->order = malloc(n * sizeof *s->order);
    s->ends = malloc(n * sizeof *s->ends);
    s->sizes = malloc(n * ML_MOST_ROOMS * sizeof *s->sizes);
    s->slots = malloc(n * sizeof *s->slots);
    s->links = calloc(n, sizeof *s->links);
    int64_t *loads = malloc(n * sizeof *loads);
    int32_t *lasts = malloc(n * sizeof *lasts);
    const bool got = s->order && s->ends && s->sizes && s->slots && s->links && loads && lasts;
    if (got) {
        for (int32_t i = 0; i < a->count; i++) {
            s->order[i] = (ml_record_at){a->choices[i].first, i};
            s->ends[i] = (ml_record_at){a->choices[i].last, i};
            a->choices[i].room = a->choices[i].allowed;
            for (int32_t m = 0; m < a->n_rooms; m++)
                sizes_of(s, i)[m] = ml_round_up(a->choices[i].size, a->rooms[m].alignment);
        }
        ml_sort_by_node(s->order, a->count);
        ml_sort_by_node(s->ends, a->count);
        settle_memories(s, loads);
        const int32_t slots = take_slots(s, lasts);
        s->words = slots / ML_SLOTS_A_WORD + 1;
        s->room = a->most_states * a->n_rooms + 1;
        for (s->buckets = 2; s->buckets < 2 * s->room;) s->buckets *= 2;
    }
    free(loads);
    free(lasts);
    return got;
}

ml_strategy_status ml_memory_assign(ml_assignment *a) {
    ml_sweep s = {.a = a};
    a->states = 1;
    a->cost = 0;
    a->optimal = 1;
    ml_strategy_status status = ML_STRATEGY_NO_MEMORY;
    if (open_sweep(&s) && states_open(&s.now, s.room, s.words, a->n_rooms) &&
        states_open(&s.next, s.room, s.words, a->n_rooms)) {
        s.table = malloc((size_t)s.buckets * sizeof *s.table);
        s.ranks = malloc((size_t)s.room * sizeof *s.ranks);
        if (s.table && s.ranks) status = sweep_records(&s);
    }
    a->optimal = !s.dropped;
    for (int32_t i = 0; s.links && i < a->count; i++) free(s.links[i]);
    states_close(&s.now);
    states_close(&s.next);
    free(s.table);
    free(s.ranks);
    free(s.links);
    free(s.slots);
    free(s.sizes);
    free(s.ends);
    free(s.order);
    return status;
}
