/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fastsdt/trace.h: traces probe sites of this process, or of another one, without the kernel and without root.
 *
 *     fastsdt_trace_error error;
 *     fastsdt_trace *self = fastsdt_trace_open(0, &error);
 *     fastsdt_trace_attachment *orders =
 *         fastsdt_trace_attach(self, "usdt:*:shop:order { @[arg0] = count(); @cents = hist(arg2); }", &error);
 *     ...
 *     fastsdt_trace_maps *maps = fastsdt_trace_maps_read(orders, &error);
 *     ...
 *     fastsdt_trace_maps_free(maps);
 *     fastsdt_trace_close(self, &error);
 *
 * Link with libfastsdt-trace: pkg-config --libs fastsdt-trace. C89, C++98.
 *
 * Errors. What can fail returns NULL or -1 and says why in *error; `error` may be NULL. Nothing is printed, nothing ends the
 * process, no C++ exception leaves the library.
 *
 * Threads. Every function may be called from any thread; those that change or read one process wait for each other. Not from a
 * signal handler, and not from a fastsdt_trace_function. In a forked child the handles are its parent's: open anew.
 *
 * Addresses are runtime addresses of the process that is traced.
 */
#ifndef FASTSDT_TRACE_H
#define FASTSDT_TRACE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* ---- Errors */

#define FASTSDT_TRACE_TEXT 1    /* the script is wrong, or says what this library does not do: line and column */
#define FASTSDT_TRACE_REFUSED 2 /* the process cannot be traced, or not any more: text says why and what to do */
#define FASTSDT_TRACE_MISUSE 3  /* a call that makes no sense here */
#define FASTSDT_TRACE_BUSY 4    /* threads are in the way: call again */
#define FASTSDT_TRACE_MEMORY 5  /* none is left */

typedef struct fastsdt_trace_error {
    int kind;              /* FASTSDT_TRACE_*; 0: none */
    unsigned line, column; /* FASTSDT_TRACE_TEXT: of the script, in bytes from 1 */
    char text[500];        /* one line, no control characters */
} fastsdt_trace_error;

/* ---- A process */

/* The version of the library: 10000 * major + 100 * minor + patch. */
unsigned fastsdt_trace_version(void);

typedef struct fastsdt_trace fastsdt_trace;

/* `pid` 0, or one's own: this process. Its threads run on while sites are armed and disarmed. Refused with a seccomp filter.
 * Another one: it is stopped by ptrace for the moment of a change, which takes the right to trace it. Meanwhile no thread of
 * this process may wait for any child (waitpid(-1)), and SIGCHLD may come. */
fastsdt_trace* fastsdt_trace_open(pid_t pid, fastsdt_trace_error* error);

/* Detaches what is attached, then frees the handle and its attachments. On error all of them are still there. A process that has
 * ended is no error. */
int fastsdt_trace_close(fastsdt_trace* trace, fastsdt_trace_error* error);

/* ---- Attaching */

typedef struct fastsdt_trace_attachment fastsdt_trace_attachment;

/* Arms the sites that `script` names; fastsdt-trace(1) has the language. BEGIN, END and interval are the caller's business.
 * No error where a site cannot be armed, or where there is none yet: fastsdt_trace_sites_read() tells. A site takes one
 * attachment at a time; a script may have many clauses for it.
 * This process keeps stubs and tables of a script that was detached, and takes them again when the same text is attached: a
 * program that attaches and detaches for ever should not make up new texts for ever. */
fastsdt_trace_attachment* fastsdt_trace_attach(fastsdt_trace* trace, const char* script, fastsdt_trace_error* error);

/* What a function gets to know of a hit. Valid until it returns. */
typedef struct fastsdt_trace_hit {
    const char* probe;       /* "usdt:/path/of/file:provider:name" */
    uintptr_t address;       /* of the site */
    unsigned arguments;      /* of a probe: how many it has, at most 12. Entries: 6. Exits: 1, the result */
    unsigned readable;       /* bit N: argument[N] is its value. Else 0: floating point, memory where there is none */
    const int64_t* argument; /* of fewer than 8 bytes: extended as the probe says, by sign or by zeros */
} fastsdt_trace_hit;

/* Is called by the thread that passes the site, wherever that is: in a signal handler, with locks held, on a small stack (it
 * takes some 4 KiB by itself). So it may do what a signal handler may do, and the data it shares with the program has to be
 * atomic. It may use all registers, vector registers and floating point: they and the flags are put back, and so is errno. It
 * returns, always: no longjmp, exception or pthread_exit.
 * While it runs, what its thread hits is not delivered and counts as dropped, its own sites and those of other functions. */
typedef void fastsdt_trace_function(const fastsdt_trace_hit* hit, void* context);

