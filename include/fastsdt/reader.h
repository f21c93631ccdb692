/* SPDX-License-Identifier: BSD-2-Clause
 *
 * fastsdt/reader.h: the probes of a file or of a process, and what each kernel does at them.
 *
 *     fastsdt_reader_error error;
 *     fastsdt_reader *reader = fastsdt_reader_open("/usr/bin/shop", NULL, &error);
 *     const fastsdt_reader_image *image = fastsdt_reader_image_at(reader, 0);
 *     const fastsdt_reader_probe *probe;
 *     size_t i;
 *     for (i = 0; (probe = fastsdt_reader_probe_at(image, i)); ++i)
 *         printf("%s:%s(%s)\n", probe->provider, probe->name, probe->argument_string);
 *     fastsdt_reader_close(reader);
 *
 * Link with libfastsdt: pkg-config --libs fastsdt-reader. C89, C++98.
 *
 * What it reads need not be sound and may be made by an attacker: memory and time stay in proportion to the file's size.
 *
 * A reader is a copy. When fastsdt_reader_open() returns, the file is closed, and may change or go. Nothing is read later, so any
 * number of threads may use one reader at the same time. There is nothing that readers share.
 *
 * Everything that is got from a reader is valid until fastsdt_reader_close(). Texts end with NUL and are never NULL unless it says so
 * here; those that come from a file have any other bytes, UTF-8 or not, and control characters too.
 *
 * Errors. A function that fails returns NULL and says why in *error; `error` may be NULL. An index that is too large, and a NULL in
 * place of what it counts from, give NULL and are no errors. Nothing is printed, nothing ends the process, no C++ exception leaves
 * the library, and pthread_cancel() takes effect when a function has returned.
 *
 * Later versions may add members at the end of structures and values to what numbers mean. Only fastsdt_reader_options and
 * fastsdt_reader_error are made by the caller: the former says how long it is, and the latter never changes.
 */
#ifndef FASTSDT_READER_H
#define FASTSDT_READER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* The version of the library: 10000 * major + 100 * minor + patch. */
unsigned fastsdt_reader_version(void);

/* No such address, offset or number. */
#define FASTSDT_READER_NONE (~(uint64_t)0)

/* ---- Errors */

#define FASTSDT_READER_UNUSABLE 1 /* the file or the process cannot be read */
#define FASTSDT_READER_MISUSE 2   /* a call that makes no sense: an option that does not exist, NULL */
#define FASTSDT_READER_MEMORY 3   /* none is left */

typedef struct fastsdt_reader_error {
    int kind;         /* FASTSDT_READER_UNUSABLE, ...; 0: none */
    char what[512];   /* one clause, no control characters; this and the others are cut if they are longer */
    char where[1024]; /* the file, the process; "": the caller knows */
    char cure[256];   /* what to do; "": nothing is known */
} fastsdt_reader_error;

/* ---- Opening */

#define FASTSDT_READER_FUNCTIONS                                                                                       \
    1 /* all functions too, with their entries and exits. Opens the debug files of stripped files */
#define FASTSDT_READER_LINES 2 /* source lines of probes too. Opens separate debug files, and asks no server for one */
#define FASTSDT_READER_OUTSIDE 4 /* the members of thin archives outside of the archive's directory too */
/* Maps the file instead of copying it, which is cheaper for large ones. If somebody shortens it meanwhile, the program gets SIGBUS. */
#define FASTSDT_READER_MAP 8

typedef struct fastsdt_reader_options {
    size_t size;    /* sizeof(fastsdt_reader_options) */
    unsigned flags; /* FASTSDT_READER_FUNCTIONS, ...; or-ed */
    const char*
        kernels; /* whose verdicts are wanted: "6.1,6.12,6.18-7.2,rhel-9.6,this", "": none. NULL: those in use, as fastsdt-check has them */
} fastsdt_reader_options;

typedef struct fastsdt_reader fastsdt_reader;

/* An ELF file, or an archive of such. `options` NULL: no flags, the usual kernels. Devices, FIFOs and directories are refused before
 * they are opened. */
