/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The functions of fastsdt/probes.h.
 */
#include "probe.h"

#include <fastsdt/note.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The semaphore of all probes that are not loaded. */
static const volatile unsigned short never;

unsigned fastsdt_probes_version(void)
{
    return FASTSDT_VERSION;
}

/* Texts may be of anybody: no control characters. */
static void copy_text(char* to, size_t size, const char* from)
{
    size_t i;
    for (i = 0; i + 1 < size && from[i]; ++i)
        to[i] = (unsigned char)from[i] < ' ' || from[i] == 0x7f ? '?' : from[i];
    to[i] = '\0';
}

int fails(fastsdt_probes_error* error, int kind, const char* where, const char* cure, const char* what, ...)
{
    if (error) {
        char text[sizeof error->what];
        va_list values;
        va_start(values, what);
        vsnprintf(text, sizeof text, what, values);
        va_end(values);
        error->kind = kind;
        copy_text(error->what, sizeof error->what, text);
        copy_text(error->where, sizeof error->where, where);
        copy_text(error->cure, sizeof error->cure, cure);
    }
    return kind;
}

static void succeeds(fastsdt_probes_error* error)
{
    if (error)
        memset(error, 0, sizeof *error);
}

/* One thread changes a provider at a time. An error and no lock: a child that was forked meanwhile would wait for a thread that it does
 * not have. */
static int begin(fastsdt_probes* provider, fastsdt_probes_error* error)
{
    if (!provider)
        return fails(error, FASTSDT_PROBES_MISUSE, "", "", "there is no provider: NULL");
    if (__atomic_exchange_n(&provider->changing, 1, __ATOMIC_ACQUIRE))
        return fails(error, FASTSDT_PROBES_MISUSE, provider->name, "", "another thread is changing the provider");
    succeeds(error);
    return 0;
}

static int end(fastsdt_probes* provider, int kind)
{
    __atomic_store_n(&provider->changing, 0, __ATOMIC_RELEASE);
    return kind;
}

/* A name that tracers can ask for: in usdt:*:shop:order it is what stands between colons. */
static int check_name(const char* name, const char* where, fastsdt_probes_error* error)
{
    const char* at;
    if (!name || !*name)
        return fails(error, FASTSDT_PROBES_MISUSE, where, "", "a provider and a probe have a name");
    if (strlen(name) > FASTSDT_PROBES_LONGEST)
        return fails(error, FASTSDT_PROBES_MISUSE, where, "", "a name has at most %d bytes", FASTSDT_PROBES_LONGEST);
    for (at = name; *at; ++at)
        if ((unsigned char)*at <= ' ' || *at == ':' || *at == 0x7f)
            return fails(error, FASTSDT_PROBES_MISUSE, where, "write letters, digits and _",
                         "\"%s\" is no name that tracers could ask for", name);
    return 0;
}

fastsdt_probes* fastsdt_probes_new(const char* name, unsigned flags, fastsdt_probes_error* error)
{
    fastsdt_probes* provider;
    succeeds(error);
    if (check_name(name, "", error) != 0)
        return NULL;
    if (flags & ~(unsigned)FASTSDT_PROBES_FILE) {
        fails(error, FASTSDT_PROBES_MISUSE, name, "",
              "this version of libfastsdt-probes does not know one of its flags");
        return NULL;
    }
    provider = calloc(1, sizeof *provider);
    if (!provider) {
        fails(error, FASTSDT_PROBES_MEMORY, name, "", "no memory is left");
        return NULL;
    }
    strcpy(provider->name, name);
    provider->flags = flags;
    provider->descriptor = -1;
    provider->end = &provider->first;
    return provider;
}

static fastsdt_probe* add(fastsdt_probes* provider, const char* name, const char* arguments,
                          fastsdt_probes_error* error)
{
    char where[2 * FASTSDT_PROBES_LONGEST + 2];
    struct probe* probe;
    if (check_name(name, provider->name, error) != 0)
        return NULL;
    sprintf(where, "%s:%s", provider->name, name);
    if (provider->handle) {
        fails(error, FASTSDT_PROBES_MISUSE, where, "add it before, or unload the provider first",
              "the provider is loaded");
        return NULL;
    }
    probe = calloc(1, sizeof *probe);
    if (!probe) {
        fails(error, FASTSDT_PROBES_MEMORY, where, "", "no memory is left");
        return NULL;
    }
    if (arguments_read(&probe->arguments, arguments, where, error) != 0) {
        free(probe);
        return NULL;
    }
    strcpy(probe->name, name);
    probe->shown.active = &never;
    *provider->end = probe;
    provider->end = &probe->next;
    ++provider->count;
    return &probe->shown;
}

