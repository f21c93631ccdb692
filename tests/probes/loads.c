/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Providers that come and go under a tracer: loads.sh. For each line of input:
 *
 *     N      N times: loads a provider, fires its probe 10 times, frees it
 *     keep   loads another provider that stays
 *     hit    fires the probes of all that stay, 10 times each
 *     free   frees the oldest that stays
 *     fork   a child fires the probes of all that stay, frees them, does "1"
 *     4x N   the first, in four threads
 */
#include <fastsdt/probes.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static fastsdt_probes* kept[100];
static fastsdt_probe* kept_probes[100];
static int first, last;
static unsigned flags;

static fastsdt_probe* make(fastsdt_probes** shop)
{
    fastsdt_probes_error error;
    fastsdt_probe* order;
    *shop = fastsdt_probes_new("shop", flags, &error);
    order = fastsdt_probes_add(*shop, "order", "long id, const char *item", &error);
    if (!order || fastsdt_probes_load(*shop, &error) != 0) {
        printf("%s: %s\n", error.where, error.what);
        exit(1);
    }
    return order;
}

static void fire(const fastsdt_probe* order)
{
    uint64_t values[2];
    int i;
    values[1] = (uintptr_t)"tea";
    for (i = 0; i < 10; ++i) {
        values[0] = (uint64_t)i;
        fastsdt_probe_fire(order, values);
    }
}

static void* churn(void* times)
{
    int i;
    for (i = 0; i < *(int*)times; ++i) {
        fastsdt_probes* shop;
        fire(make(&shop));
        fastsdt_probes_free(shop);
    }
    return NULL;
}

static void fire_kept(void)
{
    int i;
    for (i = first; i < last; ++i)
        fire(kept_probes[i]);
}

int main(int argc, char** argv)
{
    char line[100];
    flags = argc > 1 && strcmp(argv[1], "file") == 0 ? FASTSDT_PROBES_FILE : 0;
    kept_probes[last] = make(&kept[last]);
    ++last;
    while (fgets(line, sizeof line, stdin)) {
        int times = atoi(line);
        if (strncmp(line, "4x ", 3) == 0) {
            pthread_t threads[4];
            int i;
            times = atoi(line + 3);
            for (i = 0; i < 4; ++i)
                pthread_create(threads + i, NULL, churn, &times);
            for (i = 0; i < 4; ++i)
                pthread_join(threads[i], NULL);
        } else if (times) {
            churn(&times);
        } else if (strcmp(line, "keep\n") == 0) {
            kept_probes[last] = make(&kept[last]);
            ++last;
        } else if (strcmp(line, "hit\n") == 0) {
            fire_kept();
        } else if (strcmp(line, "free\n") == 0) {
            fastsdt_probes_free(kept[first++]);
        } else if (strcmp(line, "fork\n") == 0) {
            int status, one = 1;
            const pid_t child = fork();
            if (child == 0) {
                fire_kept();
                while (first < last)
                    fastsdt_probes_free(kept[first++]);
                churn(&one);
                _exit(0);
            }
            if (waitpid(child, &status, 0) != child || status != 0) {
                printf("the child: status %d\n", status);
                return 1;
            }
        }
        printf("did %d\n", fastsdt_probe_is_active(kept_probes[last - 1]));
        fflush(stdout);
    }
    while (first < last)
        fastsdt_probes_free(kept[first++]);
    return 0;
}
