/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Hits its probes as tracers.py has it, through libstapsdt. As Go's salp it asks by the first byte that _fire leads to, too.
 */
#include <libstapsdt.h>

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int byte_says(const SDTProbe_t* probe)
{
    return probe->_fire && (*(const volatile unsigned char*)probe->_fire & 0x90) != 0x90;
}

/* What is wrong is said, and nothing else happens. */
static void said(const char* what, int result, const SDTProvider_t* provider)
{
    printf("%s: %d|%d|%s\n", what, result, provider->errno, provider->error ? provider->error : "");
}

static int misuse(void)
{
    char name[300];
    int result;
    SDTProvider_t* provider = providerInit("shop");
    SDTProbe_t* probe = providerAddProbe(provider, "order", 1, int32);
    result = providerAddProbe(provider, "many", 7, int8, int8, int8, int8, int8, int8, int8) == NULL;
    said("7 arguments", result, provider);
    result = providerAddProbe(provider, "odd", 1, 3) == NULL;
    said("a size", result, provider);
    probeFire(probe, 1);
    result = providerUnload(provider);
    printf("before: %d %d %d\n", probeIsEnabled(probe), probe->_fire == NULL, result);
    result = providerLoad(provider);
    printf("loaded: %d %d %d\n", result, provider->_handle != NULL,
           provider->_memfd > 2 && provider->_filename != NULL);
    printf("nobody traces: %d %d %d\n", probeIsEnabled(probe), byte_says(probe),
           provider->probes->probe._fire == probe->_fire);
    probeFire(probe, 1);
    printf("use_memfd: %d\n", providerUseMemfd(provider, memfd_disabled));
    result = providerUnload(provider);
    printf("unloaded: %d %d %d\n", result, probe->_fire == NULL, provider->_handle == NULL && provider->_memfd == -1);
    printf("use_memfd: %d\n", providerUseMemfd(provider, memfd_disabled));
    result = providerLoad(provider);
    printf("again, from a file: %d %d\n", result, provider->_memfd == -1 && access(provider->_filename, R_OK) == 0);
    providerAddProbe(provider, "later", 0);
    result = providerLoad(provider);
    printf("once more, with another: %d %d\n", result, provider->probes->probe._fire != NULL);
    dlclose(provider->_handle);
    result = providerUnload(provider);
    printf("unloaded by somebody else: %d|%d %d\n", result, provider->errno, provider->error != NULL);
    result = providerLoad(provider);
    printf("and loaded: %d\n", result);
    providerDestroy(provider); /* and unloads it */
    memset(name, 'x', sizeof name);
    name[299] = '\0';
    provider = providerInit(name);
    result = providerLoad(provider);
    said("a long name", result, provider);
    providerDestroy(provider);
    provider = providerInit("shop");
    providerAddProbe(provider, "a b", 0);
    result = providerLoad(provider);
    said("a blank", result, provider);
    providerDestroy(provider);
    provider = providerInit("shop");
    setenv("TMPDIR", "/nowhere", 1);
    providerUseMemfd(provider, memfd_disabled);
    result = providerLoad(provider);
    said("no folder", result, provider);
    providerDestroy(provider);
    return 0;
}

int main(int argc, char** argv)
{
    SDTProvider_t* provider = providerInit("shop");
    SDTProbe_t* order = providerAddProbe(provider, "order", 4, int64, uint64, uint64, uint8);
    SDTProbe_t* named = providerAddProbe(provider, "named", 2, int64, uint64);
    SDTProbe_t* twelve = providerAddProbe(provider, "twelve", 6, int64, int32, int16, int8, uint64, int64);
    char line[100];
    if (argc > 1 && strcmp(argv[1], "misuse") == 0)
        return misuse();
    if (argc > 1 && strcmp(argv[1], "file") == 0)
        providerUseMemfd(provider, memfd_disabled);
    if (providerLoad(provider) != 0)
        return printf("%d: %s\n", provider->errno, provider->error);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        const int hits = atoi(line);
        int i;
        for (i = 0; i < hits; ++i) {
            const double half = i / 2.0;
            uint64_t bits;
            memcpy(&bits, &half, sizeof bits);
            probeFire(order, (int64_t)i, i % 3 ? "tea" : "coffee", bits, i % 2 == 0);
            probeFire(named, (int64_t)-i, "milk");
            probeFire(twelve, (int64_t)i, i + 1, i + 2, i + 3, (uint64_t)i + 4, (int64_t)i + 5);
        }
        if (hits)
            puts("did");
        else
            puts(probeIsEnabled(order) && probeIsEnabled(named) && probeIsEnabled(twelve) && byte_says(order)
                     ? "True"
                     : "False");
        fflush(stdout);
    }
    if (providerUnload(provider) != 0)
        return 1;
    providerDestroy(provider);
    return 0;
}
