/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Hits its probes as tracers.py has it.
 */
#include <fastsdt/probes.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv)
{
    fastsdt_probes_error error;
    fastsdt_probes* shop =
        fastsdt_probes_new("shop", argc > 1 && strcmp(argv[1], "file") == 0 ? FASTSDT_PROBES_FILE : 0, &error);
    fastsdt_probe* order = fastsdt_probes_add(shop, "order", "long, const char *, double, bool", &error);
    fastsdt_probe* named = fastsdt_probes_add(shop, "named", "long id, const char *item", &error);
    fastsdt_probe* twelve =
        fastsdt_probes_add(shop, "twelve", "long,long,long,long,long,long,long,long,long,long,long,long", &error);
    char line[100];
    if (!twelve || fastsdt_probes_load(shop, &error) != 0)
        return printf("%s: %s\n", error.where, error.what);
    printf("%d\n", (int)getpid());
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        const int hits = atoi(line);
        int i, j;
        for (i = 0; i < hits; ++i) {
            const double half = i / 2.0;
            uint64_t values[12];
            values[0] = (uint64_t)i;
            values[1] = (uintptr_t)(i % 3 ? "tea" : "coffee");
            memcpy(values + 2, &half, sizeof half);
            values[3] = i % 2 == 0;
            fastsdt_probe_fire(order, values);
            values[0] = (uint64_t)-i;
            values[1] = (uintptr_t)"milk";
            fastsdt_probe_fire(named, values);
            for (j = 0; j < 12; ++j)
                values[j] = (uint64_t)(i + j);
            fastsdt_probe_fire(twelve, values);
        }
        if (hits)
            puts("did");
        else
            puts(FASTSDT_PROBE_IS_ACTIVE(order) && FASTSDT_PROBE_IS_ACTIVE(named) && FASTSDT_PROBE_IS_ACTIVE(twelve)
                     ? "True"
                     : "False");
        fflush(stdout);
    }
    fastsdt_probes_free(shop);
    return 0;
}
