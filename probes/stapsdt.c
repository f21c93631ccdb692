/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libstapsdt.so.0 over libfastsdt-probes: names and structures are those of linux-usdt/libstapsdt 0.1, so that its wrappers run with it as
 * they are.
 */
#define _GNU_SOURCE
#include "probe.h"

#include <fastsdt/stapsdt/libstapsdt.h>

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

/* What a semaphore is while nobody traces. Wrappers that do not call a function for each probe (Go's salp) look themselves whether the first
 * byte of the function that fires, which is a nop (0x90) unless there is a breakpoint, has both bits of 0x90. So _fire leads to the semaphore,
 * and that has these bits; with up to 16 tracers, each of which adds one, it has not. */
#define IDLE 0x9f

struct provider {
    SDTProvider_t shown;
    fastsdt_probes* own; /* NULL: not loaded */
};

struct listed {
    SDTProbeList_t shown;
    fastsdt_probe* own;
};

static void set_error(SDTProvider_t* provider, SDTError_t kind, const fastsdt_probes_error* why)
{
    char* text = NULL;
    free(provider->error);
    if (asprintf(&text, "%s%s%s", why->where, why->where[0] ? ": " : "", why->what) < 0)
        text = NULL;
    provider->error = text;
    provider->errno = kind;
}

static void unload(SDTProvider_t* provider)
{
    struct provider* const whole = (struct provider*)provider;
    SDTProbeList_t* at;
    fastsdt_probes_free(whole->own);
    whole->own = NULL;
    for (at = provider->probes; at; at = at->next) {
        at->probe._fire = NULL;
        ((struct listed*)at)->own = NULL;
    }
    free(provider->_filename);
    provider->_filename = NULL;
    provider->_handle = NULL;
    provider->_memfd = -1;
}

SDTProvider_t* providerInit(const char* name)
{
    struct provider* const made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->shown.name = strdup(name ? name : "");
    made->shown.errno = noError;
    made->shown._memfd = -1;
    made->shown._use_memfd = memfd_enabled;
    if (!made->shown.name) {
        free(made);
        return NULL;
    }
    return &made->shown;
}

int providerUseMemfd(SDTProvider_t* provider, const MemFDOption_t use_memfd)
{
    if (!provider || provider->_handle)
        return 0;
    provider->_use_memfd = use_memfd;
    return 1;
}

static const char* type_of(int size)
{
    switch (size) {
    case uint8: return "uint8_t";
    case int8: return "int8_t";
    case uint16: return "uint16_t";
    case int16: return "int16_t";
    case uint32: return "uint32_t";
    case int32: return "int32_t";
    case uint64: return "uint64_t";
    case int64: return "int64_t";
    default: return NULL;
    }
}

SDTProbe_t* providerAddProbe(SDTProvider_t* provider, const char* name, int argCount, ...)
{
    struct listed* made;
    SDTProbe_t* probe;
    va_list types;
    int i, sound = argCount >= 0 && argCount <= MAX_ARGUMENTS;
    if (!provider)
        return NULL;
    made = calloc(1, sizeof *made);
    if (!made)
        return NULL;
    probe = &made->shown.probe;
    probe->provider = provider;
    probe->argCount = argCount;
    va_start(types, argCount);
    for (i = 0; sound && i < argCount; ++i) {
        probe->argFmt[i] = (ArgType_t)va_arg(types, int);
        sound = type_of(probe->argFmt[i]) != NULL;
    }
    va_end(types);
    if (!sound) {
        fastsdt_probes_error error;
        fails(&error, FASTSDT_PROBES_MISUSE, name ? name : "", "",
              "a probe has up to %d arguments of 1, 2, 4 or 8 bytes", MAX_ARGUMENTS);
        set_error(provider, elfCreationError, &error);
        free(made);
        return NULL;
    }
    probe->name = strdup(name ? name : "");
    if (!probe->name) {
        free(made);
        return NULL;
    }
    made->shown.next = provider->probes;
    provider->probes = &made->shown;
    return probe;
}

int providerLoad(SDTProvider_t* provider)
{
    struct provider* const whole = (struct provider*)provider;
    fastsdt_probes_error error;
    SDTProbeList_t* at;
    int kind;
    unload(provider); /* once more: with the probes that were added since */
    whole->own =
        fastsdt_probes_new(provider->name, provider->_use_memfd == memfd_enabled ? 0 : FASTSDT_PROBES_FILE, &error);
    if (!whole->own) {
        set_error(provider, tmpCreationError, &error);
        return -1;
    }
    for (at = provider->probes; at; at = at->next) {
        char arguments[MAX_ARGUMENTS * sizeof "uint64_t,"];
        int i;
        arguments[0] = '\0';
        for (i = 0; i < at->probe.argCount; ++i)
            strcat(strcat(arguments, i ? "," : ""), type_of(at->probe.argFmt[i]));
        ((struct listed*)at)->own = fastsdt_probes_add(whole->own, at->probe.name, arguments, &error);
        if (!((struct listed*)at)->own) {
            set_error(provider, elfCreationError, &error);
            unload(provider);
            return -1;
        }
    }
    kind = fastsdt_probes_load(whole->own, &error);
    if (kind != 0) {
        set_error(provider, kind == FASTSDT_PROBES_UNUSABLE ? sharedLibraryOpenError : elfCreationError, &error);
        unload(provider);
        return -1;
    }
    provider->_handle = whole->own->handle;
    provider->_filename = strdup(fastsdt_probes_path(whole->own));
    provider->_memfd = whole->own->descriptor;
    for (at = provider->probes; at; at = at->next) {
        /* A tracer may have been faster: add. */
        unsigned short* const semaphore = (unsigned short*)(uintptr_t)((struct listed*)at)->own->active;
        __atomic_fetch_add(semaphore, IDLE, __ATOMIC_SEQ_CST);
        at->probe._fire = semaphore;
    }
    return 0;
}

int providerUnload(SDTProvider_t* provider)
{
    struct provider* const whole = (struct provider*)provider;
    fastsdt_probes_error error;
    SDTProbeList_t* at;
    if (!whole->own)
        return 0;
    for (at = provider->probes; at; at = at->next)
        at->probe._fire = NULL;
    if (fastsdt_probes_unload(whole->own, &error) != 0) {
        set_error(provider, sharedLibraryCloseError, &error);
        return -1;
    }
    unload(provider);
    return 0;
}

void providerDestroy(SDTProvider_t* provider)
{
    SDTProbeList_t *at, *next;
    if (!provider)
        return;
    unload(provider);
    for (at = provider->probes; at; at = next) {
        next = at->next;
        free(at->probe.name);
        free(at);
    }
    free(provider->name);
    free(provider->error);
    free(provider);
}

static int is_enabled(const SDTProbe_t* probe)
{
    const volatile unsigned short* const semaphore = probe->_fire;
    return semaphore && *semaphore != IDLE;
}

void probeFire(SDTProbe_t* probe, ...)
{
    uint64_t values[MAX_ARGUMENTS];
    va_list given;
    int i;
    if (!probe || !is_enabled(probe))
        return;
    va_start(given, probe);
    for (i = 0; i < probe->argCount; ++i)
        values[i] = va_arg(given, uint64_t);
    va_end(given);
    fastsdt_probe_fire(((const struct listed*)probe)->own, values);
}

int probeIsEnabled(SDTProbe_t* probe)
{
    return probe && is_enabled(probe);
}
