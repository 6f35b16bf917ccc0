/* pages.c -- a library to preload: memory calls behave as on a kernel with larger pages.
 *
 * PAGE bytes are a page: sysconf says so, mappings begin at multiples of it, and calls for another
 * address are refused. glibc's own mappings stay as they are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PAGE
#define PAGE 16384
#endif
enum { KERNEL_PAGE = 4096 };

static size_t whole(size_t bytes) { return (bytes + PAGE - 1) / PAGE * PAGE; }

static int refuse(const void *address) {
    if ((uintptr_t)address % PAGE == 0) return 0;
    errno = EINVAL;
    return -1;
}

long sysconf(int name) {
    static long (*real)(int);
    if (name == _SC_PAGESIZE) return PAGE;
    if (!real) real = (long (*)(int))dlsym(RTLD_NEXT, "sysconf");
    return real(name);
}

int getpagesize(void) { return PAGE; }

/* Addresses for `bytes`, a multiple of PAGE: without access. */
static char *reserve(size_t bytes) {
    char *got = (char *)syscall(SYS_mmap, NULL, bytes + PAGE, PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED) return got;
    char *base = (char *)whole((uintptr_t)got), *end = got + bytes + PAGE;
    if (base > got) syscall(SYS_munmap, got, base - got);
    if (end > base + bytes) syscall(SYS_munmap, base + bytes, end - (base + bytes));
    return base;
}

void *mmap(void *address, size_t bytes, int access, int flags, int file, off_t offset) {
    if (bytes > 0 && !(flags & MAP_FIXED)) {
        address = reserve(whole(bytes));
        if (address == MAP_FAILED) return address;
    }
    if (refuse(address) || refuse((void *)(uintptr_t)offset)) return MAP_FAILED;
    const size_t size = flags & MAP_ANONYMOUS ? whole(bytes) : bytes;
    flags |= bytes > 0 ? MAP_FIXED : 0;
    return (void *)syscall(SYS_mmap, address, size, access, flags, file, offset);
}

/* Programs with a 64-bit off_t by macro call it by this name. */
void *mmap64(void *, size_t, int, int, int, off_t) __attribute__((alias("mmap")));

int munmap(void *address, size_t bytes) {
    return refuse(address) ? -1 : (int)syscall(SYS_munmap, address, whole(bytes));
}

int mprotect(void *address, size_t bytes, int access) {
    return refuse(address) ? -1 : (int)syscall(SYS_mprotect, address, whole(bytes), access);
}

int madvise(void *address, size_t bytes, int advice) {
    return refuse(address) ? -1 : (int)syscall(SYS_madvise, address, whole(bytes), advice);
}

void *mremap(void *address, size_t had, size_t bytes, int flags, ...) {
    if (refuse(address)) return MAP_FAILED;
    va_list more;
    va_start(more, flags);
    void *to = flags & MREMAP_FIXED ? va_arg(more, void *) : reserve(whole(bytes));
    va_end(more);
    if (to == MAP_FAILED || refuse(to)) return MAP_FAILED;
    return (void *)syscall(SYS_mremap, address, whole(had), whole(bytes), flags | MREMAP_FIXED, to);
}

/* One byte per PAGE: resident if the first part of the page is. */
int mincore(void *address, size_t bytes, unsigned char *found) {
    if (refuse(address)) return -1;
    unsigned char *parts = malloc(whole(bytes) / KERNEL_PAGE);
    const int status = (int)syscall(SYS_mincore, address, whole(bytes), parts);
    for (size_t i = 0; status == 0 && i < whole(bytes) / PAGE; i++)
        found[i] = parts[i * (PAGE / KERNEL_PAGE)];
    free(parts);
    return status;
}
