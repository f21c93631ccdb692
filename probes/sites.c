/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The sites that probes are copies of, one for each number of arguments: the compiler makes them of fastsdt.h, so that bytes, notes and
 * operands are the header's. Linked by itself; sites.S puts the file into the library, and sites_read.c takes it apart.
 */
#define FASTSDT_BOUND 4 /* wherever a site lies then, the process can arm it itself */
#include <fastsdt.h>

#define SITE(n, parameters, ...)                                                                                       \
    void site##n parameters                                                                                            \
    {                                                                                                                  \
        FASTSDT_WITH(default, implicit, probe, site##n, __VA_ARGS__);                                                  \
    }
void site0(void)
{
    FASTSDT_WITH(default, implicit, probe, site0);
}
SITE(1, (long a), a)
SITE(2, (long a, long b), a, b)
SITE(3, (long a, long b, long c), a, b, c)
SITE(4, (long a, long b, long c, long d), a, b, c, d)
SITE(5, (long a, long b, long c, long d, long e), a, b, c, d, e)
SITE(6, (long a, long b, long c, long d, long e, long f), a, b, c, d, e, f)
SITE(7, (long a, long b, long c, long d, long e, long f, long g), a, b, c, d, e, f, g)
SITE(8, (long a, long b, long c, long d, long e, long f, long g, long h), a, b, c, d, e, f, g, h)
SITE(9, (long a, long b, long c, long d, long e, long f, long g, long h, long i), a, b, c, d, e, f, g, h, i)
SITE(10, (long a, long b, long c, long d, long e, long f, long g, long h, long i, long j), a, b, c, d, e, f, g, h, i, j)
SITE(11, (long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k), a, b, c, d, e, f, g,
     h, i, j, k)
SITE(12, (long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l), a, b, c, d,
     e, f, g, h, i, j, k, l)
