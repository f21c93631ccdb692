/* SPDX-License-Identifier: BSD-2-Clause
 *
 * libstapsdt.h: what programs and wrappers for libstapsdt 0.1 compile against; tests/probes compares names and layouts with that library's
 * own header. The library is fastsdt's libstapsdt.so.0 (docs/runtime-probes.md). New programs take fastsdt/probes.h.
 */
#ifndef _LIBSTAPSDT_H
#define _LIBSTAPSDT_H

#define MAX_ARGUMENTS 6

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    noError = -1,
    elfCreationError = 0,
    tmpCreationError = 1,
    sharedLibraryOpenError = 2,
    symbolLoadingError = 3,
    sharedLibraryCloseError = 4
} SDTError_t;

/* Bytes of an argument, negative if it is signed. */
typedef enum {
    noarg = 0,
    uint8 = 1,
    int8 = -1,
    uint16 = 2,
    int16 = -2,
    uint32 = 4,
    int32 = -4,
    uint64 = 8,
    int64 = -8
} ArgType_t;

typedef enum { memfd_disabled = 0, memfd_enabled = 1 } MemFDOption_t;

struct SDTProvider;

typedef struct SDTProbe {
    char* name;
    ArgType_t argFmt[MAX_ARGUMENTS];
    void* _fire; /* NULL: not loaded. Else the semaphore, a 16-bit number that is 0x9f while nobody traces the probe */
    struct SDTProvider* provider;
    int argCount;
} SDTProbe_t;

typedef struct SDTProbeList_ {
    SDTProbe_t probe;
    struct SDTProbeList_* next;
} SDTProbeList_t;

typedef struct SDTProvider {
    char* name;
    SDTProbeList_t* probes; /* the last one first */
    SDTError_t errno;       /* do not include errno.h before this file */
    char* error;            /* NULL: none */

    void* _handle;
    char* _filename;
    int _memfd;
    MemFDOption_t _use_memfd;
} SDTProvider_t;

SDTProvider_t* providerInit(const char* name);
/* 1; 0: the provider is loaded. */
int providerUseMemfd(SDTProvider_t* provider, const MemFDOption_t use_memfd);
/* With argCount types (ArgType_t). NULL: more than 6, or another number; `error` says so. */
SDTProbe_t* providerAddProbe(SDTProvider_t* provider, const char* name, int argCount, ...);
/* 0, or -1: `errno` and `error` say why. */
int providerLoad(SDTProvider_t* provider);
int providerUnload(SDTProvider_t* provider);
void providerDestroy(SDTProvider_t* provider);

/* With argCount integers or pointers. */
void probeFire(SDTProbe_t* probe, ...);
int probeIsEnabled(SDTProbe_t* probe);

#ifdef __cplusplus
}
#endif

#endif
