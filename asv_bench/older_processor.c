/* older_processor.c -- loaded into a process before all others (LD_PRELOAD), it takes features away
 * from what the processor says of itself, so that all libraries of the process choose the code that
 * they have for an older one. OLDER_PROCESSOR names the best level that is left.
 *
 * Linux lets a process have CPUID refused (arch_prctl, ARCH_SET_CPUID). The instruction then raises
 * SIGSEGV; the handler executes it, hides bits of what it says, and goes on after it. Threads and
 * children inherit this; a program that is started begins without it, and loads this library anew.
 * Where the processor cannot refuse it, libraries have been copied with UD2 in the place of CPUID,
 * which is as long (OLDER_PROCESSOR_UD2), and raises SIGILL.
 * Source: Intel's manual, volume 2, CPUID; the manual page arch_prctl(2). */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

enum { ARCH_SET_CPUID = 0x1012, REFUSED = 0, EXECUTED = 1 };

/* Bits that are hidden of what a leaf of CPUID says. */
typedef struct hidden {
    uint32_t leaf;
    uint32_t subleaf;
    uint32_t a, b, c, d;
} hidden;

/* All kinds of AVX-512, and AMX. */
static const hidden above_avx_vnni[] = {
    {.leaf = 7, .b = 0xdc230000, .c = 0x00005842, .d = 0x03c0010c},
    {.leaf = 7, .subleaf = 1, .a = 0x00200020, .d = 0x00080000},
};
/* And AVX-VNNI, of 8 and of 16 bits, AVX-IFMA, and conversions of bfloat16. */
static const hidden above_avx2[] = {{.leaf = 7, .subleaf = 1, .a = 0x00800010, .d = 0x00000430}};
/* And all kinds of AVX, FMA, and conversions of float16. */
static const hidden above_sse[] = {
    {.leaf = 1, .c = 0x30001000},
    {.leaf = 7, .b = 0x00000020, .c = 0x00000600},
};

static int level; /* how many of these tables apply, in this order */
static int has_ud2;

static void hide(const hidden *table, size_t rows, uint32_t leaf, uint32_t subleaf,
                 uint32_t *words) {
    for (size_t i = 0; i < rows; i++) {
        const hidden *h = &table[i];
        if (h->leaf != leaf || (leaf == 7 && h->subleaf != subleaf)) continue;
        words[0] &= ~h->a, words[1] &= ~h->b, words[2] &= ~h->c, words[3] &= ~h->d;
    }
}
#define HIDE(table) hide(table, sizeof(table) / sizeof *(table), leaf, subleaf, words)

static void allow(int how) {
    if (!has_ud2) syscall(SYS_arch_prctl, ARCH_SET_CPUID, how);
}

static void answer(int number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    const uint8_t *at = (const uint8_t *)registers[REG_RIP];
    const int is_ours = at[0] == 0x0f && at[1] == (has_ud2 ? 0x0b : 0xa2);
    if (!is_ours || (!has_ud2 && info->si_code != SI_KERNEL)) {
        signal(number, SIG_DFL); /* not CPUID: the instruction fails again, as it would have */
        return;
    }
    const uint32_t leaf = (uint32_t)registers[REG_RAX], subleaf = (uint32_t)registers[REG_RCX];
    uint32_t words[4] = {leaf, 0, subleaf, 0};
    allow(EXECUTED);
    __asm__ volatile("cpuid" : "+a"(words[0]), "=b"(words[1]), "+c"(words[2]), "=d"(words[3]));
    allow(REFUSED);
    if (level > 0) HIDE(above_avx_vnni);
    if (level > 1) HIDE(above_avx2);
    if (level > 2) HIDE(above_sse);
    registers[REG_RAX] = words[0], registers[REG_RBX] = words[1];
    registers[REG_RCX] = words[2], registers[REG_RDX] = words[3];
    registers[REG_RIP] += 2;
}

__attribute__((constructor)) static void begin(void) {
    static const char *const names[] = {"", "avx_vnni", "avx2", "sse2"};
    const char *wanted = getenv("OLDER_PROCESSOR");
    struct sigaction action = {.sa_sigaction = answer, .sa_flags = SA_SIGINFO | SA_NODEFER};
    for (int i = 1; wanted && i < 4; i++)
        if (!strcmp(wanted, names[i])) level = i;
    const char *wrong = NULL;
    if (!level) wrong = "OLDER_PROCESSOR names no level";
    else if ((has_ud2 = getenv("OLDER_PROCESSOR_UD2") != NULL)) sigaction(SIGILL, &action, NULL);
    else if (sigaction(SIGSEGV, &action, NULL) || syscall(SYS_arch_prctl, ARCH_SET_CPUID, REFUSED))
        wrong = "this processor or system does not refuse CPUID";
    if (!wrong) return;
    fprintf(stderr, "older_processor: %s\n", wrong);
    _exit(1);
}
