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
 * Errors. A function that fails returns NULL or -1 and says why in *error; `error` may be NULL. Nothing is printed,
 * nothing ends the process, no C++ exception leaves the library.
 *
 * Later versions may add members at the end of structures and values to what numbers mean. Only fastsdt_trace_options and
 * fastsdt_trace_error are made by the caller: the former says how long it is, and the latter keeps its size.
 *
 * Threads. Every function may be called from any thread; those that change or read one process wait for each other.
 * pthread_cancel() of a thread that is in one takes effect when it returns.
 * None may be called from a signal handler or from a fastsdt_trace_function. Handles belong to the process that opened
 * them: a forked child opens its own.
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

#define FASTSDT_TRACE_TEXT 1    /* the script is wrong, or this library cannot do it: see line and column */
#define FASTSDT_TRACE_REFUSED 2 /* the process cannot be traced, or no longer: text says why and what to do */
#define FASTSDT_TRACE_MISUSE 3  /* a call that makes no sense here */
#define FASTSDT_TRACE_BUSY 4    /* threads are in the way: call again */
#define FASTSDT_TRACE_MEMORY 5  /* none is left */

typedef struct fastsdt_trace_error {
    int kind;              /* FASTSDT_TRACE_*; 0: none */
    unsigned line, column; /* FASTSDT_TRACE_TEXT: of the script, in bytes from 1 */
    char text[500];        /* one line, no control characters */
    char reserved[512];    /* zeros: members of later versions take its place, and the size stays */
} fastsdt_trace_error;

/* ---- A process */

/* The version of the library: 10000 * major + 100 * minor + patch. */
unsigned fastsdt_trace_version(void);

typedef struct fastsdt_trace fastsdt_trace;

/* `pid` 0, or one's own: this process. Its threads run on while sites are armed and disarmed. It is refused if it
 * has a seccomp filter. Another pid: ptrace stops that process for the moment of a change, which needs the right to
 * trace it. Meanwhile no thread of this process may wait for any child (waitpid(-1)), and SIGCHLD may come. */
fastsdt_trace* fastsdt_trace_open(pid_t pid, fastsdt_trace_error* error);

/* FASTSDT_TRACE_READ_MEMORY for all scripts that are attached from now on. */
int fastsdt_trace_read_memory(fastsdt_trace* trace, fastsdt_trace_error* error);

/* Detaches all attachments, then frees them and the handle. On error all of them are still there, but the sites of
 * some may be the file's again: call again. It is no error if the process has ended. */
int fastsdt_trace_close(fastsdt_trace* trace, fastsdt_trace_error* error);

/* ---- Attaching */

typedef struct fastsdt_trace_attachment fastsdt_trace_attachment;

/* Arms the sites that `script` names; fastsdt-trace(1) has the language. BEGIN, END and interval are the caller's
 * business. It is no error if a site cannot be armed, or if there is none yet: fastsdt_trace_sites_read() tells. A site
 * takes one attachment at a time; a script may have many clauses for it.
 * Functions, their exits and one-byte sites of another process are armed too, even if it was built without fastsdt: their first instructions give
 * way to a jump. This process cannot do that to itself: FASTSDT_TRACE_SITE_NOT_BY_ITSELF.
 * This process keeps stubs and tables of a script that was detached, and uses them again when the same text is
 * attached: a program that attaches and detaches for ever should not make up new texts for ever. */
fastsdt_trace_attachment* fastsdt_trace_attach(fastsdt_trace* trace, const char* script, fastsdt_trace_error* error);

/* The script may make system calls in the process to read memory, strings above all, though its files say that it may set a seccomp filter:
 * the caller knows that it sets none. Without this, such hits are fastsdt_trace_maps_unread(). */
#define FASTSDT_TRACE_READ_MEMORY 1
/* Of another process: sites that need instructions moved are left alone. */
#define FASTSDT_TRACE_NO_MOVE 2
/* Instructions that may raise a signal move too though the process handles it: its handler sees an address that is not of its code. Without
 * this they are not moved, and are put back if the process handles the signal later: see THREADS in fastsdt-trace(3). Not with NO_MOVE. */
