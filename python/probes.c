/* SPDX-License-Identifier: BSD-2-Clause
 *
 * The object that each probe of Python is made of: setup.py compiles it, and _probes.py keeps the notes of the one function that
 * has as many arguments as the probe, under the probe's names. So bytes, notes and semaphore are those of fastsdt.h.
 */
#define FASTSDT_BOUND 4 /* wherever a site lies then, the process can arm it itself */
#include <fastsdt.h>

extern const char __ehdr_start[] __attribute__((visibility("hidden"))); /* the linker's: address 0 of the file */
const char* base(void)
{
    return __ehdr_start;
}

#define CALL(n, parameters, ...)                                                                                       \
    void call##n parameters                                                                                            \
    {                                                                                                                  \
        FASTSDT_WITH(default, implicit, probe, call##n, __VA_ARGS__);                                                  \
    }
void call0(void)
{
    FASTSDT_WITH(default, implicit, probe, call0);
}
CALL(1, (long a), a)
CALL(2, (long a, long b), a, b)
CALL(3, (long a, long b, long c), a, b, c)
CALL(4, (long a, long b, long c, long d), a, b, c, d)
CALL(5, (long a, long b, long c, long d, long e), a, b, c, d, e)
CALL(6, (long a, long b, long c, long d, long e, long f), a, b, c, d, e, f)
CALL(7, (long a, long b, long c, long d, long e, long f, long g), a, b, c, d, e, f, g)
CALL(8, (long a, long b, long c, long d, long e, long f, long g, long h), a, b, c, d, e, f, g, h)
CALL(9, (long a, long b, long c, long d, long e, long f, long g, long h, long i), a, b, c, d, e, f, g, h, i)
CALL(10, (long a, long b, long c, long d, long e, long f, long g, long h, long i, long j), a, b, c, d, e, f, g, h, i, j)
CALL(11, (long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k), a, b, c, d, e, f, g,
     h, i, j, k)
CALL(12, (long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l), a, b, c, d,
     e, f, g, h, i, j, k, l)

/* For its section: the names of a probe's arguments. */
void names(void)
{
    FASTSDT_NAMED(probe, names, (int, name, 0));
}
