/* count.c -- a plugin of qemu's user emulation (API 1, qemu 7.2 and later): counts instructions of
 * the emulated program. A program reads the count by a system call that does nothing else,
 * getpriority(0, 77770000 + tag), which prints `@count tag instructions` to stderr.
 *
 * With the argument where=TAG, the mark of that tag also prints what ran since the mark before it,
 * a line for each block of instructions: `@block address instructions vectors products times`, of
 * its bytes that are vector instructions, and how many multiply-adds these do. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Declared here, so that no header of qemu's is needed. */
struct block;
struct instruction;
extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*)(uint64_t, struct block *));
extern size_t qemu_plugin_tb_n_insns(const struct block *);
extern uint64_t qemu_plugin_tb_vaddr(const struct block *);
extern struct instruction *qemu_plugin_tb_get_insn(const struct block *, size_t);
extern const void *qemu_plugin_insn_data(const struct instruction *);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct block *, int add, void *, uint64_t);
typedef void on_call(uint64_t id, unsigned cpu, int64_t number, uint64_t, uint64_t, uint64_t,
                     uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);
extern void qemu_plugin_register_vcpu_syscall_cb(uint64_t id, on_call *);

/* getpriority by its number on aarch64, and on 32-bit Arm. */
enum { OF_AARCH64 = 141, OF_ARM = 96, MARK = 77770000, TAGS = 10000 };

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

/* Blocks that were translated, never freed: their counters are in use. */
typedef struct counted {
    struct counted *next;
    uint64_t address, times;
    uint32_t instructions, vectors, products;
} counted;

static uint64_t instructions;
static counted *every;
static int64_t where = -1;

/* A vector instruction that computes: neither a load nor a store, nor of scalars. */
static int is_vector(uint32_t code) { return (code & 0x9E000000) == 0x0E000000; }

/* The multiply-adds of an instruction of A64: of vectors by vectors or by a lane. */
static uint32_t products_of(uint32_t code) {
    const uint32_t full = code >> 30 & 1 ? 2 : 1, size = code >> 22 & 3;
    if (!is_vector(code)) return 0;
    if ((code & 0x9F20FC00) == 0x0E009400 || (code & 0x9F00F400) == 0x0F00E000)
        return 8 * full; /* [SU]DOT */
    if ((code & 0xFFE0FC00) == 0x4E80A400) return 32; /* SMMLA */
    if ((code & 0xBFA0FC00) == 0x0E20CC00 || (code & 0xBF80F400) == 0x0F801000)
        return 2 * full; /* FMLA */
    const uint32_t three = code & 0x9F20FC00; /* [SU]MULL, [SU]MLAL */
    if (three == 0x0E20C000 || three == 0x0E208000) return 8 >> size;
    if ((code & 0x9F00F400) == 0x0F00A000 || (code & 0x9F00F400) == 0x0F002000) return 8 >> size;
    return 0;
}

static void translated(uint64_t id, struct block *block) {
    const size_t n = qemu_plugin_tb_n_insns(block);
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &instructions, n);
    if (where < 0) return;
    counted *own = calloc(1, sizeof *own);
    if (!own) abort();
    own->address = qemu_plugin_tb_vaddr(block);
    own->instructions = (uint32_t)n;
    for (size_t i = 0; i < n; i++) {
        uint32_t code;
        memcpy(&code, qemu_plugin_insn_data(qemu_plugin_tb_get_insn(block, i)), sizeof code);
        own->vectors += (uint32_t)is_vector(code);
        own->products += products_of(code);
    }
    own->next = every;
    every = own;
    qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &own->times, 1);
}

static void print_blocks(int print) {
    for (counted *b = every; b; b = b->next) {
        if (print && b->times)
            fprintf(stderr, "@block %" PRIu64 " %u %u %u %" PRIu64 "\n", b->address,
                    b->instructions, b->vectors, b->products, b->times);
        b->times = 0;
    }
}

static void called(uint64_t id, unsigned cpu, int64_t number, uint64_t a, uint64_t second,
                   uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
    (void)id, (void)cpu, (void)a, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if ((number != OF_AARCH64 && number != OF_ARM) || second < MARK || second >= MARK + TAGS)
        return;
    fprintf(stderr, "\n@count %" PRIu64 " %" PRIu64 "\n", second - MARK, instructions);
    print_blocks((int64_t)(second - MARK) == where);
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const void *about,
                                                               int argc, char **argv) {
    (void)about;
    for (int i = 0; i < argc; i++)
        if (strncmp(argv[i], "where=", 6) == 0) where = atoi(argv[i] + 6);
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_cb(id, called);
    return 0;
}
