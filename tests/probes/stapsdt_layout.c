/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Prints what callers of libstapsdt are compiled with: stapsdt.sh compares it with what that library's own header gives.
 */
#include <libstapsdt.h>

#include <stddef.h>
#include <stdio.h>

#define MEMBER(type, member)                                                                                           \
    printf(#type "." #member " %d %d\n", (int)offsetof(type, member), (int)sizeof(((type*)0)->member))
#define VALUE(name) printf(#name " %d\n", (int)(name))
#define FUNCTION(name, type)                                                                                           \
    do {                                                                                                               \
        type = name;                                                                                                   \
        printf(#name " %d\n", call != 0);                                                                              \
    } while (0)

int main(void)
{
    MEMBER(SDTProbe_t, name);
    MEMBER(SDTProbe_t, argFmt);
    MEMBER(SDTProbe_t, _fire);
    MEMBER(SDTProbe_t, provider);
    MEMBER(SDTProbe_t, argCount);
    MEMBER(SDTProbeList_t, probe);
    MEMBER(SDTProbeList_t, next);
    MEMBER(SDTProvider_t, name);
    MEMBER(SDTProvider_t, probes);
    MEMBER(SDTProvider_t, errno);
    MEMBER(SDTProvider_t, error);
    MEMBER(SDTProvider_t, _handle);
    MEMBER(SDTProvider_t, _filename);
    MEMBER(SDTProvider_t, _memfd);
    MEMBER(SDTProvider_t, _use_memfd);
    printf("sizes %d %d %d\n", (int)sizeof(SDTProbe_t), (int)sizeof(SDTProbeList_t), (int)sizeof(SDTProvider_t));
    VALUE(MAX_ARGUMENTS);
    VALUE(noError);
    VALUE(elfCreationError);
    VALUE(tmpCreationError);
    VALUE(sharedLibraryOpenError);
    VALUE(symbolLoadingError);
    VALUE(sharedLibraryCloseError);
    VALUE(noarg);
    VALUE(uint8);
    VALUE(int8);
    VALUE(uint16);
    VALUE(int16);
    VALUE(uint32);
    VALUE(int32);
    VALUE(uint64);
    VALUE(int64);
    VALUE(memfd_disabled);
    VALUE(memfd_enabled);
    FUNCTION(providerInit, SDTProvider_t * (*call)(const char*));
    FUNCTION(providerUseMemfd, int (*call)(SDTProvider_t*, const MemFDOption_t));
    FUNCTION(providerAddProbe, SDTProbe_t * (*call)(SDTProvider_t*, const char*, int, ...));
    FUNCTION(providerLoad, int (*call)(SDTProvider_t*));
    FUNCTION(providerUnload, int (*call)(SDTProvider_t*));
    FUNCTION(providerDestroy, void (*call)(SDTProvider_t*));
    FUNCTION(probeFire, void (*call)(SDTProbe_t*, ...));
    FUNCTION(probeIsEnabled, int (*call)(SDTProbe_t*));
    return 0;
}