fastsdt_reader* fastsdt_reader_open(const char* path, const fastsdt_reader_options* options,
                                    fastsdt_reader_error* error);
/* The same of an open descriptor, wherever it has been read to. It stays open, and where it is. /proc has to be mounted. */
fastsdt_reader* fastsdt_reader_open_descriptor(int descriptor, const fastsdt_reader_options* options,
                                               fastsdt_reader_error* error);
/* The same of a file in memory, which is not written to. It has no source lines. No other file is opened. */
fastsdt_reader* fastsdt_reader_open_memory(const void* bytes, size_t size, const fastsdt_reader_options* options,
                                           fastsdt_reader_error* error);
/* The files with probes that a process has mapped (with FASTSDT_READER_FUNCTIONS, with recorded functions too), and what stands at
 * each place now. Needs the right to read its memory (ptrace(2)); the process runs on. */
fastsdt_reader* fastsdt_reader_open_process(pid_t pid, const fastsdt_reader_options* options,
                                            fastsdt_reader_error* error);
/* NULL: nothing to do. */
void fastsdt_reader_close(fastsdt_reader* reader);

/* What could not be read besides what was: members of an archive, files of a process. */
const fastsdt_reader_error* fastsdt_reader_trouble_at(const fastsdt_reader* reader, size_t index);
/* The names of the kernels, as verdicts have them: "6.12". */
const char* fastsdt_reader_kernel_at(const fastsdt_reader* reader, size_t index);

/* ---- Files */

#define FASTSDT_READER_EXECUTABLE 0
#define FASTSDT_READER_PIE 1
#define FASTSDT_READER_SHARED 2
#define FASTSDT_READER_RELOCATABLE 3

typedef struct fastsdt_reader_image {
    const char* path;     /* as it was given, or as the process has it; "": memory */
    const char* member;   /* its name in the archive; NULL: the file is none */
    const char* build_id; /* hexadecimal; NULL: there is none */
    const char* arch;     /* "x86_64", "arm64", ...; "unknown" */
    int machine;          /* e_machine */
    int bits;             /* 32 or 64 */
    int big_endian;
    int kind;           /* FASTSDT_READER_EXECUTABLE, ... */
    int separate_debug; /* the code is not in this file */
    int indexed;        /* fastsdt-index has been there */
    size_t probes, functions, findings;
    /* Of a process. A file that is mapped twice, by dlmopen(), is two images. */
    uint64_t start; /* runtime address of its lowest mapping, else NONE */
    int deleted;    /* replaced or removed since */
} fastsdt_reader_image;

/* In the order of the file, or of their addresses in the process. */
const fastsdt_reader_image* fastsdt_reader_image_at(const fastsdt_reader* reader, size_t index);

/* ---- Places: where a probe is, a function's entry, an exit */

/* What has become of a place in a process. */
#define FASTSDT_READER_NOT_LOOKED_AT (-1) /* no process, or the place is not mapped there */
#define FASTSDT_READER_UNTOUCHED 0
#define FASTSDT_READER_BREAKPOINT 1   /* a uprobe, or a debugger */
#define FASTSDT_READER_STALE_CALL 2   /* was optimized, and is a nop again */
#define FASTSDT_READER_OPTIMIZED 3    /* the kernel's call into its trampoline */
#define FASTSDT_READER_UPDATING 4     /* the kernel is in the middle of it */
#define FASTSDT_READER_JUMP 5         /* of a tracer in user space */
#define FASTSDT_READER_FOREIGN_CALL 6 /* leads to no trampoline that the process has */
#define FASTSDT_READER_DAMAGED 7      /* executing it breaks the stack pointer */
#define FASTSDT_READER_CHANGED 8      /* something else */
#define FASTSDT_READER_REMAPPED 9     /* a copy in anonymous memory, where no uprobe fires */
#define FASTSDT_READER_UNREADABLE 10