/* Calls `function` for each hit of the sites that `probes` names: a script without its action, "usdt:*:shop:order /arg2 > 1000/".
 * Of this process only. In a child that is forked it is not called. */
fastsdt_trace_attachment* fastsdt_trace_attach_function(fastsdt_trace* trace, const char* probes,
                                                        fastsdt_trace_function* function, void* context,
                                                        fastsdt_trace_error* error);

/* After modules came (dlopen) or went, or a site was lost to another tracer: arms what is not armed and can be. */
int fastsdt_trace_update(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error);

/* The sites' bytes are those of the file again; then frees the attachment. Read its maps first.
 * A function is not being called any more afterwards, by no thread: what it needs may go. FASTSDT_TRACE_BUSY where a call
 * lasts: the sites are the file's, the attachment is still there, call again. */
int fastsdt_trace_detach(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error);

/* ---- Sites */

typedef struct fastsdt_trace_sites fastsdt_trace_sites; /* as they were when they were read; anybody's to free */

typedef struct fastsdt_trace_site {
    const char* probe; /* as fastsdt_trace_hit has it */
    uintptr_t address;
    int armed;
    const char* reason; /* "armed", "has no nop10" (arm64: "nop"), "taken by the kernel", "taken by tracer 4711", ... */
} fastsdt_trace_site;

/* Looks at each site: somebody else may have changed it. */
fastsdt_trace_sites* fastsdt_trace_sites_read(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error);
size_t fastsdt_trace_sites_count(const fastsdt_trace_sites* sites);
/* NULL: there is none of that number. Valid until the sites are freed. */
const fastsdt_trace_site* fastsdt_trace_sites_get(const fastsdt_trace_sites* sites, size_t index);
void fastsdt_trace_sites_free(fastsdt_trace_sites* sites);

/* ---- Maps */

typedef struct fastsdt_trace_maps fastsdt_trace_maps; /* as they were when they were read; anybody's to free */

#define FASTSDT_TRACE_COUNT 1
#define FASTSDT_TRACE_SUM 2
#define FASTSDT_TRACE_MIN 3
#define FASTSDT_TRACE_MAX 4
#define FASTSDT_TRACE_AVG 5
#define FASTSDT_TRACE_STATS 6
#define FASTSDT_TRACE_HIST 7
#define FASTSDT_TRACE_LHIST 8
#define FASTSDT_TRACE_INTEGER 9 /* what was assigned last */
#define FASTSDT_TRACE_STRING 10

typedef struct fastsdt_trace_map {
    const char* name; /* with its "@" */
    int kind;         /* FASTSDT_TRACE_COUNT, ... */
    int is_signed;    /* numbers of the entries; else they are uint64_t */
    size_t keys;      /* of each entry; 0: one entry at most */
    size_t entries;
    size_t buckets; /* of each entry of a hist or lhist, else 0 */
} fastsdt_trace_map;

/* text NULL: a number. A text is what the process has put there: any bytes but NUL. */
typedef struct fastsdt_trace_value {
    const char* text;
    int64_t number;
} fastsdt_trace_value;

typedef struct fastsdt_trace_entry {
    const fastsdt_trace_value* key; /* fastsdt_trace_map.keys of them */
    fastsdt_trace_value value;      /* count, sum, min, max, integer, string. avg, stats: the average */
    int64_t total;                  /* sum, avg, stats: of all values, modulo 2^64 */
    uint64_t count;                 /* how many values there were; of an integer or a string: 0 */
    const uint64_t* bucket;         /* fastsdt_trace_map.buckets of them */
} fastsdt_trace_entry;

/* Adds up what all threads have recorded so far, while they go on. Changes nothing. Of a function: no maps, only
 * fastsdt_trace_maps_dropped(). */
fastsdt_trace_maps* fastsdt_trace_maps_read(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error);
size_t fastsdt_trace_maps_count(const fastsdt_trace_maps* maps);
/* NULL, also below: there is none of that number. Valid until the maps are freed. Maps come in the order of their first mention,
 * entries by their keys. */
const fastsdt_trace_map* fastsdt_trace_maps_get(const fastsdt_trace_maps* maps, size_t map);
const fastsdt_trace_entry* fastsdt_trace_maps_entry(const fastsdt_trace_maps* maps, size_t map, size_t entry);
/* The values that a bucket counts, from *low to *high; -1: there is no such bucket. The first and the last of a hist or lhist reach
 * to the smallest and the largest number. */
int fastsdt_trace_maps_bucket(const fastsdt_trace_maps* maps, size_t map, size_t bucket, int64_t* low, int64_t* high);
/* Hits, or statements of them, that found no room or were not delivered. */
uint64_t fastsdt_trace_maps_dropped(const fastsdt_trace_maps* maps);
void fastsdt_trace_maps_free(fastsdt_trace_maps* maps);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
