/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The file of an object: in memory, or a temporary one where the system has none or tracers would not find it; and the dynamic linker,
 * which makes it known to debuggers, to unwinders, and to a tracer that waits for libraries.
 */
#define _GNU_SOURCE
#include "probe.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MFD_CLOEXEC
#define MFD_CLOEXEC 1u
#define MFD_ALLOW_SEALING 2u
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x10u /* Linux 6.3: the file may be mapped for execution, whatever the system's default is */
#endif

/* A child that is forked while another thread is in the dynamic linker has it as it was in that moment: glibc ends it at its next
 * dlopen(). So nobody forks while we are there. Not longer than a second: who forks may be in the dynamic linker himself, in the
 * constructor of a library, for which we wait there. */
static pthread_mutex_t linking = PTHREAD_MUTEX_INITIALIZER;
static __thread int holds;

static void before_fork(void)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    ++until.tv_sec;
    holds = pthread_mutex_timedlock(&linking, &until) == 0;
}

static void after_fork(void)
{
    if (holds)
        pthread_mutex_unlock(&linking);
    holds = 0;
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

static void* load(const char* path, int flags)
{
    void* handle;
    pthread_mutex_lock(&linking);
    handle = dlopen(path, flags);
    pthread_mutex_unlock(&linking);
    return handle;
}

static int unload(void* handle)
{
    int result;
    pthread_mutex_lock(&linking);
    result = dlclose(handle);
    pthread_mutex_unlock(&linking);
    return result;
}

/* Providers with temporary files. Those that nobody frees go when the program ends: an interpreter seldom frees any. */
static fastsdt_probes* files; /* under the mutex */

static void add_file(fastsdt_probes* provider)
{
    provider->maker = (int)getpid();
    pthread_mutex_lock(&linking);
    provider->next_file = files;
    files = provider;
    pthread_mutex_unlock(&linking);
}

static void remove_file(const fastsdt_probes* provider)
{
    if (provider->maker == (int)getpid()) /* to a forked child it is only lent */
        unlink(provider->path);
}

static void forget_file(fastsdt_probes* provider)
{
    fastsdt_probes** at;
    pthread_mutex_lock(&linking);
    for (at = &files; *at; at = &(*at)->next_file)
        if (*at == provider) {
            *at = provider->next_file;
            break;
        }
    pthread_mutex_unlock(&linking);
}

__attribute__((destructor)) static void remove_files(void)
{
    const fastsdt_probes* at;
    if (pthread_mutex_trylock(&linking) != 0)
        return; /* a thread is loading while the program ends */
    for (at = files; at; at = at->next_file)
        remove_file(at);
    pthread_mutex_unlock(&linking);
}

static int write_all(int to, const unsigned char* bytes, size_t size)
{
    while (size) {
        const ssize_t done = write(to, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return -1;
        bytes += done;
        size -= (size_t)done;
    }
    return 0;
}

/* Remembers which file the descriptor is of. */
static void identify(fastsdt_probes* provider)
{
    struct stat status;
    memset(&status, 0, sizeof status);
    fstat(provider->descriptor, &status);
    provider->identity[0] = status.st_dev;
    provider->identity[1] = status.st_ino;
}

static int is_ours(const fastsdt_probes* provider, const struct stat* status)
{
    return provider->identity[0] == status->st_dev && provider->identity[1] == status->st_ino;
}

static void close_file(fastsdt_probes* provider)
{
    struct stat status;
    /* A program that closes all descriptors may have another file there by now. */
    if (provider->descriptor >= 0 && fstat(provider->descriptor, &status) == 0 && is_ours(provider, &status))
        close(provider->descriptor);
    provider->descriptor = -1;
}

/* Another number for the descriptor, from `least` on. */
static int renumber(fastsdt_probes* provider, int least)
{
    const int other = fcntl(provider->descriptor, F_DUPFD_CLOEXEC, least);
    if (other < 0)
        return -1;
    close(provider->descriptor);
    provider->descriptor = other;
    return 0;
}

static int create_memory(fastsdt_probes* provider, const unsigned char* image, size_t size)
{
    char name[240]; /* the kernel takes 249 bytes */
    snprintf(name, sizeof name, "probes:%.200s", provider->name);
    provider->descriptor = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC);
    if (provider->descriptor < 0 && errno == EINVAL)
        provider->descriptor = (int)syscall(SYS_memfd_create, name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (provider->descriptor < 0)
        return -1;
    identify(provider);
    /* 0 to 2 are somebody's input and output. */
    if ((provider->descriptor < 3 && renumber(provider, 3) != 0) || write_all(provider->descriptor, image, size) != 0) {
        close_file(provider);
        return -1;
    }
    /* Nobody changes it: whoever maps it later has what stands there now. Not every kernel can. */
    (void)fcntl(provider->descriptor, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
    return 0;
}

/* Loads the memory file by a path under /proc, by which others find it too. */
static int load_memory(fastsdt_probes* provider)
{
    const int own = (int)getpid();
    for (;;) {
        struct stat status;
        void* other;
        snprintf(provider->path, sizeof provider->path, "/proc/%d/fd/%d", own, provider->descriptor);
        if (stat(provider->path, &status) != 0 || !is_ours(provider, &status)) { /* /proc is of another PID namespace */
            snprintf(provider->path, sizeof provider->path, "/proc/self/fd/%d", provider->descriptor);
            if (stat(provider->path, &status) != 0 || !is_ours(provider, &status))
                return -1;
        }
        /* The dynamic linker knows objects by their paths. If one is loaded by this name, somebody has closed its descriptor. */
        other = load(provider->path, RTLD_NOLOAD | RTLD_LAZY);
        if (!other)
            break;
        unload(other);
        if (renumber(provider, provider->descriptor + 1) != 0)
            return -1;
    }
    provider->handle = load(provider->path, RTLD_NOW | RTLD_LOCAL);
    return provider->handle ? 0 : -1;
}

static int load_file(fastsdt_probes* provider, const unsigned char* image, size_t size)
{
    const char* folder = secure_getenv("TMPDIR");
    int file, done;
    if (!folder || folder[0] != '/')
        folder = "/tmp";
    if ((size_t)snprintf(provider->path, sizeof provider->path, "%s/fastsdt-XXXXXX.so", folder)
        >= sizeof provider->path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    file = mkostemps(provider->path, 3, O_CLOEXEC);
    if (file < 0) {
        provider->path[strlen(folder)] = '\0'; /* for the error: no file, but a folder */
        return -1;
    }
    /* As a library is: tracers of other users read it. */
    done = write_all(file, image, size) == 0 && fchmod(file, 0755) == 0;
    if (close(file) != 0 || !done) {
        const int why = errno;
        unlink(provider->path);
        errno = why;
        return -1;
    }
    provider->handle = load(provider->path, RTLD_NOW | RTLD_LOCAL);
    if (!provider->handle) {
        unlink(provider->path);
        errno = 0;
        return -1;
    }
    return 0;
}

int place_load(fastsdt_probes* provider, const unsigned char* image, size_t size, fastsdt_probes_error* error)
{
    char where[sizeof provider->path];
    if (!(provider->flags & FASTSDT_PROBES_FILE) && create_memory(provider, image, size) == 0) {
        if (load_memory(provider) == 0)
            return 0;
        close_file(provider);
    }
    errno = 0;
    if (load_file(provider, image, size) == 0) {
        add_file(provider);
        return 0;
    }
    strcpy(where, provider->path);
    provider->path[0] = '\0';
    if (errno)
        return fails(error, FASTSDT_PROBES_UNUSABLE, where, "set TMPDIR to a folder where it may",
                     "no file can be made: %s", strerror(errno));
    return fails(error, FASTSDT_PROBES_UNUSABLE, where,
                 "mount /proc, or set TMPDIR to a folder that is not mounted noexec", "it cannot be loaded: %s",
                 dlerror());
}

int place_unload(fastsdt_probes* provider, fastsdt_probes_error* error)
{
    /* libstapsdt shows the handle: if somebody else has closed it, dlclose() would read what is freed. */
    void* const loaded = load(provider->path, RTLD_NOLOAD | RTLD_LAZY);
    int kind = 0;
    if (loaded)
        unload(loaded);
    else
        dlerror(); /* is not for the caller to find */
    if (loaded != provider->handle)
        kind = fails(error, FASTSDT_PROBES_UNUSABLE, provider->path, "", "somebody else has unloaded it");
    else if (unload(provider->handle) != 0)
        kind = fails(error, FASTSDT_PROBES_UNUSABLE, provider->path, "", "it cannot be unloaded: %s", dlerror());
    provider->handle = NULL;
    if (provider->descriptor >= 0) {
        close_file(provider);
    } else {
        forget_file(provider);
        remove_file(provider);
    }
    provider->path[0] = '\0';
    return kind;
}

char* place_base(const fastsdt_probes* provider)
{
    struct link_map* map = NULL;
    return dlinfo(provider->handle, RTLD_DI_LINKMAP, &map) == 0 ? (char*)map->l_addr : NULL;
}