typedef struct fastsdt_reader_place {
    uint64_t address;        /* ELF vaddr; in an object counted from the start of `section` */
    uint64_t file_offset;    /* what the kernel wants for a uprobe; NONE: the file does not have it */
    const char* section;     /* of an object that has the address; NULL: no object */
    int layout;              /* FASTSDT_LAYOUT_* of fastsdt/note.h: as its record says, or its bytes if there is none */
    const char* layout_name; /* "nop1+nop10" */
    int state;               /* FASTSDT_STATE_* of fastsdt/recognize.h */
    const char* state_name;  /* "pristine"; NULL: the file has no code there */
    int recorded;            /* there is a layout note, or a function's record */
    unsigned patch_offset;   /* of the bytes that a kernel may write over, from `address` + `lead` */
    unsigned patch_length;   /* 0: none */
    unsigned lead;           /* of a function: bytes from `address` to where the probe is */
    unsigned flags;          /* FASTSDT_SITE_*, FASTSDT_ENTRY_* or FASTSDT_EXIT_* of the record */
    uint64_t bound;          /* the patchable bytes cross no multiple of it; 0: no promise, no record */
    const unsigned char* bytes; /* what the file has there: the layout, or the first bytes of an instruction */
    size_t byte_count;
    /* Of a process. */
    uint64_t runtime;                /* runtime address, or NONE */
    int change;                      /* FASTSDT_READER_UNTOUCHED, ... */
    const char* change_name;         /* "untouched"; NULL: it was not looked at */
    const unsigned char* live_bytes; /* what the process has there */
    size_t live_byte_count;
    uint64_t target; /* runtime address that a call or jump there leads to, or NONE */
} fastsdt_reader_place;

/* What a kernel does with a uprobe. From worst to best; those with UNSAFE change what the program does. */
#define FASTSDT_READER_UNKNOWN 0
#define FASTSDT_READER_REJECT 1
#define FASTSDT_READER_XOL_UNSAFE 2
#define FASTSDT_READER_EMULATE_UNSAFE 3
#define FASTSDT_READER_XOL 4     /* single-stepped out of line: two traps a hit */
#define FASTSDT_READER_EMULATE 5 /* one trap a hit */
#define FASTSDT_READER_OPTIMIZE_UNSAFE 6
#define FASTSDT_READER_OPTIMIZE 7 /* a call, no trap */

typedef struct fastsdt_reader_verdict {
    const char* kernel;
    int verdict;      /* FASTSDT_READER_UNKNOWN, ...: of a uprobe where the notes want it, at `address` + `lead` */
    const char* name; /* "emulate" */
    const char* why;  /* one clause, with the kernel's function or rule */
    /* Of a uprobe `patch_offset` bytes further on, where the layout begins with another instruction; else -1, NULL, NULL. */
    int patch_verdict;
    const char* patch_name;
    const char* patch_why;
    int attaches_at_patch; /* libbpf of that kernel's time attaches there by itself */
} fastsdt_reader_verdict;

/* By the index of the kernel. NULL also where the file has no code at the place. */
const fastsdt_reader_verdict* fastsdt_reader_verdict_at(const fastsdt_reader_place* place, size_t kernel);

/* ---- Findings: what is wrong, or worth knowing */

#define FASTSDT_READER_INFO 0
#define FASTSDT_READER_WARNING 1
#define FASTSDT_READER_ERROR 2

typedef struct fastsdt_reader_finding {
    const char* id; /* "bytes-mismatch": fastsdt-check --list-findings explains them; no id is renamed */
    int severity;   /* FASTSDT_READER_INFO, ... */
    const char* message;
    uint64_t address;    /* as places have it, or NONE: the file as a whole */
    const char* section; /* as places have it */
} fastsdt_reader_finding;

/* About the file as a whole. */
const fastsdt_reader_finding* fastsdt_reader_image_finding_at(const fastsdt_reader_image* image, size_t index);

/* ---- Probes */