#define FASTSDT_TRACE_MOVE_FAULTING 4
/* Stacks have addresses and files, "7f0012345678 main+12 (/usr/bin/shop)", where the script does not say otherwise: fastsdt_trace_maps_pprof()
 * wants them. */
#define FASTSDT_TRACE_ADDRESSES 8

typedef struct fastsdt_trace_options {
    size_t size;    /* sizeof(fastsdt_trace_options); all other members may be 0 */
    unsigned flags; /* FASTSDT_TRACE_READ_MEMORY, ...; or-ed */
    size_t buffer;  /* bytes for the events of each thread, 4 KiB to 1 GiB, rounded up to a power of two; 0: 64 KiB */
} fastsdt_trace_options;

/* fastsdt_trace_attach() with options; NULL: none. FASTSDT_TRACE_MISUSE: one is wrong, or this version does not know it. */
fastsdt_trace_attachment* fastsdt_trace_attach_with(fastsdt_trace* trace, const char* script,
                                                    const fastsdt_trace_options* options, fastsdt_trace_error* error);

/* What a function is told about a hit. Valid until the function returns. */
typedef struct fastsdt_trace_hit {
    const char* probe;       /* "usdt:/path/of/file:provider:name" */
    uintptr_t address;       /* of the site */
    unsigned arguments;      /* of a probe: how many it has, at most 12. Entries: 6. Exits: 1, the result */
    unsigned readable;       /* bit N: argument[N] is its value; else it is 0: floating point, or not readable */
    const int64_t* argument; /* of fewer than 8 bytes: extended as the probe says, by sign or by zeros */
} fastsdt_trace_hit;

/* Called by the thread that passes the site, wherever that is: in a signal handler, with locks held, on a small stack
 * (the call takes some 4 KiB). So it may do what a signal handler may do, and the data it shares with the program has
 * to be atomic. It may use all registers, vector registers and floating point: they and the flags are put back, and so
 * is errno. It has to return: no longjmp, exception or pthread_exit.
 * While it runs, its thread's hits are not delivered and count as dropped, at its own sites and at those of other
 * functions. */
typedef void fastsdt_trace_function(const fastsdt_trace_hit* hit, void* context);

/* Calls `function` for each hit of the sites that `probes` names: a script without its action, "usdt:*:shop:order /arg2 > 1000/".
 * Only for this process. A forked child does not call it. */
fastsdt_trace_attachment* fastsdt_trace_attach_function(fastsdt_trace* trace, const char* probes,
                                                        fastsdt_trace_function* function, void* context,
                                                        fastsdt_trace_error* error);

/* After modules came (dlopen) or went, or a site was lost to another tracer: arms the sites that are not armed and
 * can be. */
int fastsdt_trace_update(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error);

/* Puts the file's bytes back at the sites, then frees the attachment. Read its maps first.
 * After success no thread is in the function; its data may be freed. FASTSDT_TRACE_BUSY: a thread is still in the
 * function. Then the sites have the file's bytes, the attachment is still there; call again. */
int fastsdt_trace_detach(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error);

/* ---- Sites */

typedef struct fastsdt_trace_sites fastsdt_trace_sites; /* as they were when they were read; the caller frees them */

