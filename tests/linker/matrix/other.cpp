// SPDX-License-Identifier: BSD-2-Clause
#include "templates.hpp"

USDT_DECLARE_SEMA(matrix_shared);

#ifdef UNUSED
int dead_2(int x)
{
    return dead_inline(x) + 1;
}
#endif

int other(int x)
{
    USDT_WITH_EXPLICIT_SEMA(matrix_shared, matrix, explicit, x);
    Probed* volatile probed = new Probed;
    x += in_inline(x) + in_template(x) + in_template('c') + with_semaphore(x) + probed->member(x);
    delete probed;
    return x;
}

const char* matrix_names[] = {"a", "b"};
