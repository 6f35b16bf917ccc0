/* macos.c -- macOS, and POSIX systems other than Linux: bells by condition variables, and features
 * of the processor from macOS. */
#include <assert.h>
#include <pthread.h>
#include <stddef.h>
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include "os/os.h"

void *ml_os_grow(void *pages, int64_t had, int64_t bytes) { return NULL; }

void ml_os_prefer_large_pages(void *pages, int64_t bytes) {}

/* mincore is there, but also counts pages that were never touched. */
int64_t ml_os_resident(const void *pages, int64_t bytes) { return bytes; }

int64_t ml_os_recently(void) { return ml_os_now(); }

int64_t ml_os_page_faults(void) { return 0; }

/* Threads ------------------------------------------------------------------------------------ */

typedef struct posix_bell {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
} posix_bell;
static_assert(sizeof(posix_bell) <= sizeof((ml_bell *)NULL)->system, "what a bell needs fits");

static posix_bell *system_of(ml_bell *bell) { return (posix_bell *)bell->system; }

void ml_bell_make(ml_bell *bell) {
    atomic_init(&bell->rung, 0);
    pthread_mutex_init(&system_of(bell)->mutex, NULL);
    pthread_cond_init(&system_of(bell)->changed, NULL);
}

void ml_bell_sleep(ml_bell *bell, uint32_t seen) {
    posix_bell *system = system_of(bell);
    pthread_mutex_lock(&system->mutex);
    while (atomic_load(&bell->rung) == seen) pthread_cond_wait(&system->changed, &system->mutex);
    pthread_mutex_unlock(&system->mutex);
}

void ml_bell_ring(ml_bell *bell, int32_t sleepers) {
    posix_bell *system = system_of(bell);
    pthread_mutex_lock(&system->mutex);
    atomic_fetch_add(&bell->rung, 1);
    pthread_mutex_unlock(&system->mutex);
    while (sleepers-- > 0) pthread_cond_signal(&system->changed);
}

/* The processor ------------------------------------------------------------------------------ */

#if defined(__APPLE__) && defined(__aarch64__)

bool ml_os_has(ml_os_feature feature) {
    const char *name = feature == ML_OS_DOT_PRODUCTS  ? "hw.optional.arm.FEAT_DotProd"
                       : feature == ML_OS_INT8_MATRIX ? "hw.optional.arm.FEAT_I8MM"
                                                      : NULL;
    int found = 0;
    size_t size = sizeof found;
    return name && sysctlbyname(name, &found, &size, NULL, 0) == 0 && found != 0;
}

#else

bool ml_os_has(ml_os_feature feature) { return false; }

#endif
