// SPDX-License-Identifier: BSD-2-Clause
// The program of the link matrix, C++.
#include "templates.hpp"

USDT_DEFINE_SEMA(matrix_shared);

#ifdef UNUSED
int dead_1(int x)
{
    USDT(matrix, dead, x);
    return dead_inline(x);
}
#endif

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

EXPORT NOINLINE int matrix_run(int x)
{
    USDT(matrix, half, x);
    USDT_WITH_EXPLICIT_SEMA(matrix_shared, matrix, explicit, x);
    x += plain_twin_1(x) + plain_twin_2(x) + twin_1(x) + twin_2(x);
    Probed* volatile probed = new Probed;
    x += in_inline(x) + in_template(x) + in_template(long(x)) + with_semaphore(x) + probed->member(x);
    delete probed;
    return other(x) > 0;
}

#ifndef LIBRARY
int main(int argc, char**)
{
    USDT(matrix, main, argc);
    return matrix_run(argc) == 1 ? 0 : 1;
}
#endif