/* What a site is, or why it is not armed, and its `reason`. Later versions may add numbers. */
#define FASTSDT_TRACE_SITE_READY 0                /* not armed */
#define FASTSDT_TRACE_SITE_ARMED 1                /* armed */
#define FASTSDT_TRACE_SITE_NO_NOP 2               /* has no nop10 (arm64: nop) */
#define FASTSDT_TRACE_SITE_KERNEL 3               /* taken by the kernel */
#define FASTSDT_TRACE_SITE_OTHER_TRACER 4         /* taken by tracer 4711 */
#define FASTSDT_TRACE_SITE_OTHER_RUN 5            /* taken by another script of the same tracer */
#define FASTSDT_TRACE_SITE_LEFT_OVER 6            /* left by a tracer that has ended */
#define FASTSDT_TRACE_SITE_FOREIGN 7              /* taken by a jump that is not ours */
#define FASTSDT_TRACE_SITE_CHANGED 8              /* has other bytes than its file */
#define FASTSDT_TRACE_SITE_DAMAGED 9              /* damaged by another tracer */
#define FASTSDT_TRACE_SITE_CROSSES_PAGE 10        /* crosses a page */
#define FASTSDT_TRACE_SITE_NOT_PRIVATE 11         /* is not in private, executable memory */
#define FASTSDT_TRACE_SITE_TOO_FAR 12             /* has no free memory within reach */
#define FASTSDT_TRACE_SITE_BUSY 13                /* has a thread standing in it */
#define FASTSDT_TRACE_SITE_GONE 14                /* is not mapped any more */
#define FASTSDT_TRACE_SITE_NOT_UNDER_THREADS 15   /* lies so that it cannot change while threads run */
#define FASTSDT_TRACE_SITE_STALE_CALL 16          /* has the rest of a kernel's call */
#define FASTSDT_TRACE_SITE_OTHER_ARCHITECTURE 17  /* is of an architecture that only the kernel traces (arm64) */
#define FASTSDT_TRACE_SITE_HUGE_PAGES 18          /* has its text in huge pages, away from its file */
#define FASTSDT_TRACE_SITE_NO_EXIT_SITES 19       /* has no exit sites */
#define FASTSDT_TRACE_SITE_SHARED_NOP 20          /* shares its nop10 with another probe */
#define FASTSDT_TRACE_SITE_NO_ARGUMENT 21         /* has no arg3 */
#define FASTSDT_TRACE_SITE_UNREADABLE_ARGUMENT 22 /* has arg0 that is a floating-point number (-8f@%xmm0) */
#define FASTSDT_TRACE_SITE_NO_STACK_RECORD 23     /* has no record of its arguments on the stack */
#define FASTSDT_TRACE_SITE_NO_STACK_ARGUMENT 24   /* has no sarg1 */
#define FASTSDT_TRACE_SITE_EXIT_ARGUMENTS 25      /* has no arguments, being an exit */
#define FASTSDT_TRACE_SITE_TAIL_CALL 26           /* has no result yet, being a tail call */
#define FASTSDT_TRACE_SITE_NO_RESULT 27           /* has no result in an integer register */
#define FASTSDT_TRACE_SITE_NEEDS_SYSTEM_CALL 28   /* wants a string, which takes a system call, and a seccomp filter */
#define FASTSDT_TRACE_SITE_NO_CLOCK 29            /* wants nsecs, and the processor's counter is no clock */
#define FASTSDT_TRACE_SITE_TOO_MUCH_STACK 30      /* wants too much of the stack for keys and operands */
#define FASTSDT_TRACE_SITE_TOO_LONG 31            /* needs a stub that is longer than a jump can span */
#define FASTSDT_TRACE_SITE_NO_FUNCTIONS 32        /* would call a function: not where the processor has SME (arm64) */
#define FASTSDT_TRACE_SITE_NO_NAMED_ARGUMENT 33   /* has no argument named as the script wants */
#define FASTSDT_TRACE_SITE_CANNOT_MOVE 34         /* has no nop, and its instructions cannot give way to a jump */
#define FASTSDT_TRACE_SITE_OVERLAPS 35            /* its instructions would give way to another probe of the script */
#define FASTSDT_TRACE_SITE_NOT_GUARDED 36         /* the kernel's probes cannot be kept away from its instructions */
#define FASTSDT_TRACE_SITE_NO_STACKS 37           /* not any more: ustack(dwarf) is had on each architecture */
#define FASTSDT_TRACE_SITE_NO_SYMBOL 38           /* wants uaddr() of a symbol that its file does not have */
#define FASTSDT_TRACE_SITE_NO_PROCESSOR 39        /* not any more: the kernel is asked for cpu and numaid */
#define FASTSDT_TRACE_SITE_HANDLES_FAULTS 40      /* accesses memory, and the process handles SIGSEGV */
#define FASTSDT_TRACE_SITE_NO_GOROUTINE 43        /* wants goid, and is no function of a Go program */
#define FASTSDT_TRACE_SITE_ONLY_IN_KERNEL 44      /* wants cgroup or signal(), which only the kernel's engine has */
#define FASTSDT_TRACE_SITE_NOT_BY_ITSELF 45       /* has no nop10, and only another process can move its instructions */

