/* SPDX-License-Identifier: BSD-2-Clause
 * The second file: the same semaphores, a function that the optimizer sees only with LTO. */
#include <usdt.h>

#include "matrix.h"

USDT_DECLARE_SEMA(matrix_shared);

#ifdef UNUSED
NOINLINE int dead_2(int x)
{
    USDT(matrix, dead, x);
    return x + 2;
}
#endif

static int helper(int x)
{
    USDT(matrix, helper, x, &matrix_names);
    return x;
}

int other(int x)
{
    if (USDT_IS_ACTIVE(matrix, implicit))
        USDT_WITH_SEMA(matrix, implicit, x);
    USDT_WITH_EXPLICIT_SEMA(matrix_shared, matrix, explicit, x);
    return helper(x) + 1;
}

const char* matrix_names[] = {"a", "b"};
