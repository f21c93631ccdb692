/* SPDX-License-Identifier: BSD-2-Clause
 *
 * Arguments that cost something to compute: ask first whether anybody traces. A tracer raises the semaphore.
 */
#include <fastsdt.h>
#include <stdio.h>
#include <string.h>

/* One semaphore for a family of probes. In other files: FASTSDT_DECLARE_SEMA(query_probes). */
FASTSDT_DEFINE_SEMA(query_probes);

static unsigned long fingerprint(const char* query)
{
    unsigned long hash = 5381;

    while (*query)
        hash = hash * 33 + (unsigned char)*query++;
    return hash;
}

static void run(const char* query)
{
    /* Implicit: the semaphore comes with the site. */
    if (FASTSDT_IS_ACTIVE(db, query))
        FASTSDT_WITH(default, implicit, db, query, query, fingerprint(query));

    /* Explicit: both probes share one. */
    if (FASTSDT_SEMA_IS_ACTIVE(query_probes)) {
        FASTSDT_WITH(default, explicit(query_probes), db, plan, strlen(query));
        FASTSDT_WITH(default, explicit(query_probes), db, cost, fingerprint(query) % 100);
    }
}

int main(void)
{
    int i;

    for (i = 0; i < 1000; i++)
        run(i % 2 ? "select 1" : "select 2");
    puts("1000 queries");
    return 0;
}
