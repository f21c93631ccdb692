// SPDX-License-Identifier: BSD-2-Clause
// Probes in inline functions, templates and a class, instantiated in both files.
#include <usdt.h>

#include "matrix.h"

NOINLINE inline int in_inline(int x) { USDT(matrix, inline, x); return x + 1; }
template <typename T> NOINLINE int in_template(T x) { USDT(matrix, template, x); return int(x) + 2; }
struct Probed {
    virtual ~Probed() {}
    virtual int member(int x) { USDT(matrix, member, x); return x + 3; }
};
template <typename T> NOINLINE int with_semaphore(T x)
{
    if (USDT_IS_ACTIVE(matrix, implicit))
        USDT_WITH_SEMA(matrix, implicit, x);
    return int(x);
}
#ifdef UNUSED
// Used by dead code only, in both files.
NOINLINE inline int dead_inline(int x) { USDT(matrix, dead, x); USDT(matrix, half, x); return x; }
#endif