typedef struct fastsdt_reader_probe {
    const fastsdt_reader_place* place;
    const char* provider;
    const char* name;
    const char* argument_string; /* as the note has it: "-4@%edi 8@%rsi" */
    size_t arguments, findings;
    const char* file; /* source file, or NULL */
    int line;
    uint64_t semaphore;        /* ELF vaddr; 0: none. NONE: defined in another object */
    uint64_t semaphore_offset; /* in the file, for the kernel's reference counter; 0: none */
    int semaphore_value;       /* of a process: how many tracers want the arguments; -1: none, or not read */
} fastsdt_reader_probe;

/* By address. */
const fastsdt_reader_probe* fastsdt_reader_probe_at(const fastsdt_reader_image* image, size_t index);
const fastsdt_reader_finding* fastsdt_reader_probe_finding_at(const fastsdt_reader_probe* probe, size_t index);

typedef struct fastsdt_reader_argument {
    const char* text; /* "-4@%edi" */
    int size;         /* bytes; 0: not given */
    int is_signed;
    int is_float;
    const char* operand; /* "%edi" */
    const char* name;    /* as the sources have it (FASTSDT_NAMED), or NULL */
    const char* type;    /* the same */
} fastsdt_reader_argument;

const fastsdt_reader_argument* fastsdt_reader_argument_at(const fastsdt_reader_probe* probe, size_t index);

/* What a tracer makes of an argument, best first. */
#define FASTSDT_READER_READS 0
#define FASTSDT_READER_CONDITIONAL 1 /* the value, if what `why` says holds */
#define FASTSDT_READER_UNSUPPORTED 2 /* nothing: it reads no arguments on this architecture */
#define FASTSDT_READER_MISREADS 3    /* accepts it and reads something else */
#define FASTSDT_READER_REJECTS 4     /* an error */

typedef struct fastsdt_reader_reading {
    const char* tracer; /* "libbpf", "bcc", "gdb", "systemtap" */
    int verdict;        /* FASTSDT_READER_READS, ... */
    const char* why;    /* "": it reads the value */
} fastsdt_reader_reading;

/* One for each tracer. */
const fastsdt_reader_reading* fastsdt_reader_reading_at(const fastsdt_reader_argument* argument, size_t tracer);

/* ---- Functions, with FASTSDT_READER_FUNCTIONS: those that fastprobe has recorded, and the others */

typedef struct fastsdt_reader_function {
    const fastsdt_reader_place* place; /* of its entry */
    const char* name;                  /* NULL: no symbol */
    size_t aliases;                    /* its other names */
    uint64_t size;
    int ifunc;    /* what stands there runs once and chooses the function that will be called */
    int selected; /* fastprobe has recorded it. The members below are 0 for others */
    int added;    /* fastprobe added the instruction of the entry */
    int missed;   /* it could not give the function the entry that was asked for */
    int returns_twice;
    int all_exits;            /* `exits` are all ways out */
    uint64_t stack_arguments; /* bytes of arguments on the stack, or NONE: unknown */
    size_t exits, findings;
} fastsdt_reader_function;

/* By address. */
const fastsdt_reader_function* fastsdt_reader_function_at(const fastsdt_reader_image* image, size_t index);
const char* fastsdt_reader_alias_at(const fastsdt_reader_function* function, size_t index);
const fastsdt_reader_finding* fastsdt_reader_function_finding_at(const fastsdt_reader_function* function, size_t index);

typedef struct fastsdt_reader_exit {
    const fastsdt_reader_place* place;
    int tail_call;           /* a jump to another function, which makes the result */
    int result;              /* where it is: FASTSDT_RESULT_* of fastsdt/note.h */
    const char* result_name; /* "register" */
    unsigned result_size;    /* bytes; 0: not known */
    int result_signed;       /* -1: not known */
    size_t findings;
} fastsdt_reader_exit;

/* By address. */
const fastsdt_reader_exit* fastsdt_reader_exit_at(const fastsdt_reader_function* function, size_t index);
const fastsdt_reader_finding* fastsdt_reader_exit_finding_at(const fastsdt_reader_exit* exit, size_t index);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
