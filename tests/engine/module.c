/* SPDX-License-Identifier: BSD-2-Clause
 *
 * A module with two sites: one is passed before main() or dlopen() has returned, one a hundred times by run().
 */
#include <fastsdt.h>

static int constructed;

__attribute__((constructor)) static void begin(void)
{
    ++constructed;
    FASTSDT(module, s0_constructed, constructed);
}

/* A function, so that there is one site even if the compiler takes the loop's first turn out of the loop. */
__attribute__((noinline)) static void turn(long i)
{
    FASTSDT(module, s1_run, i);
}

long run(void)
{
    long i;

    for (i = 0; i < 100; ++i)
        turn(i);
    return i;
}