fastsdt_probe* fastsdt_probes_add(fastsdt_probes* provider, const char* name, const char* arguments,
                                  fastsdt_probes_error* error)
{
    fastsdt_probe* added;
    if (begin(provider, error) != 0)
        return NULL;
    added = add(provider, name, arguments, error);
    end(provider, 0);
    return added;
}

static int load(fastsdt_probes* provider, fastsdt_probes_error* error)
{
    unsigned char* image;
    size_t size;
    int broken, kind;
    struct probe* probe;
    char* base;
    if (provider->handle)
        return fails(error, FASTSDT_PROBES_MISUSE, provider->name, "", "the provider is loaded already");
    image = image_make(provider, &size, &broken);
    if (!image)
        return broken ? fails(error, FASTSDT_PROBES_UNUSABLE, "libfastsdt-probes", "", "the library is damaged")
                      : fails(error, FASTSDT_PROBES_MEMORY, provider->name, "", "no memory is left");
    kind = place_load(provider, image, size, error);
    free(image);
    if (kind != 0)
        return kind;
    base = place_base(provider);
    for (probe = provider->first; probe; probe = probe->next) {
        /* Who sees the semaphore sees the function too. */
        probe->site = (fastsdt_probe_function)(uintptr_t)(base + probe->code);
        __atomic_store_n(&probe->shown.active, (const volatile unsigned short*)(base + probe->semaphore),
                         __ATOMIC_RELEASE);
    }
    return 0;
}

int fastsdt_probes_load(fastsdt_probes* provider, fastsdt_probes_error* error)
{
    const int busy = begin(provider, error);
    return busy ? busy : end(provider, load(provider, error));
}

int fastsdt_probes_unload(fastsdt_probes* provider, fastsdt_probes_error* error)
{
    int kind = begin(provider, error);
    if (kind)
        return kind;
    if (provider->handle) {
        struct probe* probe;
        for (probe = provider->first; probe; probe = probe->next) {
            __atomic_store_n(&probe->shown.active, &never, __ATOMIC_RELEASE);
            probe->site = NULL;
        }
        kind = place_unload(provider, error);
    }
    return end(provider, kind);
}

void fastsdt_probes_free(fastsdt_probes* provider)
{
    struct probe *probe, *next;
    if (!provider)
        return;
    fastsdt_probes_unload(provider, NULL);
    for (probe = provider->first; probe; probe = next) {
        next = probe->next;
        free(probe->arguments.texts);
        free(probe);
    }
    free(provider);
}

const char* fastsdt_probes_path(const fastsdt_probes* provider)
{
    return provider && provider->path[0] ? provider->path : NULL;
}

int fastsdt_probe_is_active(const fastsdt_probe* probe)
{
    return probe && FASTSDT_PROBE_IS_ACTIVE(probe);
}

typedef uint64_t word;
#define FIRST_SIX v[0], v[1], v[2], v[3], v[4], v[5]
#define CALL(n, parameters, ...)                                                                                       \
    case n: ((void(*) parameters)probe->site)(__VA_ARGS__); break;

void fastsdt_probe_fire(const fastsdt_probe* shown, const uint64_t* v)
{
    const struct probe* const probe = (const struct probe*)shown;
    if (!shown || !FASTSDT_PROBE_IS_ACTIVE(shown))
        return;
    switch (probe->arguments.count) {
    case 0:
        probe->site();
        break;
        CALL(1, (word), v[0])
        CALL(2, (word, word), v[0], v[1])
        CALL(3, (word, word, word), v[0], v[1], v[2])
        CALL(4, (word, word, word, word), v[0], v[1], v[2], v[3])
        CALL(5, (word, word, word, word, word), v[0], v[1], v[2], v[3], v[4])
        CALL(6, (word, word, word, word, word, word), FIRST_SIX)
        CALL(7, (word, word, word, word, word, word, word), FIRST_SIX, v[6])
        CALL(8, (word, word, word, word, word, word, word, word), FIRST_SIX, v[6], v[7])
        CALL(9, (word, word, word, word, word, word, word, word, word), FIRST_SIX, v[6], v[7], v[8])
        CALL(10, (word, word, word, word, word, word, word, word, word, word), FIRST_SIX, v[6], v[7], v[8], v[9])
        CALL(11, (word, word, word, word, word, word, word, word, word, word, word), FIRST_SIX, v[6], v[7], v[8], v[9],
             v[10])
        CALL(12, (word, word, word, word, word, word, word, word, word, word, word, word), FIRST_SIX, v[6], v[7], v[8],
             v[9], v[10], v[11])
    }
}

fastsdt_probe_function fastsdt_probe_site(const fastsdt_probe* probe)
{
    return probe ? ((const struct probe*)probe)->site : NULL;
}