typedef struct fastsdt_trace_site {
    const char* probe; /* as fastsdt_trace_hit has it */
    uintptr_t address;
    int armed;
    const char* reason; /* the sentence for `state` */
    int state;          /* FASTSDT_TRACE_SITE_* */
    int left_out;       /* it fits a pattern of functions and cannot be armed: a pattern means those that can */
} fastsdt_trace_site;

/* Looks at each site: somebody else may have changed it. */
fastsdt_trace_sites* fastsdt_trace_sites_read(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error);
size_t fastsdt_trace_sites_count(const fastsdt_trace_sites* sites);
/* NULL: no site has this index. Valid until the sites are freed. */
const fastsdt_trace_site* fastsdt_trace_sites_get(const fastsdt_trace_sites* sites, size_t index);
/* The probes of the script that mean nothing in the process so far, a sentence each, which says what there is instead: "nothing matches
 * usdt:*:shop:oder: the probes of shop are shop:closed, shop:order". NULL: there are not so many. Valid until the sites are freed. */
const char* fastsdt_trace_sites_missing(const fastsdt_trace_sites* sites, size_t index);
void fastsdt_trace_sites_free(fastsdt_trace_sites* sites);

/* ---- Maps */

typedef struct fastsdt_trace_maps fastsdt_trace_maps; /* as they were when they were read; the caller frees them */

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

/* text NULL: a number. The process may have put anything into a text: any bytes but NUL. */
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

/* Adds up what all threads have recorded so far, while they go on. Changes nothing. For an attached function there
 * are no maps, only fastsdt_trace_maps_dropped(). */
fastsdt_trace_maps* fastsdt_trace_maps_read(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error);
size_t fastsdt_trace_maps_count(const fastsdt_trace_maps* maps);
/* NULL: no map, or below no entry, has this index. Valid until the maps are freed. Maps come in the order of their
 * first mention, entries by their keys. */
const fastsdt_trace_map* fastsdt_trace_maps_get(const fastsdt_trace_maps* maps, size_t map);
const fastsdt_trace_entry* fastsdt_trace_maps_entry(const fastsdt_trace_maps* maps, size_t map, size_t entry);
/* What the texts and numbers of a map are: of key `key` of each entry, or of the value where that is an integer or a string. 0: there is no
 * such map or key, and of other values. */
#define FASTSDT_TRACE_VALUE_NUMBER 1
#define FASTSDT_TRACE_VALUE_TEXT 2
#define FASTSDT_TRACE_VALUE_STACK 3 /* a text with a line for each call, the innermost first */
#define FASTSDT_TRACE_VALUE_PROBE 4 /* a text: the name of a probe */
int fastsdt_trace_maps_key_kind(const fastsdt_trace_maps* maps, size_t map, size_t key);
int fastsdt_trace_maps_value_kind(const fastsdt_trace_maps* maps, size_t map);
/* The values that a bucket counts, from *low to *high; -1: there is no such bucket. The first and the last of a hist or lhist reach
 * to the smallest and the largest number. */
int fastsdt_trace_maps_bucket(const fastsdt_trace_maps* maps, size_t map, size_t bucket, int64_t* low, int64_t* high);
/* The number of hits, or of their statements, that found no room or were not delivered. */
uint64_t fastsdt_trace_maps_dropped(const fastsdt_trace_maps* maps);
/* The number of hits that were not recorded, or not delivered, for a value in memory that only a system call can read safely: the
 * process may set a seccomp filter, or has one. fastsdt-trace(1), "SECCOMP". */
