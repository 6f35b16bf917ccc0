/* traps.c -- runs the tile instructions of the build itself on a machine without tiles: each is an
 * illegal instruction there, and the handler of its signal does what tiles.c makes of it.
 *
 * Their bytes: C4, three inverted high bits of registers and map 2, inverted vvvv and a prefix, the
 * opcode, ModRM, and where that says memory, SIB and a displacement. */
#define _GNU_SOURCE
#include "traps.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "tiles.h"

enum { NONE, P66, PF3, PF2 }; /* prefixes */

static const int registers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15};

typedef struct operand {
    int64_t base; /* with the displacement */
    int64_t index; /* scaled */
    int length; /* bytes from ModRM on */
} operand;

static void refuse(const uint8_t *code) {
    fprintf(stderr, "no instruction on tiles: %02x %02x %02x %02x %02x %02x\n", code[0], code[1],
            code[2], code[3], code[4], code[5]);
    abort();
}

static operand memory(const uint8_t *code, const greg_t *values) {
    const uint8_t *modrm = code + 4;
    const int mod = *modrm >> 6, low = *modrm & 7, more = code[1] & 0x20 ? 0 : 8;
    operand made = {.length = 1};
    int base = low | more;
    if (low == 4) { /* SIB */
        const int sib = modrm[made.length++], index = (sib >> 3 & 7) | (code[1] & 0x40 ? 0 : 8);
        base = (sib & 7) | more;
        if (index != 4) made.index = (int64_t)values[registers[index]] << (sib >> 6);
    }
    if (mod == 3 || (mod == 0 && (base & 7) == 5)) refuse(code);
    made.base = (int64_t)values[registers[base]];
    int32_t wide = 0;
    if (mod == 1) made.base += (int8_t)modrm[made.length++];
    if (mod == 2) memcpy(&wide, modrm + made.length, sizeof wide), made.length += 4;
    made.base += wide;
    return made;
}

static int answer(const uint8_t *code, const greg_t *values) {
    const int prefix = code[2] & 3, third = ~(code[2] >> 3) & 15;
    const int modrm = code[4], tile = modrm >> 3 & 7;
    if (code[0] != 0xC4 || (code[1] & 0x1F) != 2 || code[2] & 0x84) refuse(code);
    if (code[3] == 0x5E && prefix == P66 && modrm >= 0xC0) {
        tile_dot(tile, modrm & 7, third);
        return 5;
    }
    if (code[3] == 0x49 && prefix == NONE && modrm == 0xC0) {
        tile_release();
        return 5;
    }
    if (code[3] == 0x49 && prefix == PF2 && (modrm & 0xC7) == 0xC0) {
        tile_zero(tile);
        return 5;
    }
    const operand at = memory(code, values);
    void *const place = (void *)(uintptr_t)at.base;
    if (code[3] == 0x49 && prefix == NONE) tile_configure((uint8_t *)place + at.index);
    else if (code[3] == 0x4B && prefix == PF2) tile_load(tile, place, at.index);
    else if (code[3] == 0x4B && prefix == PF3) tile_store(tile, place, at.index);
    else refuse(code);
    return 4 + at.length;
}

static void handle(int signal, siginfo_t *about, void *context) {
    greg_t *values = ((ucontext_t *)context)->uc_mcontext.gregs;
    values[REG_RIP] += answer((const uint8_t *)(uintptr_t)values[REG_RIP], values);
}

void trap_tiles(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handle;
    action.sa_flags = SA_SIGINFO;
    if (sigaction(SIGILL, &action, NULL) != 0) abort();
}
