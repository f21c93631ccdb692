/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fastsdt/probes.h: probes that a program makes while it runs, for languages that have no fastsdt.h.
 *
 *     fastsdt_probes_error error;
 *     fastsdt_probes *shop = fastsdt_probes_new("shop", 0, &error);
 *     fastsdt_probe *order = fastsdt_probes_add(shop, "order", "long id, const char *item", &error);
 *     uint64_t values[2];
 *     if (fastsdt_probes_load(shop, &error) != 0)
 *         printf("%s: %s\n", error.where, error.what);
 *     values[0] = 7;
 *     values[1] = (uintptr_t)"tea";
 *     fastsdt_probe_fire(order, values);
 *     fastsdt_probes_free(shop);
 *
 * Link with libfastsdt-probes: pkg-config --libs fastsdt-probes. C89, C++98. Linux on x86-64 and arm64.
 *
 * A provider becomes one shared object in memory, with a site and the notes of fastsdt.h for each probe: tracers find it among the
 * files that the process has mapped. While nobody traces a probe, firing it reads a word of memory.
 *
 * Threads. Any number of them fire a probe at the same time. A provider is changed (add, load, unload) by one at a time; a second one
 * gets an error. Different providers share nothing. While a provider is unloaded or freed, nobody may fire its probes.
 *
 * fork(). A child has its parent's probes, and may fire, unload and free them, and make others.
 *
 * Errors. A function that fails returns NULL, or the error's kind, and says why in *error; `error` may be NULL. Nothing is printed,
 * nothing ends the process. NULL for a probe is none that anybody traces.
 */
#ifndef FASTSDT_PROBES_H
#define FASTSDT_PROBES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* The version of the library: 10000 * major + 100 * minor + patch. */
unsigned fastsdt_probes_version(void);

/* ---- Errors */

#define FASTSDT_PROBES_UNUSABLE 1 /* the system does not let us: no file can be made, or loaded */
#define FASTSDT_PROBES_MISUSE 2   /* a call that makes no sense: a name that no tracer could ask for, 13 arguments */
#define FASTSDT_PROBES_MEMORY 3   /* none is left */

typedef struct fastsdt_probes_error {
    int kind;         /* FASTSDT_PROBES_UNUSABLE, ...; 0: none */
    char what[512];   /* one clause, no control characters; this and the others are cut if they are longer */
    char where[1024]; /* the provider, the probe, the file; "": the caller knows */
    char cure[256];   /* what to do; "": nothing is known */
} fastsdt_probes_error;

/* ---- Providers */

#define FASTSDT_PROBES_FILE 1      /* in a temporary file, not in memory: perf takes probes from files only */
#define FASTSDT_PROBES_MOST 12     /* arguments of a probe, as in fastsdt.h */
#define FASTSDT_PROBES_LONGEST 255 /* bytes of a name */

typedef struct fastsdt_probes fastsdt_probes;

/* What tracers read of it. Only the library makes one. */
typedef struct fastsdt_probe {
    /* The semaphore of its site: not 0 while somebody traces it. Always to be read: while the provider is not loaded, it is some 0. */
    const volatile unsigned short* active;
} fastsdt_probe;

/* A provider without probes. Names are words: no blank, no colon, no control character. `flags`: FASTSDT_PROBES_FILE, or 0. */
fastsdt_probes* fastsdt_probes_new(const char* name, unsigned flags, fastsdt_probes_error* error);

/* A probe of it, which is there for tracers from the next load on. `arguments`: their types and names as C has parameters, "long id,
 * const char *item"; NULL or "": none; names may be left out. Types: those of C and <stdint.h> of 1, 2, 4 or 8 bytes, size_t and its
 * like, bool, float, double, and every pointer. A script says args.id for one with a name. */
fastsdt_probe* fastsdt_probes_add(fastsdt_probes* provider, const char* name, const char* arguments,
                                  fastsdt_probes_error* error);

/* Makes the object of all probes that were added, and loads it. 0, or the error's kind. Until it is unloaded, no probe can be added. */
int fastsdt_probes_load(fastsdt_probes* provider, fastsdt_probes_error* error);

/* Takes it away again, whoever traces it; the probes stay, and can be loaded again. Nothing is loaded: nothing to do. */
int fastsdt_probes_unload(fastsdt_probes* provider, fastsdt_probes_error* error);

/* Unloads it and frees it with its probes. NULL: nothing to do. */
void fastsdt_probes_free(fastsdt_probes* provider);

/* The file of the object, as dlopen() was told; NULL while nothing is loaded. */
const char* fastsdt_probes_path(const fastsdt_probes* provider);

/* ---- Probes */

/* Whether somebody traces it. The macro is for C; both do the same. */
int fastsdt_probe_is_active(const fastsdt_probe* probe);
#define FASTSDT_PROBE_IS_ACTIVE(probe) (*(probe)->active != 0)

/* Passes the site, if somebody traces it. As many values as the probe has arguments: integers and pointers as they are (more bits than
 * its type has do not matter), the bits of a float or double. */
void fastsdt_probe_fire(const fastsdt_probe* probe, const uint64_t* values);

/* The function that has the site, which takes that many arguments of 64 bits and passes the site always; NULL while nothing is loaded.
 * For callers that make the call themselves. */
typedef void (*fastsdt_probe_function)(void);
fastsdt_probe_function fastsdt_probe_site(const fastsdt_probe* probe);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif /* FASTSDT_PROBES_H */