uint64_t fastsdt_trace_maps_unread(const fastsdt_trace_maps* maps);
/* Why: a sentence about the process. Empty: nothing keeps such values from being read. Valid until the maps are freed. */
const char* fastsdt_trace_maps_unread_reason(const fastsdt_trace_maps* maps);
/* Counts and sums by one stack, as a profile that `go tool pprof`, Pyroscope, Grafana and speedscope read: a type of sample for each such map,
 * the other keys are labels. Not compressed. *size: its bytes. Valid until the maps are freed. NULL, FASTSDT_TRACE_MISUSE, and the error
 * says which: no map has a stack for a key, the script was attached without FASTSDT_TRACE_ADDRESSES, or it has stacks in a form without. */
const void* fastsdt_trace_maps_pprof(fastsdt_trace_maps* maps, size_t* size, fastsdt_trace_error* error);
void fastsdt_trace_maps_free(fastsdt_trace_maps* maps);
/* Makes the map as empty as clear(@map) does, while threads go on. @param map  its index, as fastsdt_trace_maps_get() has it.
 * 0, or -1: an error. */
int fastsdt_trace_clear(fastsdt_trace_attachment* attachment, size_t map, fastsdt_trace_error* error);

/* ---- Events: what printf(), print() and their like in a script record when a site is hit */

typedef struct fastsdt_trace_events fastsdt_trace_events; /* a batch, copied; the caller frees it */

#define FASTSDT_TRACE_EVENT_PRINTF 1 /* printf(), and print() of a value */
#define FASTSDT_TRACE_EVENT_PRINT 2  /* print(@map): the caller may read the maps and print it */
#define FASTSDT_TRACE_EVENT_CLEAR 3  /* clear(@map): fastsdt_trace_clear() does it */
#define FASTSDT_TRACE_EVENT_ZERO 4   /* zero(@map) */
#define FASTSDT_TRACE_EVENT_TIME 5   /* time() */
#define FASTSDT_TRACE_EVENT_EXIT 6   /* exit(): the caller may detach */
#define FASTSDT_TRACE_EVENT_CAT 7    /* cat() */
#define FASTSDT_TRACE_EVENT_JOIN 8   /* join(): one of its strings; without values: the thread's are complete */

typedef struct fastsdt_trace_event {
    int kind;
    unsigned line, column; /* of the statement in the script, from 1 */
    uint64_t clock;        /* the processor's counter, by which the events of a batch are sorted; 0: not known */
    size_t map;            /* PRINT, CLEAR, ZERO: its index */
    size_t values;         /* PRINTF, CAT: the arguments behind the format, or the printed value */
    const fastsdt_trace_value* value;
} fastsdt_trace_event;

/* Takes the events that threads have recorded since the last time, while they go on. Each thread has a buffer of 64 KiB, or
 * fastsdt_trace_options.buffer: what finds no room in it is lost, so read several times a second where much is recorded, or wait for
 * fastsdt_trace_events_descriptor(). Those that were not read before the attachment ends are gone. */
fastsdt_trace_events* fastsdt_trace_events_read(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error);
size_t fastsdt_trace_events_count(const fastsdt_trace_events* events);
/* NULL: no event has this index. Valid until the events are freed. */
const fastsdt_trace_event* fastsdt_trace_events_get(const fastsdt_trace_events* events, size_t index);
/* FASTSDT_TRACE_VALUE_*; 0: there is no such event or value. */
int fastsdt_trace_events_value_kind(const fastsdt_trace_events* events, size_t index, size_t value);
/* Events of the attachment that were lost so far. */
uint64_t fastsdt_trace_events_lost(const fastsdt_trace_events* events);
void fastsdt_trace_events_free(fastsdt_trace_events* events);
/* For poll() and event loops: readable from some milliseconds after an event was recorded until fastsdt_trace_events_read(). It is the library's:
 * do not read, write or close it; it is closed with the attachment. From now on a thread of the library looks for events 100 to 1000 times a
 * second, since a traced thread could tell only by a system call, and keeps up to 65,536 of them. It says nothing of the end of the
 * process: poll a pidfd beside it. The same each time. -1: an error. */
int fastsdt_trace_events_descriptor(fastsdt_trace_attachment* attachment, fastsdt_trace_error* error);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
