/* SPDX-License-Identifier: BSD-2-Clause
 * The program of the link matrix, C: judge.py knows the probe names. UNUSED adds probed functions that nobody calls. */
#include <usdt.h>

#include "matrix.h"

USDT_DEFINE_SEMA(matrix_shared);

#ifdef UNUSED
/* First in the file: `ld -r` of GNU ld and gold links the merged notes to the first section. */
NOINLINE int dead_1(int x)
{
    USDT(matrix, dead, x);
    USDT(matrix, half, x);
    return x;
}
#endif

/* Alike but for their names: --icf=all folds plain_twin_1 and _2. The probed twins have to stay both. */
NOINLINE int plain_twin_1(int x)
{
    return x * 7 + 3;
}
NOINLINE int plain_twin_2(int x)
{
    return x * 7 + 3;
}
NOINLINE int twin_1(int x)
{
    USDT(matrix, twin, x);
    return x * 5 + 1;
}
NOINLINE int twin_2(int x)
{
    USDT(matrix, twin, x);
    return x * 5 + 1;
}

static inline int inlined(int x)
{
    USDT(matrix, inlined, x);
    return x + 1;
}

NOINLINE int semaphores(int x)
{
    if (USDT_IS_ACTIVE(matrix, implicit))
        USDT_WITH_SEMA(matrix, implicit, x);
    USDT_WITH_EXPLICIT_SEMA(matrix_shared, matrix, explicit, x);
    return USDT_SEMA_IS_ACTIVE(matrix_shared) + x;
}

EXPORT NOINLINE int matrix_run(int x)
{
    USDT(matrix, half, x);
    x = inlined(x) + inlined(x + 2);
    x += plain_twin_1(x) + plain_twin_2(x) + twin_1(x) + twin_2(x);
    return other(semaphores(x)) > 0;
}

#ifndef LIBRARY
int main(int argc, char** argv)
{
    (void)argv;
    USDT(matrix, main, argc);
    return matrix_run(argc) == 1 ? 0 : 1;
}
#endif
