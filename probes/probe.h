/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A provider and its probes, as all files of the library see them.
 */
#ifndef FASTSDT_PROBES_PROBE_H
#define FASTSDT_PROBES_PROBE_H

#include <fastsdt/probes.h>

/* Of a probe's arguments: what the notes say. */
struct arguments {
    unsigned count;
    int sizes[FASTSDT_PROBES_MOST]; /* as notes have them: negative if signed */
    char* texts;                    /* type, NUL, name, NUL of each; owned */
    size_t texts_size;
};

struct probe {
    fastsdt_probe shown; /* first, so that a pointer to one is a pointer to the other */
    fastsdt_probe_function site;
    struct arguments arguments;
    struct probe* next;       /* added later */
    uint64_t code, semaphore; /* addresses in the image */
    char name[FASTSDT_PROBES_LONGEST + 1];
};

struct fastsdt_probes {
    struct probe* first;
    struct probe** end;
    unsigned count, flags;
    int changing;              /* a thread is at it */
    void* handle;              /* of dlopen() */
    int descriptor;            /* of the memory file; -1: none */
    fastsdt_probes* next_file; /* of those that are loaded from temporary files */
    int maker;                 /* the process that made a temporary file */
    uint64_t
        identity[2]; /* device and inode of that: somebody else may have closed it, and opened another by its number */
    char path[1024]; /* what dlopen() was told; "": not loaded */
    char name[FASTSDT_PROBES_LONGEST + 1];
};

/* All fail in the same way: fill in the error, if there is one, and return its kind. `what` is a format. */
int fails(fastsdt_probes_error* error, int kind, const char* where, const char* cure, const char* what, ...)
#ifdef __GNUC__
    __attribute__((format(printf, 5, 6)))
#endif
    ;

/* Reads "long id, const char *item". 0, or the error's kind. */
int arguments_read(struct arguments* arguments, const char* text, const char* where, fastsdt_probes_error* error);

/* The object of a provider, made new; its probes know their addresses in it then. NULL: no memory, or (*broken) the library is not as it
 * was built. */
unsigned char* image_make(fastsdt_probes* provider, size_t* size, int* broken);

/* Puts an object into a file and loads it, and the other way round. 0, or the error's kind. */
int place_load(fastsdt_probes* provider, const unsigned char* image, size_t size, fastsdt_probes_error* error);
int place_unload(fastsdt_probes* provider, fastsdt_probes_error* error);
/* Where the loaded object's address 0 is. */
char* place_base(const fastsdt_probes* provider);

#endif
