/* count.c -- a plugin of qemu's user emulation (API 1, qemu 7.2 and later): counts instructions of
 * the emulated program. A program reads the count by a system call that does nothing else,
 * getpriority(0, 77770000 + tag), which prints `@count tag instructions` to stderr. */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>

/* Declared here, so that no header of qemu's is needed. */
struct block;
extern void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, void (*)(uint64_t, struct block *));
extern size_t qemu_plugin_tb_n_insns(const struct block *);
extern void qemu_plugin_register_vcpu_tb_exec_inline(struct block *, int add, void *, uint64_t);
typedef void on_call(uint64_t id, unsigned cpu, int64_t number, uint64_t, uint64_t, uint64_t, uint64_t,
                     uint64_t, uint64_t, uint64_t, uint64_t);
extern void qemu_plugin_register_vcpu_syscall_cb(uint64_t id, on_call *);

enum { GETPRIORITY_OF_AARCH64 = 141, MARK = 77770000, TAGS = 10000 };

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

static uint64_t instructions;

static void translated(uint64_t id, struct block *block) {
    (void)id;
    qemu_plugin_register_vcpu_tb_exec_inline(block, 0, &instructions, qemu_plugin_tb_n_insns(block));
}

static void called(uint64_t id, unsigned cpu, int64_t number, uint64_t a, uint64_t second, uint64_t c,
                   uint64_t d, uint64_t e, uint64_t f, uint64_t g, uint64_t h) {
    (void)id, (void)cpu, (void)a, (void)c, (void)d, (void)e, (void)f, (void)g, (void)h;
    if (number == GETPRIORITY_OF_AARCH64 && second >= MARK && second < MARK + TAGS)
        fprintf(stderr, "\n@count %" PRIu64 " %" PRIu64 "\n", second - MARK, instructions);
}

__attribute__((visibility("default"))) int qemu_plugin_install(uint64_t id, const void *about,
                                                               int argc, char **argv) {
    (void)about, (void)argc, (void)argv;
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_cb(id, called);
    return 0;
}
