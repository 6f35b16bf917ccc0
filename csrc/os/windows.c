/* windows.c -- Windows 8.1 and later: VirtualAlloc, WaitOnAddress, slim locks. */
#define WIN32_LEAN_AND_MEAN
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0603
#endif
#include <assert.h>
#include <io.h>
#include <malloc.h>
#include <process.h>
#include <stddef.h>
#include <windows.h>

#include "os/os.h"

/* Memory ------------------------------------------------------------------------------------- */

enum { LINE = 64 };

int64_t ml_os_page_bytes(void) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return (int64_t)info.dwPageSize;
}

void *ml_os_allocate(int64_t bytes) {
    if (bytes < 0 || bytes > PTRDIFF_MAX - LINE) return NULL;
    return _aligned_malloc(bytes == 0 ? LINE : ((size_t)bytes + LINE - 1) / LINE * LINE, LINE);
}

void ml_os_free(void *memory) { _aligned_free(memory); }

static void *take(void *at, int64_t bytes, DWORD kind, DWORD access) {
    return bytes > PTRDIFF_MAX ? NULL : VirtualAlloc(at, (SIZE_T)bytes, kind, access);
}

void *ml_os_reserve(int64_t bytes) { return take(NULL, bytes, MEM_RESERVE, PAGE_NOACCESS); }

bool ml_os_commit(void *pages, int64_t bytes) {
    return take(pages, bytes, MEM_COMMIT, PAGE_READWRITE) != NULL;
}

void *ml_os_map(int64_t bytes) {
    return take(NULL, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
}

void *ml_os_grow(void *pages, int64_t had, int64_t bytes) { return NULL; }

/* The addresses stay reserved until ml_os_unmap. */
bool ml_os_cut(void *pages, int64_t had, int64_t bytes) {
    return VirtualFree((uint8_t *)pages + bytes, (SIZE_T)(had - bytes), MEM_DECOMMIT) != 0;
}

void ml_os_unmap(void *pages, int64_t bytes) { VirtualFree(pages, 0, MEM_RELEASE); }

bool ml_os_drop(void *pages, int64_t bytes) {
    return DiscardVirtualMemory(pages, (SIZE_T)bytes) == ERROR_SUCCESS;
}

void ml_os_prefer_large_pages(void *pages, int64_t bytes) {}

int64_t ml_os_resident(const void *pages, int64_t bytes) { return bytes; }

/* The view alone keeps the mapping. */
int32_t ml_os_map_file(ml_mapping *mapping, int32_t descriptor, int64_t bytes) {
    const HANDLE file = (HANDLE)_get_osfhandle(descriptor);
    if (file == INVALID_HANDLE_VALUE || bytes > PTRDIFF_MAX) return 0;
    const HANDLE whole = CreateFileMappingW(file, NULL, PAGE_READONLY, 0, 0, NULL);
    if (!whole) return 0;
    mapping->data = MapViewOfFile(whole, FILE_MAP_READ, 0, 0, (SIZE_T)bytes);
    mapping->bytes = bytes;
    CloseHandle(whole);
    return mapping->data != NULL;
}

void ml_os_unmap_file(ml_mapping *mapping) {
    if (mapping->data) UnmapViewOfFile(mapping->data);
    mapping->data = NULL;
}

/* Windows takes pages back by itself, when others need them. */
void ml_os_leave_file(const void *data, int64_t bytes) {}

bool ml_os_map_file_over(void *pages, int32_t descriptor, int64_t at, int64_t bytes) {
    return false;
}

/* Time --------------------------------------------------------------------------------------- */

int64_t ml_os_now(void) {
    LARGE_INTEGER ticks, per_second;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&per_second);
    const int64_t second = per_second.QuadPart;
    return ticks.QuadPart / second * 1000000000 + ticks.QuadPart % second * 1000000000 / second;
}

int64_t ml_os_recently(void) { return (int64_t)GetTickCount64() * 1000000; }

int64_t ml_os_page_faults(void) { return 0; }

/* Threads ------------------------------------------------------------------------------------ */

typedef struct windows_thread {
    HANDLE thread;
    void (*run)(void *);
    void *argument;
} windows_thread;
static_assert(sizeof(windows_thread) <= sizeof(ml_os_thread), "a thread fits");
static_assert(sizeof(SRWLOCK) <= sizeof(ml_os_lock), "a lock fits");

static unsigned __stdcall run_thread(void *started) {
    const windows_thread *thread = started;
    thread->run(thread->argument);
    return 0;
}

bool ml_os_start(ml_os_thread *thread, void (*run)(void *), void *argument) {
    windows_thread *started = (windows_thread *)thread->system;
    started->run = run;
    started->argument = argument;
    started->thread = (HANDLE)_beginthreadex(NULL, 0, run_thread, started, 0, NULL);
    return started->thread != NULL;
}

void ml_os_join(ml_os_thread *thread) {
    const HANDLE started = ((windows_thread *)thread->system)->thread;
    WaitForSingleObject(started, INFINITE);
    CloseHandle(started);
}

void ml_os_yield(void) { SwitchToThread(); }

int64_t ml_os_process(void) { return (int64_t)GetCurrentProcessId(); }

static SRWLOCK *lock_of(ml_os_lock *lock) { return (SRWLOCK *)lock->system; }

void ml_os_make_lock(ml_os_lock *lock) { InitializeSRWLock(lock_of(lock)); }

void ml_os_free_lock(ml_os_lock *lock) {}

void ml_os_take(ml_os_lock *lock) { AcquireSRWLockExclusive(lock_of(lock)); }

void ml_os_give(ml_os_lock *lock) { ReleaseSRWLockExclusive(lock_of(lock)); }

void ml_bell_make(ml_bell *bell) { atomic_init(&bell->rung, 0); }

void ml_bell_sleep(ml_bell *bell, uint32_t seen) {
    WaitOnAddress((volatile VOID *)&bell->rung, &seen, sizeof seen, INFINITE);
}

void ml_bell_ring(ml_bell *bell, int32_t sleepers) {
    atomic_fetch_add(&bell->rung, 1);
    while (sleepers-- > 0) WakeByAddressSingle((PVOID)&bell->rung);
}

/* The processor ------------------------------------------------------------------------------ */

bool ml_os_has(ml_os_feature feature) {
    enum { DOT_PRODUCTS = 43, INT8_MATRIX = 66 }; /* PF_ARM_V82_DP_..., PF_ARM_V82_I8MM_... */
    if (feature == ML_OS_DOT_PRODUCTS) return IsProcessorFeaturePresent(DOT_PRODUCTS) != 0;
    if (feature == ML_OS_INT8_MATRIX) return IsProcessorFeaturePresent(INT8_MATRIX) != 0;
    return false;
}
