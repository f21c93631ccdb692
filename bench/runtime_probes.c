/* SPDX-License-Identifier: BSD-2-Clause
 *
 * What it costs to fire a probe of run time: runtime-probes.py. Prints its process ID; then for each line with a number N, fires N times and prints
 * the nanoseconds of one. It calls libstapsdt's functions, of whichever libstapsdt.so.0 the dynamic linker finds; with an argument, ours of
 * fastsdt/probes.h ("macro": behind FASTSDT_PROBE_IS_ACTIVE).
 */
#include <fastsdt/probes.h>
#include <fastsdt/stapsdt/libstapsdt.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char** argv)
{
    fastsdt_probe* own = NULL;
    SDTProbe_t* theirs = NULL;
    char line[100];
    const int macro = argc > 1 && strcmp(argv[1], "macro") == 0;
    if (argc > 1) {
        fastsdt_probes* shop = fastsdt_probes_new("shop", 0, NULL);
        own = fastsdt_probes_add(shop, "order", "long id, long price", NULL);
        if (fastsdt_probes_load(shop, NULL) != 0)
            return 1;
    } else {
        SDTProvider_t* shop = providerInit("shop");
        theirs = providerAddProbe(shop, "order", 2, int64, int64);
        if (providerLoad(shop) != 0)
            return 1;
    }
    printf("%d\n", (int)getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        const long times = atol(line);
        const double begin = now();
        long i;
        if (own && macro) {
            for (i = 0; i < times; ++i)
                if (FASTSDT_PROBE_IS_ACTIVE(own)) {
                    uint64_t values[2];
                    values[0] = (uint64_t)i;
                    values[1] = 5;
                    fastsdt_probe_fire(own, values);
                }
        } else if (own) {
            for (i = 0; i < times; ++i) {
                uint64_t values[2];
                values[0] = (uint64_t)i;
                values[1] = 5;
                fastsdt_probe_fire(own, values);
            }
        } else {
            for (i = 0; i < times; ++i)
                probeFire(theirs, (int64_t)i, (int64_t)5);
        }
        printf("%.2f\n", (now() - begin) / (double)(times ? times : 1));
        fflush(stdout);
    }
    return 0;
}
